"""Panels that need no screen, for the pictures of experiments."""

from __future__ import annotations

from typing import Any

from discreet.plots.plot import matplotlib_part

__all__ = ["panels"]


def panels(count: int, *, width: float = 4.2, height: float = 3.8) -> tuple[Any, list[Any]]:
    """Return a figure and its panels, side by side.

    Parameters
    ----------
    count : int
    width, height : float
        Of one panel, in inches.
    """
    figure = matplotlib_part("figure").Figure(figsize=(width * count + 0.6, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])
