"""Groups of people who count differently: a mixture of Poisson products over counts that are clipped at a declared cap.

**Bound.** In ``Box(0, cap)`` a row of counts is y in the unit ball, and contributes c(y) = (γ_k·(a, b·y))_k, with γ its
probabilities of the K groups and a² = b² = ½. ‖c‖² = Σγ_k²(a² + b²‖y‖²) ≤ Σγ_k ≤ 1, and the product of two rows'
contributions is Σγ_kγ'_k(a² + b²⟨y, y'⟩) ≥ 0 as a ≥ b, so ‖c − c'‖² ≤ 2. (Sums of x/cap would have more noise.)

**Floats.** A logit has 2d + 1 terms of at most cap·l, l = 1 + max |ln rate|: off by 2(d + 2)²·cap·l·u; γ by twice.
"""
# ruff: noqa: D102  (discreet.Model says what the methods do)

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

import discreet as dp
from discreet.models.noisy_sums import noise_std, positive_counts

A = B = math.sqrt(0.5)
LEAST = 0.01  # least rate
Groups = namedtuple("Groups", ["weights", "rates"])  # shapes (K,) and (K, d)


@dataclass(frozen=True)
class PoissonMixture(dp.Model[Groups]):
    """``count`` groups; ``space`` is a ``Box(0, cap)`` for d columns. A cap far above the rates only adds noise."""

    count: int
    space: dp.Box
    name: str = "poisson mixture"

    def initialize(self, dimension, rng):
        powers = np.linspace(0.2, 0.9, self.count)[:, None] + rng.uniform(-0.1, 0.1, (self.count, dimension))
        return Groups(np.full(self.count, 1.0 / self.count), np.asarray(self.space.high) ** powers)

    def parts(self, params):
        return {"counts": dp.Part((self.count,), A), "first": dp.Part(params.rates.shape, B)}

    def bound(self, params):
        return dp.Bound(l2=1.0, replace_l2=math.sqrt(2.0))

    def roundoff(self, params, dimension):
        largest = np.max(np.abs(self.space.center) + self.space.scale) * (1.0 + np.abs(np.log(params.rates)).max())
        return (6.0 * (dimension + 2) ** 2 * largest + 2.0 * self.count + 30.0) * 2.0**-53

    def contributions(self, params, block):
        y, xp = block.x, array_namespace(block.x)
        slopes, floors = np.log(params.rates), np.log(params.weights) - params.rates.sum(axis=1)
        slopes, floors = (xp.asarray(part, device=device(y)) for part in (slopes, floors))
        logits = xp.matmul(self.space.clip(self.space.from_unit(y)), slopes.T) + floors
        shares = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
        shares = shares / xp.sum(shares, axis=1, keepdims=True)
        first = xp.reshape(shares[:, :, None] * y[:, None, :], (y.shape[0], -1))
        return xp.concat([A * shares, B * first], axis=1)

    def maximize(self, params, release):  # shrunk to the mean of all rows where noise is large
        counts = positive_counts(release)[:, None]
        everybody = release["first"].sum(axis=0) / counts.sum()
        factor = 1.0 / (1.0 + 12.0 * params.rates.shape[1] * (noise_std(release, "first") / counts) ** 2)
        rates = self.space.from_unit(everybody + factor * (release["first"] / counts - everybody))
        return Groups(counts[:, 0] / counts.sum(), np.clip(rates, LEAST, self.space.high))


def main():
    """Print three groups of made-up patients, by yearly visits to a doctor, a hospital and a pharmacy."""
    truth, rng = np.array([[2.0, 0.5, 4.0], [9.0, 1.0, 15.0], [15.0, 6.0, 25.0]]), np.random.default_rng(0)
    space = dp.Box(0.0, [30.0, 15.0, 50.0])
    visits = rng.poisson(truth[rng.choice(3, 20_000, p=[0.6, 0.3, 0.1])]).astype(float)
    fit = dp.fit_model(PoissonMixture(3, space), visits, epsilon=2.0, delta=1e-6, n_steps=20, bounds=space)
    for weight, rates in sorted(zip(*fit.params, strict=True), key=lambda one: -one[0]):
        print(f"{weight:4.0%} of patients: {rates.round(1)} visits a year")
    print(fit)


if __name__ == "__main__":
    main()
