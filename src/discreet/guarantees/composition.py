"""Composition, exact and by other methods: what several mechanisms cost; and calibration: the noise for a guarantee.

``compose`` gives the cost by a named method, ``calibrate`` the noise. A ``Composition`` is a function of a fixed list
of losses, whose mechanisms may be chosen adaptively as long as the losses themselves are fixed beforehand. (A ledger,
whose losses are chosen adaptively, needs a filter.) Each method is one class.

**The tightest.** ``Exact`` has six routes, each of them valid by itself; the answer is the best of those that apply.

- ``gaussian``: all mechanisms are Gaussian. Their composition is one Gaussian with μ² = Σμ_i², so nothing is lost but
  the last digits, which are rounded up, and the answer takes microseconds.
- ``pld``: every loss has a curve of its own (all but zCDP). All Gaussians are one; each other loss becomes a
  privacy loss distribution on a common grid, by connecting the dots of its curve, which never understates it
  (Doroshenko et al. 2022), and they are convolved.
- ``renyi``: divergences of every order add up. The only route once a zCDP loss is there; the better one for many
  bounded-range losses, for a δ below the tails that the convolution leaves out, and for a list too long for it.
- ``pure``: Σε_i with the mechanisms' own failures; the only route at δ = 0.
- ``dominated``: a loss that a Gaussian is known to dominate (``Loss.dominating``) is taken for that one.
- ``one``: a loss that has a closed form for itself and the Gaussians beside it (``Loss.with_gaussian``) has it.

A mechanism that may fail with probability δ_i is the mixture of a failure and of one that does not, so failures
compose to 1 − Π(1 − δ_i) beside everything else.

**Those of the DP-EM paper**: linear, advanced, zCDP and the moments accountant. They are kept to compare with and to
reproduce the papers. All are valid; ``exact`` is at least as good as each, but for corners in which it has to fall back
on Rényi divergences (a δ below 1e-11, a loss known by its zCDP alone), where linear composition of very few mechanisms
can be better.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import ClassVar, Self

from discreet.arguments import ArgumentError, choice, nonnegative, probability
from discreet.guarantees.arithmetic import add_up, find_least, find_least_positive
from discreet.guarantees.guarantee import Guarantee, Neighbors, check_guarantee, common_relation
from discreet.guarantees.loss import Loss, Losses, as_counts, map_losses
from discreet.guarantees.normal import GaussianLoss, compose_mus, normal_delta, normal_epsilon
from discreet.guarantees.pld import LossDistribution
from discreet.guarantees.renyi import best_order, composed_divergence, renyi_delta, renyi_epsilon


class Composition(ABC):
    """The cost of a list of losses together, by one method.

    Attributes
    ----------
    counts : mapping of Loss to int
        How many times each distinct loss occurs.
    neighbors : Neighbors
        The one relation that all of them hold under.
    """

    method: str

    def __init__(self, losses: Losses) -> None:
        self.counts: Mapping[Loss, int] = MappingProxyType(as_counts(losses))
        self.neighbors = common_relation(loss.neighbors for loss in self.counts)

    def epsilon(self, delta: float) -> float:
        """Return the least ε that this method guarantees at ``delta``; ∞ where there is none."""
        return self._epsilon(probability("delta", delta))

    def delta(self, epsilon: float) -> float:
        """Return the least δ that this method guarantees at ``epsilon`` ≥ 0; 1 where there is none."""
        return min(1.0, self._delta(nonnegative("epsilon", epsilon)))

    def guarantee(self, delta: float) -> Guarantee:
        """Return the whole guarantee at ``delta``."""
        epsilon = self.epsilon(delta)
        if math.isinf(epsilon):
            raise ArgumentError("delta", delta, f"a larger one; {self.method} composition guarantees nothing at it")
        return Guarantee(max(epsilon, 1e-12), delta, self.neighbors)  # its ε is above 0

    def under(self, neighbors: Neighbors | str) -> Self:
        """Return what the same mechanisms cost under another relation; only add-remove to replace-one exists."""
        return type(self)(map_losses(self.counts, lambda loss: loss.under(neighbors)))

    def usage(self, guarantee: Guarantee) -> float:
        """Return a number that is at most 1 exactly where ``guarantee`` is kept, and falls as noise grows.

        It is δ over the δ allowed, or ε over the ε allowed, whichever the method has in closed form.
        """
        check_guarantee(guarantee, self.neighbors)
        if guarantee.delta > 0.0:
            return self.delta(guarantee.epsilon) / guarantee.delta
        return self.epsilon(0.0) / guarantee.epsilon

    @abstractmethod
    def _epsilon(self, delta: float) -> float: ...

    @abstractmethod
    def _delta(self, epsilon: float) -> float: ...

    def __repr__(self) -> str:
        parts = ", ".join(f"{count} × {loss!r}" for loss, count in self.counts.items())
        return f"<{self.method} composition of {parts}>"


class Exact(Composition):
    """The tightest known composition; see the module."""

    method = "exact"

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self.mu = compose_mus(
            (loss.gaussian, count) for loss, count in self.counts.items() if loss.gaussian is not None
        )
        self._others = [(loss, count) for loss, count in self.counts.items() if loss.gaussian is None]
        alone = [count for _, count in self._others] == [1]
        self._one = self._others[0][0].with_gaussian(self.mu) if alone else None  # one loss for all, where there is one
        log_success = math.fsum(count * math.log1p(-loss.failure) for loss, count in self._others)
        self._failure = -math.expm1(log_success)

    @property
    def closed_form(self) -> bool:
        """Whether an answer takes microseconds, so that a search may ask for the last digit."""
        return not self._others or self._one is not None

    def _epsilon(self, delta: float) -> float:
        if not self._others:
            return normal_epsilon(self.mu, delta)
        if self._one is not None:
            return self._one.epsilon_at(delta)
        if delta < self._failure:
            return math.inf
        answers = [self._pure]
        if self._dominated is not None:
            answers.append(self._dominated.epsilon(delta))
        tail = (delta - self._failure) / max(1.0 - self._failure, 1e-300)
        if tail > 0.0:
            answers.append(renyi_epsilon(self._divergence, tail))
            if self._distribution:
                answers.append(self._distribution.epsilon(delta))
        return min(answers)

    def _delta(self, epsilon: float) -> float:
        if not self._others:
            return float(normal_delta(self.mu, epsilon))
        if self._one is not None:
            return float(self._one.delta_at(epsilon))
        if epsilon >= self._pure:
            return self._failure
        answers = [self._failure + (1.0 - self._failure) * renyi_delta(self._divergence, epsilon)]
        if self._distribution:
            answers.append(max(self._distribution.delta(epsilon), self._failure))
        if self._dominated is not None:
            answers.append(self._dominated.delta(epsilon))
        return min(answers)

    @cached_property
    def _dominated(self) -> Exact | None:
        """The composition with a Gaussian in place of each loss that one is known to dominate."""
        if all(loss.dominating is None for loss, _ in self._others):
            return None

        def dominating(loss: Loss) -> Loss:
            return loss if loss.dominating is None else GaussianLoss(loss.dominating, loss.neighbors)

        return Exact(map_losses(self.counts, dominating))

    @cached_property
    def _pure(self) -> float:
        return math.inf if self.mu else add_up(loss.pure * count for loss, count in self._others)

    def _divergence(self, order: float) -> float:
        return composed_divergence(self.mu, self._others, order)

    @cached_property
    def _distribution(self) -> LossDistribution | None:
        return LossDistribution(self.mu, self._others) if LossDistribution.applies(self.mu, self._others) else None


class _Stepwise(Composition):
    """Linear and advanced composition: each mechanism is first priced at an (ε_i, δ_i) of its own.

    A mechanism that states one keeps it. The others, whose loss is a whole curve, share equally what is left of δ.
    """

    own_share: ClassVar[float]  # of what is left of δ, the part that the composition theorem itself takes

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self._fixed = [(*loss.stated_guarantee, count) for loss, count in self.counts.items() if loss.stated_guarantee]
        self._free = [(loss, count) for loss, count in self.counts.items() if not loss.stated_guarantee]

    def _epsilon(self, delta: float) -> float:
        spent = add_up(step_delta * count for _, step_delta, count in self._fixed)
        left = delta - spent
        if left < -4e-16 * spent or (self._free and left <= 0.0):
            return math.inf
        own = max(left, 0.0) * (self.own_share if self._free else 1.0)
        steps = [(epsilon, count) for epsilon, _, count in self._fixed]
        if self._free:
            share = (left - own) / sum(count for _, count in self._free)
            steps += [(loss.epsilon_at(share), count) for loss, count in self._free]
        return self._total(steps, own)

    @abstractmethod
    def _total(self, steps: list[tuple[float, int]], own: float) -> float:
        """Return the ε of all steps, given as (ε_i, count), with ``own`` of δ for the theorem itself."""

    def usage(self, guarantee: Guarantee) -> float:
        """Return ε over the ε allowed, the direction in which these methods have a closed form."""
        check_guarantee(guarantee, self.neighbors)
        return self.epsilon(guarantee.delta) / guarantee.epsilon

    def _delta(self, epsilon: float) -> float:
        if self._epsilon(0.0) <= epsilon:
            return 0.0
        log_delta = find_least(lambda log: self._epsilon(math.exp(log)), epsilon, -690.0, -1e-9)
        return math.exp(log_delta) if self._epsilon(math.exp(log_delta)) <= epsilon else 1.0


class Linear(_Stepwise):
    """Σε_i with Σδ_i (Dwork and Roth 2014, theorem 3.16)."""

    method = "linear"
    own_share = 0.0

    def _total(self, steps: list[tuple[float, int]], own: float) -> float:
        return add_up(epsilon * count for epsilon, count in steps)


class Advanced(_Stepwise):
    """Σε_i(e^ε_i − 1) + √(2 ln(1/δ')Σε_i²) with δ' + Σδ_i (Dwork and Roth 2014, theorem 3.20, for unequal steps).

    The proof carries over to unequal ε_i: the losses' means are at most ε_i(e^ε_i − 1) and Azuma's inequality takes
    steps of unequal length. Half of what is left of δ goes to δ' where other mechanisms need a share as well.
    """

    method = "advanced"
    own_share = 0.5

    def _total(self, steps: list[tuple[float, int]], own: float) -> float:
        if own <= 0.0 or any(epsilon > 700.0 for epsilon, _ in steps):
            return math.inf
        mean = add_up(count * epsilon * math.expm1(epsilon) for epsilon, count in steps)
        square = add_up(count * epsilon * epsilon for epsilon, count in steps)
        return mean + math.sqrt(2.0 * math.log(1.0 / own) * square)


class _Concentrated(Composition):
    """Composition by adding up divergences; the mechanisms' own failure probabilities are subtracted from δ."""

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self._failure = add_up(loss.failure * count for loss, count in self.counts.items())

    def _epsilon(self, delta: float) -> float:
        return self._tail_epsilon(delta - self._failure) if delta > self._failure else math.inf

    def _delta(self, epsilon: float) -> float:
        return self._failure + self._tail_delta(epsilon)

    @abstractmethod
    def _tail_epsilon(self, delta: float) -> float: ...

    @abstractmethod
    def _tail_delta(self, epsilon: float) -> float: ...


class Zcdp(_Concentrated):
    """ε = ρ + 2√(ρ ln(1/δ)) with ρ = Σρ_i (Bun and Steinke 2016; the conversion in the DP-EM paper)."""

    method = "zcdp"

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self.rho = add_up(loss.zcdp * count for loss, count in self.counts.items())

    def _tail_epsilon(self, delta: float) -> float:
        return self.rho + 2.0 * math.sqrt(self.rho * math.log(1.0 / delta))

    def _tail_delta(self, epsilon: float) -> float:
        if epsilon <= self.rho:
            return 1.0
        above = (epsilon - self.rho) / max(2.0 * math.sqrt(self.rho), 5e-324)
        return max(math.exp(-above * above), 5e-324)


class MomentsAccountant(_Concentrated):
    """The moments accountant: δ = min_λ exp(Σα_i(λ) − λε), the λ-th log-moment being λ times the divergence of λ+1.

    λ is any positive number.
    """

    method = "moments"

    def _moment(self, order: float) -> float:
        """Return Σα_i(λ) at λ = order − 1."""
        return (order - 1.0) * add_up(count * loss.renyi(order) for loss, count in self.counts.items())

    def _tail_epsilon(self, delta: float) -> float:
        bits = math.log(1.0 / delta)
        return max(0.0, self._search(lambda order: (self._moment(order) + bits) / (order - 1.0)))

    def _tail_delta(self, epsilon: float) -> float:
        exponent = self._search(lambda order: self._moment(order) - (order - 1.0) * epsilon)
        return max(math.exp(min(0.0, exponent)), 5e-324)

    _search = staticmethod(lambda objective: best_order(objective)[1])


class IntegerMomentsAccountant(MomentsAccountant):
    """The moments accountant as the paper searched it: λ in 1, 2, …, 100 only."""

    method = "moments (integer)"

    _search = staticmethod(lambda objective: min(objective(1.0 + power) for power in range(1, 101)))


METHODS: dict[str, type[Composition]] = {cls.method: cls for cls in (Linear, Advanced, Zcdp, MomentsAccountant, Exact)}


def compose(losses: Losses, method: str = "exact", *, integer: bool = False) -> Composition:
    """Return what ``losses`` cost together.

    Parameters
    ----------
    losses : Loss, iterable of Loss, or mapping of Loss to int
        All under one neighbour relation. Forty equal steps are ``[loss] * 40`` or ``{loss: 40}``.
    method : str
        ``"exact"`` (default): the tightest known, by closed form for Gaussians, privacy loss distribution for
        mixtures, Rényi divergence where it must be. ``"linear"``, ``"advanced"``, ``"zcdp"``, ``"moments"``: those
        of the DP-EM paper (Park, Foulds, Chaudhuri and Welling 2017), kept to compare. Advanced composition can
        come out above linear: it pays off only for many mechanisms of small ε.
    integer : bool
        With ``"moments"``: search λ over 1, …, 100 only, as the paper did, instead of all positive numbers.

    Returns
    -------
    Composition
        With ``.epsilon(delta)``, ``.delta(epsilon)`` and ``.guarantee(delta)``.

    Examples
    --------
    >>> from discreet import GaussianLoss
    >>> steps = [GaussianLoss(0.1)] * 40
    >>> {method: round(compose(steps, method).epsilon(1e-6), 3) for method in ("exact", "zcdp")}
    {'exact': 2.922, 'zcdp': 3.525}
    """
    return _method(method, integer)(losses)


def _method(name: str, integer: bool) -> type[Composition]:
    cls = METHODS[choice("method", name, METHODS)]
    if integer is not False and (integer is not True or cls is not MomentsAccountant):
        raise ArgumentError("integer", integer, f"False, or True with method='moments', got method={name!r}")
    return IntegerMomentsAccountant if integer else cls


@dataclass(frozen=True)
class Calibration:
    """The result of ``calibrate``.

    Attributes
    ----------
    noise : float
        The factor by which the noise of every mechanism is multiplied. For ``GaussianLoss(1.0)`` it is σ/Δ.
    losses : tuple of Loss
        The losses at that noise, in the order that they were given.
    guarantee : Guarantee
        What they keep together.
    method : str
    """

    noise: float
    losses: tuple[Loss, ...] = field(repr=False)
    guarantee: Guarantee
    method: str


def calibrate(guarantee: Guarantee, losses: Losses, method: str = "exact", *, integer: bool = False) -> Calibration:
    """Return the smallest noise with which ``losses`` together keep ``guarantee``.

    The losses say how the budget is shared: their noise is scaled by one common factor. Four Gaussians of which the
    first gets half the noise of the others are ``[GaussianLoss(2.0)] + [GaussianLoss(1.0)] * 3``.

    Parameters
    ----------
    guarantee : Guarantee
    losses : Loss, iterable of Loss, or mapping of Loss to int
        Under the guarantee's neighbour relation.
    method, integer
        As in ``compose``.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> from discreet import GaussianLoss, Guarantee
    >>> round(calibrate(Guarantee(1.0, 1e-5), GaussianLoss(1.0)).noise, 4)
    3.7306
    """
    counts, cls = as_counts(losses), _method(method, integer)
    check_guarantee(guarantee, common_relation(loss.neighbors for loss in counts))
    ours = all(type(loss).__module__.startswith("discreet.") for loss in counts)  # others may be equal and differ
    noise = (_least_noise if ours else _least_noise.__wrapped__)(guarantee, tuple(counts.items()), cls)
    if math.isinf(noise):
        raise ValueError(
            f"guarantee={guarantee}: no noise is enough with method={method!r}; expected a larger delta, "
            "or mechanisms whose own failure probabilities sum to less than it"
        )
    ordered = losses if isinstance(losses, Sequence) else counts.elements()
    return Calibration(noise, tuple(loss.with_noise(noise) for loss in ordered), guarantee, method)


@lru_cache(maxsize=1024)  # many fits ask for the same
def _least_noise(guarantee: Guarantee, losses: tuple[tuple[Loss, int], ...], cls: type[Composition]) -> float:
    """Return the least factor of the noise with which ``losses``, each with its count, keep ``guarantee``, or ∞."""
    counts = dict(losses)

    def search(kind: type[Composition], start: float, relative: float = 1e-13) -> float:
        def usage(noise: float) -> float:
            return kind(map_losses(counts, lambda loss: loss.with_noise(noise))).usage(guarantee)

        return find_least_positive(usage, 1.0, start, relative)

    first, start, relative = cls(counts), 1.0, 1e-13
    if not guarantee.delta:  # pure losses add up, and more noise divides each of them; others have no pure ε
        start = max(first.usage(guarantee), 1e-300)
    elif isinstance(first, Exact) and not first.closed_form:  # never above the moments accountant, which is quick
        moments = search(MomentsAccountant, 1.0)
        start, relative = (moments if math.isfinite(moments) else 1.0), 1e-9
    return search(cls, start, relative) if math.isfinite(start) else math.inf
