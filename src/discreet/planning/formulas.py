"""Predicted errors, one formula for each statistic, with its derivation in its docstring.

Errors are root mean squares: √E(released − exact)², over the noise. Where the sampling error is part of the target the
exact one is the population's, rows being drawn independently, and as noise and sampling are independent their squares
add up. What no ε removes is the ``floor``. (Nats, which are squares already, add up themselves: ``MixtureFormula``.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.queries.bound import Bound
from discreet.queries.counts.count_queries import Histogram
from discreet.queries.moments.moments import Moments, Squares
from discreet.records import Box

COUNTED = 0.25  # a², the share of the budget for a count of rows
KEPT = 0.4  # of the squared budget, in what a mixture ends with
LEVEL = 0.99  # of a component within the clipping radius
SHAPES = ("full", "tied", "diag", "spherical")


def noise_std(bound: Bound, guarantee: Guarantee) -> float:
    """Return the standard deviation of the noise on each number of a sum: what the door adds for a whole guarantee.

    Gaussian noise has σ = Δ₂/μ, with the largest μ that keeps (ε, δ). Laplace noise, at δ = 0, has scale Δ₁/ε and so a
    standard deviation of √2·Δ₁/ε. The door's own charge for floats and its grid, below a thousandth, is left out.

    >>> round(noise_std(Bound(l2=1.0, l1=1.0), Guarantee(1.0, 1e-5, "add-remove")), 4)
    3.7306
    """
    if guarantee.delta:
        return bound.sensitivity("l2", guarantee.neighbors) / normal_mu(guarantee.epsilon, guarantee.delta)
    return math.sqrt(2.0) * bound.sensitivity("l1", guarantee.neighbors) / guarantee.epsilon


@dataclass(frozen=True, kw_only=True)
class Formula(ABC):
    """The predicted error of one statistic, as a function of the guarantee.

    Parameters
    ----------
    n : int
        How many rows there will be.
    d : int
        How many columns.
    sampling : bool
        Whether the sampling error is part of the error.
    """

    n: int
    d: int = 1
    sampling: bool = False

    name: ClassVar[str]
    measure: ClassVar[str]  # of the error, for the words
    needs_delta: ClassVar[bool] = False  # whether it takes δ > 0
    spends_no_delta: ClassVar[bool] = False  # whether it spends no δ

    @abstractmethod
    def noise(self, guarantee: Guarantee) -> float:
        """Return the error that falls to 0 as ε grows."""

    @property
    def sampling_error(self) -> float:
        """What other rows from the same population would have changed."""
        return 0.0

    @property
    def resolution(self) -> float:
        """What stays as ε grows without limit, on the same rows."""
        return 0.0

    @property
    def floor(self) -> float:
        """What no ε removes."""
        return math.hypot(self.resolution, self.sampling_error if self.sampling else 0.0)

    def count_noise(self, guarantee: Guarantee) -> float:
        """Return the noise on a divisor over that divisor, which the formula takes as small; 0 where there is none."""
        return 0.0

    def error(self, guarantee: Guarantee) -> float:
        """Return the predicted error."""
        return math.hypot(self.noise(guarantee), self.floor)


@dataclass(frozen=True, kw_only=True)
class CountFormula(Formula):
    """The error of a count of rows, in rows.

    A count of rows with some property has rows of 0 or 1, so it moves by 1 under either relation.

    >>> round(CountFormula(n=1000).noise(Guarantee(1.0)), 4)
    1.4142
    """

    name: ClassVar[str] = "count"
    measure: ClassVar[str] = "root mean squared error of the count, in rows"

    def noise(self, guarantee: Guarantee) -> float:
        """Return the standard deviation of the noise."""
        return noise_std(Bound(l2=1.0, l1=1.0, replace_l2=1.0, replace_l1=1.0), guarantee)

    @property
    def sampling_error(self) -> float:
        """√n/2, that of a property which half of the rows have; for others it is less."""
        return math.sqrt(self.n) / 2.0


@dataclass(frozen=True, kw_only=True)
class CellsFormula(Formula):
    """The error of each cell of a histogram, in rows.

    A row is 1 in its cell: norm 1, and a replaced row moves two cells (query ``Histogram``): 2 in L1, √2 in L2.

    >>> round(CellsFormula(n=1000, cells=10).noise(Guarantee(1.0)), 4)
    2.8284
    """

    cells: int = 10

    name: ClassVar[str] = "histogram"
    measure: ClassVar[str] = "root mean squared error of each cell's count, in rows"

    def noise(self, guarantee: Guarantee) -> float:
        """Return the standard deviation of the noise, the same whatever the number of cells."""
        return noise_std(Histogram(self.cells).bound, guarantee)

    @property
    def sampling_error(self) -> float:
        """That of equal cells, √(n·p(1 − p)) with p one over their number."""
        return math.sqrt(self.n * (self.cells - 1.0)) / self.cells


@dataclass(frozen=True, kw_only=True)
class Bounded(Formula):
    """A formula about columns between declared bounds.

    Parameters
    ----------
    width : float
        Of the bounds of each column.
    spread : float
        The standard deviation of each column, as far as it matters.
    offset : float
        How far the mean of each column lies from the middle of its bounds.
    counted : bool
        Whether the rows are counted privately.
    """

    width: float = 1.0
    spread: float = 1.0 / math.sqrt(12.0)
    offset: float = 0.0
    counted: bool = True

    def _moments(self, a2: float, b2: float, c2: float) -> Moments:
        """Return the query with weights in this ratio, the first one only where rows are counted."""
        a2 = a2 if self.counted else 0.0
        total = a2 + b2 + c2
        return Moments(Box(0.0, self.width).for_columns(self.d), (a2 / total, b2 / total, c2 / total))

    @property
    def _reach(self) -> float:
        """What one step in the unit ball is, in a column: h·√d."""
        return self.width / 2.0 * math.sqrt(self.d)

    def _relative_noise(self, bound: Bound, count: float, guarantee: Guarantee) -> float:
        """Return the noise on the number of rows over that number, ``count`` being the weight a of the count."""
        return noise_std(bound, guarantee) / (count * self.n) if count else 0.0


@dataclass(frozen=True, kw_only=True)
class MeanFormula(Bounded):
    """The error of each column's mean, in the data's units.

    Rows in a box of d columns of width w are mapped to y = (x − middle)/(h·√d), h = w/2, so ‖y‖₂ ≤ 1 and ‖y‖₁ ≤ √d. The
    sum of (a, b·y) is released, a² + b² = 1 (query ``Moments``, which has the bounds), and the mean is the quotient
    S/N.

    **The sum.** A row that is added moves it by at most 1 in L2, a + b√d in L1; one that is replaced by 2b and by 2b√d
    (and not by less than one that comes or goes). On y there is noise of 1/b times that, over n. In the data's units,
    times h√d, a replaced row gives a column's mean

    - Gaussian: h√d/n · 2/μ = w√d/(nμ);
    - Laplace: h√d/n · √2 · 2√d/ε = √2·w·d/(nε), the L1 sensitivity d·w over nε. (n = 1000, ε = 0.1, w = 1: 0.0141.)

    b has gone: under replace-one the sum pays nothing for the count beside it.

    **The count.** With noise e₀/a on N and e₁/b on S the quotient moves by (e₁/b − m·e₀/a)/n/(1 + w), w = e₀/(a·n), m
    the mean of y. Its square has the factor (1 + w)^(−2) = 1 − 2w + 3w² − …; odd moments of the noise are 0, so with r²
    = E w² and κ = E w⁴/r⁴ (3 for Gaussian noise, 6 for Laplace) the mean square is to second order

        s²·(h²d/b²·(1 + 3r²) + v²/a²·(1 + 3κr²))/n²,

    s the standard deviation of one noise and v = h√d·m the offset of the mean from the middle. Rows are counted, at a²
    = 0.25, where their number is private or one may be left out for a missing value. Elsewhere a = 0 and the second
    term and r are gone.

    **Where it ends.** Against a million draws (v = 0 and 0.2 of the width) the root is within 2 % up to r = 0.15, at r
    = 0.2 at most 5 % low, and at r = 0.35 at most 12 %. Means are cut to the bounds. Where that matters, at large r or
    near an end of the bounds, it is too high, which is the safe side. ``count_noise`` is r; a plan says where it is
    above 0.1.

    >>> round(MeanFormula(n=1000, counted=False).noise(Guarantee(0.1)), 4)
    0.0141
    """

    name: ClassVar[str] = "mean"
    measure: ClassVar[str] = "root mean squared error of each column's mean, in the data's units"

    @property
    def query(self) -> Moments:
        """What is measured."""
        return self._moments(COUNTED, 1.0 - COUNTED, 0.0)

    def count_noise(self, guarantee: Guarantee) -> float:
        """Return r, the noise on the number of rows over it."""
        return self._relative_noise(self.query.bound, math.sqrt(self.query.weights[0]), guarantee)

    def noise(self, guarantee: Guarantee) -> float:
        """Return the root mean square of the noise on a column's mean."""
        a2, b2, _ = self.query.weights
        second = 3.0 * self.count_noise(guarantee) ** 2
        squared = self._reach**2 / b2 * (1.0 + second)
        if a2:
            squared += self.offset**2 / a2 * (1.0 + (3.0 if guarantee.delta else 6.0) * second)
        return noise_std(self.query.bound, guarantee) * math.sqrt(squared) / self.n

    @property
    def sampling_error(self) -> float:
        """The spread over √n."""
        return self.spread / math.sqrt(self.n)


@dataclass(frozen=True, kw_only=True)
class SecondMoments(Bounded):
    """What covariances and axes share: one release of first and second moments.

    The query is ``Moments``: Σ(a, b·y, c·yyᵀ), y = (x − middle)/(h·√d), packed with √2 off the diagonal. Its weights
    are those of a one-release covariance: c² : b² : a² = 1 : 1/√d : 1/(2d), without a where rows are not counted (see
    ``MeanFormula``). One noise of standard deviation s on each packed number is s/a on the count, s/b on a first
    moment, s/c on a diagonal second moment and s/(c√2) off the diagonal.

    C_ij = S_ij/N − m_i m_j with m = S/N. To first order it moves by

        (e_ij − m_i e_j − m_j e_i − (C_ij − m_i m_j)·e_N)/n:

    S_ij/N gives −(C_ij + m_i m_j)e_N, and each of the two means in m_i m_j gives back m_i m_j e_N. Where all columns
    have the same mean m, the variance v and no correlation, in coordinates y, the squared error over s²/n² is

        1/c² + 4m²/b² + (v − m²)²/a²    on the diagonal,    1/(2c²) + 2m²/b² + m⁴/a²    off it.

    The data's units are (h√d)² times as large. ``CovarianceFormula`` is the root mean square over d² entries: the
    Frobenius norm over d.
    """

    @property
    def query(self) -> Moments:
        """What is measured."""
        return self._moments(0.5 / self.d, 1.0 / math.sqrt(self.d), 1.0)


@dataclass(frozen=True, kw_only=True)
class VarianceFormula(Bounded):
    """The error of each column's variance, in the data's squared units.

    The query is ``Squares``, for each column: Σ(a, b·y, c·(2y² − 1)), y = (x − middle)/h. With m the mean of y and v
    its variance the estimate moves by (e₂/(2c) − 2m·e₁/b − (v − m² − 1/2)·e₀/a)/n for noises e of one distribution. Of
    d columns each has ε/d where noise is Laplace, μ/√d where it is Gaussian.

    Variances and covariances are predicted for ``method="one-shot"``, the default of ``discreet.statistics``. What
    rounds (``method="adaptive"``) lose is not predicted: less where bounds are loose, more where rows fill them.

    **Where it ends.** All this is first order: (e_i/n)² and the square of r, the noise on the number of rows over it,
    are left out. Of counted rows that fill their bounds evenly variances err by ½ % more than predicted at r = 0.02, 3
    % at 0.05, 12 % at 0.1 and 28 % at 0.2. Answers are cut to what can be, no variance below 0. Where the noise is
    about as large as the variance this matters more, and the prediction is too high. ``count_noise`` is r; a plan says
    where it is above 0.1. (r does not affect ``AxesFormula``: a matrix divided by another number of rows has the same
    axes.)

    >>> round(VarianceFormula(n=10_000).noise(Guarantee(1.0)), 6)
    6e-05
    """

    name: ClassVar[str] = "variance"
    measure: ClassVar[str] = (
        "root mean squared error of each column's variance by method='one-shot', in the data's squared units"
    )

    @property
    def query(self) -> Squares:
        """What is measured of each column."""
        return Squares(Box([0.0], [self.width]), self.counted)

    def count_noise(self, guarantee: Guarantee) -> float:
        """Return r, the noise on the number of rows over it."""
        columns = math.sqrt(self.d) if guarantee.delta else float(self.d)
        return columns * self._relative_noise(self.query.bound, self.query.amplitudes[0], guarantee)

    def noise(self, guarantee: Guarantee) -> float:
        """Return the standard deviation of a variance."""
        query, half = self.query, self.width / 2.0
        a, b, c = query.amplitudes
        m, v = self.offset / half, (self.spread / half) ** 2
        squared = 0.25 / c**2 + 4.0 * m * m / b**2
        if a:
            squared += (v - m * m - 0.5) ** 2 / a**2
        columns = math.sqrt(self.d) if guarantee.delta else float(self.d)
        return columns * noise_std(query.bound, guarantee) * math.sqrt(squared) * half**2 / self.n

    @property
    def sampling_error(self) -> float:
        """That of normal rows, √(2/n)·spread²."""
        return math.sqrt(2.0 / self.n) * self.spread**2


@dataclass(frozen=True, kw_only=True)
class CovarianceFormula(SecondMoments):
    """The root mean squared error over the entries of the covariance, in the data's squared units.

    ``SecondMoments`` has the derivation, ``VarianceFormula`` says where it ends.
    """

    name: ClassVar[str] = "covariance"
    measure: ClassVar[str] = (
        "root mean squared error over the entries of the covariance by method='one-shot', in the data's squared units"
    )

    def count_noise(self, guarantee: Guarantee) -> float:
        """Return r, the noise on the number of rows over it."""
        return self._relative_noise(self.query.bound, math.sqrt(self.query.weights[0]), guarantee)

    def noise(self, guarantee: Guarantee) -> float:
        """Return the root mean square of the noise over all entries."""
        a2, b2, c2 = self.query.weights
        m2, v = (self.offset / self._reach) ** 2, (self.spread / self._reach) ** 2
        on, off = 1.0 / c2 + 4.0 * m2 / b2, 0.5 / c2 + 2.0 * m2 / b2  # squared, on the diagonal and off it
        if a2:
            on, off = on + (v - m2) ** 2 / a2, off + m2 * m2 / a2
        scale = noise_std(self.query.bound, guarantee) * self._reach**2 / self.n
        return scale * math.sqrt((on + (self.d - 1) * off) / self.d)

    @property
    def sampling_error(self) -> float:
        """That of independent normal columns: variances 2/n, the others 1/n, times spread⁴."""
        return math.sqrt((self.d + 1.0) / (self.d * self.n)) * self.spread**2


@dataclass(frozen=True, kw_only=True)
class AxesFormula(SecondMoments):
    """The share of the principal axes that is lost: the mean sin² of their angle to the true ones.

    The second moment has symmetric Gaussian noise, τ = s/(c√2·n) off the diagonal. An axis of variance λ, by g = λ − λ'
    above the next, turns to first order by angles of variance τ²/g² in each of the d − k directions that are not kept,
    so it loses sin² = τ²(d − k)/g² of itself. For one spike above nothing that is the known alignment cos² = 1 −
    τ²d/λ², and it cannot be seen at all beyond τ²d = λ²: the error is then 1. Noise on the mean enters as m_i e_j and
    is left out. Against ``PCA(method="analyze-gauss")`` with one spike, three settings of 5 to 20 columns, the mean of
    40 fits was 0.84 to 1.31 of the prediction. ``method="adaptive"``, which ``"auto"`` often takes, lost 4 to 17 times
    less than predicted there.

    Parameters
    ----------
    gap : float
        By how much the least variance along an axis that is kept exceeds the largest along one that is not, in the
        data's squared units.
    components : int
        k, how many axes are kept.
    """

    gap: float
    components: int = 1

    name: ClassVar[str] = "pca"
    measure: ClassVar[str] = (
        "lost share of the principal axes, the mean sin² of their angle to the true ones, by one release"
    )
    needs_delta: ClassVar[bool] = True

    def noise(self, guarantee: Guarantee) -> float:
        """Return τ²(d − k)/g², at most 1."""
        query = self.query
        tau = noise_std(query.bound, guarantee) * self._reach**2 / (self.n * math.sqrt(2.0 * query.weights[2]))
        ratio = (tau / self.gap) ** 2
        return 1.0 if ratio * self.d >= 1.0 else ratio * (self.d - self.components)

    @property
    def sampling_error(self) -> float:
        """That of normal rows around one spike: v(v + g)/(n·g²) a direction, v the variance of the rest."""
        rest = self.spread**2
        return min(rest * (rest + self.gap) * (self.d - self.components) / (self.n * self.gap**2), 1.0)

    def error(self, guarantee: Guarantee) -> float:
        """Return both shares together: sin² is a square already."""
        return min(self.noise(guarantee) + self.floor, 1.0)


@dataclass(frozen=True, kw_only=True)
class QuantileFormula(Formula):
    """The error of a quantile that the exponential mechanism draws, in the data's units.

    The value x is drawn with density ∝ exp(−η·|rank(x) − q·n|), rank(x) the number of rows below x. A replaced row
    moves every score by at most 1, and two scores apart by at most 2, so η = ε/2. A row that is added moves rank − q·n
    by 1 − q or by −q, and so scores by at most max(q, 1 − q): η = ε/(2·max(q, 1 − q)). No δ is spent.

    Rows of density f at the quantile are 1/(nf) apart on average. On rows exactly so far apart the drawn rank is
    two-sided geometric with ratio p = e^(−η), variance 2p/(1 − p)² ≈ 2/η², and the place within its gap is uniform,
    variance 1/12. Real rows have gaps that vary, about as exponential variables G do, of mean and variance 1. Then,
    with w_k = e^(−η|k|), Z = Σw_kG_k and N = Σw_k∫x² over the gap k, for small η

        E N = 4/η³ + 4/η²    (|k| from the varying distance of the k-th gap, |k| since wide gaps are drawn more often),
        E Z = 2/η,    Var Z = 1/η,    Cov(N, Z) = Σw_j·(j²w_j + 2w_j(j/η + 1/η²)) = 7/(2η³),
        E(N/Z) ≈ E N/E Z·(1 + Var Z/(E Z)²) − Cov(N, Z)/(E Z)² = 2/η² + (2 + ½ − 7/8)/η = 2/η² + 13/(8η).

    As ε grows the place in a gap of size G stays, E G²/12 = 1/6. With the discrete sums for 2/η² and 1/η,

        squared error = (2p/(1 − p)² + (13/8)·2p/(1 − p²) + 1/6)/(nf)².

    Against the exact mechanism on 8,000 sets of 1,000 uniform rows (replace-one, q = ½) the root is within 1 % up to ε
    = 2, 8 % low at ε = 4 and 12 % low at ε = 10. At n = 1000, ε = 0.1 it gives 0.0289 for uniform rows, measured
    0.0288, and 0.0072 for N(½, 0.1²), measured 0.0073.

    **What it takes for granted**: that rows lie evenly around the quantile. The density is constant over some 1/(ηn) of
    probability, and no step between values that many rows share (ages in whole years) is wider than the target. Where
    it is not so, as for a few rows, a tiny ε, a gap at the quantile or rounded values, the error is another one. Of
    5,000 rows rounded to tens the median at ε = 0.1 was 5.7 off, where 0.58 is predicted: a tie is one candidate, and
    those between two ties are so many that one of them is drawn. At ε = 1 the tie's rows outweigh them, and it was
    found exactly.

    **Empty bounds.** Where rows are denser than bounds of width w would have them, a width of e = w − 1/f is taken to
    be empty. It lies q·n rows below the quantile and (1 − q)·n rows above, so all of it has a weight of at most
    e·(e^(−ηqn) + e^(−η(1−q)n)), beside 2/(ηnf) of the rows. A draw from there is up to w off: w²/3 times that share is
    added to the squared error. With skewed rows in wide bounds it is this that decides which ε is needed.

    A statistic that also draws an interval for its value leaves only a ``share`` of ε to the value itself.

    Parameters
    ----------
    q : float
        Which quantile, in (0, 1).
    density : float
        Of the rows at the quantile, in one over the data's units, where they lie evenly around it: no ties or gaps
        wider than the target. Rows that fill bounds of width w evenly have 1/w.
    share : float
        Of ε, for the value.
    width : float
        Of the bounds.

    Examples
    --------
    >>> round(QuantileFormula(n=1000).error(Guarantee(0.1)), 4)
    0.0289
    """

    q: float = 0.5
    density: float = 1.0
    share: float = 1.0
    width: float = 0.0

    name: ClassVar[str] = "quantile"
    measure: ClassVar[str] = "root mean squared error of each quantile, in the data's units, of rows even around it"
    spends_no_delta: ClassVar[bool] = True

    def noise(self, guarantee: Guarantee) -> float:
        """Return the error of the drawn rank, in the data's units."""
        most = max(self.q, 1.0 - self.q) if guarantee.neighbors is Neighbors.ADD_REMOVE else 1.0
        eta = self.share * guarantee.epsilon / (2.0 * most)
        p, left = math.exp(-eta), -math.expm1(-eta)
        squared = 2.0 * p / (left * left) + 3.25 * p / (left * (1.0 + p))
        return math.sqrt(squared / (self.n * self.density) ** 2 + self._outside(eta) * self.width**2 / 3.0)

    def _outside(self, eta: float) -> float:
        """Return about the chance that the value is drawn from where no rows are."""
        empty = max(self.width - 1.0 / self.density, 0.0)
        tails = math.exp(-eta * self.q * self.n) + math.exp(-eta * (1.0 - self.q) * self.n)
        odds = empty * tails * eta * self.n * self.density / 2.0
        return odds / (1.0 + odds)

    @property
    def resolution(self) -> float:
        """Where in its gap between two rows a value lies nobody can know."""
        return math.sqrt(1.0 / 6.0) / (self.n * self.density)

    @property
    def sampling_error(self) -> float:
        """√(q(1 − q)/n)/f, the standard error of a sample quantile."""
        return math.sqrt(self.q * (1.0 - self.q) / self.n) / self.density


@dataclass(frozen=True, kw_only=True)
class InterquartileRangeFormula(Formula):
    """The error of the distance between the quartiles, both of this density, each drawn at half of the share of ε.

    Drawn one in the other, as a tree of quantiles is, they err together in part, and the distance by up to a fifth less
    than predicted.
    """

    density: float = 1.0
    share: float = 1.0
    width: float = 0.0

    name: ClassVar[str] = "interquartile_range"
    measure: ClassVar[str] = (
        "root mean squared error of the distance between the quartiles, in the data's units, of rows even around them"
    )
    spends_no_delta: ClassVar[bool] = True

    @property
    def _quartile(self) -> QuantileFormula:
        return QuantileFormula(n=self.n, q=0.25, density=self.density, share=self.share / 2.0, width=self.width)

    def noise(self, guarantee: Guarantee) -> float:
        """Return √2 times that of a quartile."""
        return math.sqrt(2.0) * self._quartile.noise(guarantee)

    @property
    def resolution(self) -> float:
        """That of two quartiles."""
        return math.sqrt(2.0) * self._quartile.resolution

    @property
    def sampling_error(self) -> float:
        """½/(f√n): two quartiles of variance 3/(16nf²) each, with a covariance of 1/(16nf²)."""
        return 0.5 / (self.density * math.sqrt(self.n))


@dataclass(frozen=True, kw_only=True)
class MixtureFormula(Formula):
    """Excess nats a row of a fitted Gaussian mixture: an order of magnitude.

    K components of weight 1/K in d columns, measured in their own coordinates (mean 0, covariance I, clipped to R² =
    the 0.99 quantile of χ²_d). One release of Σγ_k(a, b·y, c·yyᵀ), y = z/R, with noise of standard deviation s = Δ/μ
    costs a row

        (K/n)²·s²·(A/a² + B/b² + C/c²),    A = ½ + d/4,    B = d·R²/2,    C = R⁴·d(d + 1)/8.

    Derivation. Noise of variance x on a component's share, mean and covariance in its own coordinates costs, in KL
    divergence to second order: ½x for its relative weight, ½x a coordinate of the mean, ¼‖E‖² for the covariance I + E.
    The noise on a share, relative to n/K rows, has variance (K/n)²s²/a², and dividing the second moment by it scales
    the covariance, d/4 more. First moments come back times R, seconds times R²; packed, ‖E‖² has d + d(d − 1)/2
    variances. The mean over components of weight 1/K is that of one. A diagonal covariance has C = R⁴·d/4; a spherical
    one R⁴/(4d); a tied one is measured on all rows, C/K². The best weights have a² ∝ √A and so on, and give (√A + √B +
    √C)². Δ² is 1 under add-remove and 2 under replace-one.

    Several rounds share the budget, and later ones forget the earlier ones in part. Four rounds of one Gaussian, each
    1.5 times the one before, leave 0.42 of μ² to the last. Ten rounds pooled with weights t^(−0.6) leave 0.63 of what
    the mixture has, 0.9 of all at most. ``KEPT`` = 0.4 of μ² stands for both.

    **What it leaves out**: that components overlap and rows are shared between them (more error), that fits shrink what
    could be noise (less, where noise is large), where the fit starts, how many steps it takes, and whether a mixture
    fits.

    **Measured.** ``GaussianMixture`` on components eight standard deviations apart, of random covariances, in 14
    settings of 1 to 3 components, 2 to 10 columns, 2,000 to 50,000 rows, ε from 0.3 to 1 and predictions from 0.001 to
    0.04 nats: the median error of ten fits was between 0.37 and 1.13 of the prediction, sampling error included. So it
    is right within a factor of 3, and too high rather than too low. But from three components on about one fit in ten,
    and more where groups lie close, ends with two components in one group. That costs some tenths of a nat, whatever ε
    is, and is not in the formula.

    The floor is the sampling error of a maximum likelihood fit, (number of parameters)/(2n) (Wilks 1938).

    Parameters
    ----------
    components : int
        K.
    shape : str
        ``"full"``, ``"tied"``, ``"diag"`` or ``"spherical"``.
    """

    components: int = 1
    shape: str = "full"

    name: ClassVar[str] = "gaussian-mixture"
    measure: ClassVar[str] = "excess nats a row, an order of magnitude"
    needs_delta: ClassVar[bool] = True

    @property
    def _costs(self) -> tuple[float, float, float]:
        """A, B and C."""
        from scipy.special import chdtri

        d, squared = self.d, float(chdtri(self.d, 1.0 - LEVEL))
        numbers = {
            "full": d * (d + 1.0) / 8.0,
            "tied": d * (d + 1.0) / 8.0 / self.components**2,
            "diag": d / 4.0,
            "spherical": 0.25 / d,
        }
        return 0.5 + d / 4.0, d * squared / 2.0, squared**2 * numbers[self.shape]

    def noise(self, guarantee: Guarantee) -> float:
        """Return what the noise costs, in nats a row."""
        squared = 2.0 if guarantee.neighbors is Neighbors.REPLACE_ONE else 1.0
        weighted = sum(math.sqrt(cost) for cost in self._costs) ** 2
        budget = KEPT * normal_mu(guarantee.epsilon, guarantee.delta) ** 2
        return (self.components / self.n) ** 2 * squared * weighted / budget

    @property
    def parameters(self) -> int:
        """How many numbers a mixture has."""
        k, d = self.components, self.d
        each = {"full": d * (d + 1) // 2 * k, "tied": d * (d + 1) // 2, "diag": d * k, "spherical": k}[self.shape]
        return k - 1 + k * d + each

    @property
    def sampling_error(self) -> float:
        """Parameters over 2n."""
        return self.parameters / (2.0 * self.n)

    def error(self, guarantee: Guarantee) -> float:
        """Return the sum: nats are squares already."""
        return self.noise(guarantee) + self.floor
