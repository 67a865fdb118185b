"""A function that a user brings, on the private side: how it is called, and why nothing of a row gets out by it.

``Own`` makes a function total. Whatever it does with rows (an exception, a NaN, another shape, a warning), what comes
back is a vector in a declared box, and no message tells of it: a declared default stands for every failure.
``discreet.queries.functions.guard`` has how a call is made total, and what stays on trust.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.guarantees import Guarantee, Loss, Neighbors
from discreet.queries.bound import Setting
from discreet.queries.functions.guard import attempt
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Question, RowQuery
from discreet.records import Block, Box

__all__ = ["LARGEST", "SMALLEST", "Array", "Own", "OwnMechanism", "WholeRows", "refuse_gaps"]


Array = NDArray[np.float64]


LARGEST, SMALLEST = 1e300, 1e-300  # what a Box takes


class OwnMechanism(Mechanism):
    """A mechanism that starts from rows, and knows what to spend a guarantee on."""

    @abstractmethod
    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return the loss that spends a guarantee on this mechanism."""

    @abstractmethod
    def planned(self, loss: Loss, setting: Setting) -> Plan:
        """Return what to charge and what to draw from rows; raise here or not at all."""

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the same for a question that gathers rows; no other."""
        if not isinstance(question, RowQuery):
            raise ArgumentError("query", question.name, "one that gathers rows")
        return self.planned(loss, setting)


@dataclass(frozen=True, eq=False)
class WholeRows(RowQuery):
    """The rows side by side: the numeric columns in their units, then the number of each category.

    Parameters
    ----------
    way : OwnMechanism
    numbers, labels : int
        How many columns of each kind.
    """

    way: OwnMechanism
    numbers: int
    labels: int
    name = "function of rows"

    @classmethod
    def of(cls, rows: Any, way: OwnMechanism) -> WholeRows:
        """Return the question for rows of these ``columns`` and ``categories``."""
        return cls(way, len(rows.columns), len(rows.categories))

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        return self.way

    @property
    def dimension(self) -> int:
        """The number of numeric columns."""
        return self.numbers

    @property
    def width(self) -> int:
        """All columns."""
        return self.numbers + self.labels

    def taken(self, block: Block) -> Any:
        """Return all columns of each row."""
        xp = array_namespace(block.x)
        return xp.concat([block.x, xp.astype(block.codes, xp.float64)], axis=1) if self.labels else block.x

    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return the mechanism's."""
        return self.way.usual_loss(guarantee)


@dataclass(frozen=True, eq=False)
class Own:
    """A user's function, made total: from rows to a vector in a declared box.

    Parameters
    ----------
    f : callable
        From rows, an array of shape (rows, columns) in the data's units, to numbers.
    box : Box
        Where its results are moved into, with as many columns as it has results.
    shape : tuple of int
        The shape that it must return.
    default : array of shape (box.dimension,)
        What stands for a number that it fails to give.
    """

    f: Callable[[Array], Any]
    box: Box
    shape: tuple[int, ...]
    default: Array

    @classmethod
    def of(cls, f: Callable[[Array], Any], output: Any, size: int | None = None, default: Any = None) -> Own:
        """Return the function with its results in ``output`` = (low, high); of one number where ``size`` is None.

        Where nothing is declared as a default it is the middle of the box.
        """
        if not callable(f):
            raise ArgumentError("f", f, "a function of rows", write="for example lambda rows: rows.mean()")
        if not isinstance(output, tuple | list) or len(output) != 2:
            raise ArgumentError("output", output, "(low, high), what f returns", write="for example (0, 100)")
        try:
            box = Box(*output)
            shape = (box.columns,) if box.columns is not None else () if size is None else (size,)
            box = box.for_columns(size or box.columns or 1)
        except ValueError:
            many = "numbers" if size is None else f"numbers, one or {size} of each"
            raise ArgumentError(
                "output",
                output,
                f"low < high, finite {many}, of at most {LARGEST:g} in size and at least {2 * SMALLEST:g} apart",
                write="for example (0, 100)",
            ) from None
        try:
            given = np.asarray(box.center if default is None else default, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            given = np.array(np.nan)
        if given.ndim > 1 or given.size not in (1, box.dimension) or not np.all(np.isfinite(given)):
            many = "a finite number" + (f", or {box.dimension} of them" if box.dimension > 1 else "")
            raise ArgumentError("default", default, f"{many}", write="for example default=0.0")
        return cls(f, box, shape, box.clip(np.broadcast_to(given, (box.dimension,))))

    @classmethod
    def one(cls, f: Callable[[Array], Any], output: Any, default: Any) -> Own:
        """Return a function of one number; an error where ``output`` is for several."""
        own = cls.of(f, output, None, default)
        if own.shape:
            raise ArgumentError(
                "output",
                output,
                "(low, high), one number each, since f returns one number; for several, write sample_and_aggregate, "
                "or a call for each",
            )
        return own

    def __call__(self, rows: Array) -> Array:
        """Return what the function makes of rows; never an error, never a warning."""
        found = attempt(partial(self.f, rows), self.shape)
        if found is None:
            return self.default
        found = found.reshape(-1)
        return np.asarray(self.box.clip(np.where(np.isfinite(found), found, self.default)))

    def shown(self, values: Array) -> Any:
        """Return numbers in the shape that the function has; one number as a float."""
        return values.reshape(self.shape).copy() if self.shape else float(values[0])

    @property
    def largest(self) -> float:
        """A bound on the size of every number."""
        low, high = np.abs(np.asarray(self.box.low)), np.abs(np.asarray(self.box.high))
        return max(float(low.max()), float(high.max()), 1e-280)


def refuse_gaps(setting: Setting, query: str) -> None:
    """Raise where rows may be dropped or a unit may have several: for proofs that take their number as public."""
    if setting.neighbors is not Neighbors.REPLACE_ONE or not setting.complete:
        raise ArgumentError(
            "query",
            query,
            "replace-one, and rows of which each surely counts and stands for itself, since their number must be "
            "public",
            write="missing='fill' for columns with gaps, and one row for each person",
        )
