"""The histograms of all columns of categories, as one release, and the probabilities that follow.

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
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.door import Bound, Query, Release
from discreet.door.bound import NORMS
from discreet.door.part import Part
from discreet.door.registry import registered
from discreet.models.mixed_moments import LEAST, one_hot
from discreet.models.released import noise_of
from discreet.records import Block, Space

__all__ = ["Marginals", "on_simplex"]

Array = NDArray[np.float64]


def _instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    return [Marginals((d + 1,)), Marginals((2, 3)), Marginals((1, 4, 6)), Marginals((2,) * d), Marginals((1,))]


@registered(_instances)
@dataclass(frozen=True)
class Marginals(Query):
    """How many rows have each category, in every column of categories.

    Parameters
    ----------
    categories : tuple of int
        How many categories each of the columns has.
    """

    categories: tuple[int, ...]

    name = "marginals"

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns are others."""
        have = tuple(len(values) for values in categories)
        if have != self.categories:
            raise ValueError(f"categories={self.categories!r}: expected {have}, as many as are declared")

    @property
    def parts(self) -> Mapping[str, Part]:
        """``table0``, ``table1`` …, one count a category."""
        weight = 1.0 / math.sqrt(len(self.categories))
        return {f"table{j}": Part((count,), weight) for j, count in enumerate(self.categories)}

    @property
    def dimension(self) -> int:
        """No numeric column is looked at."""
        return 0

    @property
    def bound(self) -> Bound:
        """See the module."""
        m, several = len(self.categories), sum(count > 1 for count in self.categories)
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
        return (len(self.categories) + 4.0) * 2.0**-53

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows side by side, divided by √m."""
        xp = array_namespace(block.codes)
        hot = [one_hot(block.codes[:, j], count) for j, count in enumerate(self.categories)]
        return xp.concat(hot, axis=1) / math.sqrt(len(self.categories))

    def probabilities(self, release: Release) -> tuple[tuple[Array, ...], tuple[float, ...]]:
        """Return each column's probabilities, and the variance of the noise on one of them."""
        tables = [release[f"table{j}"] for j in range(len(self.categories))]
        units = release.size.units if release.size.complete else None
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
