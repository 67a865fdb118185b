"""The privacy curve of the Gaussian mechanism, in a form that keeps its digits at every scale.

With μ = Δ/σ, adding N(0, σ²I) to a statistic of L2 sensitivity Δ is (ε, δ)-private exactly when
δ ≥ δ_μ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) (Balle and Wang 2018; Dong, Roth and Su 2022).

Both terms can agree in all but their last digits. With a = ε/μ − μ/2, b = a + μ and Mills' ratio
m(x) = Φ(−x)/φ(x) the curve is φ(a)·(m(a) − m(b)), because e^ε φ(b) = φ(a). Where μ is small the difference is
integrated instead: m(a) − m(b) = ∫ₐᵇ (1 − x·m(x)) dx, an integrand that is positive and smooth.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from discreet.guarantees.search import least, least_on_half_line

__all__ = ["normal_delta", "normal_epsilon", "normal_mu", "reflected"]

Curve = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_SMALL = 0.5  # up to here the difference of Mills' ratios is integrated
_LARGE = 1e150  # from here on squares overflow; it promises nothing at all, and 1 is always a bound


def reflected(epsilon: Curve, above: Curve) -> Curve:
    """Extend a curve that is given at |ε| to every ε, by the symmetry δ(−ε) = 1 − e^(−ε)(1 − δ(ε)).

    Every curve of this library has it, since a neighbour relation has no direction.
    """
    size = np.abs(epsilon)
    curve = np.where(epsilon < 0.0, -np.expm1(-size) + np.exp(-size) * above, above)
    clipped: Curve = np.clip(curve, 0.0, 1.0)
    return clipped


def _mills(x: Curve) -> Curve:
    ratio: Curve = math.sqrt(math.pi / 2.0) * erfcx(x / math.sqrt(2.0))
    return ratio


def _density(x: Curve) -> Curve:
    density: Curve = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return density


def normal_delta(mu: float, epsilon: float | Curve) -> Curve:
    """Return δ_μ(ε) for any real ε.

    >>> round(float(normal_delta(1 / 3.7306317, 1.0)), 11)
    1e-05
    """
    e = np.asarray(epsilon, dtype=np.float64)
    size = np.abs(e)
    if mu > _LARGE:
        return np.ones_like(size)
    with np.errstate(over="ignore"):
        a = np.minimum(size / mu - mu / 2.0, 1e8)  # from there on the density is 0 many times over
    b = a + mu
    if mu <= _SMALL:
        x = a[..., None] + mu * (_NODES + 1.0) / 2.0
        difference = mu / 2.0 * ((1.0 - x * _mills(x)) @ _WEIGHTS)
        above = _density(a) * difference
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # Mills' ratio overflows where the first form is used
            above = np.where(a < 0.0, ndtr(-a) - _density(a) * _mills(b), _density(a) * (_mills(a) - _mills(b)))
    return reflected(e, np.maximum(above, 5e-324))  # it is never 0


def normal_epsilon(mu: float, delta: float) -> float:
    """Return the least ε ≥ 0 with δ_μ(ε) ≤ δ; ∞ at δ = 0.

    δ_μ(ε) ≤ Φ(−a) ≤ e^(−a²/2), so a = √(2 ln(1/δ)) is a bracket.
    """
    if delta <= 0.0 or mu > _LARGE:
        return math.inf
    high = mu * mu / 2.0 + mu * math.sqrt(-2.0 * math.log(delta))
    return least(lambda epsilon: float(normal_delta(mu, epsilon)), delta, 0.0, high)


def normal_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ with δ_μ(ε) ≤ δ; 0 at δ = 0.

    >>> round(1 / normal_mu(1.0, 1e-5), 4), round(1 / normal_mu(0.1, 1e-4), 3)
    (3.7306, 24.508)
    """
    if delta <= 0.0:
        return 0.0
    start = math.sqrt(2.0 * (math.log(1.25) - math.log(delta))) / epsilon
    return 1.0 / least_on_half_line(lambda sigma: float(normal_delta(1.0 / sigma, epsilon)), delta, start)
