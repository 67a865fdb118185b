"""``HypothesisTest``: an answer with p-values, which come from a fixed number of draws and so have a smallest one.

With R draws a p-value is (1 + number of draws that are as extreme)/(1 + R). Where no draw is, it is 1/(1 + R), and all
that is known is that the p-value is at most that. So it is shown as "p ≤ 0.0001", and a note says why.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.statistics.statistic import MOST_SHOWN, Statistic


@dataclass(frozen=True, eq=False, repr=False)
class HypothesisTest(Statistic):
    """The answer to a test, or to several."""

    speaks_of_population: ClassVar[bool] = True

    @property
    def interval_of(self) -> str:
        """The population, about which the p-value is, so that the interval and the test say the same."""
        return "population"

    @property
    @abstractmethod
    def _draws(self) -> int:
        """How many draws the p-values come from."""

    @property
    @abstractmethod
    def _p_values(self) -> list[float]:
        """All p-values."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know: also that draws cannot tell smaller p-values, where one is the smallest."""
        if all(p > 1.0 / (1 + self._draws) for p in self._p_values):
            return super().notes
        least = show_p_value(0.0, self._draws)
        return (*super().notes, f"p {least}: {self._draws:,} draws cannot tell a smaller p-value")

    def _show_cells(self, row: dict[str, Any]) -> dict[str, Any]:
        shown = {"p_value": show_p_value(row["p_value"], self._draws)} if "p_value" in row else {}
        return super()._show_cells(row) | shown

    def _describe_p_value(self, p: float) -> str:
        """Return "p = 0.023", or "p ≤ 0.0001"."""
        shown = show_p_value(p, self._draws)
        return f"p {shown}" if shown.startswith("≤") else f"p = {shown}"

    def _describe_p_values(self) -> str:
        """Return the p-values by the groups' labels, or the least of many."""
        if self.groups is None:
            return self._describe_p_value(self._p_values[0])
        if not 0 < len(self.groups) <= MOST_SHOWN:
            least = show_p_value(float(np.min(self._p_values, initial=1.0)), self._draws)
            return f"least p of {len(self.groups)} groups {least}"
        pairs = zip(self.groups, self._p_values, strict=True)
        return f"p: {{{', '.join(f'{label!r}: {show_p_value(p, self._draws)}' for label, p in pairs)}}}"


def show_p_value(p: float, draws: int) -> str:
    """Return a p-value from so many draws as text, "≤ 0.0001" where no draw was as extreme.

    >>> show_p_value(0.0234, 9999), show_p_value(0.0001, 9999), show_p_value(0.0005, 1999)
    ('0.023', '≤ 0.0001', '≤ 0.0005')
    """
    least = 1.0 / (1 + draws)
    return f"≤ {least:.2g}" if p <= least else f"{p:.2g}"
