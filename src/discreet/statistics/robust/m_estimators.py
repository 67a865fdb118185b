"""Private M-estimators from a perturbed histogram (Lei 2011): one release, then any loss over its counts.

The release is a histogram with noise (proof: ``queries.counts.grids``); everything else is post-processing. The paper
sets negative counts to 0 (``counts="truncated"``), which leaves spurious rows all over the bounds. The nearest
non-negative counts that sum to the number of rows have far fewer of them (``counts="nearest"``, the default).

A robust loss tolerates loose bounds, since rows and noise far away have a bounded influence. So the error grows with k,
the loss's own width, and not with the width of the bounds as for a clipped mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice, format_value, integer, positive, probability
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.plots import Intervals
from discreet.queries.question import Query
from discreet.scales import ColumnScale
from discreet.statistics.request import (
    STATISTICS,
    ColumnRequest,
    Request,
    grid_query,
    noise_variance,
    planning_rows,
    statistic,
)
from discreet.statistics.robust.perturbed_histogram import (
    COUNTS,
    LOSSES,
    bin_centres,
    check_loss,
    clean_counts,
    lei_bins,
    parse_theta_bounds,
    solve_by_column,
    solve_by_function,
)
from discreet.statistics.statistic import to_own_units
from discreet.statistics.statistic_plots import interval_text
from discreet.statistics.tabled_answer import TabledAnswer

Array = NDArray[np.float64]
Solve = Callable[[Array, Array | None], Array]  # weights of shape (draws, *bins) and a start, to θ of shape (draws, p)

MOST = 2**16
FINER = 3e4  # n·ε above which bins have half the width k: the error of wider bins then exceeds their noise
EFFICIENT = 1.345  # standard deviations: 95 % efficiency relative to the mean on normal rows


@dataclass(frozen=True, eq=False, repr=False)
class MEstimate(TabledAnswer):
    """A private M-estimate: the minimiser of a summed loss over a private histogram.

    Attributes
    ----------
    value : float or ndarray
        In the data's own units: estimates on a log scale are converted back, and dates are days since 1970-01-01.
    columns : tuple of str
    weights : ndarray
        The non-negative counts that were used.
    edges : list of ndarray
        The edges of the bins, column by column, in the data's own units.
    """

    columns: tuple[str, ...]
    weights: Array
    edges: list[Array]
    _theta: Array  # the value, on the measured scale
    _widths: Array  # of the bins, on that scale
    _scales: tuple[ColumnScale, ...]  # empty for a user's own loss
    _counts: str
    _within: Array
    _solve: Solve

    def interval(self, level: float = 0.95, draws: int = 400) -> tuple[Any, Any]:
        """Return the ends of an interval for the estimate that the rows would have given without noise.

        It is a parametric bootstrap: noise like that of the release is added to the counts that were used, and the
        estimate is computed again, ``draws`` times. The half width is the ``level`` quantile of the distances from the
        value, coordinate by coordinate, plus half a bin, since the position of a row in its bin is unknown. The
        interval accounts for noise and bins, but not for clipping or for how these people were sampled. It is
        approximate, since the counts that were used stand in for the true ones; in simulations it was conservative.
        """
        probability("level", level)
        noise, rng = self.release.noise, np.random.default_rng(0)
        assert noise is not None  # every release here is additive
        center = self._theta
        remaining, result = integer("draws", draws, least=20), []
        while remaining:  # in chunks, so that many bins do not fill the memory
            chunk = min(remaining, max(2**20 // self.weights.size, 1))
            remaining -= chunk
            noisy = self.weights + noise.simulate(rng, (chunk, *self.weights.shape))
            again = np.stack([clean_counts(one, self.release, self._counts) for one in noisy])
            result.append(self._solve(again, center))
        width = np.quantile(np.abs(np.concatenate(result) - center), level, axis=0)
        if len(center) == len(self.edges):  # a location; the meaning of θ in a user's own loss is unknown
            width = width + self._widths / 2.0
        ends = (np.clip(end, *self._within.T) for end in (center - width, center + width))
        lower, upper = (to_own_units(end, self._scales) if self._scales else end for end in ends)
        return (float(lower[0]), float(upper[0])) if np.ndim(self.value) == 0 else (lower, upper)

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each component of θ, with its interval: the location of a column, or that of a user's loss.

        >>> rows = np.random.default_rng(0).normal(3.0, 1.0, 2_000)
        >>> list(huber_location(rows, scale=1.0, epsilon=1.0, bounds=(-10, 10)).table()[0])
        ['column', 'value', 'low', 'high']
        """
        names: list[dict[str, Any]] = [{"column": name} for name in self.columns]
        if not self._scales:  # θ of a user's own loss
            names = [{"component": number} for number in range(len(self._theta))]
        numbers = zip(*(np.atleast_1d(one).tolist() for one in (self.value, *self.interval(level))), strict=True)
        rows = []
        for place, (name, three) in enumerate(zip(names, numbers, strict=True)):
            shown = [self._scales[place].shown(one) if self._scales else one for one in three]
            rows.append(name | dict(zip(("value", "low", "high"), shown, strict=True)) | self._about_rows())
        return rows

    def plot(self, *, level: float = 0.95, ax: Any = None) -> Any:
        """Plot each component with its interval, as points and lines, and return the axes. Needs matplotlib."""
        low, high = self.interval(probability("level", level))
        labels = self.columns if self._scales else tuple(f"θ{number}" for number in range(len(self._theta)))
        value, least, most = (np.atleast_1d(np.asarray(one, dtype=np.float64)) for one in (self.value, low, high))
        unit, lines = labels[0] if len(labels) == 1 else "", interval_text(level, "rows")
        points = Intervals(value, labels, least, most, what="M-estimates", unit=unit, interval=lines)
        dated = len(labels) == 1 and [scale.kind for scale in self._scales] == ["date"]
        return points.with_dates([unit] if dated else []).draw(ax)

    def _shown(self) -> str:
        if all(scale.kind != "date" for scale in self._scales):
            return super()._shown()
        values = [
            scale.shown(one if scale.kind == "date" else float(f"{one:.6g}"))
            for scale, one in zip(self._scales, np.atleast_1d(self.value).tolist(), strict=True)
        ]
        return str(values[0]) if len(values) == 1 else str(dict(zip(self.columns, values, strict=True)))


@dataclass(frozen=True, kw_only=True)
class MEstimateRequest(ColumnRequest[MEstimate]):
    """A request for the minimiser of a summed loss.

    Attributes
    ----------
    loss, counts, within
        As in ``m_estimate``.
    bend : float
        k of the Huber loss, or 0.
    bins : int or None
    guess : int or None
        A public guess of the number of rows.
    """

    loss: str | Callable[[Array, Array], Any]
    bend: float
    bins: int | None
    counts: str
    within: Any
    guess: int | None

    argument: ClassVar[str] = "column"

    def plan(self) -> Inquiry[MEstimate]:
        """Return one question for the histogram."""
        numbers, intervals = self.places, np.array([(scale.low, scale.high) for scale in self.scales])
        most = int(MOST ** (1.0 / len(numbers)) + 1e-9)
        if self.bins is None:
            bins = min(self._default_bins(grid_query(self.curator.space, numbers, [2] * len(numbers)), intervals), most)
        else:
            bins = integer("bins", self.bins, least=2, most=most)
        query = grid_query(self.curator.space, numbers, [bins] * len(numbers))
        edges = [np.linspace(low, high, bins + 1) for low, high in intervals]
        if callable(self.loss):
            box = intervals if self.within is None else parse_theta_bounds(self.within)
            solve = partial(solve_by_function, self.loss, bin_centres(edges), box)
            check_loss(self.loss, bin_centres(edges), box)
        else:
            box, solve = intervals, partial(solve_by_column, partial(LOSSES[self.loss], k=self.bend), edges)

        def answer(measure: Measure) -> MEstimate:
            release = measure(query)
            weights = clean_counts(release["counts"], release, self.counts)
            theta = solve(weights[None], None)[0]
            located = () if callable(self.loss) else self.scales
            shown_theta = to_own_units(theta, located) if located else theta
            return MEstimate.from_releases(
                float(shown_theta[0]) if len(theta) == 1 else shown_theta,
                self.curator,
                self.guarantee,
                [release],
                columns=tuple(scale.name for scale in self.scales),
                weights=weights,
                edges=[scale.to_own(ends) for scale, ends in zip(self.scales, edges, strict=True)],
                _theta=theta,
                _widths=np.array([ends[1] - ends[0] for ends in edges]),
                _scales=located,
                _counts=self.counts,
                _within=box,
                _solve=solve,
            )

        return self.make_inquiry([query], answer)

    def _default_bins(self, query: Query, intervals: Array) -> int:
        """Return the default number of bins for each column, from public numbers."""
        budget = math.sqrt(8.0 / noise_variance(self.curator, query, self.losses[0]))  # the ε of as much Laplace noise
        rows = planning_rows(self.curator, self.guess)
        balanced = lei_bins(rows, len(intervals), budget)
        bend = self.bend / 2.0 if rows * budget > FINER else self.bend
        widest = float((intervals[:, 1] / 2.0 - intervals[:, 0] / 2.0).max())
        return max(balanced, math.ceil(min(2.0 * (widest / bend), 1e9)) if bend else 2)


@statistic(k=5.0)
def m_estimate(
    data: Any,
    column: Any = None,
    *,
    loss: str | Callable[[Array, Array], Any] = "huber",
    k: float | None = None,
    epsilon: float,
    delta: float = 0.0,
    bins: int | None = None,
    counts: str = "nearest",
    within: Any = None,
    rows: int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[MEstimate]:
    """Return the private minimiser of a summed loss.

    Parameters
    ----------
    data
        Rows with their bounds, or a Curator; see ``open_rows``.
    column : str, int, or list of them
        The columns; optional where there is only one. Several columns share one histogram, whose number of cells is the
        product of their numbers of bins; so use two or three at most. Locations of several columns are more accurate
        one by one.
    loss : str or callable
        ``"huber"``, ``"squared"`` or ``"absolute"`` loss of the row minus θ, column by column; or a function of points,
        of shape (m, d), and θ, of shape (p,), that returns m numbers. It is evaluated on public bins only. (The answer
        can be pickled if the function can.) For a log column it sees logarithms, for dates days since 1970-01-01, and
        its θ is returned unchanged.
    k : float
        Where the Huber loss turns from quadratic to linear, in the data's units; public. For a log column it is a
        difference of natural logarithms, for dates a number of days.
    epsilon, delta : float
        The cost. The noise is Laplace if δ = 0, else Gaussian.
    bins : int
        The number of bins for each column; by default ``lei_bins``, and for "huber" enough to make bins no wider than
        k, or than k/2 where there are many rows.
    counts : str
        ``"nearest"`` or ``"truncated"``; see the module.
    within : sequence of (low, high)
        For a function: the bounds of each component of θ. By default the bounds of the columns.
    rows : int
        A public guess of the number of rows for the default of ``bins``, where it is private; 1000 by default.
    bits : Bits
        Seeded bits, for a test.
    **declared
        What is declared of the rows: bounds or a schema, neighbors, unit; see ``Declarations``.

    Returns
    -------
    MEstimate

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> wild = rng.standard_t(2, 20_000) + 3.0
    >>> result = m_estimate(wild, loss="huber", k=1.5, epsilon=1.0, bounds=(-100, 100))
    >>> bool(abs(result.value - 3.0) < 0.2), result.columns
    (True, ('x0',))

    A line through the origin, by least absolute deviations:

    >>> x = rng.uniform(0.0, 1.0, 50_000)
    >>> table = np.stack([x, 2.0 * x + 0.1 * rng.standard_normal(50_000)], axis=1)
    >>> def loss(points, theta): return np.abs(points[:, 1] - theta[0] * points[:, 0])
    >>> line = m_estimate(table, [0, 1], loss=loss, within=[(-5, 5)], epsilon=1.0, bounds=[(0, 1), (-3, 3)])
    >>> bool(abs(line.value - 2.0) < 0.5)
    True
    """
    choice("counts", counts, COUNTS)
    if not callable(loss):
        choice("loss", loss, LOSSES)
        if within is not None:
            raise ArgumentError("within", within, "None, unless the loss is a function")
    if (loss == "huber") != (k is not None):
        wanted = "a width above 0 in the data's units; write for example k=1.345 * scale" if k is None else "None"
        raise ArgumentError("k", k, f"{wanted} for loss={format_value(loss)}")
    bend = 0.0 if k is None else positive("k", k)
    options: dict[str, Any] = {"loss": loss, "bend": bend, "bins": bins, "counts": counts, "within": within}
    return MEstimateRequest.from_columns(data, column, epsilon, delta, declared, bits, **options, guess=rows)


@statistic(scale=1.0)
def huber_location(
    data: Any,
    column: str | int | None = None,
    *,
    scale: float | None = None,
    k: float | None = None,
    epsilon: float,
    delta: float = 0.0,
    bins: int | None = None,
    rows: int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[MEstimate]:
    """Return the private Huber location of a column: a mean that is robust to outliers.

    Its bins are as wide as k or k/2, so bounds that are thousands of times as wide as k cost accuracy; a
    ``trimmed_mean`` or a ``median`` is then better.

    Parameters
    ----------
    scale : float
        A public guess of the standard deviation, in the data's units (for a log column, of the logarithms), from which
        k = 1.345·scale. A guess that is wrong by a factor of two costs some accuracy, but no privacy.
    k : float
        The width of the loss itself, in place of ``scale``.
    data, column, epsilon, delta, bins, rows, bits, **declared
        As for ``m_estimate``.

    Returns
    -------
    MEstimate

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(3.0, 1.0, 20_000)
    >>> result = huber_location(rows, scale=1.0, epsilon=1.0, bounds=(-100, 100))
    >>> bool(abs(result.value - 3.0) < 0.2)
    True
    """
    if (scale is None) == (k is None):
        raise ArgumentError(("scale", "k"), (scale, k), "one of them", write="for example scale=10.0")
    if isinstance(column, list | tuple):
        raise ArgumentError("column", column, "one column; ask for several one by one, or write m_estimate")
    width = positive("k", k) if scale is None else EFFICIENT * positive("scale", scale)
    spent = {"epsilon": epsilon, "delta": delta, "bins": bins, "rows": rows, "bits": bits}
    return STATISTICS["m_estimate"].request(data, column, loss="huber", k=width, **spent, **declared)
