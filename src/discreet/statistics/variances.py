"""Private variances: by one release of moments, in adaptive rounds, or directly.

Covariances, which share the requests and results here, are in ``covariances``, their roots in ``standard_deviations``;
the interquartile range is in ``quantiles``.

**One release** (``method="one-shot"``). For a variance a row contributes (a, b·y, c·(2y² − 1)) with y in [−1, 1]: the
query ``Squares``. Let N be the noisy count, m the noisy mean, and t the noisy mean of the third part. The variance is

    (t + 1)/2 − m²,   with the error   (e₂/(2c) − 2m·e₁/b − (t/2 − 2m²)·e₀/a)/N

to first order, where the noises e have one distribution.

**In rounds** (``method="adaptive"``, needs δ > 0). This is the mixture of a single Gaussian
(``models.mixture.one_gaussian``): each round clips to an ellipsoid from the previous estimate, so that the noise is
relative to the rows' own spread. The effect of clipping is undone as if the rows were Gaussian, so with heavy tails the
estimate is too small. With noise of variance v off the diagonal (2v on it) in the coordinates of the last round, entry
(i, j) has the variance v(Σ_ii·Σ_jj + Σ_ij²).

**Directly** (``method="direct"``), where the number of rows n is public: noise on Σ(x − x̄)(x − x̄)ᵀ itself, the question
``Scatter``, divided by n. No mean is released, wherever the rows lie, and the error is the noise without any
approximation. The true variance lies in [0, w²/4], where w is the width of the bounds; so projecting the measured
variance into that interval moves it no farther from the true one. Likewise, raising negative eigenvalues of a matrix to
0 moves it no farther from the true one in the Frobenius norm, but it may move a single entry farther. So the interval
of an entry is centred at its measured value, and extended to include the projected value.

**For the population** (``variance(…, population=True)``). A share of the budget releases the mean m̂, and the rest the
mean of the squared deviations u = (x − m̂)² together with that of u² (the query ``DeviationSquares``). So a variance is
a mean, of u, and has the intervals of a mean with its noise and its sampling error (``population``). The mean of u is
above the variance by (m̂ − μ)². This has the expectation v, the variance of m̂, which is subtracted, and a standard
deviation of √2·v (√5·v for Laplace noise), which is added to the error as if it were normal. Covariances and
correlations have the same with products of deviations (``deviation_matrices``).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import Loss
from discreet.guarantees.normal import normal_mu
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.noisy_sums import noise_std, released_rows
from discreet.noise import Bits
from discreet.queries.moments.deviations import DeviationSquares
from discreet.queries.moments.moments import Moments, Squares
from discreet.queries.moments.scatter import Scatter
from discreet.queries.question import Query
from discreet.records import Box
from discreet.statistics.deviation_matrices import DeviationMatrix
from discreet.statistics.groups import By
from discreet.statistics.population import check_population
from discreet.statistics.request import ColumnRequest, Request, planning_rows, reshape_values, statistic, unwrap
from discreet.statistics.squared_deviations import Deviations, count_rows, variances_from_squares
from discreet.statistics.statistic import Statistic

Array = NDArray[np.float64]

METHODS = ("one-shot", "adaptive", "direct")


@dataclass(frozen=True, eq=False, repr=False)
class Covariance(Statistic):
    """A private variance or covariance. For a log column it is about logarithms, for dates in days (squared).

    Attributes
    ----------
    value : float or array
        A number, one for each column, or a matrix without negative eigenvalues. With groups, an axis of groups comes
        first.
    means : array of shape (groups or 1, columns), or None
        The private means from the same releases; of logarithms for a log column. None for the direct method, which
        releases no means.
    method : str
        ``"one-shot"``, ``"adaptive"`` or ``"direct"``.
    measured : array
        ``value`` as measured, before it was projected to a possible variance or covariance.
    coefficients : array
        For each number of ``value``, along the last axis, the coefficients of the noises of the last release in it.
    least : float
        The smallest possible value: 0 for variances, −∞ for covariances.
    """

    means: Array | None
    method: str
    measured: Array
    coefficients: Array
    least: float
    _deviations: tuple[Deviations, ...] = ()  # of each column, where the population was asked about
    _matrix: DeviationMatrix | None = None  # of all columns, where that of a matrix was

    _kind: ClassVar[str] = "spread"
    _days: ClassVar[str] = "days²"

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        matrix = self.least < 0.0
        return super()._axes() + ([("with", self.columns)] if matrix else [])

    @property
    def _possible(self) -> tuple[Any, Any]:
        """What numbers between bounds of width w can have: variances up to w²/4, covariances up to w₁w₂/4 (Popoviciu).

        The second follows from the first by the inequality of Cauchy and Schwarz.
        """
        widths = np.array([scale.high - scale.low for scale in self._scales])
        if self.least < 0.0:
            most = np.outer(widths, widths) / 4.0
            return np.where(np.eye(len(widths)) == 1.0, 0.0, -most), most
        most = widths**2 / 4.0
        return (0.0, float(most[0])) if self.single else (np.zeros(len(widths)), most)

    def _are_drowned(self, low: Any, high: Any) -> Any:
        """Return also which variances are 0: noise took all of them away, which does not mean that rows are equal."""
        value, least = np.asarray(self.value), np.asarray(self._possible[0])
        return super()._are_drowned(low, high) | ((least == 0.0) & (value <= 0.0))

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each value that holds it with about this probability.

        With ``of="rows"`` it is about the value of these rows and accounts for the noise, to first order; for the
        direct method it holds with at least this probability. With ``of="population"`` it is about the population from
        which they were sampled, and accounts for the sampling too; this needs ``population=True`` when it is asked for.
        It is cut to what is possible within the declared bounds: a variance is at most a quarter of their squared
        width. Neither accounts for clipping.
        """
        return super().interval(level, of)

    @property
    def interval_of(self) -> str:
        """What the intervals are about: the population where fourth moments were measured for it."""
        return "population" if self._deviations or self._matrix is not None else "rows"

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        if self._matrix is not None:
            return self._matrix_interval(self._matrix, level, population=True)
        if not self._deviations:
            raise ArgumentError(
                "of",
                "population",
                "of='rows', since the releases have no fourth moment; ask again",
                write=f"{'covariance' if self.least < 0.0 else 'variance'}(…, population=True)",
            )
        ends = [one.population_interval(level) for one in self._deviations]
        low, high = (np.concatenate(side, axis=1) for side in zip(*ends, strict=True))
        return self._shaped(low), self._shaped(high)

    def _matrix_interval(self, matrix: DeviationMatrix, level: float, *, population: bool) -> tuple[Any, Any]:
        value = np.asarray(self.value)
        low, high = (end.reshape(value.shape) for end in matrix.interval(level, population=population))
        least = np.where(np.eye(value.shape[-1]) == 1.0, 0.0, -np.inf)
        return np.minimum(np.maximum(low, least), value), np.maximum(high, value)

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        if self._matrix is not None:
            return self._matrix_interval(self._matrix, level, population=False)
        if self._deviations:
            ends = [one.rows_interval(level) for one in self._deviations]
            low, high = (np.concatenate(side, axis=1) for side in zip(*ends, strict=True))
            return self._shaped(low), self._shaped(high)
        value = np.asarray(self.value)
        rows = self.coefficients.reshape(-1, self.coefficients.shape[-1]).tolist()
        half = np.array([self._noise.half_width_of_sum(row, level) for row in rows]).reshape(value.shape)
        lower = np.maximum(np.minimum(self.measured - half, value), self.least)
        upper = np.maximum(self.measured + half, value)
        return unwrap(lower), unwrap(upper)


@dataclass(frozen=True, kw_only=True)
class SpreadRequest(ColumnRequest[Covariance]):
    """The common part of requests for variances and for a covariance matrix.

    Attributes
    ----------
    method : str
    population : bool
        Whether deviations from a mean that is measured first are asked for, for intervals about the population.
    """

    method: str
    population: bool = False

    matrix: ClassVar[bool]
    name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.population and self.method != "one-shot":
            raise ArgumentError("method", self.method, "'one-shot' with population=True")
        plain = self.groups is None and self.weights is None
        if choice("method", self.method, METHODS) == "adaptive" and not (self.guarantee.delta and plain):
            raise ArgumentError("method", "adaptive", "delta above 0, and neither groups nor weights")
        if self.method != "direct":
            return
        if not plain:
            raise ArgumentError("method", "direct", "neither groups nor weights", write="method='one-shot'")
        if self.rows is None:
            raise ArgumentError(
                "method",
                "direct",
                "replace-one, no row that may be dropped and one row for each person, since the number of rows must be "
                "public",
                write="missing='fill' for columns with gaps, or method='one-shot'",
            )
        if not isinstance(self.curator.space, Box):
            raise ArgumentError("method", "direct", "bounds for each column", write="a Box, or method='one-shot'")

    @property
    def rounds(self) -> Adaptive:
        """The method for adaptive rounds: the mixture of a single Gaussian."""
        shape = "full" if self.matrix else "diag"
        return Adaptive.for_data(1, self.box, self.guarantee, self.curator.size, shape=shape)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of all rounds; for other methods that of one matrix, or of each variance."""
        if self.method == "adaptive":
            return self.rounds.losses(self.guarantee)
        return self.additive_losses(1.0, 1 if self.matrix else len(self.places))

    def plan(self) -> Inquiry[Covariance]:
        """Return the questions of the method."""
        plans = {"one-shot": self.plan_one_release, "adaptive": self.plan_rounds, "direct": self.plan_direct}
        return plans[self.method]()

    @property
    def _mean_share(self) -> float:
        """The share of ε for the means: more where there is so much noise that the squares of their errors matter."""
        guarantee = self.guarantee
        budget = normal_mu(guarantee.epsilon, guarantee.delta) if guarantee.delta else guarantee.epsilon
        groups = 1 if self.groups is None else len(self.groups)
        each = planning_rows(self.curator, None) * budget / (groups * len(self.places))
        return min(max(math.sqrt(8.0 / each), 0.15), 0.4)

    @abstractmethod
    def plan_one_release(self) -> Inquiry[Covariance]:
        """Return questions for moments within the declared bounds."""

    @abstractmethod
    def plan_direct(self) -> Inquiry[Covariance]:
        """Return questions for the scatter matrix itself; see the module."""

    def plan_rounds(self) -> Inquiry[Covariance]:
        """Return a question for moments in each round."""
        rounds, box = self.rounds, self.box

        def answer(measure: Measure) -> Covariance:
            steps = iter([lambda query: measure(self.query(query))] * len(self.losses))
            result, releases = rounds.run(box, np.random.default_rng(), steps)
            moved = result.rescale(np.asarray(box.center), np.asarray(box.scale))
            last, clipping, matrix = releases[-1], rounds.clipping, moved.covariances[0]
            entry = noise_std(last, "second") * clipping.squared / released_rows(last) / clipping.response().beta2
            variances = np.diagonal(matrix)
            stds = entry * np.sqrt((np.outer(variances, variances) + matrix**2) / 2.0)
            assert last.noise is not None
            noise = stds / math.sqrt(last.noise.variance)
            if not self.matrix:
                matrix, noise = variances, np.diagonal(noise)
            return self.answer(matrix[None], noise[None, ..., None], moved.means[:1], releases)

        return self.make_inquiry([self.query(Moments(box))] * len(self.losses), answer, self.name)

    def answer(
        self,
        result: Array,
        noises: Array,
        means: Array | None,
        releases: list[Release],
        measured: Array | None = None,
    ) -> Covariance:
        """Return the answer from arrays whose first axis is groups; the last axis of ``noises`` has coefficients."""
        grouped, single = self.groups is not None, self.single
        shown = noises if grouped else noises[0]
        value = self._cut_to_bounds(result)
        facts = {
            "means": means,
            "method": self.method,
            "measured": np.asarray(
                reshape_values(result if measured is None else measured, grouped=grouped, single=single)
            ),
            "coefficients": shown[..., 0, :] if single else shown,
            "least": -math.inf if self.matrix else 0.0,
        }
        return Covariance.from_values(value, self, releases, **facts)

    def _cut_to_bounds(self, result: Array) -> Array:
        """Return variances, or matrices, with no variance above a quarter of the squared width of its bounds.

        A matrix is multiplied from both sides by factors for its columns: it keeps its correlations, and has no
        negative eigenvalue if it had none. No covariance is then above w₁w₂/4 (``Covariance._possible``).
        """
        widths = np.array([scale.high - scale.low for scale in self.scales])
        most = widths**2 / 4.0
        if not self.matrix:
            return np.asarray(np.minimum(result, most))
        variances = np.diagonal(result, axis1=1, axis2=2)
        factors = np.sqrt(np.minimum(most / np.maximum(variances, most), 1.0))
        largest = np.outer(widths, widths) / 4.0  # beyond which rounding may be
        return np.clip(result * factors[:, :, None] * factors[:, None, :], -largest, largest)


class VarianceRequest(SpreadRequest):
    """A request for variances."""

    matrix: ClassVar[bool] = False
    name: ClassVar[str] = "variance"

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses; for the population those of a mean for each column, and of squared deviations for each."""
        if not self.population:
            return super().losses
        number = len(self.places)
        return (*self.additive_losses(self._mean_share, number), *self.additive_losses(1.0 - self._mean_share, number))

    def plan_deviations(self) -> Inquiry[Covariance]:
        """Return a question for the mean of each column, and one for its squared deviations."""
        columns = [(Box([one.low], [one.high]), [place]) for one, place in zip(self.scales, self.places, strict=True)]
        counted, groups = self.rows is None, 1 if self.groups is None else len(self.groups)
        means = [
            self.query(Moments(box, (0.25, 0.75, 0.0) if counted else (0.0, 1.0, 0.0)), place) for box, place in columns
        ]
        by = () if self.groups is None else self.groups.sizes

        def deviations(box: Box, place: list[int], centers: Array) -> Query:
            weights = (1.0 / 3.0, 1.0, 1.0 / 16.0) if counted else (1.0, 1.0, 1.0 / 9.0)
            return self.query(DeviationSquares(box, counted, weights, tuple(centers.tolist()), by), place)

        def answer(measure: Measure) -> Covariance:
            firsts = [measure(query) for query in means]
            found, centers = [], []
            for (box, place), first in zip(columns, firsts, strict=True):
                low, high, scale = (float(np.asarray(end)[0]) for end in (box.low, box.high, box.scale))
                rows, a = count_rows(first)
                m = np.clip(first["first"].reshape(-1, 1) / rows, -1.0, 1.0)
                center = np.clip(np.asarray(box.from_unit(m)), low, high)
                second = measure(deviations(box, place, center[:, 0]))
                noise = first.noise
                assert noise is not None  # additive
                v = noise.variance * (1.0 / first.parts["first"].weight ** 2 + (m / a) ** 2) * (scale / rows) ** 2
                v = np.minimum(v, (high - low) ** 2 / 4.0)
                spread = math.sqrt(2.0 if noise.normal else 5.0)
                squares = np.maximum(center - low, high - center) ** 2
                found.append(Deviations(second, squares, v, spread * v))
                centers.append(center)
            measured = np.concatenate([one.variances for one in found], axis=1)
            most = np.concatenate([one.squares for one in found], axis=1)
            result = self.answer(
                np.clip(measured, 0.0, most),
                np.zeros((*measured.shape, 1)),
                np.concatenate(centers, axis=1),
                [*firsts, *(one.release for one in found)],
                measured,
            )
            return replace(result, _deviations=tuple(found))

        whole = [deviations(box, place, np.full(groups, float(np.asarray(box.center)[0]))) for box, place in columns]
        return self.make_inquiry([*means, *whole], answer, self.name)

    def plan_one_release(self) -> Inquiry[Covariance]:
        """Return a question for each column."""
        if self.population:
            return self.plan_deviations()
        boxes = [Box([scale.low], [scale.high]) for scale in self.scales]
        counted = self.rows is None
        queries = [self.query(Squares(box, counted), [place]) for box, place in zip(boxes, self.places, strict=True)]

        def answer(measure: Measure) -> Covariance:
            releases = [measure(query) for query in queries]
            each = [_from_squares(release, box) for release, box in zip(releases, boxes, strict=True)]
            means, result, noises = (np.concatenate(part, axis=1) for part in zip(*each, strict=True))
            return self.answer(result, noises, means, releases)

        return self.make_inquiry(queries, answer, self.name)

    def plan_direct(self) -> Inquiry[Covariance]:
        """Return a question for each column."""
        questions = [Scatter(self.curator.space, (place,)) for place in self.places]

        def answer(measure: Measure) -> Covariance:
            releases, rows = [measure(question) for question in questions], max(self.rows or 0, 1)
            squares = (np.asarray(self.box.high) - np.asarray(self.box.low)) ** 2
            measured = np.concatenate([release["upper"] for release in releases]) / rows * squares
            value = np.clip(measured, 0.0, squares / 4.0)
            return self.answer(value[None], (squares / rows)[None, :, None], None, releases, measured[None])

        return self.make_inquiry(questions, answer, self.name)


def _from_squares(release: Release, box: Box) -> tuple[Array, Array, Array]:
    """Return means, variances and the variances' noise coefficients, for each group, in the data's own units."""
    rows, _ = count_rows(release)
    measured, noises = variances_from_squares(release)
    result = np.clip(measured, 0.0, 1.0)  # in [−1, 1] no variance is larger
    scale = float(np.asarray(box.scale)[0]) ** 2
    means = np.asarray(box.from_unit(release["first"].reshape(-1, 1) / rows))
    return means, result * scale, noises * scale


@statistic()
def variance(
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
    """Return private variances of columns, with the number of rows as the divisor.

    Parameters
    ----------
    data, columns, epsilon, delta, by, weights, bits
        As in ``mean``.
    method : {"one-shot", "adaptive", "direct"}
        ``"one-shot"``: one release of moments within the declared bounds. ``"adaptive"``: some rounds in coordinates
        that adapt to the rows, which is far more accurate where bounds are loose. It needs Gaussian noise (δ > 0),
        takes neither groups nor weights, and assumes roughly Gaussian rows: of others it returns the covariance of a
        fitted Gaussian, and intervals do not account for that. ``"direct"``: noise on the variance itself, with
        intervals that hold exactly. It takes neither groups nor weights, and needs a public number of rows
        (replace-one, bounds for each column, no row that may be dropped).
    population : bool
        Whether to measure the mean first, and then the squared deviations from it and their squares, for
        ``interval(level, of="population")``.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Covariance

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).normal(40.0, 10.0, 20_000)
    >>> 80.0 < statistics.variance(ages, epsilon=1.0, delta=1e-6, bounds=(0, 120)).value < 120.0
    True
    """
    options = {"method": method, "population": check_population(population)}
    return VarianceRequest.from_columns(data, columns, epsilon, delta, declared, bits, by, weights, **options)
