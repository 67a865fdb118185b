"""Smooth sensitivity: mechanisms with noise scaled to a smooth bound on the local sensitivity, with proof.

*Proof.* For any f with a β-smooth upper bound S on its local sensitivity, f + (S/α)·Z satisfies (ε, δ) with the α and β
of ``admissible_noise``. The changes to S made here keep it such a bound: clipping f to an interval of width W brings no
two values farther apart; min(S, W) still bounds the local sensitivity and, like max(S, floor), is β-smooth if S is,
since a constant is. The result is clipped to the interval again, which is post-processing.

*The floor.* Let M be the largest absolute value in the interval. The floor of S is 2⁻⁴⁰·M·max(1, α), and is applied
last, so that the noise scale S/α is never below 2⁻⁴⁰·M. Floats up to M are at most 2⁻⁵²·M apart, so the scale is at
least 2¹² times their spacing, wherever the interval lies and however large ε is. (If the interval is narrow compared
with its distance from zero, shift it to zero: of a number near 1e9 that varies by 1, release its difference from 1e9.)
The floor also covers a computed S that underflows and is therefore no longer smooth.

The noise scale depends on the rows, so neither it nor anything derived from it is released. Draws are floats, so a
release is marked idealised.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import ArgumentError
from discreet.guarantees import ApproximateLoss, Guarantee, Loss, PureLoss
from discreet.noise.draws import NoDraw
from discreet.queries.bound import Setting
from discreet.queries.functions.admissible_noise import AdmissibleNoise
from discreet.queries.functions.user_functions import Array, RowMechanism, UserFunction
from discreet.queries.mechanism import Plan
from discreet.queries.question import Part
from discreet.records import Box

FLOOR = 2.0**-40  # the least scale of the noise, in units of the largest number there may be


def box_width(box: Box) -> float:
    """Return the width of a box of one column."""
    return float(np.asarray(box.high)[0] - np.asarray(box.low)[0])


@dataclass(frozen=True, eq=False)
class SmoothMechanism(RowMechanism):
    """f + (S/α)·Z, moved into a box; see the module for the proof."""

    name = "smooth sensitivity"
    noise: AdmissibleNoise
    share: float
    box: Box

    @property
    def declared(self) -> dict[str, Any]:
        """What the user stated; nothing where S is proved."""
        return {}

    @abstractmethod
    def at(self, values: Array, beta: float) -> tuple[float, float]:
        """Return f and S for rows; both private."""

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return a pure loss, or (ε, δ) itself where the noise needs a δ."""
        if self.noise.pure:
            return PureLoss(guarantee.epsilon, guarantee.neighbors)
        return ApproximateLoss(guarantee.epsilon, guarantee.delta, guarantee.neighbors)

    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``PureLoss``, or an ``ApproximateLoss``."""
        if not isinstance(loss, PureLoss if self.noise.pure else ApproximateLoss):
            raise ArgumentError("loss", loss, "a PureLoss, or an ApproximateLoss where the noise needs a δ")
        if setting.max_rows != 1:
            raise ValueError(f"max_rows={setting.max_rows}: expected 1")
        alpha, beta = self.noise.rates(loss.pure, loss.failure, self.share)
        if not (alpha > 0.0 and beta > 0.0):
            raise ArgumentError("loss", loss, "a larger ε; at this one the noise overflows")

        def noisy(rows: Array, z: Array) -> Array:
            value, bound = self.bounded(rows, alpha, beta)
            with np.errstate(all="ignore"):
                return np.asarray(self.box.clip(value + bound / alpha * z))

        return Plan(
            loss=loss,
            parts={"value": Part((1,))},
            draw=NoDraw(),
            first=((self.noise, lambda rows: 1),),
            target=noisy,
            declared=self.declared,
        )

    def bounded(self, values: Array, alpha: float, beta: float) -> tuple[float, float]:
        """Return f in the box, and S, at most the box's width and at least the floor."""
        value, bound = self.at(values, beta)
        largest = float(max(np.abs(np.asarray(self.box.low)).max(), np.abs(np.asarray(self.box.high)).max()))
        floor = FLOOR * largest * max(1.0, alpha)
        return float(self.box.clip(np.array([value]))[0]), max(min(bound, box_width(self.box)), floor)


@dataclass(frozen=True, eq=False)
class SmoothFunction(SmoothMechanism):
    """A user's f and s."""

    function: UserFunction
    s: Callable[[Array, float], Any]

    @property
    def declared(self) -> dict[str, Any]:
        """The smooth bound."""
        return {"smooth sensitivity": "stated by the user"}

    def at(self, values: Array, beta: float) -> tuple[float, float]:
        """Return f, and s or the width."""
        width = box_width(self.box)
        bound = UserFunction.with_output(lambda rows: self.s(rows, beta), (0.0, width), None, width)
        return float(self.function(values.copy())[0]), float(bound(values)[0])
