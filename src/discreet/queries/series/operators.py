"""Operators: public linear maps of a series, with the norms that a sensitivity needs.

A series S has T steps. What is released of it is O·S with noise, O a public matrix of ``size`` × T, which is never
formed. One event of value v at step t adds v·O·e_t, so its norm is |v| times that of a column; one person who is in
every step adds O·x for an x in a box. An operator knows both, and how far its own floats are from the exact product.

To write one: subclass ``Operator``, give ``name``, ``size``, ``count``, ``apply``, ``column_norm``, ``box_norm``,
``nonnegative`` and ``error``, each with its proof. The tests hold them against the matrix for small T.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer

__all__ = ["MOST_STEPS", "Identity", "Operator", "Picked", "length"]

Array = NDArray[np.float64]

MOST_STEPS = 2**22
UP = 1.0 + 2.0**-40  # more than the float error of a norm of MOST_STEPS squares, summed pairwise


def length(values: Array, norm: str) -> float:
    """Return the L1 or L2 norm, rounded up.

    NumPy sums pairwise: 4·10⁶ terms pass through fewer than 200 roundings each, and the root, the squares and the
    entries themselves add a few. 2⁻⁴⁰ is forty times as much.

    >>> length(np.array([3.0, -4.0]), "l1") > 7.0, length(np.array([3.0, -4.0]), "l2") > 5.0
    (True, True)
    """
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    scaled = sizes / largest
    total = float(scaled.sum()) if norm == "l1" else float(np.sqrt((scaled * scaled).sum()))
    return largest * total * UP


class Operator(ABC):
    """A public linear map of T steps to ``size`` numbers. Its subclasses are frozen dataclasses of public numbers.

    Attributes
    ----------
    name : str
        For the ledger and the release.
    count : int
        T.
    """

    name: ClassVar[str]
    count: int

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers O·S has."""

    @abstractmethod
    def apply(self, series: Array) -> Array:
        """Return O·S for S of shape (T,), in near-linear time; total: it raises for no finite series."""

    @abstractmethod
    def column_norm(self, norm: str) -> float:
        """Return at least max_t ‖O·e_t‖ in "l1" or "l2"."""

    @abstractmethod
    def box_norm(self, norm: str) -> float:
        """Return at least sup ‖O·z‖ over all z in [−1, 1]^T."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether no entry of O is negative."""

    @property
    @abstractmethod
    def error(self) -> float:
        """A bound on ‖computed O·S − O·S‖₂ over ‖S‖₁, for what ``apply`` does."""

    def reach(self, halves: Array, norm: str) -> float:
        """Return at least sup ‖O·x‖ over all x with |x_t| ≤ h_t.

        If no entry is negative, |O·x| ≤ O·|x| ≤ O·h in each coordinate, so it is ‖O·h‖, attained at x = h. Computing it
        errs by at most error·‖h‖₁ in L2, so by √size times that in L1. Else it is at most max h times ``box_norm``.
        """
        sizes = np.asarray(halves, dtype=np.float64)
        most = float(sizes.max())
        if not self.nonnegative or bool(np.all(sizes == most)):
            return most * self.box_norm(norm)
        charged = self.error * length(sizes, "l1") * (np.sqrt(self.size) if norm == "l1" else 1.0)
        return length(self.apply(sizes), norm) + float(charged)

    @cached_property
    def matrix(self) -> Array:
        """O itself, shape (size, T): for the search of worst neighbours and for tests, where T is small."""
        return np.stack([self.apply(one) for one in np.eye(self.count)], axis=1)


@dataclass(frozen=True)
class Identity(Operator):
    """The series itself. Every column has norm 1; z itself has norm √T, or T in L1; nothing is rounded.

    >>> Identity(4).column_norm("l2"), Identity(4).apply(np.arange(4.0)).tolist()
    (1.0, [0.0, 1.0, 2.0, 3.0])
    """

    count: int

    name = "every step"

    def __post_init__(self) -> None:
        integer("count", self.count, least=1, most=MOST_STEPS)

    @property
    def size(self) -> int:
        """T."""
        return self.count

    def apply(self, series: Array) -> Array:
        """Return S."""
        return np.asarray(series, dtype=np.float64)

    def column_norm(self, norm: str) -> float:
        """Return 1."""
        return 1.0

    def box_norm(self, norm: str) -> float:
        """Return √T or T."""
        return float(self.count) if norm == "l1" else length(np.ones(self.count), "l2")

    def reach(self, halves: Array, norm: str) -> float:
        """Return ‖h‖, which x = h attains."""
        return length(halves, norm)

    @property
    def nonnegative(self) -> bool:
        """True."""
        return True

    @property
    def error(self) -> float:
        """Nothing is computed."""
        return 0.0


@dataclass(frozen=True)
class Picked(Operator):
    """Some steps of the series, each once, in the order given.

    >>> Picked(4, (3, 1)).apply(np.arange(4.0)).tolist()
    [3.0, 1.0]
    """

    count: int
    places: tuple[int, ...]

    name = "some steps"

    def __post_init__(self) -> None:
        integer("count", self.count, least=1, most=MOST_STEPS)
        try:
            given = tuple(self.places)
        except TypeError:
            given = ()
        places = tuple(integer("places", place, least=0, most=self.count - 1) for place in given)
        if not places or len(set(places)) < len(places):
            raise ArgumentError("places", UNSHOWN, f"at least one step, each once, from 0 to {self.count - 1}")
        object.__setattr__(self, "places", places)

    @property
    def size(self) -> int:
        """How many steps were picked."""
        return len(self.places)

    def apply(self, series: Array) -> Array:
        """Return the picked steps."""
        return np.asarray(series, dtype=np.float64)[list(self.places)]

    def column_norm(self, norm: str) -> float:
        """Return 1: a step goes into one place, or none."""
        return 1.0

    def box_norm(self, norm: str) -> float:
        """Return √size or size."""
        return float(self.size) if norm == "l1" else length(np.ones(self.size), "l2")

    @property
    def nonnegative(self) -> bool:
        """True."""
        return True

    @property
    def error(self) -> float:
        """Nothing is computed."""
        return 0.0
