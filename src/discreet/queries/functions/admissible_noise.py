"""Noise whose scale may depend on the data: how far it may slide and stretch (Nissim, Raskhodnikova, Smith 2007).

Draws are made with floats, so what uses them is idealised.

Let S(D) be a β-smooth upper bound on the local sensitivity of f: S(D) ≥ |f(D) − f(D')| and S(D) ≤ e^β·S(D') for all
neighbours. Release f(D) + s·Z with s = S(D)/α and Z of density h. Its neighbour's distribution has another centre f'
and another scale s': it *slides* by |f − f'| ≤ min(S, S') = α·min(s, s'), and it *stretches* by |log(s'/s)| ≤ β. Each
class proves which α and β keep (ε, δ). They are larger than the published constants, so less noise is needed.

**Pure ε** (``StudentNoise``, ``CauchyNoise``). Go from (f, s) to (f', s') so that the centre and the logarithm of the
scale change evenly. On the way the centre changes by at most α in units of the scale there, which is never below
min(s, s'). With g = h'/h the logarithm of the density at any fixed place, where z is its distance from the centre in
units of the scale, then changes in all by at most

    F = sup over z of α·|g(z)| + β·|1 + z·g(z)|  ≤  α·L + β·M,   L = sup|g(z)|, M = sup|1 + z·g(z)|.

So F ≤ ε is enough. A share of ε is set aside for the stretch, β = (1 − share)·ε/M, and α is what is left.

**With δ** (``LaplaceSlide``, ``GaussianSlide``). Write P for the distribution of f + s·Z, Q for the neighbour's f' +
s'·Z, and R for that of f + s'·Z. From P to R the scale changes by a factor e^λ, |λ| ≤ β (*stretch*); from R to Q the
centre moves by at most α in units of s' (*slide*). A share of ε is for the slide, ε₁ = share·ε, the rest for the
stretch. If P(A) ≤ e^(ε₂)·R(A) + δ₂ and R(A) ≤ e^(ε₁)·Q(A) + δ₁ for every event A, then P(A) ≤ e^(ε₁+ε₂)·Q(A) + δ₂ +
e^(ε₂)·δ₁. All is symmetric in the two neighbours.

Let the scale shrink from P to R, so that R has density e^λ·h(e^λ·z) in units of s. The ratio of P's density to R's
grows with |z|, so the worst event is A = {|z| > c}, where the ratio passes e^(ε₂), and δ₂(λ) = P(A) − e^(ε₂)·R(A). A
larger λ only lowers R of this same event, and its own worst event tells at least as much: δ₂ grows with λ, so that
λ = β is the worst. If the scale grows instead, the log-ratio is at most |λ| ≤ β, and δ₂ = 0 as long as β ≤ ε₂.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import beta as beta_function
from scipy.special import erfcx, ndtri, stdtrit

from discreet.arguments import ArgumentError, positive
from discreet.guarantees import GaussianLoss, Guarantee, calibrate
from discreet.noise import Bits, SecureBits
from discreet.queries.functions.user_functions import Array

SAFE = 1.0 - 1e-12  # what float roundings of the constants could take


class AdmissibleNoise(ABC):
    """Noise of density h that stays private while its scale depends on the data; see the module.

    Attributes
    ----------
    pure : bool
        Whether it needs no δ.
    """

    pure: ClassVar[bool]
    exact: ClassVar[bool] = False  # drawn with floats

    @abstractmethod
    def rates(self, epsilon: float, delta: float, share: float = 0.5) -> tuple[float, float]:
        """Return α and β for (ε, δ), with a share of ε for the slide."""

    @abstractmethod
    def log_density(self, z: Array) -> Array:
        """Return log h(z)."""

    @abstractmethod
    def sample(self, count: int, bits: Bits | None = None) -> Array:
        """Return draws of Z, in floats.

        >>> StudentNoise().sample(3).shape
        (3,)
        """


class InverseTransformNoise(AdmissibleNoise):
    """Noise that is drawn as a quantile of |Z| and a sign.

    No value has a probability to speak of, zero least of all: u is a multiple of 2⁻⁵³, and a quantile that keeps its
    digits near zero, z = u/(2·h(0)) there, makes another float of each.
    """

    @abstractmethod
    def quantile(self, u: Array) -> Array:
        """Return z ≥ 0 with P(|Z| ≤ z) = u, to a few digits at least wherever u is."""

    def sample(self, count: int, bits: Bits | None = None) -> Array:
        """Return draws of Z, in floats."""
        words = (SecureBits() if bits is None else bits).words(count)
        return np.asarray(_signs(words) * self.quantile(_uniform(words)))


def _uniform(words: NDArray[np.uint64]) -> Array:
    """Return uniform numbers, the odd multiples of 2⁻⁵³: never 0 or 1; of the upper 52 bits of words."""
    return np.asarray(((words >> np.uint64(12)) + 0.5) * 2.0**-52, dtype=np.float64)


def _signs(words: NDArray[np.uint64]) -> Array:
    """Return −1 or 1, of the last bit of words."""
    return np.where(words & np.uint64(1), 1.0, -1.0)


class _Pure(AdmissibleNoise):
    pure = True

    @property
    @abstractmethod
    def constants(self) -> tuple[float, float]:
        """L = sup|g(z)| and M = sup|1 + z·g(z)|, g = h'/h."""

    def rates(self, epsilon: float, delta: float = 0.0, share: float = 0.5) -> tuple[float, float]:
        """Return share·ε/L and (1 − share)·ε/M; δ is not needed."""
        slide, stretch = self.constants
        return SAFE * share * epsilon / slide, SAFE * (1.0 - share) * epsilon / stretch


@dataclass(frozen=True)
class StudentNoise(_Pure, InverseTransformNoise):
    """Student's t, h ∝ (1 + z²/ν)^(−(ν+1)/2), with variance ν/(ν − 2) for ν > 2.

    g = −(ν + 1)z/(ν + z²), so M = sup ν|1 − z²|/(ν + z²) = max(1, ν), and F is the larger of
    sup (az + b(z² − 1))/(ν + z²) and sup (az − b(z² − 1))/(ν + z²) with a = α(ν + 1), b = βν. The first is b plus
    sup (az − d)/(ν + z²), d = b(1 + ν), whose derivative is zero at az² − 2dz − aν = 0: b + (√(d² + a²ν) − d)/(2ν). The
    second is the same with −b. Hence F = (ν + 1)/(2ν)·√(β²ν² + α²ν) + β|ν − 1|/2, and

        α² = ((2ν/(ν + 1)·(ε − β|ν − 1|/2))² − β²ν²)/ν.

    At ν = 3, ε = 1 and β = 1/6 the noise has a standard deviation of 2.6·S, where the generalised Cauchy of γ = 4 with
    its simpler bound has 4.6·S. ν = 1 is the Cauchy distribution of the original.

    Examples
    --------
    >>> alpha, beta = StudentNoise(3).rates(1.0, 0.0)
    >>> round(alpha, 4), round(beta, 4)
    (0.6614, 0.1667)
    """

    freedom: float = 3.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "freedom", positive("freedom", self.freedom))
        if not 0.25 <= self.freedom <= 1e4:
            raise ArgumentError("freedom", self.freedom, "from 0.25 to 1e4", write="for example StudentNoise(3)")

    @property
    def constants(self) -> tuple[float, float]:
        """(ν + 1)/(2√ν) and max(1, ν)."""
        return (self.freedom + 1.0) / (2.0 * math.sqrt(self.freedom)), max(1.0, self.freedom)

    def rates(self, epsilon: float, delta: float = 0.0, share: float = 0.5) -> tuple[float, float]:
        """Return the α that F = ε leaves at β = (1 − share)·ε/M; δ is not needed."""
        nu = self.freedom
        beta = SAFE * (1.0 - share) / self.constants[1]  # at ε = 1: both are proportional to it
        left = 2.0 * nu / (nu + 1.0) * (1.0 - beta * abs(nu - 1.0) / 2.0)
        return SAFE * epsilon * math.sqrt((left - beta * nu) * (left + beta * nu) / nu), epsilon * beta

    def log_density(self, z: Array) -> Array:
        """Return log h."""
        nu = self.freedom
        scale = math.log(float(beta_function(nu / 2.0, 0.5))) + math.log(nu) / 2.0
        return np.asarray(-(nu + 1.0) / 2.0 * np.log1p(z * z / nu) - scale)

    def quantile(self, u: Array) -> Array:
        """Return the quantile, from the upper tail, which keeps its digits."""
        return np.asarray(-stdtrit(self.freedom, (1.0 - u) / 2.0))


@dataclass(frozen=True)
class CauchyNoise(_Pure):
    """The generalised Cauchy, h ∝ 1/(1 + |z|^γ): γ = 4 has variance 1, γ = 2 is the original and has none.

    |g| = γ|z|^(γ−1)/(1 + |z|^γ), largest at |z|^γ = γ − 1: L = (γ − 1)^((γ−1)/γ). And 1 + z·g(z) =
    1 − γ|z|^γ/(1 + |z|^γ) goes from 1 down to 1 − γ: M = max(1, γ − 1). Here α·L + β·M = ε, a bound that is not tight:
    ``StudentNoise`` does better.

    *The draw.* For z ≥ 0, h ∝ 1/(1 + z^γ) is below k(z) = min(1, z^(−γ)), of which ∫ from 0 to 1 is 1 and from 1 on is
    1/(γ − 1). So propose |z| uniform in [0, 1] with probability (γ − 1)/γ, otherwise V^(−1/(γ−1)) with V uniform, whose
    density is (γ − 1)·z^(−γ) from 1 on: together the density is k/∫k. Accept with probability 1/((1 + z^γ)·k(z)), which
    is 1/(1 + x^γ) with x = min(z, 1/z) and so at least 1/2. What is accepted has density ∝ 1/(1 + z^γ). Near zero the
    draws are the uniform ones as they are; a quantile would need x^γ, which floats lose in 1 + x^γ. How many proposals
    it takes has nothing to do with the rows.

    Examples
    --------
    >>> alpha, beta = CauchyNoise(2).rates(1.0, 0.0)
    >>> round(alpha, 4), round(beta, 4)
    (0.5, 0.5)
    """

    power: float = 4.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", positive("power", self.power))
        if not 1.25 <= self.power <= 64.0:  # closer to 1 the draws overflow
            raise ArgumentError("power", self.power, "from 1.25 to 64", write="for example CauchyNoise(4)")

    @property
    def constants(self) -> tuple[float, float]:
        """(γ − 1)^((γ−1)/γ) and max(1, γ − 1)."""
        return (self.power - 1.0) ** ((self.power - 1.0) / self.power), max(1.0, self.power - 1.0)

    def log_density(self, z: Array) -> Array:
        """Return log h; ∫dz/(1 + |z|^γ) = (2π/γ)/sin(π/γ)."""
        scale = math.log(2.0 * math.pi / self.power / math.sin(math.pi / self.power))
        return np.asarray(-np.log1p(np.abs(z) ** self.power) - scale)

    def sample(self, count: int, bits: Bits | None = None) -> Array:
        """Return draws of Z, in floats, by rejection; see the class."""
        source = SecureBits() if bits is None else bits
        drawn: Array = np.empty(0)
        while drawn.size < count:
            words = source.words(3 * (2 * (count - drawn.size) + 16)).reshape(3, -1)
            place, inner, accepted = (_uniform(row) for row in words)
            near = inner < (self.power - 1.0) / self.power
            with np.errstate(over="ignore", under="ignore"):
                z = np.where(near, place, place ** (-1.0 / (self.power - 1.0)))
                kept = accepted * (1.0 + np.where(near, z, 1.0 / z) ** self.power) < 1.0
            drawn = np.concatenate([drawn, (_signs(words[0]) * z)[kept]])
        return drawn[:count]


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


def _rates(
    noise: InverseTransformNoise, epsilon: float, delta: float, alpha: float, beta: float
) -> tuple[float, float]:
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
class LaplaceSlide(InverseTransformNoise):
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
class GaussianSlide(InverseTransformNoise):
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
        beta = _largest_stretch(lambda b: _stretch_delta(stretch, b) / may, stretch)
        return _rates(self, epsilon, delta, mu, beta)

    def log_density(self, z: Array) -> Array:
        """Return log h."""
        return np.asarray(-z * z / 2.0 - math.log(2.0 * math.pi) / 2.0)

    def quantile(self, u: Array) -> Array:
        """Return the normal quantile."""
        return np.asarray(-ndtri((1.0 - u) / 2.0))


def _stretch_delta(epsilon: float, b: float) -> float:
    """Return δ₂ of a normal distribution, from above: what a stretch by e^b costs beyond ε; see ``GaussianSlide``."""
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
