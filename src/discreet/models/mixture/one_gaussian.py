"""One Gaussian, by a few releases: each round clips and whitens by the previous estimate.

The first release clips to the unit ball and learns roughly where the rows are; each later one clips to an ellipsoid
around them, so that its noise is relative to the rows' own spread. What noise alone could make is shrunk
(``shrinkage`` and ``spectrum``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.guarantees import Neighbors
from discreet.models.mixture.moment_model import MomentModel
from discreet.models.mixture.own_coordinates import Clipping, Shape, moment_weights
from discreet.models.noisy_sums import LARGEST, SMALLEST, clip_eigenvalues, clip_to_ball, noise_std, released_rows
from discreet.models.shrinkage import shrinkage_factor
from discreet.models.spectral.spectrum import Spectrum
from discreet.queries.moments.clipped_moments import ClippedMoments, Components

__all__ = ["OneGaussian"]

Array = NDArray[np.float64]

# How far a covariance may shrink or grow in one step, relative to the step before.
LEAST_SIZE, MOST_SIZE = 0.02, 6.0
LEAST_RATIO, MOST_RATIO = 0.05, 30.0
CAUTION = 1.5


@dataclass(frozen=True)
class OneGaussian(MomentModel[Components]):
    """A single Gaussian in its own coordinates.

    Parameters
    ----------
    shape : Shape
    clipping : Clipping
        Of the rows in these coordinates.
    neighbors : Neighbors
    counted : bool
        Whether the rows are counted, where their number is not public.
    spectral : bool
        Whether eigenvalues are corrected one by one (``spectrum``), which serves where few directions matter, or
        differences are shrunk all alike, which serves the density of the whole.
    metric : tuple of float, optional
        For spherical covariances: what one step in the unit ball is in each column.
    """

    shape: Shape
    clipping: Clipping
    neighbors: Neighbors
    counted: bool
    metric: tuple[float, ...] | None = None
    spectral: bool = False
    name: str = "one Gaussian"

    def initialize(self, dimension: int, rng: np.random.Generator) -> Components:
        """Return a Gaussian whose clipping ball just holds the unit ball; there is nothing random in it."""
        axes = np.ones(dimension) if self.metric is None else max(self.metric) / np.array(self.metric)
        covariance = np.diag(axes**2) / self.clipping.squared
        return Components(np.ones(1), np.zeros((1, dimension)), covariance[None])

    def moments(self, params: Components) -> ClippedMoments:
        """Return the statistic at these parameters."""
        weights = moment_weights(self.clipping, self.shape, self.neighbors, counted=self.counted)
        return ClippedMoments(params, self.clipping.radius, weights, self.shape.name)

    def maximize(self, params: Components, release: Release) -> Components:
        """Return the next Gaussian: clipping undone, noise taken out, eigenvalues kept in a band."""
        shape, clipping, d = self.shape, self.clipping, self.shape.dimension
        rows, factor = released_rows(release), params.factors[0]
        first = release["first"][0] / rows
        second = shape.matrices(np.atleast_1d(release["second"]) / rows, 1)[0]
        shift, covariance, size = clipping.undo(first, shape.restrict(second - np.outer(first, first)))

        response = clipping.response(size)
        entry = noise_std(release, "second") * clipping.squared / rows / response.beta2
        noise = 0.5 * entry * entry  # v of ``own_coordinates``
        ratio = response.beta2 / max(response.trace, 0.05)
        size_noise = math.sqrt(noise * shape.size_energy()) * ratio
        size = min(max(size, LEAST_SIZE, min(1.0, CAUTION * size_noise)), MOST_SIZE)
        own = self._shrink(covariance, size, noise)

        moved = noise_std(release, "first") * clipping.radius / rows / clipping.response(size).beta1
        shift = shift * shrinkage_factor(moved * moved * d, float(shift @ shift), d, 0.0)
        mean = clip_to_ball(params.means + factor @ shift)
        covariance = clip_eigenvalues(factor @ own @ factor.T, SMALLEST, LARGEST)
        if self.spectral:  # rows in a unit ball vary by 1 at most, all directions together
            covariance /= max(1.0, float(np.trace(covariance)))
        if shape.name in ("diag", "spherical"):  # without what rounding has put beside the diagonal
            covariance = np.diag(np.diag(covariance))
        return Components(np.ones(1), mean, covariance[None])

    def _shrink(self, covariance: Array, size: float, noise: float) -> Array:
        """Return a covariance of this mean eigenvalue, without what noise of variance v off the diagonal has put in."""
        shape, d = self.shape, self.shape.dimension
        traceless = covariance - np.trace(covariance) / d * np.eye(d)
        energy = noise * (shape.energy() - shape.size_energy() * d)
        share = (
            shrinkage_factor(energy, float((traceless**2).sum()), shape.numbers, CAUTION) if shape.numbers > 1 else 0.0
        )
        edge = math.sqrt(noise * d) / size  # half of how far noise alone spreads eigenvalues
        if share and self.spectral:
            spectrum = Spectrum.from_matrix(covariance, math.sqrt(noise))
            values = spectrum.shrunk_values - spectrum.shrunk_values.mean() + size
            least = max(LEAST_RATIO, min(0.7, 0.5 * edge))
            return spectrum.matrix(np.clip(values, least * size, MOST_RATIO * size))
        least = max(LEAST_RATIO, min(0.7, 2.0 * share * edge))
        return clip_eigenvalues(size * np.eye(d) + share * traceless, least * size, MOST_RATIO * size)
