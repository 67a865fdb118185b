"""M-estimators from a perturbed histogram (Lei 2011): one release, then any loss over its counts.

The release is a histogram with noise (``queries.counts.grids`` has the proof); all else is post-processing. Counts that
noise made negative are set to 0 in the paper (``counts="truncated"``). That leaves spurious rows all over the bounds;
the nearest counts at least 0 that sum to the number of rows have far fewer (``counts="nearest"``, the default).

A robust loss looks at loose bounds without harm: rows and noise far away pull with a bounded force. So the error grows
with k, the loss's own width, rather than with the bounds as it does for a clipped mean.
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
from discreet.door import Answer, Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.queries.question import Query
from discreet.scales import ColumnScale
from discreet.statistics.request import (
    STATISTICS,
    ColumnRequest,
    Request,
    cells_of,
    known_rows,
    noise_variance,
    statistic,
)
from discreet.statistics.robust.perturbed_histogram import (
    COUNTS,
    LOSSES,
    by_column,
    by_function,
    cleaned,
    lei_bins,
    middles,
    theta_box,
    try_loss,
)
from discreet.statistics.statistic import in_own_units

Array = NDArray[np.float64]
Solve = Callable[[Array, Array | None], Array]  # weights of shape (draws, *bins) and a start, to θ of shape (draws, p)

MOST = 2**16
FINER = 3e4  # n·ε from which bins of half the width k pay: what they miss is then more than their noise
EFFICIENT = 1.345  # standard deviations: 95 % as efficient as the mean on normal rows


@dataclass(frozen=True, eq=False, repr=False)
class MEstimate(Answer):
    """What minimises a loss over a private histogram.

    Attributes
    ----------
    value : float or ndarray
        In the data's own units: what was found on the log scale comes back from it, and dates are days since
        1970-01-01.
    columns : tuple of str
    weights : ndarray
        The counts that were used, at least 0.
    edges : list of ndarray
        The ends of the bins, column by column, in the data's own units.
    """

    columns: tuple[str, ...]
    weights: Array
    edges: list[Array]
    _theta: Array  # the value, on the scale that was measured on
    _widths: Array  # of the bins on that scale
    _scales: tuple[ColumnScale, ...]  # none for a loss of one's own
    _counts: str
    _within: Array
    _solve: Solve

    def interval(self, level: float = 0.95, draws: int = 400) -> tuple[Any, Any]:
        """Return the ends of an interval for what the rows would have given without noise.

        A parametric bootstrap: noise like that of the release is put on the counts that were used, and the estimate is
        made again, ``draws`` times. The ends are as far from the value as a share ``level`` of those is, coordinate by
        coordinate, and by half a bin more, since where in its bin a row lies is not known. They are about noise and
        bins: not about clipping, nor about sampling the people in the data. They are approximate, since the counts that
        were used stand in for the true ones, and were on the safe side in simulations.
        """
        probability("level", level)
        noise, rng = self.release.noise, np.random.default_rng(0)
        assert noise is not None  # every release here is additive
        center = self._theta
        left, result = integer("draws", draws, least=20), []
        while left:  # in pieces, so that many bins do not fill the memory
            some = min(left, max(2**20 // self.weights.size, 1))
            shape, left = (some, *self.weights.shape), left - some
            noisy = self.weights + noise.simulate(rng, shape)
            again = np.stack([cleaned(one, self.release, self._counts) for one in noisy])
            result.append(self._solve(again, center))
        width = np.quantile(np.abs(np.concatenate(result) - center), level, axis=0)
        if len(center) == len(self.edges):  # a location; what θ is to a loss of one's own is not known
            width = width + self._widths / 2.0
        ends = (np.clip(end, *self._within.T) for end in (center - width, center + width))
        lower, upper = (in_own_units(end, self._scales) if self._scales else end for end in ends)
        return (float(lower[0]), float(upper[0])) if np.ndim(self.value) == 0 else (lower, upper)

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
        k, or 0.
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
        """Return one histogram."""
        numbers, intervals = self.places, np.array([(scale.low, scale.high) for scale in self.scales])
        most = int(MOST ** (1.0 / len(numbers)) + 1e-9)
        if self.bins is None:
            bins = min(self._default_bins(cells_of(self.curator.space, numbers, [2] * len(numbers)), intervals), most)
        else:
            bins = integer("bins", self.bins, least=2, most=most)
        query = cells_of(self.curator.space, numbers, [bins] * len(numbers))
        edges = [np.linspace(low, high, bins + 1) for low, high in intervals]
        if callable(self.loss):
            box = intervals if self.within is None else theta_box(self.within)
            solve = partial(by_function, self.loss, middles(edges), box)
            try_loss(self.loss, middles(edges), box)
        else:
            box, solve = intervals, partial(by_column, partial(LOSSES[self.loss], k=self.bend), edges)

        def answer(measure: Measure) -> MEstimate:
            release = measure(query)
            weights = cleaned(release["counts"], release, self.counts)
            theta = solve(weights[None], None)[0]
            located = () if callable(self.loss) else self.scales
            shown_theta = in_own_units(theta, located) if located else theta
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

        return self.asks([query], answer)

    def _default_bins(self, query: Query, intervals: Array) -> int:
        """Return the default number of bins a column, from public numbers."""
        budget = math.sqrt(8.0 / noise_variance(self.curator, query, self.losses[0]))  # the ε of as much Laplace noise
        rows = known_rows(self.curator, self.guess)
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
        Which ones; may be left out where there is only one. Several share one histogram, whose bins grow in number with
        their product: two or three at most. The locations of several columns come out better one by one.
    loss : str or callable
        ``"huber"``, ``"squared"`` or ``"absolute"``, of the row less θ, column by column; or a function of points,
        shape (m, d), and θ, shape (p,), that returns m numbers. It sees public bins only. (The answer pickles if it
        does.) Of a log column it sees logarithms, of dates days since 1970-01-01, and its θ comes back as it is.
    k : float
        Where the Huber loss turns from square to straight, in the data's units; public. Of a log column it is a
        difference of natural logarithms, of dates a number of days.
    epsilon, delta : float
        What to spend; Laplace noise at δ = 0, Gaussian above.
    bins : int
        How many a column; by default ``lei_bins``, and for "huber" as many as make them no wider than k, or
        half of it where there are many rows.
    counts : str
        ``"nearest"`` or ``"truncated"``; see the module.
    within : sequence of (low, high)
        For a function: where each of θ's numbers lies. By default the bounds of the columns.
    rows : int
        A public guess of their number, for the number of bins, where it is not public; 1000 by default.
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
    asked: dict[str, Any] = {"loss": loss, "bend": bend, "bins": bins, "counts": counts, "within": within}
    return MEstimateRequest.from_columns(data, column, epsilon, delta, declared, bits, **asked, guess=rows)


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
    """Return the private Huber location of a column: a mean that wild values do little to.

    Its bins are as wide as k or half of it, so bounds that are thousands of times as wide as k cost accuracy: there a
    ``trimmed_mean`` or a ``median`` does better.

    Parameters
    ----------
    scale : float
        A public guess of the standard deviation, in the data's units (of a log column, of the logarithms), from which
        k = 1.345·scale; or
    k : float
        itself. A guess that is wrong by a factor of two costs some accuracy, no privacy.
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
