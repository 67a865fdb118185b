"""Private k-means: centres from one noisy histogram where there are few columns, else by clipped Lloyd steps.

Distances are Euclidean in the data's own units. A row y of the unit ball is v = g∘y there, up to one factor for all
columns, with g the declared scale over its largest entry; centres are computed in v.

**Few columns** (``GridKMeans``). One histogram with Laplace noise, thresholded in a Haar basis (``denoised``); k-means
on its cells is free. The sum of a cluster's rows then has the noise of its cells, √(cells)·s·spread with s = 2√2/ε for
a replaced row, and no start is needed, which is what a few noisy Lloyd steps get wrong. Laplace and not Gaussian: s is
about half of √2·σ(ε, δ) at δ = 10⁻⁶. So the fit is (ε, 0)-private. The number of cells balances noise and width: M =
(0.28·N/s)^(2d/(2+d)), which is the (Nε/10)^(2d/(2+d)) of Su et al. 2016, said with s; at least 8K. Where a Lloyd step
is expected to be much finer than a cluster, two follow, clipped to the extent of each cluster; each is pooled with
what was known, weighted by inverse variances.

**More columns** (``ProjectedKMeans``). Mean and spread of all rows, then their covariance clipped to that spread; a
histogram along its main axes; k-means on its cells; and Lloyd steps in all columns, each cluster's rows relative to its
last centre and clipped to its radius. A centre on those axes has the same nearest rows in all columns as on the axes,
since the rest of the distance is the same for all centres.

**Baselines.** ``DPLloyd`` (Su et al. 2016): noisy counts and sums of each cluster, from a start by sphere packing. In
the coordinates of the unit ball, y = u/√d with u in [−1, 1]^d, one row has (a, b·y) of L1 norm a + b√d, which is d + 1
where count and coordinates weigh the same, and twice that for a replaced row (``clipped_moments``).
``joint``: the same with Gaussian noise, weighted for L2.

Every choice is a function of public numbers and earlier releases. It may import what ``models`` may, and scikit-learn
where it is needed first.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from scipy.special import erfc

from discreet.door import Curator, Query, Release
from discreet.door.queries.grid import Grid
from discreet.door.registry import registered
from discreet.em import ModelQuery, Step
from discreet.guarantees import GaussianLoss, Guarantee, LaplaceLoss, Loss, calibrate
from discreet.models.clipped_moments import ClippedMoments
from discreet.models.components import Components
from discreet.models.joint import JointMixture
from discreet.models.method import Method
from discreet.models.paper import ParameterSums
from discreet.models.released import clipped_spectrum, inside_ball, noise_of, positive_counts
from discreet.records import Ball, Block, Box

__all__ = ["ClusterSums", "DPLloyd", "GridKMeans", "ProjectedGrid", "ProjectedKMeans", "adaptive_kmeans", "denoised"]

Array = NDArray[np.float64]

FEW = 2  # columns; with three, looking for the main axes first is better already
MOST_CELLS = 2**14
FALSE_DISCOVERIES = 0.2
SPINS = 8
NARROWEST = 1e-6  # of the widest column: below it a column has no say in a distance
SMALLEST_RADIUS = 1e-4
COUNTS_AND_SUMS = (0.5, 0.5, 0.0)  # a ≥ b: a replaced row costs √2
ROUND = (0.25, 0.5, 0.25)  # 2ac ≥ b²: the same


# ---- The metric


def column_scales(space: Box | Ball) -> Array:
    """Return g: what one step in the unit ball is in the data's own units, over the widest column's."""
    scale = np.asarray(space.scale)
    return np.asarray(np.maximum(scale / scale.max(), NARROWEST))


def half_widths(space: Box | Ball) -> Array:
    """Return how far the space goes from its centre in each column, in v."""
    reach = 1.0 if isinstance(space, Ball) else 1.0 / math.sqrt(space.dimension)
    return reach * column_scales(space)


def inside_space(space: Box | Ball, points: Array) -> Array:
    """Return points of v moved into the space."""
    if isinstance(space, Ball):
        return inside_ball(points)
    return np.clip(points, -half_widths(space), half_widths(space))


def clusters(space: Box | Ball, counts: Array, centers: Array, radii: Array) -> Components:
    """Return centres in v as components whose own coordinates are (v − centre)/radius; nearest is nearest in v."""
    g = column_scales(space)
    covariances = radii[:, None, None] ** 2 * np.diag(1.0 / g**2)
    return Components(counts / counts.sum(), centers / g, covariances)


def packed_start(count: int, space: Box | Ball, rng: np.random.Generator) -> Array:
    """Return centres in v, about as far apart from each other as they fit (sphere packing, Su et al. 2016)."""
    half = half_widths(space)

    def thrown(distance: float) -> Array | None:
        border = np.maximum(half - distance / 2.0, 0.0)
        darts = inside_space(space, rng.uniform(-border, border, (50 * count, len(half))))
        found: list[int] = []
        free = np.ones(len(darts), dtype=bool)
        while free.any() and len(found) < count:
            found.append(int(free.argmax()))
            free &= ((darts - darts[found[-1]]) ** 2).sum(axis=1) >= distance**2
        return darts[found] if len(found) == count else None

    best = inside_space(space, rng.uniform(-half, half, (count, len(half))))
    low, high = 0.0, 2.0 * float(np.linalg.norm(half))
    for _ in range(12):
        centers = thrown((low + high) / 2.0)
        if centers is None:
            high = (low + high) / 2.0
        else:
            best, low = centers, (low + high) / 2.0
    return best


# ---- Queries


def _cluster_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    space = Ball(radius, center=np.zeros(d))
    found = []
    for count, weights in ((1, ROUND), (3, ROUND), (20, COUNTS_AND_SUMS), (3, lloyd_weights(d))):
        centers, radii = rng.uniform(-0.5, 0.5, (count, d)) / math.sqrt(d), 10.0 ** rng.uniform(-3.0, 0.3, count)
        components = clusters(space, np.ones(count), centers, radii)
        found.append(ClusterSums(ClippedMoments(components, 1.0, weights, "spherical", hard=True), space))
    narrow = Box(np.full(d, -radius), np.where(np.arange(d) == 0, 1e-3 * radius, radius))
    centers = packed_start(4, narrow, rng)
    components = clusters(narrow, np.ones(4), centers, np.ones(4))
    found.append(ClusterSums(ClippedMoments(components, None, lloyd_weights(d), "spherical", hard=True), narrow))
    return found


@registered(_cluster_instances)
class ClusterSums(ParameterSums):
    """Counts, sums and, where they have a weight, squared lengths of each cluster's rows."""

    name = "sums of clusters"


def _projected_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    space = Ball(radius, center=rng.standard_normal(d) * radius)
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0][: min(d, 3)]
    few = len(axes)
    return [
        ProjectedGrid(space, (4,) * few, axes, rng.uniform(-0.1, 0.1, few), rng.uniform(0.1, 1.0, few)),
        ProjectedGrid(space, (2,), axes[:1], np.zeros(1), np.full(1, 1e-3)),
    ]


@registered(_projected_instances)
@dataclass(frozen=True, eq=False)
class ProjectedGrid(Grid):
    """Counts of the cells of a grid along public directions; rows in one cell each, so the bounds are ``Grid``'s.

    The cell is found by elementwise operations alone, so it is a function of the row's own bits.

    Parameters
    ----------
    space : Box or Ball
    cells : tuple of q ints
    axes : array of shape (q, d)
        Directions, applied to rows in the unit ball.
    origin, extent : arrays of shape (q,)
        The grid goes from origin − extent to origin + extent; what is outside counts in the cell at the border.
    """

    axes: Array
    origin: Array
    extent: Array

    name = "grid along directions"

    def centers(self) -> Array:
        """Return the middle of each cell along the directions, in the order of the counts."""
        each = zip(self.origin, self.extent, self.cells, strict=True)
        axes = [origin + extent * ((2.0 * np.arange(m) + 1.0) / m - 1.0) for origin, extent, m in each]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def _numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        number = xp.zeros((y.shape[0],), dtype=xp.int64, device=device(y))
        for axis, origin, extent, m in zip(self.axes, self.origin, self.extent, self.cells, strict=True):
            place = xp.zeros((y.shape[0],), dtype=xp.float64, device=device(y))
            for j, share in enumerate(axis):
                place = place + y[:, j] * float(share)
            place = xp.floor(((place - float(origin)) / float(extent) + 1.0) * (0.5 * m))
            number = number * m + xp.astype(xp.clip(place, 0.0, float(m - 1)), xp.int64)
        return number


# ---- From a noisy histogram to centres


def _split(values: Array, axes: list[int]) -> list[Array]:
    """Return sums and differences of neighbours along each axis, over √2: the sums along all axes first."""
    parts = [values]
    for axis in axes:
        split = []
        for part in parts:
            even, odd = (np.take(part, range(start, part.shape[axis], 2), axis=axis) for start in (0, 1))
            split += [(even + odd) / math.sqrt(2.0), (even - odd) / math.sqrt(2.0)]
        parts = split
    return parts


def _joined(parts: list[Array], axes: list[int]) -> Array:
    """Undo ``_split``."""
    for axis in reversed(axes):
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [
            np.stack([(both + difference), (both - difference)], axis=axis + 1).reshape(
                [size * (2 if place == axis else 1) for place, size in enumerate(both.shape)]
            )
            / math.sqrt(2.0)
            for both, difference in pairs
        ]
    return parts[0]


def _axes(values: Array) -> list[int]:
    return [axis for axis, size in enumerate(values.shape) if size > 1]


def _details(values: Array) -> Array:
    """Return all Haar coefficients but the total."""
    found = [np.empty(0)]
    while axes := _axes(values):
        values, *details = _split(values, axes)
        found += [part.ravel() for part in details]
    return np.concatenate(found)


def _thresholded(values: Array, threshold: float) -> Array:
    axes = _axes(values)
    if not axes:
        return values
    total, *details = _split(values, axes)
    kept = [np.where(np.abs(part) > threshold, part, 0.0) for part in details]
    return _joined([_thresholded(total, threshold), *kept], axes)


def denoised(counts: Array, noise: float, total: float | None, rng: np.random.Generator) -> Array:
    """Return noisy counts of cells as counts ≥ 0 of a known total, with what is likely to be noise taken out.

    In an orthonormal Haar basis every coefficient has the same noise, and those of many cells hold much signal. Kept
    are coefficients above the least threshold at which a fifth of them or fewer are expected to be noise alone; the
    mean over shifted bases has no blocks. Then come the nearest counts that are ≥ 0 and have the total (``total``, or
    the sum). Where there is nothing but noise, the result is flat.

    Parameters
    ----------
    counts : array
        One axis a column.
    noise : float
        Standard deviation.
    total : float or None
    rng : Generator
        For the shifts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = np.kron([[0.0, 100.0], [0.0, 0.0]], np.ones((8, 8)))
    >>> found = denoised(true + rng.normal(0.0, 10.0, true.shape), 10.0, 6400.0, rng)
    >>> bool(abs(found - true).mean() < 2.0)
    True
    """

    def placed(sizes: list[int], starts: list[int]) -> tuple[Array, tuple[slice, ...]]:
        larger = np.zeros(sizes)
        where = tuple(slice(start, start + size) for start, size in zip(starts, counts.shape, strict=True))
        larger[where] = counts
        return larger, where

    least = [1 << (size - 1).bit_length() for size in counts.shape]
    scaled = np.sort(np.abs(_details(placed(least, [0] * counts.ndim)[0]))) / noise
    levels = np.arange(1.5, 5.0, 0.1)
    above = len(scaled) - np.searchsorted(scaled, levels)
    good = counts.size * erfc(levels / math.sqrt(2.0)) <= FALSE_DISCOVERIES * np.maximum(above, 1)
    threshold = noise * float(levels[good.argmax()] if good.any() else 5.0)
    mean = np.zeros(counts.shape)
    for _ in range(SPINS):
        sizes = [2 * size if size > 1 else 1 for size in least]
        starts = [int(rng.integers(0, size - own + 1)) for size, own in zip(sizes, counts.shape, strict=True)]
        larger, where = placed(sizes, starts)
        mean += _thresholded(larger, threshold)[where] / SPINS
    return _on_simplex(mean, max(float(mean.sum()) if total is None else total, 1.0))


def _on_simplex(values: Array, total: float) -> Array:
    """Return the nearest numbers ≥ 0 with this sum."""
    down = np.sort(values, axis=None)[::-1]
    shifts = (np.cumsum(down) - total) / np.arange(1, down.size + 1)
    shift = shifts[np.flatnonzero(down > shifts)[-1]]
    return np.asarray(np.maximum(values - shift, 0.0))


def weighted_kmeans(points: Array, weights: Array, count: int, rng: np.random.Generator) -> tuple[Array, NDArray[Any]]:
    """Return centres of weighted points, and the centre of each point; the best of ten starts."""
    from sklearn.cluster import KMeans

    everywhere = weights + 1e-9 * weights.sum() / len(weights)  # so that there are never fewer points than centres
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of starts that did not converge
        model = KMeans(count, n_init=10, random_state=int(rng.integers(2**31)))
        model.fit(points, sample_weight=everywhere / everywhere.mean())
    return np.asarray(model.cluster_centers_, dtype=np.float64), np.asarray(model.labels_)


def grid_size(count: int, rows: float, noise: float, dimension: int) -> int:
    """Return M; see the module."""
    balanced = max(0.28 * rows / noise, 1.0) ** (2.0 * dimension / (2.0 + dimension))
    return int(min(max(balanced, 8.0 * count, 16.0), MOST_CELLS))


def cells_along(most: int, widths: Array) -> tuple[int, ...]:
    """Return numbers of cells, at most ``most`` in all, that make the cells about as wide in each direction."""
    widest = float(widths.max())
    low, high = 1e-9 * widest, widest  # the side of a cell
    for _ in range(60):
        side = math.sqrt(low * high)
        cells = np.maximum(1.0, np.round(widths / side))
        low, high = (side, high) if math.log(most) < float(np.log(cells).sum()) else (low, side)
    numbers = np.maximum(1, np.round(widths / high).astype(int))
    if numbers.max() == 1:  # a grid has two cells or more
        numbers[widths.argmax()] = 2
    return tuple(int(number) for number in numbers)


# ---- Methods


@dataclass(frozen=True)
class _Found:
    """Clusters found in a histogram: rows, centres, mean squared distance and extent of each, variance of a centre."""

    counts: Array
    centers: Array
    squares: Array
    extents: Array
    variances: Array


def _found(points: Array, release: Release, side: float, count: int, rng: np.random.Generator) -> _Found:
    noise = noise_of(release, "counts")
    total = float(release.size.units) if release.size.complete and release.size.units is not None else None
    cells = denoised(release["counts"], noise, total, rng).ravel()
    centers, labels = weighted_kmeans(points, cells, count, rng)
    squared = ((points - centers[labels]) ** 2).sum(axis=1)
    rows = np.maximum(np.bincount(labels, cells, count), 1.0)
    squares = np.bincount(labels, cells * squared, count) / rows + side**2 / 12.0
    extents = np.zeros(count)
    np.maximum.at(extents, labels, np.where(cells > 0.0, np.sqrt(squared), 0.0))
    variances = noise**2 * np.bincount(labels, squared, count) / rows**2 + side**2 / 12.0
    return _Found(rows, centers, squares, extents + side, variances)


def _counting(space: Box | Ball) -> Grid:
    """Return two cells, whose counts sum to the number of rows."""
    widths = half_widths(space)
    return Grid(space, 1 + (np.arange(len(widths)) == widths.argmax()))


@dataclass(frozen=True)
class GridKMeans(Method):
    """A histogram, k-means on its cells, and perhaps Lloyd steps.

    Parameters
    ----------
    count : int
        K.
    noise : float
        The standard deviation of a count that has the whole budget.
    rows : int or None
        The number of rows where it is public. Else a twentieth of the budget counts them.
    steps : int
        Of Lloyd, after the histogram; a tenth of the budget each, or half of it for all.
    """

    count: int
    noise: float
    rows: int | None
    steps: int

    @property
    def shares(self) -> list[float]:
        """Of ε: for the number of rows, the histogram, the steps."""
        counting = [] if self.rows is not None else [0.05]
        each = min(0.1, 0.5 / self.steps) if self.steps else 0.0
        return [*counting, 1.0 - sum(counting) - self.steps * each, *[each] * self.steps]

    def losses(self, promise: Guarantee) -> tuple[Loss, ...]:
        """Return losses of Laplace noise whose ε sum to the promise's."""
        scenario = [LaplaceLoss(share, promise.neighbors) for share in self.shares]
        return calibrate(promise, scenario, "linear").losses

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return the clusters."""
        releases: list[Release] = []
        rows: float | None = self.rows
        if rows is None:
            releases.append(next(measures)(_counting(space)))
            rows = max(float(releases[0]["counts"].sum()), 1.0)
        half = half_widths(space)
        noise = self.noise / self.shares[len(releases)]
        grid = Grid(space, cells_along(grid_size(self.count, rows, noise, space.dimension), half))
        releases.append(next(measures)(grid))
        side = float((2.0 * half / np.array(grid.cells)).max())
        found = _found(grid.centers() * column_scales(space), releases[-1], side, self.count, rng)
        components = clusters(space, found.counts, inside_space(space, found.centers), found.extents)
        variances = found.variances
        for measure in measures:
            query = ClusterSums(ClippedMoments(components, 1.0, COUNTS_AND_SUMS, "spherical", hard=True), space)
            releases.append(measure(query))
            components, variances = _pooled(space, components, found.extents, variances, releases[-1])
        return components, releases


def _pooled(
    space: Box | Ball, components: Components, radii: Array, variances: Array, release: Release
) -> tuple[Components, Array]:
    """Return centres between the last ones and what a Lloyd step says, and their variance a column."""
    counts = positive_counts(release["counts"], release, noise_of(release, "counts"))
    moves = radii[:, None] * inside_ball(release["first"] / counts[:, None])
    new = (radii * noise_of(release, "first") / counts) ** 2
    gain = variances / (variances + new)
    centers = components.means * column_scales(space) + gain[:, None] * moves
    return clusters(space, counts, inside_space(space, centers), radii), gain * new


@dataclass(frozen=True)
class ProjectedKMeans(Method):
    """The shape of all rows, a histogram along its main axes, k-means on its cells, and Lloyd steps.

    Parameters
    ----------
    count : int
        K.
    noise : float
        The standard deviation of a count that has the whole budget.
    steps : int
        Of Lloyd.
    """

    count: int
    noise: float
    steps: int

    @property
    def shares(self) -> list[float]:
        """Of Σμ²: spread, covariance, histogram, and the steps, each the same."""
        return [0.05, 0.15, 0.3, *[0.5 / self.steps] * self.steps]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return the clusters."""
        releases: list[Release] = []

        def measured(query: Query) -> Release:
            releases.append(next(measures)(query))
            return releases[-1]

        g, d = column_scales(space), space.dimension
        middle, spread = _round_shape(space, measured)
        rows, middle, covariance = _full_shape(space, middle, spread, measured)
        values, vectors = np.linalg.eigh(covariance)
        few = min(3, d, max(1, self.count - 1))
        main, axes = values[::-1][:few], vectors.T[::-1][:few]
        rest = max(float(values.sum() - main.sum()), 0.0)

        farthest = 1.0 if isinstance(space, Ball) else np.abs(axes) @ half_widths(space)
        reach = np.minimum(3.0 * np.sqrt(main), 2.0 * farthest)
        noise = self.noise / math.sqrt(self.shares[2])
        cells = cells_along(grid_size(self.count, rows, noise, few), reach)
        grid = ProjectedGrid(space, cells, axes * g, axes @ middle, reach)
        side = float((2.0 * reach / np.array(cells)).max())
        found = _found(grid.centers(), measured(grid), side, self.count, rng)

        mean = inside_space(space, middle + (found.centers - axes @ middle) @ axes)
        counts, spreads = found.counts, np.sqrt(found.squares + rest)
        noise = self.noise / math.sqrt(self.shares[3] * ROUND[1])  # of the sums to come
        for step in range(self.steps):
            radii = _radii(spreads, math.sqrt(d) * noise / counts)
            components = clusters(space, counts, mean, radii)
            query = ClusterSums(ClippedMoments(components, 1.0, ROUND, "spherical", hard=True), space)
            counts, moves, spreads = _moved(radii, measured(query))
            settled = max(0, 2 * step - self.steps + 2) // 2  # the later centres have: their mean has less noise
            mean = inside_space(space, mean + moves / (1.0 + settled))
        return clusters(space, counts, mean, radii), releases


def _radii(spreads: Array, errors: Array) -> Array:
    """Return radii to clip to: from 1.5 spreads up to 5, as long as the error of a centre is below 0.05 of a spread."""
    return np.asarray(np.maximum(spreads * np.clip(0.05 / errors, 1.5, 5.0), SMALLEST_RADIUS))


def _alone(space: Box | Ball, center: Array, radius: float, shape: str, weights: tuple[float, float, float]) -> Query:
    """Return the moments of all rows in the ball of this radius around a point of v."""
    components = clusters(space, np.ones(1), center[None, :], np.full(1, radius))
    return ClusterSums(ClippedMoments(components, 1.0, weights, shape, hard=True), space)


def _round_shape(space: Box | Ball, measured: Step) -> tuple[Array, float]:
    """Return the mean of all rows, and their root mean squared distance to it, not below what noise lets us see."""
    reach = 1.0 if isinstance(space, Ball) else float(np.linalg.norm(half_widths(space)))
    release = measured(_alone(space, np.zeros(space.dimension), reach, "spherical", ROUND))
    rows = positive_counts(release["counts"], release, noise_of(release, "counts"))[0]
    mean = _shrunk(release["first"][0] / rows, noise_of(release, "first") / rows)
    square = float(release["second"][0]) / rows - float(mean @ mean)
    least = 2.0 * noise_of(release, "second") / rows
    return inside_space(space, reach * mean), reach * math.sqrt(min(max(square, 0.0) + least, 1.0))


def _shrunk(values: Array, noise: float | Array) -> Array:
    """Return noisy vectors in the unit ball, each shrunk by the share of noise in its squared length (James, Stein)."""
    lengths = np.maximum((values**2).sum(axis=-1, keepdims=True), 1e-300)
    return inside_ball(values * np.maximum(0.0, 1.0 - values.shape[-1] * noise**2 / lengths))


def _full_shape(space: Box | Ball, middle: Array, spread: float, measured: Step) -> tuple[float, Array, Array]:
    """Return rows, mean and covariance, of the rows within two and a half times the spread."""
    radius = max(2.5 * spread, SMALLEST_RADIUS)
    release = measured(_alone(space, middle, radius, "full", (0.2, 0.3, 0.5)))
    rows = positive_counts(release["counts"], release, noise_of(release, "counts"))[0]
    mean = _shrunk(release["first"][0] / rows, noise_of(release, "first") / rows)
    d = len(mean)
    flat = np.eye(d) * (spread / radius) ** 2 / d
    differences = release["second"][0] / rows - np.outer(mean, mean) - flat
    expected = d * (d + 1) / 2.0 * (noise_of(release, "second") / rows) ** 2
    kept = max(0.0, 1.0 - expected / max(float((differences**2).sum()), 1e-300))
    covariance = clipped_spectrum(flat + kept * differences, 1e-6, 1.0)
    return float(rows), inside_space(space, middle + radius * mean), radius**2 * covariance


def _moved(radii: Array, release: Release) -> tuple[Array, Array, Array]:
    """Return counts, moves of the centres and spreads after a Lloyd step. Where there is only noise, a centre stays."""
    counts = positive_counts(release["counts"], release, noise_of(release, "counts"))
    means, noise = release["first"] / counts[:, None], noise_of(release, "first") / counts[:, None]
    moves = _shrunk(means, noise)
    squares = release["second"] / counts - (moves**2).sum(axis=1) + 2.0 * noise_of(release, "second") / counts
    return counts, radii[:, None] * moves, radii * np.sqrt(np.clip(squares, 0.01, 0.6))


def adaptive_kmeans(count: int, curator: Curator, promise: Guarantee, steps: int | None) -> Method:
    """Return the method for these public numbers.

    Parameters
    ----------
    count : int
        K.
    curator : Curator
        Asked for what is public: space, size, and what noise a loss means. Nothing is spent.
    promise : Guarantee
    steps : int or None
        Lloyd steps; None chooses.
    """
    space, rows = curator.space, curator.size.units

    def noise_at(loss: Loss) -> float:
        law = curator.plan(_counting(space), loss).law
        assert law is not None
        return math.sqrt(law.variance)

    noise = noise_at(LaplaceLoss(promise.epsilon, promise.neighbors))
    d = space.dimension
    if d <= FEW:
        if steps is None:
            # A Lloyd step at a tenth of the budget has noise √d·10·s·(1 + √d) on K/N of a cluster's extent.
            coarse = math.inf if rows is None else 10.0 * noise * (d + math.sqrt(d)) * count / max(rows, 1)
            steps = 2 if coarse <= 0.05 else 0
        return GridKMeans(count, noise, rows, steps)
    gaussian = calibrate(promise, GaussianLoss(1.0, promise.neighbors)).losses[0]
    return ProjectedKMeans(count, noise_at(gaussian), 4 if steps is None else max(steps, 1))


def lloyd_weights(dimension: int) -> tuple[float, float, float]:
    """Return a², b², 0 with count and coordinates in the ratio of Su et al. 2016, ∛(4d·0.225²) : 1 in [−1, 1]^d."""
    ratio = (4.0 * dimension * 0.225**2) ** (1.0 / 3.0)
    a2 = ratio**2 / (ratio**2 + dimension)  # b·y = (b/√d)·u
    return a2, 1.0 - a2, 0.0


def lloyd_steps(count: int, dimension: int, rows: int | None, epsilon: float) -> int:
    """Return the number of iterations of Su et al. 2016, ε/ε_m between 2 and 7; 5 where nobody knows the rows."""
    if rows is None:
        return 5
    ratio = (4.0 * dimension * 0.225**2) ** (1.0 / 3.0)
    least = math.sqrt(500.0 * count**3 / max(rows, 1) ** 2 * (dimension + ratio) ** 3)
    return int(min(max(epsilon / least, 2.0), 7.0))


@dataclass(frozen=True)
class DPLloyd(Method):
    """Lloyd's iterations on noisy counts and sums, from a start that knows nothing of the rows.

    Parameters
    ----------
    count, steps : int
    weights : tuple of three floats
        a², b² and 0 of the statistic.
    composition : str
        ``"linear"``: Laplace noise, ε shared equally. ``"zcdp"``: Gaussian noise, set by zCDP. ``"exact"``: Gaussian
        noise, composed exactly.
    """

    count: int
    steps: int
    weights: tuple[float, float, float]
    composition: str

    @property
    def shares(self) -> list[float]:
        """Every step the same."""
        return [1.0 / self.steps] * self.steps

    def losses(self, promise: Guarantee) -> tuple[Loss, ...]:
        """Return the same loss for each step."""
        kind = LaplaceLoss if self.composition == "linear" else GaussianLoss
        return calibrate(promise, [kind(1.0, promise.neighbors)] * self.steps, self.composition).losses

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Run the loop; centres outside of the space are moved into it."""
        model = JointMixture(self.count, "spherical", True, weights=self.weights, name="k-means")
        even, g = np.ones(self.count), column_scales(space)
        components = clusters(space, even, packed_start(self.count, space, rng), even)
        releases = []
        for measure in measures:
            releases.append(measure(ModelQuery(model, components, space)))
            found = model.maximize(components, releases[-1])
            components = clusters(space, found.weights, inside_space(space, found.means * g), even)
        return components, releases
