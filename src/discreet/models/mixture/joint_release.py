"""``Joint``: a Gaussian mixture by EM, with one joint release of all moments a step in the unit ball.

``Prior`` is the conjugate prior of a mixture, with the mode of its posterior (Park et al. 2017, section 4.1, MAP).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Step, expectation_maximization
from discreet.models.method import Method
from discreet.models.mixture.moment_model import MomentModel
from discreet.models.mixture.own_coordinates import Shape
from discreet.models.noisy_sums import LARGEST, SMALLEST, clip_eigenvalues, clip_to_ball, noise_std, positive_counts
from discreet.queries.moments.clipped_moments import ClippedMoments
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["Joint", "JointMixture", "Prior", "components_from_moments", "spread_components"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Dirichlet weights, normal means around 0 and inverse-Wishart covariances, in the scale of the unit ball.

    Attributes
    ----------
    alpha : float
        Concentration of the Dirichlet distribution.
    kappa : float
        The number of rows that the prior mean, 0, counts for.
    scale : float
        The prior scatter matrix is this times the identity; it has d + 2 degrees of freedom.

    Examples
    --------
    >>> one = Prior().mode(np.array([100.0]), np.array([[0.5]]), np.array([[[0.04]]]))
    >>> one.means.round(4).tolist(), one.covariances.round(4).tolist()
    ([[0.495]], [[[0.041]]])
    """

    alpha: float = 2.0
    kappa: float = 1.0
    scale: float = 0.1

    def mode(self, counts: Array, means: Array, covariances: Array) -> Components:
        """Return the posterior mode given noisy counts, means and covariances, all of them valid."""
        d = means.shape[1]
        weights = counts + self.alpha - 1.0
        rows = counts[:, None, None]
        outer = means[:, :, None] * means[:, None, :]
        scatter = self.scale * np.eye(d) + rows * covariances + self.kappa * rows / (self.kappa + rows) * outer
        return Components(
            weights / weights.sum(),
            means * (counts / (counts + self.kappa))[:, None],
            scatter / (rows + 2.0 * d + 4.0),  # ν₀ + N_k + d + 2 with ν₀ = d + 2
        )


def spread_components(count: int, dimension: int, rng: np.random.Generator) -> Components:
    """Return a start that is independent of the data: means at ±½ along the axes of a random orthonormal basis."""
    axes, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    directions = np.concatenate([axes.T, -axes.T]).reshape(2, dimension, dimension).transpose(1, 0, 2)
    known = directions.reshape(-1, dimension)[:count]
    more = rng.standard_normal((count - len(known), dimension))
    more /= np.linalg.norm(more, axis=1, keepdims=True)
    spread = np.eye(dimension) * (0.25 / dimension)
    means = 0.5 * np.concatenate([known, more])
    return Components(np.full(count, 1.0 / count), means, np.repeat(spread[None], count, axis=0))


def components_from_moments(
    counts: Array, first: Array, second: Array, noise: float, shape: str, prior: Prior | None
) -> Components:
    """Return valid components from noisy counts and sums; with a prior, the posterior mode.

    Eigenvalues are kept above what the noise on the second moments, of standard deviation ``noise``, could hide: a
    random symmetric matrix with off-diagonal standard deviation τ has eigenvalues down to −2τ√d.
    """
    k, d = first.shape
    hidden = noise * math.sqrt(2.0 * d)  # 2τ√d with τ = noise/√2
    means = clip_to_ball(first / counts[:, None])
    outer = means[:, :, None] * means[:, None, :]
    if shape == "tied":
        total = counts.sum()
        shared = second / total - np.einsum("k,kij->ij", counts / total, outer)
        least = min(max(SMALLEST, hidden / total), LARGEST)
        covariances = np.repeat(clip_eigenvalues(shared, least, LARGEST)[None], k, axis=0)
    else:
        rows = counts[:, None, None]
        if shape == "diag":
            outer = outer * np.eye(d)
        if shape == "spherical":
            outer = (means**2).sum(axis=1)[:, None, None] / d * np.eye(d)
        least = np.clip(hidden / counts, SMALLEST, LARGEST)
        covariances = clip_eigenvalues(Shape(shape, d).matrices(second, k) / rows - outer, least, LARGEST)
    if prior is None:
        return Components(counts / counts.sum(), means, covariances)
    return prior.mode(counts, means, covariances)


@dataclass(frozen=True)
class JointMixture(MomentModel[Components]):
    """K Gaussians, all of whose moments are one release; a row's contribution has norm at most 1.

    Parameters
    ----------
    count : int
        K.
    shape : str
        The covariance type.
    hard : bool
        Whether each row belongs to its nearest mean alone, as in k-means.
    prior : Prior or None
        If given, the posterior mode is computed; None for maximum likelihood.
    weights : tuple of three floats
        a², b², c² of the statistic; a ≥ b and 2ac ≥ b², so that a replaced row costs √2.
    """

    count: int
    shape: str = "full"
    hard: bool = False
    prior: Prior | None = None
    weights: tuple[float, float, float] = (0.2, 0.3, 0.5)
    name: str = "joint mixture"

    def initialize(self, dimension: int, rng: np.random.Generator) -> Components:
        """Return random means."""
        return spread_components(self.count, dimension, rng)

    def moments(self, params: Components) -> ClippedMoments:
        """Return the statistic at these parameters."""
        return ClippedMoments(params, None, self.weights, self.shape, self.hard)

    def maximize(self, params: Components, release: Release) -> Components:
        """Return valid parameters from the noisy moments."""
        counts = positive_counts(release)
        if self.hard:
            means = clip_to_ball(release["first"] / counts[:, None])
            return Components(counts / counts.sum(), means, params.covariances)
        noise = noise_std(release, "second")
        return components_from_moments(counts, release["first"], release["second"], noise, self.shape, self.prior)


@dataclass(frozen=True)
class Joint(Method[Components]):
    """EM with joint releases that have equal shares of the budget.

    Parameters
    ----------
    model : JointMixture
    steps : int
    """

    model: JointMixture
    steps: int

    @property
    def shares(self) -> list[float]:
        """Equal shares."""
        return [1.0 / self.steps] * self.steps

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Run the loop from a random start."""
        params = self.model.initialize(space.dimension, rng)
        return expectation_maximization(self.model, params, space, measures)
