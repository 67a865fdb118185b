"""Private correlation matrices, from the same releases as covariances (``variances``).

Let C be the released covariance matrix, before it was projected to a possible one. To first order its error is linear
in independent noises z_k of one distribution, C_ij − Σ_ij = Σ_k B_ijk·z_k, with coefficients B that follow from the
release (``variances`` derives them).

**Values.** The projected covariance has no negative eigenvalue. Dividing its entries by the square roots of its
diagonal keeps that, so a correlation is never outside of [−1, 1]. A column whose variance is not above 0 has
correlations of 0.

**Intervals.** With g = √(C_ii·C_jj) and the true correlation ρ, to first order

    C_ij − ρ·g  =  Σ_k w_k(ρ)·z_k,   w(ρ) = B_ij − ρ/2·(√(C_jj/C_ii)·B_ii + √(C_ii/C_jj)·B_jj).

The interval consists of all ρ in [−1, 1] for which P(|Σ w_k(ρ) z_k| ≥ |C_ij − ρ·g|) ≥ 1 − level (Fieller 1954). It is
extended to hold the value. The first order is good only where variances stand out of the noise. Where the noise of one
of the two variances may be more than ``DROWNED`` of it at that level, nothing is said about the correlation: the
interval is [−1, 1], and the answer says that noise has drowned it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import Loss
from discreet.noise import Bits
from discreet.records import Box
from discreet.statistics.covariances import CovarianceRequest
from discreet.statistics.groups import By
from discreet.statistics.population import check_population, find_boundary
from discreet.statistics.request import ColumnRequest, Request, statistic
from discreet.statistics.squared_deviations import count_rows
from discreet.statistics.statistic import Statistic
from discreet.statistics.variances import Covariance

Array = NDArray[np.float64]

DROWNED = 0.5  # share of a variance that its noise may have, at the level of the interval


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(Statistic):
    """A private correlation matrix; of logarithms for a log column.

    Attributes
    ----------
    value : array of shape (columns, columns)
        With 1 on the diagonal, no number outside of [−1, 1], and no negative eigenvalue. With groups, an axis of groups
        comes first.
    covariance : Covariance
        The covariance matrix from the same releases.
    measured : array of shape (groups or 1, columns, columns)
        The same as measured, before it was projected to one without negative eigenvalues.
    errors : array of shape (groups or 1, columns, columns, noises)
        The coefficients of the independent noises in each entry of the covariance as measured.
    """

    covariance: Covariance
    measured: Array
    errors: Array

    _kind: ClassVar[str] = "spread"
    _possible: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    @property
    def interval_of(self) -> str:
        """That of the covariance."""
        return self.covariance.interval_of

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        """Return an interval for each correlation of these rows that holds it with about this probability.

        It accounts for the noise, but not for clipping or for how these people were sampled. Where noise has drowned a
        correlation (``drowned``) it is [−1, 1].
        """
        return self._each_pair(
            level, lambda group, i, j: self._ends(self.measured[group], self.errors[group], i, j, level)
        )

    def _each_pair(self, level: float, interval: Callable[[int, int, int], tuple[float, float]]) -> tuple[Array, Array]:
        """Return intervals of all pairs of columns, extended to hold the value; [−1, 1] where noise drowned one."""
        values = np.asarray(self.value).reshape(self.errors.shape[:3])
        low, high = values.copy(), values.copy()
        unknown = self._unknown(level)
        for place in np.ndindex(values.shape):
            group, i, j = place
            if i < j:
                ends = (-1.0, 1.0) if unknown[place] else interval(group, i, j)
                low[group, i, j] = low[group, j, i] = min(ends[0], values[place])
                high[group, i, j] = high[group, j, i] = max(ends[1], values[place])
        return low.reshape(np.shape(self.value)), high.reshape(np.shape(self.value))

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        """Return an interval for each correlation of the population (``deviation_matrices``)."""
        matrix = self.covariance._matrix
        if matrix is None:
            raise ArgumentError(
                "of",
                "population",
                "of='rows', since the releases have no fourth moment; ask again",
                write="correlation(…, population=True)",
            )
        return self._each_pair(level, lambda group, i, j: matrix.correlation_interval(group, i, j, level))

    def _ends(self, measured: Array, errors: Array, i: int, j: int, level: float) -> tuple[float, float]:
        """Return the ends for one pair of columns, as the module derives them."""
        first, second = float(measured[i, i]), float(measured[j, j])
        noise, both, ratio = self._noise, math.sqrt(first * second), math.sqrt(second / first)
        slope = (ratio * errors[i, i] + errors[j, j] / ratio) / 2.0

        def tail(rho: float) -> float:
            weights = errors[i, j] - rho * slope
            return noise.tail(weights[weights != 0.0].tolist(), abs(measured[i, j] - rho * both))

        start = float(np.clip(measured[i, j] / both, -1.0, 1.0))
        return find_boundary(start, -1.0, tail, 1.0 - level), find_boundary(start, 1.0, tail, 1.0 - level)

    def _unknown(self, level: float) -> NDArray[np.bool_]:
        """Return for which pairs, shape (groups, columns, columns), nothing is said about the correlation.

        That is where the noise of a variance may be more than half of the variance at this level, or at one of ½ where
        this one is lower: no level makes a correlation out of variances that may be negative.
        """
        outside = min(1.0 - level, 0.5)
        variances = np.diagonal(self.measured, axis1=1, axis2=2)
        lost = np.zeros(variances.shape, dtype=np.bool_)
        for group, column in np.ndindex(variances.shape):
            weights = self.errors[group, column, column]
            most = max(DROWNED * float(variances[group, column]), 0.0)
            lost[group, column] = self._noise.tail(weights[weights != 0.0].tolist(), most) > outside
        result = lost[:, :, None] | lost[:, None, :]
        return result & ~np.eye(variances.shape[1], dtype=np.bool_)

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        return [*super()._axes(), ("with", self.columns)]


def _independent_errors(covariance: Covariance, box: Box) -> tuple[Array, Array]:
    """Return a covariance as measured, with an axis of groups, and the coefficients of independent noises in it."""
    if covariance._matrix is not None:
        return covariance._matrix.covariances, covariance._matrix.errors
    d = box.dimension
    i, j = np.triu_indices(d)
    entry = np.zeros((d, d), dtype=np.int64)
    entry[i, j] = entry[j, i] = np.arange(len(i))
    own = np.zeros((d, d, len(i)))  # which noise is that of an entry itself
    own[np.arange(d)[:, None], np.arange(d)[None, :], entry] = 1.0
    if covariance.method == "direct":
        return covariance.measured[None], (own * covariance.coefficients)[None]
    if covariance.method == "adaptive":
        # Noise L·G·Lᵀ with LLᵀ = Σ, and G of half the variance off the diagonal that it has on it (``variances``).
        matrix = np.asarray(covariance.value)
        size = float(np.sqrt(np.mean((np.diagonal(covariance.coefficients[..., 0]) / np.diagonal(matrix)) ** 2)))
        values, vectors = np.linalg.eigh(matrix)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        pairs = root[:, None, i] * root[None, :, j]
        result = np.where(i == j, pairs, (pairs + root[:, None, j] * root[None, :, i]) / math.sqrt(2.0))
        return covariance.measured[None], np.asarray(result * size)[None]
    release, scale = covariance.release, np.asarray(box.scale)
    rows, a = count_rows(release)
    b, c = release.parts["first"].weight, release.parts["second"].weight
    n = rows.reshape(-1, 1, 1)
    q, m = release["second"].reshape(-1, d, d) / n, release["first"].reshape(-1, d) / n[:, :, 0]
    seconds = own * np.where(np.eye(d) == 1.0, 1.0, 1.0 / math.sqrt(2.0))[..., None] / c
    same = np.eye(d)
    firsts = -(m[:, :, None, None] * same[None, None, :, :] + m[:, None, :, None] * same[None, :, None, :]) / b
    counts = -(q - 2.0 * m[:, :, None] * m[:, None, :]) / a
    parts = [np.broadcast_to(seconds, (len(q), *seconds.shape)), firsts, counts[..., None]]
    outer = np.outer(scale, scale)
    measured = (q - m[:, :, None] * m[:, None, :]) * outer
    return measured, np.asarray(np.concatenate(parts, axis=-1) / n[..., None] * outer[None, :, :, None])


@dataclass(frozen=True, kw_only=True)
class CorrelationRequest(ColumnRequest[Correlation]):
    """A request for a correlation matrix: the releases are those of the covariance matrix."""

    method: str
    population: bool = False

    def __post_init__(self) -> None:
        if len(self.places) < 2:
            raise ArgumentError("columns", self.scales[0].name, "two columns or more")
        _ = self._covariance  # which refuses what it cannot measure

    @cached_property
    def _covariance(self) -> CovarianceRequest:
        return CovarianceRequest(**{one.name: getattr(self, one.name) for one in fields(self)})

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Those of the covariance matrix."""
        return self._covariance.losses

    def plan(self) -> Inquiry[Correlation]:
        """Return the questions of the covariance matrix."""
        asked = self._covariance.plan()

        def answer(measure: Measure) -> Correlation:
            covariance = asked.answer(measure)
            matrices = np.asarray(covariance.value).reshape(-1, len(self.places), len(self.places))
            values = np.stack([_normalize(matrix) for matrix in matrices])
            measured, errors = _independent_errors(covariance, self.box)
            facts = {"covariance": covariance, "measured": measured, "errors": errors}
            return Correlation.from_values(values, self, list(covariance.releases), **facts)

        return Inquiry(asked.curator, asked.guarantee, asked.asked, answer, "correlation", asked.bits)


def _normalize(matrix: Array) -> Array:
    """Return the correlations of a covariance without negative eigenvalues; 0 for a column that does not vary."""
    variances = np.diagonal(matrix)
    varies = variances > 1e-12 * max(float(variances.max()), 1e-300)
    scale = np.where(varies, 1.0 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)
    result = np.clip(matrix * np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return np.asarray((result + result.T) / 2.0)


@statistic()
def correlation(
    data: Any,
    columns: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    method: str = "one-shot",
    population: bool = False,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Correlation]:
    """Return the private correlation matrix of columns.

    Parameters
    ----------
    data, columns, epsilon, delta, by, weights, bits
        As in ``mean``.
    method : {"one-shot", "adaptive", "direct"}
        As in ``variance``.
    population : bool
        As in ``covariance``, for ``interval(level, of="population")``.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Correlation
        Look at its intervals: where noise has drowned a correlation, they are [−1, 1] and the answer says so.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> rows = np.random.default_rng(0).multivariate_normal([0, 0], [[4, 3], [3, 9]], 20_000)
    >>> result = statistics.correlation(rows, epsilon=1.0, delta=1e-6, bounds=(-10, 10))
    >>> bool(0.3 < result.value[0, 1] < 0.7), bool(result.drowned().any())
    (True, False)
    """
    options = {"method": method, "population": check_population(population)}
    return CorrelationRequest.from_columns(data, columns, epsilon, delta, declared, bits, by, weights, **options)
