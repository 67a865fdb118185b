"""Draws of a fitted table's model from its posterior: tables that the same releases could have come from.

Released counts are y = N·P + (sampling of the rows) + (noise), P being the population's. The fit solves y − M(θ) = λ·θ,
which is the posterior mode of θ with a normal prior (``pairwise_fit``). A draw of the posterior is the solution with
both sides disturbed as they vary,

    y + e − M(θ) = λ·(θ − ξ),

where e has the distribution of the noise and of the sampling of N rows, and ξ that of the prior. Where counts are
linear in θ this is exact (Papandreou and Yuille 2010): the mean is that of the posterior, and with the weight w of the
releases the variance is w²·v + (1 − w)²·s² = w·v for w = s²/(s² + v). Fields, trends, interactions and the tables of
the triples that the fit has seen are disturbed together, since one e is drawn for all releases: rows are drawn from
the fitted model and resampled, each release's question is asked of them again, and noise is added. Shares of the cells
within bins follow from the same disturbed histograms.

**Bins** stay those of the releases. They follow from earlier releases, so given these they are known.

**Priors** are weaker than in the fit, which prefers tables near independence, since a relation that is drawn to 0 would
lie outside of its own interval. A trend or a curve of two numbers has a spread of 1, a trend of a number within a
category of 2.5, as coefficients of the default logistic model. s² of all else in a table is the fit's, joined by
``WEIGHT`` numbers of spread 1: a table of two by two cells says nothing about its own prior, and one of hundreds of
cells says enough.

**Rows of a draw** are independent, unlike those of ``draw_bins``, whose counts vary less: an analyst's standard errors
are those of independent rows.

What is not in a draw: triples that the fit has not seen, and anything else that the model does not have.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.noisy_sums import noise_std
from discreet.models.synthesis.column_histograms import ColumnHistogram
from discreet.models.synthesis.pair_targets import PairTargets
from discreet.models.synthesis.pairwise_fit import CHAINS, FORBIDDEN, MEMORY, SMOOTH, Rows, Solver, draw_start
from discreet.models.synthesis.pairwise_model import PairwiseModel, Walk
from discreet.models.synthesis.synthesis_method import TableSynthesis
from discreet.models.synthesis.table_rows import draw_columns
from discreet.models.synthesis.triples import TripleSolver, TripleTargets, TripleTerms, project
from discreet.queries.counts.table_counts import TableCounts
from discreet.queries.question import Query
from discreet.records import Block
from discreet.threads import one_blas_thread

Array = NDArray[np.float64]

POOL = 20_000  # rows of the fitted model, from which samples are drawn
FIRST_SWEEPS = 100  # of the fit with the priors of this module
SWEEPS = 80  # of a draw, which begins there
FIRST_STEP, LAST_STEP = 0.4, 0.1  # of all parameters: the slowest directions answer with a fifth of their step
MEAN_FROM = 0.6  # share of the sweeps after which steps are the last, and parameters are averaged
MIXING = 20  # sweeps after which rows are those of a model
TREND, LEVEL = 1.0, 2.5  # spreads of trends and curves of two numbers, and of trends of a number within a category
WEIGHT = 2.0  # numbers of spread 1 that join a table's own


@dataclass(frozen=True, eq=False)
class TableWorld:
    """One draw: a model, what belongs to its bins, and rows of it.

    Attributes
    ----------
    model : PairwiseModel
    histograms : list of ColumnHistogram
    targets : PairTargets
    rows : int array
        Rows of the model, as places among the bins.
    """

    model: PairwiseModel
    histograms: list[ColumnHistogram]
    targets: PairTargets
    rows: Rows

    def draw_rows(self, number: int, rng: np.random.Generator) -> Rows:
        """Return independent rows of the model, as places among the bins."""
        some = self.rows[rng.integers(len(self.rows), size=number)]
        with one_blas_thread():
            return self.model.move(np.ascontiguousarray(some), MIXING, rng, independent=True)


class PosteriorSolver(Solver):
    """Steps towards disturbed targets, with the priors of this module."""

    mixes = False

    @staticmethod
    def _join_prior(found: float, numbers: int) -> float:
        return (numbers * found + WEIGHT) / (numbers + WEIGHT)

    def _set_trends(self) -> None:
        super()._set_trends()
        z, targets = self.targets.scores, self.targets
        noise = (z**2).sum(axis=0)[:, None] * (targets.noise @ self.member.T) / self.one[None, :] ** 2
        self.trend_shrink = np.where(self.between, targets.trend_noise / TREND**2, 0.0)
        self.level_shrink = np.where(self.within, noise / LEVEL**2, 0.0)

    def _set_curves(self) -> None:
        super()._set_curves()
        # A product of scores moves by g·D, so a spread of TREND of what it moves by is one of TREND/g of D
        self.curve_shrink = self.curve_noise * self.curvature / TREND**2

    def disturb(self, targets: PairTargets, rng: np.random.Generator) -> PosteriorSolver:
        """Return a solver for disturbed targets, whose prior means are drawn from the prior."""
        result = copy.copy(self)
        result.targets, result.one, result.share = targets, targets.one, targets.shares
        result.goal = np.where(self.across, targets.pairs, 0.0)
        upper = np.triu(rng.standard_normal(self.goal.shape), 1)
        mean = np.sqrt(self.spread) * (upper + upper.T)
        steps = self.follows[:, None] * rng.standard_normal((len(self.one) - 1, len(self.one)))
        rough = np.zeros_like(mean)
        rough[1:] += steps
        rough[:-1] -= steps
        rough *= np.sqrt(np.maximum(self.spread, 0.04) / SMOOTH)
        result.push = np.where(self.across, self.shrink * mean + self.smooth * (rough + rough.T), 0.0)
        pairs = np.triu(rng.standard_normal(self.between.shape), 1)
        result.trend_push = self.trend_shrink * TREND * (pairs + pairs.T)
        curves = np.triu(rng.standard_normal(self.curved.shape), 1) * TREND / self.curvature
        result.curve_push = self.curve_shrink * (curves + curves.T)
        result.level_push = self.level_shrink * self.one[None, :] * LEVEL * rng.standard_normal(self.level_shrink.shape)
        return result


class DisturbedFits:
    """Draws of the model of a fitted table.

    Parameters
    ----------
    method : TableSynthesis
    releases : sequence of Release
    model : PairwiseModel
        As it was fitted.
    rng : Generator
    """

    def __init__(
        self, method: TableSynthesis, releases: Sequence[Release], model: PairwiseModel, rng: np.random.Generator
    ) -> None:
        self.method, self.releases, self.model = method, releases, model
        self.histograms = method.one_ways.estimate(releases)
        self.targets, self.zeros = method.targets(releases), method.zeros(releases)
        with one_blas_thread():
            self.pool = model.move(draw_start(self.targets, POOL, rng), MIXING, rng)
            drawn = draw_columns(self.pool, self.histograms, self.targets, rng, model)
        self.block = method.as_block([(one.values, one.missing) for one in drawn])
        self.counted = [_PoolCounts(_question(one), self.block) for one in releases]
        self._rng = rng.spawn(1)[0]

    @cached_property
    def solver(self) -> PosteriorSolver:
        """Steps towards the released targets."""
        return PosteriorSolver(self.targets, self.zeros)

    @cached_property
    def terms(self) -> _Terms:
        """The terms of triples."""
        counted = self.method.triples(self.releases)
        return _Terms(self.model.triples, counted, self.pool, self.targets.columns.rows)

    @cached_property
    def center(self) -> TableWorld:
        """The fit with the priors of this module, from which draws begin."""
        start = TableWorld(self.model, self.histograms, self.targets, self.pool[:CHAINS].copy())
        with one_blas_thread():
            return self._solve(start, self.solver, self.terms, FIRST_SWEEPS, self._rng)

    def draw_targets(self, rng: np.random.Generator) -> tuple[list[ColumnHistogram], PairTargets]:
        """Return the histograms and the targets of one draw, without its model."""
        return self._read(self._disturb_releases(rng))

    def _read(self, others: Sequence[Release]) -> tuple[list[ColumnHistogram], PairTargets]:
        histograms = self.method.one_ways.estimate(self.releases, others, self.histograms)
        return histograms, self.method.targets(self.releases, others)

    def draw(self, rng: np.random.Generator) -> TableWorld:
        """Return one draw of the posterior."""
        others = self._disturb_releases(rng)
        histograms, targets = self._read(others)
        terms = self.terms.disturb(self.method.triples(self.releases, others), rng)
        start = replace(self.center, histograms=histograms, targets=targets, rows=self.center.rows.copy())
        with one_blas_thread():
            return self._solve(start, self.solver.disturb(targets, rng), terms, SWEEPS, rng)

    def _disturb_releases(self, rng: np.random.Generator) -> list[Release]:
        """Return the releases with the sampling of the rows, and the noise, once more.

        Where a person may have up to k rows their sums are taken to vary k times as much as those of independent rows.
        """
        rows = self.targets.columns.rows
        number = max(round(min(rows, POOL)), 1)
        scale = math.sqrt(rows / number * self.method.max_rows)
        some = rng.integers(POOL, size=number)
        result = []
        for release, counted in zip(self.releases, self.counted, strict=True):
            (name,) = release.parts
            spread = noise_std(release, name) * release.parts[name].weight
            moved = scale * (counted.sum(some) - number * counted.mean)
            value = release.value + moved + spread * rng.standard_normal(moved.shape)
            result.append(replace(release, value=value, provenance="simulated"))
        return result

    def _solve(
        self, start: TableWorld, solver: PosteriorSolver, terms: _Terms, sweeps: int, rng: np.random.Generator
    ) -> TableWorld:
        """Return the model that meets a solver's targets, from another model nearby; its rows are moved."""
        fields, theta = start.model.fields, start.model.interactions
        walk = Walk(solver.starts, start.rows, start.model.blocks, start.model.triples)
        chains = len(walk.rows)
        scale, mean = solver.rows / chains, np.zeros_like(theta)
        totals, number = [np.zeros_like(fields), np.zeros_like(theta), np.zeros(walk.triples.values.shape)], 0
        for place in range(sweeps):
            walk.move(fields, theta, rng)
            counts = walk.count() * scale
            mean = counts if place == 0 else MEMORY * mean + (1.0 - MEMORY) * counts
            step = FIRST_STEP + (LAST_STEP - FIRST_STEP) * min(place / (MEAN_FROM * sweeps), 1.0)
            fields = fields + solver.change_fields(theta, counts, chains, step, step)
            change = solver.change(theta, counts, mean, chains, step, step)
            theta = np.where(self.zeros, FORBIDDEN, theta + change)
            walk.triples = terms.change(walk.triples, walk.rows, scale, step)
            if place >= MEAN_FROM * sweeps:
                totals = [a + b for a, b in zip(totals, (fields, theta, walk.triples.values), strict=True)]
                number += 1
        fields, theta, values = (total / number for total in totals)
        triples = TripleTerms(walk.triples.columns, walk.triples.levels, values) if terms.solver else None
        model = PairwiseModel(solver.starts, fields, theta, walk.blocks, triples)
        return TableWorld(model, start.histograms, start.targets, walk.rows)


class _PoolCounts:
    """The sum of the contributions of some rows of the pool to a question.

    Parameters
    ----------
    question : Query
    block : Block
        The pool.
    """

    def __init__(self, question: Query, block: Block) -> None:
        self.question, self.block = question, block
        self.cells: NDArray[np.int32] | None = None
        if isinstance(question, TableCounts):
            self.cells = np.array([one.numbers(block) for one in question.columns], dtype=np.int32)
        self.mean = self.sum(np.arange(POOL)) / POOL

    def sum(self, some: NDArray[np.int64]) -> Array:
        """Return the sum over these rows, which may be the same several times."""
        if self.cells is None or not isinstance(self.question, TableCounts):
            return np.asarray(self.question.sum(Block(self.block.x[some], self.block.codes[some])))
        cells, sums = self.cells[:, some], []
        for table, shape in zip(self.question.tables, self.question.shapes, strict=True):
            number = cells[table[0]]
            for place, count in zip(table[1:], shape[1:], strict=True):
                number = number * count + cells[place]
            sums.append(np.bincount(number, minlength=math.prod(shape)))
        return np.concatenate(sums).astype(np.float64)


class _Terms:
    """The terms of the triples that a fit has seen.

    Parameters
    ----------
    fitted : TripleTerms or None
    targets : TripleTargets or None
        All triples that were counted.
    rows : int array
        Rows of the fitted model.
    number : float
        How many rows there are in all.
    """

    def __init__(self, fitted: TripleTerms | None, targets: TripleTargets | None, rows: Rows, number: float) -> None:
        self.solver: TripleSolver | None = None
        if fitted is None or targets is None or not len(fitted.columns):
            return
        known = [tuple(triple) for triple in targets.columns.tolist()]
        self.places = [known.index(tuple(triple)) for triple in fitted.columns.tolist()]
        scale = number / len(rows)
        # what the pairs explain is theirs: the model's counts, less what its terms add to first order
        counts = fitted.count(rows) * scale
        self.solver = TripleSolver(self._choose(targets), counts / np.exp(fitted.values), scale, -math.inf)

    def _choose(self, targets: TripleTargets) -> TripleTargets:
        tables = tuple(targets.tables[place] for place in self.places)
        return TripleTargets(targets.columns[self.places], targets.levels, tables, targets.noise)

    def disturb(self, targets: TripleTargets | None, rng: np.random.Generator) -> _Terms:
        """Return terms with other tables, and with prior means that are drawn from the prior."""
        if self.solver is None or targets is None:
            return self
        result, solver = copy.copy(self), copy.copy(self.solver)
        solver.targets, solver.push = self._choose(targets), np.zeros(solver.mean.shape)
        for place, (table, spread) in enumerate(zip(solver.targets.tables, solver.spreads, strict=True)):
            here = tuple(slice(size) for size in table.shape)
            shrink = solver.targets.noise / (np.maximum(solver.mean[place][here], 0.5) * spread)
            solver.push[place][here] = shrink * project(math.sqrt(spread) * rng.standard_normal(table.shape))
        result.solver = solver
        return result

    def change(self, terms: TripleTerms, rows: Rows, scale: float, step: float) -> TripleTerms:
        """Return the terms after a step."""
        if self.solver is None:
            return terms
        return self.solver.change(terms, terms.count(rows) * scale, scale, step)


def _question(release: Release) -> Query:
    question = release.question
    assert isinstance(question, Query)  # checked when the fit was read
    return question
