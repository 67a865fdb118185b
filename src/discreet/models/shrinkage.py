"""Shrinkage and pooling: what to believe of numbers with noise of known size, from one release and over several.

**Shrinkage** (James and Stein 1961). A vector x + noise with E‖noise‖² known is best scaled by
1 − E‖noise‖²/‖x + noise‖², about the true share of x in it. The length of the noise varies, by √(2/dof) of it for
``dof`` numbers, so with a caution of t standard deviations what could be noise alone is scaled to 0.

**Pooling.** An estimate x of variance v and a new one x' of variance v' give x + g·(x' − x), of variance
(1 − g)²·v + g²·v'. The gain g = v/(v + v') is the best where both are of the same number; the variance is then g·v'.
Where a number moves from step to step, as parameters of EM do, g = t^(−0.6) at step t forgets what is old. In
either case the shrinkage factor of x' − x is a lower limit on g: what differs by more than noise explains is new.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FORGETTING = 0.6  # a new estimate weighs t to the minus this
HIDDEN = 0.65  # of how far noise alone spreads eigenvalues to either side: no eigenvalue is believed to be below


def shrinkage_factor(noise: Any, observed: Any, dof: float, caution: float = 0.0) -> Any:
    """Return the share of a noisy vector to keep, from 0 to 1; of arrays one for each entry.

    Parameters
    ----------
    noise : float or array
        The expected squared length of the noise.
    observed : float or array
        The squared length of what was observed.
    dof : float
        Of how many numbers.
    caution : float
        How many standard deviations of the noise's own length to allow for.

    Examples
    --------
    >>> shrinkage_factor(1.0, 4.0, dof=10), shrinkage_factor(1.0, 0.9, dof=10)
    (0.75, 0.0)
    """
    threshold = noise * (1.0 + caution * math.sqrt(2.0 / max(dof, 1.0)))
    threshold, observed = np.broadcast_arrays(threshold, observed)
    share_of_noise = np.divide(threshold, observed, out=np.ones(observed.shape), where=observed > threshold)
    factor = 1.0 - share_of_noise
    return factor if factor.ndim else float(factor)


class Estimate(NamedTuple):
    """A noisy number or array, and the variance of its noise."""

    value: Any
    variance: Any

    def pool(self, new: Estimate, gain: Any) -> Estimate:
        """Return the average with a new estimate, which has the weight ``gain``."""
        return Estimate(
            self.value + gain * (new.value - self.value),  # x + g·(x' − x)
            (1.0 - gain) ** 2 * self.variance + gain**2 * new.variance,  # (1 − g)²·v + g²·v'
        )


def forgetting_gain(step: int) -> float:
    """Return t^(−0.6), the weight of a new estimate after t − 1 steps."""
    return float((step + 1.0) ** -FORGETTING)


def shrink_means(
    means: Array, weights: Array, whitening: Array, variances: Array, frames: Array, caution: float
) -> tuple[Array, Array, Array]:
    """Return the common centre of means, their whitened differences from it, and a shrinkage factor for each.

    Parameters
    ----------
    means : array of shape (K, d)
    weights : array of shape (K,)
    whitening : array of shape (d, d)
        In whose coordinates lengths are measured.
    variances, frames : arrays of shape (K,) and (K, d, d)
        The noise of a mean has this variance in each of the coordinates L⁻¹x, with LLᵀ its frame.
    caution : float
    """
    centre = weights @ means
    differences = (means - centre) @ whitening.T
    noises = variances * np.array([np.trace(whitening @ frame @ whitening.T) for frame in frames])
    return centre, differences, shrinkage_factor(noises, (differences**2).sum(axis=1), means.shape[1], caution)
