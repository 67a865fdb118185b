"""``discreet reproduce``: the tables and figures of the papers, measured again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.answer import CommandOutput, OutputTable, facts
from discreet.cli.command import command
from discreet.cli.printing import note

if TYPE_CHECKING:
    from discreet.reproduce import Outcome

__all__ = ["reproduce"]

HOLDS = {True: "The paper's claim holds.", False: "The paper's claim does not hold.", None: "It cannot be told."}


@command(
    "discreet reproduce --list",
    "discreet reproduce williams/figure-2a --quick",
    "discreet reproduce --all --out build/reproduced --page build/reproduced.md",
)
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Entries, or how their names begin: dp-em.", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print names and titles, and run nothing.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Run every entry: some hours.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repeats and smaller sizes: a minute or so each.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", help="The folder for tables and pictures. A run that was stopped goes on there.")
    ] = Path("build/reproduced"),
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="How many processes.")] = 2,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write a page (Markdown) of all entries that the folder has.")
    ] = None,
) -> CommandOutput:
    """Run experiments of the papers with honest noise, and this library's methods beside them.

    Data are public or made up: some are downloaded, or looked for in the folder that DISCREET_DATA names. Noise is
    seeded, so that numbers can be had again.
    """
    from discreet.reproduce import ENTRIES

    if names and everything:
        raise typer.BadParameter("expected names or --all, not both", param_hint="NAME, --all")
    chosen = _chosen(names, list(ENTRIES)) if names else list(ENTRIES) if listed or everything else []
    if listed:
        return _titles(chosen)
    if not chosen and page is None:
        raise typer.BadParameter("expected what to run: names, --all, or --list to see them", param_hint="NAME")
    outcomes = [_run(name, out, quick=quick, jobs=jobs) for name in chosen]
    written = None if page is None else _written(page, out, list(ENTRIES))
    shown: list[str | OutputTable] = []
    for outcome in outcomes:
        shown += _shown(outcome, out)
    if page is not None:
        shown.append(facts({"page": page, "entries": written}))
    data = [_values(outcome, out) for outcome in outcomes]
    return CommandOutput({"outcomes": data, "page": page, "entries_of_page": written}, shown)


def _chosen(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the entries that are named, or whose names begin so, in the order of the list."""
    result: set[str] = set()
    for name in names:
        fitting = [name] if name in known else [one for one in known if one.startswith(name)]
        if not fitting:
            raise typer.BadParameter(f"{name!r}: expected one of {', '.join(known)}", param_hint="NAME")
        result.update(fitting)
    return [one for one in known if one in result]


def _titles(names: Sequence[str]) -> CommandOutput:
    from discreet.reproduce import experiment

    rows = [(name, experiment(name).title) for name in names]
    return CommandOutput(
        {"entries": [{"name": name, "title": title} for name, title in rows]}, [OutputTable(("name", "title"), rows)]
    )


def _run(name: str, out: Path, *, quick: bool, jobs: int) -> Outcome:
    from discreet.reproduce import experiment, run

    note(f"{name}{' --quick' if quick else ''}")
    try:
        return run(experiment(name), out, quick=quick, jobs=jobs)
    except ModuleNotFoundError:
        raise
    except Exception as error:  # it may come from another process; rows are public here, so its words can be shown
        raise RuntimeError(f"{name}: {error}\nwhat was measured is kept in {out}; the same command goes on") from error


def _written(page: Path, out: Path, names: Sequence[str]) -> int:
    """Write the page; return how many entries it has."""
    from discreet.reproduce import page as page_of

    pictures = Path(os.path.relpath(out.absolute(), page.absolute().parent)).as_posix()
    text = page_of(out, names, pictures)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return sum((out / f"{name}.json").exists() for name in names)


def _files(outcome: Outcome, out: Path) -> dict[str, Path]:
    return {"numbers": out / f"{outcome.name}.json", "picture": out / f"{outcome.name}.png"}


def _shown(outcome: Outcome, out: Path) -> list[str | OutputTable]:
    verdict = outcome.verdict
    rows = [[_short(cell) for cell in row] for row in outcome.table.rows]
    return [
        f"{outcome.name}. {outcome.title}",
        f"The paper: {outcome.claim}",
        f"With honest noise: {HOLDS[verdict.holds]} {verdict.honest}",
        f"Ours: {verdict.ours}",
        OutputTable(outcome.table.head, rows),
        facts({**_files(outcome, out), "seconds": outcome.seconds, "quick": "yes" if outcome.quick else None}),
    ]


def _short(cell: Any) -> Any:
    return float(f"{cell:.4g}") if isinstance(cell, float) else cell


def _values(outcome: Outcome, out: Path) -> dict[str, Any]:
    verdict, table = outcome.verdict, outcome.table
    return {
        "name": outcome.name,
        "title": outcome.title,
        "claim": outcome.claim,
        "quick": outcome.quick,
        "discreet": outcome.discreet,
        "seconds": outcome.seconds,
        "holds": verdict.holds,
        "honest": verdict.honest,
        "ours": verdict.ours,
        "table": {"head": table.head, "rows": table.rows},
        "numbers": outcome.numbers,
        "files": {name: str(path) for name, path in _files(outcome, out).items()},
    }
