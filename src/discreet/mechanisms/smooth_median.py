"""The median with noise of its smooth sensitivity, through the door.

*Proof.* ``median_sensitivity`` has the smooth sensitivity of the lower median under replace-one with n public;
``smooth_sensitivity`` what a release with it keeps. Values are the column inside of its declared bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from discreet.arguments import shown
from discreet.door import Answer, Curator, Declarations, Gathering, Passage, open_rows
from discreet.door.passages import Plan, Setting
from discreet.guarantees import Guarantee, Loss, Neighbors
from discreet.mechanisms.admissible import AdmissibleNoise
from discreet.mechanisms.median_sensitivity import rank_of, smooth_sensitivity_of_median
from discreet.mechanisms.own import Array, refuse_gaps
from discreet.mechanisms.smooth_sensitivity import Smooth, noise_for, share_for
from discreet.noise import Bits
from discreet.records import Ball, Block, Box

__all__ = ["smooth_median"]


def smooth_median(
    data: Any,
    column: str | int | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: AdmissibleNoise | None = None,
    share: float = 0.5,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Answer:
    """Return the median with noise of its smooth sensitivity: little where many rows are close to it.

    The median is x_⌈n/2⌉, the lower of the middle two where n is even. An exact draw without a scale to estimate is
    ``exponential_on_interval``; this one is a baseline of the literature.

    Parameters
    ----------
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
        Under replace-one, where every row surely counts and stands for itself.
    column : str or int
        Which numeric column; may be left out where there is one.
    epsilon, delta : float
    noise : AdmissibleNoise
        ``StudentNoise(3)`` at δ = 0, ``LaplaceSlide()`` above it, unless another is given.
    share : float
        Of ε for the slide, between 0 and 1: a larger one takes less noise for the same bound, but β falls, and
        the bound grows.
    bits : SeededBits
        For a test.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    Answer
        ``value`` is a float within the bounds.

    Examples
    --------
    >>> import numpy as np
    >>> incomes = np.random.default_rng(0).lognormal(10, 0.5, 20_001)
    >>> bool(15_000 < smooth_median(incomes, bounds=(0, 1e6), epsilon=1.0).value < 30_000)
    True
    """
    curator = open_rows(data, **declared)
    promise = Guarantee(epsilon, delta, curator.neighbors)
    if curator.neighbors is not Neighbors.REPLACE_ONE:
        raise ValueError(
            "neighbors='add-remove': expected 'replace-one', since the formula for the smooth sensitivity takes the "
            "number of rows as public; write exponential_on_interval or sample_and_aggregate"
        )
    rows = curator.size.rows
    if rows is None or rows == 0:
        raise ValueError(
            "data: expected at least one row, of which each surely counts and stands for itself, since the formula "
            "takes their number as public; write missing='fill' for columns with gaps, and one row for each person"
        )
    place = _place(curator, column)
    way = SmoothMedian(noise_for(noise, promise), share_for(share), _interval(curator.space, place))
    release = curator.measure(OneColumn(way, len(curator.columns), place), promise, bits=bits)
    return Answer.of(float(release["value"][0]), curator, promise, [release])


def _place(curator: Curator, column: str | int | None) -> int:
    """Return the number of a numeric column."""
    names = list(curator.columns)
    if not names:
        raise ValueError("data: expected a numeric column, since categories have no median; write Number(low, high)")
    if column is None and len(names) == 1:
        return 0
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(names):
        return column
    raise ValueError(f"column={shown(column)}: expected one of {names}, or its number")


def _interval(space: Box | Ball, place: int) -> Box:
    """Return the bounds of one column."""
    if isinstance(space, Ball):
        center = float(np.broadcast_to(space.center, space.dimension)[place])
        return Box(center - space.radius, center + space.radius).for_columns(1)
    low, high = (np.broadcast_to(bound, space.dimension)[place] for bound in (space.low, space.high))
    return Box(float(low), float(high)).for_columns(1)


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
class OneColumn(Gathering):
    """One numeric column, inside of its bounds."""

    way: Smooth
    numbers: int
    place: int
    name = "smooth median"

    @property
    def passage(self) -> Passage:
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
