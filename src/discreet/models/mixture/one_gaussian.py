"""``OneGaussian``: a single Gaussian from a few releases, each of which whitens by the previous estimate.

The first release clips to the unit ball and learns roughly where the rows are. Each later one clips to an ellipsoid
around them, so that its noise is relative to the rows' own spread. Differences that noise alone could explain are
shrunk (``noisy_estimates`` and ``spectrum``).
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
from discreet.models.noisy_estimates import shrinkage_factor
from discreet.models.noisy_sums import LARGEST, SMALLEST, clip_eigenvalues, clip_to_ball, noise_std, released_rows
from discreet.models.spectral.spectrum import Spectrum
from discreet.queries.moments.clipped_moments import ClippedMoments
from discreet.queries.moments.components import Components

__all__ = ["OneGaussian"]

Array = NDArray[np.float64]

# Limits on a covariance, relative to the step before
LEAST_SIZE, MOST_SIZE = 0.02, 6.0  # of its mean eigenvalue
LEAST_RATIO, MOST_RATIO = 0.05, 30.0  # of an eigenvalue over the mean one
CAUTION = 1.5  # standard deviations of noise to allow for


@dataclass(frozen=True)
class OneGaussian(MomentModel[Components]):
    """A single Gaussian, measured in its own coordinates.

    Parameters
    ----------
    shape : Shape
        The covariance type.
    clipping : Clipping
        How rows are clipped in these coordinates.
    neighbors : Neighbors
    counted : bool
        Whether the rows are counted, because their number is not public.
    least_count : float
        Then a² of the count is at least this: where noise is large, the size of the Gaussian depends on the count.
    spectral : bool
        If True, eigenvalues are corrected one by one (``spectrum``), which is better where few directions matter. If
        False, all differences from a multiple of I are shrunk by one factor, which is better for the density.
    metric : tuple of float, optional
        For spherical covariances: the length of a unit step of the unit ball in each column.
    """

    shape: Shape
    clipping: Clipping
    neighbors: Neighbors
    counted: bool
    metric: tuple[float, ...] | None = None
    spectral: bool = False
    least_count: float = 0.05
    name: str = "one Gaussian"

    def initialize(self, dimension: int, rng: np.random.Generator) -> Components:
        """Return the Gaussian whose clipping ball just contains the unit ball; nothing in it is random."""
        axes = np.ones(dimension) if self.metric is None else max(self.metric) / np.array(self.metric)
        covariance = np.diag(axes**2) / self.clipping.squared
        return Components(np.ones(1), np.zeros((1, dimension)), covariance[None])

    def moments(self, params: Components) -> ClippedMoments:
        """Return the statistic at these parameters."""
        weights = moment_weights(self.clipping, self.shape, self.neighbors, self.least_count if self.counted else 0.0)
        return ClippedMoments(params, self.clipping.radius, weights, self.shape.name)

    def maximize(self, params: Components, release: Release) -> Components:
        """Return the next Gaussian: clipping is undone, noise is shrunk, and eigenvalues are clipped to an interval."""
        shape, clipping, d = self.shape, self.clipping, self.shape.dimension
        rows, factor = released_rows(release), params.factors[0]
        first = release["first"][0] / rows  # E[c(z)]/R
        second = shape.matrices(np.atleast_1d(release["second"]) / rows, 1)[0]  # E[c(z)c(z)ᵀ]/R²
        shift, covariance, size = clipping.undo(first, shape.restrict(second - np.outer(first, first)))

        response = clipping.response(size)
        entry_std = noise_std(release, "second") * clipping.squared / rows / response.beta2  # σ₂R²/(Nβ₂)
        noise = 0.5 * entry_std * entry_std  # v of ``own_coordinates``
        ratio = response.beta2 / max(response.trace, 0.05)  # clipping attenuates the size by ``trace``, not by β₂
        size_noise = math.sqrt(noise * shape.size_energy()) * ratio  # standard deviation
        size = min(max(size, LEAST_SIZE, min(1.0, CAUTION * size_noise)), MOST_SIZE)
        own = self._shrink(covariance, size, noise)

        shift_std = noise_std(release, "first") * clipping.radius / rows / clipping.response(size).beta1  # σ₁R/(Nβ₁)
        shift = shift * shrinkage_factor(shift_std * shift_std * d, float(shift @ shift), d, 0.0)
        mean = clip_to_ball(params.means + factor @ shift)
        covariance = clip_eigenvalues(factor @ own @ factor.T, SMALLEST, LARGEST)
        if self.spectral:  # the variances of rows in the unit ball sum to at most 1
            covariance /= max(1.0, float(np.trace(covariance)))
        return Components(np.ones(1), mean, shape.clear_rounding(covariance)[None])

    def _shrink(self, covariance: Array, size: float, noise: float) -> Array:
        """Return a covariance with the mean eigenvalue ``size``, shrunk for noise of variance v off the diagonal.

        Variances and correlations are shrunk by themselves: where correlations are lost in noise, or there are none,
        the variances need not be.
        """
        shape, d = self.shape, self.shape.dimension
        edge = math.sqrt(noise * d) / size  # noise alone spreads eigenvalues by 2√(vd) to either side
        variances = np.diag(np.diag(covariance) - np.trace(covariance) / d)  # relative to their mean
        correlations = covariance - np.diag(np.diag(covariance))
        several = shape.numbers > 1
        # E‖·‖² of the noise: 2v for each variance, less what their mean has, and v for each entry off the diagonal
        own = _share(variances, 2.0 * noise * (d - 1), d - 1) if several else 0.0
        off = _share(correlations, noise * d * (d - 1), d * (d - 1) // 2) if several else 0.0
        if self.spectral and max(own, off) > 0.0:
            spectrum = Spectrum.from_matrix(covariance, math.sqrt(noise))
            values = spectrum.shrunk_values - spectrum.shrunk_values.mean() + size
            least = max(LEAST_RATIO, min(0.7, 0.5 * edge))
            return spectrum.matrix(np.clip(values, least * size, MOST_RATIO * size))
        least = max(LEAST_RATIO, min(0.7, 2.0 * max(off, own / math.sqrt(d)) * edge))
        result = size * np.eye(d) + own * variances + off * correlations
        return clip_eigenvalues(result, least * size, MOST_RATIO * size)


def _share(part: Array, energy: float, numbers: int) -> float:
    """Return how much of a part of a covariance to keep, of which noise has the expected squared norm ``energy``."""
    return shrinkage_factor(energy, float((part**2).sum()), numbers, CAUTION) if numbers else 0.0
