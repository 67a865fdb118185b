"""``discreet query``: ask a statistical database over a file or a server, within its budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from discreet.arguments import choice, one_of, probability
from discreet.cli.budget_limits import check_limit, trial_ledger
from discreet.cli.command import command
from discreet.cli.declaration_flags import check_columns, declared_schema, open_source, parse_limit, parse_numbers
from discreet.cli.error_messages import EXCEEDED
from discreet.cli.options import (
    AtMost,
    Data,
    DeclarationFlags,
    LedgerPath,
    Name,
    NewLimit,
    Relation,
    Where,
)
from discreet.cli.printing import CommandOutput, OutputTable, facts_table
from discreet.database.questions import QUESTIONS
from discreet.guarantees import Neighbors
from discreet.records import Table, dataset_name, open_records
from discreet.statistics import Counts, Crosstab, LogRank, SchemaCheck, Statistic
from discreet.statistics.statistic import OF
from discreet.statistics.statistic_plots import interval_text

NAMES = {name.replace("_", "-"): statistic for name, statistic in QUESTIONS.items()}
FLAGS = {
    "column",
    "columns",
    "values",
    "by",
    "between",
    "over",
    "weights",
    "step",
    "q",
    "levels",
    "bins",
    "trim",
    "loose",
    "method",
    "interval",
}
# The two columns that a statistic cannot do without: those of a crosstab, or a time and an event.
NEEDED = {
    name: [one.name for one in statistic.parameters if one.kind < one.KEYWORD_ONLY and one.default is one.empty]
    for name, statistic in NAMES.items()
}
PAIRS = {name: needed[:2] for name, needed in NEEDED.items() if len(needed) > 1}
TAKEN = {name: {one.name for one in statistic.parameters} for name, statistic in NAMES.items()}


def _parse_statistic(text: str) -> str:
    """Return the name of a statistic, which may be written as in Python: rank_test."""
    name = text.replace("_", "-")
    if name not in NAMES:
        raise typer.BadParameter(f"{text!r} is not {one_of(name, NAMES)}.")
    return name


def _statistics_that_take(flag: str) -> list[str]:
    """Return the statistics that take a flag."""
    if flag == "where":  # all except checks of the declaration, which are about all rows
        return [name for name, taken in TAKEN.items() if taken]
    return [name for name, taken in TAKEN.items() if taken & ({"q", "levels"} if flag == "q" else {flag})]


@command(
    "discreet query people.csv mean hours --by income --where '25 <= age < 65' --schema people.toml"
    " --ledger people.ledger --limit 1:1e-6",
    "discreet query people.csv quantiles age --q 0.25 --q 0.75 --step 1 --schema people.toml --ledger people.ledger"
    " --preview",
)
def query(
    data: Data,
    statistic: Annotated[
        str,
        typer.Argument(
            metavar="STATISTIC",
            help=", ".join(NAMES),
            show_default=False,
            callback=_parse_statistic,
            autocompletion=lambda: list(NAMES),
        ),
    ],
    ledger: LedgerPath,
    columns: Annotated[
        list[str] | None,
        typer.Argument(metavar="COLUMN", help="The declared columns: age stay, or age,stay.", show_default=False),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="An answer for each category of a column, or of several: ward,sex. Repeatable."),
    ] = None,
    between: Annotated[
        list[str] | None,
        typer.Option("--between", help="Comparisons: the column of categories that divides what is compared."),
    ] = None,
    over: Annotated[str | None, typer.Option("--over", help="Trend: the column of dates or numbers.")] = None,
    where: Where = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="What the answer costs; or:")] = None,
    share: Annotated[
        float | None, typer.Option("--share", help="The share of the budget that it takes; a tenth by default.")
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show the cost only; nothing is spent.")] = False,
    level: Annotated[float, typer.Option("--level", help="The level of the interval around each number.")] = 0.95,
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            help="What the interval is about: rows, these rows, or population, the one that they are a sample of. By "
            "default rows, or population with --set population=true.",
        ),
    ] = None,
    weights: Annotated[str | None, typer.Option("--weights", help="A declared column of weights.")] = None,
    step: Annotated[float | None, typer.Option("--step", help="Quantiles: the step of the values.")] = None,
    q: Annotated[
        list[str] | None, typer.Option("--q", help="Which quantile, or several: 0.25,0.5. Repeatable.")
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins",
            help="Of a histogram or table: how many, edges (0,18,65,120), or of dates day, week, month, year. For one "
            "column of several: age=0,18,65,120. Repeatable for different columns.",
        ),
    ] = None,
    values: Annotated[
        str | None, typer.Option("--values", help="Crosstab: the column whose mean each cell has, in place of counts.")
    ] = None,
    trim: Annotated[
        float | None, typer.Option("--trim", help="Of a trimmed mean: the share left out at an end.")
    ] = None,
    loose: Annotated[bool, typer.Option("--loose", help="Mean: bounds are far wider than the rows.")] = False,
    method: Annotated[str | None, typer.Option("--method", help="Variance, covariance: another method.")] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Counts: whole numbers that are not negative.")] = False,
    own: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another argument: --set NAME=VALUE, with commas for a list. Repeatable."),
    ] = None,
    *,
    declared: DeclarationFlags,
    neighbors: Relation = Neighbors.REPLACE_ONE,
    at_most: AtMost = None,
    name: Name = None,
    limit: NewLimit = None,
) -> CommandOutput:
    """Ask a statistical database. Every answer has noise, and is recorded in the ledger before it is given.

    The first question needs --limit, the budget of the data set; afterwards the ledger has it. A refused question
    leaves no trace, and neither does --preview, which exits with code 3 where the budget does not admit the question.
    """
    from discreet.database import StatisticalDatabase

    probability("level", level)  # before anything is spent
    if whole and (values is not None or not issubclass(NAMES[statistic].result, Counts | Crosstab | SchemaCheck)):
        raise ValueError(f"--whole: {statistic} does not take it; it is for counts")
    if of is not None:
        if of not in OF and "of" in TAKEN[statistic]:
            raise typer.BadParameter(
                f"{of!r}: expected {one_of(of, OF)}; write --set of={of} for the category that {statistic} is about",
                param_hint="--of",
            )
        choice("of", of, OF)
    schema = declared_schema(declared)
    groups, divided = (_parse_names(texts or [], schema.names) for texts in (by, between))
    columns = columns or []
    if statistic != "proportion":  # which may be of a condition
        columns = _parse_names(columns, schema.names)
    flags = {
        "by": groups,
        "between": divided[0] if len(divided) == 1 else divided,
        "over": over,
        "where": where,
        "weights": weights,
        "step": step,
        "q": [level for text in q or () for level in parse_numbers(text, float, "--q", "numbers; write --q 0.25,0.5")],
        "bins": _parse_all_bins(bins or [], schema.names),
        "values": values,
        "trim": trim,
    }
    arguments = _arguments(statistic, columns, level, flags | {"loose": loose or None, "method": method})
    arguments |= _parse_own(statistic, own or []) | {"epsilon": epsilon, "share": share}
    _check_given(statistic, arguments)
    if of == "population":
        arguments |= _for_population(statistic, arguments)
    budget = None if limit is None else parse_limit(limit, neighbors)
    result = NAMES[statistic].result
    numbers = not (issubclass(result, Statistic) and result.takes_categories) and statistic not in PAIRS
    given = [] if statistic == "proportion" else columns  # a condition is checked below
    check_columns(schema, given, numbers=numbers, by=groups, weights=weights)
    place = open_source(data, declared.table, schema.names, per_unit=declared.per_unit)
    rows = open_records(place if isinstance(place, Table) else Table(place), schema=schema)
    called = name or dataset_name(place)
    in_force = check_limit(ledger, called, limit, budget)
    if not in_force and budget is None:
        raise ValueError(f"--ledger {ledger}: it has no limit for {called!r} yet; write --limit 1:1e-6 the first time")

    def database(book: Any) -> Any:
        return StatisticalDatabase(rows, budget=budget, neighbors=neighbors, ledger=book, name=called, at_most=at_most)

    asked = statistic.replace("-", "_")
    with nullcontext(ledger) if in_force else trial_ledger(ledger, called) as book:
        tried = database(book)
        pricing = None if in_force and not preview else tried.preview(getattr(tried.draft, asked)(**arguments))
        if pricing is not None and preview:
            return _price_output(pricing)
        if pricing is None or not pricing.admitted:
            # It raises where it is not admitted.
            return _answer_output(getattr(tried, asked)(**arguments), level, of, whole=whole)
    return _answer_output(getattr(database(ledger), asked)(**arguments), level, of, whole=whole)


def _parse_names(texts: list[str], known: Sequence[str]) -> list[str]:
    """Return names of columns, which may be separated by commas; a declared name may itself contain one."""
    return [name.strip() for text in texts for name in ([text] if text in known else text.split(","))]


def _parse_all_bins(texts: list[str], known: Sequence[str]) -> Any:
    """Return the bins of all columns, or a dictionary of those of each; None where there are none."""
    named: dict[str, Any] = {}
    for text in texts:
        name, equals, bins = text.rpartition("=")
        if not equals:
            if len(texts) > 1:
                raise typer.BadParameter(
                    f"{text!r}: expected it once, or with the name of a column; write --bins age=10 --bins stay=5",
                    param_hint="--bins",
                )
            return _parse_bins(text)
        if name not in known or name in named:
            raise typer.BadParameter(
                f"{text!r}: expected NAME=BINS with a declared column, each once: {', '.join(known)}",
                param_hint="--bins",
            )
        named[name] = _parse_bins(bins)
    return named or None


def _parse_bins(text: str) -> Any:
    """Return a number of bins, edges separated by commas, or the name of a calendar unit."""
    if "," not in text and not text.lstrip("+-").isdigit():
        return text
    if "," not in text:
        return int(text)
    edges = [one.strip() for one in text.split(",")]
    try:
        return [float(one) for one in edges]
    except ValueError:
        return edges  # dates; others are refused before anything is spent


def _parse_own(statistic: str, texts: list[str]) -> dict[str, Any]:
    """Parse arguments that have no flag of their own, NAME=VALUE.

    A VALUE is read as JSON, or else as text; with commas as a list of texts, as in --by.
    """
    known = sorted(TAKEN[statistic] - FLAGS - {*PAIRS.get(statistic, ())})
    result: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            there = f"NAME=VALUE, with a NAME of {', '.join(known)}" if known else f"nothing, for {statistic}"
            raise typer.BadParameter(f"{text!r}: expected {there}", param_hint="--set")
        try:
            result[name] = json.loads(value)
        except ValueError:
            result[name] = [one.strip() for one in value.split(",")] if "," in value else value
    return result


def _check_given(statistic: str, arguments: dict[str, Any]) -> None:
    """Raise where an argument of the statistic is missing."""
    for one in NAMES[statistic].parameters:
        if one.default is one.empty and one.name not in arguments:
            flag = f"--{one.name} …" if one.name in FLAGS else f"--set {one.name}=…"
            raise typer.BadParameter(f"{statistic} needs {one.name}; write {flag}", param_hint=flag.split()[0])


def _arguments(statistic: str, columns: list[str], level: float, flags: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the question from columns and flags; raise where the statistic does not take one."""
    given = {flag: value for flag, value in flags.items() if value is not None and value != []}
    for flag in given:
        if statistic not in _statistics_that_take(flag):
            if flag == "by" and "between" in TAKEN[statistic]:
                raise ValueError(
                    f"--by: {statistic} compares groups; write --between NAME, all columns that define them"
                )
            raise ValueError(
                f"--{flag}: {statistic} does not take it; it is for {', '.join(_statistics_that_take(flag))}"
            )
    taken = TAKEN[statistic]
    if statistic in PAIRS:
        first, second = PAIRS[statistic]
        if len(columns) != 2:
            raise typer.BadParameter(
                f"{statistic} is of two columns, its {first} and its {second}; write for example: {statistic} "
                + ("ward sex" if first == "rows" else "months died" + " --between arm" * ("between" in taken)),
                param_hint="COLUMN",
            )
        return {first: columns[0], second: columns[1]} | given
    several = "columns" in taken or statistic == "histogram"
    if not several and "column" not in taken:
        if columns:
            how = "write --by or --where, or histogram" if "by" in taken else "it is about all rows"
            raise ValueError(f"{' '.join(columns)}: {statistic} takes no column; {how}")
        return given
    if not columns and "over" in taken:
        return {"column": None} | given  # the trend of the number of rows
    if not columns or (len(columns) > 1 and not several):
        of = "columns" if several else "one column"
        raise typer.BadParameter(f"{statistic} is of {of}; write for example: {statistic} age", param_hint="COLUMN")
    levels = given.pop("q", None)
    if "levels" in taken:
        if levels is None:
            raise typer.BadParameter("quantiles needs them; write --q 0.25,0.5,0.75", param_hint="--q")
        given["levels"] = levels
    elif "q" in taken:
        if levels is None or len(levels) != 1:
            raise typer.BadParameter("quantile takes one; write --q 0.9, or quantiles for several", param_hint="--q")
        given["q"] = levels[0]
    if "interval" in taken:
        given["interval"] = level
    asked = columns if len(columns) > 1 else columns[0]
    return {"columns" if "columns" in taken else "column": asked} | given


def _price_output(pricing: Any) -> CommandOutput:
    (one,) = pricing.questions
    return CommandOutput(
        {
            "question": one.draft.description,
            "which_rows": pricing.which_rows,
            "guarantee": one.guarantee,
            "noise": one.noise,
            "share": one.share,
            "left": pricing.left,
            "admitted": pricing.admitted,
        },
        [
            facts_table(
                {
                    "question": one.draft.description,
                    "from": pricing.which_rows,
                    "would cost": f"{one.guarantee} with {one.noise}",
                    "of the budget": f"{one.share:.1%}",
                    "left now": f"{pricing.left:.1%}",
                    "admitted": "yes" if pricing.admitted else "no",
                }
            )
        ],
        code=0 if pricing.admitted else EXCEEDED,
    )


def _for_population(statistic: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with which a statistic has intervals about the population; raise where it has none."""
    taken, result = TAKEN[statistic], NAMES[statistic].result
    if "population" in taken:
        return {"population": True}
    shares = issubclass(result, Counts) and ("column" in arguments or "by" in arguments)
    ranks = "interval_kind" in taken and arguments.get("interval_kind", "approximate") == "approximate"
    own = issubclass(result, Statistic) and result.speaks_of_population
    if not shares and not ranks and not own:
        able = [name for name, taken in TAKEN.items() if {"population", "interval_kind"} & taken]
        raise ValueError(
            f"--of population: {statistic} has no such interval as asked here; ask for {', '.join(able)} with "
            "approximate intervals, for histogram, or for count with --by"
        )
    return {}


def _answer_output(reply: Any, level: float, of: str | None, *, whole: bool) -> CommandOutput:
    reply = reply.whole() if whole else reply
    table = reply.statistic
    rows = table.table(level, of, margins=True) if isinstance(table, Crosstab) else reply.table(level, of)
    about, interval_of = reply.which_rows, reply.interval_of if of is None else of
    beside = ("which_rows", "interval_of", "drowned")  # said once, beside the table
    head = [name for name in rows[0] if name not in beside]
    return CommandOutput(
        {
            "question": reply.priced.draft.description,
            "which_rows": about,
            "answer": rows,
            **({"p_value": table.p_value} if isinstance(table, LogRank) and "p_value" not in rows[0] else {}),
            **({"notes": list(reply.notes)} if reply.notes else {}),
            "level": level,
            "of": interval_of,
            "guarantee": reply.guarantee,
            "noise": reply.priced.noise,
            "share": reply.share,
            "left": reply.left,
        },
        [
            *([] if about is None else [f"{reply.priced.draft.question}, from {about}"]),
            OutputTable(head, [[row[one] for one in head] for row in map(table._show_cells, rows)]),
            *([interval_text(level, interval_of)] if "low" in rows[0] else []),
            *reply.notes,
            reply.cost,
        ],
    )
