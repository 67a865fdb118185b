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
        q, rows, reach = self.levels[place], max(float(self.rows[group, 0]), 1.0), float(self.reaches[place])
        scales, v = self.scales[group][place], float(self.values[group, place])
        down, up = v - float(self.below[group, place]), float(self.above[group, place]) - v
        spacing = max(abs(down + up) / (2.0 * reach), (most - least) / self.candidates)  # where rows are equal, a step
        if math.log((most - least) / spacing) + SURE > rows * min(q, 1.0 - q) / max(scales, default=0.0) or not scales:
            return least, most
        spread = self.clusters * rows * q * (1.0 - q) if population else 0.0
        factor = span_factor(scales, float(self.end_scales[place]), reach, spread, level)
        if down + up > FAR * (most - least):
            factor = max(factor, 1.0)
        if down < 0.0 and up < 0.0:
            return least, most
        if step is not None and factor > 1.0:
            down, up = (side if side < 0.0 else max(side, step) for side in (down, up))
        wider = max(factor, 1.0)
        low = v - (max(-down, up) * wider if down < 0.0 else down * (wider if down > LOPSIDED * up else factor))
        high = v + (max(-up, down) * wider if up < 0.0 else up * (wider if up > LOPSIDED * down else factor))
        return low, high


@lru_cache(maxsize=4096)
def span_factor(scales: tuple[float, ...], end_scale: float, reach: float, variance: float, level: float) -> float:
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

    Examples
    --------
    >>> round(span_factor((3.3,), 10.0, 45.0, 0.0, 0.95), 2)
    0.26
    """

    def misses(factor: float) -> bool:
        own = [abs(1.0 - factor) * scale for scale in scales] + [factor * end_scale]
        normal = math.sqrt(variance + reach * factor * abs(1.0 - factor))
        tail = laplace_normal_tail([one for one in own if one > 0.0], normal, factor * reach)
        return float(tail) > 1.0 - level

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
