"""A private test of independence: of two columns of categories, or of a binned column and groups.

One release has the cells of the cross-tab, x̃, with the whole budget, each with noise of variance v.

**The statistic** is Σ(x̃ − E)²/(E + v), where E = N·p·q follows from the released margins (at least 0). For v = 0 it is
Pearson's χ². With v in the denominator each residual is compared with its variance, noise included (after Kifer and
Rogers 2017, who weight by the whole covariance matrix).

**The test** compares it with draws of tables from the fitted null: N rows from p·q, and noise, fitted anew each time,
as Gaboardi, Lim, Rogers and Vadhan (2016) do for χ². p = (1 + number of draws that are as large)/(1 + draws).

**The effect** is Cramér's V of the table p·q + t·D, with D the residuals as shares of N, made at least 0. The value has
the t² by which the statistic exceeds what noise alone adds (0 where it does not). The interval has all t for which the
statistic is neither in the upper nor in the lower tail of draws from that table. For its upper end a statistic below
the median of independent columns counts as that median: residuals that are small by chance do not say that V is 0.

**Several rows of a person** may be alike. For any dependence the covariance of the counts is at most M times that of
independent rows, M = ``max_rows``, since (Σ_j u·d_j)² ≤ M·Σ_j (u·d_j)² for at most M rows with deviations d_j and any
direction u. So draws have N/M persons with M equal rows each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits, NoiseDistribution
from discreet.queries.question import Query
from discreet.scales import column_scales
from discreet.statistics.comparisons.contrasts import DRAWS, SEED
from discreet.statistics.counted_columns import CountedColumn, bins_of, name_column
from discreet.statistics.groups import By, Groups, name_groups
from discreet.statistics.hypothesis_tests import HypothesisTest
from discreet.statistics.request import Request, statistic
from discreet.statistics.statistic import group_facts

Array = NDArray[np.float64]

MOST_CELLS = 1000
AT_ONCE = 2**22  # numbers that draws take at a time
FEWER = 1_999  # draws at each step of the search for an interval
FARTHEST = 4096.0  # multiples of the measured residuals that an interval is searched in


def cramers_v(table: Array) -> float:
    """Return Cramér's V of a table without negative numbers: 0 for independence, 1 if a row determines the column.

    >>> cramers_v(np.array([[5.0, 0.0], [0.0, 5.0]])), cramers_v(np.ones((2, 3)))
    (1.0, 0.0)
    """
    total = table.sum()
    if total <= 0.0:
        return 0.0
    shares = table / total
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    there = expected > 0.0
    phi = (((shares - expected) ** 2)[there] / expected[there]).sum()
    return float(np.sqrt(min(phi / max(min(table.shape) - 1, 1), 1.0)))


@dataclass(frozen=True, eq=False)
class CrossTab:
    """A noisy cross-tab.

    Attributes
    ----------
    cells : array of shape (…, r, c)
    noise : NoiseDistribution
        Of each cell.
    rows : int or None
        The number of rows, where it is public.
    copies : int
        The largest number of rows of a person.
    draws : int
    """

    cells: Array
    noise: NoiseDistribution
    rows: int | None = None
    copies: int = 1
    draws: int = DRAWS

    def fit(self, cells: Array) -> tuple[Array, Array]:
        """Return N, and the shares p·q of independence; both from released counts of shape (…, r, c)."""
        total = cells.sum(axis=(-2, -1)) if self.rows is None else np.full(cells.shape[:-2], float(self.rows))
        shares = []
        for axis in (-1, -2):
            margin = np.maximum(cells.sum(axis=axis, keepdims=True), 0.0)
            whole = margin.sum(axis=(-2, -1), keepdims=True)
            even = 1.0 / margin[(0,) * (margin.ndim - 2)].size
            shares.append(np.where(whole > 0.0, margin / np.where(whole > 0.0, whole, 1.0), even))
        return np.maximum(total, 1.0), shares[0] * shares[1]

    def statistic(self, cells: Array) -> Array:
        """Return Σ(x̃ − E)²/(E + v), over the last two axes."""
        total, shares = self.fit(cells)
        expected = total[..., None, None] * shares
        return np.asarray(((cells - expected) ** 2 / (self.copies * expected + self.noise.variance)).sum(axis=(-2, -1)))

    def draw(self, rng: np.random.Generator, total: float, shares: Array, draws: int, *, sampled: bool) -> Array:
        """Return released tables whose rows come from these shares, shape (draws, r, c)."""
        if sampled:
            persons = max(round(total / self.copies), 1)
            counts = rng.multinomial(persons, shares.ravel(), draws).reshape(draws, *shares.shape) * (total / persons)
        else:
            counts = np.broadcast_to(total * shares, (draws, *shares.shape))
        return np.asarray(counts + self.noise.simulate(rng, counts.shape))

    def simulate(self, total: float, shares: Array, draws: int, *, sampled: bool) -> Array:
        """Return the statistic of that many drawn tables."""
        rng, pieces = np.random.default_rng(SEED), -(-draws * shares.size // AT_ONCE)
        numbers = [len(part) for part in np.array_split(np.arange(draws), pieces)]
        each = [self.statistic(self.draw(rng, total, shares, number, sampled=sampled)) for number in numbers]
        return np.concatenate(each)

    @cached_property
    def p_value(self) -> float:
        """The share of draws from the fitted null whose statistic is as large."""
        total, shares = self.fit(self.cells)
        drawn = self.simulate(float(total), shares, self.draws, sampled=True)
        return float((1 + (drawn >= self.statistic(self.cells)).sum()) / (1 + self.draws))

    def along(self, t: float) -> Array:
        """Return the shares p·q + t·D, made at least 0 with a sum of 1."""
        total, shares = self.fit(self.cells)
        moved = np.maximum(shares + t * (self.cells / total - shares), 0.0)
        return np.asarray(moved / moved.sum()) if moved.sum() > 0.0 else shares

    @property
    def effect(self) -> float:
        """Cramér's V, without what noise alone adds."""
        total, shares = self.fit(self.cells)
        noise = self.noise.variance
        lost = np.prod([1.0 - 1.0 / size for size in shares.shape])
        added = float(lost * (noise / (self.copies * total * shares + noise)).sum())
        found = float(self.statistic(self.cells))
        return cramers_v(self.along(np.sqrt(1.0 - added / found))) if found > added else 0.0

    def interval(self, level: float, *, sampled: bool) -> tuple[float, float]:
        """Return the ends of an interval for Cramér's V; see the module."""
        outside, observed = (1.0 - level) / 2.0, float(self.statistic(self.cells))
        total, independent = self.fit(self.cells)
        usual = float(np.median(self.simulate(float(total), independent, FEWER, sampled=sampled)))

        def tails(t: float) -> tuple[float, float]:
            drawn = self.simulate(float(total), self.along(t), FEWER, sampled=sampled)
            more, less = (drawn >= observed).sum(), (drawn <= max(observed, usual)).sum()
            return float((1 + more) / (1 + FEWER)), float((1 + less) / (1 + FEWER))

        value = self.effect
        null = tails(0.0)[0] >= outside
        low = 0.0 if null else cramers_v(self.along(_bisect(FARTHEST, lambda t: tails(t)[0] >= outside)))
        upper = _bisect(FARTHEST, lambda t: tails(t)[1] < outside)
        high = 1.0 if upper >= FARTHEST else cramers_v(self.along(upper))
        return min(low, value), max(high, value)


def _bisect(high: float, holds: Callable[[float], bool]) -> float:
    """Return about the smallest t from which on something holds; ``high`` where it holds at no t below.

    The search begins at the measured residuals, t = 1, and goes outwards: far out, where nearly all shares are cut at
    0, a table may look independent again.

    >>> round(_bisect(4096.0, lambda t: t > 300.0), 1), _bisect(4096.0, lambda t: False)
    (300.0, 4096.0)
    """
    low, middle = 1e-5, 1.0
    while not holds(middle):
        low, middle = middle, 4.0 * middle
        if middle > high:
            return high
    high = middle
    for _ in range(16):  # on a log scale
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True, eq=False, repr=False)
class Association(HypothesisTest):
    """A private test of independence.

    Attributes
    ----------
    value : float
        Cramér's V of these rows: 0 where the columns are independent, 1 where one determines the other.
    counts : array of shape (groups, categories)
        The released cross-tab, unbiased.
    row_labels, column_labels : tuple
        The groups, and the categories or bins.
    crosstab : CrossTab
    """

    counts: Array
    row_labels: tuple[Any, ...]
    column_labels: tuple[Any, ...]
    crosstab: CrossTab

    takes_categories: ClassVar[bool] = True
    _possible: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @cached_property
    def p_value(self) -> float:
        """The p-value of the test that rows were drawn from a population in which the columns are independent.

        It accounts for sampling and for the noise. Rows of one person may depend on each other in any way, which makes
        the test conservative; persons must be independent.
        """
        return self.crosstab.p_value

    @property
    def _draws(self) -> int:
        return self.crosstab.draws

    @property
    def _p_values(self) -> list[float]:
        return [self.p_value]

    @property
    def freedom(self) -> int:
        """The degrees of freedom of Pearson's test, (rows − 1)·(columns − 1)."""
        return (len(self.row_labels) - 1) * (len(self.column_labels) - 1)

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for Cramér's V that holds it with about this probability.

        Parameters
        ----------
        level : float
        of : str
            "rows" accounts for the noise alone, "population" for the sampling of rows too.
        """
        return super().interval(level, of)

    def _find_interval(self, level: float, of: str) -> tuple[Any, Any]:
        return self.crosstab.interval(level, sampled=of == "population")

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return one row, with Cramér's V, its interval and the p-value; ``counts`` has the cross-tab."""
        return [{"statistic": "Cramér's V"} | row | {"p_value": self.p_value} for row in super().table(level, of)]

    def _shown(self) -> str:
        return f"{self._axis_label} {super()._shown()}, {self._describe_p_values()}"

    @property
    def _axis_label(self) -> str:
        """What is measured, and in how many bins a column of numbers or dates was counted."""
        column, *others = self.columns
        binned = f" in {len(self.column_labels)} bins" if column in column_scales(self.release.declared) else ""
        return f"Cramér's V of {column}{binned} and {', '.join(others)}"


@dataclass(frozen=True, kw_only=True)
class AssociationRequest(Request[Association]):
    """A request for a test of independence.

    Attributes
    ----------
    query : Query
        The counts of the categories or bins, over all rows.
    column : str
    labels : tuple
        Of the categories or bins.
    groups : Groups
    """

    query: Query
    column: str
    labels: tuple[Any, ...]
    groups: Groups

    def plan(self) -> Inquiry[Association]:
        """Return one question for the whole cross-tab."""
        query, shape = self.groups.ask(self.query), (len(self.groups), len(self.labels))

        def answer(measure: Measure) -> Association:
            release = measure(query)
            assert release.noise is not None
            crosstab = CrossTab(
                release.value.reshape(shape), release.noise, release.size.rows, self.curator.setting.max_rows
            )
            facts = {
                "columns": (self.column, *self.groups.names),
                **group_facts(None),
                "single": True,
                "counts": crosstab.cells,
                "row_labels": self.groups.labels,
                "column_labels": self.labels,
                "crosstab": crosstab,
            }
            return Association.from_releases(crosstab.effect, self.curator, self.guarantee, [release], **facts)

        return self.make_inquiry([query], answer, "chi square")


@statistic(by=0)
def chi_square(
    data: Any,
    column: Any = None,
    *,
    by: By,
    bins: Any = None,
    epsilon: float,
    delta: float = 0.0,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Association]:
    """Return a private test of independence of a column and groups: a χ² test of their cross-tab, with Cramér's V.

    Parameters
    ----------
    data, epsilon, delta, bits
        As in ``mean``.
    column : str or int
        A declared column of categories, or of numbers or dates in ``bins``.
    by : str or list of str
        The other column of categories; of several, their combinations.
    bins : int, sequence, or str, optional
        For numbers and dates, as in ``histogram``: ten of equal width by default.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Association

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Category, Schema, statistics
    >>> rng = np.random.default_rng(0)
    >>> smoker = rng.random(4000) < 0.3
    >>> people = pd.DataFrame({"smoker": np.where(smoker, "yes", "no"), "sex": rng.choice(["f", "m"], 4000)})
    >>> people["cough"] = np.where(rng.random(4000) < np.where(smoker, 0.4, 0.1), "yes", "no")
    >>> schema = Schema({name: Category(["no", "yes"]) for name in ("smoker", "cough")})
    >>> result = statistics.chi_square(people, "cough", by="smoker", epsilon=1.0, schema=schema)
    >>> 0.25 < result.value < 0.45, result.p_value < 0.01
    (True, True)
    """
    curator, guarantee = Request.open(data, [column], epsilon, delta, declared)
    column, grouping = name_column("column", column, curator), name_groups(by, curator)
    if not grouping or column in grouping:
        raise ArgumentError("by", by, "another column of categories than the one that is counted")
    curator = curator.only([column, *grouping])
    counted = CountedColumn.of(column, bins_of(bins, [column], curator)[column], curator)
    query, labels = counted.count(curator), tuple(counted.cells)
    groups = Groups.of(grouping, curator)
    assert groups is not None
    if min(len(groups), len(labels)) < 2 or len(groups) * len(labels) > MOST_CELLS:
        raise ArgumentError("by", by, f"two groups and two categories or more, and at most {MOST_CELLS} cells")
    return AssociationRequest(
        curator=curator, guarantee=guarantee, bits=bits, query=query, column=column, labels=labels, groups=groups
    )
