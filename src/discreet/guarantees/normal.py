"""The losses of the Gaussian mechanism, and its privacy curve in a form that keeps its digits at every scale.

**The curve.** With μ = Δ/σ, adding N(0, σ²I) to a statistic of L2 sensitivity Δ is (ε, δ)-private exactly when
δ ≥ δ_μ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) (Balle and Wang 2018; Dong, Roth and Su 2022).

Both terms can agree in all but their last digits. With a = ε/μ − μ/2, b = a + μ and Mills' ratio
m(x) = Φ(−x)/φ(x) the curve is φ(a)·(m(a) − m(b)), because e^ε φ(b) = φ(a). Where μ is small the difference is
integrated instead: m(a) − m(b) = ∫ₐᵇ g(x) dx with g(x) = 1 − x·m(x), which is positive and smooth.

**What is returned is never below the curve.** With u = 2⁻⁵³ and a₊ = max(a, 0) it is raised by a share of
(512 + 64a₊² + 4(1 + a₊)μ)u, which is 2e-13 at δ = 1e-5 and 1e-11 at δ = 1e-300. *Proof* that no more is lost to
rounding, to first order in u. It is assumed that ``erfcx`` and ``ndtr`` are right to 16u (at most 7u was seen against
50 digits) and ``exp`` and ``expm1`` to 4u; then m is right to 24u.

- *Facts.* m(x) = ∫₀^∞ e^(−xt − t²/2) dt and g = −m' = ∫₀^∞ t·e^(−xt − t²/2) dt, so m and g are log-convex and −g'/g
  falls. For x ≥ 0, m(x) ≤ 4/(3x + √(x² + 8)) (Sampford 1953), hence g(x) ≥ 1/(x² + 3) and g/m ≥ 2/(x + √(x² + 8)).
- *The rounding of a.* Δa ≤ (2|a| + μ/2)u. Where a ≥ −1/4, −∂ln δ/∂a = a + (g(a) − g(b))/∫g ≤ a + max(−g'/g) ≤ a + 1.4:
  a share of (a + 1.4)(2|a| + μ/2)u. That of the density: (a²/2 + 7)u.
- *μ ≤ ½.* g(x) at a ≤ x ≤ a + ½ loses a share of 25((a + ½)² + 3)u, nodes, weights and the sum of eight (2.8|a| + 14)u.
  Gauss and Legendre's rule loses (32/15)·ρ⁻¹⁶·g(c − 3)/g(c) ≤ 10⁻¹⁸ at c = (a + b)/2 ≥ 0: |g| is at most g(c − 3) on an
  ellipse of half-length 3 around c, for which ρ ≥ 23.9, and g(−3) < 700, g(0) = 1. In all (43a₊² + 125)u.
- *μ > ½, a ≥ 0.* ∫g/m over [a, a + ½] is at least 1/(2a + 3.9), so m(a)/(m(a) − m(b)) ≤ 2a + 5, and the difference
  loses a share of 49(2a + 5)u. In all (63a² + 300 + (a + 1.3)μ/2)u.
- *μ > ½, a < 0.* δ ≥ ½ − φ(0)m(½) > 0.15, and b ≥ μ/2, m(b) ≤ 2/μ. Both terms lose 41u, Δa at most 2φ(a)Δa ≤ (0.4μ +
  0.5)u: a share of (280 + 2.7μ)u.

Where numbers become subnormal the last unit counts, not a share: four of them are added. From a = 39 on, Φ(−a) is below
a quarter of one, and one will do.

The noise is rotation invariant, so the L2 length of a shift is all that matters: μ holds for vectors. Two steps of a
relation are one at twice the shift (``Loss.under``; ``discreet.guarantees.losses`` says why), and Gaussian mechanisms
compose to one (``compose_mus``).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import erfcx, ndtr

from discreet.arguments import probability
from discreet.guarantees.arithmetic import find_least, find_least_positive
from discreet.guarantees.guarantee import Neighbors
from discreet.guarantees.loss import Array, Loss, reflect

# The rule of eight points, to the last digit: numpy's weights are wrong by up to 72 units of u.
_NODES = np.array([0.1834346424956498, 0.525532409916329, 0.7966664774136267, 0.9602898564975363])
_WEIGHTS = np.array([0.362683783378362, 0.31370664587788727, 0.22238103445337448, 0.10122853629037626])
_NODES, _WEIGHTS = np.concatenate([-_NODES, _NODES]), np.concatenate([_WEIGHTS, _WEIGHTS])
_U = 2.0**-53
_SMALL = 0.5  # up to here the difference of Mills' ratios is integrated
_LARGE = 1e150  # from here on squares overflow; nothing is left of privacy, and 1 is always a bound


def _mills(x: Array) -> Any:
    return math.sqrt(math.pi / 2.0) * erfcx(x / math.sqrt(2.0))


def normal_delta(mu: float, epsilon: float | Array) -> Array:
    """Return δ_μ(ε) for any real ε, rounded up: see the module.

    >>> round(float(normal_delta(1 / 3.7306317, 1.0)), 11)
    1e-05
    """
    e = np.asarray(epsilon, dtype=np.float64)
    if mu > _LARGE:
        return np.ones_like(e)
    with np.errstate(over="ignore", invalid="ignore"):  # Mills' ratio overflows where it is not used
        a = np.minimum(np.abs(e) / mu - mu / 2.0, 1e8)  # from there on the density is 0 many times over
        density = np.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi)
        if mu <= _SMALL:
            x = a[..., None] + mu * (_NODES + 1.0) / 2.0
            above = density * (mu / 2.0 * ((1.0 - x * _mills(x)) @ _WEIGHTS))
        else:
            far = _mills(a + mu)
            above = np.where(a < 0.0, ndtr(-a) - density * far, density * (_mills(a) - far))
    beyond = np.maximum(a, 0.0)
    lost = _U * (512.0 + 64.0 * beyond * beyond + 4.0 * (1.0 + beyond) * mu)
    return reflect(e, above * (1.0 + lost) + np.where(beyond < 39.0, 2e-323, 5e-324))  # it is never 0


@lru_cache(maxsize=1024)  # many plans ask for the same
def normal_epsilon(mu: float, delta: float) -> float:
    """Return the least ε ≥ 0 with δ_μ(ε) ≤ δ; ∞ at δ = 0.

    δ_μ(ε) ≤ Φ(−a) ≤ e^(−a²/2), so a = √(2 ln(1/δ)) is a bracket; it is rounded up, as it may be the answer.
    """
    if delta <= 0.0 or mu > _LARGE:
        return math.inf
    high = (mu * mu / 2.0 + mu * math.sqrt(-2.0 * math.log(delta))) * (1.0 + 2.0**-40)
    return find_least(lambda epsilon: float(normal_delta(mu, epsilon)), delta, 0.0, high)


@lru_cache(maxsize=1024)
def normal_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ with δ_μ(ε) ≤ δ; 0 at δ = 0.

    >>> round(1 / normal_mu(1.0, 1e-5), 4), round(1 / normal_mu(0.1, 1e-4), 3)
    (3.7306, 24.508)
    """
    if delta <= 0.0:
        return 0.0
    start = math.sqrt(2.0 * (math.log(1.25) - math.log(delta))) / epsilon
    return 1.0 / find_least_positive(lambda sigma: float(normal_delta(1.0 / sigma, epsilon)), delta, start)


def compose_mus(mus: Iterable[tuple[float, int]]) -> float:
    """Return √(Σ count·μ²), rounded up: at most a share of 4.5·2⁻⁵³ is lost, and 8·2⁻⁵³ is added."""
    several = list(mus)
    if len(several) == 1 and several[0][1] == 1:
        return several[0][0]
    largest = max((mu for mu, _ in several), default=0.0)
    return largest * math.sqrt(math.fsum((mu / largest) ** 2 * count for mu, count in several)) * (1.0 + 2.0**-50)


class _Gaussian(Loss):
    """The base class of Gaussian losses: all that follows from μ."""

    @property
    @abstractmethod
    def gaussian(self) -> float:
        """μ."""

    def _curve(self, epsilon: Array) -> Array:
        """Return δ_μ(ε), rounded up (``discreet.guarantees.normal``)."""
        return normal_delta(self.gaussian, epsilon)

    def epsilon_at(self, delta: float) -> float:
        """Return the least ε that goes with ``delta``."""
        return normal_epsilon(self.gaussian, probability("delta", delta))

    def renyi(self, order: float) -> float:
        """Return αμ²/2, the divergence between N(0, 1) and N(μ, 1)."""
        return order * self.zcdp

    @property
    def zcdp(self) -> float:
        """μ²/2."""
        return self.gaussian * self.gaussian / 2.0


@dataclass(frozen=True)
class GaussianLoss(_Gaussian):
    """The loss of Gaussian noise: μ = Δ/σ for noise N(0, σ²I) and L2 sensitivity Δ.

    Parameters
    ----------
    mu : float
        Δ/σ, above 0.
    neighbors : Neighbors or str

    Examples
    --------
    >>> float(GaussianLoss(1.0).delta_at(1.0)).__round__(6)
    0.126937
    """

    mu: float
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    _powers: ClassVar[Mapping[str, int]] = {"mu": 1}

    @property
    def gaussian(self) -> float:
        """μ."""
        return self.mu


@dataclass(frozen=True)
class ClassicalGaussianLoss(_Gaussian):
    """Gaussian noise that was set by the classical rule σ = √(2 ln(1.25/δ))·Δ/ε, as in the papers.

    The linear and the advanced composition price it at its (ε, δ), and only where that rule is proved, ε < 1
    (from ε = 1 up the price is infinite); the other methods see the Gaussian that it is. Kept to compare with the
    papers and to reproduce them: ``GaussianLoss`` needs less noise for the same guarantee.

    Parameters
    ----------
    epsilon, delta : float
        The target of the rule. Under zCDP, moments and exact composition ``delta`` is a dummy: only the
        noise counts.
    neighbors : Neighbors or str

    Examples
    --------
    >>> round(ClassicalGaussianLoss(0.5, 1e-6).gaussian, 6)
    0.094361
    """

    epsilon: float
    delta: float
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    _probabilities: ClassVar[tuple[str, ...]] = ("delta",)

    @property
    def gaussian(self) -> float:
        """μ = ε/√(2 ln(1.25/δ))."""
        return self.epsilon / math.sqrt(2.0 * (math.log(1.25) - math.log(self.delta)))

    @property
    def stated_guarantee(self) -> tuple[float, float]:
        """(ε, δ) of the classical rule; (∞, δ) where the rule is not proved."""
        return (self.epsilon if self.epsilon < 1.0 else math.inf), self.delta
