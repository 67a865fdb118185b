"""The flags that several commands share, and the group of flags that declare the rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.guarantees import Neighbors

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, Parquet, Arrow or DuckDB file, a folder of Parquet files, or postgresql://user@host/database.",
        show_default=False,
    ),
]
TableName = Annotated[str | None, typer.Option("--table", help="Which table of a DuckDB file or a database.")]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="A TOML file that declares the columns.")]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bounds",
        metavar="NAME=LOW:HIGH",
        help="A column of numbers or dates and its bounds; income=1:1e6:log for a log scale. Repeatable.",
    ),
]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        "--classes",
        metavar="NAME=A,B,...",
        help="A column of categories and its values; ward=a,b:other counts all others as other. Repeatable.",
    ),
]
Unit = Annotated[
    str | None, typer.Option("--unit", help="The column that identifies a row's person, where a person has several.")
]
MaxRows = Annotated[int | None, typer.Option("--max-rows", help="With --unit: how many rows of one person count.")]
UnitType = Annotated[str | None, typer.Option("--unit-type", help="The type of the unit's column: text, or integer.")]
Order = Annotated[
    str | None, typer.Option("--order", help="A column of numbers or dates: a person's first rows in it count.")
]
PerUnit = Annotated[
    bool, typer.Option("--per-unit", help="For a view: you assert that each row is made from one person's rows.")
]
AtMost = Annotated[
    int | None,
    typer.Option(
        "--at-most",
        min=2**27,  # more rows are an error, which must not reveal their number: docs/limits.md
        help="A public bound on the number of rows, where that is private; 2^27 by default, and at least.",
    ),
]
Where = Annotated[
    str | None, typer.Option("--where", help="Only rows that meet this condition: \"18 <= age < 65 and sex == 'f'\".")
]
Relation = Annotated[
    Neighbors, typer.Option("--neighbors", help="What is protected: a row's values, or also its presence.")
]
LedgerPath = Annotated[
    str, typer.Option("--ledger", help="The ledger that records every spend: a file, or postgresql+psycopg://…")
]
SomeLedger = Annotated[
    str | None, typer.Option("--ledger", help="The ledger that records the spend: a file, or postgresql+psycopg://…")
]
Ledger = Annotated[str, typer.Argument(metavar="LEDGER", help="A ledger: a file, or postgresql+psycopg://…")]
Name = Annotated[
    str | None,
    typer.Option("--name", help="The data set's name in the ledger; by default its file's, or schema.table."),
]
NewLimit = Annotated[
    str | None,
    typer.Option("--limit", metavar="EPS:DELTA", help="What all releases together may cost, for ever; set once."),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A fitted model, as discreet fit writes it.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out if it exists.")]


class FlagGroup:
    """A group of flags that several commands share: its subclasses are dataclasses with a field for each flag."""


@dataclass(frozen=True)
class DeclarationFlags(FlagGroup):
    """The flags that declare the rows: a schema file, or the columns one by one, and which table to read."""

    schema: SchemaFile = None
    bounds: Bounds = None
    classes: Classes = None
    unit: Unit = None
    max_rows: MaxRows = None
    unit_type: UnitType = None
    order: Order = None
    table: TableName = None
    per_unit: PerUnit = False
