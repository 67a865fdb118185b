"""What a statistic returns: its value, intervals for what the noise did to it, and the releases behind it.

**Scales.** What is measured of a log column is of its logarithms, and of a column of dates in days since 1970-01-01
(``records.declared.columns``). A location (a mean, a quantile) comes back in the column's own units; of dates ``value``
and ``interval`` are numbers of days, and what is shown (``repr``, ``to_dict``, ``table``) has dates. A spread stays on
the scale that it was measured on: of logarithms, which the name of its column then says, or in days.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.door import Answer, Release
from discreet.guarantees import Loss
from discreet.noise import NoiseDistribution
from discreet.scales import ColumnScale, column_scales
from discreet.statistics.request import ColumnRequest, shaped

Array = NDArray[np.float64]

MOST_SHOWN = 24  # numbers with the labels of their groups, in one line


@dataclass(frozen=True, eq=False, repr=False)
class Statistic(Answer):
    """A statistic.

    Attributes
    ----------
    value : float or array
        In the data's own units (days since 1970-01-01 for a column of dates): a number for one column, an axis of
        columns for several, and before it an axis of groups where there are groups.
    columns : tuple of str
        Of a spread ``log(income)`` where it is that of the logarithms.
    groups : tuple or None
        The labels of the groups, in the order of ``value``.
    release : Release
        What the value was read from; ``releases`` has all that was measured for it.
    guarantee : Guarantee or None
        What it cost; None where the noise came from a seed, which voids the guarantee.
    single : bool
        Whether there is no axis of columns.
    """

    columns: tuple[str, ...]
    groups: tuple[Any, ...] | None
    single: bool

    _kind: ClassVar[str] = "amount"  # or "location" or "spread": what becomes of the scale of a column

    @property
    def _noise(self) -> NoiseDistribution:
        """The noise of the release."""
        assert self.release.noise is not None  # additive, where intervals are about noise alone
        return self.release.noise

    @classmethod
    def from_values(cls, values: Array, request: ColumnRequest[Any], releases: list[Release], **more: Any) -> Self:
        """Return the answer to a request, from values of shape (groups, columns)."""
        names = tuple(scale.name for scale in request.scales)
        if cls._kind == "location":
            values = in_own_units(values, request.scales)
        elif cls._kind == "spread":
            names = tuple(scale.label for scale in request.scales)
        value = shaped(values, grouped=request.groups is not None, single=request.single)
        facts = {"columns": names, "groups": request.groups, "single": request.single} | more
        return cls.from_releases(value, request.curator, request.guarantee, releases, **facts)

    @classmethod
    def _describe(cls, statistic: str, columns: Sequence[str], logs: Sequence[str]) -> str:
        """Return the question in words, where some of its columns are on a log scale."""
        spread = cls._kind == "spread"
        names = [f"log({name})" if spread and name in logs else name for name in columns]
        return f"{statistic} of {', '.join(names)}" if names else statistic

    @property
    def _scales(self) -> tuple[ColumnScale, ...]:
        """The scale of each column; none for a number of rows."""
        known = column_scales(self.release.declared)
        named = {scale.label: scale for scale in known.values()} | known
        return tuple(named[name] for name in self.columns if name in named)

    def _scale_of(self, labels: dict[str, Any]) -> ColumnScale | None:
        """Return the scale that a number with these labels is shown on; None where it is a number."""
        if self._kind != "location" or not self._scales:
            return None
        return next((one for one in self._scales if one.name == labels.get("column")), self._scales[0])

    def _show_number(self, number: float, labels: dict[str, Any]) -> Any:
        scale = self._scale_of(labels)
        return number if scale is None else scale.shown(number)

    def _shaped(self, values: Array) -> Any:
        return shaped(values, grouped=self.groups is not None, single=self.single)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What each release cost."""
        return tuple(release.loss for release in self.releases)

    @abstractmethod
    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the ends of an interval for what ``which_rows`` would give without noise."""

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        """Return the name and the labels of each axis of ``value``."""
        axes: list[tuple[str, Sequence[Any]]] = [] if self.groups is None else [("group", self.groups)]
        return axes if self.single else [*axes, ("column", self.columns)]

    def to_dict(self) -> dict[Any, Any]:
        """Return the values by the labels of their axes, one dictionary in the other; one number by its column.

        They are the numbers alone: ``which_rows`` says which rows they are about, and ``table`` has that beside them.
        A place in a column of dates is a date, "2023-01-31".

        >>> from discreet import statistics
        >>> list(statistics.mean([[0.5, 0.25]] * 1000, epsilon=1.0, bounds=(0, 1)).to_dict())
        ['x0', 'x1']
        """

        def labelled(values: Array, axes: Sequence[tuple[str, Sequence[Any]]], labels: dict[str, Any]) -> Any:
            if not axes:
                return self._show_number(values.item(), labels)
            name, several = axes[0]
            parts = zip(several, values, strict=True)
            return {label: labelled(np.asarray(one), axes[1:], labels | {name: label}) for label, one in parts}

        result = labelled(np.asarray(self.value), self._axes(), {})
        return result if isinstance(result, dict) else {self.columns[0]: result}

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each number: its labels, its value and its interval; ``pandas.DataFrame`` takes it as it is.

        Where the numbers are not about all rows, ``which_rows`` is among them: "at most 4 rows of each patient". Places
        in a column of dates are dates. Where a column is on a log scale, it is said what a number is: a geometric mean,
        or of which logarithms.

        >>> from discreet import statistics
        >>> row, = statistics.mean([0.5] * 1000, epsilon=1.0, bounds=(0, 1)).table()
        >>> list(row)
        ['value', 'low', 'high']
        """
        value, axes = np.asarray(self.value), self._axes()
        low, high = (np.broadcast_to(end, value.shape) for end in self.interval(level))
        about = {} if self.which_rows is None else {"which_rows": self.which_rows}
        rows = []
        for place in np.ndindex(value.shape):
            labels = {name: several[one] for (name, several), one in zip(axes, place, strict=True)}
            numbers = {"value": value[place].item(), "low": low[place].item(), "high": high[place].item()}
            ends = {name: self._show_number(number, labels) for name, number in numbers.items()}
            rows.append(labels | self._extra_cells(labels) | ends | about)
        return rows

    def _extra_cells(self, labels: dict[str, Any]) -> dict[str, Any]:
        """Return what else a row of the table says: of which logarithms its number is."""
        if self._kind == "spread" and self.single and any(scale.kind == "log" for scale in self._scales):
            return {"column": self.columns[0]}
        return {}

    def _shown(self) -> str:
        scales, kinds = self._scales, {scale.kind for scale in self._scales}
        if self._kind == "amount" or kinds <= {"linear"}:
            labels = self.groups if self.groups is not None else getattr(self, "labels", None)
            labelled = labels is not None and 0 < np.size(self.value) <= MOST_SHOWN
            return str(_rounded(self.to_dict())) if labelled else super()._shown()
        if self._kind == "location":
            values = self.to_dict()
            shown = _rounded(values[scales[0].name] if set(values) == {scales[0].name} else values)
            return shown if isinstance(shown, str) else str(shown)
        if len(scales) == 1 and kinds == {"date"}:
            return f"{super()._shown()} {self._days}"
        return f"{super()._shown()} of {', '.join(self.columns)}" if "log" in kinds else super()._shown()

    _days: ClassVar[str] = "days"


def in_own_units(values: Array, scales: Sequence[ColumnScale]) -> Array:
    """Return values whose last axis is of columns in the units of these."""
    return np.stack([scale.to_own(values[..., j]) for j, scale in enumerate(scales)], axis=-1)


def _rounded(values: Any) -> Any:
    """Return what ``to_dict`` returns with few digits, for a ``repr``."""
    if isinstance(values, dict):
        return {label: _rounded(one) for label, one in values.items()}
    return float(f"{values:.6g}") if isinstance(values, float) else values
