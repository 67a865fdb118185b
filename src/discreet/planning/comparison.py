"""``compare``: ε by every method of composition, and ``dpem_losses``: the losses of the DP-EM paper as an example.

``dpem_losses`` has the two scenarios of that paper, to reproduce its figures with ``compose`` and ``calibrate``. Each
of J steps perturbs the K weights once, the K means and the K covariances: 2K + 1 mechanisms (section 4.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.arguments import axes, choice, integer, iterable, probability
from discreet.guarantees import ClassicalGaussianLoss, LaplaceLoss, Loss
from discreet.guarantees.composition import METHODS, compose
from discreet.guarantees.guarantee import Neighbors, format_rounded_up
from discreet.guarantees.loss import Array, Losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Comparison:
    """ε by every method at one or more δ.

    Attributes
    ----------
    delta : ndarray of shape (n,)
    epsilon : mapping of str to ndarray of shape (n,)
        One array for each method; ∞ where the method gives no guarantee.
    neighbors : Neighbors
    """

    delta: Array
    epsilon: Mapping[str, Array]
    neighbors: Neighbors

    def __str__(self) -> str:
        rows = [["δ", *(f"{delta:.3g}" for delta in self.delta)]]
        rows += [
            [method, *(format_rounded_up(value, 4) for value in values)] for method, values in self.epsilon.items()
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        ]
        return "\n".join([f"ε under {self.neighbors}", *lines])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ε against δ, or bars where there is one δ, and return the axes.

        A method without a guarantee is labelled as such. Needs matplotlib: ``pip install 'discreet[plot]'``.
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
            ax.bar_label(bars, [f"{h:.3g}" if np.isfinite(h) else "no guarantee" for h in heights], padding=3)
            ax.set_xlabel(f"ε at δ = {self.delta[0]:g} ({self.neighbors})")
            ax.invert_yaxis()
        else:
            order = np.argsort(self.delta)
            for style, (method, values) in zip(cycle(("-", "--", "-.", ":")), self.epsilon.items(), strict=False):
                name = method if np.isfinite(values).any() else f"{method} (no guarantee)"
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


def dpem_losses(
    scenario: str,
    *,
    steps: int,
    components: int,
    epsilon: float,
    delta: float,
    neighbors: Neighbors | str = Neighbors.REPLACE_ONE,
) -> list[Loss]:
    """Return the losses of J = ``steps`` iterations with K = ``components`` at (ε_i, δ_i) a mechanism.

    Parameters
    ----------
    scenario : str
        ``"LLG"``: Laplace for the weights and the means, Gaussian for the covariances, so J(K+1) Laplace and JK
        Gaussian mechanisms. ``"GGG"``: J(2K+1) Gaussian ones.
    steps, components : int
    epsilon, delta : float
        ε_i and δ_i of every mechanism; the noise of the Gaussian ones is set by the classical rule, as in the paper.
    neighbors : Neighbors or str

    Examples
    --------
    >>> from discreet import Guarantee, calibrate
    >>> figure_2 = dpem_losses("GGG", steps=20, components=10, epsilon=0.1, delta=1e-6)
    >>> zcdp = calibrate(Guarantee(1.0, 1e-4), figure_2, "zcdp")
    >>> round(1.0 / zcdp.losses[0].gaussian)  # σ/Δ of each of the 420 mechanisms
    90
    """
    choice("scenario", scenario, ["LLG", "GGG"])
    steps = integer("steps", steps, least=1)
    components = integer("components", components, least=1)
    relation = Neighbors.parse(neighbors)
    gaussian = ClassicalGaussianLoss(epsilon, delta, relation)
    if scenario == "GGG":
        return [gaussian] * (steps * (2 * components + 1))
    laplace: list[Loss] = [LaplaceLoss(epsilon, relation)] * (steps * (components + 1))
    return laplace + [gaussian] * (steps * components)
