"""Private covariance matrices: by one release of moments, in adaptive rounds, or directly.

Rounds and intervals are those of variances (``variances``).

**One release** (``method="one-shot"``). Rows y in the unit ball contribute (a, b·y, c·yyᵀ): the query ``Moments``. Let
N be the noisy count, m the noisy mean, and Q the noisy second moments. The covariance is

    Q − mmᵀ,   with the error   (e₂/c − (m_i e₁ⱼ + m_j e₁ᵢ)/b − (Q_ij − 2m_i m_j)·e₀/a)/N

to first order, where the noises e have one distribution. Off the diagonal e₂ is smaller by √2, since the matrix is
packed with √2 there.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import Loss
from discreet.models.noisy_sums import clip_eigenvalues
from discreet.noise import Bits
from discreet.queries.moments.deviations import DeviationProducts
from discreet.queries.moments.moments import Moments
from discreet.queries.moments.scatter import Scatter
from discreet.queries.question import Query
from discreet.records import Box
from discreet.statistics.deviation_matrices import DeviationMatrix
from discreet.statistics.groups import By
from discreet.statistics.population import check_population
from discreet.statistics.request import Request, statistic
from discreet.statistics.squared_deviations import count_rows
from discreet.statistics.variances import Covariance, SpreadRequest

Array = NDArray[np.float64]


class CovarianceRequest(SpreadRequest):
    """A request for a covariance matrix."""

    matrix: ClassVar[bool] = True
    name: ClassVar[str] = "covariance"

    def __post_init__(self) -> None:
        if self.single:
            raise ArgumentError("columns", self.scales[0].name, "two columns or more; of one, write variance(…)")
        if self.population and not isinstance(self.curator.space, Box):
            raise ArgumentError("population", True, "bounds for each column", write="a Box, or population=False")
        super().__post_init__()

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses; for the population those of the means, and of products of deviations from them."""
        if not self.population:
            return super().losses
        return (*self.additive_losses(self._mean_share), *self.additive_losses(1.0 - self._mean_share))

    def plan_deviations(self) -> Inquiry[Covariance]:
        """Return a question for the means of all columns, and one for the products of deviations from them."""
        box, d, counted = self.box, len(self.places), self.rows is None
        by, groups = ((), 1) if self.groups is None else (self.groups.sizes, len(self.groups))
        means = self.query(Moments(box, (0.25, 0.75, 0.0) if counted else (0.0, 1.0, 0.0)))
        weights = (d / 3.0, 1.0, 1.0 / 16.0) if counted else (1.0, 1.0, 1.0 / 9.0)

        def products(centers: Array) -> Query:
            return self.query(DeviationProducts(box, counted, weights, tuple(map(tuple, centers.tolist())), by))

        def answer(measure: Measure) -> Covariance:
            first = measure(means)
            low, high, scale = (np.asarray(end) for end in (box.low, box.high, box.scale))
            rows, a = count_rows(first)
            m = np.clip(first["first"].reshape(-1, d) / rows, -1.0, 1.0)
            centers = np.clip(np.asarray(box.from_unit(m)), low, high)
            noise = first.noise
            assert noise is not None  # additive
            own = np.eye(d) / first.parts["first"].weight ** 2 + m[:, :, None] * m[:, None, :] / a**2
            v = noise.variance * own * np.outer(scale, scale) / (rows**2)[:, :, None]
            v = np.clip(v, -np.outer(high - low, high - low) / 4.0, np.outer(high - low, high - low) / 4.0)
            sizes = np.sqrt(np.diagonal(v, axis1=1, axis2=2))
            spread = np.where(np.eye(d) == 1.0, math.sqrt(2.0 if noise.normal else 5.0), 1.0)
            second = measure(products(centers))
            reaches = np.maximum(centers - low, high - centers)
            matrix = DeviationMatrix(second, reaches, v, spread * sizes[:, :, None] * sizes[:, None, :])
            measured = matrix.covariances
            result = clip_eigenvalues(measured / matrix.outer, 0.0, math.inf) * matrix.outer
            answered = self.answer(result, np.zeros((*measured.shape, 1)), centers, [first, second], measured)
            return replace(answered, _matrix=matrix)

        whole = products(np.broadcast_to(np.asarray(box.center), (groups, d)))
        return self.make_inquiry([means, whole], answer, self.name)

    def plan_one_release(self) -> Inquiry[Covariance]:
        """Return one query of moments, its shares of the budget chosen as in ``models.spectral.one_release``."""
        if self.population:
            return self.plan_deviations()
        box, d = self.box, len(self.places)
        shares = np.array([0.5 / d if self.rows is None else 0.0, 1.0 / math.sqrt(d), 1.0])
        a2, b2, c2 = (shares / shares.sum()).tolist()
        query = self.query(Moments(box, (a2, b2, c2)))

        def answer(measure: Measure) -> Covariance:
            release = measure(query)
            means, matrices, noises = _from_moments(release, box)
            outer = np.outer(box.scale, box.scale)
            result = clip_eigenvalues(matrices / outer, 0.0, math.inf) * outer
            return self.answer(result, noises, means, [release])

        return self.make_inquiry([query], answer, self.name)

    def plan_direct(self) -> Inquiry[Covariance]:
        """Return one question."""
        question = Scatter(self.curator.space, self.places)

        def answer(measure: Measure) -> Covariance:
            release, rows = measure(question), max(self.rows or 0, 1)
            widths = np.asarray(self.box.high) - np.asarray(self.box.low)
            outer = np.outer(widths, widths)
            i, j = np.triu_indices(len(widths))
            matrix = np.zeros(outer.shape)
            matrix[i, j] = matrix[j, i] = release["upper"] / rows
            value = clip_eigenvalues(matrix[None], 0.0, math.inf)[0] * outer
            noises = (outer / rows)[None, ..., None]
            return self.answer(value[None], noises, None, [release], (matrix * outer)[None])

        return self.make_inquiry([question], answer, self.name)


def _from_moments(release: Release, box: Box) -> tuple[Array, Array, Array]:
    """Return means, covariances and the covariances' noise coefficients, for each group, in the data's own units."""
    d, parts = box.dimension, release.parts
    seconds, firsts = release["second"].reshape(-1, d, d), release["first"].reshape(-1, d)
    counts, a = count_rows(release)
    rows = counts[:, :, None]
    b, c = parts["first"].weight, parts["second"].weight
    m, q = firsts / rows[:, :, 0], seconds / rows
    mm = m[:, :, None] * m[:, None, :]
    same = np.eye(d)
    one = np.broadcast_to(np.abs(m)[:, :, None], mm.shape) / b
    other = np.broadcast_to(np.abs(m)[:, None, :], mm.shape) / b
    # On the diagonal both noises of the mean are the same number, so their coefficients add up.
    noises = [np.broadcast_to((same + (1.0 - same) / math.sqrt(2.0)) / c, mm.shape)]
    noises += [one + same * other, (1.0 - same) * other, np.abs(q - 2.0 * mm) / a]
    scale = np.asarray(box.scale)
    outer = np.outer(scale, scale)
    coefficients = np.stack(noises, axis=-1) * (outer / rows)[..., None]
    return np.asarray(box.from_unit(m)), (q - mm) * outer, coefficients


@statistic()
def covariance(
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
) -> Request[Covariance]:
    """Return the private covariance matrix of columns, with the number of rows as the divisor.

    Parameters
    ----------
    data, columns, epsilon, delta, by, weights, bits
        As in ``mean``.
    method : {"one-shot", "adaptive", "direct"}
        As in ``variance``.
    population : bool
        Whether to measure the means first, and then products of deviations from them and products of four, for
        ``interval(level, of="population")``. The noise of a covariance grows: for two columns at ε = 1 by a quarter
        under add-remove, and by three quarters under replace-one.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Covariance

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> rows = np.random.default_rng(0).multivariate_normal([0, 0], [[4, 3], [3, 9]], 20_000)
    >>> result = statistics.covariance(rows, epsilon=1.0, delta=1e-6, bounds=(-20, 20))
    >>> result.value.shape, bool(2.0 < result.value[0, 1] < 4.0)
    ((2, 2), True)
    """
    options = {"method": method, "population": check_population(population)}
    return CovarianceRequest.from_columns(data, columns, epsilon, delta, declared, bits, by, weights, **options)
