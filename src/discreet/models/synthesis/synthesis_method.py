"""Fits a synthetic table: which releases are asked, and what follows from them.

**Releases.** One-way histograms by trees first (``column_trees``), a release a level; then products of ranks of the
numbers, coarse tables of triples (``triples``), all pair tables at once (``pair_targets``), and those of some pairs
once more (``second_look``). Bins are chosen from the histograms (``column_bins``), so that a bin has some three
standard deviations of a pair count. Each question is a function of earlier releases, and ``TableSynthesis.next_query``
computes it from them alone: a model that is read from a file finds the same bins.

**Budget.** Shares of the squared budget are constants: 20 % for histograms, 5 % for products where there are two
numbers or more, 10 % for triples of columns, the rest for pairs, half of it for their second look. With a target its
pairs have 12 % more.
Within the histograms a level has a share for each of its columns, so that all counts have the same noise.

**Triples** are all that have the target, or all there are without one, with bins merged to four levels, or three or
two: as many as leave an average cell ``ENOUGH`` standard deviations of noise, by the released number of rows. Where
even two are too many, that release counts all pairs once more, so that nothing is lost. A table of three columns is a
histogram as one of two is, so the bound is that of ``TableCounts``: √k for k tables, and √(2k) where a row is replaced.
Sums of triple tables over one column are counts of pairs, and join these by inverse variances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Release
from discreet.em import Step
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.method import Method
from discreet.models.noisy_sums import noise_std
from discreet.models.synthesis.column_bins import MOST_BINS
from discreet.models.synthesis.column_histograms import (
    ColumnHistogram,
    DeclaredColumn,
    TableHistograms,
    columns_at_levels,
)
from discreet.models.synthesis.pair_targets import BinnedColumns, PairTargets, add_coarse, make_targets
from discreet.models.synthesis.pairwise_fit import fit_pairs
from discreet.models.synthesis.pairwise_model import PairwiseModel
from discreet.models.synthesis.second_look import choose_pairs
from discreet.models.synthesis.triples import TripleTargets, merge_bins
from discreet.queries.counts.table_counts import MOST_CELLS, CategoryCells, Cells, NumberCells, TableCounts
from discreet.queries.moments.score_products import ScoreProducts
from discreet.queries.question import Query, Question
from discreet.records import Ball, Block, Box

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

HISTOGRAMS = 0.2  # share of the budget
PRODUCTS = 0.05
TRIPLES = 0.1
TARGET = 0.12
EARLIER_TARGET = 0.15  # before there were triples
AGAIN = 0.5  # of what is left for pairs: the second look
MOST_TRIPLES = 1000
LEVELS = (4, 3, 2)  # of a column in a triple
ENOUGH = 5.0  # standard deviations of noise that an average cell of a triple must have
MOST_IN_ALL = 8000  # bins of all columns


@dataclass(frozen=True, eq=False)
class FittedTable:
    """The result of a fit: the pairwise model of the bins; all else follows from the releases."""

    model: PairwiseModel

    def rescale(self, offset: Array, scale: Array) -> FittedTable:
        """Return itself: bins are in the data's own units."""
        return self


@dataclass(frozen=True)
class TableSynthesis(Method[FittedTable]):
    """Histograms, products and pair tables, and the model that follows from them.

    Parameters
    ----------
    columns : tuple of DeclaredColumn
    space : Box or None
        Of the numbers.
    categories : tuple of int
        How many categories each column of them has.
    guarantee : Guarantee
    max_rows : int
        How many rows of a unit count.
    target : int or None
        A column whose pairs are counted once more, by themselves: what is known about it matters most.
    forbidden : tuple of ((int, int), (int, int))
        Pairs of categories that cannot occur together, each as its column and its code. They have bins of their own.
    three : bool
        Whether triples of columns are counted.
    again : bool
        Whether some pairs are counted once more.
    known : tuple of (int, tuple of float)
        Columns of categories and their shares, which are known from elsewhere: of rows without a gap there.
    """

    columns: tuple[DeclaredColumn, ...]
    space: Box | None
    categories: tuple[int, ...]
    guarantee: Guarantee
    max_rows: int = 1
    target: int | None = None
    forbidden: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()
    three: bool = True
    again: bool = True
    known: tuple[tuple[int, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        for place in range(len(self.columns)):
            codes = {code for pair in self.forbidden for column, code in pair if column == place}
            if len(codes) >= self.most_bins:
                raise ArgumentError("zeros", UNSHOWN, f"fewer than {self.most_bins} categories of a column in pairs")

    @cached_property
    def most_bins(self) -> int:
        """The largest number of bins of a column, so that tables of pairs, and the model, have a size that fits."""
        fit = min(math.sqrt(MOST_CELLS / max(len(self.pairs), 1)), MOST_IN_ALL / len(self.columns))
        return max(int(fit), MOST_BINS + 1)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The columns of numbers."""
        return tuple(place for place, column in enumerate(self.columns) if column.units is not None)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All pairs of columns."""
        return tuple(combinations(range(len(self.columns)), 2))

    @cached_property
    def one_ways(self) -> TableHistograms:
        """What the releases of histograms say."""
        apart = tuple(
            frozenset(code for pair in self.forbidden for column, code in pair if column == place)
            for place in range(len(self.columns))
        )
        return TableHistograms(self.columns, self.pair_noise, self.most_bins, apart, self.known)

    @property
    def _stages(self) -> list[str]:
        """What each release is about."""
        more = ["products"] * (len(self.numbers) > 1)
        several = len(self.columns) > 2
        more += ["target"] * (self.target is not None and several) + ["triples"] * (self.three and several)
        more += ["pairs"] * bool(self.pairs) + ["again"] * (self.again and several)
        return ["histograms"] * len(columns_at_levels(self.columns)) + more

    @property
    def shares(self) -> list[float]:
        """The share of each release; see the module."""
        counted = [len(places) for places in columns_at_levels(self.columns)]
        first = HISTOGRAMS if self.pairs else 1.0
        result = [first * number / sum(counted) for number in counted]
        if "products" in self._stages:
            result.append(PRODUCTS)
        if "target" in self._stages:
            result.append(TARGET if self.three else EARLIER_TARGET)
        if "triples" in self._stages:
            result.append(TRIPLES)
        if self.pairs:
            left = 1.0 - math.fsum(result)
            result += [(1.0 - AGAIN) * left, AGAIN * left] if "again" in self._stages else [left]
        return result

    @property
    def earlier(self) -> TableSynthesis | None:
        """Without a second look, or without triples too, as the first version was."""
        if "again" in self._stages:
            return replace(self, again=False)
        return replace(self, three=False) if "triples" in self._stages else None

    def for_releases(self, number: int) -> TableSynthesis:
        """Return the method that asks for so many releases: this one, or an earlier one."""
        return self if len(self.shares) == number or self.earlier is None else self.earlier.for_releases(number)

    @cached_property
    def pair_noise(self) -> float:
        """The standard deviation of a count of all pairs with all that is for pairs, before grid and float error."""
        if not self.pairs:
            return 0.0
        return self._table_noise(math.fsum(self.shares[self._stages.index("pairs") :]), len(self.pairs))

    def _table_noise(self, share: float, tables: int) -> float:
        """Return the standard deviation of a count of so many tables that are released together."""
        mu = normal_mu(self.guarantee.epsilon, self.guarantee.delta) * math.sqrt(share)
        moved = 2.0 if self.guarantee.neighbors is Neighbors.REPLACE_ONE else 1.0
        return self.max_rows * math.sqrt(moved * tables) / mu

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return questions like those that ``run`` will ask: a histogram, two numbers, the first pair of bins."""
        asked: list[Question] = []
        cells = self.one_ways.next_cells(())
        for stage in self._stages:
            if stage == "products":
                some = tuple(NumberCells(self.columns[place].place, (0.0,)) for place in self.numbers)
                asked.append(ScoreProducts(self.space, self.categories, some, ((-1.0, 1.0),) * len(some)))
            else:
                alone = tuple((place,) for place in range(len(cells)))
                few = tuple(_two_cells(one, cell) for one, cell in zip(self.columns, cells, strict=True))
                asked.append(
                    TableCounts(self.space, self.categories, cells, alone)
                    if stage == "histograms"
                    else TableCounts(self.space, self.categories, few, self._tables(stage))
                )
        return asked

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[FittedTable, list[Release]]:
        """Measure everything, and fit the model."""
        releases: list[Release] = []
        for measure in measures:
            releases.append(measure(self.next_query(releases)))
        return FittedTable(self.fit(releases, rng)), releases

    def fit(self, releases: Sequence[Release], rng: np.random.Generator) -> PairwiseModel:
        """Return the model of the bins."""
        return fit_pairs(self.targets(releases), self.zeros(releases), rng, self.triples(releases))

    def zeros(self, releases: Sequence[Release]) -> NDArray[np.bool_]:
        """Return which pairs of bins cannot occur, shape (L, L)."""
        histograms = self.one_ways.estimate(releases)
        starts = np.cumsum([0, *(one.bins for one in histograms)])
        result = np.zeros((int(starts[-1]),) * 2, dtype=bool)
        for pair in self.forbidden:
            a, b = (starts[column] + histograms[column].groups[code] for column, code in pair)
            result[a, b] = result[b, a] = True
        return result

    def as_block(self, drawn: Sequence[tuple[NDArray[np.generic], NDArray[np.bool_]]]) -> Block:
        """Return drawn columns, each with where it is missing, as the rows that questions are asked of."""
        n = len(drawn[0][0])
        x = np.zeros((n, 0 if self.space is None else self.space.dimension))
        codes = np.zeros((n, len(self.categories)), dtype=np.int64)
        for column, (values, missing) in zip(self.columns, drawn, strict=True):
            if column.units is None:
                codes[:, column.place] = values
            else:
                x[:, column.place] = np.where(missing, column.units.low, values)
                if column.gap is not None:
                    codes[:, column.gap] = missing
        return Block(x, codes)

    def next_query(self, releases: Sequence[Release]) -> Query:
        """Return the question after these releases."""
        stage = self._stages[len(releases)]
        if stage == "histograms":
            cells = self.one_ways.next_cells(releases)
            return TableCounts(self.space, self.categories, cells, tuple((place,) for place in range(len(cells))))
        histograms = self.one_ways.estimate(releases)
        cells = tuple(one.cells for one in histograms)
        if stage == "products":
            binned = self._binned(histograms, releases)
            scores = tuple(tuple(binned.ranks(place).tolist()) for place in self.numbers)
            return ScoreProducts(self.space, self.categories, tuple(cells[place] for place in self.numbers), scores)
        if stage == "triples":
            levels, triples = self._choose_triples(histograms, self._binned(histograms, releases).rows)
            if triples:
                coarse = tuple(
                    replace(o, groups=one[o.groups]).cells for o, one in zip(histograms, levels, strict=True)
                )
                return TableCounts(self.space, self.categories, coarse, triples)
        if stage == "again":
            number, share = len(self._stages) - 1, self.shares[-1]
            chosen = choose_pairs(self.targets(releases[:number]), lambda tables: self._table_noise(share, tables))
            return TableCounts(self.space, self.categories, cells, chosen)
        return TableCounts(self.space, self.categories, cells, self._tables(stage))

    def _tables(self, stage: str) -> tuple[tuple[int, int], ...]:
        """Return the pairs of columns that a release counts, before the second look."""
        return tuple(pair for pair in self.pairs if stage != "target" or self.target in pair)

    def _choose_triples(
        self, histograms: Sequence[ColumnHistogram], rows: float
    ) -> tuple[list[Whole], tuple[tuple[int, int, int], ...]]:
        """Return the level of each bin of each column, and the triples to count; see the module."""
        found = list(islice(self._candidates(), MOST_TRIPLES + 1))
        for most in LEVELS if len(found) <= MOST_TRIPLES else ():
            shares = [np.asarray(np.bincount(one.groups, one.shares), np.float64) for one in histograms]
            levels = [merge_bins(own, one.ordered, most) for own, one in zip(shares, histograms, strict=True)]
            sizes = [int(one.max()) + 1 for one in levels]
            some = tuple(triple for triple in found if min(sizes[column] for column in triple) > 1)
            cells = [math.prod(sizes[column] for column in triple) for triple in some]
            share = self.shares[self._stages.index("triples")]
            if some and rows * len(cells) >= ENOUGH * self._table_noise(share, len(some)) * sum(cells):
                return levels, some
        return [], ()

    def _candidates(self) -> Iterator[tuple[int, int, int]]:
        """Return the triples that may be counted: those with the target, or all."""
        for triple in combinations(range(len(self.columns)), 3):
            if self.target is None or self.target in triple:
                yield triple

    def triples(self, releases: Sequence[Release], others: Sequence[Release] | None = None) -> TripleTargets | None:
        """Return the released tables of triples, or others in the same bins; None where there are none."""
        if "triples" not in self._stages:
            return None
        counted = releases if others is None else others
        histograms, release = self.one_ways.estimate(releases), counted[self._stages.index("triples")]
        levels, triples = self._choose_triples(histograms, self._binned(histograms, releases).rows)
        if not triples:
            return None
        shapes = [tuple(int(levels[column].max()) + 1 for column in triple) for triple in triples]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        pieces = np.split(release["counts"], ends[:-1])
        tables = tuple(piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True))
        return TripleTargets(np.array(triples), np.concatenate(levels), tables, noise_std(release, "counts") ** 2)

    def _binned(self, histograms: Sequence[ColumnHistogram], releases: Sequence[Release]) -> BinnedColumns:
        rows = self.one_ways.rows(releases)
        counts = tuple(np.asarray(np.bincount(one.groups, one.shares) * rows, np.float64) for one in histograms)
        noise, ordered = tuple(one.noise for one in histograms), tuple(one.ordered for one in histograms)
        return BinnedColumns(rows, counts, noise, ordered, tuple(one.values for one in histograms))

    def targets(self, releases: Sequence[Release], others: Sequence[Release] | None = None) -> PairTargets:
        """Return what the model is fitted to; of others in the same bins, if there are some (``TableHistograms``)."""
        histograms = self.one_ways.estimate(releases)
        binned, counted = self._binned(histograms, releases), releases
        if others is not None:
            histograms = self.one_ways.estimate(releases, others, histograms)
            counted = others
            binned = replace(self._binned(histograms, releases), scored=binned)
        products, spread = None, 0.0
        if len(self.numbers) > 1:
            release = counted[self._stages.index("products")]
            d = len(self.columns)
            products, spread = np.zeros((d, d)), noise_std(release, "products") ** 2
            for (i, j), value in zip(combinations(self.numbers, 2), release["products"], strict=True):
                products[i, j] = products[j, i] = value
        d = len(self.columns)
        value = {(i, j): np.zeros((histograms[i].bins, histograms[j].bins)) for i, j in self.pairs}
        weight = np.zeros((d, d))  # Σ y/v and Σ 1/v over the releases of a pair
        three = self.triples(releases, counted)
        for place, (stage, release) in enumerate(zip(self._stages, counted, strict=False)):  # without a second look yet
            if stage not in ("target", "pairs", "again") and (stage != "triples" or three is not None):
                continue
            inverse, start = noise_std(release, "counts") ** -2, 0
            asked = releases[place].question if stage == "again" else None
            for i, j in asked.tables if isinstance(asked, TableCounts) else self._tables(stage):
                shape = value[i, j].shape
                value[i, j] += inverse * release["counts"][start : start + math.prod(shape)].reshape(shape)
                weight[i, j] += inverse
                weight[j, i] = weight[i, j]
                start += math.prod(shape)
        tables = {(i, j): table / weight[i, j] for (i, j), table in value.items()}
        noise = 1.0 / np.where(weight > 0.0, weight, 1.0)
        if three is not None:
            _join_triples(three, tables, noise, binned)
        return make_targets(binned, tables, noise, products, spread, self.target, mixed="again" in self._stages)


def _join_triples(
    three: TripleTargets, tables: dict[tuple[int, int], Array], noise: Array, columns: BinnedColumns
) -> None:
    """Join the sums of triple tables with the pair tables; both tables and their noise are changed."""
    sums: dict[tuple[int, int], Array] = {}
    weights: dict[tuple[int, int], float] = {}
    for triple, table in zip(three.columns.tolist(), three.tables, strict=True):
        for axis, pair in ((2, triple[:2]), (1, triple[::2]), (0, triple[1:])):
            key, inverse = (pair[0], pair[1]), 1.0 / (three.noise * table.shape[axis])
            sums[key] = sums.get(key, 0.0) + inverse * table.sum(axis=axis)
            weights[key] = weights.get(key, 0.0) + inverse
    for (i, j), weight in weights.items():
        levels = three.levels[columns.places(i)], three.levels[columns.places(j)]
        noise[i, j] = add_coarse(tables[i, j], float(noise[i, j]), levels, sums[i, j] / weight, 1.0 / weight)
        noise[j, i] = noise[i, j]


def _two_cells(column: DeclaredColumn, cells: Cells) -> Cells:
    """Return cells like those of a pair table, of which nothing is known yet: at most two of numbers."""
    if isinstance(cells, CategoryCells):
        return cells
    return NumberCells(cells.column, cells.edges[:1], cells.gap)
