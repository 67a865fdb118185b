"""Approximate intervals of quantiles, from three draws at known distances in rank.

Beside the value v, drawn at the rank q·n of the rows, two values x₋ and x₊ are drawn h rows below and above it. Around
the quantile let rows be about evenly spread. Then a draw of the exponential mechanism with weights e^(−η·|rank error|)
misses its rank by a Laplace variable of scale 1/η. Let R be that of v, and T that of x₊. The point v + λ(x₊ − v) has
the rank q·n + (1 − λ)R + λ(h + T), so it is above the quantile of the rows unless

    −((1 − λ)R + λT) > λh.

λ is chosen so that this has the probability (1 − level)/2; and likewise below, with x₋. So the spacing of the values
around v enters through x₋ and x₊, and the noise of these is accounted for: the smaller h is, the larger is λ. A value
that was drawn between earlier ones, in the tree of several quantiles, has also their errors, by its place between them:
R is then a sum of Laplace variables with known coefficients. Of the h rows between v and x₊ not exactly λh lie below
that point, but a binomial number; its variance h·λ·|1 − λ| is added, as that of a normal variable.

**Ranks are whole numbers.** A draw lies anywhere between two neighbouring rows, in the middle on average. Let the i-th
row have the rank i − ½. Then the quantile of the rows is not one rank q·n, but all from ⌈q·n⌉ − ½ to ⌊q·n⌋ + ½, and an
interval holds it if it has one of them. So where the number of rows is public, λh above is λh + q·n − ⌈q·n⌉ + ½, and
likewise below. For the median of an even number of rows that is half a row more on either side, which counts where
noise is a few rows; for that of an odd number it is nothing.

**For the population** the rank of its quantile among n rows is q·n plus a variable of variance n·q(1 − q), which is
added as a normal one. With persons of up to m rows it is m·n·q(1 − q) at most (``population``); weights in [0, 1] can
only make it smaller.

**Where rows are not evenly spread** the interval is approximate. If one of x₋ and x₊ is more than ``LOPSIDED`` times
as far from v as the other, there may be a gap on that side, and the interval reaches to that point itself. So it does
on both sides if they are apart by more than a share ``FAR`` of the bounds.

**Where the column has a step**, many rows have equal values, and the ends are rounded outwards. For λ ≤ 1 that is
enough: x₊ itself has the rank q·n + h + T at least. For λ > 1 the interval reaches beyond x₊, to rows of which the
draws say nothing. If x₊ = v, all rows between these ranks have the value v, and λ·0 would stay there. So the distance
of x₊ from v counts as one step at least, as if the rows up to x₊ were those of the value v.

**Where no step was declared, and a count of multiples found one** (``rounding``), draws fall anywhere between two
multiples, and nothing is known of where: draws between the same two count as equal, and the ends go outwards to
multiples. Otherwise it is as with a declared step.

**Where rows are too few** for ε and for the width of the bounds, the mechanism draws anywhere: between the outermost
row and a bound there are so many candidates that together they outweigh those near the quantile. A rank error of all
rows on one side, n·min(q, 1 − q), has a weight of e^(−η·n·min(q, 1 − q)) for each candidate, and there are
(high − low)/s times as many such candidates as in the space s of one row near the quantile, of which (x₊ − x₋)/(2h) is
an estimate. Unless the product of the two is below e^(−``SURE``), the interval consists of the bounds. If x₋ or x₊ is
on the wrong side of v, by chance or for this reason, the larger of both distances takes its place, and the interval
reaches as far as that; if both are, it consists of the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.models.normal_tails import laplace_normal_tail

Array = NDArray[np.float64]

REACH = 1.5  # h in units of ln(1/(1 − level))/η
SAMPLING = 1.5  # least h in standard deviations of a sample's rank
LOPSIDED = 4.0
FAR = 0.25
LARGEST = 100.0  # λ
SURE = 4.0
CLOSE = 0.03
SAME = 1e-5  # of a step: the candidates are that close
SMALLEST = 1e-300  # instead of 0, of which there is no logarithm


@dataclass(frozen=True, eq=False)
class QuantileSpans:
    """Draws from which intervals of quantiles follow, each of shape (groups, sorted levels), on the measured scale.

    Attributes
    ----------
    values, below, above : arrays
        v, x₋ and x₊.
    levels : tuple of float
        q of each, sorted.
    scales : list of lists of tuples of float
        The scales of the Laplace variables of which R is the sum, for each group and level.
    end_scales, reaches : arrays of shape (levels,)
        The scale of T, and h.
    rows : array of shape (groups, 1)
        The number of rows, public or released.
    clusters : int
        The largest number of rows of a person.
    grid : (float, float, float or None)
        The bounds of the column, and its step.
    candidates : int
        How many values could be drawn.
    rounding : float or None
        The step that a count of multiples found, in the column's own units.
    log : bool
        Whether the column has logarithms.
    exact : bool
        Whether ``rows`` is the number of rows itself, none of which has a weight.
    """

    values: Array
    below: Array
    above: Array
    levels: tuple[float, ...]
    scales: list[list[tuple[float, ...]]]
    end_scales: Array
    reaches: Array
    rows: Array
    clusters: int
    grid: tuple[float, float, float | None]
    candidates: int
    rounding: float | None = None
    log: bool = False
    exact: bool = False

    def interval(self, level: float, *, population: bool) -> tuple[Array, Array]:
        """Return both ends for each quantile, of shape (groups, sorted levels)."""
        low, high = np.empty(self.values.shape), np.empty(self.values.shape)
        for group, place in np.ndindex(self.values.shape):
            low[group, place], high[group, place] = self._one(group, place, level, population)
        least, most, step = self.grid
        if step is not None:
            low = least + step * np.floor((low - least) / step + 1e-9)
            high = least + step * np.ceil((high - least) / step - 1e-9)
        return np.clip(low, least, most), np.clip(high, least, most)

    def _one(self, group: int, place: int, level: float, population: bool) -> tuple[float, float]:
        """Return both ends for one quantile, before they are rounded."""
        least, most, step = self.grid
        rounding = self._rounding(group, place)
        q, rows, reach = self.levels[place], max(float(self.rows[group, 0]), 1.0), float(self.reaches[place])
        scales, v = self.scales[group][place], float(self.values[group, place])
        down, up = v - float(self.below[group, place]), float(self.above[group, place]) - v
        if rounding is not None:
            down = max(down, 0.0) if v - down <= rounding.after(v) else down
            up = max(up, 0.0) if v + up >= rounding.before(v) else up
        spacing = max(abs(down + up) / (2.0 * reach), (most - least) / self.candidates)  # where rows are equal, a step
        if math.log((most - least) / spacing) + SURE > rows * min(q, 1.0 - q) / max(scales, default=0.0) or not scales:
            return least, most
        if down < 0.0 and up < 0.0:
            return least, most
        spread = self.clusters * rows * q * (1.0 - q) if population else 0.0
        whole = self.exact and not population and step is None and rounding is None
        slacks = rank_slacks(q * rows) if whole else (0.0, 0.0)
        factors = [span_factor(scales, float(self.end_scales[place]), reach, spread, level, one) for one in slacks]
        if down + up > FAR * (most - least):
            factors = [max(factor, 1.0) for factor in factors]
        if max(factors) > 1.0:
            steps = (step or 0.0, step or 0.0) if rounding is None else rounding.steps_from(v)
            down, up = (side if side < 0.0 else max(side, one) for side, one in zip((down, up), steps, strict=True))
        low, high = v - _distance(factors[0], down, up), v + _distance(factors[1], up, down)
        return (low, high) if rounding is None else (rounding.before(low), rounding.after(high))

    def _rounding(self, group: int, place: int) -> Multiples | None:
        """Return the multiples that were found, unless the draws of a quantile are too close to each other for them.

        Between two multiples draws fall anywhere. It is unlikely that they are within a share ``CLOSE`` of a step.
        """
        if self.rounding is None:
            return None
        result = Multiples(self.rounding, self.log)
        draws = [float(one[group, place]) for one in (self.below, self.values, self.above)]
        apart = max(draws) - min(draws)
        between = [one for one in draws if one not in result]
        return None if any(apart < CLOSE * (result.after(one) - result.before(one)) for one in between) else result


@dataclass(frozen=True)
class Multiples:
    """The multiples of a step, on the measured scale.

    Parameters
    ----------
    step : float
        In the column's own units.
    log : bool
        Whether the column has logarithms.

    Examples
    --------
    >>> whole = Multiples(1.0)
    >>> whole.before(2.3), whole.after(2.3), whole.after(3.0000001), whole.steps_from(2.3)
    (2.0, 3.0, 3.0, (1.0, 1.0))
    """

    step: float
    log: bool = False

    def __contains__(self, value: float) -> bool:
        """Return whether a value is a multiple."""
        return self._times(value).is_integer()

    def before(self, value: float) -> float:
        """Return the value itself where it is a multiple, else the next one below."""
        found = self._value(float(math.floor(self._times(value))))
        return found - self._roundoff(found)

    def after(self, value: float) -> float:
        """Return the value itself where it is a multiple, else the next one above."""
        found = self._value(float(math.ceil(self._times(value))))
        return found + self._roundoff(found)

    def steps_from(self, value: float) -> tuple[float, float]:
        """Return how far one step down and one step up are."""
        times = self._times(value)
        return value - self._value(times - 1.0), self._value(times + 1.0) - value

    def _times(self, value: float) -> float:
        times = (math.exp(value) if self.log else value) / self.step
        return float(round(times)) if abs(times - round(times)) < SAME else times

    def _roundoff(self, value: float) -> float:
        """Return how far off the exponential of a logarithm may be."""
        return 2.0**-51 * max(abs(value), 1.0) if self.log else 0.0

    def _value(self, times: float) -> float:
        own = times * self.step if self.step >= 1.0 else times / round(1.0 / self.step)  # 3/10 is 0.3, and 3·0.1 is not
        return math.log(max(own, SMALLEST)) if self.log else own


def _distance(factor: float, side: float, other: float) -> float:
    """Return how far an end is from v, from the distances of x₋ and x₊: that on its own side, and the other."""
    if side < 0.0:
        return max(-side, other) * max(factor, 1.0)
    return side * (max(factor, 1.0) if side > LOPSIDED * other else factor)


def rank_slacks(place: float) -> tuple[float, float]:
    """Return by how many rows an interval below and above may miss the rank q·n and hold the quantile all the same.

    >>> rank_slacks(100.0), rank_slacks(100.5), [round(one, 2) for one in rank_slacks(90.9)]
    ((0.5, 0.5), (0.0, 0.0), [-0.4, 0.4])
    """
    place = float(round(place)) if abs(place - round(place)) < 1e-9 * max(place, 1.0) else place  # 0.9·10 is 9
    return math.floor(place) + 0.5 - place, place - math.ceil(place) + 0.5


@lru_cache(maxsize=4096)
def span_factor(
    scales: tuple[float, ...], end_scale: float, reach: float, variance: float, level: float, slack: float = 0.0
) -> float:
    """Return λ of the module.

    Parameters
    ----------
    scales : tuple of float
        Those of the Laplace variables of which R is the sum.
    end_scale, reach : float
        The scale of T, and h.
    variance : float
        That of the rank by sampling; 0 for the quantile of the rows.
    level : float
    slack : float
        By how many rows the interval may miss its rank.

    Examples
    --------
    >>> round(span_factor((3.3,), 10.0, 45.0, 0.0, 0.95), 2)
    0.26
    """

    def misses(factor: float) -> bool:
        own = [scale for scale in (*(abs(1.0 - factor) * one for one in scales), factor * end_scale) if scale > 0.0]
        normal = math.sqrt(variance + reach * factor * abs(1.0 - factor))
        beyond = factor * reach + slack
        return beyond < 0.0 or float(laplace_normal_tail(own, normal, beyond)) > 1.0 - level

    if misses(LARGEST):
        return LARGEST
    low, high = 0.0, LARGEST
    while high > 1e-6 and not misses(high / 2.0):  # so that it is the smallest solution
        high /= 2.0
    low = high / 2.0
    for _ in range(30):
        middle = (low + high) / 2.0
        low, high = (middle, high) if misses(middle) else (low, middle)
    return high
