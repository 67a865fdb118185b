"""Private checks of a schema: how many rows it drops, fills or clips, and how many rows each person has.

If an owner declares a column wrongly (another code book, another unit, last year's bounds), answers are about few rows,
and no message says so: how many rows were dropped, filled or clipped is as private as everything else. These two
statistics release it with noise.

- ``check_schema``: of the rows that count, how many are as declared in each column, are clipped from below or above,
  have a gap, or hold something unreadable. It is one release. A row adds 1 to one of five counts in each of d columns,
  so its norm is √d in L2 and d in L1; a replaced row moves the counts by √(2d) and 2d
  (``queries.counts.count_queries``).
- ``count_persons``: how many persons have one row, up to ``max_rows`` rows, or more. A person adds 1 to one of the
  counts, whatever their number of rows. The number of *rows* beyond the limit has no bounded sensitivity, since one
  person may have any number of them; so it cannot be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, Unpack

import numpy as np

from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.queries.counts.count_queries import Histogram, Margins
from discreet.records.declaration_check import STATES
from discreet.statistics.counts import Counts, count_interval, round_counts
from discreet.statistics.request import Request, statistic
from discreet.statistics.statistic import Statistic, group_facts

ALARM = 0.05  # share of the rows above which a repr names a column


@dataclass(frozen=True, eq=False, repr=False)
class SchemaCheck(Statistic):
    """How many rows each column's declaration leaves as they are, clips, or cannot read.

    Attributes
    ----------
    value : array of shape (columns, 5)
        How many rows are as declared, below the bounds, above them (both are clipped), have a gap, or hold something
        unreadable. The last two drop the row or are filled, as the column declares. The released counts are unbiased,
        so they may be negative and are not whole; those of ``whole()`` are neither. A category is never below or above:
        these counts are 0.
    drops : tuple of bool
        For each column, whether gaps and unreadable cells drop the row.
    numbers : int
        The number of numeric columns, which come first.
    measured : array or None
        The released counts, where ``value`` are whole numbers made from them.
    """

    drops: tuple[bool, ...]
    numbers: int
    measured: Any = None

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the five states of a cell."""
        return STATES

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        half = np.full(self.value.shape, self._noise.half_width(level))
        half[self.numbers :, 1:3] = 0.0
        return count_interval(self.value, self.measured, half)

    def whole(self) -> Self:
        """Return the same counts as whole numbers that are not negative; ``measured`` has those that were released."""
        measured = self.value if self.measured is None else self.measured
        return replace(self, value=round_counts(measured), measured=measured)

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each number, without the states that a category cannot have."""
        labels = self.columns[self.numbers :]
        impossible = [(name, state) for name in labels for state in self.states[1:3]]
        return [row for row in super().table(level, of) if (row["column"], row["state"]) not in impossible]

    @property
    def shares(self) -> Any:
        """The counts as shares of each column's rows: at least 0, summing to 1."""
        counts = np.maximum(self.value, 0.0)
        total = counts.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), 0.0)

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        return [("column", self.columns), ("state", self.states)]

    def _shown(self) -> str:
        """Describe the columns in which more than a twentieth of the rows is not as declared."""
        result = []
        for name, drop, column in zip(self.columns, self.drops, self.shares, strict=True):
            wrong = {state: share for state, share in zip(self.states[1:], column[1:], strict=True) if share > ALARM}
            if wrong:
                what = ", ".join(f"{share:.0%} {state}" for state, share in wrong.items())
                lost = any(state in wrong for state in self.states[3:])
                result.append(f"{name}: {what}" + (" (these rows are dropped)" if drop and lost else ""))
        return "; ".join(result) or "all columns are as declared, but for less than one row in twenty of each"


@dataclass(frozen=True, eq=False, repr=False)
class PersonCounts(Counts):
    """How many persons have how many rows."""

    def _shown(self) -> str:
        if self.labels is None:
            return super()._shown()
        numbers = [f"{number:.6g} with {label}" for label, number in zip(self.labels, self.value, strict=True)]
        return f"persons: {', '.join(numbers)}"


class SchemaCheckRequest(Request[SchemaCheck]):
    """A request for the counts of rows that each column's declaration drops, fills or clips."""

    def plan(self) -> Inquiry[SchemaCheck]:
        """Return one question that counts the states of the cells in every column."""
        curator, view = self.curator, self.curator.states()
        required, names = curator.declared["required"], (*curator.columns, *curator.category_columns)
        query = Margins(tuple(map(len, view.categories)))

        def answer(measure: Measure) -> SchemaCheck:
            release = measure(query)
            value = np.zeros((len(names), len(STATES)))
            for row, part, states in zip(value, release.parts, view.categories, strict=True):
                row[[STATES.index(str(state)) for state in states]] = release[part]
            drops = tuple(name in required for name in names)
            facts = {
                "columns": names,
                **group_facts(None),
                "single": False,
                "drops": drops,
                "numbers": len(curator.columns),
            }
            return SchemaCheck.from_releases(value, view, self.guarantee, [release], **facts)

        return replace(self, curator=view).make_inquiry([query], answer)


class PersonCountsRequest(Request[PersonCounts]):
    """A request for the numbers of persons by their number of rows."""

    def plan(self) -> Inquiry[PersonCounts]:
        """Return one question for all counts."""
        view = self.curator.persons()
        (labels,) = view.categories
        query = Histogram(len(labels))

        def answer(measure: Measure) -> PersonCounts:
            release = measure(query)
            facts = {"columns": ("rows",), **group_facts(None), "single": True, "labels": labels}
            return PersonCounts.from_releases(release.value.copy(), view, self.guarantee, [release], **facts)

        return replace(self, curator=view).make_inquiry([query], answer)


@statistic()
def check_schema(
    data: Any, *, epsilon: float, delta: float = 0.0, bits: Bits | None = None, **declared: Unpack[Declarations]
) -> Request[SchemaCheck]:
    """Return how many of the rows that count each column's declaration drops, fills or clips.

    Parameters
    ----------
    data, epsilon, delta, bits
        As in ``mean``. From about five columns on, Gaussian noise (δ > 0) is smaller.
    **declared
        ``bounds``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    SchemaCheck

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Category, Number, Schema, statistics
    >>> clinic = pd.DataFrame({"age": np.linspace(20, 80, 1000), "sex": ["F", "M", "F", None] * 250})
    >>> wrong = Schema({"age": Number(0, 120), "sex": Category(["female", "male"])})
    >>> statistics.check_schema(clinic, epsilon=1.0, schema=wrong)
    <sex: 2...% gap, 7...% unreadable (these rows are dropped): at (ε=1, δ=0) replace-one for each row, ...
    """
    curator, guarantee = Request.open(data, [], epsilon, delta, declared)
    return SchemaCheckRequest(curator=curator, guarantee=guarantee, bits=bits)


@statistic()
def count_persons(
    data: Any, *, epsilon: float, delta: float = 0.0, bits: Bits | None = None, **declared: Unpack[Declarations]
) -> Request[PersonCounts]:
    """Return how many persons have one row, how many up to ``max_rows`` rows, and how many more.

    Parameters
    ----------
    data, epsilon, delta, bits
        As in ``mean``; the rows must have a unit and ``max_rows``.
    **declared
        ``bounds``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    PersonCounts
        With ``labels`` like ``('1 row', '2 to 4 rows', 'more than 4 rows')``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Number, Schema, statistics
    >>> visits = pd.DataFrame({"patient": np.repeat(np.arange(1000), [1] * 900 + [9] * 100), "age": 50.0})
    >>> schema = Schema({"age": Number(0, 120)}, unit="patient", max_rows=4)
    >>> result = statistics.count_persons(visits, epsilon=1.0, schema=schema)
    >>> result.labels, abs(result.value[2] - 100) < 30
    (('1 row', '2 to 4 rows', 'more than 4 rows'), np.True_)
    """
    curator, guarantee = Request.open(data, [], epsilon, delta, declared)
    return PersonCountsRequest(curator=curator, guarantee=guarantee, bits=bits)
