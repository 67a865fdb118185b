"""Rows of an array: NumPy, or any library that speaks the array API (torch, CuPy, JAX, array-api-strict).

Numbers stay in their library and on their device; categories and units are looked up on the host. NumPy arrays of
objects or text are read cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

from discreet.records.cells import read_dates, read_numbers
from discreet.records.generic_arrays import take, to_host
from discreet.records.reading import Reading
from discreet.records.row_choice import DeclaredRows, UnitCells
from discreet.records.sources.source import LocalSource


def check_array(data: Any) -> Any:
    """Return ``data`` as an array of rows that can be read; its shape and its type are what is looked at."""
    if isinstance(data, np.ndarray):
        data = (
            _fill_masked(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        )  # a subclass has operators
    elif hasattr(data, "detach"):
        data = data.detach()  # torch: no gradient goes through the door
    check_shape(data)
    if is_numpy_array(data) and data.dtype.kind in "OSUT":
        return data
    xp = array_namespace(data)
    if not xp.isdtype(data.dtype, ("bool", "integral", "real floating")):
        raise ValueError(f"data has the type {data.dtype}: expected numbers; write data.astype('float64')")
    if "float64" not in xp.__array_namespace_info__().dtypes(device=device(data), kind="real floating"):
        raise ValueError(f"data is on {device(data)}, where there is no float64: move it to the host, or enable it")
    return data


def _fill_masked(data: Any) -> NDArray[Any]:
    """Return a masked array as one with gaps: a masked cell is missing, and the value under the mask is ignored."""
    if data.dtype.kind not in "biufOSUT":
        return np.asarray(data)
    exact = data.dtype.kind in "OSUTiu"  # as floats, large names of units would be confused
    with np.errstate(all="ignore"):  # a warning would tell of a value
        cells: NDArray[Any] = data.data.astype(object if exact else np.float64)
    cells[np.ma.getmaskarray(data)] = np.nan
    return cells


def check_shape(data: Any) -> None:
    """Check that there are rows and columns, and how many columns."""
    if data.ndim != 2:
        raise ValueError(
            f"data has {data.ndim} dimensions: expected rows and columns; write data.reshape(-1, 1) for a single column"
        )
    if not data.shape[1] >= 1:  # none, or a Dask array that does not know
        raise ValueError(f"data has {data.shape[1]} columns: expected at least one, and a known number")


class ArraySource(LocalSource):
    """Rows of a two-dimensional array.

    Parameters
    ----------
    data : array
        As ``check_array`` returns it.
    names : sequence of str
        A name for each of its columns.
    reading : Reading
        Its columns are found by these names.
    ids : UnitCells or None
        The unit of each row, where it is not a column of ``data``.
    """

    def __init__(self, data: Any, names: Sequence[str], reading: Reading, ids: UnitCells | None = None) -> None:
        super().__init__(reading)
        self._data, self._ids, self.named = data, ids, False
        self._place = {name: j for j, name in enumerate(names)}
        self.kind = f"{array_namespace(data).__name__.removeprefix('array_api_compat.')} array"

    def rows(self) -> int:
        """Return how many rows there are."""
        return int(self._data.shape[0])

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield slices of the array."""
        place = [self._place[name] for name in reading.numbers]
        everything = place == list(range(self._data.shape[1]))
        for start in range(0, self.rows(), reading.slab_rows):
            rows = self._data[start : min(start + reading.slab_rows, self.rows()), :]
            chosen = rows if everything else take(rows, place, axis=1)
            if is_numpy_array(chosen) and chosen.dtype.kind in "OSUT":
                chosen = _read_cells(chosen, reading.scales)
            labels = [_cells(rows[:, self._place[name]]) for name in reading.categories]
            yield DeclaredRows(chosen, reading.codes(labels, rows.shape[0]))

    def unit_cells(self, column: str) -> Iterator[UnitCells]:
        """Yield the unit's column."""
        yield self._ids or unit_cells(self._data[:, self._place[column]])


def _read_cells(cells: NDArray[Any], scales: Sequence[str]) -> NDArray[np.float64]:
    """Return cells of objects or text as numbers, column by column."""
    columns = [
        (read_dates if scale == "date" else read_numbers)(cells[:, j].tolist()) for j, scale in enumerate(scales)
    ]  # fmt: skip
    return np.stack(columns, axis=1) if columns else np.empty((len(cells), 0))


def unit_cells(column: Any) -> UnitCells:
    """Return names of units that stand in an array of one dimension."""
    result = to_host(column)
    return UnitCells(result if result.dtype.kind in "iu" else result.tolist())


def check_ids(kind: str) -> None:
    """Raise where an array of this type cannot hold names of units: whole numbers, text or objects can."""
    if kind not in "iuOUT":
        raise ValueError(
            "unit: expected names of units as whole numbers or text, and an array of another type holds none (floats "
            "make one of several large numbers); write unit=ids with an array of whole numbers or text, one a row"
        )


def _cells(column: Any) -> list[Any]:
    result = to_host(column)
    # As Python's dates, moments out of their range would become numbers.
    cells: list[Any] = list(result) if result.dtype.kind in "mM" else result.tolist()
    return cells
