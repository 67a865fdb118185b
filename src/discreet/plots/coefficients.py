"""``Coefficients``: what each column does to a linear score, from one end of its declared bounds to the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.plots.intervals import Intervals
from discreet.plots.plot import Array, Facts, number

__all__ = ["NO_NOISE", "Coefficients"]

NO_NOISE = "no interval: the noise of this method does not split by coefficient"


@dataclass(frozen=True, eq=False)
class Coefficients(Intervals):
    """Coefficients times the width of their column's declared bounds, so that columns of different units compare.

    Parameters
    ----------
    values, low, high : array of shape (d,)
        As in ``Intervals``, times the widths.
    own : array of shape (d,)
        The coefficients in the data's own units, for the table.
    widths : array of shape (d,)
    """

    own: Array = field(default_factory=lambda: np.zeros(0))
    widths: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def from_bounds(
        cls, own: Array, widths: Array, columns: Sequence[str], noise: Array | None, moves: str, what: str
    ) -> Coefficients:
        """Return the picture of coefficients, with the standard deviations of their noise where these are known."""
        low, high = (None, None) if noise is None else ((own - 2.0 * noise) * widths, (own + 2.0 * noise) * widths)
        return cls(
            own * widths,
            columns,
            low,
            high,
            what=what,
            unknown=NO_NOISE,
            zero=True,
            unit=f"change of {moves} from the low to the high end of the declared bounds",
            own=own,
            widths=widths,
        )

    @property
    def facts(self) -> Facts:
        """The coefficients in the data's own units as well."""
        wide = super().facts
        rows = [
            [first, number(own, 4), number(width, 4), *rest]
            for (first, *rest), own, width in zip(wide.rows, self.own, self.widths, strict=True)
        ]
        return Facts(["column", "coefficient", "width of the bounds", "both multiplied", *wide.header[2:]], rows)
