"""The base classes of noise on a grid: rounds a statistic to the grid (``steps``) and adds noise in whole steps.

``fit_grid`` charges what the grid costs. Rows are not rounded, only the sums over them. Noise is rounded where it is
drawn (``samplers``, ``euclidean``).

A release carries its ``NoiseDistribution``, so that its reader knows the distribution of its error.
Noise is an integer number of grid steps. All kinds but ``EuclideanNoise`` are drawn without a float. On the grid

    released value = grid · (round(value/grid) + integer noise).

There are two families: a continuous distribution that is rounded (``RoundedNoise``), and a distribution on whole
numbers (``StepNoise``). ``distributions`` has the noise of both families, ``euclidean`` spherical noise, and ``draws``
the other kinds of ``Draw``.

**What the grid costs.** Rounding moves each coordinate by at most half a step. The division value/grid moves it by at
most half a step more as long as it stays within 2⁵² steps. So the distance between the statistics of two neighbours
grows by at most 2·grid a coordinate: 2·grid·√D in L2 and 2·grid·D in L1 over D coordinates, to be added to the
sensitivity. At a grid of σ/2⁴⁰ that is 6e-9 of σ for ten million coordinates.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import ArgumentError, as_numbers, integer, positive, probability
from discreet.guarantees import Loss, Neighbors
from discreet.noise.bits import Bits
from discreet.noise.integer_draws import Array, Integers, Size
from discreet.plain import from_plain, register_kind, to_plain

LARGEST = 2.0**52  # steps that a statistic may be from zero: so far floats hold every integer and every half
FINEST = 40  # binary digits of a standard deviation that the grid has, unless the statistic is too large for it


class Draw(ABC):
    """A kind of draw. ``exact`` says whether draws have their distribution exactly, or only up to float error."""

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
        ``"l1"`` or ``"l2"``: the norm of the sensitivity.
    normal : bool
        Whether it is Gaussian. Then every linear combination of independent draws is Gaussian too.
    priced : type of Loss
        The class of the loss, where the loss is a function of sensitivity/scale alone.
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
        """Return the loss of a statistic whose sensitivity on the grid is ``sensitivity``: Δ/scale, rounded up."""
        ratio = Fraction(positive("sensitivity", sensitivity)) / Fraction(self.scale)
        result: Loss = self.priced(round_up(ratio), Neighbors.parse(neighbors))
        return result

    @property
    def independent(self) -> bool:
        """Whether coordinates are independent: both e^(−‖z‖₂²/2) and e^(−‖z‖₁) are products."""
        return self.normal or self.norm == "l1"

    def distance(self, shift: Any) -> Any:
        """Return ‖shift‖/scale over the last axis: the μ or the ε for two statistics at that distance.

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
        """Return the smallest scale that ``loss`` allows; ∞ if it is not the loss of such noise."""
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
        """Return draws for simulations: floats of the continuous distribution, coordinates independent."""
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


def round_up(number: Fraction) -> float:
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
