"""The private mode of a column: its most frequent category, drawn by the exponential mechanism (``queries.counts``).

A category is drawn with probability ∝ e^(η·count). So of K categories one with g rows fewer than the most frequent is
drawn with probability at most e^(−ηg), and any that is so far behind with probability at most (K − 1)·e^(−ηg). With
g = ln((K − 1)/(1 − level))/η the drawn category is less than g rows behind the most frequent one with probability
``level``, whatever the rows are. η follows from ε, the relation and ``max_rows``, so this bound is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np

from discreet.arguments import ArgumentError, one_of, probability
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import BoundedRangeLoss, Loss
from discreet.noise import Bits
from discreet.plots import HeatMap, Plot
from discreet.queries.counts.count_queries import GroupModes, Mode
from discreet.queries.mechanism import Exponential
from discreet.statistics.groups import By, Groups, name_groups
from discreet.statistics.request import Request, statistic
from discreet.statistics.statistic import Statistic, group_facts
from discreet.statistics.statistic_plots import label_text


@dataclass(frozen=True, eq=False, repr=False)
class MostFrequent(Statistic):
    """The private mode of a column, or of each group.

    Attributes
    ----------
    value : category or array of them
        The category that was drawn; an array over the groups, where there are groups.
    categories : tuple
        All categories of the column.
    eta : float
        The η of the exponential mechanism, in 1/rows.
    """

    categories: tuple[Any, ...]
    eta: float

    takes_categories: ClassVar[bool] = True

    def rows_behind(self, level: float = 0.95) -> float:
        """Return how many rows fewer than the most frequent category a drawn one has at most, with this probability.

        It is a public number: it depends on ε, the relation, ``max_rows`` and the number of categories alone. If the
        most frequent category is that far ahead of all others, it is the one that was drawn, with this probability.
        """
        others = len(self.categories) - 1
        outside = 1.0 - probability("level", level)
        return max(math.log(others / outside), 0.0) / self.eta

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        """Raise, since a category has no interval; ``rows_behind(level)`` says how sure it is."""
        raise ValueError(f"interval: a category has none; write rows_behind({level!r}), which says how sure it is")

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each group: its labels, the category, and by how many rows it may be behind."""
        about = {} if self.which_rows is None else {"which_rows": self.which_rows}
        behind = {"rows_behind": self.rows_behind(level)}
        if self.groups is None:
            return [{"value": self.value} | behind | about]
        pairs = zip(self.groups, self.value.tolist(), strict=True)
        return [self._group_cells(group) | {"value": one} | behind | about for group, one in pairs]

    def _plot(self, level: float, of: str) -> Plot:
        several = [self.value] if self.groups is None else self.value.tolist()
        chosen = np.array([[float(one == category) for category in self.categories] for one in several])
        rows = ["all rows"] if self.groups is None else [label_text(group) for group in self.groups]
        return HeatMap(chosen, rows, [str(category) for category in self.categories], f"mode of {self.columns[0]}")

    def _shown(self) -> str:
        shown = self.value if self.groups is None else self.to_dict()
        return f"{shown}, at most {self.rows_behind():.3g} rows behind the most frequent one in 95 of 100 cases"

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        return [] if self.groups is None else [("group", self.groups)]


@dataclass(frozen=True, kw_only=True)
class ModeRequest(Request[MostFrequent]):
    """A request for the mode of a column of categories.

    Attributes
    ----------
    column : str
    groups : Groups or None
    """

    column: str
    groups: Groups | None

    pure: ClassVar[bool] = True

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The loss of the exponential mechanism."""
        return (BoundedRangeLoss(self.guarantee.epsilon, self.guarantee.neighbors),)

    def plan(self) -> Inquiry[MostFrequent]:
        """Return one question for all groups."""
        place = self.curator.category_columns.index(self.column)
        categories = tuple(self.curator.categories[place])
        sizes = tuple(len(values) for values in self.curator.categories)
        groups = self.groups
        query = Mode(len(categories), place) if groups is None else GroupModes(sizes, place, groups.places)
        loss = BoundedRangeLoss(self.guarantee.epsilon, self.guarantee.neighbors)
        eta = Exponential.eta(query, loss, self.curator.setting)

        def answer(measure: Measure) -> MostFrequent:
            release = measure(query)
            drawn = [categories[int(code)] for code in release["selected"]]
            several = np.empty(len(drawn), dtype=object)
            several[:] = drawn
            return MostFrequent.from_releases(
                drawn[0] if self.groups is None else several,
                self.curator,
                self.guarantee,
                [release],
                columns=(self.column,),
                **group_facts(self.groups),
                single=True,
                categories=categories,
                eta=eta,
            )

        return self.make_inquiry([query], answer)


@statistic()
def mode(
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[MostFrequent]:
    """Return the private mode of a column of categories: the most frequent one, of all rows or of each group.

    All groups together cost as much as one. The answer says by how many rows it may be behind the most frequent
    category. For the counts themselves ask for a ``histogram``.

    Parameters
    ----------
    data, epsilon, delta, by, bits
        As in ``mean``; δ is not used.
    column : str, optional
        A declared column of categories, where there are several.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    MostFrequent

    Examples
    --------
    >>> import pandas as pd
    >>> from discreet import statistics
    >>> people = pd.DataFrame({"ward": ["a", "b", "b"] * 100})
    >>> result = statistics.mode(people, "ward", epsilon=1.0, classes={"ward": ["a", "b", "c"]})
    >>> result.value, round(result.rows_behind(0.95), 1)
    ('b', 7.4)
    """
    curator, guarantee = Request.open(data, [], epsilon, delta, declared)
    known = curator.category_columns
    if column is None and len(known) == 1:
        column = known[0]
    if not isinstance(column, str) or column not in known:
        raise ArgumentError("column", column, f"a declared column of categories, {one_of(column, known)}")
    grouping = name_groups(by, curator)
    if column in grouping:
        raise ArgumentError("by", by, f"other columns than {column!r}, whose mode is asked for")
    curator = curator.only([column, *grouping])
    if len(curator.categories[curator.category_columns.index(column)]) < 2:
        raise ArgumentError("column", column, "a column of two categories or more")
    return ModeRequest(
        curator=curator, guarantee=guarantee, bits=bits, column=column, groups=Groups.of(grouping, curator)
    )
