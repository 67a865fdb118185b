"""What a statistic returns: its value, limits on what noise did to it, and the release behind it."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.door import Answer, Release
from discreet.guarantees import Loss
from discreet.noise import GaussianNoise, LaplaceNoise, Law
from discreet.statistics.asking import Asking, shaped

__all__ = ["Statistic", "half_width"]

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
        """Return lower and upper limits."""

    def to_dict(self) -> dict[Any, Any]:
        """Return the value of each group by its label, or of each column by its name.

        Of several columns in groups, each group has a dictionary of columns.
        """
        values = np.asarray(self.value)
        if self.groups is not None:
            return {label: self._by_column(one) for label, one in zip(self.groups, values, strict=True)}
        found = self._by_column(values)
        return found if isinstance(found, dict) else {self.columns[0]: found}

    def _by_column(self, values: Array) -> Any:
        if values.ndim == 0:
            return values.item()
        if values.shape[0] == len(self.columns):
            return {name: one.tolist() for name, one in zip(self.columns, values, strict=True)}
        return values.tolist()


def half_width(law: Law | None, coefficients: Any, level: float) -> float:
    """Return h so that |Σ c_i·z_i| ≤ h with probability ``level``, for independent z_i of this law.

    Gaussian: exactly. Laplace: with scales b_i = |c_i|·scale, P(|Σ| > h) = Σ_i A_i e^(−h/b_i), A_i the product over
    j ≠ i of b_i²/(b_i² − b_j²), by partial fractions of the characteristic functions 1/(1 + b_i²t²). Scales that are
    equal are taken a little apart, upwards. The grid adds half a step each.
    """
    if not isinstance(law, GaussianNoise | LaplaceNoise):
        raise ValueError(f"law={law!r}: expected Gaussian or Laplace noise")
    sizes = np.abs(np.asarray(coefficients, dtype=np.float64))
    sizes = sizes[sizes > 1e-9 * max(float(sizes.max()), 1e-300)]
    if not len(sizes):
        return 0.0
    if not 0.0 <= level < 1.0:
        raise ValueError(f"level={level!r}: expected a probability in [0, 1)")
    rounding = float(sizes.sum()) * law.grid / 2.0
    if isinstance(law, GaussianNoise):
        return law.scale * float(np.linalg.norm(sizes)) * float(ndtri((1.0 + level) / 2.0)) + rounding
    scales = np.sort(sizes) * law.scale
    for place in range(1, len(scales)):
        scales[place] = max(scales[place], scales[place - 1] * 1.01)
    squares = scales**2
    ratios = squares[:, None] / np.where(np.eye(len(scales)) > 0, 1.0, squares[:, None] - squares[None, :])
    parts = np.where(np.eye(len(scales)) > 0, 1.0, ratios).prod(axis=1)
    low, high = 0.0, float(scales.sum()) * (1.0 - math.log1p(-level))
    for _ in range(100):
        middle = (low + high) / 2.0
        above = float((parts * np.exp(-middle / scales)).sum())
        low, high = (middle, high) if above > 1.0 - level else (low, middle)
    return high + rounding
