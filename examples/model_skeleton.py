"""A model to copy: the mean of the rows, as that of one Gaussian of known width. It is the simplest complete model.

**Bound.** A row y of the unit ball contributes c(y) = (a, b·y) with a² = b² = ½, so ‖c(y)‖² = ½ + ½‖y‖² ≤ 1. The counts
of two rows cancel, so ‖c(y) − c(y')‖ = b‖y − y'‖ ≤ 2b = √2.

To make it yours, change in this order: what a row contributes (clip it, so that a bound can be proved), ``parts``,
``bound`` with its proof, ``maximize``, and ``initialize``. Then run it: faults that the checks find are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

import discreet as dp
from discreet.models.noisy_sums import clip_to_ball, noise_std
from discreet.records import Block

A = B = math.sqrt(0.5)


@dataclass(frozen=True)
class Mean(dp.Model[np.ndarray]):
    """One Gaussian of known width. Its parameters are its mean, in the coordinates of the unit ball."""

    name: str = "mean"  # what the ledger calls it; beside it the public choices, such as a number of components

    def initialize(self, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """Start at the centre. With several components start at random, since equal ones stay equal."""
        return np.zeros(dimension)

    def parts(self, params: np.ndarray) -> Mapping[str, dp.Part]:
        """Name each statistic, with its shape and the weight that ``contributions`` gives it."""
        return {"counts": dp.Part((1,), A), "first": dp.Part(params.shape, B)}

    def bound(self, params: np.ndarray) -> dp.Bound:
        """See the top of the file; a bound without its proof is a guess."""
        return dp.Bound(l2=1.0, replace_l2=math.sqrt(2.0))

    def contributions(self, params: np.ndarray, block: Block) -> Any:
        """Put the parts side by side. Rows may come in any array library, so take functions from ``xp``."""
        y = block.x  # each row in the unit ball, whatever was in the data
        xp = array_namespace(y)
        ones = xp.ones((y.shape[0], 1), dtype=xp.float64, device=device(y))
        return xp.concat([A * ones, B * y], axis=1)

    def maximize(self, params: np.ndarray, release: dp.Release) -> np.ndarray:
        """Divide two noisy sums. The count may be anything, so it is kept above what noise alone could make."""
        least = max(2.0 * noise_std(release, "counts"), 1.0)
        known = release.size.rows  # public under replace-one
        count = max(float(release["counts"][0]), least) if known is None else float(max(known, 1))
        return clip_to_ball(release["first"] / count)


def main() -> None:
    """Fit the mean of made-up ages and incomes. The maximum is found in one step, so one release is enough."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(45.0, 12.0, 20_000), rng.gamma(4.0, 8_000.0, 20_000)])
    bounds = dp.Box(low=[0.0, 0.0], high=[120.0, 200_000.0])  # declared, never taken from the rows
    fit = dp.fit_model(Mean(), rows, epsilon=1.0, delta=1e-6, n_steps=1, bounds=bounds)
    age, income = bounds.from_unit(fit.params)
    print(f"mean age {age:.1f}, mean income {income:,.0f}\n{fit}")


if __name__ == "__main__":
    main()
