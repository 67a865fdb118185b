"""Products of public scores of columns: how pairs of columns vary together, in one release.

**The statistic.** Each of d columns has cells (``queries.counts.table_counts``), and each cell a public score. A row
with scores s = (s_1 … s_d) contributes all products

    c(s) = (s_i·s_j)_{i < j}.

**One row.** Let a_i be the largest |score| of column i. A row may be in any cell of every column, so

    ‖c‖₂² = Σ_{i<j} s_i²s_j² ≤ Σ_{i<j} a_i²a_j²,      ‖c‖₁ ≤ Σ_{i<j} a_i·a_j,

with equality where every score is a largest one.

**Two rows.** ‖c(s) − c(s')‖₂² = Σ_{i<j}(s_i·s_j − s'_i·s'_j)² is convex in each single score, so over the box |s_i|,
|s'_i| ≤ a_i it is largest at corners: s_i = ±a_i and s'_i = t_i·s_i with signs t_i. The product of a pair then changes
by 2a_i·a_j where t_i ≠ t_j and else not at all. With A = Σ_{t_i = 1} a_i² and B = Σ_{t_i = −1} a_i²,

    ‖c(s) − c(s')‖₂² = 4·A·B ≤ (A + B)² = (Σ_i a_i²)².

So ‖c − c'‖₂ ≤ Σ a_i², which is about √2 times the bound on one row, where twice that bound always holds; the smaller of
both is taken. In the same way ‖c − c'‖₁ ≤ 2(Σ_{t_i = 1} a_i)(Σ_{t_i = −1} a_i) ≤ (Σ a_i)²/2.

**Floats.** Scores are multiples of 2⁻⁷ of size at most 1. Products are summed in steps of 2⁻¹⁴ (the weight of the
part), so they are whole numbers, whose sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.queries.bound import Bound
from discreet.queries.counts.table_counts import CellQuery
from discreet.queries.question import Part
from discreet.records import Block

STEPS = 2**7  # scores are whole numbers of steps of 1/STEPS


@dataclass(frozen=True)
class ScoreProducts(CellQuery):
    """The sums of the products of all pairs of scores; see the module.

    Parameters
    ----------
    space : Box or None
        Of the numbers; None where there are none.
    categories : tuple of int
        How many categories each of the columns of categories has.
    columns : tuple of NumberCells or CategoryCells
        At least two.
    scores : tuple of tuples of float
        For each column the score of each of its cells, from −1 to 1, rounded to multiples of 2⁻⁷.

    Examples
    --------
    >>> from discreet.queries.counts.table_counts import CategoryCells
    >>> columns = (CategoryCells(0, (0, 1)), CategoryCells(1, (0, 1)))
    >>> query = ScoreProducts(None, (2, 2), columns, ((-1.0, 1.0), (-1.0, 0.5)))
    >>> (query.sum(Block(np.empty((2, 0)), np.array([[0, 0], [1, 1]]))) / STEPS**2).tolist()
    [1.5]
    """

    scores: tuple[tuple[float, ...], ...]

    name = "products of scores"

    def __post_init__(self) -> None:
        counts = [cells.count for cells in self.columns]
        if len(counts) < 2 or [len(one) for one in self.scores] != counts:
            raise ArgumentError("scores", UNSHOWN, "a score for each cell of at least two columns")
        rounded = [np.rint(np.asarray(one, dtype=np.float64) * STEPS) / STEPS for one in self.scores]
        if not all((np.abs(one) <= 1.0).all() and (one != 0.0).any() for one in rounded):
            raise ArgumentError("scores", UNSHOWN, "numbers from −1 to 1, in each column not all 0")
        object.__setattr__(self, "scores", tuple(tuple(one.tolist()) for one in rounded))

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The columns of each product."""
        return np.triu_indices(len(self.columns), 1)

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """One sum a pair of columns."""
        return {"products": Part((len(self.pairs[0]),), weight=float(STEPS**2))}

    @cached_property
    def bound(self) -> Bound:
        """See the module; in steps, and 2⁻⁴⁰ more than the roundings of these few operations."""
        most = STEPS * np.array([max(map(abs, one)) for one in self.scores])
        i, j = self.pairs
        up = 1.0 + 2.0**-40
        l2, l1 = math.sqrt(math.fsum((most[i] * most[j]) ** 2)) * up, math.fsum(most[i] * most[j]) * up
        replace_l2 = min(2.0 * l2, math.fsum(most**2) * up)
        replace_l1 = min(2.0 * l1, 0.5 * math.fsum(most) ** 2 * up)
        near = self._apart()
        attained = {"replace_l2": min(near[0] / replace_l2, 1.0), "replace_l1": min(near[1] / replace_l1, 1.0)}
        return Bound(l2, l1, replace_l2, replace_l1, attained)

    def _apart(self) -> tuple[float, float]:
        """Return how far two rows are apart, in steps.

        One is at the largest scores, and the other at the other end in half of the columns. Columns are dealt to two
        halves in turn, by size, so that A and B are about equal.
        """
        largest = STEPS * np.array([max(one, key=abs) for one in self.scores])
        opposite = [min(one) if top > 0.0 else max(one) for one, top in zip(self.scores, largest, strict=True)]
        moved = np.argsort(-np.abs(largest))[::2]
        other = largest.copy()
        other[moved] = STEPS * np.array(opposite)[moved]
        i, j = self.pairs
        change = largest[i] * largest[j] - other[i] * other[j]
        return math.sqrt(math.fsum(change**2)), math.fsum(np.abs(change))

    def contributions(self, block: Block) -> Any:
        """Return the products of each row."""
        own = self._scores(block)
        xp = array_namespace(own)
        i, j = (xp.asarray(one, device=device(own)) for one in self.pairs)
        return xp.take(own, i, axis=1) * xp.take(own, j, axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums, by one matrix product."""
        own = self._scores(block)
        xp = array_namespace(own)
        d = len(self.columns)
        places = xp.asarray(self.pairs[0] * d + self.pairs[1], device=device(own))
        return xp.take(xp.reshape(xp.matmul(own.T, own), (-1,)), places, axis=0)

    def _scores(self, block: Block) -> Any:
        """Return the score of each row in each column, in steps, shape (n, d)."""
        columns = []
        for cells, scores in zip(self.columns, self.scores, strict=True):
            number = cells.numbers(block)
            xp = array_namespace(number)
            table = xp.asarray(STEPS * np.asarray(scores, dtype=np.float64), device=device(number))
            columns.append(xp.take(table, number, axis=0))
        return xp.stack(columns, axis=1)
