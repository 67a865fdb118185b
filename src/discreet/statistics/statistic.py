"""What a statistic returns: its value, limits on what noise did to it, and the release behind it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import probability
from discreet.door import Answer, Release
from discreet.guarantees import Loss
from discreet.noise import GaussianNoise, LaplaceNoise, Law
from discreet.statistics.asking import Asking, shaped

__all__ = ["Statistic", "half_width", "tail"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Statistic(Answer):
    """A statistic.

    Attributes
    ----------
    value : float or array
        In the data's own units: a number for one column, an axis of columns for several, and before it an axis of
        groups where there are groups.
    columns : tuple of str
    groups : tuple or None
        The labels of the groups, in the order of ``value``.
    release : Release
        What the value was read from; ``releases`` has all that was measured for it.
    guarantee : Guarantee or None
        What it cost; None where a seed made the promise void.
    single : bool
        Whether there is no axis of columns.
    """

    columns: tuple[str, ...]
    groups: tuple[Any, ...] | None
    single: bool

    @classmethod
    def answered(cls, values: Array, asking: Asking, releases: list[Release], **more: Any) -> Self:
        """Return the answer to what was asked, from values of shape (groups, columns)."""
        value = shaped(values, grouped=asking.groups is not None, single=asking.single)
        facts = {"columns": asking.names, "groups": asking.groups, "single": asking.single} | more
        return cls.of(value, asking.curator, asking.promise, releases, **facts)

    def _shaped(self, values: Array) -> Any:
        return shaped(values, grouped=self.groups is not None, single=self.single)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What each release cost."""
        return tuple(release.loss for release in self.releases)

    @abstractmethod
    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return lower and upper limits, for what ``which_rows`` would give without noise."""

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        """Return the name and the labels of each axis of ``value``."""
        axes: list[tuple[str, Sequence[Any]]] = [] if self.groups is None else [("group", self.groups)]
        return axes if self.single else [*axes, ("column", self.columns)]

    def to_dict(self) -> dict[Any, Any]:
        """Return the values by the labels of their axes, one dictionary in the other; one number by its column.

        They are the numbers alone: ``which_rows`` says which rows they are about, and ``table`` has that beside them.

        >>> from discreet import statistics
        >>> list(statistics.mean([[0.5, 0.25]] * 1000, epsilon=1.0, bounds=(0, 1)).to_dict())
        ['x0', 'x1']
        """

        def labelled(values: Array, axes: Sequence[tuple[str, Sequence[Any]]]) -> Any:
            if not axes:
                return values.item()
            parts = zip(axes[0][1], values, strict=True)
            return {label: labelled(np.asarray(one), axes[1:]) for label, one in parts}

        found = labelled(np.asarray(self.value), self._axes())
        return found if isinstance(found, dict) else {self.columns[0]: found}

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each number: its labels, its value and its limits; ``pandas.DataFrame`` takes it as it is.

        Where the numbers are not about all rows, ``which_rows`` is among them: "at most 4 rows of each patient".

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
            ends = {"value": value[place].item(), "low": low[place].item(), "high": high[place].item()}
            rows.append(labels | ends | about)
        return rows


def tail(law: Law | None, coefficients: Sequence[float], size: float) -> float:
    """Return P(|Σ c_i·z_i| > size) for independent z_i of this law, or a little more.

    Gaussian: exactly. Laplace: with scales b_i = |c_i|·scale it is Σ_i A_i e^(−size/b_i), A_i the product over j ≠ i of
    b_i²/(b_i² − b_j²), by partial fractions of the characteristic functions 1/(1 + b_i²t²). Scales that are equal are
    taken a little apart, upwards. The grid adds at most half a step each.

    >>> from discreet.noise import LaplaceNoise
    >>> round(tail(LaplaceNoise(1.0), [2.0], 4.0), 4), round(tail(LaplaceNoise(1.0), [2.0, 1.0], 4.0), 4)
    (0.1353, 0.1743)
    """
    if not isinstance(law, GaussianNoise | LaplaceNoise):
        raise ValueError(f"law={law!r}: expected Gaussian or Laplace noise")
    sizes = sorted(abs(float(coefficient)) for coefficient in coefficients)
    sizes = [one for one in sizes if one > 1e-9 * sizes[-1]]
    beyond = size - sum(sizes) * law.grid / 2.0
    if not sizes or beyond <= 0.0:
        return float(bool(sizes))
    if isinstance(law, GaussianNoise):
        return math.erfc(beyond / (law.scale * math.hypot(*sizes) * math.sqrt(2.0)))
    scales = [sizes[0] * law.scale]
    for one in sizes[1:]:
        scales.append(max(one * law.scale, 1.01 * scales[-1]))
    total = 0.0
    for one in scales:
        others = math.prod(one * one / (one * one - other * other) for other in scales if other != one)
        total += others * math.exp(-beyond / one)
    return min(max(total, 0.0), 1.0)


def half_width(law: Law | None, coefficients: Sequence[float], level: float) -> float:
    """Return h so that |Σ c_i·z_i| ≤ h with probability ``level``, or a little more, for independent z_i of this law.

    >>> from discreet.noise import GaussianNoise
    >>> round(half_width(GaussianNoise(2.0), [3.0, 4.0], 0.95), 3)
    19.6
    """
    outside = 1.0 - probability("level", level)
    if tail(law, coefficients, 0.0) == 0.0:
        return 0.0
    high = sum(map(abs, coefficients)) * float(getattr(law, "scale", 1.0))
    while tail(law, coefficients, high) > outside:
        high *= 2.0
    low = 0.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if tail(law, coefficients, middle) > outside else (low, middle)
    return high
