"""Synthetic tables of a posterior: each from one draw of the parameters, so that together they know what is uncertain.

All rows of a table are drawn from the model at one draw of the posterior, and the tables are at draws that are far
apart in the chains. So tables differ as much as the releases leave the population open: by the sampling of the private
rows and by the noise. The rule that combines an analysis of each of them (``estimators/combined_fits.py``) rests on
that. Rows that are each at another draw, as in ``sample_predictive``, have the same distribution one by one, but all
their uncertainty is within one table, where no analysis sees it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.estimators.fitted_columns import to_frame
from discreet.inference.rows.model_spec import ModelSpec
from discreet.inference.rows.row_model import RowModel
from discreet.scales import ColumnScale

Array = NDArray[np.float64]


def draw_tables(
    vectors: Array,
    model: RowModel,
    spec: ModelSpec,
    scales: Mapping[str, ColumnScale],
    count: int,
    rows: int,
    rng: np.random.Generator,
) -> list[Any]:
    """Return so many tables of so many rows.

    Parameters
    ----------
    vectors : array of shape (draws, size)
        Draws of the parameters, one chain after the other.
    model : RowModel
    spec : ModelSpec
    scales : mapping
        The scale of each numeric column that has one.
    count, rows : int
        How many tables, and how many rows each has.
    rng : Generator
    """
    apart = (rng.uniform() + np.arange(count)) * len(vectors) / count  # evenly spaced over all chains
    names = _name_columns(model, spec)
    tables = []
    for v in vectors[apart.astype(int)]:
        drawn = model.draw(v, rows, int(rng.integers(2**31)))
        columns: dict[str, Any] = {}
        for j, name in enumerate(model.layout.columns):
            values = np.asarray(drawn["x"][:, j])
            columns[names[j]] = scales[name].as_rows(values, inside=False) if name in scales else values
        declared = (spec.labels,) if spec.labels else model.layout.categories
        for j, (name, labels) in enumerate(zip(model.layout.category_columns, declared, strict=True)):
            columns[name] = np.asarray(labels)[drawn["codes"][:, j]]
        tables.append(_to_frame(columns))
    return tables


def _name_columns(model: RowModel, spec: ModelSpec) -> Sequence[str]:
    """Return the names of the numeric columns: those of the fit, where the releases only number them."""
    columns, fitted = model.layout.columns, tuple(map(str, spec.coords.get("column", ())))
    numbered = columns == tuple(f"x{j}" for j in range(len(columns)))
    return fitted if numbered and len(fitted) == len(columns) else columns


def _to_frame(columns: Mapping[str, Any]) -> Any:
    """Return a data frame of the first library that is installed, or the columns where none is."""
    libraries = (name for name in ("pandas", "polars", "pyarrow") if name in sys.modules or find_spec(name))
    backend = next(libraries, None)
    return dict(columns) if backend is None else to_frame(columns, backend)
