"""The errors of variances, covariances and principal axes from one release of first and second moments.

**Variance.** The query is ``Squares``, for each column: Σ(a, b·y, c·(2y² − 1)), y = (x − middle)/h. With m the mean of
y and v its variance the estimate moves by (e₂/(2c) − 2m·e₁/b − (v − m² − 1/2)·e₀/a)/n for noises e of one law. Of d
columns each has ε/d where noise is Laplace, μ/√d where it is Gaussian.

Variances and covariances are predicted for ``method="one-shot"``, the default of ``discreet.statistics``. What rounds
(``method="adaptive"``) lose is not predicted: less where bounds are loose, more where rows fill them.

**Covariance and axes.** The query is ``Moments``: Σ(a, b·y, c·yyᵀ), y = (x − middle)/(h·√d), packed with √2 off the
diagonal. Its weights are those of a one-release covariance: c² : b² : a² = 1 : 1/√d : 1/(2d), without a where rows are
not counted (see ``means``). One noise of standard deviation s on each packed number is s/a on the count, s/b on a first
moment, s/c on a diagonal second moment and s/(c√2) off the diagonal.

C_ij = S_ij/N − m_i m_j with m = S/N. To first order it moves by

    (e_ij − m_i e_j − m_j e_i − (C_ij − m_i m_j)·e_N)/n:

S_ij/N gives −(C_ij + m_i m_j)e_N, and each of the two means in m_i m_j gives back m_i m_j e_N. Where all columns have
the same mean m, the variance v and no correlation, in coordinates y, the squared error over s²/n² is

    1/c² + 4m²/b² + (v − m²)²/a²    on the diagonal,    1/(2c²) + 2m²/b² + m⁴/a²    off it.

The data's units are (h√d)² times as large. ``Covariance`` is the root mean square over all d² entries: the Frobenius
norm over d.

**Where it ends.** All this is first order: (e_i/n)² and the square of r, the noise on the number of rows over it, are
left out. Of counted rows that fill their bounds evenly variances err by ½ % more than predicted at r = 0.02, 3 % at
0.05, 12 % at 0.1 and 28 % at 0.2. Answers are cut to what can be, no variance below 0. Where the noise is about as
large as the variance this matters more, and the prediction is too high. ``strain`` is r; a plan says where it is above
0.1. (Axes do not feel r: a matrix over another number of rows has the same ones.)

**Principal axes** (``Axes``). The noise on the second moment is symmetric Gaussian with τ = s/(c√2·n) off the diagonal.
An axis of variance λ, by g = λ − λ' above the next, turns to first order by angles of variance τ²/g² in each of the d −
k directions that are not kept, so it loses sin² = τ²(d − k)/g² of itself. For one spike above nothing that is the known
alignment cos² = 1 − τ²d/λ², and it cannot be seen at all beyond τ²d = λ²: the error is then 1. Noise on the mean enters
as m_i e_j and is left out. Against ``PCA(method="analyze-gauss")`` with one spike, three settings of 5 to 20 columns,
the mean of 40 fits was 0.84 to 1.31 of the prediction. ``method="adaptive"``, which ``"auto"`` often takes, lost 4 to
17 times less than predicted there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.guarantees import Guarantee
from discreet.planning.formulas.formula import noise_deviation
from discreet.planning.formulas.means import Bounded
from discreet.queries.moments.moments import Moments
from discreet.queries.moments.squares import Squares
from discreet.records import Box

__all__ = ["Axes", "Covariance", "Variance"]


@dataclass(frozen=True, kw_only=True)
class SecondMoments(Bounded):
    """What variances, covariances and axes share."""

    @property
    def query(self) -> Moments:
        """What is measured."""
        return self._moments(0.5 / self.d, 1.0 / math.sqrt(self.d), 1.0)

    def _squared(self, promise: Guarantee) -> tuple[float, float]:
        """Return the squared noise of a variance and of a covariance, in the data's units."""
        query = self.query
        a2, b2, c2 = query.weights
        m2 = (self.offset / self._reach) ** 2
        v = (self.spread / self._reach) ** 2
        on, off = 1.0 / c2 + 4.0 * m2 / b2, 0.5 / c2 + 2.0 * m2 / b2
        if a2:
            on, off = on + (v - m2) ** 2 / a2, off + m2 * m2 / a2
        scale = (noise_deviation(query.bound, promise) * self._reach**2 / self.n) ** 2
        return scale * on, scale * off


@dataclass(frozen=True, kw_only=True)
class Variance(Bounded):
    """The error of each column's variance, in the data's squared units.

    >>> round(Variance(n=10_000).noise(Guarantee(1.0)), 6)
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

    def strain(self, promise: Guarantee) -> float:
        """Return r, the noise on the number of rows over it."""
        columns = math.sqrt(self.d) if promise.delta else float(self.d)
        return columns * self._strain(self.query.bound, self.query.amplitudes[0], promise)

    def noise(self, promise: Guarantee) -> float:
        """Return the standard deviation of a variance."""
        query, half = self.query, self.width / 2.0
        a, b, c = query.amplitudes
        m, v = self.offset / half, (self.spread / half) ** 2
        squared = 0.25 / c**2 + 4.0 * m * m / b**2
        if a:
            squared += (v - m * m - 0.5) ** 2 / a**2
        columns = math.sqrt(self.d) if promise.delta else float(self.d)
        return columns * noise_deviation(query.bound, promise) * math.sqrt(squared) * half**2 / self.n

    @property
    def sampling_error(self) -> float:
        """That of normal rows, √(2/n)·spread²."""
        return math.sqrt(2.0 / self.n) * self.spread**2


@dataclass(frozen=True, kw_only=True)
class Covariance(SecondMoments):
    """The root mean squared error over the entries of the covariance, in the data's squared units."""

    name: ClassVar[str] = "covariance"
    measure: ClassVar[str] = (
        "root mean squared error over the entries of the covariance by method='one-shot', in the data's squared units"
    )

    def strain(self, promise: Guarantee) -> float:
        """Return r, the noise on the number of rows over it."""
        return self._strain(self.query.bound, math.sqrt(self.query.weights[0]), promise)

    def noise(self, promise: Guarantee) -> float:
        """Return the root mean square of the noise over all entries."""
        on, off = self._squared(promise)
        return math.sqrt((on + (self.d - 1) * off) / self.d)

    @property
    def sampling_error(self) -> float:
        """That of independent normal columns: variances 2/n, the others 1/n, times spread⁴."""
        return math.sqrt((self.d + 1.0) / (self.d * self.n)) * self.spread**2


@dataclass(frozen=True, kw_only=True)
class Axes(SecondMoments):
    """The share of the principal axes that is lost: the mean sin² of their angle to the true ones.

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
    gaussian: ClassVar[bool] = True

    def noise(self, promise: Guarantee) -> float:
        """Return τ²(d − k)/g², at most 1."""
        query = self.query
        tau = noise_deviation(query.bound, promise) * self._reach**2 / (self.n * math.sqrt(2.0 * query.weights[2]))
        ratio = (tau / self.gap) ** 2
        return 1.0 if ratio * self.d >= 1.0 else ratio * (self.d - self.components)

    @property
    def sampling_error(self) -> float:
        """That of normal rows around one spike: v(v + g)/(n·g²) a direction, v the variance of the rest."""
        rest = self.spread**2
        return min(rest * (rest + self.gap) * (self.d - self.components) / (self.n * self.gap**2), 1.0)

    def error(self, promise: Guarantee) -> float:
        """Return both shares together: sin² is a square already."""
        return min(self.noise(promise) + self.floor, 1.0)
