"""Noise that is spherical in L2: a baseline of the literature, idealised."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc, gammaincinv

from discreet.arguments import integer, positive, probability
from discreet.guarantees import Neighbors, PureLoss
from discreet.noise.bits import Bits
from discreet.noise.filling import source
from discreet.noise.gaussian import GaussianNoise
from discreet.noise.laws import Array, Law, as_numbers

__all__ = ["EuclideanNoise"]


@dataclass(frozen=True)
class EuclideanNoise(Law):
    """Density ∝ e^(−‖z‖/scale) over vectors: equation 7 of Sarwate and Chaudhuri (2013).

    With scale = Δ/ε for L2 sensitivity Δ it is purely ε-private, ``PureLoss(ε)``, in ideal arithmetic. Drawn here with
    floats (a gamma radius and a uniform direction), so ``exact`` is False: the low bits of a float may tell more
    than the density does (Mironov 2012). A baseline to compare with; for a release take ``GaussianNoise``.

    Parameters
    ----------
    scale : float
    dimension : int

    Examples
    --------
    >>> EuclideanNoise(1.0, dimension=3).add([0.0, 0.0, 0.0]).shape
    (3,)
    """

    scale: float
    dimension: int
    exact = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "dimension", integer("dimension", self.dimension, least=1))

    def sample(self, count: int, bits: Bits | None = None) -> Array:
        """Return ``count`` vectors of noise, a row each."""
        bits = source(bits)
        normal = GaussianNoise(1.0).sample((count, self.dimension), bits)
        direction = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        uniform = ((bits.words(count) >> np.uint64(12)) + 0.5) * 2.0**-52  # never 0 or 1
        noise: Array = self.scale * gammaincinv(self.dimension, uniform)[:, None] * direction
        return noise

    def add(self, values: ArrayLike, bits: Bits | None = None) -> Array:
        """Return the vector ``values`` with noise."""
        vector = as_numbers(values)
        if not np.all(np.isfinite(vector)):
            raise OverflowError("values: expected finite numbers; nothing was released")
        if vector.shape != (self.dimension,):
            raise ValueError(f"values: expected a vector of length {self.dimension}, got shape {vector.shape}")
        noisy: Array = vector + self.sample(1, bits)[0]
        return noisy

    @property
    def variance(self) -> float:
        """(d + 1)·scale² a coordinate, the mean of ‖z‖² being d(d + 1)·scale²."""
        return (self.dimension + 1.0) * self.scale * self.scale

    def loss(self, sensitivity: float, neighbors: Neighbors | str = Neighbors.REPLACE_ONE) -> PureLoss:
        """Return what a statistic of this L2 sensitivity costs: Δ/scale, in ideal arithmetic."""
        return PureLoss(positive("sensitivity", sensitivity) / self.scale, Neighbors.of(neighbors))

    def half_width(self, level: float) -> float:
        """Return h for one coordinate: the radius times a coordinate of a uniform direction, by quadrature."""
        inside = probability("level", level)
        if self.dimension == 1:
            return -self.scale * math.log1p(-inside)
        from scipy.integrate import quad
        from scipy.optimize import brentq

        d = self.dimension

        def outside(h: float) -> float:
            """Return ∫ P(radius ∈ dr)·P(|coordinate| > h/r) over r > h."""

            def part(r: float) -> float:
                density = math.exp((d - 1) * math.log(r) - r - math.lgamma(d))
                return density * float(betaincc(0.5, (d - 1) / 2.0, (h / r) ** 2))

            middle = max(h, d - 1.0) + 10.0 * math.sqrt(d)
            first, second = quad(part, h, middle, limit=200), quad(part, middle, math.inf, limit=200)
            return float(first[0] + second[0])

        if inside == 0.0:
            return 0.0
        high = 1.0
        while outside(high) > 1.0 - inside:
            high *= 2.0
        return self.scale * float(brentq(lambda h: outside(h) - (1.0 - inside), 0.0, high)) * (1.0 + 1e-6)
