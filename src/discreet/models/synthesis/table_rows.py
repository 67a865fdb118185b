"""``draw_table``: synthetic rows from a fitted model; bins by Gibbs sweeps, then the values of each column within bins.

**Bins** come from Gibbs sweeps (``pairwise_model``). Over the last of them fields and interactions are moved so that
the counts of the rows themselves meet the targets: rows of a model vary around it, and these vary less.

**Values.** Cells within a bin, and categories within a group, are drawn so that they keep to the released histogram: u
= (rank + U)/n of the n rows of a bin is spread evenly, and a row's cell is where u falls among the cells'
probabilities. The ranks of numbers are those of latent normal variables. Their correlations are those of the numbers'
links (``number_links``), in normal scores or in values, and each is drawn given the others within the interval of its
bin, so that numbers are also correlated within bins. A row's categories, and what relates numbers otherwise than
linearly, tilt its density there by the slope of θ from bin to bin: along a parabola y falls with x at one end of x and
grows at the other. Only what is smooth in a number, its score and polynomials of its rank, has such a slope. Where
spikes stand side by side the next bin says nothing about the values within this one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.models.synthesis.column_histograms import ColumnHistogram
from discreet.models.synthesis.pair_targets import PairTargets, nearest_correlations
from discreet.models.synthesis.pairwise_fit import FORBIDDEN, Solver, draw_start
from discreet.models.synthesis.pairwise_model import PairwiseModel, Walk
from discreet.threads import one_blas_thread

Array = NDArray[np.float64]
Rows = NDArray[np.int32]

SWEEPS, POLISHING = 20, 15
STEP, TREND_STEP, FIELD_STEP = 0.02, 0.1, 0.7  # of θ, its trends and f over the last sweeps
AT_ONCE = 2**15  # rows that are drawn from independent columns; more are copies of these, moved on
LATENT_SWEEPS = 6
LEAST_APART = 0.1  # scores of neighbouring bins, in standard deviations
REDRAWS = 100  # of a column of rows that cannot be


@dataclass(frozen=True, eq=False)
class DrawnColumn:
    """Synthetic values of a column.

    Attributes
    ----------
    values : array
        Numbers, as values; or codes of categories.
    missing : array of bool
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_]

    def replace(self, places: NDArray[np.int64], other: DrawnColumn) -> DrawnColumn:
        """Return the column with other values at some places."""
        values, missing = self.values.copy(), self.missing.copy()
        values[places], missing[places] = other.values, other.missing
        return DrawnColumn(values, missing)

    def take(self, places: NDArray[np.int64]) -> DrawnColumn:
        """Return the values at some places."""
        return DrawnColumn(self.values[places], self.missing[places])


Columns = list[DrawnColumn]


@dataclass(frozen=True, eq=False)
class BrokenRule:
    """Rows that a rule forbids.

    Attributes
    ----------
    rows : array of bool
        Which rows these are.
    again : tuple of int
        The columns that are drawn again: the numbers of the rule, or its categories where it has no number.
    kept : tuple of int
        The other columns of the rule, which stay.
    """

    rows: NDArray[np.bool_]
    again: tuple[int, ...]
    kept: tuple[int, ...]


def draw_table(
    model: PairwiseModel,
    histograms: Sequence[ColumnHistogram],
    targets: PairTargets,
    number: int,
    rng: np.random.Generator,
    check: Callable[[Columns], Sequence[BrokenRule]],
    given: Rows | None = None,
) -> Columns:
    """Return synthetic rows, none of which is one that cannot be.

    In a row that breaks a rule one column of it is drawn again given all others, as often as needed. If the rule is
    about numbers and categories that is a number, so that no category becomes rarer. A value of small probability given
    the others may be the only one allowed, so later draws are from the column's own histogram. What is left after many
    is replaced by other rows, of the same categories where there are some.

    Parameters
    ----------
    model : PairwiseModel
    histograms : sequence of ColumnHistogram
    targets : PairTargets
    number : int
    rng : Generator
    check : callable
        From columns to the rules that rows break.
    given : int array, optional
        Rows of bins; by default they are drawn so that their counts meet the targets.
    """
    with one_blas_thread():
        rows = draw_bins(model, targets, number, rng) if given is None else given
    columns = draw_columns(rows, histograms, targets, rng, model)
    for attempt in range(REDRAWS):
        broken = [one for one in check(columns) if one.rows.any()]
        if not broken:
            return columns
        chosen = np.full(number, -1)
        for one in broken:
            chosen[one.rows] = rng.choice(one.again, int(one.rows.sum()))
        for place in np.unique(chosen[chosen >= 0]):
            some, first = np.flatnonzero(chosen == place), int(model.starts[place])
            logits = np.log(targets.shares)[None, first : int(model.starts[place + 1])]
            if attempt < REDRAWS // 2:
                logits = model.logits(rows[some], int(place))
            bins = (logits + rng.gumbel(size=(len(some), logits.shape[1]))).argmax(axis=1)
            rows[some, place] = first + bins
            columns[place] = columns[place].replace(some, _draw_column(bins, histograms[place], None, rng))
    return _replace_rows(columns, check(columns), rng)


def _replace_rows(columns: Columns, broken: Sequence[BrokenRule], rng: np.random.Generator) -> Columns:
    """Return the columns with other rows in the place of those that break a rule."""
    allowed = ~np.any([one.rows for one in broken], axis=0)
    if not allowed.any():
        raise ArgumentError("zeros", UNSHOWN, "combinations that cannot occur, and others that can: none was drawn")
    source = np.arange(len(allowed))
    for one in broken:
        kept = [np.where(columns[place].missing, np.nan, columns[place].values) for place in one.kept]
        for place in np.flatnonzero(one.rows):
            alike = np.all([column == column[place] for column in kept], axis=0) if kept else allowed
            donors = np.flatnonzero(allowed & alike)
            source[place] = rng.choice(donors if len(donors) else np.flatnonzero(allowed))
    return [column.take(source) for column in columns]


def draw_bins(model: PairwiseModel, targets: PairTargets, number: int, rng: np.random.Generator) -> Rows:
    """Return rows of bins, as places among the bins of all columns."""
    zeros = model.interactions <= FORBIDDEN / 2.0
    rows = model.move(draw_start(targets, min(number, AT_ONCE), rng), SWEEPS, rng)
    if number > len(rows):
        rows = rows[np.resize(rng.permutation(len(rows)), number)]
    walk = Walk(model.starts, np.ascontiguousarray(rows), model.blocks, model.triples)
    solver = Solver(targets, zeros)
    fields, theta = model.fields, model.interactions
    for _ in range(POLISHING):
        walk.move(fields, theta, rng)
        counts = walk.count() * (solver.rows / number)
        fields = fields + solver.change_fields(theta, counts, number, FIELD_STEP, TREND_STEP)
        theta = np.where(zeros, FORBIDDEN, theta + solver.change(theta, counts, counts, number, STEP, TREND_STEP))
    return walk.rows


def draw_columns(
    rows: Rows,
    histograms: Sequence[ColumnHistogram],
    targets: PairTargets,
    rng: np.random.Generator,
    model: PairwiseModel,
) -> list[DrawnColumn]:
    """Return values within bins."""
    bins = rows - targets.columns.starts[:-1].astype(np.int32)
    latent = _draw_latent(bins, histograms, targets, rng, _local_pulls(rows, model, targets))
    return [_draw_column(bins[:, place], one, latent.get(place), rng) for place, one in enumerate(histograms)]


def _draw_column(
    bins: NDArray[Any], one: ColumnHistogram, latent: Array | None, rng: np.random.Generator
) -> DrawnColumn:
    """Return values of a column within its bins."""
    cells, within = _draw_cells(bins, one, latent, rng)
    units = one.column.units
    if units is None:
        missing = cells == one.column.gap if one.has_gaps else np.zeros(len(cells), dtype=bool)
        return DrawnColumn(cells, missing)
    inside = np.minimum(cells, len(one.cuts) - 2)
    low, high = units.ends[one.cuts[inside]], units.ends[one.cuts[inside + 1]]
    values = low + within * (high - low)
    values = np.floor(values + 0.5) if units.whole else values
    return DrawnColumn(np.clip(values, units.low, units.high), cells >= len(one.cuts) - 1)


def _draw_cells(
    bins: NDArray[Any], one: ColumnHistogram, latent: Array | None, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Return the cell of each row within its bin, and the place within the cell, in [0, 1)."""
    n = len(bins)
    key = rng.random(n) if latent is None else latent
    order = np.lexsort((key, bins))
    first = np.searchsorted(bins[order], np.arange(one.bins + 1))
    cells, within = np.zeros(n, dtype=np.int64), np.zeros(n)
    for group in range(one.bins):
        here = order[first[group] : first[group + 1]]
        if not len(here):
            continue
        members = np.flatnonzero((one.groups == group) & (one.shares > 0.0))
        members = np.flatnonzero(one.groups == group)[:1] if not len(members) else members
        weights = np.maximum(one.shares[members], 1e-300)
        ends = np.cumsum(weights) / weights.sum()
        u = np.minimum((np.arange(len(here)) + rng.random(len(here))) / len(here), 1.0 - 2.0**-53)
        at = np.minimum(np.searchsorted(ends, u, side="right"), len(members) - 1)
        cells[here] = members[at]
        start = np.concatenate([[0.0], ends[:-1]])[at]
        within[here] = np.clip((u - start) / np.maximum(ends[at] - start, 1e-300), 0.0, 1.0 - 2.0**-53)
    return cells, within


def _draw_latent(
    bins: NDArray[np.int32],
    histograms: Sequence[ColumnHistogram],
    targets: PairTargets,
    rng: np.random.Generator,
    pulls: Array,
) -> dict[int, Array]:
    """Return for each number the latent normal score of each row, within the interval of its bin.

    Given the others, z_j is normal with mean (c_j − Σ_k Ω_jk·z_k)/Ω_jj and variance 1/Ω_jj, Ω being the inverse of the
    correlations and c_j the pull of all else (``_local_pulls``); truncated to the bin's interval it is drawn by its
    distribution function.
    """
    numbers = targets.columns.numbers
    if not numbers:
        return {}
    precision = np.linalg.inv(nearest_correlations(targets.links.correlations))
    n = len(bins)
    low, high, z = np.empty((len(numbers), n)), np.empty((len(numbers), n)), np.empty((len(numbers), n))
    for k, place in enumerate(numbers):
        one = histograms[place]
        counts = np.bincount(bins[:, place], minlength=one.bins)[: one.ordered].astype(np.float64) + 1e-9
        if place in targets.links.by_value:
            ends = _value_ends(one, targets.columns.values[place], counts / counts.sum())
        else:
            ends = ndtri(np.concatenate([[0.0], np.cumsum(counts)[:-1] / counts.sum(), [1.0]]))
        at = np.minimum(bins[:, place], one.ordered - 1)
        there = bins[:, place] < one.ordered  # a gap says nothing
        low[k], high[k] = np.where(there, ends[at], -np.inf), np.where(there, ends[at + 1], np.inf)
        z[k] = _draw_between(low[k], high[k], np.zeros(n), 1.0, rng)
    for _ in range(LATENT_SWEEPS):
        for k in range(len(numbers)):
            others = precision[k] @ z - precision[k, k] * z[k] - pulls[k]
            z[k] = _draw_between(low[k], high[k], -others / precision[k, k], precision[k, k] ** -0.5, rng)
    return {place: z[k] for k, place in enumerate(numbers)}


def _local_pulls(rows: Rows, model: PairwiseModel, targets: PairTargets) -> Array:
    """Return for each number the slope of ln of its density at its bin, by all else in the row; shape (numbers, n).

    θ is given for bins, and taken to be linear between the scores of neighbours. The part B·s_a·s_b of two numbers is
    left out: it is in the correlations of the latent variables.
    """
    numbers, scores = targets.columns.numbers, targets.links.scores
    theta = np.where(model.interactions <= FORBIDDEN / 2.0, 0.0, model.interactions)
    weighted = scores * targets.shares[:, None]
    between = np.zeros((scores.shape[1],) * 2)
    between[np.ix_(numbers, numbers)] = (weighted.T @ theta @ weighted)[np.ix_(numbers, numbers)]
    np.fill_diagonal(between, 0.0)
    theta = theta - scores @ between @ scores.T
    result = np.zeros((len(numbers), len(rows)))
    for k, column in enumerate(numbers):
        first, ordered = int(targets.columns.starts[column]), targets.columns.ordered[column]
        if ordered < 2:
            continue
        here = slice(first, first + ordered)
        own = theta[here]
        if targets.mixed:  # not in files of earlier versions
            basis = np.column_stack([scores[here, column], targets.links.curves[here, targets.links.owners == column]])
            own = basis @ ((basis * targets.shares[here, None]).T @ own)
        bins = np.minimum(rows[:, column] - first, ordered - 1)
        low, high = np.maximum(np.arange(ordered) - 1, 0), np.minimum(np.arange(ordered) + 1, ordered - 1)
        apart = np.maximum(scores[first + high, column] - scores[first + low, column], LEAST_APART)
        slopes = (own[high] - own[low]) / apart[:, None]
        for other in range(rows.shape[1]):
            if other != column:
                result[k] += slopes[bins, rows[:, other]]
    return result


def _value_ends(one: ColumnHistogram, values: Array, share: Array) -> Array:
    """Return where the bins of a number begin and end, in standard deviations from its mean; the outer ones do not."""
    assert one.column.units is not None
    first = np.flatnonzero(np.diff(one.groups[: len(one.cuts) - 1])) + 1
    mean = float(share @ values)
    spread = max(math.sqrt(float(share @ (values - mean) ** 2)), 1e-300)
    return np.concatenate([[-np.inf], (one.column.units.ends[one.cuts[first]] - mean) / spread, [np.inf]])


def _draw_between(low: Array, high: Array, mean: Array, spread: float, rng: np.random.Generator) -> Array:
    """Return normal numbers within intervals; where an interval is far in a tail, its end next to the mean."""
    first, last = ndtr((low - mean) / spread), ndtr((high - mean) / spread)
    drawn = mean + spread * ndtri(np.clip(first + rng.random(len(low)) * (last - first), 1e-16, 1.0 - 1e-16))
    return np.asarray(np.clip(drawn, low, high))


def log_within(columns: Columns, histograms: Sequence[ColumnHistogram], rows_in_all: float) -> tuple[Rows, Array]:
    """Return the bins of given rows, as places, and ln of the density of each row's values within its bins.

    Of whole numbers and of categories it is a probability. A column of other numbers has a probability at each of its
    bounds, and a density between them.
    """
    first, total = 0, np.zeros(len(columns[0].values))
    rows = np.empty((len(total), len(columns)), dtype=np.int32)
    for place, (drawn, one) in enumerate(zip(columns, histograms, strict=True)):
        units = one.column.units
        shares = np.maximum(one.shares, 0.5 / rows_in_all / len(one.shares))  # nothing is impossible
        inside = np.bincount(one.groups, shares)
        if units is None:
            cells, widths = np.where(drawn.missing, one.column.gap or 0, drawn.values).astype(np.int64), None
        else:
            ends = units.ends[one.cuts]
            cells = np.clip(np.searchsorted(ends, drawn.values, side="right") - 1, 0, len(ends) - 2)
            cells = np.where(drawn.missing, len(ends) - 1, cells)
            widths = np.append(np.diff(ends), 1.0)
            if not units.whole:
                widths[[0, -2]] = 1.0  # the units of the bounds
            total -= np.log(widths)[cells]
        total += np.log(shares[cells]) - np.log(inside[one.groups[cells]])
        rows[:, place] = first + one.groups[cells]
        first += one.bins
    return rows, total
