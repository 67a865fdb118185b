"""Approximate intervals of quantiles, from three draws at known distances in rank.

Beside the value v, drawn at the rank q·n of the rows, two values x₋ and x₊ are drawn h rows below and above it. Around the
quantile let rows be about evenly spread. Then a draw of the exponential mechanism with weights e^(−η·|rank error|)
misses its rank by a Laplace variable of scale 1/η. Let R be that of v, and T that of x₊. The point v + λ(x₊ − v) has
the rank q·n + (1 − λ)R + λ(h + T), so it is above the quantile of the rows unless

    −((1 − λ)R + λT) > λh.

λ is chosen so that this has the probability (1 − level)/2; and likewise below, with x₋. So the spacing of the values
around v enters through x₋ and x₊, and the noise of these is accounted for: the smaller h is, the larger is λ. A value
that was drawn between earlier ones, in the tree of several quantiles, has also their errors, by its place between them:
R is then a sum of Laplace variables with known coefficients.

**For the population** the rank of its quantile among n rows is q·n plus a variable of variance n·q(1 − q), which is
added as a normal one. With persons of up to m rows it is m·n·q(1 − q) at most (``population``); weights in [0, 1] can
only make it smaller.

**Where rows are not evenly spread** the interval is approximate. If one of x₋ and x₊ is more than ``LOPSIDED`` times as
far from v as the other, there may be a gap on that side, and the interval reaches to that point itself. Where the column
has a step, the ends are rounded outwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.models.normal_tails import laplace_normal_tail

Array = NDArray[np.float64]

REACH = 1.5  # h in units of ln(1/(1 − level))/η
SAMPLING = 1.5  # least h in standard deviations of a sample's rank
LOPSIDED = 4.0
LARGEST = 100.0  # λ


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
    rows : array of shape (groups, 1), or None
        The number of rows, public or released; None where it is unknown.
    clusters : int
        The largest number of rows of a person.
    grid : (float, float, float or None)
        The bounds of the column, and its step.
    """

    values: Array
    below: Array
    above: Array
    levels: tuple[float, ...]
    scales: list[list[tuple[float, ...]]]
    end_scales: Array
    reaches: Array
    rows: Array | None
    clusters: int
    grid: tuple[float, float, float | None]

    def interval(self, level: float, *, population: bool) -> tuple[Array, Array]:
        """Return both ends for each quantile, of shape (groups, sorted levels)."""
        low, high = np.empty(self.values.shape), np.empty(self.values.shape)
        for group, place in np.ndindex(self.values.shape):
            q, spread = self.levels[place], 0.0
            if population:
                assert self.rows is not None
                spread = self.clusters * max(float(self.rows[group, 0]), 1.0) * q * (1.0 - q)
            scales, end = self.scales[group][place], float(self.end_scales[place])
            factor = span_factor(scales, end, float(self.reaches[place]), spread, level)
            v = float(self.values[group, place])
            down, up = v - float(self.below[group, place]), float(self.above[group, place]) - v
            low[group, place] = v - down * (max(factor, 1.0) if down > LOPSIDED * up else factor)
            high[group, place] = v + up * (max(factor, 1.0) if up > LOPSIDED * down else factor)
        least, most, step = self.grid
        if step is not None:
            low = least + step * np.floor((low - least) / step + 1e-9)
            high = least + step * np.ceil((high - least) / step - 1e-9)
        return np.clip(low, least, most), np.clip(high, least, most)


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
    0.22
    """

    def misses(factor: float) -> bool:
        own = [abs(1.0 - factor) * scale for scale in scales] + [factor * end_scale]
        tail = laplace_normal_tail([one for one in own if one > 0.0], variance**0.5, factor * reach)
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
