"""What can be asked: each question once, whether it is answered now or drafted for later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["Questions", "Spending"]

Asked = TypeVar("Asked")


class Spending(NamedTuple):
    """Which rows a question is about, and what it may cost; see ``Questions``."""

    where: str | None = None
    epsilon: float | None = None
    share: float | None = None


class Questions(ABC, Generic[Asked]):
    """The questions of a statistical database.

    What they have in common:

    columns : str or list of str
        One column, or several.
    by : str
        A declared column of categories: each of them has an answer, also one without rows.
    weights : str
        A declared column of weights, from 0 on.
    where : str
        A condition on declared columns: ``"age >= 18 and smoker == 1"``, ``"ward in ['a', 'b']"``; see
        ``discreet.records.Condition``. With persons of several rows it chooses among the rows of each that count.
    epsilon : float
        What the answer costs by itself, at the δ of the budget (quantiles: at δ = 0); or
    share : float
        the share of the budget that it takes, between 0 and 1. By default the database's own ``share``.
    """

    @abstractmethod
    def _ask(self, statistic: str, arguments: dict[str, Any], spending: Spending) -> Asked:
        """Answer, or draft."""

    def count(
        self,
        *,
        by: str | None = None,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return the number of rows: of all (within the limit of a person), or of those where a condition holds."""
        return self._ask("count", {"by": by}, Spending(where, epsilon, share))

    def sum(
        self,
        columns: Any,
        *,
        by: str | None = None,
        weights: str | None = None,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return sums of columns."""
        return self._ask("sum", {"columns": columns, "by": by, "weights": weights}, Spending(where, epsilon, share))

    def mean(
        self,
        columns: Any,
        *,
        by: str | None = None,
        weights: str | None = None,
        loose: bool = False,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return means of columns, geometric ones of those that are on a log scale.

        ``loose=True`` where the bounds are far wider than the rows.
        """
        return self._ask(
            "mean", {"columns": columns, "by": by, "weights": weights, "loose": loose}, Spending(where, epsilon, share)
        )

    def trimmed_mean(
        self,
        column: str,
        *,
        trim: float = 0.1,
        weights: str | None = None,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return the mean of the middle of a column, without a share ``trim`` of the rows at each end."""
        return self._ask(
            "trimmed_mean", {"column": column, "trim": trim, "weights": weights}, Spending(where, epsilon, share)
        )

    def variance(
        self,
        columns: Any,
        *,
        by: str | None = None,
        weights: str | None = None,
        method: str = "one-shot",
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return variances of columns; see ``discreet.statistics.variance`` for the methods."""
        arguments = {"columns": columns, "by": by, "weights": weights, "method": method}
        return self._ask("variance", arguments, Spending(where, epsilon, share))

    def covariance(
        self,
        columns: Sequence[str],
        *,
        by: str | None = None,
        weights: str | None = None,
        method: str = "one-shot",
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return the covariance matrix of columns; see ``discreet.statistics.covariance`` for the methods."""
        arguments = {"columns": columns, "by": by, "weights": weights, "method": method}
        return self._ask("covariance", arguments, Spending(where, epsilon, share))

    def median(
        self,
        column: str,
        *,
        by: str | None = None,
        weights: str | None = None,
        step: float | None = None,
        interval: float | None = 0.95,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return the median of a column; see ``quantiles``."""
        return self.quantile(
            column, 0.5, by=by, weights=weights, step=step, interval=interval, where=where, epsilon=epsilon, share=share
        )

    def quantile(
        self,
        column: str,
        q: float,
        *,
        by: str | None = None,
        weights: str | None = None,
        step: float | None = None,
        interval: float | None = 0.95,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return the q-quantile of a column; see ``quantiles``."""
        arguments = {"q": q, "column": column, "by": by, "weights": weights, "step": step, "interval": interval}
        return self._ask("quantile", arguments, Spending(where, epsilon, share))

    def quantiles(
        self,
        column: str,
        levels: Sequence[float],
        *,
        by: str | None = None,
        weights: str | None = None,
        step: float | None = None,
        interval: float | None = 0.95,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return quantiles of a column.

        ``step``: what the values are multiples of (1 for whole years). ``interval``: the level of the limits that are
        drawn along with them; with None the quantiles have all of the budget, and no limits.
        """
        arguments = {"levels": levels, "column": column, "by": by, "weights": weights}
        return self._ask("quantiles", arguments | {"step": step, "interval": interval}, Spending(where, epsilon, share))

    def interquartile_range(
        self,
        column: str,
        *,
        by: str | None = None,
        weights: str | None = None,
        step: float | None = None,
        interval: float | None = 0.95,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return how far the quartiles of a column are apart; see ``quantiles``."""
        arguments = {"column": column, "by": by, "weights": weights, "step": step, "interval": interval}
        return self._ask("interquartile_range", arguments, Spending(where, epsilon, share))

    def histogram(
        self,
        column: str,
        *,
        bins: Any = 10,
        by: str | None = None,
        where: str | None = None,
        epsilon: float | None = None,
        share: float | None = None,
    ) -> Asked:
        """Return how many rows have each category of a column, or a number between each two edges.

        For a column of dates ``bins`` may be "day", "week", "month" or "year", too.
        """
        return self._ask("histogram", {"column": column, "bins": bins, "by": by}, Spending(where, epsilon, share))

    def check_schema(self, *, epsilon: float | None = None, share: float | None = None) -> Asked:
        """Return how many of the rows that count each column's declaration drops, fills or clips."""
        return self._ask("check_schema", {}, Spending(None, epsilon, share))

    def count_persons(self, *, epsilon: float | None = None, share: float | None = None) -> Asked:
        """Return how many persons have one row, how many up to ``max_rows`` rows, and how many more."""
        return self._ask("count_persons", {}, Spending(None, epsilon, share))
