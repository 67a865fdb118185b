"""The histograms of all columns, as one release, and the probabilities that follow.

A column of numbers has ``cells`` for categories. Which one a number is in follows from comparisons with public edges,
so from its own bits; whatever is no number is in the first.

Row l, with a category l_j in each of m columns, contributes (1_{l_j}/√m)_j: norm 1 in L2 and √m in L1. Where a row is
replaced, each column of several categories moves one count down and another up, and one of a single category nothing:
with m' of the former √(2m'/m) in L2 and 2m'/√m in L1. All are attained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.door import Bound, Query, Release
from discreet.door.bound import NORMS
from discreet.door.part import Part
from discreet.door.registry import registered
from discreet.models.cells import Cells
from discreet.models.mixed_moments import LEAST, one_hot
from discreet.models.released import noise_of
from discreet.records import Block, Box, Space

__all__ = ["Marginals", "on_simplex"]

Array = NDArray[np.float64]


def _instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    low = rng.standard_normal(d) * radius
    box = Box(low, low + radius * rng.uniform(1.0, 50.0, d))
    several = [(d + 1,), (2, 3), (1, 4, 6), (2,) * d, (1,)]
    whole = tuple((np.arange(d) % 2 == 0).tolist())
    found = [Marginals(categories) for categories in several]
    return [*found, Marginals((1,), box, whole), Marginals((2, 3), box, (False,) * d)]


@registered(_instances)
@dataclass(frozen=True)
class Marginals(Query):
    """How many rows have each category, in every column of categories, and are in each cell, in every one of numbers.

    Parameters
    ----------
    categories : tuple of int
        How many categories each of the columns has.
    space : Box or None
        Of the numbers; None to leave them out.
    whole : tuple of bool
        For each column of numbers whether they are declared to be whole.
    """

    categories: tuple[int, ...]
    space: Box | None = None
    whole: tuple[bool, ...] = ()

    name = "marginals"

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns are others."""
        super().check(space, categories)
        have = tuple(len(values) for values in categories)
        if have != self.categories:
            raise ValueError(f"categories={self.categories!r}: expected {have}, as many as are declared")

    @property
    def parts(self) -> Mapping[str, Part]:
        """``table0``, ``table1`` …, one count a category, and ``cells0`` …, for each column of numbers."""
        weight = 1.0 / math.sqrt(self._columns)
        tables = {f"table{j}": Part((count,), weight) for j, count in enumerate(self.categories)}
        return tables | {f"cells{j}": Part((cells.count,), weight) for j, cells in enumerate(self.cells)}

    @property
    def cells(self) -> tuple[Cells, ...]:
        """Those of each column of numbers."""
        if self.space is None:
            return ()
        return tuple(map(Cells, self.space.low, self.space.high, self.whole))  # type: ignore[arg-type]

    @property
    def dimension(self) -> int:
        """The number of columns of numbers."""
        return 0 if self.space is None else self.space.dimension

    @property
    def _columns(self) -> int:
        return len(self.categories) + self.dimension

    @property
    def bound(self) -> Bound:
        """See the module."""
        m, several = self._columns, sum(count > 1 for count in self.categories) + self.dimension
        if not several:  # every row is the same
            return Bound(l2=1.0, l1=math.sqrt(m), attained={name: 0.0 for name in NORMS if name.startswith("replace")})
        return Bound(
            l2=1.0,
            l1=math.sqrt(m),
            replace_l2=math.sqrt(2.0 * several / m),
            replace_l1=2.0 * several / math.sqrt(m),
        )

    @property
    def roundoff(self) -> float:
        """A root and a division; and the norm over the columns."""
        return (self._columns + 4.0) * 2.0**-53

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows side by side, divided by √m."""
        xp = array_namespace(block.codes)
        hot = [one_hot(block.codes[:, j], count) for j, count in enumerate(self.categories)]
        for j, cells in enumerate(self.cells):
            above = block.x[:, j : j + 1] > xp.asarray(cells.edges, device=device(block.x))[None, :]
            hot.append(one_hot(xp.sum(xp.astype(above, xp.int64), axis=1), cells.count))
        return xp.concat(hot, axis=1) / math.sqrt(self._columns)

    def probabilities(self, release: Release) -> tuple[tuple[Array, ...], tuple[float, ...]]:
        """Return the probabilities of each column, categories before numbers, and the variance of the noise on one."""
        tables = [release[f"table{j}"] for j in range(len(self.categories))]
        tables += [release[f"cells{j}"] for j in range(self.dimension)]
        units = release.size.rows
        noise = noise_of(release, "table0")
        # Every row is in every table, so their sums are so many looks at one number.
        rows = float(np.mean([table.sum() for table in tables])) if units is None else float(units)
        rows = max(rows, 2.0 * noise, 1.0)
        found = tuple(on_simplex(table + (rows - table.sum()) / len(table), rows) for table in tables)
        return found, ((noise / rows) ** 2,) * len(found)


def on_simplex(counts: Array, total: float, least: float = LEAST) -> Array:
    """Return the probabilities nearest to counts/total, each at least ``least``; for whatever numbers there are.

    The Euclidean projection onto the simplex (Held, Wolfe and Crowder 1974), along the last axis.

    >>> on_simplex(np.array([60.0, 50.0, -10.0]), 100.0, least=0.0).round(2).tolist()
    [0.55, 0.45, 0.0]
    """
    size = counts.shape[-1]
    free = 1.0 - size * least
    shares = np.clip(counts / total, -1e6, 1e6) - least
    ordered = -np.sort(-shares, axis=-1)
    excess = (np.cumsum(ordered, axis=-1) - free) / np.arange(1, size + 1)
    inside = np.maximum((ordered > excess).sum(axis=-1, keepdims=True) - 1, 0)
    found = np.maximum(shares - np.take_along_axis(excess, inside, axis=-1), 0.0)
    found = found * (free / found.sum(axis=-1, keepdims=True)) + least
    return np.asarray(np.clip(found, least, 1.0))
