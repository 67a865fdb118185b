"""``MixtureDraws``: draws of a mixture, the order of their components, and how many of these are different.

**Label switching.** A mixture does not depend on the order of its components, so chains may differ in the order, or
change it. The components of each draw are assigned to those of a reference such that the sum of Bhattacharyya distances

    −ln ∫ √(p₁p₂) = ⅛ Δᵀ S⁻¹ Δ + ½ ln(|S|/√(|Σ₁||Σ₂|)) − Σ_j ln Σ_l √(p₁ⱼₗ p₂ⱼₗ),    S = (Σ₁ + Σ₂)/2,    Δ = μ₁ − μ₂,

is least. This distance does not depend on the coordinates; p_j are the probabilities of a column of categories, where
there are some. The reference is the fit, so the order of a draw's components depends on nothing but the draw and the
fit, and another run has the same. (A reference that follows from all draws, as in Stephens 2000, changes between runs
where components are hard to tell apart.)

**How many components.** Releases may leave open whether two components are different. In each draw, components with a
weight of at least ``MIN_WEIGHT`` whose distance is below ``MIN_DISTANCE`` (two unit Gaussians whose means are 1.3
apart) count as one. The number of those that are left is reported, and where it is not certain, this is said. It does
not depend on labels, and neither do the mean, the covariance, the correlations and the shares of categories of all
rows, which are reported as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]

MIN_WEIGHT, MIN_DISTANCE = 0.01, 0.22  # of a component that counts, and between two that are not one
CERTAIN = 0.95  # probability of the number of components


@dataclass(frozen=True, eq=False)
class MixtureDraws:
    """Mixtures of K Gaussians, with the probabilities of categories in each: draws, or one fit.

    Attributes
    ----------
    weights : array of shape (…, K)
    means : array of shape (…, K, d)
    covariances : array of shape (…, K, d, d)
    tables : tuple of arrays of shape (…, K, C)
        For each column of categories its probabilities.
    """

    weights: Array
    means: Array
    covariances: Array
    tables: tuple[Array, ...] = ()

    @property
    def count(self) -> int:
        """K."""
        return int(self.weights.shape[-1])

    @property
    def is_one(self) -> bool:
        """Whether all components are the same."""
        parts = (self.means, self.covariances, *self.tables)
        return all(bool(np.all(part == part[:1])) for part in parts)

    @cached_property
    def mean(self) -> Array:
        """The mean of all rows."""
        return np.asarray(np.einsum("...k,...ki->...i", self.weights, self.means))

    @cached_property
    def covariance(self) -> Array:
        """The covariance of all rows."""
        away = self.means - self.mean[..., None, :]
        second = self.covariances + away[..., :, None] * away[..., None, :]
        return np.asarray(np.einsum("...k,...kij->...ij", self.weights, second))

    @property
    def correlations(self) -> Array:
        """The correlations of all rows, 1 along the diagonal."""
        sd = np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))
        result = self.covariance / (sd[..., :, None] * sd[..., None, :])
        return np.where(np.eye(sd.shape[-1], dtype=bool), 1.0, result)

    @property
    def shares(self) -> tuple[Array, ...]:
        """The probabilities of the categories over all rows, shape (…, C) for each column."""
        return tuple(np.einsum("...k,...kc->...c", self.weights, table) for table in self.tables)

    def order_like(self, fit: MixtureDraws) -> MixtureDraws:
        """Return the draws with their components in the order of one mixture's.

        Examples
        --------
        >>> two = MixtureDraws(np.array([0.3, 0.7]), np.array([[0.0], [5.0]]), np.ones((2, 1, 1)))
        >>> turned = MixtureDraws(two.weights[None, ::-1], two.means[None, ::-1], two.covariances[None])
        >>> turned.order_like(two).weights.tolist()
        [[0.3, 0.7]]
        """
        costs = np.stack([self._distances(fit, k) for k in range(self.count)], axis=-2)  # place, component
        flat = costs.reshape(-1, self.count, self.count)
        order = np.array([linear_sum_assignment(cost)[1] for cost in flat]).reshape(self.weights.shape)

        def turn(part: Array) -> Array:
            places = order.reshape(*order.shape, *[1] * (part.ndim - order.ndim))
            return np.take_along_axis(part, places, axis=order.ndim - 1)

        tables = tuple(map(turn, self.tables))
        return MixtureDraws(turn(self.weights), turn(self.means), turn(self.covariances), tables)

    def count_different(self) -> Array:
        """Return how many components of each mixture are different from one another.

        Examples
        --------
        >>> means = np.array([[[0.0], [0.1], [5.0]], [[0.0], [3.0], [6.0]]])
        >>> MixtureDraws(np.full((2, 3), 1 / 3), means, np.ones((2, 3, 1, 1))).count_different().tolist()
        [2.0, 3.0]
        """
        kept = self.weights >= MIN_WEIGHT
        apart = np.stack([self._distances(self, k) for k in range(self.count)], axis=-2)
        linked = (apart < MIN_DISTANCE) & kept[..., :, None] & kept[..., None, :]
        for _ in range(self.count):  # what is linked through others is one as well
            linked = (linked.astype(np.int64) @ linked.astype(np.int64)) > 0
        first = ~np.any(np.tril(linked, -1), axis=-1) & kept  # not linked with an earlier one
        return np.asarray(first.sum(axis=-1), dtype=np.float64)

    def _distances(self, other: MixtureDraws, k: int) -> Array:
        """Return the Bhattacharyya distance of each component from component k of others, shape (…, K)."""
        theirs = other.covariances[..., [k], :, :]
        both = (self.covariances + theirs) / 2.0
        offset = self.means - other.means[..., [k], :]
        mahalanobis = (offset * np.linalg.solve(both, offset[..., None])[..., 0]).sum(axis=-1)
        sizes = np.linalg.slogdet(self.covariances)[1] + np.linalg.slogdet(theirs)[1]
        result = mahalanobis / 8.0 + (np.linalg.slogdet(both)[1] - sizes / 2.0) / 2.0
        for mine, table in zip(self.tables, other.tables, strict=True):
            alike = np.sqrt(mine * table[..., [k], :]).sum(axis=-1)
            result = result - np.log(np.maximum(alike, 1e-300))
        return np.asarray(result)


def describe_count(counts: Array) -> list[str]:
    """Return a sentence that says which numbers of components are probable, where it is not certain that it is K.

    >>> describe_count(np.array([2.0, 2.0, 2.0, 1.0]))[0][:71]
    'the releases do not tell how many groups of rows there are: 1 (25 %) or'
    """
    values, times = np.unique(counts, return_counts=True)
    shares = times / counts.size
    likely = shares > (1.0 - CERTAIN) / 2.0
    if shares.max() >= CERTAIN:
        return []
    each = zip(values[likely], shares[likely], strict=True)
    options = " or ".join(f"{value:.0f} ({100.0 * share:.0f} %)" for value, share in each)
    return [
        f"the releases do not tell how many groups of rows there are: {options}, by probability. Where two components "
        "are one, weights, means and covariances of single components say little; mean, covariance, correlations, "
        "score_samples, sample_predictive and synthesize do not depend on them"
    ]
