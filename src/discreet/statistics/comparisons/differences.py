"""Private differences of two groups, in means or in proportions, with a test that accounts for the noise.

One release has the cells of ``queries.moments.bernstein`` (or the counts of a category and of the others) in every
group, with the whole budget. ``contrasts`` has the test and the intervals. With ``by`` the release has these cells for
each combination of the groups that are compared with those of ``by``.
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
from discreet.statistics.comparisons.contrasts import Contrast
from discreet.statistics.comparisons.group_comparison import GroupComparison, name_strata
from discreet.statistics.comparisons.measured import Measured, choose_pair, compared_cells, name_between
from discreet.statistics.counted_columns import name_column
from discreet.statistics.groups import By, Groups, ask_groups
from discreet.statistics.request import Request, statistic
from discreet.statistics.statistic import group_facts

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Difference(GroupComparison):
    """A private difference of two groups: the mean, or the share, of the first less that of the second.

    For a log column it is the difference of the means of logarithms, whose exponential is the ratio of the geometric
    means. For dates it is in days.

    Attributes
    ----------
    value : float or array
        With groups (``by``), one for each of them.
    p_value : float or array
        Of a two-sided test that the two were drawn from populations with the same mean. It accounts for sampling and
        for the noise, as Welch's test does for sampling. Rows of one person may depend on each other in any way; see
        ``discreet.statistics.comparisons.contrasts``. Persons must be independent.
    compared : tuple
        The labels of the two groups that are compared.
    between : str
        The column that divides them.
    means : array of shape (2,) or (groups, 2)
        The mean, or the share, of each of the two.
    sizes : array of shape (2,) or (groups, 2)
        The released number of rows of each.
    of : object
        The category whose share was compared; None for means.
    contrasts : tuple of Contrast
        The released cells of each group, with mean and difference in units of the column's range.
    """

    compared: tuple[Any, Any]
    between: str
    means: Array
    sizes: Array
    of: Any
    width: float

    _kind: ClassVar[str] = "spread"

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each difference that holds it with this probability.

        Parameters
        ----------
        level : float
        of : str
            "rows" for the difference between these rows, clipped to their bounds: it accounts for the noise alone.
            "population" for the difference between the populations that these rows were drawn from: it accounts for
            sampling too, and holds 0 if and only if ``p_value`` is at least 1 − level.
        """
        return super().interval(level, of)

    @property
    def _possible(self) -> tuple[float, float]:
        """Both signs of the largest difference."""
        most = self.contrasts[0].limit * self.width
        return -most, most

    def _ends(self, contrast: Contrast, level: float, of: str) -> tuple[float, float]:
        low, high = contrast.interval(level, of)
        return low * self.width, high * self.width

    def _compared_cells(self) -> dict[str, Any]:
        return compared_cells(self.compared)

    @property
    def _axis_label(self) -> str:
        first, second = self.compared
        share = "" if self.of is None else f"share of {self.of} of "
        return f"{share}{self.columns[0]}, {first} less {second}"

    def _shown(self) -> str:
        first, second = self.compared
        return f"{super()._shown()} ({first} less {second}), {self._describe_p_values()}"


@dataclass(frozen=True, kw_only=True)
class DifferenceRequest(Request[Difference]):
    """A request for a difference.

    Attributes
    ----------
    measured : Measured
    between : str
    pair : (int, int)
        The codes of the two groups that are compared.
    groups : Groups or None
        Those of ``by``.
    """

    measured: Measured
    between: str
    pair: tuple[int, int]
    groups: Groups | None

    def plan(self) -> Inquiry[Difference]:
        """Return one question for all groups."""
        place = self.curator.category_columns.index(self.between)
        values, measured = self.curator.categories[place], self.measured
        query = ask_groups(self.groups, Grouped(measured.query, len(values), place))

        def answer(measure: Measure) -> Difference:
            release = measure(query)
            noise = release.noise
            assert noise is not None
            cells = release.value.reshape(-1, len(values), len(measured.scores))[:, list(self.pair)]
            contrasts = [
                Contrast(
                    one,
                    np.array([1.0, 0.0]),
                    np.array(measured.scores),
                    np.array(measured.squares),
                    noise,
                    self.curator.setting.max_rows,
                )
                for one in cells
            ]
            means = np.stack([measured.low + measured.width * one.means for one in contrasts])
            sizes = np.stack([one.sizes for one in contrasts])
            estimates = np.array([measured.width * float(one.estimate) for one in contrasts])
            grouped = self.groups is not None
            facts = {
                "columns": (measured.name,),
                **group_facts(self.groups),
                "single": True,
                "contrasts": tuple(contrasts),
                "compared": tuple(values[code] for code in self.pair),
                "between": self.between,
                "means": means if grouped else means[0],
                "sizes": sizes if grouped else sizes[0],
                "of": measured.of,
                "width": measured.width,
            }
            value = estimates if grouped else float(estimates[0])
            return Difference.from_releases(value, self.curator, self.guarantee, [release], **facts)

        return self.make_inquiry([query], answer, "difference")


@statistic(between=0)
def difference(
    data: Any,
    column: Any = None,
    *,
    between: str | int,
    groups: Any = None,
    of: Any = None,
    by: By | None = None,
    epsilon: float,
    delta: float = 0.0,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Difference]:
    """Return the private difference of two groups in the mean of a column, or in the share of a category, with a test.

    Everything comes from one release with the whole budget: ``value``, ``p_value``, and ``interval(level)`` for the
    population, or ``interval(level, of="rows")`` for the noise alone.

    Parameters
    ----------
    data, epsilon, delta, bits
        As in ``mean``.
    column : str or int
        A declared column of numbers, whose means are compared, or of categories, with ``of``.
    between : str or int
        A declared column of categories that divides the groups.
    groups : pair, optional
        The two categories to compare: the first less the second. Needed where the column has more than two. All others
        cost nothing.
    of : object, optional
        For a column of categories: the one whose share is compared.
    by : str or list of str, optional
        Declared columns of categories: a difference for each combination of their categories, in one release, each with
        its interval and p-value. P-values are not corrected for their number.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Difference

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Category, Number, Schema, statistics
    >>> rng = np.random.default_rng(0)
    >>> trial = pd.DataFrame({"arm": rng.choice(["new", "old"], 4000), "days": rng.normal(20.0, 8.0, 4000)})
    >>> trial["days"] -= 4.0 * (trial["arm"] == "new")
    >>> schema = Schema({"arm": Category(["new", "old"]), "days": Number(0, 60)})
    >>> result = statistics.difference(trial, "days", between="arm", epsilon=1.0, schema=schema)
    >>> -5.0 < result.value < -3.0, result.p_value < 0.01
    (True, True)
    """
    curator, guarantee = Request.open(data, [column], epsilon, delta, declared)
    column, divided = name_column("column", column, curator), name_between(between, curator)
    if column == divided:
        raise ArgumentError("between", between, "another column than the one that is compared")
    grouping = name_strata(by, [column, divided], curator)
    curator = curator.only([column, divided, *grouping])
    values = curator.categories[curator.category_columns.index(divided)]
    measured = Measured.from_column(curator, column, of)
    return DifferenceRequest(
        curator=curator,
        guarantee=guarantee,
        bits=bits,
        measured=measured,
        between=divided,
        pair=choose_pair(groups, values),
        groups=Groups.of(grouping, curator),
    )
