"""What a row with categories contributes to a mixture: clipped moments and tables, with their norm and its proof.

**The statistic.** Row (y, l) has numbers y in the unit ball and a category l_j in each of m columns. Its
responsibilities γ take both into account: the logit of component k is that of ``clipped_moments`` plus the evidence
Σ_j ln p_kj(l_j). It contributes

    c = (√(1 − e²)·c_moments(y),  (e_j·γ_k·1{l_j = l})_{j, k, l}),    e² = Σ_j e_j² < 1,

where c_moments is the statistic of ``clipped_moments`` at the same γ. The part of column j is e_j·γ ⊗ 1_{l_j}: the
row's share in each component, in the place of its category.

**The norm.** ‖c_moments‖ ≤ 1 for every γ on the simplex, and ‖γ ⊗ 1_l‖ = ‖γ‖ ≤ ‖γ‖₁ = 1. So

    ‖c‖² = (1 − e²)‖c_moments‖² + Σ_j e_j²‖γ‖² ≤ (1 − e²) + e² = 1.

**Replaced rows.** Let D bound ‖c_moments − c'_moments‖. No number in γ ⊗ 1_l is negative, so
‖γ ⊗ 1_l − γ' ⊗ 1_l'‖² ≤ ‖γ‖² + ‖γ'‖² ≤ 2, and

    ‖c − c'‖² ≤ (1 − e²)·D² + Σ_j 2e_j².

With one component γ = 1, and then a column of a single category is the same for every row: 0 in the place of 2e_j².

**What is attained.** Both bounds are, where γ is at a corner. How near γ comes to one depends on where the components
are; but ‖γ‖² ≥ 1/K always, so every row has ‖c‖² ≥ ((1 − e²)a² + e²)/K, and two rows that differ in all columns of
several categories have ‖c − c'‖² ≥ 2e'²/K, with e'² the sum of e_j² over those columns.

**Floats.** Probabilities are at least ``LEAST``, so no |ln p| is above 14 and the evidence of m columns is at most
H = Σ_j max |ln p_kj(l)|; as a sum of m floats it is off by at most m·u·H. γ is then off by what ``clipped_moments``
says with evidence, no more than c_moments is; and (m + 8)u are for the products with √(1 − e²) and e_j, and for weights
that sum to 1 within some u.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.moments.clipped_moments import ClippedMoments
from discreet.queries.question import Part
from discreet.records import Block

Array = NDArray[np.float64]

LEAST = 1e-6  # no probability is below


@dataclass(frozen=True, eq=False)
class MixedMoments:
    """The statistic of the module, at public parameters.

    Parameters
    ----------
    moments : ClippedMoments
        Of the numbers.
    tables : tuple of arrays of shape (K, C)
        For each column of categories their probabilities in each component, none below ``LEAST``.
    weights : tuple of float
        e_j² for each of these columns, positive, less than 1 together.
    """

    moments: ClippedMoments
    tables: tuple[Array, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.tables) or min(self.weights) <= 0.0 or math.fsum(self.weights) >= 1.0:
            raise ArgumentError("weights", self.weights, "an e² above 0 for each column, together below 1")
        if not all(np.all((table >= LEAST) & (table <= 1.0)) for table in self.tables):
            raise ArgumentError("tables", UNSHOWN, f"probabilities of at least {LEAST}")

    @property
    def _rest(self) -> float:
        """1 − e²."""
        return 1.0 - math.fsum(self.weights)

    @cached_property
    def _logs(self) -> Array:
        """Logarithms of the tables, side by side: shape (K, C in all)."""
        return np.log(np.concatenate(self.tables, axis=1))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where each table begins among them."""
        return np.cumsum([0, *(table.shape[1] for table in self.tables)], dtype=np.int64)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The moments', and ``table0``, ``table1`` …, of shape (K, C)."""
        factor = math.sqrt(self._rest)
        numbers = {
            name: Part(part.shape, factor * part.weight, part.symmetric) for name, part in self.moments.parts.items()
        }
        pairs = enumerate(zip(self.tables, self.weights, strict=True))
        return numbers | {f"table{j}": Part(table.shape, math.sqrt(weight)) for j, (table, weight) in pairs}

    @property
    def bound(self) -> Bound:
        """See the module."""
        rest, count = self._rest, self.moments.components.count
        several = math.fsum(
            weight for table, weight in zip(self.tables, self.weights, strict=True) if table.shape[1] > 1
        )
        moved = 2.0 * (several if count == 1 else 1.0 - rest)
        replace = math.sqrt(max(rest * self.moments.bound.replace("l2") ** 2 + moved, 1.0))
        row = math.sqrt((rest * self.moments.weights[0] + 1.0 - rest) / count)
        attained = {"l2": min(row, 1.0), "replace_l2": math.sqrt(2.0 * several / count) / replace}
        return Bound(l2=1.0, replace_l2=replace, attained=attained)

    @property
    def roundoff(self) -> float:
        """See the module, *Floats*."""
        u, m = UNIT_ROUNDOFF, len(self.tables)
        most = math.fsum(-math.log(float(table.min())) for table in self.tables)
        return self.moments.roundoff_with(most, m * u * most) + (m + 8.0) * u

    def contributions(self, block: Block) -> Any:
        """Return c for each row, shape (n, size)."""
        xp, n = array_namespace(block.x), block.x.shape[0]
        rows, shares = self.moments.contributions_and_shares(block.x, self._evidence(block))
        tables = []
        for hot, weight in zip(self._hot(block), self.weights, strict=True):
            shared = math.sqrt(weight) * shares[:, None, :] * hot.T[None, :, :]
            tables.append(xp.reshape(shared, (-1, n)).T)
        return xp.concat([math.sqrt(self._rest) * rows, *tables], axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sum of the contributions; the shares are computed once, for moments and tables."""
        xp = array_namespace(block.x)
        if is_numpy_array(block.x):
            from discreet.queries.moments.compiled import evidence, tally

            places, counts = self._places(block.codes), np.zeros_like(self._logs)
            known = np.empty((len(counts), places.shape[1]))
            evidence(places, self._logs, known)
            moments, shares = self.moments.sum_and_shares(block.x, known)
            tally(places, shares, counts)
            tables = [counts[:, start:stop] for start, stop in zip(self._starts[:-1], self._starts[1:], strict=True)]
        else:
            moments, shares = self.moments.sum_and_shares(block.x, self._evidence(block))
            tables = [xp.matmul(shares, hot) for hot in self._hot(block)]
        scaled = zip(tables, self.weights, strict=True)
        sums = [xp.reshape(math.sqrt(weight) * table, (-1,)) for table, weight in scaled]
        return xp.concat([math.sqrt(self._rest) * moments, *sums], axis=0)

    def _places(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where each row's categories stand among the logarithms, shape (m, n).

        The loops look nothing up, so a code that is none would read and write elsewhere in memory: it is made one.
        """
        sizes = np.diff(self._starts)
        places: NDArray[np.int64] = np.clip(codes.T, 0, (sizes - 1)[:, None]) + self._starts[:-1, None]
        return np.ascontiguousarray(places)

    def _evidence(self, block: Block) -> Any:
        """Return Σ_j ln p_kj(l_j), shape (K, n)."""
        xp, known = array_namespace(block.x), None
        for j, (start, stop) in enumerate(zip(self._starts[:-1], self._starts[1:], strict=True)):
            logs = xp.asarray(self._logs[:, start:stop], device=device(block.x))
            result = xp.take(logs, xp.clip(block.codes[:, j], 0, int(stop - start) - 1), axis=1)
            known = result if known is None else known + result
        return known

    def _hot(self, block: Block) -> list[Any]:
        """Return for each column of categories 1 at the row's category and 0 elsewhere, shape (n, C)."""
        return [one_hot(block.codes[:, j], table.shape[1]) for j, table in enumerate(self.tables)]


def one_hot(codes: Any, count: int) -> Any:
    """Return 1 at each row's category and 0 elsewhere, shape (n, count).

    >>> one_hot(np.array([1, 0]), 3).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    xp = array_namespace(codes)
    labels = xp.arange(count, dtype=codes.dtype, device=device(codes))
    return xp.astype(codes[:, None] == labels[None, :], xp.float64)
