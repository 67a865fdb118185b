"""``compare``: the same losses by every method, as a table or a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.arguments import axes, iterable, probability
from discreet.guarantees.composition import METHODS, compose
from discreet.guarantees.guarantee import Neighbors, rounded_up
from discreet.guarantees.loss import Array, Losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """ε by every method at one or more δ.

    Attributes
    ----------
    delta : ndarray of shape (n,)
    epsilon : mapping of str to ndarray of shape (n,)
        One row a method; ∞ where the method promises nothing.
    neighbors : Neighbors
    """

    delta: Array
    epsilon: Mapping[str, Array]
    neighbors: Neighbors

    def __str__(self) -> str:
        rows = [["δ", *(f"{delta:.3g}" for delta in self.delta)]]
        rows += [[method, *(rounded_up(value, 4) for value in values)] for method, values in self.epsilon.items()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        ]
        return "\n".join([f"ε under {self.neighbors}", *lines])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ε against δ, or bars where there is one δ, and return the axes.

        A method that promises nothing is named as such. Needs matplotlib: ``pip install 'discreet[plot]'``.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as missing:
                raise ImportError("plot() needs matplotlib: pip install 'discreet[plot]'") from missing
            ax = pyplot.subplots(layout="constrained")[1]
        ax = cast("Axes", axes(ax))
        if len(self.delta) == 1:
            heights = [float(values[0]) for values in self.epsilon.values()]
            bars = ax.barh(list(self.epsilon), [height if np.isfinite(height) else 0.0 for height in heights])
            ax.bar_label(bars, [f"{h:.3g}" if np.isfinite(h) else "promises nothing" for h in heights], padding=3)
            ax.set_xlabel(f"ε at δ = {self.delta[0]:g} ({self.neighbors})")
            ax.invert_yaxis()
        else:
            order = np.argsort(self.delta)
            for style, (method, values) in zip(cycle(("-", "--", "-.", ":")), self.epsilon.items(), strict=False):
                name = method if np.isfinite(values).any() else f"{method} (promises nothing)"
                ax.plot(self.delta[order], values[order], style, label=name)
            ax.set(xscale="log", xlabel="δ", ylabel=f"ε ({self.neighbors})")
            ax.legend()
        return ax


def compare(losses: Losses, delta: float | Iterable[float]) -> Comparison:
    """Return the ε of ``losses`` at ``delta`` (one or several) by every method of ``compose``.

    Examples
    --------
    >>> from discreet import LaplaceLoss
    >>> print(compare([LaplaceLoss(0.05)] * 30, 1e-6))
    ε under replace-one
    δ         1e-06
    linear      1.5
    advanced  1.517
    zcdp      1.478
    moments   1.328
    exact     1.093
    """
    given: Any = delta
    values = [given] if isinstance(given, str) or not iterable(given) else list(given)
    deltas = [probability("delta", value) for value in values]
    if not deltas:
        raise ValueError("delta=[]: expected a probability in [0, 1), or a list of at least one")
    composed = [compose(losses, method) for method in METHODS]
    return Comparison(
        delta=np.array(deltas),
        epsilon={one.method: np.array([one.epsilon(value) for value in deltas]) for one in composed},
        neighbors=composed[0].neighbors,
    )
