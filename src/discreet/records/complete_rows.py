"""Checks that rows which their owner passes directly are complete numbers; these are outside of the guarantee.

NaN, infinities and text raise an error that names the column, so whether it is raised depends on the rows. That is for
a person who may see them anyway. Rows that pass are complete, so every one of them counts.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

from discreet.records.cells import is_gap
from discreet.records.declared.ball import Ball
from discreet.records.declared.box import Box
from discreet.records.declared.columns import Date, Number
from discreet.records.declared.schema import Schema
from discreet.records.sources.frames import DAYS, as_frame, to_floats, unique_names

DATES = "dates or times"


def check_owned(data: Any, declared: Box | Ball | Schema, unit: Any) -> None:
    """Raise where columns of numbers or dates, passed by their owner, hold something else.

    Columns whose gaps are filled are not looked at, nor is the one that says whose row it is.
    """
    columns = dict(declared.columns) if isinstance(declared, Schema) else None
    checked = [name for name, one in (columns or {}).items() if isinstance(one, Number) and one.fill is None]
    if is_array_api_obj(data) and data.ndim == 2:
        places = [j for j in range(data.shape[1]) if not (isinstance(unit, Integral) and j == unit)]
        names = [f"x{j}" for j in places] if columns is None else list(columns)
        for j, name in zip(places, names, strict=False):  # as_records sees to it that there are as many of both
            if columns is None or name in checked:
                check_finite(data[:, j : j + 1], [name])
        return
    frame = as_frame(data)
    if columns is None and frame is not None:
        checked = [name for name in map(str, frame.columns) if not (isinstance(unit, str) and name == unit)]
    check_finite(data, checked if columns is not None or frame is not None else None)
    for name, one in (columns or {}).items():
        if frame is None or name not in frame.columns or not isinstance(one, Date) or one.fill is not None:
            continue
        if not np.isfinite(to_floats(frame[name], "date")).all():
            raise ValueError(
                f"the column {name!r} holds gaps, or what is no date: expected complete rows. Declare what becomes of "
                f"others in a schema, as {name!r}: Date('2020-01-01', '2025-12-31', missing='fill', fill='2020-01-01')"
            )


def check_finite(data: Any, columns: Sequence[str] | None = None) -> None:
    """Raise a ``ValueError`` that names the first column with a NaN, an infinity or text.

    Outside of the guarantee: the error depends on the rows. For data that its owner passes to an estimator directly.

    Parameters
    ----------
    data : array or table
        Rows and columns: an array, or a pandas, Polars or Arrow table.
    columns : sequence of str or None
        Names for the columns of an array, or the columns of a table to look at; all if None.

    Examples
    --------
    >>> import numpy as np
    >>> check_finite(np.array([[1.0, 2.0], [3.0, np.nan]]), columns=["age", "pressure"])
    Traceback (most recent call last):
        ...
    ValueError: the column 'pressure' holds NaN or missing values: expected complete rows of numbers. ...
    """
    for name, cells in _columns(data, columns):
        if result := _describe_problem(cells):
            if result is DATES:
                raise ValueError(f"the column {name!r} holds {result}: expected numbers; {DAYS}")
            raise ValueError(
                f"the column {name!r} holds {result}: expected complete rows of numbers. Declare what others become "
                "in a schema, for Curator(rows, schema=…); how many rows you drop by hand may itself reveal a person"
            )


def _columns(data: Any, columns: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    if is_array_api_obj(data):
        if data.ndim != 2:
            raise ValueError(f"data has {data.ndim} dimensions: expected rows and columns; write data.reshape(-1, 1)")
        names = [f"x{j}" for j in range(data.shape[1])] if columns is None else list(columns)
        if len(names) != data.shape[1]:
            raise ValueError(f"columns has {len(names)} names: expected {data.shape[1]}, one for each column of data")
        yield from ((name, data[:, j]) for j, name in enumerate(names))
        return
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise ValueError(f"data of type {type(data).__name__}: expected rows, as an array or a data frame") from None
    names = unique_names(frame.columns)
    for name in names if columns is None else columns:
        if name not in names:
            raise ValueError(f"the column {name!r} is not in the data: expected one of " + ", ".join(map(repr, names)))
        series = list(frame.iter_columns())[names.index(name)]
        dtype = series.dtype
        numeric = dtype.is_integer() or dtype.is_float() or isinstance(dtype, nw.Boolean)
        yield name, series.to_numpy() if numeric and not series.null_count() else series.to_list()


def _describe_problem(cells: Any) -> str | None:
    """Return what is wrong with a column, in words without a value."""
    if is_array_api_obj(cells) and not (isinstance(cells, np.ndarray) and cells.dtype.kind not in "biuf"):
        return _describe_array_problem(cells)
    for cell in cells.tolist() if isinstance(cells, np.ndarray) else cells:
        if isinstance(cell, str | bytes):
            return "text"
        if isinstance(cell, bool | np.bool_):
            continue
        if not isinstance(cell, Real):
            if isinstance(cell, datetime.date | datetime.time | datetime.timedelta) and not is_gap(cell):
                return DATES
            return "NaN or missing values" if is_gap(cell) else "values that are not numbers"
        if not math.isfinite(cell):
            return "NaN or missing values" if math.isnan(cell) else "infinity"
    return None


def _describe_array_problem(cells: Any) -> str | None:
    xp = array_namespace(cells)
    if not xp.isdtype(cells.dtype, "real floating"):
        return None if xp.isdtype(cells.dtype, ("bool", "integral")) else "values that are not real numbers"
    if bool(xp.any(xp.isnan(cells))):
        return "NaN or missing values"
    return "infinity" if bool(xp.any(xp.isinf(cells))) else None
