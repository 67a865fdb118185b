"""Private rank tests of two groups, on a declared grid (Wilcoxon 1945, Mann and Whitney 1947).

One release has the counts of each bin of the grid in each group, with the whole budget: A and B, of k bins.

**The test.** A row in bin i has the score s_i, the share of all rows below the bin plus half of those in it, from the
released counts of both groups together. The test compares the mean scores of the two groups (``contrasts``), and holds
for any scores. With k bins that are about equally full the noise on the difference has the variance of k/6 counts. So
few bins are better where noise dominates, and ten keep 99 % of the information of ranks.

**The effect.** P(x > x') + ½·P(x = x') for rows x of the first and x' of the second group is, with bins as ties,
Σ_i A_i·(B_1 + … + B_{i−1} + ½B_i)/(ΣA·ΣB). Its numerator is a sum of products of independent noisy counts, so it is
unbiased. The interval draws noise, and for a population also rows, around the released counts (at least 0), and takes
the quantile of the absolute error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.queries.adaptors import Grouped
from discreet.queries.question import Query
from discreet.statistics.comparisons.contrasts import DRAWS, SEED, Contrast
from discreet.statistics.comparisons.group_comparison import GroupComparison, name_strata
from discreet.statistics.comparisons.measured import choose_pair, compared_cells, name_between
from discreet.statistics.counted_columns import CountedColumn, bins_of, name_column
from discreet.statistics.groups import By, Groups, ask_groups
from discreet.statistics.request import Request, statistic
from discreet.statistics.statistic import group_facts

Array = NDArray[np.float64]

MOST_BINS = 1000


def pooled_scores(cells: Array) -> Array:
    """Return the score of each bin, in [0, 1], from counts of shape (…, 2, k).

    >>> pooled_scores(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    [0.25, 0.75]
    """
    counts = np.maximum(cells.sum(axis=-2), 0.0)
    total = counts.sum(axis=-1, keepdims=True)
    shares = np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), 1.0 / counts.shape[-1])
    return np.asarray(np.cumsum(shares, axis=-1) - shares / 2.0)


def rank_contrast(cells: Array, noise: Any, copies: int, draws: int = DRAWS) -> Contrast:
    """Return the contrast of mean scores of two groups, from counts of shape (…, 2, k)."""
    scores = pooled_scores(cells)
    return Contrast(cells, np.array([1.0, 0.0]), scores, scores**2, noise, copies, None, draws)


def superiority(cells: Array) -> Array:
    """Return P(x > x') + ½·P(x = x') from counts of shape (…, 2, k), in [0, 1].

    >>> float(superiority(np.array([[0.0, 8.0], [4.0, 4.0]])))
    0.75
    """
    first, second = cells[..., 0, :], cells[..., 1, :]
    below = np.cumsum(second, axis=-1) - second / 2.0
    sizes = np.maximum(cells.sum(axis=-1), 1.0).prod(axis=-1)
    return np.asarray(np.clip((first * below).sum(axis=-1) / sizes, 0.0, 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class RankTest(GroupComparison):
    """A private rank test of two groups.

    Attributes
    ----------
    value : float or array
        The probability that a row of the first group is above one of the second, with half of that of a tie: ½ where
        neither group tends to be higher. With groups (``by``), one for each of them.
    p_value : float or array
        Of a two-sided test that the two were drawn from the same distribution. It accounts for sampling and for the
        noise. Rows of one person may depend on each other in any way; see
        ``discreet.statistics.comparisons.contrasts``. Persons must be independent.
    compared : tuple
        The labels of the two groups that are compared.
    between : str
        The column that divides them.
    contrasts : tuple of Contrast
        The released counts of bins of each group, with the scores of the test.
    """

    compared: tuple[Any, Any]
    between: str

    _possible: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def _ends(self, contrast: Contrast, level: float, of: str) -> tuple[float, float]:
        return rank_interval(contrast, level, of == "population")

    def _compared_cells(self) -> dict[str, Any]:
        return compared_cells(self.compared)

    @property
    def _axis_label(self) -> str:
        first, second = self.compared
        return f"probability that {self.columns[0]} of {first} is above that of {second}"

    def _shown(self) -> str:
        first, second = self.compared
        return f"{super()._shown()} for {first} above {second}, {self._describe_p_values()}"


def rank_interval(contrast: Contrast, level: float, sampled: bool) -> tuple[float, float]:
    """Return the ends of an interval for the effect; see the module."""
    if contrast.says_nothing(level):
        return 0.0, 1.0
    rng = np.random.default_rng(SEED)
    counts = np.maximum(contrast.cells, 0.0)
    sizes = np.maximum(contrast.cells.sum(axis=-1), 1.0)
    totals = counts.sum(axis=-1, keepdims=True)
    shares = np.where(totals > 0.0, counts / np.where(totals > 0.0, totals, 1.0), 1.0 / counts.shape[-1])
    around = shares * sizes[:, None]
    center, drawn = float(superiority(around)), np.broadcast_to(around, (contrast.draws, *around.shape))
    if sampled:
        persons = np.maximum(np.rint(sizes / contrast.copies), 1.0).astype(np.int64)
        several = [
            rng.multinomial(number, share, contrast.draws) for number, share in zip(persons, shares, strict=True)
        ]
        drawn = np.stack(several, axis=1) * (sizes / persons)[:, None]
    drawn = drawn + contrast.noise.simulate(rng, drawn.shape)
    half = float(np.quantile(np.abs(superiority(drawn) - center), level, method="higher"))
    value = float(superiority(contrast.cells))
    return max(value - half, 0.0), min(value + half, 1.0)


@dataclass(frozen=True, kw_only=True)
class RankTestRequest(Request[RankTest]):
    """A request for a rank test.

    Attributes
    ----------
    query : Query
        The counts of the bins, over all rows.
    column, between : str
    pair : (int, int)
        The codes of the two groups that are compared.
    groups : Groups or None
        Those of ``by``.
    """

    query: Query
    column: str
    between: str
    pair: tuple[int, int]
    groups: Groups | None

    def plan(self) -> Inquiry[RankTest]:
        """Return one question for the bins of all groups."""
        place = self.curator.category_columns.index(self.between)
        values = self.curator.categories[place]
        query = ask_groups(self.groups, Grouped(self.query, len(values), place))

        def answer(measure: Measure) -> RankTest:
            release = measure(query)
            cells = release.value.reshape(-1, len(values), self.query.size)[:, list(self.pair)]
            facts = {
                "columns": (self.column,),
                **group_facts(self.groups),
                "single": True,
                "contrasts": tuple(rank_contrast(one, release.noise, self.curator.setting.max_rows) for one in cells),
                "compared": tuple(values[code] for code in self.pair),
                "between": self.between,
            }
            effects = superiority(cells)
            value = effects if self.groups is not None else float(effects[0])
            return RankTest.from_releases(value, self.curator, self.guarantee, [release], **facts)

        return self.make_inquiry([query], answer, "rank test")


@statistic(between=0)
def rank_test(
    data: Any,
    column: Any = None,
    *,
    between: str | int,
    groups: Any = None,
    bins: Any = None,
    by: By | None = None,
    epsilon: float,
    delta: float = 0.0,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[RankTest]:
    """Return a private rank test of two groups: whether one of them tends to have higher values (Mann and Whitney).

    Parameters
    ----------
    data, epsilon, delta, bits
        As in ``mean``.
    column : str or int
        A declared column of numbers or dates, or of categories in the order of their declaration.
    between, groups, by
        As in ``difference``.
    bins : int, sequence, or str, optional
        The grid, as in ``histogram``; ten bins by default. Values in one bin are ties. Few bins are better where noise
        dominates; bins that are about equally full are best.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    RankTest

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Category, Number, Schema, statistics
    >>> rng = np.random.default_rng(0)
    >>> trial = pd.DataFrame({"arm": rng.choice(["new", "old"], 4000), "cost": rng.lognormal(7.0, 1.0, 4000)})
    >>> trial["cost"] *= np.where(trial["arm"] == "new", 1.3, 1.0)
    >>> schema = Schema({"arm": Category(["new", "old"]), "cost": Number(50, 50_000, log=True)})
    >>> result = statistics.rank_test(trial, "cost", between="arm", epsilon=1.0, schema=schema)
    >>> 0.52 < result.value < 0.63, result.p_value < 0.05
    (True, True)
    """
    curator, guarantee = Request.open(data, [column], epsilon, delta, declared)
    column, divided = name_column("column", column, curator), name_between(between, curator)
    if column == divided:
        raise ArgumentError("between", between, "another column than the one that is compared")
    grouping = name_strata(by, [column, divided], curator)
    curator = curator.only([column, divided, *grouping])
    query = CountedColumn.of(column, bins_of(bins, [column], curator)[column], curator).count(curator)
    if query.size > MOST_BINS:
        raise ArgumentError("bins", query.size, f"at most {MOST_BINS} of them")
    values = curator.categories[curator.category_columns.index(divided)]
    return RankTestRequest(
        curator=curator,
        guarantee=guarantee,
        bits=bits,
        query=query,
        column=column,
        between=divided,
        pair=choose_pair(groups, values),
        groups=Groups.of(grouping, curator),
    )
