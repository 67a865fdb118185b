"""The base class of declared spaces that rows are clipped into: ``Box`` and ``Ball``.

A space is declared by a person who knows the meaning of the columns. It is never taken from the rows: the least and the
largest value of a column are themselves private values of single rows.

Two guarantees hold for every row, NaN and infinities included, in floats and not only on paper:

- ``clip(x)`` lies in the space, and ``to_unit(x)`` has Euclidean norm at most 1;
- a row becomes the same floats whatever rows stand beside it: only elementwise operations and sums over columns in
  a fixed order are used. So a neighbour that lacks one row changes no bit of the others.

``box`` and ``ball`` have the proofs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discreet.plain import from_plain, register_kind, to_plain
from discreet.records.declared.declared_numbers import Vector, broadcast
from discreet.records.generic_arrays import as_floats, on_device


@dataclass(frozen=True)
class Space(ABC):
    """A set that rows are declared to lie in: a ``Box`` or a ``Ball``.

    A bound may be one number for all columns. While all bounds are, the number of columns is open.
    """

    if TYPE_CHECKING:  # a ball has it as a field, which an abstract property would hide

        @property
        def center(self) -> Vector:
            """The point that ``to_unit`` maps to zero."""

    _kinds: ClassVar[dict[str, type[Space]]] = {}
    _by_column: ClassVar[tuple[str, ...]]  # the fields that hold one number, or one a column

    def __init_subclass__(cls) -> None:
        register_kind(Space._kinds, cls)

    @cached_property
    def columns(self) -> int | None:
        """The number of columns, None while it is open."""
        bounds = (getattr(self, name) for name in self._by_column)
        return max((len(bound) for bound in bounds if isinstance(bound, tuple)), default=None)

    def for_columns(self, columns: int) -> Self:
        """Return the space with one bound for each of ``columns`` columns; an error where the sizes differ.

        >>> from discreet.records import Ball, Box
        >>> Box(0, [1, 2]).for_columns(2)
        Box(low=(0.0, 0.0), high=(1.0, 2.0))
        >>> Ball(2, center=1).for_columns(3)
        Ball(radius=2.0, center=(1.0, 1.0, 1.0))
        """
        bounds = {name: getattr(self, name) for name in self._by_column}
        spread = {name: broadcast(name, bound, columns) for name, bound in bounds.items()}
        return self if all(spread[name] is bounds[name] for name in bounds) else replace(self, **spread)

    @abstractmethod
    def clip(self, x: Any) -> Any:
        """Return rows moved into the space, as float64; the columns are the last axis. Array-API generic."""

    @abstractmethod
    def to_unit(self, x: Any) -> Any:
        """Return rows mapped into the unit ball, ‖y‖₂ ≤ 1; rows outside of the space are clipped on the way."""

    @property
    @abstractmethod
    def scale(self) -> tuple[float, ...]:
        """What one step in the unit ball is, column by column: ``from_unit(y)`` is center + scale·y."""

    @property
    @abstractmethod
    def around(self) -> Space:
        """The ball around the space: the same step in every column, where a box has one for each."""

    @property
    def dimension(self) -> int:
        """The number of columns; an error while it is open."""
        if self.columns is None:
            raise ValueError(f"{self!r} stands for any number of columns: write .for_columns(d) first")
        return self.columns

    @np.errstate(all="ignore")
    def from_unit(self, y: Any) -> Any:
        """Return center + scale·y, the inverse of ``to_unit``. Nothing is clipped: y may come with noise."""
        if isinstance(y, np.ndarray) and y.dtype.kind == "c":  # of which NumPy would drop a part with a warning
            raise ValueError("rows of complex numbers: expected real ones")
        _, y = as_floats(y)
        space = self.for_columns(y.shape[-1])
        return on_device(space.center, y) + y * on_device(space.scale, y)

    def to_dict(self) -> dict[str, Any]:
        """Return the space as plain values, for JSON; ``from_dict`` reads it back.

        >>> from discreet.records import Box
        >>> Box(0, [1, 2]).to_dict()
        {'kind': 'Box', 'low': 0.0, 'high': [1.0, 2.0]}
        """
        return to_plain(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Space:
        """Return the space that ``to_dict`` described."""
        return from_plain(dict(sorted(Space._kinds.items())), values)
