"""Life tables from noisy counts: the curve, what the noise does to it, and what sampling does to it.

Public numbers only: everything here is post-processing of one release. Functions take any number of releases at once,
along leading axes, so that simulations are vectorised.

**The table.** A grid has edges e_0 < … < e_K. In interval k, which is (e_k, e_(k+1)], d_k rows have an event and c_k
are censored; c_K rows are still at risk after the last edge. n_k = Σ_(i≥k) (d_i + c_i) rows are at risk at e_k. The
probability to have the event in interval k, for those at risk, is q_k = d_k/r_k with r_k = n_k − c_k/2 rows exposed
(the actuarial estimate: who is censored within an interval is at risk for half of it), or r_k = n_k ("exact": all times
of an interval lie at its upper edge, so Kaplan and Meier's estimate). S(e_k) = Π_(j<k) (1 − q_j).

**The noise.** The released numbers are A·x + z for each series x of counts, with A the matrix of a public operator and
z independent noise. Least squares give x̂ (``Decoder``), and the sum of all counts is corrected where it is public. The
product over q̂_k is not clipped on the way: independent errors of q̂_k then cancel in the mean, where clipped ones add
up. Only the finished curve and the numbers at risk are made monotone, by the mean of the running minimum from the left
and the running maximum from the right. That is isotonic regression in the supremum norm: if the true curve is monotone,
the largest error of the result is at most that of the input (Ubhaya 1974).

**Variance of log S.** With h_j = q_j/((1 − q_j)·r_j) the derivative of log S(e_k) is

    by d_i:  Σ_(j≤i, j<k) h_j − [i < k]/((1 − q_i)·r_i),      by c_i:  Σ_(j≤i, j<k) h_j − [i < k]·h_i/2

(without the last term for "exact"). A linear function of x̂ is one of z, so its variance is known. The sampling of rows
adds Greenwood's Σ_(j<k) h_j. Both are evaluated at the monotone estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.arguments import probability
from discreet.noise import NoiseDistribution
from discreet.queries.series.operators import Operator

Array = NDArray[np.float64]

ENOUGH = 2.5  # standard deviations of the noise in a number at risk, below which the curve ends
LARGEST_HAZARD = 0.98  # of an interval, in variances, which are infinite at 1


def make_decreasing(values: Array, low: float, high: float) -> Array:
    """Return the decreasing sequence in [low, high], along the last axis, that is nearest in the supremum norm.

    >>> make_decreasing(np.array([1.2, 0.8, 0.9, 0.3]), 0.0, 1.0).round(2).tolist()
    [1.0, 0.85, 0.85, 0.3]
    """
    falling = np.minimum.accumulate(values, axis=-1)
    rising = np.flip(np.maximum.accumulate(np.flip(values, axis=-1), axis=-1), axis=-1)
    return np.clip(0.5 * (falling + rising), low, high)


@dataclass(frozen=True, eq=False)
class Decoder:
    """Least-squares estimates of the counts from released numbers.

    Attributes
    ----------
    operator : Operator
        What was released of each series, over K + 1 steps: the intervals, and the time after the last edge.
    noise : NoiseDistribution
    groups : int
    total : int or None
        The number of rows of all groups, where it is public.
    """

    operator: Operator
    noise: NoiseDistribution
    groups: int = 1
    total: int | None = None

    @cached_property
    def intervals(self) -> int:
        """K."""
        return self.operator.count - 1

    @cached_property
    def maps(self) -> tuple[Array, Array]:
        """From released numbers to events, shape (K, m), and to rows censored, shape (K + 1, m)."""
        matrix = self.operator.matrix
        return np.asarray(np.linalg.pinv(matrix[:, :-1]), np.float64), np.asarray(np.linalg.pinv(matrix), np.float64)

    @cached_property
    def shares(self) -> tuple[Array, Array]:
        """The covariances of events and of rows censored with the sum of all counts, over the noise's variance."""
        events, censored = self.maps
        return events @ events.sum(axis=0), censored @ censored.sum(axis=0)

    @cached_property
    def sum_variance(self) -> float:
        """The variance of the sum of all counts, over that of the noise."""
        return self.groups * float(sum(share.sum() for share in self.shares))

    @cached_property
    def risk_spread(self) -> Array:
        """The standard deviation of the noise in the number at risk at each edge, shape (K + 1,)."""
        events, censored = (np.flip(np.cumsum(np.flip(one, 0), 0), 0) for one in self.maps)
        events = np.vstack([events, np.zeros(events.shape[1])])
        variance = (events**2).sum(axis=1) + (censored**2).sum(axis=1)
        if self.total is not None:
            each, rest = self.shares
            shared = np.flip(np.cumsum(np.flip(np.append(each, 0.0) + rest)))
            variance = np.maximum(variance - shared**2 / self.sum_variance, 0.0)
        return np.asarray(np.sqrt(self.noise.variance * variance))

    def decode(self, released: Array) -> tuple[Array, Array]:
        """Return events, shape (…, groups, K), and rows censored, (…, groups, K + 1), from (…, groups, 2, m)."""
        events, censored = (released[..., i, :] @ one.T for i, one in enumerate(self.maps))
        if self.total is None:
            return events, censored
        missing = (self.total - events.sum(axis=(-2, -1)) - censored.sum(axis=(-2, -1))) / self.sum_variance
        each, rest = self.shares
        return events + missing[..., None, None] * each, censored + missing[..., None, None] * rest


@dataclass(frozen=True, eq=False)
class LifeTable:
    """A life table in each group, from one release or several along leading axes.

    Attributes
    ----------
    decoder : Decoder
    exact : bool
        Whether all times of an interval lie at its upper edge.
    events, censored : array of shape (…, groups, K) and (…, groups, K + 1)
        Unbiased estimates, so they may be negative and are not whole.
    """

    decoder: Decoder
    exact: bool
    events: Array
    censored: Array

    @classmethod
    def from_released(cls, released: Array, decoder: Decoder, *, exact: bool) -> LifeTable:
        """Return the table of released numbers of shape (…, groups, 2, m)."""
        return cls(decoder, exact, *decoder.decode(released))

    @cached_property
    def at_risk(self) -> Array:
        """The numbers at risk at the edges, shape (…, groups, K + 1): at least 0 and decreasing."""
        leaving = self.censored.copy()
        leaving[..., :-1] += self.events
        left = np.flip(np.cumsum(np.flip(leaving, -1), -1), -1)
        return make_decreasing(left, 0.0, np.inf)

    @cached_property
    def exposed(self) -> Array:
        """r_k, shape (…, groups, K), at least 1/2."""
        at_risk = self.at_risk[..., :-1]
        lost = 0.0 if self.exact else 0.5 * np.clip(self.censored[..., :-1], 0.0, at_risk)
        return np.maximum(at_risk - lost, 0.5)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether enough rows are at risk in an interval, and in all before it, shape (…, groups, K)."""
        least = np.maximum(ENOUGH * self.decoder.risk_spread[:-1], 1.0)
        return np.logical_and.accumulate(self.at_risk[..., :-1] >= least, axis=-1)

    @cached_property
    def product(self) -> Array:
        """Π (1 − q̂_j) at the edges, shape (…, groups, K + 1), which may rise; constant where nothing is known."""
        hazards = np.where(self.known, np.clip(self.events / self.exposed, -1.0, 1.0), 0.0)
        first = np.ones((*hazards.shape[:-1], 1))
        return np.cumprod(np.concatenate([first, 1.0 - hazards], axis=-1), axis=-1)

    @cached_property
    def survival(self) -> Array:
        """S at the edges, shape (…, groups, K + 1): 1 at the first, decreasing; constant where nothing is known."""
        curve = make_decreasing(self.product, 0.0, 1.0)
        curve[..., 0] = 1.0
        return curve

    @cached_property
    def hazards(self) -> Array:
        """q_k of the decreasing curve, at most ``LARGEST_HAZARD``, shape (…, groups, K)."""
        before = np.maximum(self.survival[..., :-1], 1e-12)
        return np.clip(1.0 - self.survival[..., 1:] / before, 0.0, LARGEST_HAZARD)

    @cached_property
    def _terms(self) -> Array:
        """h_k."""
        return self.hazards / ((1.0 - self.hazards) * self.exposed)

    @cached_property
    def greenwood(self) -> Array:
        """The variance of log S at e_1, …, e_K for rows that are a sample, without noise."""
        return np.cumsum(self._terms, axis=-1)

    @cached_property
    def loadings(self) -> tuple[Array, Array]:
        """How log S at e_1, …, e_K depends on the noise: on each released number, and on the sum of all counts.

        Shapes (…, groups, K, 2m) and (…, groups, K).
        """
        count = self.decoder.intervals
        summed, terms = self.greenwood, self._terms
        i, k = np.arange(count + 1)[None, :], np.arange(count)[:, None]
        inside = (i <= k)[:, :count]
        by_censored = summed[..., np.minimum(i, k)]
        direct = np.where(self.known, 1.0 / (self.exposed * (1.0 - self.hazards)), 0.0)  # no event counts beyond
        by_events = by_censored[..., :count] - inside * direct[..., None, :]
        if not self.exact:
            by_censored = by_censored.copy()
            by_censored[..., :count] -= 0.5 * inside * terms[..., None, :]
        (events, censored), (each, rest) = self.decoder.maps, self.decoder.shares
        numbers = np.concatenate([by_events @ events, by_censored @ censored], axis=-1)
        return numbers, by_events @ each + by_censored @ rest

    def noise_moments(self, numbers: Array, sums: Array) -> tuple[Array, Array]:
        """Return the variance and the excess kurtosis of a linear function of the noise, from its ``loadings``."""
        squares = (numbers**2).sum(axis=-1)
        variance = squares
        if self.decoder.total is not None:
            variance = np.maximum(squares - sums**2 / self.decoder.sum_variance, 0.0)
        peaked = 0.0 if self.decoder.noise.normal else 3.0
        kurtosis = peaked * (numbers**4).sum(axis=-1) / np.maximum(squares**2, 1e-300)
        return self.decoder.noise.variance * variance, np.asarray(kurtosis)

    def area_weights(self, edges: Array, until: float) -> tuple[float, Array]:
        """Return a constant and weights w so that the area under the curve up to a time is constant + Σ w_k·S(e_k).

        The curve is 1 up to e_0. It is linear between edges; a step at each edge where times are at upper edges.
        """
        ends = np.clip(edges, None, until)
        widths = np.diff(ends)
        weights = np.zeros(len(edges))
        if self.exact:
            weights[:-1] = widths
        else:  # S within an interval is linear, so up to a share p of it the ends have weights p − p²/2 and p²/2
            share = widths / np.diff(edges)
            weights[:-1] += np.diff(edges) * (share - 0.5 * share**2)
            weights[1:] += np.diff(edges) * 0.5 * share**2
        return float(min(edges[0], until)), weights

    def areas(self, edges: Array, until: float) -> Areas:
        """Return the areas under the curves up to a time."""
        constant, weights = self.area_weights(edges, until)
        value = np.clip(constant + (weights * self.product).sum(axis=-1), 0.0, until)
        parts = weights[1:] * self.survival[..., 1:]
        numbers, sums = self.loadings
        tails = np.flip(np.cumsum(np.flip(parts, -1), -1), -1)
        return Areas(
            value,
            (parts[..., None, :] @ numbers)[..., 0, :],
            (parts * sums).sum(axis=-1),
            (tails**2 * self._terms).sum(axis=-1),
            np.where(self.known, 0.0, parts).sum(axis=-1),
        )

    def curve_interval(self, level: float, *, population: bool) -> tuple[Array, Array]:
        """Return the ends of an interval for S at each edge, in the shape of ``survival``.

        It reaches S ± a multiple of S times the standard deviation of log S. For a population one event more is
        counted, as sampling has no variance where no event was seen. Where the curve is not known, the interval goes
        down to 0. Ends are made monotone by widening.
        """
        noise, kurtosis = self.noise_moments(*self.loadings)
        variance = noise
        if population:
            variance = noise + self.greenwood + 1.0 / (self.exposed * self.exposed[..., :1])
        curve = self.survival[..., 1:]
        half = curve * np.sqrt(variance) * normal_factor(level, kurtosis * (noise / np.maximum(variance, 1e-300)) ** 2)
        low = np.minimum.accumulate(np.where(self.known, np.maximum(curve - half, 0.0), 0.0), axis=-1)
        high = np.where(self.known, np.minimum(curve + half, 1.0), 0.0)
        high = np.flip(np.maximum.accumulate(np.flip(high, -1), axis=-1), -1)
        high = np.minimum.accumulate(np.where(self.known, high, 1.0), axis=-1)
        first = np.ones((*low.shape[:-1], 1))
        return np.concatenate([first, low], axis=-1), np.concatenate([first, high], axis=-1)

    def area_interval(self, edges: Array, until: float, level: float, *, population: bool) -> tuple[Array, Array]:
        """Return the ends of an interval for the area under each curve up to a time."""
        areas = self.areas(edges, until)
        half = self._half_width(areas, level, population=population)
        return np.maximum(areas.value - areas.unknown - half, 0.0), np.minimum(areas.value + half, until)

    def difference_interval(
        self, edges: Array, until: float, level: float, *, population: bool
    ) -> tuple[Array, Array, Array]:
        """Return the areas of all groups but the first less that of the first, and the ends of their intervals."""
        areas = self.areas(edges, until)
        numbers = np.concatenate(np.broadcast_arrays(areas.numbers[..., 1:, :], -areas.numbers[..., :1, :]), axis=-1)
        sums = areas.sums[..., 1:] - areas.sums[..., :1]
        value, sampled = areas.value[..., 1:] - areas.value[..., :1], areas.sampled[..., 1:] + areas.sampled[..., :1]
        half = self._half_width(Areas(value, numbers, sums, sampled, value), level, population=population)
        low, high = value - half - areas.unknown[..., 1:], value + half + areas.unknown[..., :1]
        return value, np.maximum(low, -until), np.minimum(high, until)

    def _half_width(self, areas: Areas, level: float, *, population: bool) -> Array:
        noise, kurtosis = self.noise_moments(areas.numbers, areas.sums)
        variance = noise + (areas.sampled if population else 0.0)
        factor = normal_factor(level, kurtosis * (noise / np.maximum(variance, 1e-300)) ** 2)
        return np.asarray(np.sqrt(variance) * factor)


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas under curves up to a time.

    Attributes
    ----------
    value : array of shape (…, groups)
    numbers, sums : arrays of shape (…, groups, 2m) and (…, groups)
        How they depend on the noise, as in ``LifeTable.loadings``.
    sampled : array of shape (…, groups)
        Their variance for rows that are a sample, without noise.
    unknown : array of shape (…, groups)
        The part of the area where the curve is not known.
    """

    value: Array
    numbers: Array
    sums: Array
    sampled: Array
    unknown: Array


def normal_factor(level: float, kurtosis: Any) -> Any:
    """Return how many standard deviations an interval reaches, by Cornish and Fisher's expansion.

    >>> round(float(normal_factor(0.95, 0.0)), 3), round(float(normal_factor(0.95, 3.0)), 3)  # 2.118 is that of Laplace
    (1.96, 2.166)
    """
    z = -float(ndtri((1.0 - probability("level", level)) / 2.0))
    return z + max(z**3 - 3.0 * z, 0.0) / 24.0 * np.asarray(kurtosis)
