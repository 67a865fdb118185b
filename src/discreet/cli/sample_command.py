"""``discreet sample``: draw synthetic rows from a fitted model. They cost nothing."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer
from numpy.typing import NDArray

from discreet.cli.command import command
from discreet.cli.options import ModelFile, Overwrite
from discreet.cli.output_files import new_file
from discreet.cli.printing import CommandOutput, facts_table, is_interactive
from discreet.records.sources.frames import import_optional

BLOCK = 100_000  # rows drawn and written at once
SAMPLED = ("table", "mixture", "classifier", "factor-analysis", "pca")

Columns = Mapping[str, NDArray[Any]]


@command("discreet sample model.json --rows 1000 --out synthetic.csv")
def sample(
    model: ModelFile,
    rows: Annotated[int, typer.Option("--rows", min=1, max=10**12, help="The number of rows.")],
    out: Annotated[
        Path, typer.Option("--out", help="A file that ends with .csv or .parquet; - for CSV on standard output.")
    ],
    clip: Annotated[
        bool, typer.Option("--clip", help="Clip numbers to the declared bounds; Gaussians exceed them.")
    ] = False,
    overwrite: Overwrite = False,
) -> CommandOutput:
    """Draw synthetic rows from a fitted model. Any number of them costs nothing."""
    from discreet.estimators.loading import load_model

    fitted: Any = load_model(model)
    if not hasattr(fitted, "sample"):
        raise ValueError(
            f"{model.name!r} holds a {type(fitted).__name__}, which has no rows to draw; expected one that discreet "
            f"fit made with {', '.join(SAMPLED)}"
        )
    if str(out) == "-":
        _write_csv(sys.stdout, _blocks(fitted, rows, clip))
        return CommandOutput({}, [])
    write = {".csv": _to_csv, ".parquet": _to_parquet}.get(out.suffix.lower())
    if write is None:
        raise typer.BadParameter(f"{out.name!r}: expected a name that ends with .csv or .parquet", param_hint="--out")
    with new_file(out, overwrite=overwrite, protected=[model]) as place:
        names = write(place, _with_progress(_blocks(fitted, rows, clip), rows))
    guarantee = fitted.guarantee_
    return CommandOutput(
        {"out": out, "rows": rows, "columns": names, "guarantee": guarantee},
        [facts_table({"rows": rows, "columns": ", ".join(names), "written to": out, "cost": "nothing more"})],
    )


def _blocks(fitted: Any, rows: int, clip: bool) -> Iterator[Columns]:
    """Yield rows column by column, so that any number of them fits into memory."""
    for start in range(0, rows, BLOCK):
        number = min(BLOCK, rows - start)
        if hasattr(fitted, "_draw_columns"):  # of a table with gaps
            yield {name: _with_gaps(*column) for name, column in fitted._draw_columns(number).items()}
        else:
            yield _columns(fitted, fitted.sample(number), clip)


def _columns(fitted: Any, drawn: Any, clip: bool) -> Columns:
    """Return the result of ``sample`` as named columns; with the labels of rows, but without their components."""
    from discreet.estimators.fitted_columns import numeric_scales, rows_to_values
    from discreet.records import Space

    if isinstance(drawn, Mapping):
        return drawn  # of a table, already within the bounds
    x, beside = drawn if isinstance(drawn, tuple) else (drawn, None)
    names = getattr(fitted, "feature_names_in_", [f"x{j}" for j in range(x.shape[1])])
    scales = numeric_scales(fitted)
    values = rows_to_values(x, scales) if clip else x
    if clip:
        values = np.asarray(Space.from_dict(fitted.releases_[0].declared["space"]).clip(values))
    columns = {
        str(name): scale.as_rows(values[:, j]) if clip or scale.kind == "date" else x[:, j]
        for j, (name, scale) in enumerate(zip(names, scales, strict=True))
    }
    labels = getattr(fitted, "categories_", {})
    return columns | {str(name): np.asarray(beside) for name in labels}


def _with_gaps(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Return a column with None for each gap; as it is where there is none."""
    if not missing.any():
        return values
    cells = values.astype(object)
    cells[missing] = None
    return cells


def _to_csv(place: Path, blocks: Iterator[Columns]) -> list[str]:
    with place.open("w", encoding="utf-8", newline="") as file:
        return _write_csv(file, blocks)


def _write_csv(file: TextIO, blocks: Iterator[Columns]) -> list[str]:
    names: list[str] = []
    writer = csv.writer(file, lineterminator="\n")
    for block in blocks:
        if not names:
            names = list(block)
            writer.writerow(names)
        writer.writerows(zip(*(column.tolist() for column in block.values()), strict=True))
    file.flush()
    return names


def _to_parquet(place: Path, blocks: Iterator[Columns]) -> list[str]:
    arrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    tables = (arrow.table({name: _of_one_type(column) for name, column in block.items()}) for block in blocks)
    first = next(tables)
    with parquet.ParquetWriter(place, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
    return list(first.schema.names)


def _of_one_type(column: NDArray[Any]) -> list[Any]:
    """Return a column for Parquet; values of several types as text."""
    cells: list[Any] = column.tolist()
    alike = len({type(cell) for cell in cells if cell is not None}) <= 1
    return cells if alike else [None if cell is None else str(cell) for cell in cells]


def _with_progress(blocks: Iterator[Columns], rows: int) -> Iterator[Columns]:
    """Yield the blocks, with a progress bar on a terminal if there are several."""
    if not is_interactive() or rows <= BLOCK:
        yield from blocks
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(blocks, "drawing", total=-(-rows // BLOCK), console=console)
