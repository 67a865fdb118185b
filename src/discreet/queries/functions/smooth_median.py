"""The median with noise of its smooth sensitivity, through the door.

*Proof.* ``median_sensitivity`` has the smooth sensitivity of the lower median under replace-one with n public;
``smooth_sensitivity`` what a release with it keeps. Values are the column inside of its declared bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.guarantees import Guarantee, Loss
from discreet.queries.bound import Setting
from discreet.queries.functions.median_sensitivity import rank_of, smooth_sensitivity_of_median
from discreet.queries.functions.own import Array, refuse_gaps
from discreet.queries.functions.smooth_sensitivity import Smooth
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import RowQuery
from discreet.records import Block

__all__ = ["OneColumn", "SmoothMedian"]


class SmoothMedian(Smooth):
    """The lower median of one column, under replace-one with n public (``median_sensitivity`` has the formula)."""

    def at(self, values: Array, beta: float) -> tuple[float, float]:
        """Return the median and its smooth sensitivity."""
        ordered = np.sort(values[:, 0])
        low, high = float(np.asarray(self.box.low)[0]), float(np.asarray(self.box.high)[0])
        bound = smooth_sensitivity_of_median(ordered, low, high, beta)
        return float(ordered[rank_of(0.5, ordered.size) - 1]), bound

    def planned(self, loss: Loss, setting: Setting) -> Plan:
        """Return the draw; under replace-one only."""
        refuse_gaps(setting, OneColumn.name)
        return super().planned(loss, setting)


@dataclass(frozen=True, eq=False)
class OneColumn(RowQuery):
    """One numeric column, inside of its bounds."""

    way: Smooth
    numbers: int
    place: int
    name = "smooth median"

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        return self.way

    @property
    def dimension(self) -> int:
        """The number of numeric columns."""
        return self.numbers

    @property
    def width(self) -> int:
        """One."""
        return 1

    def taken(self, block: Block) -> Any:
        """Return the column."""
        return block.x[:, self.place : self.place + 1]

    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return the mechanism's."""
        return self.way.usual_loss(guarantee)
