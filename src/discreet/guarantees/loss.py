"""``Loss``, the base class of privacy losses: frozen values with a hockey-stick curve and Rényi divergences.

A mechanism states its loss once, as one of these values. Composition, calibration and the filters of a ledger call its
methods, so a new kind of loss is one new class. (It is also exported, and listed in ``cli.compose_command.KINDS``.)

**What a loss guarantees.** Its mechanism is dominated by a pair of distributions whose hockey-stick curve is at most
``delta_at(ε)`` for every real ε, in both directions (the curve is symmetric: δ(−ε) = 1 − e^(−ε)(1 − δ(ε))). Dominating
pairs compose, adaptively too (Zhu, Dong and Wang 2022, Theorem 10), which is what makes ``compose`` sound.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, positive, probability
from discreet.guarantees.arithmetic import find_least_positive
from discreet.guarantees.guarantee import Neighbors
from discreet.plain import from_plain, register_kind, to_plain

Array = NDArray[np.float64]

MOST = 2**53  # of one loss; up to here a count is exact as a float


def reflect(epsilon: Array, above: Array) -> Array:
    """Extend a curve that is given at |ε| to every ε, by the symmetry δ(−ε) = 1 − e^(−ε)(1 − δ(ε)).

    Every curve of this library has it, since a neighbour relation has no direction. Below 0 it is rounded up.
    """
    size = np.abs(epsilon)
    curve = np.where(epsilon < 0.0, (-np.expm1(-size) + np.exp(-size) * above) * (1.0 + 2.0**-49), above)
    return np.asarray(np.clip(curve, 0.0, 1.0))


class Loss(ABC):
    """The privacy loss of one mechanism. Its subclasses are frozen dataclasses.

    Attributes
    ----------
    neighbors : Neighbors
        The relation under which the loss holds.
    """

    neighbors: Neighbors

    _probabilities: ClassVar[tuple[str, ...]] = ()
    _powers: ClassVar[Mapping[str, int]] = {"epsilon": 1}  # of the noise by which a field is divided
    _kinds: ClassVar[dict[str, type[Loss]]] = {}

    def __init_subclass__(cls) -> None:
        register_kind(Loss._kinds, cls)

    def __post_init__(self) -> None:
        for field in fields(cast(Any, self)):
            value = getattr(self, field.name)
            if field.name == "neighbors":
                value = Neighbors.parse(value)
            elif field.name in self._probabilities:
                value = positive(field.name, value, accepted="a probability in (0, 1)", below=1.0)
            elif field.type == "float":
                value = positive(field.name, value)
            object.__setattr__(self, field.name, value)

    @abstractmethod
    def _curve(self, epsilon: Array) -> Array:
        """Return the curve at ε ≥ 0, elementwise."""

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return the least δ for which the mechanism is (ε, δ)-private, for any real ε, elementwise."""
        e = np.asarray(epsilon, dtype=np.float64)
        return reflect(e, self._curve(np.abs(e)))

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Return a bound on the Rényi divergence of ``order`` > 1, leaving ``failure`` out."""

    @property
    @abstractmethod
    def zcdp(self) -> float:
        """The ρ of zero-concentrated privacy as the DP-EM paper takes it, leaving ``failure`` out."""

    def _double(self) -> Self:
        """Return the loss between data sets two steps apart (``under`` sets the relation)."""
        return self.with_noise(0.5)

    @property
    def pure(self) -> float:
        """The ε of pure privacy, leaving ``failure`` out; ∞ where there is none."""
        return math.inf

    @property
    def span(self) -> float:
        """How far apart the log-likelihood ratios of two outputs can be, leaving ``failure`` out."""
        return 2.0 * self.pure

    @property
    def failure(self) -> float:
        """The probability with which the mechanism may fail to protect at all, the same for every ε."""
        return 0.0

    @property
    def stated_guarantee(self) -> tuple[float, float] | None:
        """The one (ε, δ) that the mechanism states; None if δ has to be chosen first."""
        return None if math.isinf(self.pure) else (self.pure, self.failure)

    @property
    def gaussian(self) -> float | None:
        """The μ where the mechanism is exactly a Gaussian one, else None."""
        return None

    @property
    def dominating(self) -> float | None:
        """The μ of a Gaussian mechanism that is no more private; None if only the one of ``pure`` is known."""
        return self.gaussian

    def with_gaussian(self, mu: float) -> Loss | None:
        """Return one loss for this mechanism composed with a Gaussian one; None if none is as tight."""
        return None

    def epsilon_at(self, delta: float) -> float:
        """Return the least ε ≥ 0 that goes with ``delta``; ∞ where none does.

        >>> from discreet import GaussianLoss
        >>> round(GaussianLoss(1.0).epsilon_at(1e-5), 4)
        4.3772
        """
        delta = probability("delta", delta)
        if float(self.delta_at(0.0)) <= delta:
            return 0.0
        if delta <= self.failure:
            return self.pure if delta == self.failure else math.inf
        return min(self.pure, find_least_positive(lambda e: float(self.delta_at(e)), delta, 1.0))

    def with_noise(self, factor: float) -> Self:
        """Return the loss of the same mechanism with ``factor`` times its noise.

        >>> from discreet import ZcdpLoss
        >>> ZcdpLoss(1.0).with_noise(2.0).rho
        0.25
        """
        factor = positive("factor", factor)
        less = {name: getattr(self, name) / factor**power for name, power in self._powers.items()}
        return cast(Self, replace(cast(Any, self), **less))

    def to_dict(self) -> dict[str, Any]:
        """Return the loss as plain values, for JSON; ``from_dict`` reads it back.

        >>> from discreet import LaplaceLoss
        >>> LaplaceLoss(0.5).to_dict()
        {'kind': 'LaplaceLoss', 'epsilon': 0.5, 'neighbors': 'replace-one'}
        """
        return to_plain(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Loss:
        """Return the loss that ``to_dict`` described."""
        return from_plain(Loss._kinds, values)

    def under(self, neighbors: Neighbors | str) -> Self:
        """Return this loss under another relation; only add-remove to replace-one exists.

        >>> from discreet import GaussianLoss
        >>> GaussianLoss(0.5, "add-remove").under("replace-one")
        GaussianLoss(mu=1.0, neighbors=<Neighbors.REPLACE_ONE: 'replace-one'>)
        """
        if self.neighbors.distance(neighbors) == 1:
            return self
        try:
            return cast(Self, replace(cast(Any, self._double()), neighbors=neighbors))
        except ValueError:
            raise ValueError(
                f"{self!r} guarantees nothing under {str(neighbors)!r}: its ε doubles and its δ becomes (1 + e^ε)δ; "
                "expected a smaller loss"
            ) from None


class EpsilonLoss(Loss):
    """The loss of a mechanism that is ε-private except with probability ``failure``; subclasses may know more."""

    epsilon: float

    @property
    def pure(self) -> float:
        """ε."""
        return self.epsilon

    @property
    def zcdp(self) -> float:
        """ε²/2 (Bun and Steinke 2016, proposition 1.4)."""
        return self.epsilon * self.epsilon / 2.0


Losses: TypeAlias = Loss | Iterable[Loss] | Mapping[Loss, int]


def as_counts(losses: Losses) -> Counter[Loss]:
    """Return how many times each distinct loss occurs in one loss, a list, or a mapping of losses to counts."""
    counts = Counter[Loss]()
    with suppress(TypeError):
        counts = Counter([losses] if isinstance(losses, Loss) else losses)
    if not counts:
        raise ArgumentError("losses", losses, "a loss, or a list of at least one")
    for item, count in counts.items():
        if not isinstance(item, Loss):
            raise ValueError(f"losses: {item!r} is not a loss; expected values such as GaussianLoss(mu=0.1)")
        counts[item] = integer(f"losses[{item!r}]", count, least=1, most=MOST)  # a plain int: NumPy's would wrap
    return counts


def map_losses(counts: Mapping[Loss, int], change: Callable[[Loss], Loss]) -> Counter[Loss]:
    """Return the counts of ``change(loss)`` for each loss; two of them may have become equal."""
    made = Counter[Loss]()
    for loss, count in counts.items():
        made[change(loss)] += count
    return made
