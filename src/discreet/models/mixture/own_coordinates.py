"""A Gaussian in whitened coordinates: shapes of covariances, how clipping attenuates moments, the weights of a release.

**Shapes.** In a component's own coordinates the covariance of the step before is the identity. What is measured is how
the next covariance differs from it: in every entry ("full", and "tied", which is one matrix for all components), in the
diagonal ("diag"), or in size alone ("spherical": the covariance keeps its shape and is scaled).

**Noise.** Let v be the variance of an off-diagonal entry of the packed release; a diagonal entry then has 2v. Mapped
back by a matrix L with A = LLᵀ the noise has the expected squared Frobenius norm v·(tr(A)² + tr(A²)) if full,
2v·tr(A²) if diag, and 2v·tr(A²)/d² if spherical.

**Clipping.** Let z be standard normal in d dimensions and c(z) = z·min(1, R/‖z‖). With q = R² and F_ν the distribution
function of χ² with ν degrees of freedom:

- κ = E‖c(z)‖²/d = F_{d+2}(q) + (q/d)(1 − F_d(q)) is the factor by which the second moment shrinks;
- if the mean moves by a small h, E[c] moves by β₁h: the density changes by the factor 1 + hᵀz, so β₁ = E[cᵀz]/d;
- if the covariance becomes I + E with a small traceless E, E[ccᵀ] moves by β₂E: the density changes by 1 + ½zᵀEz, so
  β₂ = E[(cᵀz)²]/(d(d + 2)).

With cᵀz = ‖z‖·min(‖z‖, R) these are moments of ‖z‖ cut at R: E[‖z‖²; ≤ R] = d·F_{d+2}(q), E[‖z‖⁴; ≤ R] =
d(d + 2)·F_{d+4}(q), and E[‖z‖; > R] = √2·Γ((d + 1)/2)/Γ(d/2)·(1 − F_{d+1}(q)).

A scale s² ≠ 1 shrinks more or less: where the covariance is s·I, its clipped second moment is s·κ(q/s), whose
derivative by s is F_{d+2}(q/s).

**Weights.** One release is shared between counts, first and second moments by the a², b², c² of ``clipped_moments``.
In a component's own coordinates (mean 0, covariance I, clipped to radius R) noise of variance x·Δ²/a² on the share of a
component, x·Δ²/b² on each coordinate of the mean of y and x·Δ²/c² on each of its second moment costs, in nats of
Kullback–Leibler divergence a row,

    x·Δ²·(A/a² + B/b² + C/c²),    A = ½ + d/4,    B = d·R²/(2β₁²),    C = R⁴/(4β₂²)·(d(d + 1)/2 numbers, or fewer).

Under replace-one Δ² depends on a, b and c as well. Two things limit the cost of C when d is large. A component's own
covariance is worth at most about a tenth of a nat a dimension, since the shared one can take its place; and the noise
of a covariance that K components share is K times less. The minimum is found by a search over a small grid, once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc, chdtri, gammaln

from discreet.guarantees import Neighbors

__all__ = ["Clipping", "Response", "Shape", "mixture_weights", "moment_weights", "noise_costs"]

Array = NDArray[np.float64]
Weights = tuple[float, float, float]

SCALES = np.geomspace(1e-4, 4.0, 400)  # of s in ``Clipping.undo``; at larger s clipping leaves too little to see
WORTH = 0.1  # nats a dimension that a component's own covariance gains over the shared one, at most


@dataclass(frozen=True)
class Shape:
    """A covariance type in d dimensions.

    Attributes
    ----------
    name : str
        ``"full"``, ``"tied"``, ``"diag"`` or ``"spherical"``.
    dimension : int
    """

    name: str
    dimension: int

    @property
    def numbers(self) -> int:
        """The number of free parameters of a covariance."""
        d = self.dimension
        return {"diag": d, "spherical": 1}.get(self.name, d * (d + 1) // 2)

    def energy(self, frame: Array | None = None) -> float:
        """Return the expected squared norm of the noise for v = 1, mapped back by L with LLᵀ = ``frame``."""
        d = self.dimension
        trace, squared = (d, d) if frame is None else (float(np.trace(frame)), float((frame * frame).sum()))
        if self.name == "diag":
            return 2.0 * squared
        if self.name == "spherical":
            return 2.0 * squared / (d * d)
        return trace * trace + squared

    def size_energy(self, frame: Array | None = None) -> float:
        """Return the variance of the noise on the mean diagonal entry, for v = 1, mapped back in the same way."""
        d = self.dimension
        trace, squared = (d, d) if frame is None else (float(np.trace(frame)), float((frame * frame).sum()))
        return 2.0 * (trace / d) ** 2 / (d * d) if self.name == "spherical" else 2.0 * squared / (d * d)

    def matrices(self, second: Array, count: int) -> Array:
        """Return released second moments as full matrices; entries that are not measured are 0, or the mean."""
        d = self.dimension
        if self.name == "tied":
            return np.repeat(second[None], count, axis=0)
        if self.name == "diag":
            return np.asarray(second[:, :, None] * np.eye(d))
        return np.asarray(second[:, None, None] / d * np.eye(d)) if self.name == "spherical" else second

    def restrict(self, matrix: Array) -> Array:
        """Return the part of a covariance, in a component's own coordinates, that has this shape."""
        if self.name == "diag":
            return np.asarray(np.diag(np.diag(matrix)))
        if self.name == "spherical":
            return np.asarray(np.eye(self.dimension) * (np.trace(matrix) / self.dimension))
        return matrix

    def clear_rounding(self, covariance: Array) -> Array:
        """Return a covariance in the data's coordinates with 0 off the diagonal, where the shape is diagonal."""
        return np.asarray(np.diag(np.diag(covariance))) if self.name in ("diag", "spherical") else covariance


class Response(NamedTuple):
    """How the moments of clipped rows respond to changes of the Gaussian before clipping.

    Attributes
    ----------
    kappa : float
        E‖c(z)‖²/d, relative to the covariance.
    beta1 : float
        Derivative of the clipped mean by a shift.
    beta2 : float
        Derivative of the clipped second moment by a traceless change of the covariance.
    trace : float
        Derivative of the clipped trace by the scale, that of s·κ(q/s).
    """

    kappa: Any
    beta1: Any
    beta2: Any
    trace: Any


@dataclass(frozen=True)
class Clipping:
    """Clipping to the ball of squared radius q in d dimensions.

    Examples
    --------
    >>> [round(float(number), 6) for number in Clipping(3, 1000.0).response()]
    [1.0, 1.0, 1.0, 1.0]
    """

    dimension: int
    squared: float

    @classmethod
    def at_quantile(cls, dimension: int, level: float) -> Clipping:
        """Return the ball whose probability under the standard normal distribution is ``level``."""
        return cls(dimension, float(chdtri(dimension, 1.0 - level)))

    def at_least(self, reach: float) -> Clipping:
        """Return the ball with a squared radius of at least ``reach`` times d."""
        return Clipping(self.dimension, max(self.squared, reach * self.dimension))

    @property
    def radius(self) -> float:
        """R."""
        return math.sqrt(self.squared)

    def response(self, scale: Any = 1.0) -> Response:
        """Return κ, β₁, β₂ and the derivative where the covariance is ``scale``·I; an array gives arrays."""
        d, q = self.dimension, self.squared / scale
        inside = chdtr(d + 2, q)
        outside = math.exp(0.5 * math.log(2.0) + float(gammaln((d + 1) / 2.0) - gammaln(d / 2.0))) * chdtrc(d + 1, q)
        return Response(
            kappa=inside + q / d * chdtrc(d, q),
            beta1=inside + np.sqrt(q) / d * outside,
            beta2=chdtr(d + 4, q) + q / (d + 2) * chdtrc(d + 2, q),
            trace=inside,
        )

    def undo(self, first: Array, spread: Array) -> tuple[Array, Array, float]:
        """Return the shift, the covariance and its mean diagonal entry s before clipping, in the coordinates of z.

        s solves s·κ(q/s) = the mean diagonal entry of the clipped covariance. Then shift = R·first/β₁ and
        covariance = s·I + (q·spread − mean diagonal entry·I)/β₂.

        Parameters
        ----------
        first : array of shape (d,)
            The mean of c(z)/R, with noise.
        spread : array of shape (d, d)
            The covariance of c(z)/R, with noise.
        """
        eye = np.eye(self.dimension)
        trace = self.squared * float(np.trace(spread)) / self.dimension
        scale = float(np.interp(trace, _clipped_traces(self), SCALES))
        _, beta1, beta2, _ = self.response(scale)
        return self.radius * first / beta1, scale * eye + (self.squared * spread - trace * eye) / beta2, scale


@lru_cache(maxsize=64)
def _clipped_traces(clipping: Clipping) -> Array:
    return np.asarray(SCALES * clipping.response(SCALES).kappa)


def noise_costs(clipping: Clipping, shape: Shape) -> Weights:
    """Return A, B and C of the module: what noise on counts, first and second moments costs."""
    d, q, response = clipping.dimension, clipping.squared, clipping.response()
    return 0.5 + d / 4.0, d * q / (2.0 * response.beta1**2), shape.energy() * (q / response.beta2) ** 2 / 8.0


def _least(a2: Array, b2: Array, c2: Array, shape: Shape) -> Array:
    """Return t of ``clipped_moments``, on which the sensitivity under replace-one depends."""
    q = c2 / shape.dimension if shape.name == "diag" else c2
    return np.asarray(np.where(b2 <= 2.0 * q, a2 - b2 * b2 / (4.0 * q), a2 - b2 + q))


@lru_cache(maxsize=256)
def moment_weights(clipping: Clipping, shape: Shape, neighbors: Neighbors, least_count: float) -> Weights:
    """Return a², b², c² for a single Gaussian; a² is at least ``least_count``, or 0 if that is 0: rows are not counted.

    >>> round(sum(moment_weights(Clipping(3, 9.0), Shape("full", 3), Neighbors.ADD_REMOVE, 0.05)), 12)
    1.0
    """
    count, first, second = noise_costs(clipping, shape)
    a2 = np.geomspace(least_count, 0.5, 60)[None, :] if least_count else np.zeros((1, 1))
    b2 = np.geomspace(0.002, 0.9, 200)[:, None]
    c2 = np.maximum(1.0 - a2 - b2, 1e-9)
    squared = 2.0 - 2.0 * _least(a2, b2, c2, shape) if neighbors is Neighbors.REPLACE_ONE else np.ones_like(c2)
    cost = np.maximum(squared, 1.0) * (first / b2 + second / c2 + (count / a2 if least_count else 0.0))
    return _choose(a2, b2, c2, cost)


@lru_cache(maxsize=256)
def mixture_weights(
    clipping: Clipping, shape: Shape, neighbors: Neighbors, count: int, noise: float, shared: float
) -> Weights:
    """Return a², b², c² for a mixture.

    Parameters
    ----------
    count : int
        K.
    noise : float
        x: the squared scale of the noise for Δ = 1, relative to the rows of one component.
    shared : float
        The cost of the noise on the covariance of all rows, in nats, which is known already.
    """
    share, first, second = noise_costs(clipping, shape)
    a2 = np.geomspace(0.0005, 0.5, 50)[None, :]
    b2 = np.geomspace(0.002, 0.7, 50)[:, None]
    c2 = np.maximum(1.0 - a2 - b2, 1e-9)
    squared = 2.0 + 2.0 * np.maximum(0.0, -_least(a2, b2, c2, shape))
    squared = squared if neighbors is Neighbors.REPLACE_ONE else np.ones_like(squared)
    worth = WORTH * clipping.dimension
    own = second * noise * squared / c2
    cost = (
        (share / a2 + first / b2) * noise * squared + worth * own / (own + worth) + 1.0 / (count / own + 1.0 / shared)
    )
    return _choose(a2, b2, c2, cost)


def _choose(a2: Array, b2: Array, c2: Array, cost: Array) -> Weights:
    """Return the weights of least cost, with c² above 0.02."""
    cost = np.where(c2 > 0.02, cost, np.inf)
    i, j = np.unravel_index(np.argmin(cost), cost.shape)
    a, b = float(a2[0, j]), float(b2[i, 0])
    return a, b, 1.0 - a - b
