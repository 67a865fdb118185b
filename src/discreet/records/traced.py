"""A row of symbols: what a kernel does to one row, written down instead of computed.

Kernels are array-API generic, so they also run on a row whose cells are expressions. What comes out says how each of
the kernel's numbers follows from the row's columns, for a database to compute (``sql_text``): the same operations, in
the same order, and nothing that somebody would have to write a second time.

Only what every database rounds as IEEE 754 asks is written down: sums, differences, products, quotients, minima,
maxima, comparisons and choices. Anything else, and every question that only a real row could answer, raises
``NotTraceable``; the rows are then read instead.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TRUTHS", "Column", "NotTraceable", "Step", "Traced", "columns"]


ANYTHING = (-math.inf, math.inf)


class NotTraceable(Exception):  # noqa: N818
    """A kernel does something that cannot be written down."""


class Column:
    """A column of the row, by its name in the text to come, and between what it surely lies."""

    def __init__(self, name: str, low: float = -math.inf, high: float = math.inf) -> None:
        self.name = name
        self.range = low, high


class Step:
    """An operation on constants (floats, booleans), columns and other steps, and between what its result surely lies.

    Rounding is monotone, so what an operation with a constant makes of the ends of a range are the ends of what it
    makes of all numbers between.
    """

    def __init__(self, name: str, *operands: Any) -> None:
        self.name = name
        self.operands = operands
        self.range = self._range()

    def _range(self) -> tuple[float, float]:
        if self.name in ("+", "-", "*", "/", "least", "greatest"):
            one, other = self.operands
            if isinstance(other, float) and not _constant(one):
                ends = sorted(OPERATORS[self.name](end, other) for end in one.range)
                return (ends[0], ends[1]) if ends[0] <= ends[1] else ANYTHING
        return ANYTHING


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
    "least": min,
    "greatest": max,
    "and": operator.and_,
    "or": operator.or_,
}


ARITHMETIC = ("+", "-", "*", "/", "least", "greatest")
TRUTHS = ("<", "<=", ">", ">=", "=", "<>", "and", "or", "not")


def _constant(cell: Any) -> bool:
    return isinstance(cell, float | bool)


def _applied(name: str) -> Callable[[Any, Any], Any]:
    """Return the operation on two cells: computed for constants, else written down."""

    def apply(a: Any, b: Any) -> Any:
        if name in ARITHMETIC:
            a, b = _as_number(a), _as_number(b)
        if name == "/" and _constant(b) and b == 0.0:
            raise NotTraceable(name)
        if _constant(a) and _constant(b):
            return OPERATORS[name](a, b)
        if name in ("least", "greatest") and isinstance(b, float) and not _constant(a):
            low, high = a.range  # what is clipped already
            if (name == "least" and high <= b) or (name == "greatest" and low >= b):
                return a
        return Step(name, a, b)

    return apply


def _not(a: Any) -> Any:
    return (not a) if _constant(a) else Step("not", a)


def _choice(test: Any, a: Any, b: Any) -> Any:
    return (a if test else b) if _constant(test) else Step("case", test, a, b)


def _as_number(cell: Any) -> Any:
    """Return a cell as a number: 1 for true and 0 for false."""
    if _constant(cell):
        return float(cell)
    truth = isinstance(cell, Step) and cell.name in TRUTHS
    return Step("case", cell, 1.0, 0.0) if truth else cell


def _cells(value: Any) -> NDArray[Any]:
    """Return numbers as an array of cells."""
    if isinstance(value, Traced):
        return value.cells
    plain = np.asarray(value)
    if plain.dtype.kind not in "biuf":
        raise NotTraceable(type(value).__name__)
    cells = np.empty(plain.shape, dtype=object)
    for place in np.ndindex(plain.shape):
        cells[place] = bool(plain[place]) if plain.dtype.kind == "b" else float(plain[place])
    return cells


def _elementwise(apply: Callable[..., Any], *arrays: Any) -> Traced:
    found = np.frompyfunc(apply, len(arrays), 1)(*map(_cells, arrays))
    if not isinstance(found, np.ndarray):
        cells = np.empty((), dtype=object)
        cells[()] = found
        found = cells
    return Traced(found)


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
        self.cells = cells

    @property
    def shape(self) -> tuple[int, ...]:
        """One row, and as many columns as there are."""
        return self.cells.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.cells.ndim

    def __array_namespace__(self, api_version: str | None = None) -> type[Namespace]:
        return Namespace

    def __getitem__(self, key: Any) -> Traced:
        found = self.cells[key]
        return Traced(found if isinstance(found, np.ndarray) else _elementwise(lambda cell: cell, found).cells)

    def __add__(self, other: Any) -> Traced:
        return _elementwise(_applied("+"), self, other)

    def __radd__(self, other: Any) -> Traced:
        return _elementwise(_applied("+"), other, self)

    def __sub__(self, other: Any) -> Traced:
        return _elementwise(_applied("-"), self, other)

    def __rsub__(self, other: Any) -> Traced:
        return _elementwise(_applied("-"), other, self)

    def __mul__(self, other: Any) -> Traced:
        return _elementwise(_applied("*"), self, other)

    def __rmul__(self, other: Any) -> Traced:
        return _elementwise(_applied("*"), other, self)

    def __truediv__(self, other: Any) -> Traced:
        return _elementwise(_applied("/"), self, other)

    def __neg__(self) -> Traced:
        return _elementwise(_applied("*"), -1.0, self)

    def __lt__(self, other: Any) -> Traced:
        return _elementwise(_applied("<"), self, other)

    def __le__(self, other: Any) -> Traced:
        return _elementwise(_applied("<="), self, other)

    def __gt__(self, other: Any) -> Traced:
        return _elementwise(_applied(">"), self, other)

    def __ge__(self, other: Any) -> Traced:
        return _elementwise(_applied(">="), self, other)

    def __eq__(self, other: object) -> Traced:  # type: ignore[override]
        return _elementwise(_applied("="), self, other)

    def __ne__(self, other: object) -> Traced:  # type: ignore[override]
        return _elementwise(_applied("<>"), self, other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> Traced:
        return _elementwise(_applied("and"), self, other)

    def __or__(self, other: Any) -> Traced:
        return _elementwise(_applied("or"), self, other)

    def __invert__(self) -> Traced:
        return _elementwise(_not, self)

    def __bool__(self) -> bool:
        if self.cells.size == 1 and _constant(self.cells.reshape(-1)[0]):
            return bool(self.cells.reshape(-1)[0])
        raise NotTraceable("a branch")

    def __float__(self) -> float:
        raise NotTraceable("a number")

    def __array__(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        raise NotTraceable("an array")

    def __iter__(self) -> Any:
        raise NotTraceable("a loop over rows")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks for many of these
            raise AttributeError(name)
        raise NotTraceable(name)


class _Strict(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotTraceable(name)


class Namespace(metaclass=_Strict):
    """The functions of the array API that can be written down."""

    float64 = "float64"

    @staticmethod
    def asarray(value: Any, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Traced:
        """Return constants as cells."""
        return value if isinstance(value, Traced) else Traced(_cells(value))

    @staticmethod
    def astype(x: Traced, dtype: Any, *, copy: bool = True, device: Any = None) -> Traced:
        """Return numbers."""
        if dtype != "float64":
            raise NotTraceable("astype")
        return _elementwise(_as_number, x)

    @staticmethod
    def full(shape: tuple[int, ...], value: float, *, dtype: Any = None, device: Any = None) -> Traced:
        """Return a constant in every cell."""
        return Traced(_cells(np.full(shape, float(value))))

    @staticmethod
    def ones(shape: tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Traced:
        """Return ones."""
        return Namespace.full(shape, 1.0)

    @staticmethod
    def zeros_like(x: Traced, *, dtype: Any = None, device: Any = None) -> Traced:
        """Return zeros."""
        return Namespace.full(x.shape, 0.0)

    @staticmethod
    def minimum(a: Any, b: Any) -> Traced:
        """Return the smaller of two."""
        return _elementwise(_applied("least"), a, b)

    @staticmethod
    def maximum(a: Any, b: Any) -> Traced:
        """Return the larger of two."""
        return _elementwise(_applied("greatest"), a, b)

    @staticmethod
    def clip(x: Any, low: Any, high: Any) -> Traced:
        """Return x between two numbers."""
        return Namespace.minimum(Namespace.maximum(x, low), high)

    @staticmethod
    def where(test: Any, a: Any, b: Any) -> Traced:
        """Return one or the other."""
        return _elementwise(_choice, test, a, b)

    @staticmethod
    def isnan(x: Traced) -> Traced:
        """Return False: the rows of a block are complete."""
        return Traced(_cells(np.zeros(x.shape, dtype=bool)))

    @staticmethod
    def any(x: Traced) -> Traced:
        """Return whether one of the cells is true; for constants."""
        cells = x.cells.reshape(-1)
        if not all(map(_constant, cells)):
            raise NotTraceable("any")
        return Traced(_cells(np.asarray(any(cells))))

    @staticmethod
    def take(x: Traced, indices: Any, *, axis: int) -> Traced:
        """Return some of the columns."""
        return Traced(np.take(x.cells, _whole(indices), axis=axis))

    @staticmethod
    def stack(arrays: Sequence[Traced], *, axis: int = 0) -> Traced:
        """Return arrays side by side along a new axis."""
        return Traced(np.stack([_cells(one) for one in arrays], axis=axis))

    @staticmethod
    def concat(arrays: Sequence[Traced], *, axis: int = 0) -> Traced:
        """Return arrays one after the other."""
        return Traced(np.concatenate([_cells(one) for one in arrays], axis=axis))


def _whole(indices: Any) -> NDArray[np.int64]:
    """Return indices that were turned into cells as whole numbers again."""
    cells = _cells(indices)
    if not all(map(_constant, cells.reshape(-1))):
        raise NotTraceable("take")
    return np.asarray(cells, dtype=np.float64).astype(np.int64)


def columns(names: Sequence[str], ranges: Sequence[tuple[float, float]] | None = None) -> Traced:
    """Return a row of columns, shape (1, k), that lie in these ranges."""
    cells = np.empty((1, len(names)), dtype=object)
    for place, name in enumerate(names):
        cells[0, place] = Column(name) if ranges is None else Column(name, *ranges[place])
    return Traced(cells)
