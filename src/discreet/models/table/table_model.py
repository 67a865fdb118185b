"""``TableModel``: a mixture over rows with numbers and categories, measured by ``mixed_moments``.

Within a component the numbers are Gaussian, each column of categories has its own probabilities, and all of these are
independent. The Gaussians follow from the same releases as in ``adaptive_model``. The tables follow so:

1. The steps are pooled as the counts are (``noisy_estimates``): the gain of step t is t^(−0.6), or more where the new
   table differs from the pool by more than noise can explain.
2. A table is shrunk to the column's marginal by the share of noise in the difference. The marginal is that of the
   first release and of all components' tables together.
3. No probability is below what its noise could hide, unless the marginal is: a rare category is not impossible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Model
from discreet.models.mixture.adaptive_model import AdaptiveMixture, Pool, rows_to_divide_by
from discreet.models.noisy_estimates import Estimate, forgetting_gain, shrinkage_factor
from discreet.models.noisy_sums import noise_std, released_counts
from discreet.models.table.column_maps import project_to_simplex
from discreet.queries.bound import Bound
from discreet.queries.moments.components import Components
from discreet.queries.moments.mixed_moments import LEAST, MixedMoments
from discreet.queries.question import Part
from discreet.records import Block

Array = NDArray[np.float64]
Tables = tuple[Array, ...]

CONCENTRATION = 150.0  # of the Dirichlet distribution around the marginals from which the first tables are drawn
LEAST_SEEN = 0.2  # least probability in standard deviations of its noise, unless the marginal is less


@dataclass(frozen=True, eq=False)
class TablePool:
    """Estimates pooled over the releases so far, and the parameters that follow from them.

    Attributes
    ----------
    numbers : Pool
        The pool of the Gaussians.
    probabilities : tuple of arrays of shape (K, C)
        The tables at which the next step measures.
    counts : tuple of arrays of shape (K, C)
        Pooled tables.
    noise : tuple of float
        The variance of a number in each of the pooled tables.
    rows : array of shape (K,)
        Pooled counts of the components, with the gain of the tables.
    row_noise : float
        Their variance.
    """

    numbers: Pool
    probabilities: Tables
    counts: Tables
    noise: tuple[float, ...]
    rows: Array
    row_noise: float

    @property
    def components(self) -> Components:
        """The Gaussians at which the next step measures."""
        return self.numbers.components

    @classmethod
    def empty(cls, numbers: Pool, probabilities: Tables) -> TablePool:
        """Return an empty pool."""
        none = tuple(np.zeros_like(table) for table in probabilities)
        return cls(numbers, probabilities, none, (0.0,) * len(none), np.zeros(numbers.components.count), 0.0)


@dataclass(frozen=True, eq=False)
class TableModel(Model[TablePool]):
    """K components, each a Gaussian and a table for every column of categories.

    Parameters
    ----------
    numbers : AdaptiveMixture
        The Gaussians.
    marginals : tuple of arrays of shape (C,)
        The probabilities of each column's categories over all rows, from an earlier release.
    marginal_noise : tuple of float
        The variance of the noise on one of these probabilities, for each column.
    weights : tuple of float
        e_j² of the statistic, for each column.
    """

    numbers: AdaptiveMixture
    marginals: Tables
    marginal_noise: tuple[float, ...]
    weights: tuple[float, ...]
    name: str = "table mixture"

    @property
    def categories(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of categories of each column."""
        return tuple(len(marginal) for marginal in self.marginals)

    def initialize(self, dimension: int, rng: np.random.Generator) -> TablePool:
        """Return Gaussians spread over the base, and tables drawn around the marginals."""
        tables = tuple(
            project_to_simplex(rng.dirichlet(np.maximum(CONCENTRATION * marginal, 0.05), self.numbers.count), 1.0)
            for marginal in self.marginals
        )
        return TablePool.empty(self.numbers.initialize(dimension, rng), tables)

    def statistic(self, params: TablePool) -> MixedMoments:
        """Return the statistic; its bound and proof are in ``mixed_moments``."""
        return MixedMoments(self.numbers.moments(params.numbers), params.probabilities, self.weights)

    def parts(self, params: TablePool) -> Mapping[str, Part]:
        """Return counts, moments and tables."""
        return self.statistic(params).parts

    def bound(self, params: TablePool) -> Bound:
        """Return the bound of ``mixed_moments``."""
        return self.statistic(params).bound

    def roundoff(self, params: TablePool, dimension: int) -> float:
        """Return the bound on float error of ``mixed_moments``."""
        return self.statistic(params).roundoff

    def contributions(self, params: TablePool, block: Block) -> Any:
        """Return clipped moments, and the responsibilities at the place of each row's category."""
        return self.statistic(params).contributions(block)

    def sum(self, params: TablePool, block: Block) -> Any:
        """Return the sum of the contributions."""
        return self.statistic(params).sum(block)

    def maximize(self, params: TablePool, release: Release) -> TablePool:
        """Return the pool with one more release, and the parameters that follow from it."""
        numbers = self.numbers.maximize(params.numbers, release)
        pooled = self._pool(params, numbers, release)
        rows = rows_to_divide_by(pooled.rows, pooled.row_noise, release)
        tables = enumerate(zip(pooled.counts, pooled.noise, strict=True))
        shrunk = tuple(self._shrink_table(j, rows, counts, noise) for j, (counts, noise) in tables)
        return replace(pooled, probabilities=shrunk)

    def _pool(self, params: TablePool, numbers: Pool, release: Release) -> TablePool:
        """Return the pool with one more release's tables and counts."""
        names = [f"table{j}" for j in range(len(self.marginals))]
        new = [Estimate(release[name], noise_std(release, name) ** 2) for name in names]
        old = [Estimate(*pair) for pair in zip(params.counts, params.noise, strict=True)]
        pairs = list(zip(old, new, strict=True))
        # Σ‖t' − t‖²/(v + v'), in units of each table's noise, so that all tables have one gain
        change = sum(float(((b.value - a.value) ** 2).sum()) / (b.variance + a.variance) for a, b in pairs)
        size = sum(table.value.size for table in new)
        gain = max(forgetting_gain(params.numbers.step), shrinkage_factor(size, change, size))
        counts, noise = zip(*(a.pool(b, gain) for a, b in pairs), strict=True)
        counted = Estimate(released_counts(release), noise_std(release, "counts") ** 2)
        rows = Estimate(params.rows, params.row_noise).pool(counted, gain)
        return TablePool(numbers, params.probabilities, counts, noise, *rows)

    def _shrink_table(self, j: int, rows: Array, counts: Array, noise: float) -> Array:
        """Return a column's probabilities in each component: the marginal plus the shrunk difference from it.

        Parameters
        ----------
        j : int
        rows, counts : arrays of shape (K,) and (K, C)
            Pooled.
        noise : float
            The variance of a number in ``counts``.
        """
        size = counts.shape[1]
        if size == 1:
            return np.ones_like(counts)
        counts = counts + (rows - counts.sum(axis=1))[:, None] / size  # each table sums to its rows
        marginal, spread = counts.sum(axis=0) / rows.sum(), noise * len(rows) / rows.sum() ** 2
        first = self.marginal_noise[j]
        marginal = (first * marginal + spread * self.marginals[j]) / (first + spread)  # by inverse variances
        differences = counts / rows[:, None] - marginal
        factors = shrinkage_factor(noise / rows**2 * (size - 1), (differences**2).sum(axis=1), size - 1)
        shrunk = project_to_simplex(marginal + factors[:, None] * differences, 1.0, LEAST)
        hidden = np.minimum(project_to_simplex(marginal, 1.0, LEAST), LEAST_SEEN * math.sqrt(noise) / rows[:, None])
        above = np.maximum(shrunk, hidden) - LEAST
        return np.asarray(LEAST + (1.0 - size * LEAST) * above / above.sum(axis=1, keepdims=True))
