"""Privacy loss distributions of mixed compositions, through dp-accounting.

Each loss is put on a grid of width h by connecting the dots of its own curve δ(ε): the piecewise linear curve (in e^ε)
through exact points lies above the convex true one, so the grid distribution dominates the mechanism. What rounding
in the Fourier transform may add or take away is charged: a k-fold convolution is the k-th power of a transform, whose
relative error grows with k (up to 1.4e-16·k was seen in δ), so ``ROUNDING`` a fold and a constant beside are added.

The width is chosen from the losses. Connecting dots adds at most about h²/4 to the variance of each of the k
convolved losses, so h = S·min(1/1000, 1/(50√k)) keeps the spread S of the sum right to 1e-4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.guarantees.loss import Array, Loss
from discreet.guarantees.normal import normal_delta, normal_epsilon
from discreet.guarantees.sums import added

__all__ = ["LossDistribution"]

ROUNDING, ROUNDING_A_FOLD = 1e-12, 1e-15
MOST_FOLDS = 100_000  # beyond, the rounding and the time both get too large, and Rényi divergences have to do
LEAST = 1e-100  # of the largest loss: of smaller ones the squares underflow, and with them the grid
FINENESS = 1.0  # the tests double it and see that nothing changes
_MOST = 2**20  # grid points on each side of zero; a wider grid is as valid, only less tight
_TAIL = 1e-14  # the probability beyond which a Gaussian's losses count as a failure, and the convolution's cut


class LossDistribution:
    """The composition of one Gaussian (μ may be 0) and of losses of finite range, on a grid."""

    def __init__(self, mu: float, others: Sequence[tuple[Loss, int]]) -> None:
        spread = math.sqrt(mu * mu + added(count * min(loss.pure, 2.0) * loss.pure for loss, count in others))
        steps = sum(count for _, count in others) + (mu > 0.0)
        reach = max([loss.pure for loss, _ in others] + ([normal_epsilon(mu, _TAIL)] if mu > 0.0 else []))
        finest = spread * min(1.0 / 1000.0, 1.0 / (50.0 * math.sqrt(steps))) / FINENESS
        self.width = max(finest, reach / _MOST)
        parts = [self._on_grid(loss.delta_at, loss.pure, count) for loss, count in others]
        if mu > 0.0:
            parts.append(self._on_grid(lambda e: normal_delta(mu, e), normal_epsilon(mu, _TAIL), 1))
        total = parts[0]
        for part in parts[1:]:
            total = total.compose(part, tail_mass_truncation=_TAIL)
        self._pmf = total
        self._rounding = ROUNDING + ROUNDING_A_FOLD * steps

    @staticmethod
    def applies(mu: float, others: Sequence[tuple[Loss, int]]) -> bool:
        """Return whether the losses have finite ranges, and are few and small enough for a grid."""
        reach = max([loss.pure for loss, _ in others] + [normal_epsilon(mu, _TAIL) if mu > 0.0 else 0.0])
        return LEAST < reach < 500.0 * _MOST and sum(count for _, count in others) <= MOST_FOLDS

    def _on_grid(self, curve: Callable[[Array], Array], reach: float, count: int) -> Any:
        """Return the distribution of ``count`` independent losses with this curve, supported on [−reach, reach]."""
        from dp_accounting.pld import pld_pmf

        end = math.ceil(reach / self.width)
        points: Array = np.arange(-end, end + 1, dtype=np.float64) * self.width
        one = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(self.width, -end, end, curve(points))
        return one.to_dense_pmf().self_compose(count, tail_mass_truncation=_TAIL)

    def delta(self, epsilon: float) -> float:
        """Return δ at ``epsilon``."""
        return max(float(self._pmf.get_delta_for_epsilon(epsilon)), 0.0) + self._rounding

    def epsilon(self, delta: float) -> float:
        """Return about the least ε ≥ 0 at ``delta``, one at which ``delta(ε)`` is seen to be at most that."""
        if delta <= self._rounding:
            return math.inf
        epsilon = float(self._pmf.get_epsilon_for_delta(delta - self._rounding))
        nudge = 1e-12 * max(epsilon, self.width)
        while math.isfinite(epsilon) and self.delta(epsilon) > delta:
            epsilon, nudge = epsilon + nudge, 2.0 * nudge
        return epsilon
