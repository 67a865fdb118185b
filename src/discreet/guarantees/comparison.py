"""``compare``: the same losses by every method, as a table or a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import probability
from discreet.guarantees.composing import METHODS, compose
from discreet.guarantees.composition import Losses
from discreet.guarantees.loss import Array
from discreet.guarantees.neighbors import Neighbors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
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
        rows += [[method, *(f"{value:.4g}" for value in values)] for method, values in self.epsilon.items()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        ]
        return "\n".join([f"ε under {self.neighbors}", *lines])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ε against δ (bars where there is one δ) with matplotlib, from the extra ``discreet[plot]``."""
        if ax is None:
            try:
                from matplotlib.figure import Figure
            except ImportError as missing:
                raise ImportError("plot() needs matplotlib: pip install 'discreet[plot]'") from missing
            ax = Figure(figsize=(6.0, 4.0), layout="constrained").add_subplot()
        finite = {method: values for method, values in self.epsilon.items() if np.isfinite(values).any()}
        if len(self.delta) == 1:
            ax.barh(list(finite), [float(values[0]) for values in finite.values()])
            ax.set_xlabel(f"ε at δ = {self.delta[0]:g} ({self.neighbors})")
        else:
            for method, values in finite.items():
                ax.plot(self.delta, values, label=method)
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
    advanced  1.516
    zcdp      1.477
    moments   1.328
    exact     1.093
    """
    values: Any = delta
    deltas = [probability("delta", value) for value in np.atleast_1d(np.asarray(values)).tolist()]
    if not deltas:
        raise ValueError("delta=[]: expected a probability in [0, 1), or a list of at least one")
    composed = [compose(losses, method) for method in METHODS]
    return Comparison(
        delta=np.array(deltas),
        epsilon={one.method: np.array([one.epsilon(value) for value in deltas]) for one in composed},
        neighbors=composed[0].neighbors,
    )
