"""Noisy estimates whose noise is known: pooled over several releases, and shrunk.

**Shrinkage** (James and Stein 1961). Let y = x + e with E‖e‖² known. The best multiple of y as an estimate of x is
about y·(1 − E‖e‖²/‖y‖²). The squared length of the noise varies, with a standard deviation of √(2/dof)·E‖e‖² for
``dof`` numbers. With a caution of t the threshold is t such standard deviations higher,

    factor = max(0, 1 − E‖e‖²·(1 + t·√(2/dof))/‖y‖²),

so that a vector that could be noise alone is scaled to 0.

**Pooling.** An estimate x of variance v and a new one x' of variance v' give x + g·(x' − x), of variance
(1 − g)²·v + g²·v'. If both estimate the same number, the gain g = v/(v + v') is the best one, and the variance is then
g·v'. If the number moves from step to step, as the parameters of EM do, g = t^(−0.6) at step t forgets old estimates.
In either case the shrinkage factor of x' − x is a lower limit on g: a difference that noise cannot explain is new
information.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FORGETTING = 0.6  # the gain at step t is t to the power of minus this
HIDDEN = 0.65  # lower limit on eigenvalues, relative to √(v·d); noise alone spreads them by about twice that


def shrinkage_factor(noise: Any, observed: Any, dof: float, caution: float = 0.0) -> Any:
    """Return the factor from 0 to 1 by which to scale a noisy vector; for arrays, one factor for each entry.

    Parameters
    ----------
    noise : float or array
        The expected squared length of the noise, E‖e‖².
    observed : float or array
        The squared length of the observed vector, ‖y‖².
    dof : float
        The number of independent numbers in the vector.
    caution : float
        How many standard deviations of the squared length of the noise to allow for.

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
    """A noisy number or array, and the variance of its noise.

    Attributes
    ----------
    value : float or array
    variance : float or array
    """

    value: Any
    variance: Any

    def pool(self, new: Estimate, gain: Any) -> Estimate:
        """Return the weighted average with a new estimate, whose weight is ``gain``."""
        return Estimate(
            self.value + gain * (new.value - self.value),  # x + g·(x' − x)
            (1.0 - gain) ** 2 * self.variance + gain**2 * new.variance,  # (1 − g)²·v + g²·v'
        )


def forgetting_gain(step: int) -> float:
    """Return t^(−0.6), the gain of the estimate of step t = ``step`` + 1."""
    return float((step + 1.0) ** -FORGETTING)


def shrink_means(
    means: Array, weights: Array, whitening: Array, variances: Array, frames: Array, caution: float
) -> tuple[Array, Array]:
    """Return the common centre of means, and a shrinkage factor for each.

    Parameters
    ----------
    means : array of shape (K, d)
    weights : array of shape (K,)
    whitening : array of shape (d, d) or (K, d, d)
        W: the lengths of W(m_k − centre) decide the factors. It should whiten rows of one component: in coordinates
        that whiten all rows, clusters that are far apart seem near, and are shrunk by many of their own widths.
    variances, frames : arrays of shape (K,) and (K, d, d)
        v_k and A_k = LLᵀ: the noise of a mean has the variance v_k in each of the coordinates L⁻¹x.
    caution : float
    """
    centre = weights @ means  # Σ w_k m_k
    lengths = ((whitening @ (means - centre)[:, :, None]) ** 2).sum(axis=(1, 2))  # ‖W(m_k − centre)‖²
    noise = whitening @ frames @ np.swapaxes(whitening, -1, -2)  # WA_kWᵀ
    noises = variances * np.trace(noise, axis1=1, axis2=2)
    return centre, shrinkage_factor(noises, lengths, means.shape[1], caution)
