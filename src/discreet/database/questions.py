"""What can be asked: each question once, whether it is answered now or drafted for later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypedDict, TypeVar, Unpack

__all__ = ["Questions", "Spending"]

Asked = TypeVar("Asked")


class Spending(TypedDict, total=False):
    """Which rows a question is about, and what it may cost.

    where : str
        A condition on declared columns: ``"age >= 18 and smoker == 1"``, ``"ward in ['a', 'b']"``; see
        ``discreet.records.conditions``.
    epsilon : float
        What the answer costs by itself, at the δ of the budget (at δ = 0 for quantiles); or
    share : float
        the share of the budget that it takes, between 0 and 1. By default the database's own ``share``.
    """

    where: str | None
    epsilon: float | None
    share: float | None


class Questions(ABC, Generic[Asked]):
    """The questions of a statistical database.

    Each takes ``where``, and ``epsilon`` or ``share``: see ``Spending``. ``columns`` is a name or a list of names;
    ``by`` a declared column of categories, of which each has an answer, also one without rows.
    """

    @abstractmethod
    def _ask(self, statistic: str, arguments: dict[str, Any], spending: Spending) -> Asked:
        """Answer, or draft."""

    def count(self, *, by: str | None = None, **spending: Unpack[Spending]) -> Asked:
        """Return the number of rows: of all (within the limit of a person), or of those where a condition holds."""
        return self._ask("count", {"by": by}, spending)

    def sum(
        self, columns: Any, *, by: str | None = None, weights: str | None = None, **spending: Unpack[Spending]
    ) -> Asked:
        """Return sums of columns."""
        return self._ask("sum", {"columns": columns, "by": by, "weights": weights}, spending)

    def mean(
        self,
        columns: Any,
        *,
        by: str | None = None,
        weights: str | None = None,
        loose: bool = False,
        **spending: Unpack[Spending],
    ) -> Asked:
        """Return means of columns; ``loose=True`` where the bounds are far wider than the rows."""
        return self._ask("mean", {"columns": columns, "by": by, "weights": weights, "loose": loose}, spending)

    def trimmed_mean(
        self, column: str, *, trim: float = 0.1, weights: str | None = None, **spending: Unpack[Spending]
    ) -> Asked:
        """Return the mean of the middle of a column, without a share ``trim`` of the rows at each end."""
        return self._ask("trimmed_mean", {"column": column, "trim": trim, "weights": weights}, spending)

    def variance(
        self,
        columns: Any,
        *,
        by: str | None = None,
        weights: str | None = None,
        method: str = "one-shot",
        **spending: Unpack[Spending],
    ) -> Asked:
        """Return variances of columns; see ``discreet.statistics.variance`` for the methods."""
        arguments = {"columns": columns, "by": by, "weights": weights, "method": method}
        return self._ask("variance", arguments, spending)

    def covariance(
        self,
        columns: Sequence[str],
        *,
        by: str | None = None,
        weights: str | None = None,
        method: str = "one-shot",
        **spending: Unpack[Spending],
    ) -> Asked:
        """Return the covariance matrix of columns; see ``discreet.statistics.covariance`` for the methods."""
        arguments = {"columns": columns, "by": by, "weights": weights, "method": method}
        return self._ask("covariance", arguments, spending)

    def median(
        self,
        column: str,
        *,
        by: str | None = None,
        weights: str | None = None,
        step: float | None = None,
        interval: float | None = 0.95,
        **spending: Unpack[Spending],
    ) -> Asked:
        """Return the median of a column; see ``quantiles``."""
        return self.quantile(column, 0.5, by=by, weights=weights, step=step, interval=interval, **spending)

    def quantile(
        self,
        column: str,
        q: float,
        *,
        by: str | None = None,
        weights: str | None = None,
        step: float | None = None,
        interval: float | None = 0.95,
        **spending: Unpack[Spending],
    ) -> Asked:
        """Return the q-quantile of a column; see ``quantiles``."""
        arguments = {"q": q, "column": column, "by": by, "weights": weights, "step": step, "interval": interval}
        return self._ask("quantile", arguments, spending)

    def quantiles(
        self,
        column: str,
        levels: Sequence[float],
        *,
        by: str | None = None,
        weights: str | None = None,
        step: float | None = None,
        interval: float | None = 0.95,
        **spending: Unpack[Spending],
    ) -> Asked:
        """Return quantiles of a column.

        ``step``: what the values are multiples of (1 for whole years). ``interval``: the level of the limits that are
        drawn along with them; with None the quantiles have all of the budget, and no limits.
        """
        arguments = {"levels": levels, "column": column, "by": by, "weights": weights}
        return self._ask("quantiles", arguments | {"step": step, "interval": interval}, spending)

    def interquartile_range(
        self,
        column: str,
        *,
        by: str | None = None,
        weights: str | None = None,
        step: float | None = None,
        interval: float | None = 0.95,
        **spending: Unpack[Spending],
    ) -> Asked:
        """Return how far the quartiles of a column are apart; see ``quantiles``."""
        arguments = {"column": column, "by": by, "weights": weights, "step": step, "interval": interval}
        return self._ask("interquartile_range", arguments, spending)

    def histogram(self, column: str, *, bins: Any = 10, by: str | None = None, **spending: Unpack[Spending]) -> Asked:
        """Return how many rows have each category of a column, or a number between each two edges."""
        return self._ask("histogram", {"column": column, "bins": bins, "by": by}, spending)
