"""Columns: which of them is meant, where it can lie, and where in there a row is. All by public facts."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from discreet.records import Ball, Box

__all__ = ["column_share", "limits_of"]


def limits_of(space: Box | Ball, column: int) -> tuple[float, float]:
    """Return where a column of the space can lie: the sides of a box, centre ± radius for a ball.

    >>> limits_of(Box([0, 40], [120, 250]), 1), limits_of(Ball(2.0, center=[1.0]), 0)
    ((40.0, 250.0), (-1.0, 3.0))
    """
    center = float(np.asarray(space.center).reshape(-1)[column])
    if isinstance(space, Ball):
        return center - space.radius, center + space.radius
    low, high = (np.asarray(end).reshape(-1) for end in (space.low, space.high))
    return float(low[column]), float(high[column])


@np.errstate(all="ignore")
def column_share(space: Box | Ball, x: Any, column: int) -> Any:
    """Return where in its interval each row's column lies, from 0 at the low end to 1 at the high end.

    In [0, 1] for any row whatever; a NaN is in the middle. Elementwise and array-API generic.
    """
    low, high = limits_of(space, column)
    half = high / 2.0 - low / 2.0
    xp = array_namespace(x)
    y = (xp.astype(x[:, column], xp.float64) - (low / 2.0 + high / 2.0)) / half
    return xp.clip(0.5 * xp.where(xp.isnan(y), xp.zeros_like(y), y) + 0.5, 0.0, 1.0)
