"""Private means: of bounded columns, of columns with loose bounds, and trimmed means.

Rows of k columns are mapped into the unit ball, y, and Σ(a, b·y) is released: the number of rows (or their total
weight) with a share a² of the budget, and the sum with b² = 1 − a². Where the number of rows is public, a = 0. The
estimated mean, with true value m in units of the ball, has a variance ∝ 1/b² + m²/a². This is least at
a² = |m|/(1 + |m|), and the default of a quarter suits most columns.

**Intervals.** Let μ be the true mean of the rows, S̃ the released sum and Ñ the released count. Then S̃ − μÑ is noise of
a known distribution: the noise of the sum over b, minus μ times the noise of the count over a. The interval consists of
all μ for which

    P(|noise| ≥ |S̃ − μÑ|) ≥ 1 − level.

It holds the mean with probability ``level`` (Fieller 1954), however few rows there are. It is cut to the bounds, since
every mean lies within them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.arguments import ArgumentError
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import Loss
from discreet.noise import Bits, NoiseDistribution
from discreet.notebook import format_cell
from discreet.queries.adaptors import Within
from discreet.queries.moments.moments import Moments, Squares
from discreet.queries.question import Query
from discreet.queries.ranks.column_steps import Scale
from discreet.queries.ranks.quantile_queries import Quantiles, RankTarget
from discreet.records import Box
from discreet.scales import ColumnScale
from discreet.statistics.groups import By
from discreet.statistics.population import (
    check_population,
    each_interval,
    find_boundary,
    largest_clusters,
    mean_interval,
)
from discreet.statistics.request import ColumnRequest, Request, check_scale, statistic
from discreet.statistics.squared_deviations import variances_from_squares
from discreet.statistics.statistic import Statistic, to_own_units

Array = NDArray[np.float64]

COUNTED = 0.25  # a², the share of the budget for the count
RANGE = 0.25  # share of ε that finds a range where bounds are loose
MOST_CUT = 0.25  # largest rank from an end, as a share of the rows, at which that range is looked for
SQUARED, SQUARED_COUNTED = 1.0 / 9.0, 1.0 / 16.0  # share of the squares relative to the sum's, where they are measured
TRIMMING = 0.4  # share of ε for the two quantiles of a trimmed mean
GUESS = 1000  # rows, where their number is private; only accuracy depends on it


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


def _sums(release: Release) -> tuple[Array, Array | None, Array]:
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
    sums, counts, rows = _sums(release)
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
    sums, counts, rows = _sums(release)
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


@dataclass(frozen=True, kw_only=True)
class AnyMeanRequest(ColumnRequest[Mean]):
    """The common part of all requests for means.

    Attributes
    ----------
    population : bool
        Whether second moments are measured as well, for intervals about the population.
    """

    population: bool = False

    kind: ClassVar[type[Mean]] = Mean  # the class of the answers

    def moments(self, box: Box) -> Query:
        """Return the query for the means of rows clipped to a box; for the population, a box of one column."""
        counted = COUNTED if self.rows is None else 0.0
        if self.population:
            squared = (SQUARED_COUNTED if counted else SQUARED) * (1.0 - counted)
            return Squares(box, bool(counted), (counted or 1.0, 1.0 - counted, squared))
        return Moments(box, (counted, 1.0 - counted, 0.0))

    def quantile(self, place: int, column: ColumnScale, q: float) -> Quantiles:
        """Return the question for the q-quantile of a column."""
        scale = Scale(column.low, column.high)
        return Quantiles(self.curator.space, place, scale, (RankTarget(q, 0, 0, scale.count),), weights=self.weights)

    def answer(self, releases: list[Release], boxes: list[Box], cut: float = 0.0) -> Mean:
        """Return the means from the last releases, one release for each box, each mean clipped to its box."""
        means = []
        for release, box in zip(releases[-len(boxes) :], boxes, strict=True):
            sums, _, rows = _sums(release)
            means.append(np.clip(np.asarray(box.from_unit(sums / rows)), np.asarray(box.low), np.asarray(box.high)))
        return self.kind.from_values(np.concatenate(means, axis=1), self, releases, _boxes=tuple(boxes), _cut=cut)


class MeanRequest(AnyMeanRequest):
    """A request for means of columns, clipped to their declared bounds."""

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The loss of one question for all columns; for the population, of one for each column."""
        return self.additive_losses(1.0, len(self.places)) if self.population else super().losses

    def plan(self) -> Inquiry[Mean]:
        """Return one question for all columns; for the population, one for each column."""
        boxes, places = [self.box], [self.places]
        if self.population:
            boxes, places = [Box([one.low], [one.high]) for one in self.scales], [(place,) for place in self.places]
        queries = [self.query(self.moments(box), these) for box, these in zip(boxes, places, strict=True)]
        return self.make_inquiry(
            queries, lambda measure: self.answer([measure(query) for query in queries], boxes), "mean"
        )


class GeometricMeanRequest(MeanRequest):
    """A request for geometric means: of columns on a log scale, or of numbers with bounds above 0 taken as such."""

    kind: ClassVar[type[Mean]] = GeometricMean

    @classmethod
    def from_columns(cls, data: Any, columns: Any, *given: Any, **more: Any) -> Self:
        """Make a request whose columns are all on a log scale; raise where one cannot be."""
        result = super().from_columns(data, columns, *given, **more)
        curator = result.curator.on_log_scale([scale.name for scale in result.scales])
        scales = tuple(check_scale(curator, place) for place in result.places)
        return replace(result, curator=curator, scales=scales)


class LooseMeanRequest(AnyMeanRequest):
    """A request for means of columns with loose bounds: each column is clipped to a range between two quantiles.

    The declared bounds may be e^10 times as wide as the range of the rows. To the exponential mechanism all candidates
    beyond the outermost row have the same score. A quantile that is (ln n + 12)/η rows away from an end outweighs all
    of them together; so that rank is the target, but never more than a quarter of the rows. From the two quantiles the
    range is then widened to where a Gaussian with these quantiles has a tail of one row in n.
    """

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of two quantiles for each column, and of a sum for each column."""
        number = len(self.places)
        return (*self.selection_losses(RANGE, 2 * number), *self.additive_losses(1.0 - RANGE, number))

    @staticmethod
    def _share(rows: float, eta: float) -> float:
        """Return the rank of the class's proof, as a share of the rows."""
        return 2.0 * (math.log(rows) + 12.0) / (eta * rows)

    def plan(self) -> Inquiry[Mean]:
        """Return the quantiles, and sums over the declared bounds in place of the sums over the ranges to be found."""
        rows = float(max(self.curator.size.units or GUESS, 2))
        eta = self.selection_losses(RANGE, 2 * len(self.places))[0].epsilon
        share = min(max(self._share(rows, eta), 1.0 / rows), MOST_CUT)
        further = (ndtri(1.0 - 1.0 / rows) / ndtri(1.0 - share) - 1.0) / 2.0
        columns = list(zip(self.places, self.scales, strict=True))
        questions = [self.quantile(*column, q) for column in columns for q in (share, 1.0 - share)]

        def total(place: int, box: Box) -> Query:
            return self.query(self.moments(box), [place])

        def answer(measure: Measure) -> Mean:
            releases = [measure(question) for question in questions]
            values = [_read_quantile(question, release) for question, release in zip(questions, releases, strict=True)]
            boxes = []
            for (place, scale), *ends in zip(columns, values[::2], values[1::2], strict=True):
                least, most = min(ends), max(ends)
                wider = further * (most - least)
                boxes.append(_inner_box(max(scale.low, least - wider), min(scale.high, most + wider), scale))
                releases.append(measure(total(place, boxes[-1])))
            seen = max(float(_sums(releases[-1])[2].sum()), 2.0)  # public or released, of all groups
            return self.answer(releases, boxes, share if self._share(seen, eta) <= MOST_CUT else 1.0)

        whole = [total(place, Box([scale.low], [scale.high])) for place, scale in columns]
        return self.make_inquiry([*questions, *whole], answer, "mean")


@dataclass(frozen=True, kw_only=True)
class TrimmedMeanRequest(AnyMeanRequest):
    """A request for the mean of the rows between two quantiles."""

    trim: float

    argument: ClassVar[str] = "column"
    one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.trim, int | float) or not 0.0 < self.trim < 0.5:
            raise ArgumentError("trim", self.trim, "a share above 0 and below 1/2")

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of two quantiles, and of the sum between them."""
        return (*self.selection_losses(TRIMMING, 2), *self.additive_losses(1.0 - TRIMMING))

    def plan(self) -> Inquiry[Mean]:
        """Return both quantiles, and the sum over the declared bounds in place of the one between the quantiles."""
        (place,), (scale,) = self.places, self.scales
        questions = [self.quantile(place, scale, q) for q in (self.trim, 1.0 - self.trim)]

        def between(box: Box) -> Query:
            inner = self.query(Moments(box, (COUNTED, 1.0 - COUNTED, 0.0)))
            return Within(inner, place, float(np.asarray(box.low)[0]), float(np.asarray(box.high)[0]))

        def answer(measure: Measure) -> Mean:
            releases = [measure(question) for question in questions]
            values = [_read_quantile(question, release) for question, release in zip(questions, releases, strict=True)]
            box = _inner_box(min(values), max(values), scale)
            return self.answer([*releases, measure(between(box))], [box])

        return self.make_inquiry([*questions, between(self.box)], answer, "trimmed mean")


def _read_quantile(question: Quantiles, release: Release) -> float:
    """Return the released quantile as a value of the column."""
    return question.scale.value(float(release["numbers"][0, 0]))


def _inner_box(least: float, most: float, scale: ColumnScale) -> Box:
    """Return the box from ``least`` to ``most``; where they coincide, a narrow one around them within the bounds."""
    low, high = scale.low, scale.high
    room = max(1e-9 * (high - low), 4.0 * float(np.spacing(max(abs(low), abs(high)))))
    if not most - least > room:
        least, most = max(low, least - room), min(high, most + room)
    return Box([least], [most])


@statistic()
def mean(
    data: Any,
    columns: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    loose: bool = False,
    population: bool = False,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Mean]:
    """Return private means of columns.

    For a log column it is the geometric mean, exp(mean of logarithms), and the answer says so. For a column of dates
    ``value`` is in days since 1970-01-01, and the answer is shown as a date.

    Parameters
    ----------
    data : array, data frame, series, path of Parquet files, Dask collection, Records or Curator
    columns : str, int or list of them, optional
        Which columns, by name or number; all numeric ones by default.
    epsilon, delta : float
        The total cost. The noise is Laplace if δ = 0. Else it is the smaller one, which is Gaussian from about ten
        columns on, and always where a ledger records it.
    by : str or list of str, optional
        Declared columns of categories: a mean for each combination of their categories, in one release. Empty groups
        get an answer too; rows of a category that was not declared are in none.
    weights : str or int, optional
        A declared column of non-negative weights, for the mean Σwx/Σw.
    loose : bool
        Whether the bounds are much wider than the range of most rows. If so, a quarter of ε finds that range, each
        column is clipped to it (``bounds`` of the answer), and the remaining noise is relative to its width. For a
        column with a long tail the mean of the clipped rows is smaller than that of all rows; ``interval`` does not
        account for that, and ``notes`` of the answer say what was cut.
    population : bool
        Whether to measure the second moments as well, for ``interval(level, of="population")``. The noise of the mean
        grows: under replace-one by 2 % (Laplace) or not at all (Gaussian), where the number of rows is public; else by
        up to 16 % (Laplace) or 3 % (Gaussian). Several columns are measured one by one.
    bits : Bits, optional
        Seeded bits, for a test. **Not private.**
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Mean

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).normal(40.0, 10.0, 20_000)
    >>> result = statistics.mean(ages, epsilon=0.5, bounds=(0, 120))
    >>> round(result.value), result.interval(0.95)[0] < result.value
    (40, True)
    """
    if not isinstance(loose, bool):
        raise ArgumentError("loose", loose, "True or False")
    kind, measured = LooseMeanRequest if loose else MeanRequest, check_population(population)
    return kind.from_columns(data, columns, epsilon, delta, declared, bits, by, weights, population=measured)


@statistic()
def geometric_mean(
    data: Any,
    columns: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    population: bool = False,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[GeometricMean]:
    """Return private geometric means of columns, exp(mean of logarithms).

    Noise is added to the mean of the logarithms, so it is relative to the value, and wide bounds cost little.

    Parameters
    ----------
    data, columns, epsilon, delta, by, weights, population, bits
        As in ``mean``. Each column is declared on a log scale, or with bounds above 0.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    GeometricMean

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> costs = np.random.default_rng(0).lognormal(7.0, 1.0, 20_000)
    >>> 1050 < statistics.geometric_mean(costs, epsilon=1.0, bounds=(1, 1e6)).value < 1150
    True
    """
    result: Any = GeometricMeanRequest.from_columns(
        data, columns, epsilon, delta, declared, bits, by, weights, population=check_population(population)
    )
    return result  # type: ignore[no-any-return]


@statistic()
def trimmed_mean(
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    trim: float = 0.1,
    weights: str | int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Mean]:
    """Return the private trimmed mean of a column: the mean of the rows between two of its private quantiles.

    Two fifths of ε draw the ``trim`` and the 1 − ``trim`` quantile. The rest measures the mean of the rows between
    them, with noise proportional to their distance. So loose bounds and a few outliers cost little accuracy.

    Parameters
    ----------
    data, epsilon, delta, weights, bits
        As in ``mean``.
    column : str or int, optional
        Which column, where there are several.
    trim : float
        The share of rows to remove at each end, above 0 and below 1/2.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Mean
        Its ``bounds`` are the two quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> incomes = np.random.default_rng(0).lognormal(10.0, 0.5, 20_000)
    >>> result = statistics.trimmed_mean(incomes, epsilon=1.0, bounds=(0, 1e7))
    >>> 22_000 < result.value < 24_500
    True
    """
    return TrimmedMeanRequest.from_columns(data, column, epsilon, delta, declared, bits, weights=weights, trim=trim)
