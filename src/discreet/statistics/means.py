"""Private means: of bounded columns, of columns with loose bounds, and trimmed means.

Rows of k columns are mapped into the unit ball, y, and Σ(a, b·y) is released: the number of rows (or their total
weight) with a share a² of the budget, and the sum with b² = 1 − a². Where the number of rows is public, a = 0. The
estimated mean, with true value m in units of the ball, has a variance ∝ 1/b² + m²/a². This is least at
a² = |m|/(1 + |m|), and the default of a quarter suits most columns.

The intervals are those of ``mean_answers``.
"""

from __future__ import annotations

import math
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
from discreet.noise import Bits
from discreet.queries.adaptors import Within
from discreet.queries.moments.moments import Moments, Squares
from discreet.queries.question import Query
from discreet.queries.ranks.column_steps import Scale
from discreet.queries.ranks.quantile_queries import Quantiles, RankTarget
from discreet.records import Box
from discreet.scales import ColumnScale
from discreet.statistics.groups import By
from discreet.statistics.mean_answers import GeometricMean, Mean, read_sums
from discreet.statistics.population import check_population
from discreet.statistics.request import ColumnRequest, Request, check_scale, statistic

Array = NDArray[np.float64]

COUNTED = 0.25  # a², the share of the budget for the count
RANGE = 0.25  # share of ε that finds a range where bounds are loose
MOST_CUT = 0.25  # largest rank from an end, as a share of the rows, at which that range is looked for
SQUARED, SQUARED_COUNTED = 1.0 / 9.0, 1.0 / 16.0  # share of the squares relative to the sum's, where they are measured
TRIMMING = 0.4  # share of ε for the two quantiles of a trimmed mean
GUESS = 1000  # rows, where their number is private; only accuracy depends on it


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
            sums, _, rows = read_sums(release)
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
            seen = max(float(read_sums(releases[-1])[2].sum()), 2.0)  # public or released, of all groups
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
