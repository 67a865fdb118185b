"""A mixture of factor analysers: groups of rows, each of which varies along a few directions of its own.

**Bound.** That of ``queries.moments.clipped_moments``: a row y of the unit ball contributes (γ_k·(a, b·y, c·yyᵀ))_k,
a² + b² + c² = 1, so its norm is at most 1, whatever K is; two rows differ by at most √2, as b² ≤ 2ac. The proof stands
there, its float error too. What is new follows from the release and costs nothing: Σ_k = W_kW_kᵀ + Ψ_k.
"""
# ruff: noqa: D102  (discreet.Model says what the methods do)

from collections import namedtuple
from dataclasses import dataclass

import numpy as np

import discreet as dp
from discreet.models.mixture.joint_release import JointMixture, spread_components
from discreet.models.mixture.moment_model import MomentModel
from discreet.queries.moments.clipped_moments import ClippedMoments
from discreet.queries.moments.components import Components

WEIGHTS = (0.2, 0.3, 0.5)  # a², b², c²
ROUNDS = 50

Analysers = namedtuple("Analysers", ["components", "loadings", "own"])  # W of shape (K, d, q), Ψ of shape (K, d)


def factored(covariances, factors):
    """Return W and Ψ by principal factors: the top of Σ − Ψ, then what it leaves of the diagonal.

    Ψ stays above a hundredth of the variance, so W Wᵀ + Ψ is positive definite as Σ's diagonal is positive.
    """
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    own = 0.5 * variances
    for _ in range(ROUNDS):
        values, vectors = np.linalg.eigh(covariances - own[:, :, None] * np.eye(own.shape[1]))
        loadings = vectors[:, :, -factors:] * np.sqrt(np.maximum(values[:, None, -factors:], 0.0))
        own = np.clip(variances - (loadings**2).sum(axis=2), 0.01 * variances, variances)
    return loadings, own


@dataclass(frozen=True)
class FactorAnalysers(MomentModel[Analysers]):
    """``count`` groups with ``factors`` directions each."""

    count: int
    factors: int
    name: str = "factor analysers"

    def initialize(self, dimension, rng):
        return self._analysers(spread_components(self.count, dimension, rng))

    def moments(self, params):
        return ClippedMoments(params.components, None, WEIGHTS)

    def maximize(self, params, release):
        # Valid means and covariances from the library's mixture, then factors
        return self._analysers(JointMixture(self.count, weights=WEIGHTS).maximize(params.components, release))

    def _analysers(self, result):
        loadings, own = factored(result.covariances, self.factors)
        covariances = loadings @ loadings.transpose(0, 2, 1) + own[:, :, None] * np.eye(own.shape[1])
        return Analysers(Components(result.weights, result.means, covariances), loadings, own)


def main():
    """Print the directions of two made-up groups in six columns."""
    rng, ball = np.random.default_rng(0), dp.Ball(6.0)
    directions = np.array([[1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, -1.0, 1.0]])
    group = rng.integers(0, 2, 20_000)
    rows = (2.0 * group[:, None] - 1.0) * 0.8 + rng.normal(size=(20_000, 1)) * directions[group]
    rows += 0.4 * rng.normal(size=rows.shape)
    fit = dp.fit_model(FactorAnalysers(2, 1), rows, epsilon=2.0, delta=1e-6, n_steps=12, bounds=ball)
    for k, weight in enumerate(fit.params.components.weights):
        direction = ball.radius * fit.params.loadings[k, :, 0]
        print(f"{weight:4.0%} of rows, around {(ball.radius * fit.params.components.means[k]).round(1)}")
        print(f"     vary along {(direction * np.sign(direction[np.abs(direction).argmax()])).round(1)}")
    print(fit)


if __name__ == "__main__":
    main()
