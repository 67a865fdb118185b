"""``GroupComparison``: the answer to a test, for all rows or for each of several groups.

All groups come from one release. Each has a value, an interval and a p-value of its own, which are those of a release
about that group alone with the same noise. P-values are not corrected for the number of groups.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.door import Curator
from discreet.statistics.comparisons.contrasts import Contrast
from discreet.statistics.groups import By, name_groups
from discreet.statistics.hypothesis_tests import HypothesisTest

Array = NDArray[np.float64]

REJECTED = 0.05  # p-values below which noise has not drowned a comparison


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison(HypothesisTest):
    """The answer to a test.

    Attributes
    ----------
    contrasts : tuple of Contrast
        The released cells of each group, in the order of ``groups``; a single one without groups.
    """

    contrasts: tuple[Contrast, ...]

    takes_categories: ClassVar[bool] = True

    @cached_property
    def p_value(self) -> Any:
        """The p-value, a number, or with groups an array of them: see the class for the hypothesis."""
        return self._each([float(contrast.exceedance()) for contrast in self.contrasts])

    @property
    def _draws(self) -> int:
        return self.contrasts[0].draws

    @property
    def _p_values(self) -> list[float]:
        return list(np.atleast_1d(self.p_value).tolist())

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each value that holds it with about this probability.

        Parameters
        ----------
        level : float
            From 0.9999 on the interval has everything that is possible, since p-values come from 9,999 draws.
        of : str
            "rows" accounts for the noise alone, "population" for the sampling of rows too.
        """
        return super().interval(level, of)

    def _find_interval(self, level: float, of: str) -> tuple[Any, Any]:
        if (level, of) not in self._known_ends:
            self._known_ends[level, of] = [self._ends(contrast, level, of) for contrast in self.contrasts]
        low, high = (self._each(list(side)) for side in zip(*self._known_ends[level, of], strict=True))
        return low, high

    @cached_property
    def _known_ends(self) -> dict[tuple[float, str], list[tuple[float, float]]]:
        """The intervals of all groups by their level and what they are about: tables, plots and text have the same."""
        return {}

    @abstractmethod
    def _ends(self, contrast: Contrast, level: float, of: str) -> tuple[float, float]:
        """Return the interval of one group."""

    def _are_drowned(self, low: Any, high: Any) -> Any:
        """Return which intervals have all that is possible, but not where the test rejects: there no value fits."""
        return super()._are_drowned(low, high) & (np.asarray(self.p_value) >= REJECTED)

    def _each(self, values: list[float]) -> Any:
        """Return the numbers of all groups; without groups the only one."""
        return values[0] if self.groups is None else np.array(values)

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each group, with what is compared, the value, its interval and the p-value."""
        rows = super().table(level, of)
        return [self._compared_cells() | row | {"p_value": p} for row, p in zip(rows, self._p_values, strict=True)]

    @abstractmethod
    def _compared_cells(self) -> dict[str, Any]:
        """Return the cells of a row of the table that say what is compared."""


def name_strata(by: By | None, others: Sequence[str | None], curator: Curator) -> tuple[str, ...]:
    """Return the names of the columns that define groups; raise where one of them is compared itself."""
    names = name_groups(by, curator)
    for name in names:
        if name in others:
            raise ArgumentError("by", by, f"other columns than those that are compared, and {name!r} is one of them")
    return names
