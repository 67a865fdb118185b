"""Noises whose scale may depend on the data, for (ε, δ): Laplace and Gaussian.

Write P for the law of f + s·Z, Q for the neighbour's f' + s'·Z, and R for that of f + s'·Z (f, s, α and β as in
``admissible``). From P to R the scale changes by a factor e^λ, |λ| ≤ β (*stretch*); from R to Q the centre moves by
at most α in units of s' (*slide*). A share of ε is for the slide, ε₁ = share·ε, the rest for the stretch. If
P(A) ≤ e^(ε₂)·R(A) + δ₂ and R(A) ≤ e^(ε₁)·Q(A) + δ₁ for every event A, then P(A) ≤ e^(ε₁+ε₂)·Q(A) + δ₂ + e^(ε₂)·δ₁. All
is symmetric in the two neighbours.

Let the scale shrink from P to R, so that R has density e^λ·h(e^λ·z) in units of s. The ratio of P's density to R's
grows with |z|, so the worst event is A = {|z| > c}, where the ratio passes e^(ε₂), and δ₂(λ) = P(A) − e^(ε₂)·R(A). A
larger λ only lowers R of this same event, and its own worst event tells at least as much: δ₂ grows with λ, so that
λ = β is the worst. If the scale grows instead, the log-ratio is at most |λ| ≤ β, and δ₂ = 0 as long as β ≤ ε₂.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from discreet.guarantees import GaussianLoss, Guarantee, calibrate
from discreet.mechanisms.admissible import SAFE, AdmissibleNoise
from discreet.mechanisms.own import Array

__all__ = ["GaussianSlide", "LaplaceSlide"]

ENOUGH = 300.0  # of ε for a stretch; more would overflow


def _largest_stretch(delta_of: Callable[[float], float], delta: float, most: float) -> float:
    """Return the largest β up to ``most`` with δ₂(β) ≤ δ, δ₂ growing; by bisection, from below."""
    if delta_of(most) <= delta:
        return most
    low, high = 0.0, most
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if delta_of(middle) <= delta else (low, middle)
    if low == 0.0:
        raise ValueError(f"delta={delta!r}: expected a larger δ, or a larger ε; no smooth bound is smooth enough")
    return low


@dataclass(frozen=True)
class LaplaceSlide(AdmissibleNoise):
    """Laplace noise, h = e^(−|z|)/2, for (ε, δ).

    Slide: L = 1 and pure, α = ε₁, δ₁ = 0. Stretch: the log-ratio is |z|(e^β − 1) − β, above ε₂ from
    c = (ε₂ + β)/(e^β − 1) on, and δ₂ = e^(−c) − e^(ε₂ − e^β·c) = e^(−c)(1 − e^(−β)). So δ = δ₂.

    Examples
    --------
    >>> alpha, beta = LaplaceSlide().rates(1.0, 1e-6)
    >>> round(alpha, 4), round(beta, 4)
    (0.5, 0.0497)
    """

    pure = False

    def rates(self, epsilon: float, delta: float, share: float = 0.5) -> tuple[float, float]:
        """Return ε₁, and the β whose δ₂ is δ."""
        stretch = min((1.0 - share) * epsilon, ENOUGH)

        def failure(b: float) -> float:
            return math.exp(-(stretch + b) / math.expm1(b)) * -math.expm1(-b) if b > 0.0 else 0.0

        return SAFE * share * epsilon, SAFE * _largest_stretch(failure, SAFE * delta, stretch)

    def log_density(self, z: Array) -> Array:
        """Return log h."""
        return np.asarray(-np.abs(z) - math.log(2.0))

    def quantile(self, u: Array) -> Array:
        """Return −ln(1 − u)."""
        return np.asarray(-np.log1p(-u))


@dataclass(frozen=True)
class GaussianSlide(AdmissibleNoise):
    """Standard normal noise, for (ε, δ).

    Slide: a shift by α, so δ₁ is the Gaussian curve of μ = α at ε₁. Stretch: the log-ratio is z²(e^(2β) − 1)/2 − β,
    above ε₂ from c² = 2(ε₂ + β)/(e^(2β) − 1) on, and δ₂ = 2Φ(−c) − e^(ε₂)·2Φ(−e^β·c). Half of δ goes to each:
    δ₂ = δ/2 and δ₁ = e^(−ε₂)·δ/2.

    Examples
    --------
    >>> alpha, beta = GaussianSlide().rates(1.0, 1e-6)
    >>> round(alpha, 4), round(beta, 4)
    (0.1169, 0.0263)
    """

    pure = False

    def rates(self, epsilon: float, delta: float, share: float = 0.5) -> tuple[float, float]:
        """Return the μ of the slide, and the β whose δ₂ is δ/2."""
        slide, stretch = share * epsilon, min((1.0 - share) * epsilon, ENOUGH)

        def failure(b: float) -> float:
            c = math.sqrt(2.0 * (stretch + b) / math.expm1(2.0 * b)) if b > 0.0 else math.inf
            return 2.0 * (float(ndtr(-c)) - math.exp(stretch) * float(ndtr(-math.exp(b) * c)))

        first = Guarantee(slide, math.exp(-stretch) * delta / 2.0)
        mu = calibrate(first, GaussianLoss(1.0)).losses[0].gaussian
        assert mu is not None
        return SAFE * mu, SAFE * _largest_stretch(failure, (1.0 - 1e-9) * delta / 2.0, stretch)

    def log_density(self, z: Array) -> Array:
        """Return log h."""
        return np.asarray(-z * z / 2.0 - math.log(2.0 * math.pi) / 2.0)

    def quantile(self, u: Array) -> Array:
        """Return the normal quantile."""
        return np.asarray(-ndtri((1.0 - u) / 2.0))
