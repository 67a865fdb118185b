"""Spherical noise, density ∝ e^(−‖z‖₂/scale): a baseline of the literature, whose draws are idealised.

*Proof.* Let Z have the density ∝ e^(−‖z‖/scale), and let a, b be two neighbours' statistics, rounded to the grid. What
is released is grid·(a + K), K = round(Z/grid): every vector of whole numbers can be, whatever the rows are. P(K = k) is
the integral of the density over a cube around k. Moved by a − b steps, that cube is the one around k + a − b, and the
density changes by a factor of at most e^(grid·‖a − b‖/scale) at each of its points: so does the integral. Hence it is
ε-private with scale = Δ/ε, Δ the sensitivity on the grid (``grid_noise``).

How Z is drawn. ‖Z‖/scale has the density ∝ r^(d−1)·e^(−r), that of a sum of d exponential variables, and Z/‖Z‖ is
uniform on the sphere, as the direction of d normal ones. Both kinds are exact draws on a grid of 2⁻⁵² (``samplers``),
so no radius is left out, and δ = 0. (A variable above 2¹⁰ would not fit 64 bits and is refused, as in all noise here;
it has a probability of e^(−1024), for which there is no float.)

What is idealised: Z is put together with floats. A radius r and its coordinates are wrong by some (d + 32r)·2⁻⁵²
scales, far below a step of 2⁻²⁴. A finer grid would show more of it; it is finer where ε is so small that a step would
cost a hundredth of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc

from discreet.arguments import UNSHOWN, ArgumentError, as_numbers, integer, positive, probability
from discreet.guarantees import PureLoss
from discreet.noise.bits import Bits, as_bits
from discreet.noise.distributions import GaussianNoise, LaplaceNoise
from discreet.noise.grid_noise import NoiseDistribution, check_grid, fit_grid
from discreet.noise.integer_draws import Array, Integers, Size

COARSE = 24  # binary digits of the scale that the grid has, unless the statistic is too large or ε too small for it


@dataclass(frozen=True)
class EuclideanNoise(NoiseDistribution):
    """Density ∝ e^(−‖z‖/scale) over vectors, rounded to a grid: equation 7 of Sarwate and Chaudhuri (2013).

    With scale = Δ/ε for L2 sensitivity Δ it is purely ε-private, ``PureLoss(ε)``. Exact draws are put together with
    floats, so ``exact`` is False. A baseline to compare with; for a release take ``GaussianNoise``.

    Parameters
    ----------
    scale : float
    dimension : int
        The length of a vector. The last axis of the statistic holds vectors.
    fineness : int
        m, from 0 to 40: the grid is scale/2^m.

    Examples
    --------
    >>> EuclideanNoise(1.0, dimension=3).add([0.0, 0.0, 0.0]).shape
    (3,)
    """

    scale: float
    dimension: int
    fineness: int = COARSE
    norm = "l2"
    normal = False
    exact = False
    priced = PureLoss

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "dimension", integer("dimension", self.dimension, least=1, most=2**62))
        object.__setattr__(self, "fineness", integer("fineness", self.fineness, least=0, most=40))
        check_grid(self.grid)

    @classmethod
    def for_query(cls, *, epsilon: float, sensitivity: float, largest: float, size: int) -> EuclideanNoise:
        """Return the noise that makes a vector of statistics cost at most ``PureLoss(epsilon)``, with its grid.

        Parameters
        ----------
        epsilon : float
            What it may cost.
        sensitivity : float
            Of the statistic in L2, before it is put on the grid.
        largest : float
            A public bound on the size of each coordinate.
        size : int
            The number of coordinates.

        Examples
        --------
        >>> noise = EuclideanNoise.for_query(epsilon=0.25, sensitivity=73.0, largest=1e6, size=3)
        >>> round(noise.scale, 3), noise.fineness
        (292.0, 24)
        """
        epsilon, steps = positive("epsilon", epsilon), 2.0 * math.sqrt(integer("size", size, least=1, most=2**62))
        cheap = math.ceil(math.log2(100.0 * steps) - math.log2(epsilon)) + 1
        scale, m = fit_grid(epsilon, sensitivity, largest, steps, max(cheap, COARSE))
        return cls(scale, size, m)

    @property
    def grid(self) -> float:
        """The scale over 2^m."""
        return math.ldexp(self.scale, -self.fineness)

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws, as whole numbers of grid steps; the last axis of the shape is a vector's."""
        bits = as_bits(bits)
        normal = GaussianNoise(1.0, 52).sample(size, bits)
        if normal.shape[-1:] != (self.dimension,):
            raise ArgumentError("size", size, f"vectors of length {self.dimension} along the last axis")
        while not (somewhere := normal.any(axis=-1)).all():  # a vector of zeros has no direction: draw it again
            shape = (int(np.count_nonzero(~somewhere)), self.dimension)
            normal[~somewhere] = GaussianNoise(1.0, 52).sample(shape, bits)
        direction = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
        radius = np.ldexp(np.abs(LaplaceNoise(1.0, 52).sample(size, bits)), -52).sum(axis=-1, keepdims=True)
        steps: Integers = np.rint(np.ldexp(radius * direction, self.fineness)).astype(np.int64)
        return steps

    def add(self, values: ArrayLike, bits: Bits | None = None) -> Array:
        """Return vectors put on the grid, with noise."""
        vectors = as_numbers(values)
        if vectors.shape[-1:] != (self.dimension,):
            raise ArgumentError("values", UNSHOWN, f"a vector of length {self.dimension}, got shape {vectors.shape}")
        return super().add(vectors, bits)

    @property
    def variance(self) -> float:
        """(d + 1)·scale² a coordinate, the mean of ‖z‖² being d(d + 1)·scale²; and grid²/12."""
        return (self.dimension + 1.0) * self.scale * self.scale + self.grid * self.grid / 12.0

    def half_width(self, level: float) -> float:
        """Return h for one coordinate: the radius times a coordinate of a uniform direction, by quadrature."""
        return self._half_width(probability("level", level)) + self.grid / 2.0

    def _half_width(self, inside: float) -> float:
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
