"""Smooth sensitivity: noise that fits how far a statistic can move near these rows, and not near the worst ones.

*Proof.* For any f with a β-smooth upper bound S on its local sensitivity, f + (S/α)·Z keeps (ε, δ) with the α and β of
``admissible``. What is done to S here keeps it one: moving f into an interval of width W moves no two values apart;
min(S, W) still bounds the local sensitivity and, like max(S, floor), is β-smooth where S is, since a constant is. The
result is moved into the interval again, which is post-processing.

*The floor.* With M the largest size of a number in the interval it is 2⁻⁴⁰·M·max(1, α), and is applied last, so that
the scale of the noise, S/α, is never below 2⁻⁴⁰·M. Floats up to M are at most 2⁻⁵²·M apart: the scale is at least 2¹²
of their steps, wherever the interval lies and however large ε is. (An interval that is narrow for where it lies is
better moved to zero: of a number near 1e9 that varies by 1, release what it is above 1e9.) A computed S that
underflows, so that it is not smooth any more, is mended by it too.

The noise scale depends on the rows: it is never released, nor anything that follows from it. Draws are floats, so
a release is marked idealised.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from discreet.arguments import probability, shown
from discreet.door import Answer, Declarations, open_rows
from discreet.door.part import Part
from discreet.door.passages import Plan, Setting
from discreet.guarantees import ApproximateLoss, Guarantee, Loss, PureLoss
from discreet.mechanisms.admissible import AdmissibleNoise, StudentNoise
from discreet.mechanisms.admissible_delta import LaplaceSlide
from discreet.mechanisms.own import LARGEST, Array, Own, OwnPassage, WholeRows
from discreet.noise import Bits
from discreet.records import Box

__all__ = ["Smooth", "noise_for", "share_for", "smooth_sensitivity"]

FLOOR = 2.0**-40  # the least scale of the noise, in units of the largest number there may be


def smooth_sensitivity(
    f: Callable[[Array], Any],
    s: Callable[[Array, float], Any],
    data: Any,
    *,
    output: Any,
    epsilon: float,
    delta: float = 0.0,
    noise: AdmissibleNoise | None = None,
    share: float = 0.5,
    default: Any = 0.0,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Answer:
    """Return a statistic of one's own with noise of a smooth bound on its local sensitivity.

    What rests on trust: that ``s`` is such a bound, wherever it is asked, for f as it is computed; and that neither
    function writes, prints or sends what it sees.

    Parameters
    ----------
    f : callable
        From rows to one number. Where it fails, ``default`` takes its place, which ``s`` must allow for.
    s : callable
        From rows and β to S ≥ 0: at least as much as f can move when one row changes, and at most e^β times what it is
        for a neighbour. A row is replaced by another, or comes or goes, as the relation says; under replace-one it
        may come or go too where rows may be dropped. It must not fail: where it does, S is the width of ``output``, and
        if it does so for one of two neighbours only, that is a step of more than e^β and the promise is broken.
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
        With one row for each unit.
    output : (low, high)
        What f, and then the result, is moved into; public.
    epsilon, delta : float
    noise : AdmissibleNoise
        ``StudentNoise(3)`` at δ = 0, ``LaplaceSlide()`` above it, unless another is given.
    share : float
        Of ε for the slide, between 0 and 1.
    default : float
        What stands for failures of f.
    bits : SeededBits
        For a test.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    Answer
        ``value`` is a float within ``output``.

    Examples
    --------
    The largest of 1000 numbers in [0, 1]. After k replaced rows one more moves it by at most 1 − x_(n−k−1):

    >>> import numpy as np
    >>> def bound(rows, beta):
    ...     x = np.concatenate([[1.0], np.sort(rows[:, 0])[::-1], [0.0]])
    ...     k = np.arange(len(x) - 2)
    ...     return np.max(np.exp(-beta * k) * (1.0 - x[2:]))
    >>> rows = np.random.default_rng(0).uniform(0, 1, 1000)
    >>> found = smooth_sensitivity(lambda rows: rows.max(), bound, rows, bounds=(0, 1), output=(0, 1), epsilon=8.0)
    >>> 0.0 <= found.value <= 1.0
    True
    """
    curator = open_rows(data, **declared)
    promise = Guarantee(epsilon, delta, curator.neighbors)
    if curator.setting.max_rows != 1:
        raise ValueError(
            f"max_rows={curator.setting.max_rows}: expected 1, since s bounds what one row can do; write "
            "sample_and_aggregate"
        )
    own = Own.one(f, output, default).rehearse(curator)
    width = width_of(own.box)
    if width > LARGEST:
        raise ValueError(
            f"output={shown(output)}: expected numbers at most {LARGEST:g} apart; write for example (0, 100)"
        )
    if not callable(s):
        raise ValueError(f"s={shown(s)}: expected a function of rows and β; write for example lambda rows, beta: 1.0")
    way = SmoothOwn(noise_for(noise, promise), share_for(share), own.box, own, s)
    Own.of(lambda rows: s(rows, 1.0), (0.0, width), None, width).rehearse(curator, "s")
    release = curator.measure(Smoothed.of(curator, way), promise, bits=bits)
    return Answer.of(float(release["value"][0]), curator, promise, [release])


def width_of(box: Box) -> float:
    """Return the width of a box of one column."""
    return float(np.asarray(box.high)[0] - np.asarray(box.low)[0])


def noise_for(noise: AdmissibleNoise | None, promise: Guarantee) -> AdmissibleNoise:
    """Return the noise that was asked for, or the usual one; an error where it needs a δ and there is none."""
    chosen = (LaplaceSlide() if promise.delta else StudentNoise()) if noise is None else noise
    if not isinstance(chosen, AdmissibleNoise) or not (chosen.pure or promise.delta):
        raise ValueError(
            f"noise={shown(noise)}: expected StudentNoise or CauchyNoise, or with delta > 0 LaplaceSlide or "
            "GaussianSlide"
        )
    return chosen


def share_for(share: float) -> float:
    """Return a share of ε, strictly between 0 and 1."""
    if probability("share", share, accepted="a number in (0, 1)") == 0.0:
        raise ValueError(f"share={shown(share)}: expected a number in (0, 1)")
    return float(share)


@dataclass(frozen=True, eq=False)
class Smooth(OwnPassage):
    """f + (S/α)·Z, moved into a box; see the module for the proof."""

    noise: AdmissibleNoise
    share: float
    box: Box

    @abstractmethod
    def at(self, values: Array, beta: float) -> tuple[float, float]:
        """Return f and S for rows; both private."""

    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return a pure loss, or (ε, δ) itself where the noise needs a δ."""
        if self.noise.pure:
            return PureLoss(guarantee.epsilon, guarantee.neighbors)
        return ApproximateLoss(guarantee.epsilon, guarantee.delta, guarantee.neighbors)

    def planned(self, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``PureLoss``, or an ``ApproximateLoss``."""
        if not isinstance(loss, PureLoss if self.noise.pure else ApproximateLoss):
            raise ValueError(
                f"loss={shown(loss)}: expected a PureLoss, or an ApproximateLoss where the noise needs a δ"
            )
        if setting.max_rows != 1:
            raise ValueError(f"max_rows={setting.max_rows}: expected 1")
        alpha, beta = self.noise.rates(loss.pure, loss.failure, self.share)
        if not (alpha > 0.0 and beta > 0.0):
            raise ValueError(f"loss={shown(loss)}: expected a larger ε; at this one the noise overflows")

        def draw(values: Array, bits: Bits | None) -> Array:
            value, bound = self.bounded(values, alpha, beta)
            with np.errstate(all="ignore"):
                noisy = value + bound / alpha * self.noise.sample(1, bits)
            return np.asarray(self.box.clip(noisy))

        return Plan(self.kind, loss, None, False, {"value": Part((1,))}, draw)

    def bounded(self, values: Array, alpha: float, beta: float) -> tuple[float, float]:
        """Return f in the box, and S, at most the box's width and at least the floor."""
        value, bound = self.at(values, beta)
        largest = float(max(np.abs(np.asarray(self.box.low)).max(), np.abs(np.asarray(self.box.high)).max()))
        floor = FLOOR * largest * max(1.0, alpha)
        return float(self.box.clip(np.array([value]))[0]), max(min(bound, width_of(self.box)), floor)


@dataclass(frozen=True, eq=False)
class SmoothOwn(Smooth):
    """A user's f and s."""

    own: Own
    s: Callable[[Array, float], Any]

    def at(self, values: Array, beta: float) -> tuple[float, float]:
        """Return f, and s or the width."""
        width = width_of(self.box)
        bound = Own.of(lambda rows: self.s(rows, beta), (0.0, width), None, width)
        return float(self.own(values.copy())[0]), float(bound(values)[0])


class Smoothed(WholeRows):
    """A user's statistic with smooth noise."""

    name = "smooth sensitivity"
