"""Latent classes behind yes-or-no answers: a mixture of Bernoulli products.

**Bound.** In ``Box(0, 1)`` a row of answers is y in the unit ball, and contributes c(y) = (γ_k·(a, b·y))_k, with γ its
probabilities of the K classes and a² = b² = ½. ‖c‖² = Σγ_k²(a² + b²‖y‖²) ≤ Σγ_k ≤ 1, whatever K is. The product of two
rows' contributions is Σγ_kγ'_k(a² + b²⟨y, y'⟩) ≥ 0 as a ≥ b, so ‖c − c'‖² ≤ 2.

**Floats.** A logit is a sum of d + 1 terms of at most 5 or so, off by less than 5(d + 2)²u; γ by a little over twice.
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
LEAST = 0.01  # least probability of either answer

Classes = namedtuple("Classes", ["weights", "yes"])  # shapes (K,) and (K, d)


@dataclass(frozen=True)
class BernoulliMixture(dp.Model[Classes]):
    """``count`` classes of people who answer the questions of ``space``, a ``Box(0, 1)`` for d columns."""

    count: int
    space: dp.Box
    name: str = "bernoulli mixture"

    def initialize(self, dimension, rng):
        return Classes(np.full(self.count, 1.0 / self.count), rng.uniform(0.25, 0.75, (self.count, dimension)))

    def parts(self, params):
        return {"counts": dp.Part((self.count,), A), "first": dp.Part(params.yes.shape, B)}

    def bound(self, params):
        return dp.Bound(l2=1.0, replace_l2=math.sqrt(2.0))

    def roundoff(self, params, dimension):
        largest = np.max(np.abs(self.space.center) + self.space.scale)
        return (15.0 * (dimension + 2) ** 2 * largest + 2.0 * self.count + 30.0) * 2.0**-53

    def contributions(self, params, block):
        y, xp = block.x, array_namespace(block.x)
        slopes = np.log(params.yes / (1.0 - params.yes))
        floors = np.log(params.weights) + np.log1p(-params.yes).sum(axis=1)
        slopes, floors = (xp.asarray(part, device=device(y)) for part in (slopes, floors))
        logits = xp.matmul(self.space.clip(self.space.from_unit(y)), slopes.T) + floors
        shares = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
        shares = shares / xp.sum(shares, axis=1, keepdims=True)
        first = xp.reshape(shares[:, :, None] * y[:, None, :], (y.shape[0], -1))
        return xp.concat([A * shares, B * first], axis=1)

    def maximize(self, params, release):  # shrunk to one half where noise is large
        counts = positive_counts(release)[:, None]
        noise = noise_std(release, "first") / counts * self.space.scale
        yes = 0.5 + release["first"] / counts * self.space.scale / (1.0 + 12.0 * noise**2)
        return Classes(counts[:, 0] / counts.sum(), np.clip(yes, LEAST, 1.0 - LEAST))


def main():
    """Print three classes of made-up people, as a private fit finds them."""
    truth = np.array([[0.9, 0.9, 0.8, 0.1, 0.1, 0.2], [0.1, 0.2, 0.1, 0.9, 0.9, 0.8], [0.8, 0.1, 0.7, 0.2, 0.8, 0.9]])
    rng, space = np.random.default_rng(0), dp.Box(0.0, 1.0).for_columns(6)
    answers = (rng.random((20_000, 6)) < truth[rng.choice(3, 20_000, p=[0.5, 0.3, 0.2])]).astype(float)
    fit = dp.fit_model(BernoulliMixture(3, space), answers, epsilon=2.0, delta=1e-6, n_steps=15, bounds=space)
    for weight, yes in sorted(zip(*fit.params, strict=True), key=lambda one: -one[0]):
        print(f"{weight:4.0%} of people say yes with probability {yes.round(2)}")
    print(fit)


if __name__ == "__main__":
    main()
