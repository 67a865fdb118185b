"""Noise on a grid, Gaussian and Laplace: rounds a statistic to the grid, draws the noise, and adds it.

A release carries its ``NoiseDistribution``, so that whoever reads the release knows the distribution of its error.
Noise is an integer number of steps of a grid, drawn without a float by all but ``EuclideanNoise``. On the grid

    released value = grid · (round(value/grid) + integer noise).

There are two families: a continuous distribution that is rounded (``GaussianNoise``, ``LaplaceNoise``), and one on
whole numbers (``DiscreteGaussianNoise``, and ``GeometricNoise`` for counts). Other kinds of ``Draw`` are in ``draws``.

**What the grid costs.** Rounding moves each coordinate by at most half a step, the division value/grid by at most half
a step more as long as it stays within 2⁵² steps. So the statistics of two neighbours come at most 2·grid a coordinate
further apart: 2·grid·√D in L2 and 2·grid·D in L1 over D coordinates, to be added to the sensitivity. At a grid of σ/2⁴⁰
that is 6e-9 of σ for ten million coordinates.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from discreet.arguments import UNSHOWN, ArgumentError, integer, iterable, positive, probability
from discreet.guarantees import GaussianLoss, GeometricLoss, LaplaceLoss, Loss, Neighbors, ZcdpLoss
from discreet.noise.bits import Bits, as_bits
from discreet.noise.reals import LazyWords
from discreet.plain import from_plain, register_kind, to_plain

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Size = int | Iterable[int]

_PIECE = 2**17  # words asked for at a time: a megabyte, which stays in the processor's cache

LARGEST = 2.0**52  # steps that a statistic may be from zero: so far floats hold every integer and every half
FINEST = 40  # binary digits of a standard deviation that the grid has, unless the statistic is too large for it


class Draw(ABC):
    """A kind of draw. ``exact`` tells whether draws have their distribution exactly, or only as nearly as floats do."""

    exact: ClassVar[bool] = True

    @abstractmethod
    def draw(self, target: Any, bits: Bits | None) -> Any:
        """Return an array, drawn around (or by) ``target``, which was computed from rows."""


class NoiseDistribution(Draw):
    """The distribution of noise on a grid. Its subclasses are frozen dataclasses.

    With d = ‖z‖/scale in its own norm, the density is ∝ e^(−d²/2) where the noise is normal, else ∝ e^(−d).

    Attributes
    ----------
    scale : float
        In the statistic's units.
    norm : str
        ``"l1"`` or ``"l2"``; the sensitivity that its loss goes by is in the same.
    normal : bool
        Whether it is Gaussian. Then a sum of independent draws is so too, whatever their coefficients.
    priced : type of Loss
        The kind of loss of a statistic that it is put on, where that goes by sensitivity/scale alone.
    """

    scale: float
    norm: ClassVar[str]
    normal: ClassVar[bool]
    priced: ClassVar[type[Any]]

    _kinds: ClassVar[dict[str, type[NoiseDistribution]]] = {}

    def __init_subclass__(cls) -> None:
        register_kind(NoiseDistribution._kinds, cls)

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of one coordinate's noise, in the statistic's units."""

    @abstractmethod
    def half_width(self, level: float) -> float:
        """Return h so that one coordinate's noise lies in [−h, h] with probability ``level`` or a little more."""

    @property
    @abstractmethod
    def grid(self) -> float:
        """The step of the grid, in the statistic's units."""

    @abstractmethod
    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws, as whole numbers of grid steps."""

    def steps(self, values: ArrayLike) -> Integers:
        """Return the statistic rounded to the grid, as whole numbers of steps.

        It must be finite and within 2⁵² steps, which the caller's clipping and a public bound have to ensure: an error
        here depends on the data.
        """
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
            ratio = np.rint(as_numbers(values) / self.grid)
        if not np.all(np.abs(ratio) <= LARGEST):
            raise OverflowError("values: expected finite numbers within 2**52 grid steps; nothing was released")
        return ratio.astype(np.int64)

    def add(self, values: ArrayLike, bits: Bits | None = None) -> Array:
        """Return ``values`` put on the grid, with noise."""
        steps = self.steps(values)
        noisy = steps + self.sample(steps.shape, bits)  # at most 2⁵² and 2⁶²: cannot wrap
        return np.asarray(noisy * self.grid, dtype=np.float64)

    def draw(self, target: Array, bits: Bits | None) -> Array:
        """Return numbers with noise on each, in a row."""
        return self.add(target, bits).ravel()

    def loss(self, sensitivity: float, neighbors: Neighbors | str = Neighbors.REPLACE_ONE) -> Loss:
        """Return what a statistic costs whose sensitivity, once on the grid, is this much: Δ/scale, rounded up."""
        ratio = Fraction(positive("sensitivity", sensitivity)) / Fraction(self.scale)
        result: Loss = self.priced(upper(ratio), Neighbors.parse(neighbors))
        return result

    @property
    def independent(self) -> bool:
        """Whether coordinates are independent: both e^(−‖z‖₂²/2) and e^(−‖z‖₁) are products."""
        return self.normal or self.norm == "l1"

    def distance(self, shift: Any) -> Any:
        """Return ‖shift‖/scale over the last axis: the μ or the ε at which two statistics so far apart are told apart.

        >>> from discreet.noise import GaussianNoise, LaplaceNoise
        >>> [float(noise(2.0).distance(np.array([3.0, 4.0]))) for noise in (GaussianNoise, LaplaceNoise)]
        [2.5, 3.5]
        """
        away = shift / self.scale
        return abs(away).sum(axis=-1) if self.norm == "l1" else (away * away).sum(axis=-1) ** 0.5

    def log_density(self, noise: Any) -> Any:
        """Return −d²/2 or −d over the last axis, of arrays of any library; a constant and the grid are left out."""
        if self.normal:
            away = noise / self.scale
            return (away * away).sum(axis=-1) / -2.0
        return -self.distance(noise)

    def log_ratio(self, released: Array, one: Array, other: Array) -> float:
        """Return the log-likelihood ratio, other over one, of two statistics that it may have been released from."""
        return float(self.log_density(released - other) - self.log_density(released - one))

    def least_scale(self, loss: Loss, sensitivity: float) -> float:
        """Return the scale that ``loss`` takes at the least; ∞ where it is not the loss of such noise."""
        return math.inf

    def tail(self, coefficients: Sequence[float], size: float) -> float:
        """Return P(|Σ c_i·z_i| > size) for independent draws z_i, or a little more."""
        raise ArgumentError("noise", self, "Gaussian or Laplace noise")

    def half_width_of_sum(self, coefficients: Sequence[float], level: float) -> float:
        """Return h so that |Σ c_i·z_i| ≤ h with probability ``level``, or a little more, for independent draws z_i.

        >>> from discreet.noise import GaussianNoise
        >>> round(GaussianNoise(2.0).half_width_of_sum([3.0, 4.0], 0.95), 3)
        19.6
        """
        outside = 1.0 - probability("level", level)
        if self.tail(coefficients, 0.0) == 0.0:
            return 0.0
        low, high = 0.0, sum(map(abs, coefficients)) * self.scale
        while self.tail(coefficients, high) > outside:
            high *= 2.0
        for _ in range(50):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.tail(coefficients, middle) > outside else (low, middle)
        return high

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Return draws to try things out with: floats of the continuous distribution, coordinates independent."""
        draws = rng.standard_normal(shape) if self.normal else rng.laplace(size=shape)
        return np.asarray(self.scale * draws)

    def to_dict(self) -> dict[str, Any]:
        """Return the distribution as plain values, for JSON; ``from_dict`` reads it back.

        >>> from discreet.noise import GaussianNoise
        >>> GaussianNoise(2.0).to_dict()
        {'kind': 'GaussianNoise', 'scale': 2.0, 'fineness': 40}
        """
        return to_plain(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> NoiseDistribution:
        """Return the distribution that ``to_dict`` described."""
        return from_plain(NoiseDistribution._kinds, values)


@dataclass(frozen=True)
class RoundedNoise(NoiseDistribution):
    """Noise of a continuous distribution, rounded to a grid of the scale over a power of two.

    Rounding the output is post-processing, so what is known of the continuous mechanism holds exactly.

    Parameters
    ----------
    scale : float
    fineness : int
        m, from 0 to 52: the grid is scale/2^m.
    """

    scale: float
    fineness: int = FINEST

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "fineness", integer("fineness", self.fineness, least=0, most=52))
        check_grid(self.grid)

    @property
    def grid(self) -> float:
        """The scale over 2^m."""
        return math.ldexp(self.scale, -self.fineness)

    @abstractmethod
    def _tail(self, sizes: Sequence[float], beyond: float) -> float:
        """Return P(|Σ c_i·z_i| > beyond) of the continuous noise, the sizes |c_i| > 0 rising and beyond > 0."""

    def tail(self, coefficients: Sequence[float], size: float) -> float:
        """Return P(|Σ c_i·z_i| > size) for independent draws z_i, or a little more: the grid adds half a step each.

        >>> from discreet.noise import LaplaceNoise
        >>> round(LaplaceNoise(1.0).tail([2.0], 4.0), 4), round(LaplaceNoise(1.0).tail([2.0, 1.0], 4.0), 4)
        (0.1353, 0.1743)
        """
        sizes = sorted(abs(float(coefficient)) for coefficient in coefficients)
        sizes = [one for one in sizes if one > 1e-9 * sizes[-1]]
        beyond = size - sum(sizes) * self.grid / 2.0
        return self._tail(sizes, beyond) if sizes and beyond > 0.0 else float(bool(sizes))


@dataclass(frozen=True)
class StepNoise(NoiseDistribution):
    """Noise of a distribution on whole numbers of steps.

    Parameters
    ----------
    scale : float
        In the statistic's units.
    step : float
        The grid; 1 for counts. scale/step must be a float, exactly, between 2⁻⁸ and 2⁴⁸, so that draws have
        the distribution that is named.
    """

    scale: float
    step: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "step", positive("step", self.step))
        check_grid(self.step)
        ratio = self.scale / self.step
        if not 2.0**-8 <= ratio <= 2.0**48 or Fraction(ratio) * Fraction(self.step) != Fraction(self.scale):
            raise ArgumentError(
                ("scale", "step"),
                (self.scale, self.step),
                "a scale of 2**-8 to 2**48 steps, their ratio exactly a float; take a step that is a power of two",
            )

    @property
    def grid(self) -> float:
        """The step."""
        return self.step

    @property
    def ratio(self) -> float:
        """The scale in steps, exactly."""
        return self.scale / self.step


def draw_integers(size: Size, bits: Bits | None, name: str, *given: float) -> Integers:
    """Return an array of draws of a compiled sampler, with all bits of the uniforms for what it cannot decide.

    The words that a draw did not finish with stay in front of the fresh ones: a draw is never dropped because it needs
    many words, which would be a bias.

    Parameters
    ----------
    size : int or tuple of int
    bits : Bits or None
        ``None`` for secure ones.
    name : str
        Of a sampler in ``kernels``.
    given : numbers
        What it is given; see there.
    """
    from discreet.noise import kernels

    bits = as_bits(bits)
    sampler = getattr(kernels, name)
    shape = tuple(integer("size", side, least=0) for side in (size if iterable(size) else (size,)))
    out = np.empty(math.prod(shape), dtype=np.int64)  # one dimension: the compiled loop writes place by place
    words = np.empty(0, dtype=np.uint64)
    done = 0
    while done < out.size:
        done, used, status = sampler.fill(words, out, done, *given)
        words = words[used:]
        if status == kernels.SHORT:
            words = np.concatenate([words, bits.words(min(_PIECE, 32 * (out.size - done) + 64))])
        elif status == kernels.TIE:
            lazy = LazyWords(bits, words)
            out[done], used = sampler.settle(lazy, 0, *given)
            words, done = lazy.words[used:], done + 1
        elif status == kernels.OVERFLOW:
            raise OverflowError("a draw did not fit 64 bits; nothing was released")
    return out.reshape(shape)


def as_numbers(values: ArrayLike, name: str = "values") -> Array:
    """Return an array of floats; text and objects are refused, not converted."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ArgumentError(name, UNSHOWN, f"numbers, got an array of {array.dtype}")
    return array.astype(np.float64)


def fit_grid(budget: float, sensitivity: float, largest: float, steps: float, most: int = FINEST) -> tuple[float, int]:
    """Return a scale and an m with sensitivity + steps·grid ≤ budget·scale on a grid of scale/2^m.

    m is at most ``most``, and such that ``largest`` is within 2⁵² steps. The scale is sensitivity/(budget − share) with
    share = steps/2^m, rounded up: the share loses 2·2⁻⁵³ of itself and is at most a hundredth of the budget, the
    difference and the quotient lose 2⁻⁵³ of themselves: together less than 2.1·2⁻⁵³. 4·2⁻⁵³ are added, of which the
    product may lose one.
    """
    sensitivity, largest = positive("sensitivity", sensitivity), positive("largest", largest)
    scale = sensitivity / budget
    if scale > 1e290:
        raise ValueError(f"noise of scale {scale!r} would overflow; expected a larger ε, or tighter bounds on the rows")
    # ldexp is exact: no rounding could let one step too many in
    m = max((m for m in range(8, FINEST + 1) if largest <= math.ldexp(scale, 52 - m)), default=0)
    if not m or not scale > 0.0:
        raise ValueError(
            f"largest={largest!r}: a statistic of this size and noise of scale {scale!r} do not fit one grid; "
            "expected tighter bounds on the rows, or more noise"
        )
    m = min(m, most)
    share = steps * 2.0**-m
    if not share < 0.01 * budget:
        raise ValueError(
            "largest: the grid that holds a statistic of this size would cost more than a hundredth of the budget; "
            "expected tighter bounds on the rows, or a larger budget"
        )
    return sensitivity / (budget - share) * (1.0 + 2.0**-51), m


def upper(number: Fraction) -> float:
    """Return the smallest float that is not below a number."""
    try:
        nearest = float(number)
    except OverflowError:
        return math.inf
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def check_grid(grid: float) -> None:
    """Refuse a grid at the edge of what floats hold."""
    if not 1e-290 < grid < 1e290:
        raise ValueError(f"scale: the grid would be {grid!r}; expected a scale between about 1e-270 and 1e280")


@dataclass(frozen=True)
class GaussianNoise(RoundedNoise):
    """round(2^m Z)/2^m times the scale, Z standard normal: the Gaussian mechanism, rounded.

    Since rounding the output is post-processing, the accounting of the ideal Gaussian mechanism holds exactly:
    ``GaussianLoss(sensitivity/scale)``. (``discreet.noise.kernels`` has the proof.)

    Parameters
    ----------
    scale : float
        The standard deviation σ.
    fineness : int
        m, from 0 to 52: the grid is σ/2^m.

    Examples
    --------
    >>> noise = GaussianNoise(3.0)
    >>> released = noise.add([10.0, 20.0])
    >>> released.shape, noise.grid == 3.0 / 2**40, round(noise.half_width(0.95), 3)
    ((2,), True, 5.88)
    """

    norm = "l2"
    normal = True
    priced = GaussianLoss

    @classmethod
    def for_query(cls, *, mu: float, sensitivity: float, largest: float, size: int = 1) -> Self:
        """Return the noise with which a query costs at most ``GaussianLoss(mu)``, the grid's share charged.

        The neighbours' statistics are at most Δ + 2·grid·√D apart once they are on the grid, and grid = σ/2^m, so
        σ = Δ/(μ − 2√D/2^m) makes that μσ; it is rounded up (``fit_grid``). The value does not hold ``largest`` and
        ``size``.

        Parameters
        ----------
        mu : float
            The loss to keep.
        sensitivity : float
            Δ: how far apart, in L2, two neighbours' statistics are as floats; float error included.
        largest : float
            A public bound on the size of every coordinate.
        size : int
            D, the number of coordinates.

        Examples
        --------
        >>> noise = GaussianNoise.for_query(mu=0.25, sensitivity=73.0, largest=1e6)
        >>> round(noise.scale, 6), noise.fineness
        (292.0, 40)
        """
        steps = 2.0 * math.sqrt(integer("size", size, least=1))
        return cls(*fit_grid(positive("mu", mu), sensitivity, largest, steps))

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of round(2^m Z)."""
        return draw_integers(size, bits, "NORMAL", self.fineness)

    def least_scale(self, loss: Loss, sensitivity: float) -> float:
        """Return Δ/μ."""
        return math.inf if loss.gaussian is None else sensitivity / loss.gaussian

    @property
    def variance(self) -> float:
        """σ² + grid²/12, rounding being as good as independent of Z unless m is 0 or 1."""
        return self.scale * self.scale + self.grid * self.grid / 12.0

    def half_width(self, level: float) -> float:
        """Return σΦ⁻¹((1 + level)/2) and half a step."""
        return -self.scale * float(ndtri((1.0 - probability("level", level)) / 2.0)) + self.grid / 2.0

    def _tail(self, sizes: Sequence[float], beyond: float) -> float:
        """Return the tail of a normal variable of variance σ²Σc_i²."""
        return math.erfc(beyond / (self.scale * math.hypot(*sizes) * math.sqrt(2.0)))


@dataclass(frozen=True)
class DiscreteGaussianNoise(StepNoise):
    """P(k) ∝ e^(−k²·grid²/(2·scale²)): the discrete Gaussian of Canonne, Kamath and Steinke (2020).

    An option beside ``GaussianNoise``: it is known to be zCDP, ``ZcdpLoss((sensitivity/scale)²/2)``, and not known to
    meet the Gaussian mechanism's exact curve, so it costs a little more for the same noise.

    Parameters
    ----------
    scale : float
        σ, in the statistic's units.
    step : float
        The grid; see ``StepNoise``.

    Examples
    --------
    >>> DiscreteGaussianNoise(5.0).sample(3).dtype
    dtype('int64')
    """

    norm = "l2"
    normal = True

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of the discrete Gaussian."""
        return draw_integers(size, bits, "DISCRETE_GAUSSIAN", self.ratio)

    def loss(self, sensitivity: float, neighbors: Neighbors | str = Neighbors.REPLACE_ONE) -> ZcdpLoss:
        """Return what a statistic costs whose L2 sensitivity, once on the grid, is this much: Δ²/(2σ²), rounded up."""
        mu = Fraction(positive("sensitivity", sensitivity)) / Fraction(self.scale)
        return ZcdpLoss(upper(mu * mu / 2), Neighbors.parse(neighbors))

    @property
    def variance(self) -> float:
        """Below σ² by less than anybody could measure from σ = 2 steps on; summed below that."""
        sigma = self.ratio
        if sigma > 4.0:
            return self.scale * self.scale
        k = np.arange(1, 200)
        weights = np.exp(-((k / sigma) ** 2) / 2.0)
        return self.step * self.step * float(2.0 * (k**2 * weights).sum() / (1.0 + 2.0 * weights.sum()))

    def half_width(self, level: float) -> float:
        """Return σΦ⁻¹((1 + level)/2) and a step: the tail from k on is below the normal's from k − 1 on (ibid.)."""
        return -self.scale * float(ndtri((1.0 - probability("level", level)) / 2.0)) + self.step


@dataclass(frozen=True)
class LaplaceNoise(RoundedNoise):
    """round(2^m L)/2^m times the scale, L standard Laplace: the Laplace mechanism, rounded.

    Since rounding the output is post-processing, the curve of the ideal Laplace mechanism holds exactly. (The two-sided
    geometric on the same grid is ε-private too, but its curve lies a little above.)

    Parameters
    ----------
    scale : float
        b, in the statistic's units.
    fineness : int
        m, from 0 to 52: the grid is b/2^m.

    Examples
    --------
    >>> noise = LaplaceNoise(3.0)
    >>> noise.add([10.0, 20.0]).shape, round(noise.half_width(0.95), 3)
    ((2,), 8.987)
    """

    norm = "l1"
    normal = False
    priced = LaplaceLoss

    @classmethod
    def for_query(cls, *, epsilon: float, sensitivity: float, largest: float, size: int = 1) -> Self:
        """Return the noise with which a query costs at most ``LaplaceLoss(epsilon)``, the grid's share charged.

        As for ``GaussianNoise``, in L1: the statistics are at most Δ + 2·grid·D apart, so b = Δ/(ε − 2D/2^m), rounded
        up. The value does not hold ``largest`` and ``size``.

        Examples
        --------
        >>> noise = LaplaceNoise.for_query(epsilon=0.5, sensitivity=1.0, largest=100.0)
        >>> round(noise.scale, 6), noise.fineness
        (2.0, 40)
        """
        steps = 2.0 * integer("size", size, least=1)
        return cls(*fit_grid(positive("epsilon", epsilon), sensitivity, largest, steps))

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of round(2^m L)."""
        return draw_integers(size, bits, "LAPLACE", self.fineness)

    def least_scale(self, loss: Loss, sensitivity: float) -> float:
        """Return Δ/ε."""
        return sensitivity / loss.epsilon if isinstance(loss, LaplaceLoss) else math.inf

    @property
    def variance(self) -> float:
        """2b² + grid²/12, or a little less on a coarse grid."""
        return 2.0 * self.scale * self.scale + self.grid * self.grid / 12.0

    def half_width(self, level: float) -> float:
        """Return −b·ln(1 − level) and half a step."""
        return -self.scale * math.log1p(-probability("level", level)) + self.grid / 2.0

    def _tail(self, sizes: Sequence[float], beyond: float) -> float:
        """Return Σ_i A_i e^(−beyond/b_i), b_i = c_i·b and A_i the product over j ≠ i of b_i²/(b_i² − b_j²).

        By partial fractions of the characteristic functions 1/(1 + b_i²t²). Scales that are equal are taken a little
        apart, upwards.
        """
        scales = [sizes[0] * self.scale]
        for one in sizes[1:]:
            scales.append(max(one * self.scale, 1.01 * scales[-1]))
        total = 0.0
        for one in scales:
            others = math.prod(one * one / (one * one - other * other) for other in scales if other != one)
            total += others * math.exp(-beyond / one)
        return min(max(total, 0.0), 1.0)


@dataclass(frozen=True)
class GeometricNoise(StepNoise):
    """P(k) ∝ e^(−|k|·grid/scale): the Laplace mechanism for whole numbers, such as counts.

    What it is added to is rounded to the grid first. Whole numbers on a grid of 1, such as counts, stay as they are;
    the sensitivity of anything else grows by 2·grid a coordinate.

    Parameters
    ----------
    scale : float
        b of the Laplace distribution, in the statistic's units.
    step : float
        The grid; see ``StepNoise``.

    Examples
    --------
    >>> counts = GeometricNoise(scale=2.0).add([100, 0, 7])
    >>> bool((counts == counts.round()).all())
    True
    """

    norm = "l1"
    normal = False

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of the two-sided geometric."""
        n, denominator = self.ratio.as_integer_ratio()
        return draw_integers(size, bits, "TWO_SIDED_GEOMETRIC", n, denominator.bit_length() - 1)

    def loss(self, sensitivity: float, neighbors: Neighbors | str = Neighbors.REPLACE_ONE) -> GeometricLoss:
        """Return what a statistic costs whose L1 sensitivity, once it is on the grid, is this much.

        On the grid it is a whole number of steps, so anything in between counts as the next one.

        Examples
        --------
        A replaced row moves two counts of a histogram by 1 each, so ε = 1 takes a scale of 2:

        >>> GeometricNoise(scale=2.0).loss(sensitivity=2)
        GeometricLoss(epsilon=1.0, steps=2, neighbors=<Neighbors.REPLACE_ONE: 'replace-one'>)
        """
        steps = math.ceil(Fraction(positive("sensitivity", sensitivity)) / Fraction(self.step))
        epsilon = steps * Fraction(self.step) / Fraction(self.scale)
        return GeometricLoss(upper(epsilon), steps, Neighbors.parse(neighbors))

    @property
    def variance(self) -> float:
        """2q/(1 − q)² steps squared, q = e^(−grid/scale)."""
        rate = self.step / self.scale
        return 2.0 * math.exp(-rate) * (self.step / math.expm1(-rate)) ** 2

    def half_width(self, level: float) -> float:
        """Return the least number of steps k with 2q^(k+1)/(1 + q) ≤ 1 − level, times the step."""
        rate = self.step / self.scale
        tail = (1.0 - probability("level", level)) * (1.0 + math.exp(-rate)) / 2.0
        return self.step * max(0, math.ceil(-math.log(tail) / rate) - 1)
