"""``Mean`` and ``GeometricMean``: answers that are means, with intervals.

Let μ be the true mean of the rows, S̃ the released sum and Ñ the released count, with shares b² and a² of the budget
(``means``). Then S̃ − μÑ is noise of a known distribution: the noise of the sum over b, minus μ times the noise of the
count over a. The interval consists of all μ for which

    P(|noise| ≥ |S̃ − μÑ|) ≥ 1 − level.

It holds the mean with probability ``level`` (Fieller 1954), however few rows there are. It is cut to the bounds, since
every mean lies within them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.door import Release
from discreet.noise import NoiseDistribution
from discreet.notebook import format_cell
from discreet.records import Box
from discreet.scales import ColumnScale
from discreet.statistics.population import each_interval, find_boundary, largest_clusters, mean_interval
from discreet.statistics.squared_deviations import variances_from_squares
from discreet.statistics.statistic import Statistic, to_own_units

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Mean(Statistic):
    """A private mean: the geometric mean of a log column, and days since 1970-01-01 for dates."""

    _boxes: tuple[Box, ...]  # the bounds of clipping, on the measured scale: one for each column, or one for all
    _cut: float = 0.0  # where bounds were loose: the share of rows that may lie beyond each end; 1 for any number

    _kind: ClassVar[str] = "location"
    _asked: ClassVar[str] = "mean"  # the function that measures the population too

    @property
    def bounds(self) -> tuple[Box, ...]:
        """The bounds to which rows were clipped: one box for each column, or one for all columns.

        They are the declared bounds or narrower ones, in the data's own units.
        """
        scales, own = list(self._scales), []
        for box in self._boxes:
            these, scales = scales[: box.dimension], scales[box.dimension :]
            own.append(Box(*(to_own_units(np.asarray(end), these) for end in (box.low, box.high))))
        return tuple(own)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which means noise has drowned; and what was cut where bounds were loose, by which public rule."""
        cut = zip(self._scales, self._boxes, strict=True) if self._cut else ()
        return (*super().notes, *(self._describe_cut(scale, box) for scale, box in cut))

    @property
    def _possible(self) -> tuple[Any, Any]:
        """The bounds to which rows were clipped."""
        least, most = (
            np.concatenate([np.asarray(getattr(box, end)) for box in self.bounds]) for end in ("low", "high")
        )
        return (float(least[0]), float(most[0])) if self.single else (least, most)

    def _describe_cut(self, scale: ColumnScale, box: Box) -> str:
        low, high = (float(np.asarray(end)[0]) for end in (box.low, box.high))
        first, last = (format_cell(scale.shown(float(scale.to_own(np.array(end))))) for end in (low, high))
        ends = [f"below {first}"] * (low > scale.low) + [f"above {last}"] * (high < scale.high)
        if not ends:
            return f"{scale.name}: nothing was cut within its declared bounds"
        if self._cut >= 1.0:
            return (
                f"{scale.name}: cut to [{first}, {last}], found with so much noise that it may miss most rows; write a "
                "larger epsilon, or narrower bounds"
            )
        return (
            f"{scale.name}: cut to [{first}, {last}], a range found with noise so that about {100.0 * self._cut:.2g} % "
            f"of the rows at most lie {', and as many '.join(ends)}; where a tail is long, the mean of all rows is "
            "farther out, and the interval does not account for that"
        )

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each mean of rows clipped to ``bounds`` that holds it with this probability.

        With ``of="rows"`` it is about the mean of these rows and accounts for the noise. With ``of="population"`` it is
        about that of the population from which they were sampled, and accounts for the sampling too; this needs
        ``mean(…, population=True)``. Neither accounts for clipping. The interval of a trimmed mean is for the mean of
        the rows within ``bounds``, the two quantiles as they were drawn. It does not account for the noise of these
        quantiles. For a geometric mean the ends are the exponentials of those for the mean of the logarithms. For dates
        they are days since 1970-01-01.
        """
        return super().interval(level, of)

    @property
    def interval_of(self) -> str:
        """What the intervals are about: the population where second moments were measured for it."""
        return "population" if "square" in self.release.parts else "rows"

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        return self._each_interval(_interval, level)

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        if self.interval_of == "rows":
            raise ArgumentError(
                "of",
                "population",
                "of='rows', since the releases have no second moment; ask again",
                write=f"{self._asked}(…, population=True)",
            )
        return self._each_interval(_population_interval, level)

    def _each_interval(
        self, interval: Callable[[Release, Box, float], tuple[Array, Array]], level: float
    ) -> tuple[Any, Any]:
        releases = self.releases[-len(self._boxes) :]
        ends = [interval(release, box, level) for release, box in zip(releases, self._boxes, strict=True)]
        lower, upper = (to_own_units(np.concatenate(side, axis=1), self._scales) for side in zip(*ends, strict=True))
        return self._shaped(lower), self._shaped(upper)

    @classmethod
    def _describe(cls, statistic: str, columns: Sequence[str], logs: Sequence[str]) -> str:
        """Describe the question, with "geometric mean" for columns on a log scale."""
        others = [name for name in columns if name not in logs]
        geometric = [f"{statistic.replace('mean', 'geometric mean')} of {', '.join(logs)}"] if logs else []
        plain = [super()._describe(statistic, others, ())] if others or not logs else []
        return " and ".join(plain + geometric)

    @property
    def _geometric(self) -> list[str]:
        """The columns whose mean is geometric."""
        return [scale.name for scale in self._scales if scale.kind == "log"]

    def _extra_cells(self, labels: dict[str, Any]) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        scale = self._scale_of(labels)
        if self._geometric:
            cells["statistic"] = "geometric mean" if scale is not None and scale.kind == "log" else "mean"
        if self._cut and scale is not None:
            box = self._boxes[self._scales.index(scale)]
            ends = (float(scale.to_own(np.asarray(end))[0]) for end in (box.low, box.high))
            cells |= zip(("cut_below", "cut_above"), map(scale.shown, ends), strict=True)
        return cells

    def _shown(self) -> str:
        shown, geometric = super()._shown(), self._geometric
        if not geometric:
            return shown
        if len(geometric) == len(self.columns):
            return f"geometric mean {shown}"
        return f"{shown}, of {', '.join(geometric)} the geometric mean"


class GeometricMean(Mean):
    """A private geometric mean."""

    _asked: ClassVar[str] = "geometric_mean"

    @classmethod
    def _describe(cls, statistic: str, columns: Sequence[str], logs: Sequence[str]) -> str:
        """Describe the question."""
        return f"{statistic} of {', '.join(columns)}"


def read_sums(release: Release) -> tuple[Array, Array | None, Array]:
    """Return S̃, the released Ñ (None where the count is public), and max(Ñ, 1), with axes for groups and columns."""
    first = release["first"]
    sums = first.reshape(-1, first.shape[-1])
    if "count" not in release.parts:
        assert release.size.rows is not None
        return sums, None, np.full((len(sums), 1), float(max(release.size.rows, 1)))
    counts = release["count"].reshape(len(sums), 1)
    return sums, counts, np.maximum(counts, 1.0)


def _interval(release: Release, box: Box, level: float) -> tuple[Array, Array]:
    """Return the ends of the interval for each group and column, as the module derives them."""
    sums, counts, rows = read_sums(release)
    noise, b = release.noise, release.parts["first"].weight
    assert noise is not None  # additive
    edge = 1.0 / math.sqrt(box.dimension)
    if counts is None:
        width = noise.half_width_of_sum([1.0 / b], level) / rows
        lower, upper = sums / rows - width, sums / rows + width
    else:
        a = release.parts["count"].weight
        lower, upper = np.empty(sums.shape), np.empty(sums.shape)
        for place in np.ndindex(sums.shape):
            total, count = float(sums[place]), float(counts[place[0], 0])
            lower[place], upper[place] = ratio_interval(noise, (a, b), total, count, level, edge=edge)
    return _from_unit(box, lower, edge), _from_unit(box, upper, edge)


def _from_unit(box: Box, values: Array, edge: float = 1.0) -> Array:
    """Return values of the unit ball in the units of a box; those at an edge, or beyond it, are the bounds exactly."""
    inside = np.asarray(box.from_unit(np.clip(values, -edge, edge)))
    return np.where(values <= -edge, np.asarray(box.low), np.where(values >= edge, np.asarray(box.high), inside))


def ratio_interval(
    noise: NoiseDistribution,
    weights: tuple[float, float],
    total: float,
    count: float,
    level: float,
    *,
    edge: float = 1.0,
    terms: int = 1,
) -> tuple[float, float]:
    """Return the ends of the interval for a mean between −edge and edge, as the module derives it.

    Parameters
    ----------
    noise : NoiseDistribution
    weights : (float, float)
        a and b.
    total, count : float
        S̃ and Ñ, each the sum of so many released numbers.
    level, edge : float
    terms : int
    """
    a, b = weights
    many, factor = (1, math.sqrt(terms)) if noise.normal else (terms, 1.0)

    def tail(mu: float) -> float:
        coefficients = [factor / b] * many + [factor * mu / a] * many
        return noise.tail(coefficients, abs(total - mu * count))

    start = float(np.clip(total / max(count, 1.0), -edge, edge))  # the value, which the interval always holds
    return find_boundary(start, -edge, tail, 1.0 - level), find_boundary(start, edge, tail, 1.0 - level)


def _population_interval(release: Release, box: Box, level: float) -> tuple[Array, Array]:
    """Return the ends of the interval for the population (``population``), for each group; of a single column."""
    sums, counts, rows = read_sums(release)
    noise, clusters = release.noise, largest_clusters(release.declared)
    assert noise is not None  # additive
    a = math.inf if counts is None else release.parts["count"].weight
    variances, coefficients = variances_from_squares(release)
    stds = math.sqrt(noise.variance) * np.sqrt((coefficients**2).sum(axis=-1))

    def interval(place: tuple[int, ...]) -> tuple[float, float]:
        count = float((rows if counts is None else counts)[place[0], 0])
        variance = float(variances[place]), float(stds[place])
        weights = a, release.parts["first"].weight
        return mean_interval(noise, weights, float(sums[place]), count, variance, clusters, level)

    low, high = each_interval(sums, interval)
    return _from_unit(box, low), _from_unit(box, high)
