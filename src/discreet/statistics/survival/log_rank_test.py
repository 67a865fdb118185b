"""The private log-rank test: do groups differ in survival? With the difference of restricted mean survival times.

One release of counts, as for curves (``survival_curves``). The p-value accounts for the noise: ``rank_comparison`` has
the statistic and its parametric bootstrap. The bootstrap is seeded with the released numbers, so an answer always has
the same p-value, and cannot be drawn again until it is small.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, format_value, iterable
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.statistics.groups import By
from discreet.statistics.hypothesis_tests import HypothesisTest
from discreet.statistics.request import Request, statistic, unwrap
from discreet.statistics.statistic_plots import interval_text
from discreet.statistics.survival.life_table import LifeTable
from discreet.statistics.survival.rank_comparison import RankComparison
from discreet.statistics.survival.survival_curves import EventRequest, check_limit

Array = NDArray[np.float64]
REPEATS = 1999  # simulated tables; the smallest p-value is 1/2000


@dataclass(frozen=True, eq=False, repr=False)
class LogRank(HypothesisTest):
    """A private log-rank test.

    Attributes
    ----------
    value : float or array
        The difference of restricted mean survival times: that of each group but the first, less that of the first. One
        number for two groups.
    compared : tuple
        The groups that are compared.
    edges : array
        The edges of the grid, in the units of the time column.
    until : float
        The limit of the restricted means.
    """

    compared: tuple[Any, ...]
    edges: Array
    until: float
    _life: LifeTable

    @cached_property
    def _comparison(self) -> RankComparison:
        return RankComparison(self._life)

    @cached_property
    def p_value(self) -> float:
        """The p-value of equal hazards in all groups: at least 1/2000, as 1999 tables are simulated."""
        seed = np.frombuffer(hashlib.sha256(self.release.value.tobytes()).digest(), dtype=np.uint32)
        return float(self._comparison.p_value(REPEATS, np.random.default_rng(seed.tolist())))

    @property
    def _draws(self) -> int:
        return REPEATS

    @property
    def _p_values(self) -> list[float]:
        return [self.p_value]

    @property
    def statistic(self) -> float:
        """The log-rank statistic, with the variance of the noise in its denominator."""
        return float(self._comparison.statistic)

    @property
    def excess(self) -> Array:
        """Observed less expected events of each group: above 0 for those that have events sooner."""
        return self._comparison.excess

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each difference of restricted means; ``of`` is as in ``Survival.interval``."""
        return super().interval(level, of)

    @property
    def _possible(self) -> tuple[float, float]:
        """Both signs of the limit of the restricted means."""
        return -self.until, self.until

    def _find_interval(self, level: float, of: str) -> tuple[Any, Any]:
        population = of == "population"
        _, low, high = self._life.difference_interval(self.edges, self.until, level, population=population)
        return (low.item(), high.item()) if low.size == 1 else (low, high)

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        return [("difference", self._differences)] if len(self.compared) > 2 else []

    @property
    def _differences(self) -> list[str]:
        def name(label: Any) -> str:
            return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)

        return [f"{name(label)} − {name(self.compared[0])}" for label in self.compared[1:]]

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each difference of restricted means with its interval.

        Where two groups are compared the row has the p-value of the test. It is about all groups together: of more than
        two groups no row has it, and ``p_value``, ``repr`` and ``notes`` do.
        """
        ends = self.interval(level, of)
        low, high = (np.atleast_1d(end).tolist() for end in ends)
        about, lost = self._about_cells(of), np.atleast_1d(self._are_drowned(*ends)).tolist()
        several = zip(self._differences, np.atleast_1d(self.value).tolist(), low, high, lost, strict=True)
        test = {"p_value": self.p_value} if len(self.compared) == 2 else {}
        return [
            {"difference": name, "value": value, "low": least, "high": most, "drowned": gone, "until": self.until}
            | test
            | about
            for name, value, least, most, gone in several
        ]

    def _shown(self) -> str:
        ends = (np.atleast_1d(one).tolist() for one in (self.value, *self.interval(self._level)))
        several = zip(self._differences, *ends, strict=True)
        means = ", ".join(f"{name} {value:.4g} in [{low:.4g}, {high:.4g}]" for name, value, low, high in several)
        shown = f"restricted means until {self.until:.6g}: {means}; {interval_text(self._level, self.interval_of)}"
        return f"{self._test}; {shown}" if len(self.compared) == 2 else shown

    @property
    def _test(self) -> str:
        return f"log-rank {self._describe_p_value(self.p_value)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Of more than two groups: the p-value of the one test of all of them, which no row of the table has."""
        test = [] if len(self.compared) == 2 else [f"{self._test}, one test of all {len(self.compared)} groups"]
        return (*test, *super().notes)


@dataclass(frozen=True, kw_only=True)
class LogRankRequest(EventRequest):
    """A request for a log-rank test.

    Attributes
    ----------
    compared : tuple of int
        The groups that are compared.
    until : float or None
    """

    chosen: Any
    until: float | None

    grouped_by: ClassVar[str] = "between"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.compared  # noqa: B018  # refuse now
        check_limit(self.until, self.edges[0])

    @cached_property
    def compared(self) -> tuple[int, ...]:
        """The numbers of the groups that are compared."""
        assert self.groups is not None
        labels = list(self.groups.labels)
        if len(labels) < 2:
            names = ", ".join(map(repr, self.groups.names))
            raise ArgumentError("between", UNSHOWN, f"two groups or more to compare, and {names} declares one")
        if self.chosen is None:
            return tuple(range(len(labels)))
        several = list(self.chosen) if iterable(self.chosen) and not isinstance(self.chosen, str) else [self.chosen]
        wanted = [tuple(one) if isinstance(one, list) else one for one in several]
        if len(wanted) < 2 or len(set(map(str, wanted))) < len(wanted) or not all(one in labels for one in wanted):
            there = ", ".join(map(format_value, labels[:10]))
            raise ArgumentError("groups", self.chosen, f"at least two of the groups, each once: {there}")
        return tuple(labels.index(one) for one in wanted)

    def plan(self) -> Inquiry[LogRank]:
        """Return one question for all groups."""
        own, values = self.edges
        query = self._query(values)
        until = check_limit(self.until, own)
        places = list(self.compared)

        def answer(measure: Measure) -> LogRank:
            assert self.groups is not None
            release = measure(query)
            life = self.read_life_table(release, query)
            if places != list(range(len(self.groups))):  # the number of rows of some groups is not public
                decoder = replace(life.decoder, groups=len(places), total=None)
                life = LifeTable.from_released(release["series"][places], decoder, exact=life.exact)
            areas = life.areas(own, until).value
            difference = areas[1:] - areas[0]
            compared = tuple(self.groups.labels[place] for place in places)
            facts = {"columns": (self.scale.name,), "groups": None, "by": self.groups.names, "single": True}
            value = unwrap(difference if difference.size > 1 else difference[0])
            more = {"compared": compared, "edges": own, "until": until, "_life": life}
            return LogRank.from_releases(value, self.curator, self.guarantee, [release], **facts, **more)

        return self.make_inquiry([query], answer)


@statistic(time="age", event="died", between="ward")
def log_rank(
    data: Any,
    time: Any,
    event: Any,
    between: By,
    *,
    epsilon: float,
    delta: float = 0.0,
    groups: Any = None,
    until: float | None = None,
    occurred: Any = None,
    grid: Any = None,
    method: str = "actuarial",
    rows: int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[LogRank]:
    """Return the private log-rank test of equal survival in groups, and differences of restricted mean survival times.

    Parameters
    ----------
    data, time, event, epsilon, delta, occurred, grid, method, rows, bits
        As in ``survival``.
    between : str, int, or several
        The declared columns of categories that define the groups.
    groups : sequence, optional
        The groups to compare, by default all. The first is the one that the others are compared with.
    until : float, optional
        The limit of the restricted means; by default the last edge.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.
        The test assumes independent rows. With a unit, declare ``max_rows=1``.

    Returns
    -------
    LogRank

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Category, Number, Schema, statistics
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.integers(0, 2, 4000)
    >>> lived, followed = rng.exponential(np.where(arm == 1, 60.0, 40.0)), rng.uniform(0.0, 60.0, 4000)
    >>> trial = pd.DataFrame({"months": np.minimum(lived, followed), "died": (lived <= followed).astype(int),
    ...                       "arm": np.where(arm == 1, "new", "old")})
    >>> schema = Schema({"months": Number(0, 60), "died": Category([0, 1]), "arm": Category(["old", "new"])})
    >>> result = statistics.log_rank(trial, "months", "died", "arm", epsilon=1.0, until=48, schema=schema)
    >>> result.p_value < 0.01, bool(result.interval(of="population")[0] > 0.0)
    (True, True)
    """
    if between is None:
        raise ArgumentError("between", None, "at least one column of categories")
    result: Request[LogRank] = LogRankRequest.from_columns(
        data,
        time,
        event,
        between,
        occurred,
        epsilon,
        delta,
        declared,
        grid=grid,
        method=method,
        rows=rows,
        bits=bits,
        chosen=groups,
        until=until,
    )
    return result
