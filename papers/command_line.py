"""The command line of ``python -m papers``: run experiments of the papers, or with ``audit`` attack the library."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from papers.entries import ENTRIES, experiment
from papers.reproduced_page import page, section
from papers.running import run

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return _audit(given[1:]) if given[:1] == ["audit"] else _reproduce(given)


def _reproduce(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m papers",
        description="Reproduce tables and figures of the papers with correct noise, and this library's methods beside "
        "them. Data are public or synthetic: some are downloaded, or read from the folder that DISCREET_DATA names.",
        epilog="python -m papers audit attacks what the library releases: python -m papers audit --help",
    )
    _add_shared_arguments(parser, what="entries, or the beginning of their names (dp-em); by default all of them")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller sizes: a minute or so each")
    parser.add_argument(
        "--out", type=Path, default=Path("build/reproduced"),
        help="the folder for tables and figures; an interrupted run is resumed there (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--page", type=Path,
        help="write a page (Markdown) of all entries in the folder; without names and --all nothing else is done",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    chosen = _select(parser, given, list(ENTRIES), str.startswith)
    if given.list:
        print("\n".join(f"{name:<20}{experiment(name).title}" for name in chosen or ENTRIES))
        return 0
    for name in chosen or ([] if given.page else ENTRIES):
        try:
            outcome = run(experiment(name), given.out, quick=given.quick, jobs=given.jobs)
        except Exception as error:
            error.add_note(f"{name}: results so far are saved in {given.out}; the same command resumes")
            raise
        print(section(outcome, given.out.as_posix()), flush=True)
    if given.page:
        pictures = Path(os.path.relpath(given.out.absolute(), given.page.absolute().parent)).as_posix()
        _write(given.page, page(given.out, ENTRIES, pictures))
    return 0


def _audit(arguments: Sequence[str]) -> int:
    from discreet.cli.audit_command import describe_attacks
    from discreet.cli.printing import CommandOutput, OutputTable, show
    from papers.audit.audited_page import page as audited_page
    from papers.audit.audited_page import read_attacks
    from papers.audit.subjects import subjects
    from papers.audit.suite import attack_all, audit_in_one_run

    parser = argparse.ArgumentParser(
        prog="python -m papers audit",
        description="Attack what the library releases: run it on synthetic neighbouring data sets, and count how well "
        "they are distinguished. The exit code is 1 if a guarantee is refuted.",
    )
    _add_shared_arguments(parser, what="what to attack, or a part of its name")
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="CPU time for each, about; at least 150 runs (default: 8)"
    )
    parser.add_argument("--out", type=Path, help="the folder for the results, as JSON")
    parser.add_argument("--page", type=Path, help="write a page (Markdown) of the results in the folder of --out")
    given = parser.parse_args(arguments)
    known = list(subjects())
    chosen = _select(parser, given, known, lambda one, name: name.lower() in one.lower())
    if given.list:
        print("\n".join(chosen or known))
        return 0
    if given.page and not given.out:
        parser.error("--page: expected --out too, the folder with the results")
    if given.out and given.out.exists() and not given.out.is_dir():
        parser.error(f"--out {given.out}: expected a folder")
    if not (chosen or given.page):
        parser.error("expected the names of attacks, --all, or --list to see them")
    for place in (given.out, given.page and given.page.parent):
        if place:
            place.mkdir(parents=True, exist_ok=True)  # before the attacks, which take long
    try:
        before = read_attacks(given.out) if given.out else {}
    except ValueError as error:
        parser.error(str(error))
    attacks = attack_all(chosen, seconds=given.seconds, jobs=given.jobs) if chosen else ()
    new: dict[str, list[dict[str, Any]]] = {"attacks": [], "one_run": []}

    def keep(kind: str, results: Iterable[dict[str, Any]]) -> None:
        """Add results, and merge them with those of the folder at once: the newer one of a name wins."""
        new[kind] += results
        if given.out:
            merged = {kind: {one["name"]: one for one in (*before[kind], *new[kind])} for kind in new}
            in_order = [merged["attacks"].pop(name) for name in known if name in merged["attacks"]]
            kept = {"attacks": [*in_order, *merged["attacks"].values()], "one_run": list(merged["one_run"].values())}
            _write(given.out / "attacks.json", json.dumps(kept, indent=1, ensure_ascii=False) + "\n")

    for one in tqdm(attacks, total=len(chosen), unit="attack", disable=None):
        keep("attacks", [one])
    if given.all:
        keep("one_run", audit_in_one_run(jobs=given.jobs))
    new["attacks"].sort(key=lambda one: chosen.index(one["name"]))
    if given.page:
        try:
            _write(given.page, audited_page(given.out))
        except ValueError as error:
            parser.error(str(error))
    shown = describe_attacks(new["attacks"]) if chosen else []
    if new["one_run"]:
        rows = [[one["name"], one["epsilon_claimed"], f"{one['epsilon']:.3g}", one["holds"]] for one in new["one_run"]]
        shown.append(OutputTable(("in one run", "claimed", "ε at least", "holds"), rows))
    show(CommandOutput({}, shown))
    return int(not all(one["holds"] for kind in new.values() for one in kind))


def _add_shared_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help=what)
    parser.add_argument("--list", action="store_true", help="print the names, and run nothing")
    parser.add_argument("--all", action="store_true", help="run all of them")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes (default: 2)")


def _select(
    parser: argparse.ArgumentParser, given: argparse.Namespace, known: list[str], fits: Callable[[str, str], bool]
) -> list[str]:
    """Return the known names that are given or fit a given name, in the known order; all of them with --all."""
    if given.names and given.all:
        parser.error("expected names or --all, not both")
    found: set[str] = set()
    for name in given.names:
        fitting = [name] if name in known else [one for one in known if fits(one, name)]
        if not fitting:
            parser.error(f"{name!r}: expected a name of --list, or a part of one")
        found.update(fitting)
    return [one for one in known if given.all or one in found]


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
