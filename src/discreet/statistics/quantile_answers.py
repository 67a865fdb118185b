"""``Quantile`` and ``QuantileRange``: answers that are quantiles, or distances of two, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.door import Release
from discreet.queries.ranks.quantile_queries import Quantiles
from discreet.statistics.quantile_spans import QuantileSpans
from discreet.statistics.request import unwrap
from discreet.statistics.statistic import Statistic

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Quantile(Statistic):
    """A private quantile, or several.

    Attributes
    ----------
    value : float or array
        In the data's own units; whole days since 1970-01-01 for dates. An axis of groups comes first, where there are
        groups, then one of ``levels``, where there are several.
    levels : tuple of float
        The levels of the quantiles, from 0 to 1.
    ends : (array, array) or None
        The ends of the intervals at ``level``; None where none were drawn.
    level : float or None
        The level for which the intervals were drawn, and the largest that they can have.
    """

    levels: tuple[float, ...]
    ends: tuple[Any, Any] | None
    level: float | None
    _spans: QuantileSpans | None  # what approximate intervals are made of; None for worst-case ones
    _several: bool  # whether there is an axis of levels
    _draws: tuple[tuple[Quantiles, Release, float], ...]  # what was drawn, in order, and η

    _kind: ClassVar[str] = "location"
    _for_population: ClassVar[str | None] = "interval_kind='approximate' when you ask"

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each number: its labels, its value and, where it was drawn, its interval."""
        if self.ends is not None:
            return super().table(level, of)
        rows = replace(self, ends=(self.value, self.value), level=0.95, _spans=None).table(level=0.0)
        return [{name: cell for name, cell in row.items() if name not in ("low", "high", "drowned")} for row in rows]

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each quantile that holds it with this probability.

        What they are made of was drawn together with the values, for one level; they can have lower ones. With
        ``of="rows"`` they are about the quantile of these rows and account for the noise. With ``of="population"`` they
        are about that of the population from which they were sampled, and account for the sampling too; this needs
        approximate intervals. Approximate intervals assume that rows are about evenly spread around the quantile.
        Worst-case ones hold with at least their level, and are the same for all lower levels.
        """
        return super().interval(level, of)

    @property
    def _possible(self) -> tuple[Any, Any] | None:
        """The bounds of the column; nothing is compared with them where no interval was drawn."""
        return None if self.ends is None else super()._possible

    def _shown_interval(self) -> str:
        return "" if self.ends is None else super()._shown_interval()

    def _check_level(self, level: float) -> None:
        if self.ends is None or self.level is None:
            raise ValueError("interval=None: no interval was drawn; write for example median(…, interval=0.95)")
        if level > self.level:
            raise ValueError(
                f"level={level!r}: expected at most {self.level}, for which the interval was drawn; ask again with "
                f"interval={level!r}"
            )

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        self._check_level(level)
        if self._spans is None:
            assert self.ends is not None
            return self.ends
        return self._spanned(self._spans, level, population=False)

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        self._check_level(level)
        if self._spans is None:
            raise ArgumentError(
                "of",
                "population",
                "of='rows', since worst-case intervals say nothing of the density of the rows",
                write=self._for_population,
            )
        return self._spanned(self._spans, level, population=True)

    def _spanned(self, spans: QuantileSpans, level: float, *, population: bool) -> tuple[Any, Any]:
        """Return approximate intervals in the shape and the units of ``value``."""
        return self._ordered(*spans.interval(self._each_level(level), population=population), spans.levels)

    def _each_level(self, level: float) -> float:
        """Return the level of the interval of each quantile."""
        return level

    def _ordered(self, low: Array, high: Array, levels: tuple[float, ...]) -> tuple[Any, Any]:
        """Return ends of shape (groups, sorted levels) in the shape and the units of ``value``."""
        (scale,), order = self._scales, [levels.index(level) for level in self.levels]
        ends = (scale.to_own(end)[:, order] if self._several else scale.to_own(end)[:, 0] for end in (low, high))
        lower, upper = (unwrap(end if self.groups is not None else end[0]) for end in ends)
        return lower, upper

    @property
    def _level(self) -> float:
        return 0.95 if self.level is None else min(self.level, 0.95)

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        several = np.ndim(self.value) > (self.groups is not None)
        return super()._axes() + ([("level", self.levels)] if several else [])


class QuantileRange(Quantile):
    """The private distance between two quantiles: between logarithms for a log column, in days for dates."""

    _kind: ClassVar[str] = "spread"

    def _each_level(self, level: float) -> float:
        """Return the level by the union bound, since both intervals must hold."""
        return (1.0 + level) / 2.0

    @property
    def _possible(self) -> tuple[Any, Any] | None:
        """From 0 to the width of the bounds."""
        (scale,) = self._scales
        return None if self.ends is None else (0.0, scale.high - scale.low)

    def _ordered(self, low: Array, high: Array, levels: tuple[float, ...]) -> tuple[Any, Any]:
        """Return the ends of the distance."""
        ends = (np.maximum(low[:, 1] - high[:, 0], 0.0), np.maximum(high[:, 1] - low[:, 0], 0.0))
        lower, upper = (unwrap(end if self.groups is not None else end[0]) for end in ends)
        return lower, upper
