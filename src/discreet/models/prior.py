"""The conjugate prior of a Gaussian mixture, and the mode of its posterior (Park et al. 2017, section 4.1, MAP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.queries.moments.components import Components

__all__ = ["Prior"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Dirichlet weights, normal means around 0 and inverse-Wishart covariances, in the scale of the unit ball.

    Attributes
    ----------
    alpha : float
        Of the Dirichlet distribution.
    kappa : float
        How many rows the prior mean, 0, is worth.
    scale : float
        The prior scatter matrix is this times the identity; it has d + 2 degrees of freedom.

    Examples
    --------
    >>> one = Prior().mode(np.array([100.0]), np.array([[0.5]]), np.array([[[0.04]]]))
    >>> one.means.round(4).tolist(), one.covariances.round(4).tolist()
    ([[0.495]], [[[0.041]]])
    """

    alpha: float = 2.0
    kappa: float = 1.0
    scale: float = 0.1

    def mode(self, counts: Array, means: Array, covariances: Array) -> Components:
        """Return the most likely components given noisy counts, means and covariances, all of them valid."""
        d = means.shape[1]
        weights = counts + self.alpha - 1.0
        rows = counts[:, None, None]
        outer = means[:, :, None] * means[:, None, :]
        scatter = self.scale * np.eye(d) + rows * covariances + self.kappa * rows / (self.kappa + rows) * outer
        return Components(
            weights / weights.sum(),
            means * (counts / (counts + self.kappa))[:, None],
            scatter / (rows + 2.0 * d + 4.0),  # ν₀ + N_k + d + 2 with ν₀ = d + 2
        )
