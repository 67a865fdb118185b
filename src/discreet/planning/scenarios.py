"""The two scenarios of the DP-EM paper as lists of losses, to reproduce its figures with ``compose`` and ``calibrate``.

Each of J steps perturbs the K weights once, the K means and the K covariances: 2K + 1 mechanisms (section 4.2).
"""

from __future__ import annotations

from discreet.arguments import choice, integer
from discreet.guarantees import ClassicalGaussianLoss, LaplaceLoss, Loss, Neighbors

__all__ = ["dpem_losses"]


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
