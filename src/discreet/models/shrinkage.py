"""How much of a noisy deviation to keep, when the noise is known (James and Stein 1961).

A vector x + noise with E‖noise‖² known is best scaled by 1 − E‖noise‖²/‖x + noise‖², about the true share of x in it.
The noise's own length varies, by √(2/dof) of it for ``dof`` numbers, so with a caution of t standard deviations what
could be noise alone is not kept.
"""

from __future__ import annotations

import math

__all__ = ["kept"]


def kept(noise: float, observed: float, dof: float, caution: float) -> float:
    """Return the share of a deviation to keep.

    Parameters
    ----------
    noise : float
        The expected squared length of the noise.
    observed : float
        The squared length of what was observed.
    dof : float
        Of how many numbers.
    caution : float
        How many standard deviations of the noise's own length to allow for.

    Examples
    --------
    >>> kept(1.0, 4.0, dof=10, caution=0.0), kept(1.0, 0.9, dof=10, caution=0.0)
    (0.75, 0.0)
    """
    threshold = noise * (1.0 + caution * math.sqrt(2.0 / max(dof, 1.0)))
    return max(0.0, 1.0 - threshold / observed) if observed > 0.0 else 0.0
