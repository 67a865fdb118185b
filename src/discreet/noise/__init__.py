"""Noise: exact integer samplers on a cryptographic generator.

Where to look: ``grid_noise`` has the base classes of noise on a grid and what the grid costs, ``distributions`` has
Gaussian and Laplace noise, ``euclidean`` spherical noise. ``discrete`` has other exact draws, ``samplers`` the compiled
samplers and why they are exact, ``integer_draws`` the arrays that they fill, ``bingham`` random directions (with
floats). ``draws`` has what else a mechanism may ask the door to draw, and ``bits`` the random bits.

Imports these rooms, and may import any other above it: ``arguments``, ``plain``, ``guarantees``.

This room guarantees that a draw has exactly the distribution that it names, given uniform bits: integer arithmetic and
comparisons only, with the proof beside the code. What is not exact says so (``exact = False``). It knows nothing of
data or queries.
"""

from discreet.noise.bingham import bingham, gibbs_bingham
from discreet.noise.bits import Bits, NotPrivateWarning, SecureBits, SeededBits
from discreet.noise.discrete import bernoulli_exp, categorical, geometric, uniform_integers
from discreet.noise.distributions import DiscreteGaussianNoise, GaussianNoise, GeometricNoise, LaplaceNoise
from discreet.noise.euclidean import EuclideanNoise
from discreet.noise.grid_noise import NoiseDistribution, RoundedNoise

__all__ = [
    "Bits", "DiscreteGaussianNoise", "EuclideanNoise", "GaussianNoise", "GeometricNoise", "LaplaceNoise",
    "NoiseDistribution", "NotPrivateWarning", "RoundedNoise", "SecureBits", "SeededBits", "bernoulli_exp",
    "bingham", "categorical", "geometric", "gibbs_bingham", "uniform_integers",
]  # fmt: skip
