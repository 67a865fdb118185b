"""Read the owner's rows from a CSV file, for the comparison with a fit without privacy. It is not private.

No error quotes the file: it names the column that was expected, and nothing else.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from discreet.estimators.fitted_columns import numeric_columns
from discreet.records.cells import read_date
from discreet.scales import as_dates, column_scales


def rows_from_csv(model: Any, path: str | PathLike[str]) -> Any:
    """Return the complete rows of a CSV file in the form that ``model.report(private_rows=…)`` takes.

    Parameters
    ----------
    model : fitted estimator
    path : str or path
        A file whose first line has the names of the columns, including those of the model. Rows with a gap are dropped,
        unless a gap is a value of its own for the model.
    """
    numbers, labels = numeric_columns(model), dict(getattr(model, "categories_", {}))
    target = _target(model)
    wanted = [*numbers, *labels, *target]
    cells = _columns(Path(path), wanted)
    dated = [name for name, scale in column_scales(model.releases_[0].declared).items() if scale.kind == "date"]
    columns: dict[str, Any] = {
        name: np.array([(read_date if name in dated else _number)(cell) for cell in cells[name]], dtype=np.float64)
        for name in [*numbers, *target]
    }
    gaps = model.releases_[0].declared.get("gaps", [])
    complete = np.ones(len(cells[wanted[0]]), dtype=bool)
    for name, column in columns.items():
        complete &= np.isfinite(column) | (name in gaps)
    for name, values in labels.items():
        known = {str(value): value for value in values}
        columns[name] = np.array([known.get(cell) for cell in cells[name]], dtype=object)
        complete &= np.array([cell in known for cell in cells[name]], dtype=bool) | (name in gaps)
    if not complete.any():
        raise ValueError(f"--compare {Path(path).name}: expected rows with the columns {', '.join(map(repr, wanted))}")
    columns = {name: column[complete] for name, column in columns.items()}
    if hasattr(model, "columns_"):
        return columns | {name: as_dates(columns[name]) for name in dated}
    rows = np.stack([columns[name] for name in numbers], axis=1)
    beside = [*labels, *target]
    if not beside:
        return rows
    y = columns[beside[0]]
    return rows, np.array(y.tolist()) if y.dtype == object else y


def _target(model: Any) -> list[str]:
    """Return the column of a regression's target."""
    features = numeric_columns(model)
    declared = [str(name) for name in model.releases_[0].declared["columns"]]
    return [name for name in declared if name not in features] if len(declared) > len(features) else []


def _columns(path: Path, wanted: list[str]) -> dict[str, list[str]]:
    """Return the cells of some columns; raise where one of them is missing."""
    result: dict[str, list[str]] = {name: [] for name in wanted}
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = _read(file)
        header = next(reader, [])
        missing = [name for name in wanted if name not in header]
        if missing:
            names = ", ".join(map(repr, wanted))
            raise ValueError(
                f"--compare {path.name}: the column {missing[0]!r} is not there; expected a first line with {names}"
            )
        places = {name: header.index(name) for name in wanted}
        for line in reader:
            if len(line) == len(header):
                for name, place in places.items():
                    result[name].append(line[place])
    return result


def _read(file: TextIO) -> Iterator[list[str]]:
    """Yield the lines of a CSV file; an empty list for a line that cannot be parsed."""
    reader = csv.reader(file)
    while True:
        try:
            yield next(reader)
        except csv.Error:  # its message may quote the line
            yield []
        except StopIteration:
            return


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:  # its message would quote the cell
        return math.nan
