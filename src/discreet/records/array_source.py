"""Rows of an array: NumPy, or any library that speaks the array API (torch, CuPy, JAX, array-api-strict).

Numbers stay in their library and on their device; categories and units are looked up on the host. NumPy arrays of
objects or text are read cell by cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

from discreet.records.cells import dates, numbers
from discreet.records.reading import Reading, Slab, to_host
from discreet.records.source import LocalSource
from discreet.records.units import UnitCells

__all__ = ["ArraySource", "check_array", "check_ids", "check_shape", "unit_cells"]


def check_array(data: Any) -> Any:
    """Return ``data`` as an array of rows that can be read; its shape and its type are what is looked at."""
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "biufOSUT":
        # Behind a mask there may be anything; a masked cell is missing.
        hidden, shown = np.ma.getmaskarray(data), data.data
        exact = shown.dtype.kind in "OSUTiu"
        with np.errstate(all="ignore"):  # a warning would tell of a value
            data = shown.astype(object if exact else np.float64)  # as floats, large names of units would be confused
        data[hidden] = np.nan
    elif isinstance(data, np.ndarray):
        data = np.asarray(data)  # a subclass may do other things with operators
    elif hasattr(data, "detach"):
        data = data.detach()  # torch: no gradient goes through the door
    check_shape(data)
    if is_numpy_array(data) and data.dtype.kind in "OSUT":
        return data
    xp = array_namespace(data)
    if not xp.isdtype(data.dtype, ("bool", "integral", "real floating")):
        raise ValueError(f"data has the type {data.dtype}: expected numbers; write data.astype('float64')")
    if "float64" not in xp.__array_namespace_info__().dtypes(device=device(data), kind="real floating"):
        raise ValueError(
            f"data is on {device(data)}, where there is no float64: move it to the host, or enable float64"
        )
    return data


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
    left_out : collection of str
        See ``LocalSource``.
    """

    def __init__(
        self,
        data: Any,
        names: Sequence[str],
        reading: Reading,
        *,
        ids: UnitCells | None = None,
        left_out: Collection[str] = (),
    ) -> None:
        super().__init__(reading, left_out)
        self._data, self._ids = data, ids
        self._place = {name: j for j, name in enumerate(names)}
        self.kind = f"{array_namespace(data).__name__.removeprefix('array_api_compat.')} array"

    def rows(self) -> int:
        """Return how many rows there are."""
        return int(self._data.shape[0])

    def _pieces(self, reading: Reading) -> Iterator[slice]:
        step, rows = reading.slab_rows, self.rows()
        return (slice(start, min(start + step, rows)) for start in range(0, rows, step))

    def slabs(self, reading: Reading) -> Iterator[Slab]:
        """Yield slices of the array."""
        place = [self._place[name] for name in reading.numbers]
        everything = place == list(range(self._data.shape[1]))
        for piece in self._pieces(reading):
            rows = self._data[piece, :]
            chosen = rows if everything else _columns(rows, place)
            if is_numpy_array(chosen) and chosen.dtype.kind in "OSUT":
                chosen = _read(chosen, reading.scales)
            yield Slab(chosen, [_cells(rows[:, self._place[name]]) for name in reading.labels])

    def unit_cells(self) -> Iterator[UnitCells]:
        """Yield the unit's column."""
        if self._ids is not None:
            yield self._ids
        elif self.declared.unit is not None:
            yield unit_cells(self._data[:, self._place[self.declared.unit.column]])


def _read(cells: NDArray[Any], scales: Sequence[str]) -> NDArray[np.float64]:
    """Return cells of objects or text as numbers, column by column."""
    columns = [
        (dates if scale == "date" else numbers)(cells[:, j].tolist()) for j, scale in enumerate(scales)
    ]  # fmt: skip
    return np.stack(columns, axis=1) if columns else np.empty((len(cells), 0))


def unit_cells(column: Any) -> UnitCells:
    """Return names of units that stand in an array of one dimension."""
    found = to_host(column)
    return UnitCells(found if found.dtype.kind in "iu" else found.tolist())


def check_ids(kind: str) -> None:
    """Raise where an array of this type cannot hold names of units: whole numbers, text or objects can."""
    if kind not in "iuOUT":
        raise ValueError(
            "unit: expected names of units as whole numbers or text, and an array of another type holds none (floats "
            "make one of several large numbers); write unit=ids with an array of whole numbers or text, one a row"
        )


def _cells(column: Any) -> list[Any]:
    found = to_host(column)
    # As Python's dates, moments out of their range would become numbers.
    cells: list[Any] = list(found) if found.dtype.kind in "mM" else found.tolist()
    return cells


def _columns(rows: Any, place: list[int]) -> Any:
    xp = array_namespace(rows)
    return xp.take(rows, xp.asarray(place, dtype=xp.int64, device=device(rows)), axis=1)
