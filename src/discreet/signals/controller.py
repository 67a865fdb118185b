"""When to look next: the controller of FAST (Fan and Xiong 2012)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.arguments import integer, nonnegative, positive

__all__ = ["Controller"]


@dataclass(frozen=True)
class Controller:
    """A PID controller of the sampling interval, with the defaults of Fan and Xiong.

    Parameters
    ----------
    proportional, integral, derivative : float
        The gains C_p, C_i, C_d.
    window : int
        Over how many errors the integral is taken.
    growth : float
        θ: by how many steps the interval grows, at most, at a time.
    target : float
        ξ: the feedback error at which the interval stays as it is.
    pace : float
        An interval is never shorter than this part of the even spacing of the looks that are left; 0 for the paper's,
        which may spend all of them on the first steps.

    Examples
    --------
    >>> controller = Controller()
    >>> controller.next_interval(4.0, [0.1], [0]) , round(controller.next_interval(4.0, [0.0], [0]), 3)
    (4.0, 10.321)
    """

    proportional: float = 0.9
    integral: float = 0.1
    derivative: float = 0.0
    window: int = 5
    growth: float = 10.0
    target: float = 0.1
    pace: float = 0.5

    def __post_init__(self) -> None:
        for name in ("proportional", "integral", "derivative"):
            nonnegative(name, getattr(self, name))
        integer("window", self.window, least=1)
        positive("growth", self.growth)
        positive("target", self.target)
        nonnegative("pace", self.pace)

    def next_interval(self, interval: float, errors: Sequence[float], places: Sequence[int]) -> float:
        """Return max(1, I + θ·(1 − e^((Δ − ξ)/ξ))), Δ the PID error after these feedback errors at these steps."""
        recent = errors[-self.window :]
        error = self.proportional * errors[-1] + self.integral * sum(recent) / len(recent)
        if len(errors) > 1:
            error += self.derivative * (errors[-1] - errors[-2]) / (places[-1] - places[-2])
        excess = min((error - self.target) / self.target, 50.0)
        return max(1.0, interval + self.growth * -math.expm1(excess))
