"""What clipping does to a Gaussian, and how to undo it.

Let z be standard normal in d dimensions and c(z) = z·min(1, R/‖z‖). With q = R² and F_ν the distribution function of χ²
with ν degrees of freedom:

- κ = E‖c(z)‖²/d = F_{d+2}(q) + (q/d)(1 − F_d(q)): by so much the second moment shrinks;
- if the mean moves by a small h, E[c] moves by β₁h: the density changes by the factor 1 + hᵀz, so β₁ = E[cᵀz]/d;
- if the covariance becomes I + E with a small traceless E, E[ccᵀ] moves by β₂E: the density changes by 1 + ½zᵀEz, so
  β₂ = E[(cᵀz)²]/(d(d + 2)).

With cᵀz = ‖z‖·min(‖z‖, R) these are moments of ‖z‖ cut at R: E[‖z‖²; ≤ R] = d·F_{d+2}(q), E[‖z‖⁴; ≤ R] =
d(d + 2)·F_{d+4}(q), and E[‖z‖; > R] = √2·Γ((d + 1)/2)/Γ(d/2)·(1 − F_{d+1}(q)).

A scale s² ≠ 1 shrinks more or less: where the covariance is s·I, its clipped second moment is s·κ(q/s).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc, chdtri, gammaln

__all__ = ["Clipping"]

Array = NDArray[np.float64]

SCALES = np.geomspace(1e-4, 4.0, 400)  # beyond, clipping has left too little to tell


@dataclass(frozen=True)
class Clipping:
    """Clipping to the ball of squared radius q in d dimensions.

    Examples
    --------
    >>> wide = Clipping(3, 1000.0)
    >>> round(wide.kappa(), 6), round(wide.beta1(), 6), round(wide.beta2(), 6)
    (1.0, 1.0, 1.0)
    """

    dimension: int
    squared: float

    @classmethod
    def at_quantile(cls, dimension: int, level: float) -> Clipping:
        """Return the ball that holds this share of a standard normal distribution."""
        return cls(dimension, float(chdtri(dimension, 1.0 - level)))

    @property
    def radius(self) -> float:
        """R."""
        return math.sqrt(self.squared)

    def kappa(self, scale: float = 1.0) -> float:
        """Return E‖c(z)‖²/d relative to the covariance ``scale``·I."""
        d, q = self.dimension, self.squared / scale
        return float(chdtr(d + 2, q) + q / d * chdtrc(d, q))

    def beta1(self, scale: float = 1.0) -> float:
        """Return the response of the clipped mean to a shift."""
        d, q = self.dimension, self.squared / scale
        outside = math.exp(0.5 * math.log(2.0) + float(gammaln((d + 1) / 2.0) - gammaln(d / 2.0))) * chdtrc(d + 1, q)
        return float(chdtr(d + 2, q) + math.sqrt(q) / d * outside)

    def beta2(self, scale: float = 1.0) -> float:
        """Return the response of the clipped second moment to a traceless change of the covariance."""
        d, q = self.dimension, self.squared / scale
        return float(chdtr(d + 4, q) + q / (d + 2) * chdtrc(d + 2, q))

    def trace_response(self, scale: float = 1.0) -> float:
        """Return the derivative of s·κ(q/s): the response of the clipped trace to the scale."""
        return float(chdtr(self.dimension + 2, self.squared / scale))

    def scale_of(self, trace: float) -> float:
        """Return s so that s·κ(q/s) is ``trace``, the mean of the diagonal of a clipped second moment."""
        return float(np.interp(trace, _clipped_traces(self), SCALES))

    def undone(self, first: Array, spread: Array) -> tuple[Array, Array, float]:
        """Return shift, covariance and its mean diagonal entry, in the coordinates of z.

        Parameters
        ----------
        first : array of shape (d,)
            The mean of c(z)/R, with noise.
        spread : array of shape (d, d)
            The covariance of c(z)/R, with noise.
        """
        d = self.dimension
        trace = self.squared * float(np.trace(spread)) / d
        scale = self.scale_of(trace)
        shift = self.radius * first / self.beta1(scale)
        traceless = self.squared * spread - trace * np.eye(d)
        return shift, scale * np.eye(d) + traceless / self.beta2(scale), scale


@lru_cache(maxsize=64)
def _clipped_traces(clipping: Clipping) -> Array:
    return np.array([scale * clipping.kappa(float(scale)) for scale in SCALES])
