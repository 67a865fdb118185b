"""``discreet report``: write one HTML file about a fitted model, its guarantee, and how to verify it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.command import command
from discreet.cli.options import ModelFile, Overwrite
from discreet.cli.output_files import new_file
from discreet.cli.printing import CommandOutput, facts_table, note


@command("discreet report model.json --out report.html")
def report(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", help="The file to write, for example report.html.")],
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="FIRST,SECOND", help="Which two columns are drawn.")
    ] = None,
    ledger: Annotated[str | None, typer.Option("--ledger", help="A ledger whose spends are shown.")] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The data set in the ledger; by default the one that the model names.")
    ] = None,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Infer a posterior and show its intervals; takes a minute or so.")
    ] = False,
    compare: Annotated[
        Path | None,
        typer.Option(
            "--compare",
            metavar="ROWS.csv",
            help="NOT PRIVATE: compare with the rows; the file says so in large letters.",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> CommandOutput:
    """Write a report that opens in any browser and needs no network.

    It is made from the model's file, which is public. With --compare it is not private.
    """
    from discreet.estimators.loading import load_model
    from discreet.report.owned_rows import rows_from_csv

    fitted: Any = load_model(model)
    rows = None if compare is None else rows_from_csv(fitted, compare)
    chosen = None if columns is None else [column.strip() for column in columns.split(",")]
    with new_file(out, overwrite=overwrite, protected=[model, compare, ledger], secret=compare is not None) as place:
        about = {"ledger": ledger, "name": name, "columns": chosen, "posterior": posterior or None, "file": model.name}
        fitted.report(place, private_rows=rows, overwrite=True, **about)  # ``place`` exists already, and is empty
    if compare is not None:
        note(f"{out} is NOT PRIVATE: it holds exact results from {compare.name}; do not publish it")
    return CommandOutput(
        {"out": out, "kind": type(fitted).__name__, "guarantee": fitted.guarantee_, "private": compare is None},
        [
            facts_table(
                {"written to": out, "model": type(fitted).__name__, "private": "yes" if compare is None else "NO"}
            )
        ],
    )
