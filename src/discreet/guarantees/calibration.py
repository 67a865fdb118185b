"""``compose``: the cost of several mechanisms together, by a named method; ``calibrate``: how much noise they need."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.arguments import ArgumentError, choice
from discreet.guarantees.arithmetic import least_on_half_line
from discreet.guarantees.classical import Advanced, IntegerMoments, Linear, Moments, Zcdp
from discreet.guarantees.composition import Composition, Exact
from discreet.guarantees.guarantee import Guarantee, check_promise, common
from discreet.guarantees.loss import Loss, Losses, as_counts, changed
from discreet.guarantees.normal import normal_delta, together

__all__ = ["METHODS", "Calibration", "calibrate", "compose"]

METHODS: dict[str, type[Composition]] = {cls.method: cls for cls in (Linear, Advanced, Zcdp, Moments, Exact)}


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
    if integer and cls is not Moments:
        raise ArgumentError("integer", integer, f"method='moments', got method={name!r}")
    return IntegerMoments if integer else cls


@dataclass(frozen=True)
class Calibration:
    """The answer of ``calibrate``.

    Attributes
    ----------
    noise : float
        By what the noise of every mechanism is multiplied. For ``GaussianLoss(1.0)`` it is σ/Δ.
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
    check_promise(guarantee, common(loss.neighbors for loss in counts))

    def at(noise: float) -> Counter[Loss]:
        return changed(counts, lambda loss: loss.with_noise(noise))

    start, relative = 1.0, 1e-13
    if cls is Exact and guarantee.delta and all(loss.gaussian is not None for loss in counts):

        def usage(noise: float) -> float:  # that of Exact, which is one Gaussian here
            mu = together((loss.gaussian or 0.0, count) for loss, count in at(noise).items())
            return min(1.0, float(normal_delta(mu, guarantee.epsilon))) / guarantee.delta
    else:

        def usage(noise: float) -> float:
            return cls(at(noise)).usage(guarantee)

        first = cls(counts)
        if not guarantee.delta:  # pure losses add up, and more noise divides each of them; others have no pure ε
            start = max(first.usage(guarantee), 1e-300)
        elif not first.quick:  # never above the moments accountant, which is quick to ask
            moments = least_on_half_line(lambda noise: Moments(at(noise)).usage(guarantee), 1.0, 1.0)
            start, relative = (moments if math.isfinite(moments) else 1.0), 1e-9
    noise = least_on_half_line(usage, 1.0, start, relative) if math.isfinite(start) else math.inf
    if math.isinf(noise):
        raise ValueError(
            f"guarantee={guarantee}: no noise is enough with method={method!r}; expected a larger delta, "
            "or mechanisms whose own failure probabilities sum to less than it"
        )
    ordered = losses if isinstance(losses, Sequence) else counts.elements()
    return Calibration(noise, tuple(loss.with_noise(noise) for loss in ordered), guarantee, method)
