"""The grid of candidates for quantiles of a column: equal steps (``Scale``), or public values (``GridSteps``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from discreet.arguments import ArgumentError, positive

FINEST = 2**40  # steps of a column


@dataclass(frozen=True)
class Scale:
    """The steps of a column: numbers from 0 to ``count``, at low, low + step and so on.

    Which step a row has is decided by elementwise operations, so by the row's own bits, and no order of rows is turned
    around: a quantile of the steps is the step of the quantile.

    Parameters
    ----------
    low, high : float
    step : float or None
        None for as many as are of use.

    Examples
    --------
    >>> import numpy as np
    >>> ages = Scale(0.0, 120.0, 1.0)
    >>> ages.count, ages.number(np.array([-5.0, 36.8, 500.0])).tolist(), ages.value(37)
    (120, [0.0, 37.0, 120.0], 37.0)
    """

    low: float
    high: float
    step: float | None = None

    def __post_init__(self) -> None:
        if self.step is not None:
            whole = (self.high - self.low) / positive("step", self.step)
            if not (1.0 <= whole <= FINEST and abs(whole - round(whole)) <= 1e-9 * whole):
                raise ArgumentError(
                    "step",
                    self.step,
                    f"one that goes into the bounds, {self.low:g} to {self.high:g}, a whole number of times, at most "
                    f"{FINEST}",
                )

    @property
    def count(self) -> int:
        """How many steps there are; the numbers go from 0 to this one."""
        return FINEST if self.step is None else round((self.high - self.low) / self.step)

    def number(self, x: Any) -> Any:
        """Return the number of the nearest step, as floats; elementwise and monotone. Array-API generic."""
        xp = array_namespace(x)
        inside = xp.clip(x, self.low, self.high)
        share = (inside - self.low) / (self.high - self.low)
        return xp.clip(xp.round(share * float(self.count)), 0.0, float(self.count))

    def value(self, number: float) -> float:
        """Return the value of a step."""
        if self.step is not None:
            return min(self.low + number * self.step, self.high)
        return self.low + (self.high - self.low) * (number / self.count)


@dataclass(frozen=True)
class GridSteps:
    """Steps of any width: public values in increasing order, to which rows go down, or up.

    A quantile of rows that went down is at or below that of the rows themselves, and so is a lower end of an interval
    for it.

    >>> import numpy as np
    >>> down = GridSteps((0.0, 1.0, 10.0), up=False)
    >>> up = GridSteps((0.0, 1.0, 10.0), up=True)
    >>> down.number(np.array([-1.0, 0.5, 1.0, 99.0])).tolist(), up.number(np.array([0.5]))
    ([0.0, 0.0, 1.0, 2.0], array([1.]))
    """

    values: tuple[float, ...]
    up: bool

    @property
    def count(self) -> int:
        """The largest number of a step."""
        return len(self.values) - 1

    def number(self, x: Any) -> Any:
        """Return the number of each row's step, as floats; elementwise and monotone. Array-API generic."""
        xp = array_namespace(x)
        steps = xp.asarray(self.values, dtype=x.dtype, device=device(x))
        place = xp.searchsorted(steps, x, side="left") if self.up else xp.searchsorted(steps, x, side="right") - 1
        return xp.clip(xp.astype(place, xp.float64), 0.0, float(self.count))

    def value(self, number: float) -> float:
        """Return the value of a step."""
        return self.values[int(number)]
