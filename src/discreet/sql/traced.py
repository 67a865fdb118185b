"""Tracing of kernels: a row of symbols records what a kernel does to one row, as expressions.

Kernels are array-API generic, so they also run on a row whose cells are expressions. What comes out says how each of
the kernel's numbers follows from the row's columns, for a database to compute (``text``): the same operations, in
the same order, without a second implementation.

Only what every database rounds as IEEE 754 asks is written down: sums, differences, products, quotients, minima,
maxima, comparisons and choices. Anything else, and every question that only a real row could answer, raises
``NotTraceable``; the rows are then read instead.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

ANYTHING = (-math.inf, math.inf)


class NotTraceable(Exception):  # noqa: N818
    """A kernel does something that cannot be written down."""


class Column:
    """A column of the row, by its name in the text to come, and between what it surely lies."""

    def __init__(self, name: str, low: float, high: float) -> None:
        self.name, self.range = name, (low, high)


class Step:
    """An operation on constants (floats, booleans), columns and other steps, and between what its result surely lies.

    Rounding is monotone, so what an operation with a constant makes of the ends of a range are the ends of what it
    makes of all numbers between.
    """

    def __init__(self, name: str, *operands: Any) -> None:
        self.name, self.operands, self.range = name, operands, ANYTHING
        if name in ARITHMETIC and isinstance(operands[1], float) and not _is_constant(operands[0]):
            low, high = sorted(ARITHMETIC[name](end, operands[1]) for end in operands[0].range)
            self.range = (low, high) if low <= high else ANYTHING


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "least": min, "greatest": max,
}  # fmt: skip
OPERATORS: dict[str, Callable[[Any, Any], Any]] = ARITHMETIC | {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
    "and": operator.and_, "or": operator.or_,
}  # fmt: skip
TRUTHS = (*(OPERATORS.keys() - ARITHMETIC.keys()), "not")


def _is_constant(cell: Any) -> bool:
    return isinstance(cell, float | bool)


def _apply(name: str, a: Any, b: Any) -> Any:
    """Return an operation on two cells: computed for constants, else written down."""
    if name in ARITHMETIC:
        a, b = _as_number(a), _as_number(b)
    if name == "/" and _is_constant(b) and b == 0.0:
        raise NotTraceable(name)
    if _is_constant(a) and _is_constant(b):
        return OPERATORS[name](a, b)
    if name in ("least", "greatest") and isinstance(b, float) and not _is_constant(a):
        low, high = a.range  # what is clipped already
        if (name == "least" and high <= b) or (name == "greatest" and low >= b):
            return a
    return Step(name, a, b)


def _not(a: Any) -> Any:
    return (not a) if _is_constant(a) else Step("not", a)


def _choose(test: Any, a: Any, b: Any) -> Any:
    return (a if test else b) if _is_constant(test) else Step("case", test, a, b)


def _as_number(cell: Any) -> Any:
    """Return a cell as a number: 1 for true and 0 for false."""
    if _is_constant(cell):
        return float(cell)
    truth = isinstance(cell, Step) and cell.name in TRUTHS
    return Step("case", cell, 1.0, 0.0) if truth else cell


def _to_cells(value: Any) -> NDArray[Any]:
    """Return numbers as an array of cells."""
    if isinstance(value, Traced):
        return value.cells
    plain = np.asarray(value)
    if plain.dtype.kind not in "biuf":
        raise NotTraceable(type(value).__name__)
    return plain.astype(np.bool_ if plain.dtype.kind == "b" else np.float64).astype(object)


def _elementwise(apply: Callable[..., Any], *arrays: Any) -> Traced:
    given = [_to_cells(one) for one in arrays]
    result = np.empty(np.broadcast_shapes(*(cells.shape for cells in given)), dtype=object)
    result[...] = np.frompyfunc(apply, len(given), 1)(*given)  # a single cell comes without an array
    return Traced(result)


def _operation(name: str) -> Callable[[Any, Any], Traced]:
    """Return an operation on two arrays of expressions, cell by cell."""
    return lambda one, other: _elementwise(partial(_apply, name), one, other)


def _swapped_operation(name: str) -> Callable[[Any, Any], Traced]:
    return lambda one, other: _elementwise(partial(_apply, name), other, one)


class Traced:
    """An array of expressions.

    Parameters
    ----------
    cells : array of objects
        Floats and booleans for constants, ``Column`` and ``Step`` for what depends on the row.
    """

    device = "database"
    dtype = "float64"

    def __init__(self, cells: NDArray[Any]) -> None:
        self.cells, self.shape, self.ndim = cells, cells.shape, cells.ndim

    def __array_namespace__(self, api_version: str | None = None) -> Namespace:
        return NAMESPACE

    def __getitem__(self, key: Any) -> Traced:
        result = self.cells[key]
        return Traced(result if isinstance(result, np.ndarray) else _to_cells(result))

    __add__, __radd__, __sub__, __rsub__ = (
        _operation("+"),
        _swapped_operation("+"),
        _operation("-"),
        _swapped_operation("-"),
    )
    __mul__, __rmul__, __truediv__ = _operation("*"), _swapped_operation("*"), _operation("/")
    __lt__, __le__, __gt__, __ge__ = _operation("<"), _operation("<="), _operation(">"), _operation(">=")
    __eq__, __ne__ = _operation("="), _operation("<>")  # type: ignore[assignment]
    __and__, __or__ = _operation("and"), _operation("or")
    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Traced:
        return -1.0 * self

    def __invert__(self) -> Traced:
        return _elementwise(_not, self)

    def __bool__(self) -> bool:
        if self.cells.size == 1 and _is_constant(self.cells.reshape(-1)[0]):
            return bool(self.cells.reshape(-1)[0])
        raise NotTraceable("a branch")

    def _refuse(self, *arguments: Any, **options: Any) -> Any:
        raise NotTraceable("a number")

    __float__ = __array__ = __iter__ = _refuse  # a number, an array, a loop over rows

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks for many of these
            raise AttributeError(name)
        raise NotTraceable(name)


class Namespace:
    """The functions of the array API that can be written down."""

    __name__, float64 = "traced", "float64"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else NotTraceable(name)

    def asarray(self, value: Any, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Traced:
        """Return constants as cells."""
        return Traced(_to_cells(value))

    def astype(self, x: Traced, dtype: Any, *, copy: bool = True, device: Any = None) -> Traced:
        """Return numbers."""
        if dtype != "float64":
            raise NotTraceable("astype")
        return _elementwise(_as_number, x)

    def full(self, shape: tuple[int, ...], value: float, *, dtype: Any = None, device: Any = None) -> Traced:
        """Return a constant in every cell."""
        return Traced(_to_cells(np.full(shape, float(value))))

    def ones(self, shape: tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Traced:
        """Return ones."""
        return self.full(shape, 1.0)

    def zeros_like(self, x: Traced, *, dtype: Any = None, device: Any = None) -> Traced:
        """Return zeros."""
        return self.full(x.shape, 0.0)

    def minimum(self, a: Any, b: Any) -> Traced:
        """Return the smaller of two."""
        return _operation("least")(a, b)

    def maximum(self, a: Any, b: Any) -> Traced:
        """Return the larger of two."""
        return _operation("greatest")(a, b)

    def clip(self, x: Any, low: Any, high: Any) -> Traced:
        """Return x between two numbers."""
        return self.minimum(self.maximum(x, low), high)

    def where(self, test: Any, a: Any, b: Any) -> Traced:
        """Return one or the other."""
        return _elementwise(_choose, test, a, b)

    def isnan(self, x: Traced) -> Traced:
        """Return False: the rows of a block are complete."""
        return Traced(_to_cells(np.zeros(x.shape, dtype=bool)))

    def any(self, x: Traced) -> Traced:
        """Return whether one of the cells is true; for constants."""
        return Traced(_to_cells(np.asarray(any(_check_constants(x)))))

    def take(self, x: Traced, indices: Any, *, axis: int) -> Traced:
        """Return some of the columns; the indices may have been turned into cells."""
        places = np.reshape(_check_constants(indices), np.shape(_to_cells(indices)))
        return Traced(np.take(x.cells, places.astype(np.int64), axis=axis))

    def stack(self, arrays: Sequence[Traced], *, axis: int = 0) -> Traced:
        """Return arrays side by side along a new axis."""
        return Traced(np.stack([_to_cells(one) for one in arrays], axis=axis))

    def concat(self, arrays: Sequence[Traced], *, axis: int = 0) -> Traced:
        """Return arrays one after the other."""
        return Traced(np.concatenate([_to_cells(one) for one in arrays], axis=axis))


NAMESPACE = Namespace()


def _check_constants(x: Any) -> list[float]:
    """Return cells that are all constants."""
    cells = _to_cells(x).reshape(-1).tolist()
    if not all(map(_is_constant, cells)):
        raise NotTraceable("a value")
    return cells


def make_row(names: Sequence[str], ranges: Sequence[tuple[float, float]] | None = None) -> Traced:
    """Return a row of columns, shape (1, k), that lie in these ranges."""
    cells = np.empty((1, len(names)), dtype=object)
    cells[0, :] = [Column(name, *(ranges[place] if ranges else ANYTHING)) for place, name in enumerate(names)]
    return Traced(cells)
