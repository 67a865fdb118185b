"""Noise: exact integer samplers on a cryptographic generator.

This room promises that a draw has exactly the law that it names, given uniform bits: integer arithmetic and
comparisons only, with the argument beside the code. What is not exact says so (``exact = False``). It knows nothing of
data, queries or guarantees. It may import ``discreet.arguments`` and, from outside, numpy, scipy.special, cryptography
and (when the first draw is made) numba.

Where to look: what a release uses is in ``laws``; other exact draws in ``discrete``; why they are exact in
``reference``; the compiled loops in ``kernels``; the bits in ``bits``.
"""

from discreet.noise.bits import Bits, NotPrivateWarning, SecureBits, SeededBits
from discreet.noise.discrete import bernoulli_exp, categorical, geometric, uniform_integers
from discreet.noise.laws import DiscreteGaussianNoise, EuclideanNoise, GaussianNoise, GeometricNoise, GridNoise

__all__ = [
    "Bits",
    "DiscreteGaussianNoise",
    "EuclideanNoise",
    "GaussianNoise",
    "GeometricNoise",
    "GridNoise",
    "NotPrivateWarning",
    "SecureBits",
    "SeededBits",
    "bernoulli_exp",
    "categorical",
    "geometric",
    "uniform_integers",
]
