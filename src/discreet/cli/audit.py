"""``discreet audit``: attacks on what the library, or a model of one's own, promises."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.answer import CommandOutput, OutputTable, facts
from discreet.cli.command import command
from discreet.cli.printing import note
from discreet.cli.refusals import FAILED

__all__ = ["audit"]

HEAD = ("attacked", "claimed", "ε at least", "noticed from", "runs", "holds")


@command(
    "discreet audit --list",
    "discreet audit 'door: sum' --seconds 2",
    "discreet audit model.json",
    "discreet audit --all --out build/audit --page build/audit.md",
)
def audit(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="What to attack, or a part of its name. Or a file of a fitted model: its kind and parameters.",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print what can be attacked, and attack nothing.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Attack everything: a quarter of an hour on two cores.")
    ] = False,
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=0.01, max=1e6, help="Of a processor, about, for each; at least 150 runs."),
    ] = 8.0,
    out: Annotated[Path | None, typer.Option("--out", help="The folder for what was found, as JSON.")] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write a page (Markdown) of what the folder of --out has.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="How many processes.")] = 2,
) -> CommandOutput:
    """Try to break promises: run mechanisms on neighbouring data sets, made up, and count how well they are told apart.

    Each gives a lower bound on ε. One above the claim proves that the claim is wrong, and the command then ends with
    exit code 1. "Noticed from" is the factor by which noise would have to be too small for the attack to see it. No row
    of anybody is read, and nothing is spent.
    """
    from discreet.audit.subjects import subjects

    known = list(subjects())
    models = [Path(name) for name in names or () if name.endswith(".json") or Path(name).is_file()]
    chosen = _chosen([name for name in names or () if Path(name) not in models], known)
    if everything and names:
        raise typer.BadParameter("expected names or --all, not both", param_hint="NAME, --all")
    if listed:
        rows = chosen or known
        return CommandOutput({"subjects": rows}, [OutputTable(("what can be attacked",), [[name] for name in rows])])
    if page is not None and out is None:
        raise typer.BadParameter("expected --out too, the folder with what was found", param_hint="--page")
    if out is not None and out.exists() and not out.is_dir():
        raise typer.BadParameter(f"{str(out)!r}: expected a folder", param_hint="--out")
    if not (chosen or models or everything or page):
        raise typer.BadParameter("expected what to attack: names, --all, or --list to see them", param_hint="NAME")
    for place in (out, None if page is None else page.parent):
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)  # now, and not when all is attacked
    result = [_of_model(path, seconds) for path in models]
    result += _attacked(known if everything else chosen, seconds, jobs)
    in_one_run = _in_one_run() if everything else []
    if out is not None and (result or in_one_run):
        _keep(out, result, in_one_run)
    if page is not None and out is not None:
        _written(page, out)
    refuted = [each["name"] for each in (*result, *in_one_run) if not each["holds"]]
    return CommandOutput(
        {"attacks": result, "one_run": in_one_run, "refuted": refuted, "page": page},
        _shown(result, in_one_run, refuted, out, page),
        FAILED if refuted else 0,
    )


def _chosen(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the subjects that are named, or whose names have that in them, in the order of the list."""
    result: set[str] = set()
    for name in names:
        fitting = [name] if name in known else [one for one in known if name.lower() in one.lower()]
        if not fitting:
            raise typer.BadParameter(
                f"{name!r}: expected a name of --list, a part of one, or a file of a fitted model", param_hint="NAME"
            )
        result.update(fitting)
    return [one for one in known if one in result]


def _of_model(path: Path, seconds: float) -> dict[str, Any]:
    """Attack what a file of a fitted model says that it is: its kind, with its parameters."""
    from discreet.audit import attack
    from discreet.audit.suite import runs_within
    from discreet.audit.targets import asked_of
    from discreet.estimators.loading import load_model

    model = load_model(path)
    ask, pairs, _ = asked_of(model, None, None)
    note(f"{path}: {type(model).__name__} with the same parameters, on made-up rows")
    result = attack(model, runs=runs_within(ask, pairs[-1], seconds)).to_dict()
    return result | {"name": f"{path.name}: {result['name']}"}


def _attacked(names: Sequence[str], seconds: float, jobs: int) -> list[dict[str, Any]]:
    from tqdm.auto import tqdm

    from discreet.audit.suite import attacked

    if not names:
        return []
    result = list(tqdm(attacked(names, seconds=seconds, jobs=jobs), total=len(names), unit="attack", disable=None))
    return sorted(result, key=lambda each: names.index(each["name"]))


def _in_one_run() -> list[dict[str, Any]]:
    from discreet.audit.suite import in_one_run

    return in_one_run()


def _keep(out: Path, result: list[dict[str, Any]], in_one_run: list[dict[str, Any]]) -> None:
    """Write what was found beside what is there; the newer one of a name."""
    from discreet.audit.page import kept_attacks

    out.mkdir(parents=True, exist_ok=True)
    values = kept_attacks(out)
    for name, new in (("attacks", result), ("one_run", in_one_run)):
        values[name] = list(({each["name"]: each for each in (*values[name], *new)}).values())
    (out / "attacks.json").write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _written(page: Path, out: Path) -> None:
    from discreet.audit.page import page as page_of

    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(page_of(out), encoding="utf-8")


def _shown(
    result: list[dict[str, Any]],
    in_one_run: list[dict[str, Any]],
    refuted: list[str],
    out: Path | None,
    page: Path | None,
) -> list[str | OutputTable]:
    rows = [
        [
            each["name"], f"{each['epsilon_claimed']:.3g}, δ={each['delta']:.3g}", f"{each['epsilon']:.3g}",
            "no factor" if each["noticed"] is None else f"{each['noticed']:.2f}", each["runs"],
            "yes" if each["holds"] else "REFUTED",
        ]
        for each in result
    ]  # fmt: skip
    rows += [
        [
            f"{each['name']}, in one run", f"{each['epsilon_claimed']:.3g}, δ={each['delta']:.3g}",
            f"{each['epsilon']:.3g}", None, 1, "yes" if each["holds"] else "REFUTED",
        ]
        for each in in_one_run
    ]  # fmt: skip
    shown: list[str | OutputTable] = [OutputTable(HEAD, rows)] if rows else []
    if rows:
        shown.append(
            f"{len(refuted)} of {len(rows)} promises were broken: {', '.join(refuted)}." if refuted else
            f"None of {len(rows)} promises was broken."
        )  # fmt: skip
    blind = sum(each["noticed"] is None for each in result)
    if blind:
        shown.append(f"Of {blind} the runs were too few to see anything at this ε. Write a larger --seconds.")
    files = {"found": out / "attacks.json" if out is not None and rows else None, "page": page}
    return [*shown, facts(files)] if any(files.values()) else shown
