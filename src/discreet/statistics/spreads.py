"""Variances and covariances: by one release of moments, in rounds that each whiten by the previous one, or directly.

**One release.** For a variance a row contributes (a, b·y, c·(2y² − 1)), y in [−1, 1]: the query ``Squares``. With
counts N, means m and means t of the squares' part, all noisy, the variance is (t + 1)/2 − m². To first order its error
is e₂/(2c) − 2m·e₁/b − (t/2 − 2m²)·e₀/a, over N, for noises e of one distribution. For a covariance rows y in the unit
ball contribute (a, b·y, c·yyᵀ): the query ``Moments``. With second moments Q it is Q − mmᵀ, and its error
e₂/c − (m_i e₁ⱼ + m_j e₁ᵢ)/b − (Q_ij − 2m_i m_j)·e₀/a, over N; e₂ is smaller by √2 off the diagonal, since the matrix is
packed with √2 there.

**In rounds** (needs δ > 0): one Gaussian in its coordinates (``models.mixture.one_gaussian``): clip to an ellipsoid of
the round before, so that noise is relative to the rows' own spread. What clipping did is undone as if the rows were
Gaussian, so with heavy tails it falls short. With noise of variance v off the diagonal (2v on it) in the coordinates
of the last round, entry (i, j) has the variance v(Σ_ii·Σ_jj + Σ_ij²).

**Directly**, where the number of rows is public: noise on Σ(x − x̄)(x − x̄)ᵀ itself, the question ``Scatter``, over n. No
mean is released, wherever the rows lie, and the error is the noise, without any approximation. A variance that is moved
into [0, w²/4], w the width of its bounds, comes no farther from the true one, which lies in there. A matrix whose
negative eigenvalues are raised to 0 comes no farther in the Frobenius norm, but an entry may: so its interval
is around the entry as it was measured, and stretched to where it was moved.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import Loss
from discreet.models.mixture.adaptive import Adaptive
from discreet.models.noisy_sums import clip_eigenvalues, noise_std, released_rows
from discreet.noise import Bits
from discreet.queries.moments.moments import Moments, Squares
from discreet.queries.moments.scatter import Scatter
from discreet.records import Box
from discreet.statistics.request import ColumnRequest, Request, shaped, statistic, unwrapped
from discreet.statistics.statistic import Statistic

Array = NDArray[np.float64]

METHODS = ("one-shot", "adaptive", "direct")


@dataclass(frozen=True, eq=False, repr=False)
class Covariance(Statistic):
    """A private variance or covariance: of logarithms for a log column, which is then called so, in days for dates.

    Attributes
    ----------
    value : float or array
        A number, one a column, or a matrix, which has no negative eigenvalue; with an axis of groups before it where
        there are groups.
    means : array of shape (groups or 1, columns), or None
        The private means, from the same releases, of logarithms for a log column; None where none are released, by the
        direct method.
    method : str
        ``"one-shot"``, ``"adaptive"`` or ``"direct"``.
    measured : array
        ``value`` as it was measured, where it had to be moved to what a covariance can be.
    coefficients : array
        For each number of ``value``, along the last axis, by what the noises of the last release enter it.
    least : float
        0 for variances, −∞ for covariances.
    """

    means: Array | None
    method: str
    measured: Array
    coefficients: Array
    least: float

    _kind: ClassVar[str] = "spread"
    _days: ClassVar[str] = "days²"

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        matrix = self.least < 0.0
        return super()._axes() + ([("with", self.columns)] if matrix else [])

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return intervals that hold the value of these rows with about this probability, each by itself.

        They are about the noise: not about clipping, nor about how these people were sampled. They hold to first order;
        those of the direct method hold with this probability, or a little more.
        """
        value = np.asarray(self.value)
        rows = self.coefficients.reshape(-1, self.coefficients.shape[-1]).tolist()
        half = np.array([self._noise.half_width_of_sum(row, level) for row in rows]).reshape(value.shape)
        lower = np.maximum(np.minimum(self.measured - half, value), self.least)
        upper = np.maximum(self.measured + half, value)
        return unwrapped(lower), unwrapped(upper)


@dataclass(frozen=True, kw_only=True)
class SpreadRequest(ColumnRequest[Covariance]):
    """A request for variances or a covariance matrix: what both have in common.

    Attributes
    ----------
    method : str
    """

    method: str

    matrix: ClassVar[bool]
    name: ClassVar[str]

    def __post_init__(self) -> None:
        plain = self.by is None and self.weights is None
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
                "replace-one, and rows of which each surely counts and stands for itself, since it divides by their "
                "number, which must be public",
                write="missing='fill' for columns with gaps, or method='one-shot'",
            )
        if not isinstance(self.curator.space, Box):
            raise ArgumentError("method", "direct", "bounds for each column", write="a Box, or method='one-shot'")

    @property
    def rounds(self) -> Adaptive:
        """How to measure in rounds."""
        shape = "full" if self.matrix else "diag"
        return Adaptive.for_data(1, self.box, self.guarantee, self.curator.size, shape=shape)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Of each round; else of one matrix, or of each variance."""
        if self.method == "adaptive":
            return self.rounds.losses(self.guarantee)
        return self.additive_losses(1.0, 1 if self.matrix else len(self.places))

    def plan(self) -> Inquiry[Covariance]:
        """Return what the method asks."""
        plans = {"one-shot": self.at_once, "adaptive": self.in_rounds, "direct": self.directly}
        return plans[self.method]()

    @abstractmethod
    def at_once(self) -> Inquiry[Covariance]:
        """Return questions for moments in the declared bounds."""

    @abstractmethod
    def directly(self) -> Inquiry[Covariance]:
        """Return questions for the scatter itself; see the module."""

    def in_rounds(self) -> Inquiry[Covariance]:
        """Return as many moments as there are rounds."""
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

        return self.asks([self.query(Moments(box))] * len(self.losses), answer, self.name)

    def answer(
        self,
        result: Array,
        noises: Array,
        means: Array | None,
        releases: list[Release],
        measured: Array | None = None,
    ) -> Covariance:
        """Return the answer, from arrays that have an axis of groups first; the last of ``noises`` has coefficients."""
        grouped, single = self.groups is not None, self.single
        shown = noises if grouped else noises[0]
        facts = {
            "means": means,
            "method": self.method,
            "measured": np.asarray(shaped(result if measured is None else measured, grouped=grouped, single=single)),
            "coefficients": shown[..., 0, :] if single else shown,
            "least": -math.inf if self.matrix else 0.0,
        }
        return Covariance.from_values(result, self, releases, **facts)


class VarianceRequest(SpreadRequest):
    """A request for variances."""

    matrix: ClassVar[bool] = False
    name: ClassVar[str] = "variance"

    def at_once(self) -> Inquiry[Covariance]:
        """Return a question for each column."""
        boxes = [Box([scale.low], [scale.high]) for scale in self.scales]
        counted = self.rows is None
        queries = [self.query(Squares(box, counted), [place]) for box, place in zip(boxes, self.places, strict=True)]

        def answer(measure: Measure) -> Covariance:
            releases = [measure(query) for query in queries]
            each = [_from_squares(release, box) for release, box in zip(releases, boxes, strict=True)]
            means, result, noises = (np.concatenate(part, axis=1) for part in zip(*each, strict=True))
            return self.answer(result, noises, means, releases)

        return self.asks(queries, answer, self.name)

    def directly(self) -> Inquiry[Covariance]:
        """Return a question for each column."""
        questions = [Scatter(self.curator.space, (place,)) for place in self.places]

        def answer(measure: Measure) -> Covariance:
            releases, rows = [measure(question) for question in questions], max(self.rows or 0, 1)
            squares = (np.asarray(self.box.high) - np.asarray(self.box.low)) ** 2
            measured = np.concatenate([release["upper"] for release in releases]) / rows * squares
            value = np.clip(measured, 0.0, squares / 4.0)
            return self.answer(value[None], (squares / rows)[None, :, None], None, releases, measured[None])

        return self.asks(questions, answer, self.name)


class CovarianceRequest(SpreadRequest):
    """A request for a covariance matrix."""

    matrix: ClassVar[bool] = True
    name: ClassVar[str] = "covariance"

    def __post_init__(self) -> None:
        if self.single:
            raise ArgumentError("columns", self.scales[0].name, "two columns or more; of one, write variance(…)")
        super().__post_init__()

    def at_once(self) -> Inquiry[Covariance]:
        """Return moments with shares of the budget that suit so many columns; see ``models.spectral.one_release``."""
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

        return self.asks([query], answer, self.name)

    def directly(self) -> Inquiry[Covariance]:
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

        return self.asks([question], answer, self.name)


def _rows(release: Release) -> tuple[Array, float]:
    """Return the number of rows of each group, public or as released, and the weight of the count's noise."""
    if "count" in release.parts:
        return np.maximum(release["count"].reshape(-1, 1), 1.0), release.parts["count"].weight
    assert release.size.rows is not None
    return np.full((1, 1), float(max(release.size.rows, 1))), math.inf


def _from_squares(release: Release, box: Box) -> tuple[Array, Array, Array]:
    """Return mean, variance and its coefficients, for each group, in the data's own units; see the module."""
    rows, a = _rows(release)
    b, c = release.parts["first"].weight, release.parts["square"].weight
    m, t = (release[name].reshape(-1, 1) / rows for name in ("first", "square"))
    result = np.clip((t + 1.0) / 2.0 - m * m, 0.0, 1.0)  # in [−1, 1] no variance is larger
    noises = [np.full(m.shape, 0.5 / c), 2.0 * np.abs(m) / b, np.abs(t / 2.0 - 2.0 * m * m) / a]
    scale = float(np.asarray(box.scale)[0]) ** 2
    return np.asarray(box.from_unit(m)), result * scale, np.stack(noises, axis=-1) * (scale / rows)[..., None]


def _from_moments(release: Release, box: Box) -> tuple[Array, Array, Array]:
    """Return means, covariances and their coefficients, for each group, in the data's own units; see the module."""
    d, parts = box.dimension, release.parts
    seconds, firsts = release["second"].reshape(-1, d, d), release["first"].reshape(-1, d)
    counts, a = _rows(release)
    rows = counts[:, :, None]
    b, c = parts["first"].weight, parts["second"].weight
    m, q = firsts / rows[:, :, 0], seconds / rows
    mm = m[:, :, None] * m[:, None, :]
    same = np.eye(d)
    one = np.broadcast_to(np.abs(m)[:, :, None], mm.shape) / b
    other = np.broadcast_to(np.abs(m)[:, None, :], mm.shape) / b
    # On the diagonal the two noises of the mean are one.
    noises = [np.broadcast_to((same + (1.0 - same) / math.sqrt(2.0)) / c, mm.shape)]
    noises += [one + same * other, (1.0 - same) * other, np.abs(q - 2.0 * mm) / a]
    scale = np.asarray(box.scale)
    outer = np.outer(scale, scale)
    coefficients = np.stack(noises, axis=-1) * (outer / rows)[..., None]
    return np.asarray(box.from_unit(m)), (q - mm) * outer, coefficients


@statistic()
def variance(
    data: Any,
    columns: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | None = None,
    weights: str | int | None = None,
    method: str = "one-shot",
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Covariance]:
    """Return private variances of columns, with the number of rows as the divisor.

    Parameters
    ----------
    data, columns, epsilon, delta, by, weights, bits
        As in ``mean``.
    method : {"one-shot", "adaptive", "direct"}
        One release of moments in the declared bounds, or some rounds in coordinates that follow the rows. These win by
        far where bounds are loose. They take Gaussian noise (δ > 0), neither groups nor weights, and rows that are
        roughly Gaussian: of others they give the covariance of a Gaussian that fits, and intervals say nothing of that.
        Or directly, with noise on the variance itself and intervals that hold exactly: neither groups nor weights, and
        the number of rows must be public (replace-one, bounds for each column, no row that may be dropped).
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
    return VarianceRequest.from_columns(data, columns, epsilon, delta, declared, bits, by, weights, method=method)


@statistic()
def covariance(
    data: Any,
    columns: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | None = None,
    weights: str | int | None = None,
    method: str = "one-shot",
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
    return CovarianceRequest.from_columns(data, columns, epsilon, delta, declared, bits, by, weights, method=method)
