"""``discreet budget``: show what was spent and what is left, set a limit, and verify the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer

from discreet.arguments import UNSHOWN, ArgumentError, format_names, suggest_name
from discreet.cli.budget_limits import open_ledger_if_exists
from discreet.cli.command import command
from discreet.cli.declaration_flags import parse_limit
from discreet.cli.options import Ledger
from discreet.cli.printing import CommandOutput, OutputTable, facts_table, note
from discreet.cli.single_options import CommandTyper
from discreet.database.budget_shares import BudgetShares
from discreet.guarantees import Neighbors
from discreet.ledger import Ledger as Record
from discreet.ledger.book import SPENDS
from discreet.ledger.history import History

KINDS = """\
Kinds of entries:
  limit    a limit was set or lowered
  raise    a limit was raised, for the reason that is shown
  spend    one release was paid for
  reserve  all releases of a question or a fit were paid for at once
  unanswered  an earlier entry was paid for, and ended before its answer; it stays charged"""
WIDTH = 80  # of a terminal

Name = Annotated[str | None, typer.Option("--name", help="One data set; all of them by default.")]


def commands() -> typer.Typer:
    """Return ``discreet budget show``, ``limit``, ``history`` and ``verify``."""
    app = CommandTyper(help="Show, set and check what may be spent.", no_args_is_help=True)
    app.command("show")(show)
    app.command("limit")(limit)
    app.command("history")(history)
    app.command("verify")(verify)
    return app


@command("discreet budget show people.ledger")
def show(ledger: Ledger, name: Name = None) -> CommandOutput:
    """Show the limit of each data set, what is left of it, and the unit that it protects."""
    record = _open_existing(ledger)
    sets = [_state(record, one) for one in _check_name(record, name)]
    head = ("data set", "protects", "limit", "spends", "left", "next, at most")
    rows = [
        [
            one["name"],
            one["unit"],
            "none" if one["limit"] is None else str(one["limit"]),
            one["spends"],
            "" if one["left"] is None else f"{one['left']:.1%}",
            one["next"],
        ]
        for one in sets
    ]
    return CommandOutput({"datasets": sets}, [OutputTable(head, rows)])


@command(
    "discreet budget limit people.ledger 2:1e-6 --name people --reason 'second survey, agreed by the board'",
    "discreet budget limit clinic.ledger 1:1e-6 --name clinic",
)
def limit(
    ledger: Ledger,
    guarantee: Annotated[str, typer.Argument(metavar="EPS:DELTA", help="What all releases together may cost.")],
    name: Annotated[str, typer.Option("--name", help="The data set.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Why the limit is raised; it is recorded.")] = None,
    count_by: Annotated[
        str | None, typer.Option("--filter", help="How losses add up: gaussian, zcdp or pure; gaussian by default.")
    ] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="The protected unit: row, or 'each patient'.")] = None,
    neighbors: Annotated[
        Neighbors | None, typer.Option("--neighbors", help="That of the limit in force, else replace-one.")
    ] = None,
) -> CommandOutput:
    """Set or lower the limit of a data set; with --reason, raise it. A ledger is created where there is none."""
    from discreet.guarantees.caution import guarantee_caution

    parsed = parse_limit(guarantee, Neighbors.REPLACE_ONE, "EPS:DELTA")  # first, so that a mistake creates no ledger
    if not parsed.delta:
        write = f"{guarantee.partition(':')[0]}:1e-6"
        note(f"note: {guarantee} means δ=0, which admits no Gaussian noise; write {write} for a δ")
    caution = guarantee_caution(parsed)
    if caution:
        note(f"note: {caution}")
    _check_known(ledger, name, raised=reason is not None)
    record = Record(ledger)
    in_force = record.limit(name)
    default = Neighbors.REPLACE_ONE if in_force is None else in_force.guarantee.neighbors
    asked = parse_limit(guarantee, neighbors or default, "EPS:DELTA")
    if reason is None:
        now = asked if in_force is None else in_force.guarantee
        if asked.epsilon > now.epsilon or asked.delta > now.delta:
            raise ValueError(
                f"{guarantee}: the limit of {name!r} is {now}, and this one is higher; a raise needs "
                "a reason, which is recorded: write --reason 'why'"
            )
        counted = "gaussian" if in_force is None else in_force.filter
        result = record.set_limit(name, asked, count_by or counted, unit=unit)
    else:
        if unit is not None:
            raise ArgumentError("unit", UNSHOWN, "nothing with --reason; the protected unit cannot be changed")
        result = record.raise_limit(name, asked, reason=reason, filter=count_by)
    left = record.remaining(name)
    if not (left.mu or left.epsilon or left.rho):
        note(f"note: {name!r} has already spent this limit; nothing more can be asked of it")
    return CommandOutput(
        {"name": name, "limit": result.guarantee, "filter": result.filter, "reason": reason},
        [facts_table({"data set": name, "limit": str(result), "reason": reason})],
    )


@command("discreet budget history people.ledger --name people", table=KINDS)
def history(ledger: Ledger, name: Name = None) -> CommandOutput:
    """Show every entry of the ledger: who spent what on which question, and how limits changed."""
    record = _open_existing(ledger)
    if name is not None:
        _check_name(record, name)
    result = record.history(name)
    entries = [_entry(one, cost) for one, cost in zip(result, result.costs, strict=True)]
    names = dict.fromkeys(one["name"] for one in entries)
    shown: list[str | OutputTable] = []
    for each in names:
        shown += [f"data set: {each}", _page([entry for entry in result if entry.dataset == each])]
    return CommandOutput({"entries": entries}, shown or ["(none)"])


@command("discreet budget verify people.ledger")
def verify(
    ledger: Ledger,
    head: Annotated[str | None, typer.Option("--head", help="An earlier head, which must be in the ledger.")] = None,
) -> CommandOutput:
    """Verify that nobody changed the ledger. Keep its head elsewhere, to verify against it later."""
    result = _open_existing(ledger).verify(head)
    return CommandOutput({"intact": True, "head": result}, [facts_table({"record": "intact", "head": result})])


def _open_existing(ledger: str) -> Record:
    """Return an existing ledger; raise where there is none."""
    if "://" not in ledger and not Path(ledger).is_file():
        raise ValueError(
            f"{ledger}: there is no such ledger; discreet fit and discreet query make one with --ledger, and so does "
            f"discreet budget limit {ledger} 1:1e-6 --name …"
        )
    return Record(ledger, create=False)


def _check_name(record: Record, name: str | None) -> tuple[str, ...]:
    """Return the data set of this name, or all data sets for None; raise where there is none of this name."""
    known = record.datasets()
    if name is None:
        return known
    if name not in known:
        raise ArgumentError(
            "name", name, f"a data set of the ledger, one of {format_names(known)}{suggest_name(name, known)}"
        )
    return (name,)


def _check_known(ledger: str, name: str, *, raised: bool) -> None:
    """Raise where there is no limit to raise; write a note where a name is new beside others."""
    book = open_ledger_if_exists(ledger)
    known = () if book is None else book.datasets()
    if name in known:
        return
    if raised:
        expected = f"a data set with a limit to raise, of {format_names(known)}{suggest_name(name, known)}"
        raise ArgumentError("name", name, expected, write="no --reason for a first limit")
    if known:
        others = f"{format_names(known)}{suggest_name(name, known)}"
        note(f"note: {name!r} is new in this ledger, with a budget of its own, beside {others}")


def _state(record: Record, name: str) -> dict[str, Any]:
    """Return the limit of a data set, its spends, and what is left."""
    in_force = record.limit(name)
    left = None if in_force is None else BudgetShares.from_ledger(record, name).left(record.spent(name))
    return {
        "name": name,
        "unit": record.unit(name),
        "limit": None if in_force is None else in_force.guarantee,
        "spends": sum(entry.kind in SPENDS for entry in record.history(name)),
        "left": left,
        "next": str(record.remaining(name)),
    }


def _entry(entry: Any, cost: str) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time.isoformat(timespec="seconds"),
        "kind": entry.kind,
        "name": entry.dataset,
        "unit": entry.unit,
        "who": entry.who,
        "what": entry.query if entry.limit is None else entry.reason,
        "cost": cost,
        "losses": [loss.to_dict() | {"count": count} for loss, count in entry.losses],
        "limit": None if entry.limit is None else entry.limit.to_dict(),
        "hash": entry.hash,
    }


def _page(entries: Sequence[Any]) -> OutputTable:
    """Return the entries of a data set as a table of at most ``WIDTH`` characters, with long cells wrapped."""
    head = ("no.", "time", "kind", "who", "what", "cost")
    rows = []
    for entry, cost in zip(entries, History(entries).costs, strict=True):
        guarantee = None if entry.limit is None else entry.limit.guarantee
        short = cost if guarantee is None else f"ε={guarantee.epsilon:g} at δ={guarantee.delta:g}"
        what = entry.query if entry.limit is None else entry.reason
        rows.append([str(entry.number), f"{entry.time:%Y-%m-%d %H:%M}", entry.kind, entry.who or "", what or "", short])
    widest = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    widest[3] = min(widest[3], 10)
    widest[4] = max(WIDTH - 2 * (len(head) - 1) - sum(widest) + widest[4], 12)
    lines = []
    for row in rows:
        cells = [wrap(cell, width) for cell, width in zip(row, widest, strict=True)]
        lines += [list(line) for line in zip_longest(*cells, fillvalue="")]
    return OutputTable(head, lines)
