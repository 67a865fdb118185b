"""Predicted errors of statistics made from moments: means, variances, covariances and principal axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.guarantees import Guarantee
from discreet.planning.formula import Formula
from discreet.queries.moments.moments import Moments, Squares
from discreet.queries.question import Query
from discreet.records import Box

COUNTED = 0.25  # a², the share of the budget for a count of rows


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

    def _relative_noise(self, query: Query, count: float, guarantee: Guarantee) -> float:
        """Return the noise on the number of rows over that number, ``count`` being the weight a of the count."""
        return self.noise_of(query, guarantee) / (count * self.total) if count else 0.0


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

    b has gone: under replace-one the sum pays nothing for the count beside it. (In groups, or with weights, it does: a
    row then comes to a group, or its weight grows, and the count moves too.)

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
        return self._relative_noise(self.query, math.sqrt(self.query.weights[0]), guarantee)

    def noise(self, guarantee: Guarantee) -> float:
        """Return the root mean square of the noise on a column's mean."""
        a2, b2, _ = self.query.weights
        second = 3.0 * self.count_noise(guarantee) ** 2
        squared = self._reach**2 / b2 * (1.0 + second)
        if a2:
            squared += self.offset**2 / a2 * (1.0 + (3.0 if guarantee.delta else 6.0) * second)
        return self.noise_of(self.query, guarantee) * math.sqrt(squared) / self.total

    @property
    def sampling_error(self) -> float:
        """The spread over √n."""
        return self.spread / math.sqrt(self.rows)


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
        return columns * self._relative_noise(self.query, self.query.amplitudes[0], guarantee)

    def noise(self, guarantee: Guarantee) -> float:
        """Return the standard deviation of a variance."""
        query, half = self.query, self.width / 2.0
        a, b, c = query.amplitudes
        m, v = self.offset / half, (self.spread / half) ** 2
        squared = 0.25 / c**2 + 4.0 * m * m / b**2
        if a:
            squared += (v - m * m - 0.5) ** 2 / a**2
        columns = math.sqrt(self.d) if guarantee.delta else float(self.d)
        return columns * self.noise_of(query, guarantee) * math.sqrt(squared) * half**2 / self.total

    @property
    def sampling_error(self) -> float:
        """That of normal rows, √(2/n)·spread²."""
        return math.sqrt(2.0 / self.rows) * self.spread**2


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
        return self._relative_noise(self.query, math.sqrt(self.query.weights[0]), guarantee)

    def noise(self, guarantee: Guarantee) -> float:
        """Return the root mean square of the noise over all entries."""
        a2, b2, c2 = self.query.weights
        m2, v = (self.offset / self._reach) ** 2, (self.spread / self._reach) ** 2
        on, off = 1.0 / c2 + 4.0 * m2 / b2, 0.5 / c2 + 2.0 * m2 / b2  # squared, on the diagonal and off it
        if a2:
            on, off = on + (v - m2) ** 2 / a2, off + m2 * m2 / a2
        scale = self.noise_of(self.query, guarantee) * self._reach**2 / self.total
        return scale * math.sqrt((on + (self.d - 1) * off) / self.d)

    @property
    def sampling_error(self) -> float:
        """That of independent normal columns: variances 2/n, the others 1/n, times spread⁴."""
        return math.sqrt((self.d + 1.0) / (self.d * self.rows)) * self.spread**2


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
        tau = self.noise_of(query, guarantee) * self._reach**2 / (self.n * math.sqrt(2.0 * query.weights[2]))
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
