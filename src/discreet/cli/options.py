"""Flags that several commands have, written once."""

from __future__ import annotations

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
        help="A column of numbers or dates and where they lie; income=1:1e6:log for a log scale. Repeatable.",
    ),
]
Classes = Annotated[
    list[str] | None,
    typer.Option("--classes", metavar="NAME=A,B,...", help="A column of categories and which there are. Repeatable."),
]
Unit = Annotated[
    str | None, typer.Option("--unit", help="The column that says whose row it is, where a person has several.")
]
MaxRows = Annotated[int | None, typer.Option("--max-rows", help="With --unit: how many rows of one person count.")]
UnitType = Annotated[str | None, typer.Option("--unit-type", help="What the unit's column holds: text, or integer.")]
Order = Annotated[
    str | None, typer.Option("--order", help="A column of numbers or dates: a person's first rows in it count.")
]
PerUnit = Annotated[
    bool, typer.Option("--per-unit", help="Of a view: each of its rows is made from one person's rows, on your word.")
]
AtMost = Annotated[
    int | None,
    typer.Option(
        "--at-most",
        min=2**27,  # more rows than that are an error, which must not tell how many there are: docs/limits.md
        help="A public bound on the number of rows, where that is private; 2^27 by default, and at least.",
    ),
]
Where = Annotated[
    str | None, typer.Option("--where", help="Only rows for which this holds: \"18 <= age < 65 and sex == 'f'\".")
]
Relation = Annotated[
    Neighbors, typer.Option("--neighbors", help="What is protected: a row's values, or also whether it is there.")
]
LedgerPath = Annotated[
    str, typer.Option("--ledger", help="Where every spend is recorded: a file, or postgresql+psycopg://…")
]
SomeLedger = Annotated[
    str | None, typer.Option("--ledger", help="Where the spend is recorded: a file, or postgresql+psycopg://…")
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
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out where there is one.")]
