"""``discreet schema``: write a schema to fill in, and check a schema.

``init`` writes the names of columns and, where the file states them, their types. It reads no row: no range, no value
and no number of rows goes into a schema, since everything declared is public. A CSV file states no types, and guessing
them would mean reading rows, so its owner chooses.

The names of a CSV file are its first line. Where that has a number, a date, an empty cell or the same cell twice, it is
taken for a row and refused. Where a cell is not a single plain word, the owner must state with ``--header`` that it has
names. A row of single words cannot be told from names without reading other rows, so the draft says where its names
come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet.arguments import format_names
from discreet.cli.command import command
from discreet.cli.declaration_flags import check_stated_header, open_source, read_schema
from discreet.cli.options import Data, Overwrite, TableName
from discreet.cli.output_files import new_file
from discreet.cli.printing import CommandOutput, OutputTable
from discreet.cli.single_options import CommandTyper
from discreet.records import Category, Date, Number, Schema
from discreet.records.sources.csv_files import CSV_SUFFIXES
from discreet.records.sources.engines import open_engine

NUMBER = "# low =\n# high ="
DATE = "# low = 2020-01-01\n# high = 2025-12-31"
VALUES = '# values = ["", ""]\n# other = "other"'
GAPS = '# missing = "fill"\n# fill ='
FIELDS = {
    "integer": NUMBER,
    "float": NUMBER,
    "decimal": NUMBER,
    "boolean": "values = [false, true]",
    "date": DATE,
    "timestamp": DATE,
    "text": VALUES,
    "unknown": f"# numbers:\n{NUMBER}\n# or dates:\n{DATE}\n# or categories:\n{VALUES}",
}
HEAD = """\
# The columns of a table. Fill them in from a code book or from their meaning, never from the rows: this file is public.
# Numbers and dates need low and high, categories their values. Positive numbers with a long tail, such as incomes, may
# have log = true: answers then have relative noise, and a mean is a geometric mean. Remove the # of a line to use it,
# and remove columns that nobody should ask about: columns that are not declared are not read. A row with a gap in a
# column of a question is dropped, unless missing = "fill" and fill gives the value for gaps. A category that is not
# among values is a gap too, unless other names the category of all others.

# If one person has several rows: the column that identifies the person, and how many of their rows count.
# unit = ""
# max_rows = 1
"""
# Of a CSV file: only its owner can tell a row of single words from names.
FIRST_LINE = """
# The names below are the first line of the file. If that line is a row, delete this file: it has a person's data.
# Then write the names of the columns above the rows, and begin again.
"""


def commands() -> typer.Typer:
    """Return ``discreet schema init`` and ``discreet schema check``."""
    app = CommandTyper(help="Write a schema to fill in, or check one.", no_args_is_help=True)
    app.command("init")(init)
    app.command("check")(check)
    return app


@command("discreet schema init people.csv --out draft.toml", "discreet schema init clinic.duckdb --table visits")
def init(
    data: Data,
    table: TableName = None,
    out: Annotated[Path | None, typer.Option("--out", help="A file; standard output by default.")] = None,
    overwrite: Overwrite = False,
    header: Annotated[
        bool, typer.Option("--header", help="You state that the first line of a CSV file has the names of its columns.")
    ] = False,
) -> CommandOutput:
    """Write a schema to fill in: names of columns, and types where the file states them. No row is read.

    What you fill in is public, so take it from a code book, and never from the rows. The names of a CSV file are those
    of its first line. One that may be a row is refused, or needs --header. A row of single words looks like names.
    """
    types = _stated_types(data, table)
    check_stated_header(data, header=header)
    text = (
        HEAD
        + (FIRST_LINE if data.lower().endswith(CSV_SUFFIXES) else "")
        + "".join(_entry(name, kind) for name, kind in types.items())
    )
    shown = text.rstrip("\n")
    if out is not None:
        with new_file(out, overwrite=overwrite, protected=[data]) as place:
            place.write_text(text, encoding="utf-8")
        shown = f"{out}: fill in what is public, then: discreet schema check {out}"
    columns = [{"name": name, "type": kind} for name, kind in types.items()]
    return CommandOutput({"columns": columns, "toml": text, "out": out}, [shown])


@command("discreet schema check people.toml --data people.csv")
def check(
    file: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A TOML file.")],
    data: Annotated[str | None, typer.Option("--data", help="A file or database that should have the columns.")] = None,
    table: TableName = None,
) -> CommandOutput:
    """Check a schema, and show what it declares. With --data, check that the columns exist. No row is read."""
    schema = read_schema(file)
    if data is not None:
        _check_names(schema, list(_stated_types(data, table, schema.names)))
    rows = []
    for name, column in schema.columns:
        if isinstance(column, Category):
            rows.append((name, "category", ", ".join(map(str, column.values)), _gaps(column.fill)))
        elif isinstance(column, Date):
            rows.append((name, "date", f"{column.low} to {column.high}", _gaps(column.fill)))
        else:
            ends = f"{column.low:g} to {column.high:g}" + (", on a log scale" if column.log else "")
            rows.append((name, "number", ends, _gaps(column.fill)))
    unit = "each row" if schema.unit is None else f"each {schema.unit}, of whose rows {schema.max_rows} count"
    columns = [{"name": name, "kind": kind, "declared": declared} for name, kind, declared, _ in rows]
    return CommandOutput(
        {"valid": True, "columns": columns, "unit": schema.unit, "max_rows": schema.max_rows},
        [OutputTable(("column", "kind", "declared", "gaps"), rows), f"Protected: {unit}."],
    )


def _stated_types(data: str, table: str | None, declared: Sequence[str] = ()) -> Mapping[str, str]:
    """Return the columns and the types that the file or the database states for them."""
    engine = open_engine(open_source(data, table, declared, per_unit=True))  # no row is read
    if data.lower().endswith(CSV_SUFFIXES):
        return dict.fromkeys(engine.types, "unknown")
    return {name: kind if kind in FIELDS else "other" for name, kind in engine.types.items()}


def _entry(name: str, kind: str) -> str:
    head = Schema({name: Number(0, 1)}).to_toml().splitlines()[0]  # quoted as in TOML
    stated = "" if kind == "unknown" else f"  # {kind}"
    return f"\n{head}{stated}\n{FIELDS.get(kind, FIELDS['unknown'])}\n{GAPS}\n"


def _check_names(schema: Schema, known: list[str]) -> None:
    wanted = [*schema.names, *([] if schema.unit is None else [schema.unit])]
    missing = [name for name in wanted if name not in known]
    if missing:
        raise ValueError(f"not in the data: {format_names(missing)}; expected some of {format_names(known)}")


def _gaps(fill: object) -> str:
    return "row dropped" if fill is None else f"filled with {fill}"
