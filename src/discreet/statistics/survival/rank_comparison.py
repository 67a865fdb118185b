"""The log-rank comparison of noisy life tables, and its parametric bootstrap.

Public numbers only, as in ``life_table``, with any number of releases along leading axes.

In interval k group g has d_gk events among r_gk rows exposed, all groups D_k among R_k. U_g = Σ_k (d_gk − D_k·p_gk)
with p_gk = r_gk/R_k is what the log-rank test sums: observed less expected events. With q_k = D_k/R_k the hazard of all
groups, and to first order in the noise,

    U_g = Σ_h Σ_k ([g = h] − p_gk)·(d_hk − q_k·r_hk),

which is linear in the noise. So the covariance of U is that of the log-rank test, Σ_k D_k·(1 − q_k)·p_gk·([g = h] −
p_hk) (Mantel 1966), and that of the noise. The statistic is X = UᵀΣ⁻¹U, over all groups but the last.

X is near χ² with a degree of freedom for each group but one where numbers are large against the noise. Where they are
not, its distribution under equal hazards is simulated from the released numbers: tables with the estimated numbers at
risk, hazards of all groups and censoring of each are drawn, noise is added, and X is computed in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.statistics.survival.life_table import ENOUGH, LifeTable, make_decreasing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankComparison:
    """The log-rank statistic of life tables of two groups or more."""

    life: LifeTable

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether enough rows of all groups are at risk in an interval, and in all before it, shape (…, K)."""
        spread = np.sqrt(self.life.at_risk.shape[-2]) * self.life.decoder.risk_spread[:-1]
        at_risk = self.life.at_risk[..., :-1].sum(axis=-2)
        return np.logical_and.accumulate(at_risk >= np.maximum(ENOUGH * spread, 2.0), axis=-1)

    @cached_property
    def shares(self) -> Array:
        """p_gk, shape (…, groups, K)."""
        return np.asarray(self.life.exposed / self.life.exposed.sum(axis=-2, keepdims=True))

    @cached_property
    def hazards(self) -> Array:
        """q_k of the decreasing curve of all groups, shape (…, K)."""
        raw = np.clip(self.life.events.sum(axis=-2) / self.life.exposed.sum(axis=-2), -1.0, 1.0)
        kept = np.cumprod(1.0 - np.where(self.known, raw, 0.0), axis=-1)
        first = np.ones((*kept.shape[:-1], 1))
        curve = np.maximum(make_decreasing(np.concatenate([first, kept], axis=-1), 0.0, 1.0), 1e-12)
        return np.clip(1.0 - curve[..., 1:] / curve[..., :-1], 0.0, 1.0)

    @cached_property
    def excess(self) -> Array:
        """U, shape (…, groups)."""
        expected = self.shares * self.life.events.sum(axis=-2, keepdims=True)
        return np.asarray(np.where(self.known[..., None, :], self.life.events - expected, 0.0).sum(axis=-1))

    @cached_property
    def covariance(self) -> Array:
        """That of U under equal hazards, shape (…, groups, groups)."""
        decoder, share = self.life.decoder, self.shares
        groups = share.shape[-2]
        events = self.hazards * (1.0 - self.hazards) * self.life.exposed.sum(axis=-2)
        same = np.eye(groups)
        sampled = same * (share * events[..., None, :]).sum(axis=-1)[..., None]
        sampled = sampled - (share * events[..., None, :]) @ np.swapaxes(share, -1, -2)
        # (…, g, h, K): the weights of group h's events in U_g, and of its rows exposed
        weights = (same[:, :, None] - share[..., :, None, :]) * self.known[..., None, None, :]
        falls = weights * self.hazards[..., None, None, :]
        summed = -np.cumsum(falls, axis=-1)
        by_events = weights + summed
        by_censored = np.concatenate([summed, summed[..., -1:]], axis=-1)
        if not self.life.exact:
            by_censored[..., :-1] += 0.5 * falls
        (events_map, censored_map), (each, rest) = decoder.maps, decoder.shares
        numbers = np.concatenate([by_events @ events_map, by_censored @ censored_map], axis=-1)
        flat = numbers.reshape(*numbers.shape[:-2], -1)
        noise = flat @ np.swapaxes(flat, -1, -2)
        if decoder.total is not None:
            sums = (by_events @ each + by_censored @ rest).sum(axis=-1)
            noise = noise - sums[..., :, None] * sums[..., None, :] / decoder.sum_variance
        return np.asarray(sampled + decoder.noise.variance * noise)

    @cached_property
    def statistic(self) -> Array:
        """X, shape (…,)."""
        excess, covariance = self.excess[..., :-1], self.covariance[..., :-1, :-1]
        scale = np.trace(covariance, axis1=-2, axis2=-1)[..., None, None] + 1e-12
        covariance = covariance + 1e-9 * scale * np.eye(covariance.shape[-1])
        return np.asarray(
            np.maximum((excess * np.linalg.solve(covariance, excess[..., None])[..., 0]).sum(axis=-1), 0.0)
        )

    def simulate(self, repeats: int, rng: np.random.Generator) -> Array:
        """Return the statistic of simulated tables with equal hazards, shape (repeats, …)."""
        life, decoder = self.life, self.life.decoder
        at_risk = life.at_risk
        count = decoder.intervals
        left = np.broadcast_to(np.rint(at_risk[..., 0]), (repeats, *at_risk.shape[:-1])).astype(np.int64)
        before = np.maximum(at_risk[..., :-1], 1e-9)
        exposed = life.hazards * life.exposed / np.maximum(before, 0.5)
        lost = np.clip(1.0 - at_risk[..., 1:] / before - exposed, 0.0, 1.0)
        events, censored = np.zeros((*left.shape, count + 1)), np.zeros((*left.shape, count + 1))
        for k in range(count):
            gone = lost[..., k]
            hazard = self.hazards[..., None, k] * (1.0 if life.exact else 1.0 - 0.5 * gone)
            events[..., k] = rng.binomial(left, np.clip(hazard, 0.0, 1.0))
            left = left - events[..., k].astype(np.int64)
            rest = gone / np.maximum(1.0 - hazard, 1e-9)
            censored[..., k] = rng.binomial(left, np.clip(rest, 0.0, 1.0))
            left = left - censored[..., k].astype(np.int64)
        censored[..., count] = left
        exact: Any = np.stack([events, censored], axis=-2) @ decoder.operator.matrix.T
        released = exact + decoder.noise.simulate(rng, exact.shape)
        return RankComparison(LifeTable.from_released(released, decoder, exact=life.exact)).statistic

    def p_value(self, repeats: int, rng: np.random.Generator) -> Array:
        """Return the Monte Carlo p-value: the share of simulated statistics that are as large, the own one included."""
        return np.asarray((1.0 + (self.simulate(repeats, rng) >= self.statistic).sum(axis=0)) / (repeats + 1.0))
