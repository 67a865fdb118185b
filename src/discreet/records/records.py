"""``Records``: rows with their declarations, and views of them that read fewer columns or rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, is_list, one_of, positive
from discreet.records.declaration_check import PersonSource, StateReading
from discreet.records.declared.box import Box
from discreet.records.declared.conditions import Condition
from discreet.records.declared.possible_rows import check_possible
from discreet.records.gap_reading import GapReading
from discreet.records.indicator_reading import IndicatorReading
from discreet.records.reading import Block, Reading
from discreet.records.sources.source import Kernel, Source
from discreet.records.sources.whole_sums import float_error


class Records:
    """Rows of some source, read as they were declared. Made by ``as_records``.

    Nothing here prints, logs, stores or raises anything that depends on the value of a row. What a table says of itself
    (names, types, the number of columns) is checked when the records are made, and never again.

    The data must not change while its records are in use.

    Attributes
    ----------
    columns, scales : tuple of str
        The numeric columns, in the order of a block's ``x``, and for each "linear", "log" or "date" (``columns``).
    category_columns, categories : tuple
        The columns of categories, in the order of a block's ``codes``, and for each its declared values; a code is a
        place among them.
    dimension : int
        How many numeric columns there are.
    space : Box, Ball or None
        The declared space of the numeric columns, with one bound a column; None where there are none.
    unit : Unit or None
        Whose privacy is protected, and which rows of one unit count; None where each row stands for itself.
    max_rows : int
        How many rows of one unit contribute at most; 1 where the row is the unit.
    per_unit : bool
        Whether the rows are those of a view, of which the owner declared that each is made from one unit's rows.
    condition : Condition or None
        What must hold for a row to contribute.
    required : tuple of str
        The columns in which a gap drops the row.
    complete : bool
        Whether every row surely contributes: every column fills, the unit is a row, and there is no condition.
    kind : str
        What the rows are read from, in words.
    backend : str or None
        Of a data frame in memory its library: "pandas", "polars" or "pyarrow", say.
    named : bool
        Whether the columns have names in the data; those of an array have places.
    float_error : float
        γ: ``reduce`` is within γ·N·B of the exact sum of N float contributions of norm B (``sources.whole_sums``).
    block_rows : int
        The largest number of rows that a kernel sums at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.records import Box, as_records
    >>> rows = as_records(np.array([[30.0, 1e9], [50.0, 60.0], [np.nan, 70.0]]), space=Box([0, 40], [120, 250]))
    >>> rows
    Records(numpy array, columns=('x0', 'x1'), space=Box(low=(0.0, 40.0), high=(120.0, 250.0)))
    >>> rows.reduce(lambda block: block.x.sum(axis=0), size=2).tolist()
    [80.0, 310.0]
    >>> rows.rows
    3
    """

    def __init__(self, source: Source, described: Reading | None = None) -> None:
        self._source = source
        reading = described or source.reading
        self.columns, self.category_columns = reading.numbers, tuple(reading.categories)
        self.dimension, self.space, self.scales = len(self.columns), reading.space, reading.scales
        self.categories = tuple(category.values for category in reading.categories.values())
        self.unit, self.max_rows, self.per_unit = reading.unit, reading.max_rows, source.per_unit
        self.condition, self.required, self.complete = reading.condition, reading.required, reading.complete
        self.kind, self.backend, self.named = source.kind, source.backend, source.named
        self.block_rows, self.float_error = reading.block_rows, float_error(reading.block_rows)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self) or hasattr(type(self), name):  # noise is drawn for what was declared
            raise AttributeError(f"{name}: records do not change; declare others, or take a view with only or where")
        super().__setattr__(name, value)

    @cached_property
    def rows(self) -> int:
        """How many rows the source has, dropped ones included. Public under replace-one, a secret under add-remove."""
        return self._source.rows()

    @cached_property
    def units(self) -> int | None:
        """How many units there are, None where each row stands for itself. Public or secret, as ``rows`` is."""
        return None if self.unit is None else sum(self._source.unit_sizes())

    @property
    def declared(self) -> dict[str, Any]:
        """What was declared of the rows, as plain values, and which of them count; public."""
        said = {
            "where": None if self.condition is None else str(self.condition),
            "scales": list(self.scales) if {*self.scales} - {"linear"} else None,
            "order": None if self.unit is None else self.unit.order,
            "per_unit": self.per_unit or None,
        }
        return {name: value for name, value in said.items() if value is not None} | {
            "space": None if self.space is None else self.space.to_dict(),
            "columns": list(self.columns),
            "category_columns": list(self.category_columns),
            "categories": [list(values) for values in self.categories],
            "unit": None if self.unit is None else self.unit.column,
            "max_rows": self.max_rows,
            "required": list(self.required),
        }

    def only(self, names: Collection[str]) -> Records:
        """Return the same rows, of which only some columns are read: a gap in another drops no row.

        Which rows of a unit count does not depend on the columns that are read: it follows from all that are declared.
        The columns of a condition stay, after the others.

        >>> import numpy as np
        >>> from discreet.records import Box, as_records
        >>> rows = as_records(np.array([[1.0, np.nan], [2.0, 5.0]]), space=Box(0, 9))
        >>> [records.reduce(lambda block: block.x.sum(axis=0)[:1], 1).item() for records in (rows, rows.only(["x0"]))]
        [2.0, 3.0]
        """
        if is_list(names) and not len(names):
            raise ArgumentError("columns", names, "a list of columns")
        self._check_listed(names, self.columns + self.category_columns)
        self._check_values()
        return self._read(self._source.reading.only(names))

    @staticmethod
    def _check_listed(names: Collection[str], known: Sequence[str]) -> None:
        for name in [name for name in names if name not in known] if is_list(names) else [names]:
            raise ArgumentError("columns", name, f"a list of columns, each {one_of(name, known)}")

    def where(self, condition: str | Condition) -> Records:
        """Return the same rows, of which only those contribute for which a condition holds.

        The condition is a function of one row alone, so neighbours stay neighbours: one row still changes a sum by its
        own contribution at most. It is evaluated on the declared values: clipped, and filled where something is
        missing. A row that lacks a value in one of the condition's columns is dropped where the column says so. The
        limit on the rows of a unit comes first: the condition chooses among the ``max_rows`` rows of a unit that count.
        How many rows are left is private under every neighbour relation.

        Parameters
        ----------
        condition : str or Condition
            About the declared columns; ``Condition.parse`` describes the language. A second condition is joined to the
            first with ``and``.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet.records import Box, as_records
        >>> rows = as_records(np.array([[17.0, 1.0], [20.0, 2.0], [64.0, 4.0]]), space=Box(0, 120))
        >>> rows.where("18 <= x0 < 65").reduce(lambda block: block.x.sum(axis=0), 2).tolist()
        [84.0, 6.0]
        """
        self._check_values()
        declared = dict(zip(self.category_columns, self.categories, strict=True))
        text = str(condition) if isinstance(condition, Condition) else condition  # codes are those of these records
        numbers = dict(zip(self.columns, self.scales, strict=True))
        return self._read(self._source.reading.where(Condition.parse(text, numbers, declared)))

    def check_condition(self) -> Records:
        """Return the same rows; raise where by what is declared no row can meet their condition (``possible_rows``)."""
        reading = self._source.reading
        if reading.condition is not None:
            bounds = reading.bounds.intervals() if isinstance(reading.bounds, Box) else ()
            sizes = {name: len(category.values) for name, category in reading.categories.items()}
            check_possible(reading.condition, dict(zip(reading.numbers, bounds, strict=False)), sizes)
        return self

    def on_log_scale(self, names: Collection[str]) -> Records:
        """Return the same rows, of which queries see the logarithms of some columns.

        Each must be a column of numbers, no date, with bounds of its own that are above 0.
        """
        self._check_values()
        reading = self._source.reading
        ends = reading.bounds.intervals() if isinstance(reading.bounds, Box) else [(0.0, 0.0)] * self.dimension
        declared = zip(self.columns, self.scales, ends, strict=True)
        fit = [name for name, scale, (low, _) in declared if scale != "date" and low > 0.0]
        if not is_list(names) or not all(name in fit for name in names):
            write = "for example Number(1, 1000, log=True) for each"
            raise ArgumentError("columns", names, "a list of columns of numbers with bounds above 0", write)
        return self._read(reading.on_log_scale(names))

    def _check_values(self) -> None:
        if isinstance(self._source.reading, StateReading):
            raise ValueError("columns, where: expected none, where a declaration is checked: it is about all rows")

    def _read(self, reading: Reading, described: Reading | None = None) -> Records:
        self._check_values()
        if reading == self._source.reading:
            return self
        source = copy(self._source)
        source.reading = reading
        return Records(source, described)

    def counting(self) -> Records:
        """Return the same rows for counting them: a gap drops none, but in a column of the condition.

        >>> import numpy as np
        >>> from discreet.records import Box, as_records
        >>> rows = as_records(np.array([[1.0, np.nan], [2.0, 5.0]]), space=Box(0, 9))
        >>> [len(block.x) for records in (rows, rows.counting()) for block in records.blocks()]
        [1, 2]
        """
        if self.condition is not None:
            return self._read(self._source.reading.only(()))
        return self._read(self._source.reading.only((self.columns + self.category_columns)[:1]).filled())

    def states(self) -> Records:
        """Return the same rows with a category for each column: what its declaration makes of the cell.

        The numeric columns first, with ``declaration_check.STATES``, then those of categories, with ``LABEL_STATES``.
        All rows within the limit of their unit are there, with all of their states; there is no condition.
        """
        self._check_whole()
        states = StateReading.from_reading(self._source.declared)
        return self._read(states, states.to_reading())

    def with_gaps(self) -> Records:
        """Return the same rows, of which none is dropped for a gap: a gap is a category (``gap_reading``).

        >>> import numpy as np
        >>> from discreet.records import Box, as_records
        >>> rows = as_records(np.array([[1.0, np.nan], [2.0, 5.0]]), space=Box(0, 9)).with_gaps()
        >>> rows.category_columns, [block.codes.tolist() for block in rows.blocks()]
        (('x0 is missing', 'x1 is missing'), [[[0, 1], [0, 0]]])
        """
        self._check_values()
        reading = GapReading.from_reading(self._source.reading)
        if not reading.gaps:
            return self
        source = copy(self._source)
        source.reading = reading
        return RecordsWithGaps(source, reading)

    def with_indicators(self, names: Collection[str]) -> Records:
        """Return the same rows, in which some categories are columns of 0 and 1 (``indicator_reading``).

        >>> import numpy as np
        >>> from discreet.records import Category, Number, Schema, as_records
        >>> schema = Schema({"age": Number(0, 120), "ward": Category(["a", "b", "c"])})
        >>> rows = as_records(np.array([["30", "b"], ["50", "a"]]), schema=schema).with_indicators(["ward"])
        >>> rows.columns, [block.x.tolist() for block in rows.blocks()]
        (('age', 'ward=b', 'ward=c'), [[[30.0, 1.0, 0.0], [50.0, 0.0, 0.0]]])
        """
        self._check_listed(names, self.category_columns)
        self._check_values()
        reading = IndicatorReading.from_reading(self._source.reading, names)
        if not reading.indicated:
            return self
        source = copy(self._source)
        source.reading = reading
        return RecordsWithIndicators(source, reading)

    def _check_whole(self) -> None:
        if self.condition is not None:
            raise ArgumentError("where", str(self.condition), "none, since a declaration is checked for all rows")

    def persons(self) -> Records:
        """Return one row for each unit, with a category "rows": how many rows it has (``declaration_check``)."""
        self._check_whole()
        if self.unit is None:
            raise ArgumentError("unit", None, "records with a unit; where each row stands for itself there is one each")
        return Records(PersonSource(self._source))

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute: filled, within the limit of their unit, clipped into the space.

        Each call starts anew. A block comes from at most ``block_rows`` rows; blocks without any row are left out.
        """
        return self._source.blocks()

    def reduce(self, kernel: Kernel, size: int, norm: float = 1.0, each: Kernel | None = None) -> NDArray[np.float64]:
        """Return the sum of ``kernel`` over all blocks. Its bits do not depend on the order in which blocks come.

        Parameters
        ----------
        kernel : callable
            From a ``Block`` to an array of shape (size,), the sum of the contributions of its rows, in float64. It gets
            blocks in the array library of the source, and runs on the workers for Dask. It must work for all rows: an
            error that it raises is passed on as it is (from Dask's workers its type alone).
        size : int
            How many numbers it gives.
        norm : float
            B, a bound on the Euclidean norm of each row's contribution. The sum is on a grid of about 2⁻⁷⁶·B.
        each : callable, optional
            The contributions themselves, of shape (n, size) for a block of n rows, for a database that sums by itself.

        Returns
        -------
        array of shape (size,)
            float64. Exact numbers: they may leave through the door only.
        """
        return self._source.reduce(kernel, integer("size", size, least=1), positive("norm", norm), each)

    def gather(self, kernel: Kernel, width: int, *, sort: bool = True) -> NDArray[np.float64]:
        """Return what ``kernel`` makes of each row that contributes, sorted; as long as the data.

        Sorted, so that the order of arrival does not show: a view or a cluster may give all rows in another order when
        one person is added.

        Parameters
        ----------
        kernel : callable
            From a ``Block`` of n rows to an array of shape (n, width). What it makes of a row must not depend on the
            rows beside it.
        width : int
            How many numbers it makes of a row.
        sort : bool
            False for callers that sort them anyway: no result may depend on the order in which they come.

        Returns
        -------
        array of shape (rows, width)
            float64. Private: they may leave through the door only.
        """
        result = self._source.gather(kernel, integer("width", width, least=1))
        if not sort:
            return result
        return np.sort(result, axis=0) if width == 1 else result[np.lexsort(result.T[::-1])]

    def __repr__(self) -> str:
        parts = [self.kind]
        if self.columns:
            parts += [f"columns={self.columns!r}", f"space={self.space!r}"]
        if self.category_columns:
            parts.append(f"categories={dict(zip(self.category_columns, self.categories, strict=True))!r}")
        if self.unit is not None:
            parts.append(f"unit={self.unit.column!r}, max_rows={self.max_rows}")
        if self.condition is not None:
            parts.append(f"where={str(self.condition)!r}")
        return f"Records({', '.join(parts)})"


class RecordsWithGaps(Records):
    """Rows of which none is dropped for a gap (``Records.with_gaps``).

    Attributes
    ----------
    gaps : tuple of str
        The columns in which a gap is a value of its own.
    """

    def __init__(self, source: Source, reading: GapReading) -> None:
        super().__init__(source, reading.shown)
        self.gaps = reading.gaps

    @property
    def declared(self) -> dict[str, Any]:
        """What was declared of the rows, with the columns in which a gap is a value."""
        return super().declared | {"gaps": list(self.gaps)}

    def _check_values(self) -> None:
        raise ValueError("columns, where: expected none, where gaps are values; write them before with_gaps()")


class RecordsWithIndicators(Records):
    """Rows in which some categories are columns of 0 and 1 (``Records.with_indicators``).

    Attributes
    ----------
    indicated : dict of str to Category
        These columns of categories; the first value of each has no column.
    """

    def __init__(self, source: Source, reading: IndicatorReading) -> None:
        super().__init__(source, reading.shown)
        self.indicated = reading.given_way

    @property
    def declared(self) -> dict[str, Any]:
        """What was declared of the rows, with the categories that are indicators."""
        return super().declared | {"indicators": {name: one.to_dict() for name, one in self.indicated.items()}}

    def _check_values(self) -> None:
        raise ValueError("columns, where: expected none, where categories are indicators; write them before that")
