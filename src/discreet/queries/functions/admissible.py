"""Noises whose scale may depend on the data: how far they may slide and stretch (Nissim, Raskhodnikova, Smith 2007).

Let S(D) be a β-smooth upper bound on the local sensitivity of f: S(D) ≥ |f(D) − f(D')| and S(D) ≤ e^β·S(D') for all
neighbours. Release f(D) + s·Z with s = S(D)/α and Z of density h. Its neighbour's law has another centre f' and another
scale s': it *slides* by |f − f'| ≤ min(S, S') = α·min(s, s'), and it *stretches* by |log(s'/s)| ≤ β. Which α and β keep
(ε, δ) is each class's matter; the constants of the literature are smaller than these.

**Pure ε** (``StudentNoise``, ``CauchyNoise``). Go from (f, s) to (f', s') so that the centre and the logarithm of the
scale change evenly. On the way the centre changes by at most α in units of the scale there, which is never below
min(s, s'). With g = h'/h the logarithm of the density at any fixed place, where z is its distance from the centre in
units of the scale, then changes in all by at most

    F = sup over z of α·|g(z)| + β·|1 + z·g(z)|  ≤  α·L + β·M,   L = sup|g(z)|, M = sup|1 + z·g(z)|.

So F ≤ ε is enough. A share of ε is set aside for the stretch, β = (1 − share)·ε/M, and α is what is left.

**With δ**: see ``admissible_delta``.

Draws are made with floats, so what uses them is idealised.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import beta as beta_function
from scipy.special import stdtrit

from discreet.arguments import ArgumentError, positive
from discreet.noise import Bits, SecureBits
from discreet.queries.functions.own import Array

__all__ = ["SAFE", "AdmissibleNoise", "CauchyNoise", "Inverted", "StudentNoise"]

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


class Inverted(AdmissibleNoise):
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
class StudentNoise(_Pure, Inverted):
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
