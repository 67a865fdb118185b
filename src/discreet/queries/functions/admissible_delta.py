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
from scipy.special import erfcx, ndtri

from discreet.arguments import ArgumentError
from discreet.guarantees import GaussianLoss, Guarantee, calibrate
from discreet.queries.functions.admissible import SAFE, Inverted
from discreet.queries.functions.own import Array

__all__ = ["GaussianSlide", "LaplaceSlide"]

ENOUGH = 300.0  # of ε for a stretch; more would overflow
LEAST = 1e-305  # of δ for a slide; less would underflow
UNSEEN = 745.0  # e^(−745) is zero in floats


def _largest_stretch(delta_of: Callable[[float], float], most: float) -> float:
    """Return the largest β up to ``most`` at which δ₂ is at most 1 in units of what it may be; 0 where none is.

    By bisection, from below. δ₂ grows, and ``delta_of`` is at least δ₂: so the β that comes back is one that may be
    had, even if ``delta_of`` itself should not grow everywhere.
    """
    if delta_of(most) <= 1.0:
        return most
    low, high = 0.0, most
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if delta_of(middle) <= 1.0 else (low, middle)
    return low


def _rates(noise: Inverted, epsilon: float, delta: float, alpha: float, beta: float) -> tuple[float, float]:
    """Return α and β, a little less of each; an error in the user's own numbers where there is nothing of one."""
    if not (alpha > 0.0 and beta > 0.0):
        raise ArgumentError(
            ("epsilon", "delta"),
            (epsilon, delta),
            f"a larger δ, or another ε, for noise={noise!r}; no smooth bound is smooth enough here",
            write="StudentNoise(), which needs no δ",
        )
    return SAFE * alpha, SAFE * beta


@dataclass(frozen=True)
class LaplaceSlide(Inverted):
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
            return math.exp(-(stretch + b) / math.expm1(b)) * -math.expm1(-b) / (SAFE * delta) if b > 0.0 else 0.0

        return _rates(self, epsilon, delta, share * epsilon, _largest_stretch(failure, stretch))

    def log_density(self, z: Array) -> Array:
        """Return log h."""
        return np.asarray(-np.abs(z) - math.log(2.0))

    def quantile(self, u: Array) -> Array:
        """Return −ln(1 − u)."""
        return np.asarray(-np.log1p(-u))


@dataclass(frozen=True)
class GaussianSlide(Inverted):
    """Standard normal noise, for (ε, δ).

    Slide: a shift by α, so δ₁ is the Gaussian curve of μ = α at ε₁. Stretch: the log-ratio is z²(e^(2β) − 1)/2 − β,
    above ε₂ from c² = 2(ε₂ + β)/(e^(2β) − 1) on, and δ₂ = 2Φ(−c) − e^(ε₂)·2Φ(−e^β·c). Half of δ goes to each:
    δ₂ = δ/2 and δ₁ = e^(−ε₂)·δ/2.

    *In floats* that difference loses all digits where β is small. Let m(x) = Φ(−x)/φ(x) = ∫ e^(−xt − t²/2) dt over
    t > 0. As φ(c) = e^(ε₂)·e^β·φ(e^β·c),

        δ₂ = 2φ(c)·(m(c) − e^(−β)·m(e^β·c)) = 2φ(c)·(m(c) − m(e^β·c) + (1 − e^(−β))·m(e^β·c)).

    −m' = 1 − x·m(x) = ∫ t·e^(−xt − t²/2) dt is convex, so m(c) − m(e^β·c) is at most (e^β − 1)c times the mean of −m'
    at the two ends. That has no difference of large numbers for small β, and the first form, with 2⁻⁴⁸ of m(c) added
    for its roundings, is close for large β: the lesser of the two upper bounds is taken. The roundings of the second,
    of φ(c) and of 1 − c·m(c) ≈ 1/c², are some c²·2⁻⁵⁰ of it, with c² < 1500 wherever φ(c) > 0: below the 1e-9 of δ that
    is set aside.

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
        first = math.exp(-stretch) * delta / 2.0  # δ₁
        if first < LEAST or slide == 0.0:
            return _rates(self, epsilon, delta, 0.0, 0.0)
        mu = calibrate(Guarantee(slide, first), GaussianLoss(1.0)).losses[0].gaussian
        assert mu is not None
        may = (1.0 - 1e-9) * delta / 2.0
        beta = _largest_stretch(lambda b: _stretched(stretch, b) / may, stretch)
        return _rates(self, epsilon, delta, mu, beta)

    def log_density(self, z: Array) -> Array:
        """Return log h."""
        return np.asarray(-z * z / 2.0 - math.log(2.0 * math.pi) / 2.0)

    def quantile(self, u: Array) -> Array:
        """Return the normal quantile."""
        return np.asarray(-ndtri((1.0 - u) / 2.0))


def _stretched(epsilon: float, b: float) -> float:
    """Return δ₂ of a normal law, from above: what a stretch by e^b costs beyond ε; see ``GaussianSlide``."""
    if b == 0.0:
        return 0.0
    half_square = (epsilon + b) / math.expm1(2.0 * b)  # c²/2
    if not half_square < UNSEEN:
        return 0.0
    c = math.sqrt(2.0 * half_square)
    far = math.exp(b) * c
    m, m_far = (math.sqrt(math.pi / 2.0) * float(erfcx(x / math.sqrt(2.0))) for x in (c, far))
    direct = m - math.exp(-b) * m_far + 2.0**-48 * m
    mean = math.expm1(b) * c * ((1.0 - c * m) + (1.0 - far * m_far)) / 2.0 - math.expm1(-b) * m_far
    return 2.0 * math.exp(-half_square) / math.sqrt(2.0 * math.pi) * min(direct, mean)
