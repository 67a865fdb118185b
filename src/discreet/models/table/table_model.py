"""A mixture over rows with numbers and categories, measured as ``mixed_moments`` are.

Within a component the numbers are Gaussian, each column of categories has its own probabilities, and all of these are
independent. The Gaussians are those of ``adaptive_mixture``, from the same parts of the same releases. For the tables:

1. The steps are pooled as the counts are: a new table weighs t^(−0.6), or more where it differs from the pool by more
   than noise can explain.
2. What is believed of a table is the column's marginal, and of the difference from it what noise does not explain
   (``released``). The marginal is that of the first release and of all components' tables together.
3. No probability is below what its noise could hide, unless the marginal is: a rare category is not an impossible one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Model
from discreet.models.mixture.adaptive_mixture import AdaptiveMixture, Pool
from discreet.models.mixture.moment_model import kept, noise_of, released_rows
from discreet.models.table.column_maps import on_simplex
from discreet.queries.bound import Bound
from discreet.queries.moments.clipped_moments import Components
from discreet.queries.moments.mixed_moments import LEAST, MixedMoments
from discreet.queries.question import Part
from discreet.records import Block

__all__ = ["TableModel", "TablePool"]

Array = NDArray[np.float64]
Tables = tuple[Array, ...]

FORGETTING = 0.6  # a new table weighs t to the minus this
LEAST_SHARE = 0.05  # of an equal share of the rows: no component has fewer
CONCENTRATION = 150.0  # of the Dirichlet around the marginals that tables start from: they differ a little
HIDDEN = 0.2  # standard deviations of its noise: no probability is less, unless the marginal is


@dataclass(frozen=True, eq=False)
class TablePool:
    """What the releases so far say, and the parameters that follow.

    Attributes
    ----------
    numbers : Pool
        Of the Gaussians.
    probabilities : tuple of arrays of shape (K, C)
        The tables through which the next step looks.
    counts : tuple of arrays of shape (K, C)
        Pooled tables.
    noise : tuple of float
        The variance of a number in each of them.
    rows : array of shape (K,)
        Pooled counts of the components, at the tables' pace.
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
        """The Gaussians through which the next step looks."""
        return self.numbers.components

    @classmethod
    def starting(cls, numbers: Pool, probabilities: Tables) -> TablePool:
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
        """How many categories each column has."""
        return tuple(len(marginal) for marginal in self.marginals)

    def initialize(self, dimension: int, rng: np.random.Generator) -> TablePool:
        """Return Gaussians spread over the base, and tables drawn around the marginals."""
        tables = tuple(
            on_simplex(rng.dirichlet(np.maximum(CONCENTRATION * marginal, 0.05), self.numbers.count), 1.0)
            for marginal in self.marginals
        )
        return TablePool.starting(self.numbers.initialize(dimension, rng), tables)

    def statistic(self, params: TablePool) -> MixedMoments:
        """Return what is measured; its bound and proof are its own."""
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
        """Return clipped moments, and responsibilities in the place of each category."""
        return self.statistic(params).contributions(block)

    def sum(self, params: TablePool, block: Block) -> Any:
        """Return their sum."""
        return self.statistic(params).sum(block)

    def maximize(self, params: TablePool, release: Release) -> TablePool:
        """Return the pool with one more release, and what follows from it."""
        numbers = self.numbers.maximize(params.numbers, release)
        pooled = self._pooled(params, numbers, release)
        return TablePool(**(vars(pooled) | {"probabilities": self._believed(pooled, release)}))

    def _pooled(self, params: TablePool, numbers: Pool, release: Release) -> TablePool:
        """Return the pool with one more release's tables and counts."""
        result = tuple(release[f"table{j}"] for j in range(len(self.marginals)))
        noise = tuple(noise_of(release, f"table{j}") ** 2 for j in range(len(self.marginals)))
        rows, row_noise = release["counts"], noise_of(release, "counts") ** 2
        if release.size.rows is not None:
            rows = rows + (release.size.rows - rows.sum()) / len(rows)
        if params.numbers.step == 0:
            return TablePool(numbers, params.probabilities, result, noise, rows, row_noise)
        pairs = list(zip(result, params.counts, strict=True))
        spreads = list(zip(noise, params.noise, strict=True))
        # In units of each table's noise, so that one gain serves them all.
        moved = sum(
            float(((new - old) ** 2).sum()) / (fresh + pooled)
            for (new, old), (fresh, pooled) in zip(pairs, spreads, strict=True)
        )
        size = sum(table.size for table in result)
        gain = max(float((params.numbers.step + 1.0) ** -FORGETTING), kept(size, moved, size, 0.0))
        return TablePool(
            numbers,
            params.probabilities,
            tuple(old + gain * (new - old) for new, old in pairs),
            tuple((1.0 - gain) ** 2 * old + gain**2 * new for new, old in spreads),
            params.rows + gain * (rows - params.rows),
            (1.0 - gain) ** 2 * params.row_noise + gain**2 * row_noise,
        )

    def _believed(self, pool: TablePool, release: Release) -> Tables:
        """Return each component's probabilities: the marginal, and what of the difference is not noise."""
        share = LEAST_SHARE * released_rows(release) / len(pool.rows)
        rows = np.maximum(pool.rows, max(share, 2.0 * math.sqrt(pool.row_noise)))
        return tuple(self._believed_table(j, rows, pool.counts[j], pool.noise[j]) for j in range(len(self.marginals)))

    def _believed_table(self, j: int, rows: Array, counts: Array, noise: float) -> Array:
        """Return one column's table, from pooled counts and the variance of a number in them."""
        size = counts.shape[1]
        if size == 1:
            return np.ones_like(counts)
        counts = counts + (rows - counts.sum(axis=1))[:, None] / size
        marginal, spread = counts.sum(axis=0) / rows.sum(), noise * len(rows) / rows.sum() ** 2
        first = self.marginal_noise[j]
        marginal = (first * marginal + spread * self.marginals[j]) / (first + spread)
        differences = counts / rows[:, None] - marginal
        squared = (differences**2).sum(axis=1)
        shares = [
            kept(noise / row**2 * (size - 1), long, size - 1, 0.0)
            for row, long in zip(rows.tolist(), squared.tolist(), strict=True)
        ]
        believed = on_simplex(marginal + np.array(shares)[:, None] * differences, 1.0, LEAST)
        hidden = np.minimum(on_simplex(marginal, 1.0, LEAST), HIDDEN * math.sqrt(noise) / rows[:, None])
        above = np.maximum(believed, hidden) - LEAST
        return np.asarray(LEAST + (1.0 - size * LEAST) * above / above.sum(axis=1, keepdims=True))
