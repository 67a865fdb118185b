"""``Signal``: a private series with the standard deviation of its noise at every step; and the choice of the noise.

**Choice of the noise** (``choose_noise``): Gaussian by the L2 norm, Laplace by the L1 norm, or the smaller one. Pure ε
is more than (ε, δ) asks for, so either keeps the guarantee. One event that moves one step has the same norm in L1 as in
L2, and Laplace noise is then the smaller one at a small δ; a person who moves every step has an L1 norm √T times the L2
norm. Which of the two has the lower variance follows from public numbers. Where a ledger records, Gaussian noise is
taken: pure-ε queries are expensive in a Gaussian budget, and what comes after would pay for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.arguments import ArgumentError, axes, choice, probability
from discreet.door import Answer, Release
from discreet.guarantees import LaplaceLoss, Loss
from discreet.noise import NoiseDistribution
from discreet.queries.question import Query
from discreet.signals.series import Series

NOISES = ("gaussian", "laplace")


def spent_delta(argument: str, noise: str | None, delta: float) -> float:
    """Return the δ that a noise spends: 0 for Laplace noise."""
    if noise is not None and choice(argument, noise, NOISES) == "laplace":
        return 0.0
    if noise == "gaussian" and delta == 0:
        raise ArgumentError("delta", delta, "more than 0 for Gaussian noise", write=f"{argument}='laplace'")
    return delta


def choose_noise(series: Series, query: Query, noise: str | None) -> tuple[Loss, NoiseDistribution]:
    """Return the loss and the noise of one release at the whole guarantee: the requested noise, or the smaller one."""
    losses: list[Loss] = [series.loss()]
    if noise is None and series.guarantee.delta and series.curator.ledger is None:
        losses.append(LaplaceLoss(series.guarantee.epsilon, series.guarantee.neighbors))
    choices, refusals = [], []
    for loss in losses:
        try:
            choices.append((loss, series.noise(query, loss)))
        except ValueError as refusal:  # this noise does not fit, but the other one may
            refusals.append(refusal)
    if not choices:
        raise refusals[0]
    return min(choices, key=lambda pair: pair[1].variance)


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Signal(Answer):
    """A private series.

    Attributes
    ----------
    value : array of shape (T,)
    times : array of shape (T,)
        The times at which the steps begin.
    level : str
        ``"event"``: one event is protected, at any step. ``"user"``: all events of one person are.
    std : array of shape (T,)
        The standard deviation of the noise at each step.
    peak : array of shape (T,) or None
        For Laplace noise: the largest scale among the independent draws whose sum is a step's noise. None where it is
        unknown; intervals are then a little wider.
    """

    times: Array
    level: str
    std: Array
    peak: Array | None = None

    @classmethod
    def from_series(cls, value: Array, series: Series, releases: Sequence[Release], **facts: Any) -> Self:
        """Return the signal that was computed from these releases of a series."""
        facts |= {"times": series.steps.starts, "level": series.level}
        return cls.from_releases(value, series.curator, series.guarantee, releases, **facts)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return an interval for each step of the series that holds it with this probability.

        It accounts for the noise, but not for clipping, for how these people were sampled, or for the effect of
        ``monotone``. For a series that a model has filtered (``kalman``, ``fast``) it also accounts for the movement in
        the model, if the model holds. With Gaussian noise it is exact. With Laplace noise it is a little wide: the
        narrower of two intervals that both hold.

        The first comes from unimodality. A sum of symmetric unimodal draws is symmetric and unimodal, so with its
        standard deviation σ we have P(|noise| > kσ) ≤ 4/(9k²), or 4/(3k²) − 1/3 where that is above 1/6 (Vysochanskij
        and Petunin 1980). The second is Chernoff's bound. With b_i the scales of the draws, σ² = 2Σb_i² and b = max
        b_i, it is 2·e^(−λx)·Π 1/(1 − λ²b_i²) for λ < 1/b, where −ln(1 − λ²b_i²) ≤ −(b_i/b)²·ln(1 − λ²b²), since −ln(1 −
        s) is convex.

        Both still hold where a model's normal movement is among the draws: it is symmetric and unimodal, and a normal
        of variance 2b_i² has e^(λ²b_i²) ≤ 1/(1 − λ²b_i²). There b is unknown, and its upper bound σ/√2 is used.
        """
        outside = 1.0 - probability("level", level)
        if self.release.noise is not None and not self.release.noise.normal:
            half = np.minimum(self._chernoff(outside), _unimodal(outside) * self.std)
        else:
            half = -float(ndtri(outside / 2.0)) * self.std
        return self.value - half, self.value + half

    def _chernoff(self, outside: float) -> Array:
        single = self.std / math.sqrt(2.0)
        peak = np.maximum(single if self.peak is None else self.peak, 1e-300)
        draws = (single / peak) ** 2
        share = np.linspace(0.001, 0.999, 999)[:, None]  # λb
        distinct, places = np.unique(draws, return_inverse=True)
        tails = (math.log(2.0 / outside) - distinct[None, :] * np.log1p(-(share**2))) / share
        return np.asarray(peak * tails.min(axis=0)[places])

    def table(self, level: float = 0.95) -> dict[str, NDArray[Any]]:
        """Return columns of times, values and ends of intervals, as ``pandas.DataFrame`` accepts them.

        Where the series is not about all rows, there is a column ``which_rows``: "at most 4 rows of each patient".
        """
        low, high = self.interval(level)
        about = {} if self.which_rows is None else {"which_rows": np.full(len(self.value), self.which_rows)}
        return {"times": self.times, "value": self.value, "low": low, "high": high, **about}

    def plot(self, ax: Any = None, truth: Any = None, level: float = 0.95) -> Any:
        """Draw the series with its intervals, and return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
        truth : array of shape (T,), optional
            Another series to draw beside it, one that is public or that the owner may see.
        level : float
            The level of the intervals.
        """
        other = None if truth is None else np.asarray(truth)
        if other is not None and (other.dtype.kind not in "biuf" or other.shape != self.times.shape):
            raise ArgumentError("truth", truth, f"{len(self.times)} numbers, one a step")
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        axes(ax)
        low, high = self.interval(level)
        ax.fill_between(self.times, low, high, step="post", alpha=0.25, linewidth=0, label=f"{level:.0%} interval")
        ax.step(self.times, self.value, where="post", label=f"private, {self.level}-level")
        if truth is not None:
            ax.step(self.times, other, where="post", color="black", linewidth=0.8, label="truth")
        ax.set_xlabel("time")
        if self.which_rows is not None:
            ax.set_title(f"{self._from} {self.which_rows}".replace("$", r"\$"), fontsize="medium")
        ax.legend()
        return ax

    def _shown(self) -> str:
        steps = "step" if len(self.value) == 1 else "steps"
        return f"Signal of {len(self.value)} {steps}, {self.level}-level"


def _unimodal(outside: float) -> float:
    """Return k such that a symmetric unimodal variable exceeds k standard deviations with at most this probability."""
    return math.sqrt(4.0 / (9.0 * outside)) if outside <= 1.0 / 6.0 else math.sqrt(4.0 / (3.0 * outside + 1.0))
