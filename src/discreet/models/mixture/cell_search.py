"""``CellSearch``: looks for clusters with more cells than there are components, before a mixture starts.

EM with K components finds the clusters only if it starts with a component near each: two that share a cluster stay
there, and another one stays between two clusters. So a few steps come first with M cells, K or more. They are
components that share one shape S: the covariance of cell k is s_k·S. A step releases the number of rows, the mean and
the mean squared length of each cell in its own coordinates. That is so much less than K covariances that a small part
of the budget is enough.

After each step:

1. A cell whose count is noise moves to a cell with a large share of all squared distances, w_k·s_k, which is halved
   along a random direction.
2. The shape follows from the centres: the covariance of all rows is known from phase 1, and what is left of it without
   the scatter of the centres is that within cells. So directions in which clusters differ count more from step to step.
   The centres of K clusters differ in K − 1 directions at most. Where these are few of all d, most of the distance of
   a row from a cell says nothing, and the search would take long: the shape is raised to the power
   p = 1 + 1.5·(1 − (K − 1)/d) in coordinates in which all rows have the covariance I, which tells such directions more
   clearly.

In the end cells are merged until at most K are left that do not overlap, with means shrunk for their noise
(``mixture_reduction``). Reductions that count labels more or less are compared by their likelihood for synthetic rows
of the cells. All components start with one covariance, the mean of theirs: a start with one of them too wide ends with
two clusters in it. Everything but the releases is arithmetic on public numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.door import Release
from discreet.models.mixture.mixture_reduction import SYNTHETIC, most_likely_reductions
from discreet.models.mixture.moment_model import MomentModel
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_estimates import shrink_means, shrinkage_factor
from discreet.models.noisy_sums import clip_eigenvalues, clip_to_ball, noise_std, released_counts
from discreet.queries.moments.clipped_moments import ROUND, ClippedMoments, Components

__all__ = ["CellSearch", "Cells"]

Array = NDArray[np.float64]

WEIGHTS = ROUND  # a², b², c² of a release
MOST_ROWS, ABSURD = 1e300, 1e6  # what is more comes from no rows; parameters are finite all the same
CAUTION = 1.5  # standard deviations of noise to allow for where centres are shrunk
SEEN = 3.0  # standard deviations of its noise that a count must exceed for the cell to stay
LEAST_SIZE, MOST_SIZE = 0.2, 5.0  # limits on s_k, whose weighted mean is 1
LEAST_RATIO, MOST_RATIO = 0.1, 4.0  # limits on s_k relative to the step before
NARROWEST = 0.02  # least eigenvalue of S, in coordinates in which all rows have the covariance I
EXAGGERATION = 1.5  # by how much directions in which clusters differ are exaggerated, where they are few
APART = 0.5  # distance of the halves of a cell from its centre, relative to √(s·d)
CLEAR = 0.9  # least mean probability of a row's own component; below it there are no clusters to start from


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells after some steps.

    Attributes
    ----------
    components : Components
        Weights, means and covariances s_k·S of the cells, in the coordinates of the unit ball.
    factor : array of shape (d, d)
        F with FFᵀ = S.
    sizes : array of shape (M,)
        s_k.
    shrunk : array of shape (M, d)
        The means, shrunk to their common centre for the noise of the last step.
    seen : array of shape (M,)
        Whether the count of a cell exceeded its noise in the last step.
    directions : array of shape (steps left, M, d)
        Unit vectors along which cells will be halved.
    """

    components: Components
    factor: Array
    sizes: Array
    shrunk: Array
    seen: NDArray[np.bool_]
    directions: Array


@dataclass(frozen=True, eq=False)
class CellSearch(MomentModel[Cells]):
    """Steps with M cells that share one shape.

    Parameters
    ----------
    base : Components
        The single Gaussian of phase 1.
    start : Components
        M components to start from, spread over the base, each with the same multiple of its covariance.
    clipping : Clipping
        How rows are clipped in each cell's coordinates.
    shape : Shape
        The covariance type that the components shall have.
    count : int
        K, the number of components to find.
    steps : int
    least : int
        With fewer components that are clear there is the base alone.
    """

    base: Components
    start: Components
    clipping: Clipping
    shape: Shape
    count: int
    steps: int
    least: int = 1
    name: str = "search for clusters"

    def initialize(self, dimension: int, rng: np.random.Generator) -> Cells:
        """Return the cells to start from."""
        count = self.start.count
        directions = rng.standard_normal((self.steps, count, dimension))
        directions /= np.linalg.norm(directions, axis=2, keepdims=True)
        start, seen = self.start, np.ones(count, dtype=bool)
        return Cells(start, start.factors[0], np.ones(count), start.means, seen, directions)

    def moments(self, params: Cells) -> ClippedMoments:
        """Return the statistic in the coordinates F⁻¹y, in which the covariance of cell k is s_k·I."""
        frame, cells = np.asarray(np.linalg.inv(params.factor), dtype=np.float64), params.components
        covariances = params.sizes[:, None, None] * np.eye(cells.dimension)
        in_frame = Components(cells.weights, cells.means @ frame.T, covariances)
        return ClippedMoments(in_frame, self.clipping.radius, WEIGHTS, "spherical", frame=frame)

    def maximize(self, params: Cells, release: Release) -> Cells:
        """Return the cells after one more release."""
        clipping, last, d = self.clipping, params.components, params.components.dimension
        counts, count_noise = released_counts(release), noise_std(release, "counts")
        rows = np.clip(counts, max(2.0 * count_noise, 1.0), MOST_ROWS)
        # Both are at most 1, but for noise: E[c(z)]/R and E‖c(z)‖²/R²
        firsts, seconds = (np.clip((release[each].T / rows).T, -ABSURD, ABSURD) for each in ("first", "second"))
        squares = seconds - (firsts**2).sum(axis=1)  # tr Cov[c(z)]/R²
        means, sizes, noises = last.means.copy(), params.sizes.copy(), np.empty(last.count)
        for k in range(last.count):
            shift, _, size = clipping.undo(firsts[k], np.eye(d) * squares[k] / d)
            error = noise_std(release, "first") * clipping.radius / rows[k] / clipping.response(size).beta1
            shift = shift * shrinkage_factor(d * error * error, float(shift @ shift), d)
            means[k] += math.sqrt(sizes[k]) * params.factor @ clip_to_ball(shift, clipping.radius)
            noises[k] = error * error * sizes[k]  # in the coordinates F⁻¹y
            sizes[k] *= min(max(size, LEAST_RATIO), MOST_RATIO)
        weights, means = rows / rows.sum(), clip_to_ball(means)
        seen = counts > SEEN * count_noise
        if len(params.directions) > 1:
            _move(~seen, weights, means, sizes, params.directions[0] @ params.factor.T)
        frames = np.broadcast_to(params.factor @ params.factor.T, (last.count, d, d))
        centre, apart, factors = shrink_means(means, weights, self.base.whitening[0], noises, frames, CAUTION)
        apart = factors[:, None] * apart  # in the coordinates of the base
        factor = self._shape(weights, apart)
        sizes = np.clip(sizes / (weights @ sizes), LEAST_SIZE, MOST_SIZE)
        found = Components(weights, means, sizes[:, None, None] * (factor @ factor.T))
        return Cells(found, factor, sizes, centre + apart @ self.base.factors[0].T, seen, params.directions[1:])

    def _shape(self, weights: Array, apart: Array) -> Array:
        """Return F: in the coordinates of the base, S is I less the scatter of the centres, to the power p."""
        d = apart.shape[1]
        values, vectors = np.linalg.eigh(np.eye(d) - (weights[:, None] * apart).T @ apart)
        power = 1.0 + EXAGGERATION * max(0.0, 1.0 - (self.count - 1) / d)  # p
        within = (vectors * np.clip(values, NARROWEST, 1.0) ** power) @ vectors.T
        return np.asarray(self.base.factors[0] @ np.linalg.cholesky(clip_eigenvalues(within, NARROWEST, 1.0)))

    def reduce(self, cells: Cells, rng: np.random.Generator) -> Components:
        """Return as many components as are clear, at most K, merged from the cells that were seen; see the module."""
        found, seen = cells.components, cells.seen
        if seen.sum() < self.count:
            seen = np.isin(np.arange(found.count), np.argsort(-found.weights)[: self.count])
        kept = Components(found.weights[seen] / found.weights[seen].sum(), found.means[seen], found.covariances[seen])
        noisy, shrunk = (self._merged(each, rng) for each in (kept, replace(kept, means=cells.shrunk[seen])))
        for components, (_, clear) in zip(noisy, shrunk, strict=True):
            if clear >= CLEAR and components[0].count >= self.least:
                return components[0]
        return self.base

    def _merged(self, cells: Components, rng: np.random.Generator) -> Iterator[tuple[Components, float]]:
        """Yield fewer and fewer components with one covariance, and the mean probability of a row's own component."""
        rows, _ = cells.sample(SYNTHETIC, rng)
        base, whiten = self.base.factors[0], self.base.whitening[0]
        for best in most_likely_reductions(cells, rows, self.count):
            shared = whiten @ np.einsum("k,kij->ij", best.weights, best.covariances) @ whiten.T
            shared = self.shape.clear_rounding(base @ self.shape.restrict(shared) @ base.T)
            start = replace(best, covariances=np.repeat(shared[None], best.count, axis=0))
            yield start, float(softmax(start.log_joint(rows), axis=1).max(axis=1).mean())


def _move(weak: NDArray[np.bool_], weights: Array, means: Array, sizes: Array, directions: Array) -> None:
    """Move each weak cell, in place, to halve one of the others: those with the largest w_k·s_k, above the median."""
    spread = weights * sizes
    usual = float(np.median(spread))
    widest = [k for k in np.argsort(-spread) if not weak[k] and spread[k] > usual]
    for moved, wide in zip(np.flatnonzero(weak), widest, strict=False):
        step = APART * math.sqrt(sizes[wide] * means.shape[1]) * directions[moved]
        means[moved], means[wide] = means[wide] + step, means[wide] - step
        weights[moved] = weights[wide] = weights[wide] / 2.0
        sizes[moved] = sizes[wide]
    weights /= weights.sum()
    means[:] = clip_to_ball(means)
