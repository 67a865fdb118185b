"""Private trends: the slope of counts, of means or of shares over calendar bins, or over bins of a number.

One release has the counts of all bins, or for means the cells of ``queries.moments.bernstein`` in each bin, with the
whole budget. ``contrasts`` has the test and the intervals: the bins are its groups, at the middles of the bins.

Counts are taken as rates over the public lengths of the bins, of events whose number in a bin has the variance of its
mean (Poisson), times ``max_rows`` where a person has several rows. Seasons and events that come in waves vary more than
that, and make the test reject too often; means over time do not have this problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.plots import Plot, TrendLines
from discreet.queries.counts.count_queries import Bins
from discreet.queries.counts.table_queries import Binned
from discreet.scales import ColumnScale, place_of
from discreet.statistics.comparisons.contrasts import Contrast
from discreet.statistics.comparisons.group_comparison import GroupComparison, name_strata
from discreet.statistics.comparisons.measured import Measured
from discreet.statistics.counted_columns import bin_edges, name_column
from discreet.statistics.groups import By, Groups, ask_groups
from discreet.statistics.request import Request, check_scale, statistic
from discreet.statistics.statistic import group_facts
from discreet.statistics.statistic_plots import interval_text, label_text

Array = NDArray[np.float64]

DAYS = {"day": 1.0, "week": 7.0, "month": 365.2425 / 12.0, "quarter": 365.2425 / 4.0, "year": 365.2425}
MOST_BINS = 1000
MOST_PANELS = 12  # groups in a plot of lines


@dataclass(frozen=True, eq=False, repr=False)
class Trend(GroupComparison):
    """A private slope.

    Attributes
    ----------
    value : float or array
        How much the mean, the share or the rate changes in one unit of time (``per``), or of the column ``over``.
        A rate is a number of rows in one such unit. With groups (``by``), one for each of them.
    p_value : float or array
        Of a two-sided test that the population has no trend. It accounts for sampling and for the noise. Rows of one
        person may depend on each other in any way; see ``discreet.statistics.comparisons.contrasts``. Persons must be
        independent, and counts must not come in waves.
    over : str
        The column of dates or numbers.
    per : str
        "year", "quarter", "month", "week" or "day"; empty where ``over`` has numbers.
    labels : tuple or None
        The calendar bins: "2023-01".
    edges : array
        The edges of the bins; for dates the days since 1970-01-01 on which bins begin, and the day after the last one.
    levels : array of shape (bins,) or (groups, bins)
        The mean, share or rate in each bin, as released and within its bounds.
    of : object
        The category whose share it is; None for means and counts.
    low, width : float
        The lower bound of the column and the width of its bounds; 0 and 1 for shares and counts.
    contrasts : tuple of Contrast
        The released cells of the bins of each group.
    """

    over: str
    per: str
    labels: tuple[str, ...] | None
    edges: Array
    levels: Array
    of: Any
    low: float
    width: float

    _kind: ClassVar[str] = "spread"

    @property
    def _asked_columns(self) -> set[str]:
        return super()._asked_columns | {self.over}

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each slope that holds it with about this probability.

        Parameters
        ----------
        level : float
        of : str
            "rows" accounts for the noise alone, if the bins of these rows were on a line. "population" accounts for
            sampling too, and holds 0 if and only if ``p_value`` is at least 1 − level.
        """
        return super().interval(level, of)

    @property
    def _possible(self) -> tuple[float, float] | None:
        """Both signs of the largest slope, from one bound to the other; rates have none."""
        most = self.contrasts[0].limit * self.width
        return (-most, most) if np.isfinite(most) else None

    def _ends(self, contrast: Contrast, level: float, of: str) -> tuple[float, float]:
        low, high = contrast.interval(level, of)
        return low * self.width, high * self.width

    def _compared_cells(self) -> dict[str, Any]:
        return {"per": self.per or self.over}

    def _plot(self, level: float, of: str) -> Plot:
        """Return the released numbers of the bins with the line of the trend; of many groups the slopes alone."""
        if len(self.contrasts) > MOST_PANELS:
            return super()._plot(level, of)
        per, name = self.per or f"unit of {self.over}", self.columns[0]
        shares = f"share of {self.of} in {name}" if self.of is not None else f"mean of {name}"
        ends = [np.atleast_1d(end) for end in self.interval(level, of)]
        lines, low, high, slopes = [], [], [], []
        for place, contrast in enumerate(self.contrasts):
            slope, *sides = (float(np.atleast_1d(one)[place]) for one in (self.value, *ends))
            band = [self._line(contrast, side) for side in sides]
            lines.append(self._line(contrast, slope))
            low.append(np.minimum(*band))
            high.append(np.maximum(*band))
            slopes.append(f"a change of {slope:.4g} (from {sides[0]:.4g} to {sides[1]:.4g}) a {per}")
        dated = self.labels is not None
        texts = self.labels if self.labels is not None else [f"{a:g} to {b:g}" for a, b in pairwise(self.edges)]
        plot = TrendLines(
            np.atleast_2d(self.levels),
            np.stack(lines),
            np.stack(low),
            np.stack(high),
            texts,
            self.edges,
            [""] if self.groups is None else [label_text(label) for label in self.groups],
            self.over,
            shares if name != "rows" else f"rows a {per}",
            slopes,
            interval=interval_text(level, of),
        )
        return plot.with_dates([self.over] if dated else [])

    def _line(self, contrast: Contrast, slope: float) -> Array:
        """Return the line with a slope at the middles of the bins; NaN where the slope is not finite."""
        if not np.isfinite(slope):
            return np.full(len(self.edges) - 1, np.nan)
        return self.low + self.width * contrast.line(slope / self.width)

    @property
    def _axis_label(self) -> str:
        return f"change of {self.columns[0]} a {self.per or f'unit of {self.over}'}"

    def _shown(self) -> str:
        return f"{super()._shown()} a {self.per or f'unit of {self.over}'}, {self._describe_p_values()}"


@dataclass(frozen=True, kw_only=True)
class TrendRequest(Request[Trend]):
    """A request for a trend.

    Attributes
    ----------
    measured : Measured or None
        None for counts.
    over : ColumnScale
    place : int
        The index of that column.
    labels : tuple or None
    edges : array
        In the units of the measured scale.
    per : str
    groups : Groups or None
        Those of ``by``.
    """

    measured: Measured | None
    over: ColumnScale
    place: int
    labels: tuple[str, ...] | None
    edges: Array
    per: str
    groups: Groups | None

    def plan(self) -> Inquiry[Trend]:
        """Return one question for all bins."""
        measured, inner = self.measured, tuple(self.edges[1:-1].tolist())
        counts = Bins(self.curator.space, self.place, inner)
        bins = counts if measured is None else Binned(measured.query, self.curator.space, self.place, inner)
        query = ask_groups(self.groups, bins)
        unit = DAYS.get(self.per, 1.0)
        lengths = np.diff(self.edges) / unit
        positions = (self.edges[:-1] + self.edges[1:]) / (2.0 * unit)

        def answer(measure: Measure) -> Trend:
            release = measure(query)
            noise = release.noise
            assert noise is not None
            scores, squares = ((1.0,), (1.0,)) if measured is None else (measured.scores, measured.squares)
            contrasts = [
                Contrast(
                    one,
                    positions - positions.mean(),
                    np.array(scores),
                    np.array(squares),
                    noise,
                    self.curator.setting.max_rows,
                    lengths if measured is None else None,
                )
                for one in release.value.reshape(-1, len(lengths), len(scores))
            ]
            low, width = (0.0, 1.0) if measured is None else (measured.low, measured.width)
            levels = np.stack([low + width * one.means for one in contrasts])
            slopes = np.array([float(one.estimate) * width for one in contrasts])
            grouped = self.groups is not None
            facts = {
                "columns": ("rows" if measured is None else measured.name,),
                **group_facts(self.groups),
                "single": True,
                "contrasts": tuple(contrasts),
                "over": self.over.name,
                "per": self.per,
                "labels": self.labels,
                "edges": self.edges,
                "levels": levels if grouped else levels[0],
                "of": None if measured is None else measured.of,
                "low": low,
                "width": width,
            }
            value = slopes if grouped else float(slopes[0])
            return Trend.from_releases(value, self.curator, self.guarantee, [release], **facts)

        return self.make_inquiry([query], answer, "trend")


@statistic(over=1)
def trend(
    data: Any,
    column: Any = None,
    *,
    over: str | int,
    bins: Any = None,
    per: str = "year",
    of: Any = None,
    by: By | None = None,
    epsilon: float,
    delta: float = 0.0,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Trend]:
    """Return a private trend over time: how fast a mean, a share or a number of rows changes, with a test.

    Parameters
    ----------
    data, epsilon, delta, bits
        As in ``mean``.
    column : str or int, optional
        A declared column of numbers, whose means over time are compared, or of categories, with ``of``. By default
        rows are counted.
    over : str or int
        A declared column of dates, or of numbers.
    bins : int, sequence, or str, optional
        As in ``histogram``; months by default, and ten bins of equal width for numbers. The declared days may cut the
        first and the last month.
    per : str
        The unit of time: "year", "quarter", "month", "week" or "day". For numbers it is one unit of ``over``.
    of : object, optional
        For a column of categories: the one whose share is compared.
    by : str or list of str, optional
        Declared columns of categories: a trend for each combination of their categories, in one release, each with its
        interval and p-value. P-values are not corrected for their number.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Trend

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Date, Number, Schema, statistics
    >>> rng = np.random.default_rng(0)
    >>> day = rng.integers(0, 1461, 8000)
    >>> visits = pd.DataFrame({"admitted": np.datetime64("2020-01-01") + day, "stay": rng.gamma(4.0, 2.0, 8000)})
    >>> visits["stay"] -= day / 365.25
    >>> schema = Schema({"admitted": Date("2020-01-01", "2023-12-31"), "stay": Number(0, 30)})
    >>> result = statistics.trend(visits, "stay", over="admitted", epsilon=1.0, schema=schema)
    >>> -1.4 < result.value < -0.6, result.p_value < 0.01
    (True, True)
    """
    curator, guarantee = Request.open(data, [] if column is None else [column], epsilon, delta, declared)
    time = curator.columns[place_of("over", over, curator.columns)]
    named = None if column is None else name_column("column", column, curator)
    if named == time:
        raise ArgumentError("over", over, "another column than the one that is measured")
    grouping = name_strata(by, [named, time], curator)
    curator = curator.only([name for name in (named, time, *grouping) if name is not None])
    place = curator.columns.index(time)
    scale = check_scale(curator, place)
    if scale.kind == "log":
        raise ArgumentError("over", over, "a column of dates or of plain numbers; declare it without log=True")
    dated = scale.kind == "date"
    if of is not None and named is None:
        raise ArgumentError("of", of, "nothing where rows are counted; name the column of categories as well")
    labels, edges, _ = bin_edges(bins if bins is not None else "month" if dated else 10, scale)
    if len(edges) > MOST_BINS + 1:
        raise ArgumentError("bins", bins, f"at most {MOST_BINS} of them")
    return TrendRequest(
        curator=curator,
        guarantee=guarantee,
        bits=bits,
        measured=None if named is None else Measured.from_column(curator, named, of),
        over=scale,
        place=place,
        labels=labels,
        edges=edges,
        per=choice("per", per, DAYS) if dated else "",
        groups=Groups.of(grouping, curator),
    )
