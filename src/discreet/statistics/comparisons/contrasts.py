"""Slopes of noisy means or rates, with tests and intervals that account for the noise and for sampling.

The difference of two means, a rank test, and a trend over time are one problem. In each of T groups, at a public
position τ_t, noisy sums of a few cells are known: c_t, shape (k,). They give the number of rows N_t = Σ_j c_tj and the
sum of scores S_t = Σ_j s_j·c_tj. The true means are on a line, m_t = α + βτ_t (for two groups every pair of means is).
For rates N_t is a public length of time.

**The statistic.** At the true means Z_t = S_t − m_t·N_t has mean 0: it is noise, Σ_j (s_j − m_t)·z_tj, and, for a
population, the sampling error of the rows. It has no quotient of noisy numbers, so this holds however few rows there
are (Fieller 1954). With variances V_t the score for β is

    U(β) = Σ_t w_t·Z_t,   w_t = n_t/V_t·(τ_t − τ̄),   τ̄ so that Σ_t w_t·n_t = 0,

with Z_t at the means α̂ + βτ_t. Here n_t is N_t less its regression on Z_t, so that the weights do not depend on the
noise in Z_t. Where there are four groups or more, n_t is shrunk towards the mean of all, and the variances of rows in
V_t are those of all groups together.

**Test and interval.** p(β) is the probability that noise and sampling error, with the weights as they are, give a
number of at least |U(β)|. It is found from a fixed number of draws with a fixed seed, so one release always gives one
p-value, of at least 1/(draws + 1). The test of "no difference" is p(0), and the interval has the β with
p(β) ≥ 1 − level. The two agree: where no β has that, the interval has all slopes of the sign of U(0). Means that enter
p(β) are estimated under β, and sampling variances about these means. The variance of a sum of n rows is at most n in
units of squared noise of size 1/ε², so a wrong estimate of it cannot matter where noise dominates. If N_1 and N_2 are
noise themselves, the fit of α̂ takes up more of it, and the test rejects less often than it may.
``benchmarks/bench_comparisons.py`` measures its level from 50 to 50,000 rows.

**Several rows of a person.** Rows of a person may be alike, in one group or in several. By Cauchy and Schwarz the
variance of Σ w·(x − m) over at most M rows of a person is at most M times the sum of the variances. So sampling
variances are multiplied by M, which holds whatever the dependence is, and there are at least N/M persons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import choice, probability
from discreet.noise import NoiseDistribution

Array = NDArray[np.float64]

DRAWS = 9_999  # public and fixed: a p-value is at least 1/10,000
SEED = 20_260_101  # of draws for post-processing, which are no secret
FAR = 1e100  # slopes beyond which nothing is told apart
SHRUNK = 4  # groups from which on the sizes in weights are shrunk
LEAST = 0.01  # share of the mean sampling variance of rates that each has in weights, at least
SOURCES = ("rows", "population")  # what an interval is about
BINARY = (0.0, 1.0)  # scores of a yes-or-no question


@lru_cache(maxsize=8)
def standard_draws(draws: int, size: int, normal: bool) -> tuple[Array, Array, Array]:
    """Return draws of noise of scale 1, of normal errors, and of normal numbers for the spread of a variance.

    >>> [part.shape for part in standard_draws(9, 4, False)]
    [(9, 4), (9,), (9,)]
    """
    rng = np.random.default_rng(SEED)
    errors, spreads = rng.standard_normal((2, draws))
    noise = rng.standard_normal((draws, 1)) if normal else rng.laplace(size=(draws, size))
    for part in (noise, errors, spreads):
        part.setflags(write=False)
    return noise, errors, spreads


@dataclass(frozen=True, eq=False)
class Contrast:
    """Noisy cells of groups on a line, which leading axes may repeat.

    Attributes
    ----------
    cells : array of shape (…, T, k)
    positions : array of shape (T,)
    scores, squares : arrays of shape (k,) or (…, k)
        The coefficients of Σ s and of Σ s² in the cells.
    noise : NoiseDistribution
        Of each cell.
    copies : int
        The largest number of rows of a person.
    exposure : array of shape (T,), or None
        For rates of events: the public length of each interval.
    draws : int
    """

    cells: Array
    positions: Array
    scores: Array
    squares: Array
    noise: NoiseDistribution
    copies: int = 1
    exposure: Array | None = None
    draws: int = DRAWS

    @property
    def sizes(self) -> Array:
        """N_t, shape (…, T)."""
        return self.cells.sum(axis=-1) if self.exposure is None else np.broadcast_to(self.exposure, self.totals.shape)

    @property
    def totals(self) -> Array:
        """S_t, shape (…, T)."""
        return np.asarray((self.cells * self.scores[..., None, :]).sum(axis=-1))

    @property
    def means(self) -> Array:
        """The mean of each group, within its range."""
        return self._within(self.totals / np.maximum(self.sizes, 1.0 if self.exposure is None else 0.0))

    @property
    def limit(self) -> float:
        """The largest possible slope."""
        return 1.0 / float(np.ptp(self.positions)) if self.exposure is None else math.inf

    @property
    def estimate(self) -> Array:
        """β with U(β) = 0, within its limits; for two groups the difference of ``means`` over that of positions.

        Where leading axes repeat the cells it is the first step of the search, from the weights at β = 0.
        """
        if len(self.positions) == 2:
            return np.asarray(np.diff(self.means)[..., 0] / np.diff(self.positions)[0])
        weights, _ = self._weights(np.zeros(()), sampled=True)
        slope = (weights * self.totals).sum(axis=-1)
        per_unit = (weights * self.positions * self.sizes).sum(axis=-1)
        found = np.where(per_unit > 0.0, slope / np.where(per_unit > 0.0, per_unit, 1.0), 0.0)
        found = np.clip(found, -self.limit, self.limit)
        return np.asarray(found if found.ndim else self._solve(float(found), sampled=True))

    def line(self, slope: float) -> Array:
        """Return the means of all groups on the line with a slope, within their range; without leading axes."""
        return self._weights(np.asarray(slope, dtype=np.float64), sampled=True)[1]

    def _solve(self, start: float, *, sampled: bool) -> float:
        """Return where U(β) turns from positive to negative, found by doubling a step and then by bisection.

        Means on a line may leave their range, and those that are moved back are on no line: U is not linear in β.
        """
        step, far = self._step_around(start), min(self.limit, FAR)
        if not 0.0 < step < math.inf:
            return start
        low = high = start
        while low > -far and self._score(low, sampled=sampled) < 0.0:
            low, step = max(low - step, -far), 2.0 * step
        while high < far and self._score(high, sampled=sampled) > 0.0:
            high, step = min(high + step, far), 2.0 * step
        for _ in range(50):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._score(middle, sampled=sampled) > 0.0 else (low, middle)
        return (low + high) / 2.0

    def _score(self, slope: float, *, sampled: bool) -> float:
        """Return U(β), for cells without leading axes."""
        weights, means = self._weights(np.asarray(slope), sampled=sampled)
        return float((weights * (self.totals - means * self.sizes)).sum())

    def _within(self, means: Array) -> Array:
        """Return means moved into their range."""
        return np.clip(means, 0.0, 1.0) if self.exposure is None else np.maximum(means, 0.0)

    def _coefficients(self, means: Array) -> Array:
        """Return the coefficients of the cells in Z_t, shape (…, T, k)."""
        if self.exposure is not None:
            return np.broadcast_to(self.scores, (*means.shape, self.cells.shape[-1]))
        return np.asarray(self.scores[..., None, :] - means[..., None])

    def _sampling(self, means: Array) -> Array:
        """Return the variance of the sum of each group's rows about its mean, shape (…, T)."""
        sizes = np.maximum(self.sizes, 0.0)
        if self.exposure is not None:
            return np.asarray(self.copies * means * sizes)
        if np.array_equal(self.scores, self.squares):
            return np.asarray(self.copies * sizes * means * (1.0 - means))
        squares = (self.cells * self.squares[..., None, :]).sum(axis=-1)
        about = squares - 2.0 * means * self.totals + means**2 * self.sizes
        return np.asarray(self.copies * np.clip(about, 0.0, sizes * np.maximum(means, 1.0 - means) ** 2))

    def _pooled(self, variances: Array) -> Array:
        """Return variances for weights: of several groups their total, shared out by size, as single ones are noisy.

        Those of rates are at least ``LEAST`` of their mean. A line that crosses 0 has intervals of time without events,
        which would else have all the weight where there is hardly any noise, and say nothing of the slope.
        """
        if self.exposure is not None:
            return np.asarray(np.maximum(variances, LEAST * variances.mean(axis=-1, keepdims=True)))
        if self.cells.shape[-2] < SHRUNK:
            return variances
        sizes = np.maximum(self.sizes, 0.0)
        total = sizes.sum(axis=-1, keepdims=True)
        shares = sizes / np.where(total > 0.0, total, 1.0)
        return np.asarray(variances.sum(axis=-1, keepdims=True) * shares)

    def _independent_sizes(self, means: Array, variances: Array) -> Array:
        """Return n_t: N_t less what noise in Z_t tells of it, shrunk towards their mean where there are several."""
        sizes = self.sizes
        if self.exposure is not None:
            return sizes
        groups, cells = self.cells.shape[-2:]
        coefficients = self._coefficients(means)
        common = self.noise.variance * coefficients.sum(axis=-1) / variances
        sizes = sizes - common * (self.totals - means * sizes)
        if groups < SHRUNK:
            return np.asarray(sizes)
        middle = sizes.mean(axis=-1, keepdims=True)
        spread = ((sizes - middle) ** 2).sum(axis=-1, keepdims=True)
        expected = (groups - 3) * cells * self.noise.variance
        kept = np.maximum(1.0 - expected / np.maximum(spread, expected), 0.0)
        return np.asarray(middle + kept * (sizes - middle))

    def _weights(self, slope: Array, *, sampled: bool) -> tuple[Array, Array]:
        """Return w_t, and the means under a slope; both of shape (…, T)."""
        positions, shift = self.positions, slope[..., None] * self.positions
        chosen = self.sizes
        rest, precision = self.totals - shift * self.sizes, np.ones(())
        for _ in range(3):
            weight = chosen * precision
            total = (weight * self.sizes).sum(axis=-1, keepdims=True)
            level = (weight * rest).sum(axis=-1, keepdims=True) / np.where(total > 0.0, total, np.inf)
            means = self._within(level + shift)
            variance = self.noise.variance * (self._coefficients(means) ** 2).sum(axis=-1)
            variance = variance + (self._pooled(self._sampling(means)) if sampled else 0.0)
            chosen, precision = self._independent_sizes(means, variance), 1.0 / variance
        weight = chosen * precision
        total = (weight * chosen).sum(axis=-1, keepdims=True)
        middle = (weight * chosen * positions).sum(axis=-1, keepdims=True) / np.where(total > 0.0, total, np.inf)
        return weight * (positions - middle), means

    def exceedance(self, slope: Any = 0.0, *, sampled: bool = True) -> Array:
        """Return p(β), of noise and sampling, or of noise alone; slopes broadcast with the leading axes."""
        slopes = np.asarray(slope, dtype=np.float64)
        weights, means = self._weights(slopes, sampled=sampled)
        score = (weights * (self.totals - means * self.sizes)).sum(axis=-1)
        each = weights[..., None] * self._coefficients(means) * self.noise.scale
        flat = each.reshape(*each.shape[:-2], -1)
        noise, errors, spreads = standard_draws(self.draws, flat.shape[-1], self.noise.normal)
        length = np.sqrt((flat**2).sum(axis=-1, keepdims=True))
        drawn = length * noise[:, 0] if self.noise.normal else flat @ noise.T
        if sampled:
            variances = weights**2 * self._sampling(means)
            drawn = drawn + np.sqrt(variances.sum(axis=-1, keepdims=True)) * self._student(variances, errors, spreads)
        beyond = np.abs(drawn) >= np.abs(score)[..., None] * (1.0 - 1e-12)
        return np.asarray((1.0 + beyond.sum(axis=-1)) / (1.0 + self.draws))

    def _student(self, variances: Array, errors: Array, spreads: Array) -> Array:
        """Return errors over the root of an estimated variance: those of Student's t, as in Welch's test (1947).

        χ²/ν is (1 − 2/(9ν) + z·√(2/(9ν)))³ for a normal z (Wilson and Hilferty 1931). Rates have a variance that
        follows from their mean. That of shares does too, but from a mean that is estimated.
        """
        if self.exposure is not None:
            return errors
        freedom = np.maximum(self.sizes / self.copies - 1.0, 1.0)
        total, shares = variances.sum(axis=-1), (variances**2 / freedom).sum(axis=-1)
        effective = np.where(shares > 0.0, total**2 / np.where(shares > 0.0, shares, 1.0), np.inf)[..., None]
        ratio = np.maximum(1.0 - 2.0 / (9.0 * effective) + spreads * np.sqrt(2.0 / (9.0 * effective)), 0.1) ** 3
        return np.asarray(errors / np.sqrt(ratio))

    def says_nothing(self, level: float) -> bool:
        """Return whether no p(β) is below 1 − level, as there are too few draws for it."""
        return 1.0 - level <= 1.0 / (1.0 + self.draws)

    def interval(self, level: float, of: str) -> tuple[float, float]:
        """Return the ends of the β with p(β) ≥ 1 − level around the estimate, for cells without leading axes."""
        outside, sampled = 1.0 - probability("level", level), choice("of", of, SOURCES) == "population"
        start = float(self.estimate)
        if self.says_nothing(level):
            return -self.limit, self.limit

        def accepts(slope: float) -> bool:
            return bool(self.exceedance(slope, sampled=sampled) >= outside)

        middle = start if accepts(start) else self._solve(start, sampled=sampled)
        if not accepts(middle):
            if not accepts(0.0):  # no slope fits; the test says its sign, and so does the interval
                positive = self._score(0.0, sampled=sampled) > 0.0
                return (self._least, self.limit) if positive else (-self.limit, -self._least)
            middle = 0.0
        return min(start, self._end(middle, -1.0, accepts)), max(start, self._end(middle, 1.0, accepts))

    def _end(self, start: float, sign: float, accepts: Any) -> float:
        """Return the end of the accepted slopes in one direction, found by doubling a step and then by bisection."""
        step, far = sign * self._step_around(start), min(self.limit, FAR)
        inside, out = start, start + step
        while abs(out) < far and accepts(out):
            inside, step = out, 2.0 * step
            out = start + step
        if abs(out) >= far:
            out = sign * far
            if accepts(out):
                return sign * self.limit
        for _ in range(30):
            middle = (inside + out) / 2.0
            inside, out = (middle, out) if accepts(middle) else (inside, middle)
        return out

    @property
    def _least(self) -> float:
        """The smallest slope that is told from 0."""
        return min(1e-12, self.limit)

    def _step_around(self, slope: float) -> float:
        """Return a standard error of the slope, to begin a search with."""
        weights, means = self._weights(np.asarray(slope), sampled=True)
        each = self.noise.variance * (self._coefficients(means) ** 2).sum(axis=-1) + self._sampling(means)
        per_unit = abs(float((weights * self.positions * self.sizes).sum()))
        error = math.sqrt(float((weights**2 * each).sum())) / per_unit if per_unit > 0.0 else math.inf
        return min(max(error, 1e-12), self.limit, FAR)
