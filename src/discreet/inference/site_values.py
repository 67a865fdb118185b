"""The values of discrete sites, gone through one by one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["combinations", "is_finite"]

Array = NDArray[np.float64]


def is_finite(site: Any) -> bool:
    """Return whether a site is one number of finitely many."""
    return bool(site.has_enumerate_support and site.event_shape == () and site.batch_shape == ())


def combinations(each: Iterable[Any], most: int) -> list[Array] | None:
    """Return all combinations of some values, an array for each place; None where they are more than ``most``."""
    supports = [np.asarray(support) for support in each]
    if prod(map(len, supports)) > most:
        return None
    return [np.array(part) for part in zip(*product(*supports), strict=True)]
