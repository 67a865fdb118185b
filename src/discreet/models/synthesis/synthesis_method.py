"""Fits a synthetic table: which releases are asked, and what follows from them.

**Releases.** One-way histograms by trees first (``column_trees``), a release a level; then products of ranks of the
numbers, coarse tables of triples (``triples``), and all pair tables at once (``pair_targets``). Bins are chosen from
the histograms (``column_bins``), so that a bin has some three standard deviations of a pair count. Each question is a
function of earlier releases, and ``TableSynthesis.next_query`` computes it from them alone: a model that is read from a
file finds the same bins.

**Budget.** Shares of the squared budget are constants: 20 % for histograms, 5 % for products where there are two
numbers or more, 10 % for triples of columns, the rest for pairs. With a target its pairs have 12 % more.
Within the histograms a level has a share for each of its columns, so that all counts have the same noise.

**Triples** are all that have the target, or all there are without one, with bins merged to four levels, or three or
two: as many as leave an average cell ``ENOUGH`` standard deviations of noise, by the released number of rows. Where
even two are too many, that release counts all pairs once more, so that nothing is lost. A table of three columns is a
histogram as one of two is, so the bound is that of ``TableCounts``: √k for k tables, and √(2k) where a row is replaced.
Sums of triple tables over one column are counts of pairs, and join these by inverse variances.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Release
from discreet.em import Step
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.method import Method
from discreet.models.noisy_sums import noise_std
from discreet.models.synthesis.column_bins import MOST_BINS, group_categories, group_numbers, shrink_rare
from discreet.models.synthesis.column_trees import ColumnTree, NumberUnits, find_inside, to_shares, total_rows
from discreet.models.synthesis.pair_targets import BinnedColumns, PairTargets, add_coarse, make_targets
from discreet.models.synthesis.pairwise_model import PairwiseModel, fit_pairs
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
MOST_TRIPLES = 1000
LEVELS = (4, 3, 2)  # of a column in a triple
ENOUGH = 5.0  # standard deviations of noise that an average cell of a triple must have
MOST_IN_ALL = 8000  # bins of all columns
LEAST_ROWS = 3.0  # of a bin, in standard deviations of a pair count
EXACT = 1e-6  # variance of a count that is known
SEEN = 4.0  # standard deviations that the count of gaps must have, or there are none


@dataclass(frozen=True)
class DeclaredColumn:
    """A column of the table, from public declarations.

    Attributes
    ----------
    place : int
        Among the numbers, or among the columns of categories.
    units : NumberUnits or None
        Of a number; None for categories.
    count : int
        How many categories there are, a gap's included; 0 for numbers.
    gap : int or None
        Of a number the column of categories that says whether it is missing; of categories the code of a gap. None
        where nothing is missing.
    """

    place: int
    units: NumberUnits | None = None
    count: int = 0
    gap: int | None = None

    @property
    def levels(self) -> int:
        """How many releases its histogram takes."""
        return 1 if self.units is None else self.units.levels


@dataclass(frozen=True, eq=False)
class ColumnHistogram:
    """The released histogram of a column, and its bins.

    Attributes
    ----------
    column : DeclaredColumn
    cuts : array
        Of a number where its cells begin and end, in units.
    shares : array
        The probability of each cell or category, a gap's last.
    groups : array of int
        The bin of each of them.
    noise : array
        The variance of the number of rows in each bin.
    """

    column: DeclaredColumn
    cuts: Whole
    shares: Array
    groups: Whole
    noise: Array

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return int(self.groups.max()) + 1

    @property
    def ordered(self) -> int:
        """How many bins are those of numbers, without a gap's."""
        if self.column.units is None:
            return 0
        return int(self.groups[: len(self.cuts) - 1].max()) + 1

    @property
    def values(self) -> Array:
        """The mean value of each bin of a number, without a gap's."""
        if self.column.units is None:
            return np.zeros(0)
        ends, inside = self.column.units.ends[self.cuts], len(self.cuts) - 1
        weights = self.shares[:inside] + 1e-12 / inside
        groups, middles = self.groups[:inside], (ends[:-1] + ends[1:]) / 2.0
        return np.asarray(np.bincount(groups, weights * middles) / np.bincount(groups, weights))

    @property
    def has_gaps(self) -> bool:
        """Whether more values are missing than noise explains."""
        at = -1 if self.column.units is not None else self.column.gap
        return self.column.gap is not None and bool(self.shares[at] > 0.0)

    @property
    def cells(self) -> Cells:
        """The bins as cells of a query."""
        if self.column.units is None:
            return CategoryCells(self.column.place, tuple(self.groups.tolist()))
        inside = len(self.cuts) - 1
        first = np.flatnonzero(np.diff(self.groups[:inside])) + 1
        edges = tuple(self.column.units.ends[self.cuts[first]].tolist())
        return NumberCells(self.column.place, edges, self.column.gap if self.has_gaps else None)


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

    @property
    def levels(self) -> int:
        """How many releases the histograms take."""
        return max(column.levels for column in self.columns)

    @property
    def _stages(self) -> list[str]:
        """What each release is about."""
        more = ["products"] * (len(self.numbers) > 1)
        several = len(self.columns) > 2
        more += ["target"] * (self.target is not None and several) + ["triples"] * (self.three and several)
        more += ["pairs"] * bool(self.pairs)
        return ["histograms"] * self.levels + more

    @property
    def shares(self) -> list[float]:
        """The share of each release; see the module."""
        active = [sum(column.levels > level for column in self.columns) for level in range(self.levels)]
        first = HISTOGRAMS if self.pairs else 1.0
        result = [first * number / sum(active) for number in active]
        if "products" in self._stages:
            result.append(PRODUCTS)
        if "target" in self._stages:
            result.append(TARGET if self.three else EARLIER_TARGET)
        if "triples" in self._stages:
            result.append(TRIPLES)
        if self.pairs:
            result.append(1.0 - math.fsum(result))
        return result

    @property
    def earlier(self) -> TableSynthesis | None:
        """Without triples, as the first version was."""
        return replace(self, three=False) if "triples" in self._stages else None

    def for_releases(self, number: int) -> TableSynthesis:
        """Return the method that asks for so many releases: this one, or the earlier."""
        return self if len(self.shares) == number or self.earlier is None else self.earlier

    @cached_property
    def pair_noise(self) -> float:
        """The standard deviation of a pair count, before grid and float error."""
        return self._table_noise(self.shares[-1], len(self.pairs)) if self.pairs else 0.0

    def _table_noise(self, share: float, tables: int) -> float:
        """Return the standard deviation of a count of so many tables that are released together."""
        mu = normal_mu(self.guarantee.epsilon, self.guarantee.delta) * math.sqrt(share)
        moved = 2.0 if self.guarantee.neighbors is Neighbors.REPLACE_ONE else 1.0
        return self.max_rows * math.sqrt(moved * tables) / mu

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return questions like those that ``run`` will ask: a histogram, two numbers, the first pair of bins."""
        trees = [self._start(column) for column in self.columns]
        asked: list[Question] = []
        for stage in self._stages:
            cells = tuple(_tree_cells(one, tree) for one, tree in zip(self.columns, trees, strict=True))
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
        histograms = self.histograms(releases[: self.levels])
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
            trees = self._trees(releases)
            active = [place for place, column in enumerate(self.columns) if column.levels > len(releases)]
            cells = tuple(_tree_cells(self.columns[place], trees[place]) for place in active)
            return TableCounts(self.space, self.categories, cells, tuple((place,) for place in range(len(cells))))
        histograms = self.histograms(releases[: self.levels])
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
        return TableCounts(self.space, self.categories, cells, self._tables(stage))

    def _tables(self, stage: str) -> tuple[tuple[int, int], ...]:
        """Return the pairs of columns that a release counts."""
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
        histograms, release = self.histograms(releases[: self.levels]), counted[self._stages.index("triples")]
        levels, triples = self._choose_triples(histograms, self._binned(histograms, releases).rows)
        if not triples:
            return None
        shapes = [tuple(int(levels[column].max()) + 1 for column in triple) for triple in triples]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        pieces = np.split(release["counts"], ends[:-1])
        tables = tuple(piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True))
        return TripleTargets(np.array(triples), np.concatenate(levels), tables, noise_std(release, "counts") ** 2)

    @staticmethod
    def _start(column: DeclaredColumn) -> ColumnTree:
        units = NumberUnits(0.0, float(column.count - 1), True) if column.units is None else column.units
        if column.units is None:  # every category at once, however many
            return ColumnTree(units, np.arange(column.count + 1))
        return ColumnTree.start(units, gap=column.gap is not None)

    def _trees(self, releases: Sequence[Release]) -> list[ColumnTree]:
        """Return the trees of all columns after these releases of histograms, cut for the next one.

        Those of the last releases are kept, since most that follows from releases asks for them.
        """
        kept: Any = self.__dict__.get("_kept")
        if kept is None or len(kept[0]) != len(releases) or any(map(operator.is_not, kept[0], releases)):
            kept = self.__dict__["_kept"] = (tuple(releases), self._grow_trees(releases))
        found: list[ColumnTree] = kept[1]
        return found

    def _grow_trees(self, releases: Sequence[Release]) -> list[ColumnTree]:
        trees = [self._start(column) for column in self.columns]
        for level, release in enumerate(releases):
            active = [place for place, column in enumerate(self.columns) if column.levels > level]
            noise = noise_std(release, "counts") ** 2
            ends = np.cumsum([trees[place].size for place in active])[:-1]
            for place, counts in zip(active, np.split(release["counts"], ends), strict=True):
                trees[place] = trees[place].add(counts, noise)
            rows = total_rows([tree.estimate() for tree in trees], release.size.rows)
            for place in active:
                if self.columns[place].levels > level + 1:
                    trees[place] = trees[place].grow(rows)
        return trees

    def _recounted_trees(self, releases: Sequence[Release], others: Sequence[Release]) -> list[ColumnTree]:
        """Return the trees of these releases with the counts of others."""
        trees = self._trees(releases)
        counted: list[list[tuple[Whole, Array]]] = [[] for _ in trees]
        for level, other in enumerate(others):
            active = [place for place, column in enumerate(self.columns) if column.levels > level]
            ends = np.cumsum([len(trees[place].counted[level][1]) for place in active])[:-1]
            for place, counts in zip(active, np.split(other["counts"], ends), strict=True):
                counted[place].append((trees[place].counted[level][0], counts))
        return [replace(tree, counted=tuple(own)) for tree, own in zip(trees, counted, strict=True)]

    def histograms(
        self,
        releases: Sequence[Release],
        others: Sequence[Release] | None = None,
        bins: Sequence[ColumnHistogram] | None = None,
    ) -> list[ColumnHistogram]:
        """Return the histogram and the bins of each column, from the releases of histograms.

        ``others`` are releases of the same questions, whose counts are read in the ``bins`` of these.
        """
        trees = self._trees(releases)
        estimates = [tree.estimate() for tree in trees]
        rows = total_rows(estimates, releases[0].size.rows)
        if others is not None:
            trees = self._recounted_trees(releases, others)
            estimates = [tree.estimate() for tree in trees]
        result = []
        for place, (column, tree) in enumerate(zip(self.columns, trees, strict=True)):
            counts, noise = estimates[place]
            given = dict(self.known).get(place)
            if given is not None:
                counts, noise = _fill_known(np.array(given), counts, noise, column.gap, rows)
            result.append(
                self._histogram(place, column, tree, counts, noise, rows, None if bins is None else bins[place])
            )
        return result

    def _histogram(
        self,
        place: int,
        column: DeclaredColumn,
        tree: ColumnTree,
        counts: Array,
        noise: Array,
        rows: float,
        bins: ColumnHistogram | None,
    ) -> ColumnHistogram:
        least = max(LEAST_ROWS * self.pair_noise, 1.0)
        known = np.ones(len(counts), dtype=bool)  # all but a gap's that is not more than noise
        if column.gap is not None:
            at = len(counts) - 1 if column.units is not None else column.gap
            known[at] = counts[at] > SEEN * math.sqrt(noise[at]) if bins is None else bins.has_gaps
        shares, groups = np.zeros(len(counts)), np.zeros(len(counts), dtype=np.int64)
        shares[known] = to_shares(counts[known], rows)
        if column.units is None:
            rare = shares * rows < least
            kept = np.isin(
                np.arange(len(counts)), [code for pair in self.forbidden for at, code in pair if at == place]
            )
            groups[known] = group_categories(shares[known] * rows, least, self.most_bins, kept[known])
            rare &= known & np.array(place not in dict(self.known))
            shares[known] = to_shares(shrink_rare(counts, rare, float(noise[0]))[known], rows)
        else:
            inside = len(tree.cuts) - 1
            widths = np.diff(column.units.ends[tree.cuts])
            groups[:inside] = group_numbers(widths, shares[:inside] * rows, least)
            groups[inside:] = np.where(known[inside:], groups.max() + 1, 0)
            ends = column.units.ends[tree.cuts]
            known[:inside] = find_inside((ends[:-1] + ends[1:]) / 2.0, counts[:inside], noise[:inside])
            shares[:] = 0.0
            shares[known] = to_shares(counts[known], rows)
        groups = groups if bins is None else bins.groups
        return ColumnHistogram(column, tree.cuts, shares, groups, np.bincount(groups, noise).astype(np.float64))

    def _binned(self, histograms: Sequence[ColumnHistogram], releases: Sequence[Release]) -> BinnedColumns:
        rows = total_rows([tree.estimate() for tree in self._trees(releases[: self.levels])], releases[0].size.rows)
        counts = tuple(np.asarray(np.bincount(one.groups, one.shares) * rows, np.float64) for one in histograms)
        noise, ordered = tuple(one.noise for one in histograms), tuple(one.ordered for one in histograms)
        return BinnedColumns(rows, counts, noise, ordered, tuple(one.values for one in histograms))

    def targets(self, releases: Sequence[Release], others: Sequence[Release] | None = None) -> PairTargets:
        """Return what the model is fitted to; of others in the same bins, if there are some (``histograms``)."""
        histograms = self.histograms(releases[: self.levels])
        binned, counted = self._binned(histograms, releases), releases
        if others is not None:
            histograms = self.histograms(releases[: self.levels], others[: self.levels], histograms)
            counted = others
            binned = replace(self._binned(histograms, releases), scored=binned)
        products, spread = None, 0.0
        if len(self.numbers) > 1:
            release = counted[self.levels]
            d = len(self.columns)
            products, spread = np.zeros((d, d)), noise_std(release, "products") ** 2
            for (i, j), value in zip(combinations(self.numbers, 2), release["products"], strict=True):
                products[i, j] = products[j, i] = value
        d = len(self.columns)
        value = {(i, j): np.zeros((histograms[i].bins, histograms[j].bins)) for i, j in self.pairs}
        weight = np.zeros((d, d))  # Σ y/v and Σ 1/v over the releases of a pair
        three = self.triples(releases, counted)
        for stage, release in zip(self._stages, counted, strict=True):
            if stage not in ("target", "pairs") and (stage != "triples" or three is not None):
                continue
            inverse, start = noise_std(release, "counts") ** -2, 0
            for i, j in self._tables(stage):
                shape = value[i, j].shape
                value[i, j] += inverse * release["counts"][start : start + math.prod(shape)].reshape(shape)
                weight[i, j] += inverse
                weight[j, i] = weight[i, j]
                start += math.prod(shape)
        tables = {(i, j): table / weight[i, j] for (i, j), table in value.items()}
        noise = 1.0 / np.where(weight > 0.0, weight, 1.0)
        if three is not None:
            _join_triples(three, tables, noise, binned)
        return make_targets(binned, tables, noise, products, spread, self.target)


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


def _fill_known(shares: Array, counts: Array, noise: Array, gap: int | None, rows: float) -> tuple[Array, Array]:
    """Return the counts of categories whose shares are known, and their variances.

    Only the number of gaps is as it was released, and all other rows have the known shares. The variances are very
    small, the gaps' too, so that pair tables move none of them.
    """
    result, missing = np.zeros(len(counts)), 0.0
    if gap is not None and counts[gap] > SEEN * math.sqrt(noise[gap]):
        missing = result[gap] = min(float(counts[gap]), rows)
    result[np.arange(len(counts)) != gap] = shares * (rows - missing)
    return result, np.full(len(counts), EXACT)


def _tree_cells(column: DeclaredColumn, tree: ColumnTree) -> Cells:
    """Return the cells of a column's next histogram."""
    if column.units is None:
        return CategoryCells(column.place, tuple(range(column.count)))
    return NumberCells(column.place, column.units.edges(tree.cuts), column.gap)


def _two_cells(column: DeclaredColumn, cells: Cells) -> Cells:
    """Return cells like those of a pair table, of which nothing is known yet: at most two of numbers."""
    if isinstance(cells, CategoryCells):
        return cells
    return NumberCells(cells.column, cells.edges[:1], cells.gap)
