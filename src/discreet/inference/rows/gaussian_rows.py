"""Models of one Gaussian and of a mixture of Gaussians, with their priors, and relabelling of mixture components.

**Priors.** A mean is normal around the centre of its column's bounds, with the half-width as its standard deviation.
The standard deviation of a column is a share of the half-width whose log-odds are normal. Its median is a fifth, a
hundredth is plausible, and a share above 1 is impossible, as it is for rows within their bounds. Correlations are
uniform over all matrices, weights over the simplex. Where no release measures the standard deviation, its median is
half of the half-width, and a tenth is unlikely: there only the prior limits the distance between the population's mean
and that of the rows, and too large a distance is the safer error.

**Label switching.** A mixture does not depend on the order of its components, so chains may differ in the order, or
change it. The components of each draw are assigned to those of a reference such that the sum of Bhattacharyya distances

    ⅛ Δᵀ S⁻¹ Δ + ½ ln(|S|/√(|Σ₁||Σ₂|)),    S = (Σ₁ + Σ₂)/2,    Δ = μ₁ − μ₂,

is least. This distance does not depend on the coordinates. The reference is the fit, so the order of a draw's
components depends on nothing but the draw and the fit, and another run has the same. (A reference that follows from all
draws, as in Stephens 2000, changes between runs where components are hard to tell apart.)

**How many components.** Releases may leave open whether two components are different. In each draw, components with a
weight of at least ``MIN_WEIGHT`` whose distance is below ``MIN_DISTANCE`` (two unit Gaussians whose means are 1.3
apart) count as one. The number of those that are left is reported, and where it is not certain, this is said. It does
not depend on labels, and neither do the mean and the covariance of all rows, which are reported as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpy.typing import NDArray
from numpyro.distributions import constraints, transforms
from scipy.optimize import linear_sum_assignment

from discreet.inference.measurements import Measurements
from discreet.inference.rows.model_spec import Draws, ModelSpec
from discreet.inference.rows.uniform_priors import UniformCorrelations, UniformWeights
from discreet.inference.rows.whitened_normal import WhitenedMixture, WhitenedNormal, to_covariance
from discreet.records import Box, Space

Array = NDArray[np.float64]

Scales = tuple[tuple[float, ...], tuple[float, ...]]  # centres and half-widths of the columns
Spread = tuple[
    float, float
]  # the median of a standard deviation over a half-width, and the standard deviation of its log-odds

MEDIAN_SHARE = 0.2
MEASURED: Spread = (MEDIAN_SHARE, 1.5)
UNMEASURED: Spread = (0.5, 1.0)
MIN_SHARE, MAX_SHARE = 1e-6, 0.98  # of a half-width, for a standard deviation to start from
MIN_WEIGHT, MIN_DISTANCE = 0.01, 0.22  # of a component that counts, and between two that are not one
CERTAIN = 0.95  # probability of the number of components


def match_components(means: Array, covariances: Array, to_means: Array, to_covariances: Array) -> NDArray[np.int64]:
    """Return for each draw which of its components is assigned to each component of a reference.

    Parameters
    ----------
    means : array of shape (draws, K, d)
    covariances : array of shape (draws, K, d, d)
    to_means : array of shape (K, d)
    to_covariances : array of shape (K, d, d)

    Returns
    -------
    array of shape (draws, K)

    Examples
    --------
    >>> places = np.array([[0.0], [5.0]])
    >>> match_components(places[None, ::-1], np.ones((1, 2, 1, 1)), places, np.ones((2, 1, 1))).tolist()
    [[1, 0]]
    """
    places = range(len(to_means))
    costs = np.stack([_distances(means, covariances, to_means[k], to_covariances[k]) for k in places], axis=1)
    return np.array([linear_sum_assignment(cost)[1] for cost in costs])  # cost: place, component


def _distances(means: Array, covariances: Array, to_mean: Array, to_covariance: Array) -> Array:
    """Return the Bhattacharyya distances of Gaussians, shape (…, d) and (…, d, d), from others that broadcast."""
    both = (covariances + to_covariance) / 2.0
    offset = means - to_mean
    mahalanobis = (offset * np.linalg.solve(both, offset[..., None])[..., 0]).sum(axis=-1)
    sizes = np.linalg.slogdet(covariances)[1] + np.linalg.slogdet(to_covariance)[1]
    return np.asarray(mahalanobis / 8.0 + (np.linalg.slogdet(both)[1] - sizes / 2.0) / 2.0)


def count_components(weights: Array, means: Array, covariances: Array) -> Array:
    """Return how many components of a mixture are different from one another.

    Parameters
    ----------
    weights, means, covariances : array
        Of shapes (…, K), (…, K, d) and (…, K, d, d).

    Examples
    --------
    >>> one = np.ones((2, 3, 1, 1))
    >>> count_components(np.full((2, 3), 1 / 3), np.array([[[0.0], [0.1], [5.0]], [[0.0], [3.0], [6.0]]]), one).tolist()
    [2.0, 3.0]
    """
    count = weights.shape[-1]
    pairs = [_distances(means, covariances, means[..., [k], :], covariances[..., [k], :, :]) for k in range(count)]
    kept = weights >= MIN_WEIGHT
    linked = (np.stack(pairs, axis=-2) < MIN_DISTANCE) & kept[..., :, None] & kept[..., None, :]
    for _ in range(count):  # what is linked through others is one as well
        linked = (linked.astype(np.int64) @ linked.astype(np.int64)) > 0
    first = ~np.any(np.tril(linked, -1), axis=-1) & kept  # not linked with an earlier one
    return np.asarray(first.sum(axis=-1), dtype=np.float64)


def describe_count(counts: Array) -> list[str]:
    """Return a sentence that says which numbers of components are probable, where it is not certain that it is K.

    >>> describe_count(np.array([2.0, 2.0, 2.0, 1.0]))[0][:71]
    'the releases do not tell how many groups of rows there are: 1 (25 %) or'
    """
    values, times = np.unique(counts, return_counts=True)
    shares = times / counts.size
    likely = shares > (1.0 - CERTAIN) / 2.0
    if shares.max() >= CERTAIN:
        return []
    each = zip(values[likely], shares[likely], strict=True)
    options = " or ".join(f"{value:.0f} ({100.0 * share:.0f} %)" for value, share in each)
    return [
        f"the releases do not tell how many groups of rows there are: {options}, by probability. Where two components "
        "are one, weights, means and covariances of single components say little; mean, covariance, score_samples and "
        "sample_predictive do not depend on them"
    ]


def relabel(
    weights: Array, means: Array, covariances: Array, to_means: Array, to_covariances: Array
) -> tuple[Array, Array, Array]:
    """Return draws with their components in the order of a reference.

    Parameters
    ----------
    weights, means, covariances : array
        Of shapes (chains, draws, K), (chains, draws, K, d) and (chains, draws, K, d, d).
    to_means, to_covariances : array
        Of shapes (K, d) and (K, d, d).
    """
    chains, draws, count = weights.shape
    flat = [part.reshape(chains * draws, *part.shape[2:]) for part in (means, covariances)]
    order = match_components(flat[0], flat[1], to_means, to_covariances).reshape(chains, draws, count)
    i, j = np.arange(chains)[:, None, None], np.arange(draws)[:, None]
    return weights[i, j, order], means[i, j, order], covariances[i, j, order]


def read_declared_scales(measured: Measurements) -> Scales:
    """Return the declared centre and half-width of each column of the layout."""
    result: dict[str, tuple[float, float]] = {}
    for one in measured.sums:
        space = Space.from_dict(one.release.declared["space"]).for_columns(len(one.columns))
        center = np.broadcast_to(np.asarray(space.center, dtype=np.float64), (len(one.columns),))
        if isinstance(space, Box):
            half = (np.asarray(space.high) - np.asarray(space.low)) / 2.0
        else:
            half = np.full(len(one.columns), space.radius)  # type: ignore[attr-defined]
        for name, middle, wide in zip(one.columns, center.tolist(), half.tolist(), strict=True):
            result.setdefault(name, (middle, wide))
    centers, halves = zip(*(result[name] for name in measured.layout.columns), strict=True)
    return centers, halves


def std_prior(half: Any, shape: tuple[int, ...], spread: Spread = MEASURED) -> Any:
    """Return the prior of standard deviations, for half-widths that broadcast to a shape."""
    median, deviation = spread
    odds = math.log(median / (1.0 - median))
    maps = [
        transforms.SigmoidTransform(),
        transforms.AffineTransform(0.0, jnp.broadcast_to(half, shape), domain=constraints.unit_interval),
    ]
    return dist.TransformedDistribution(dist.Normal(odds, deviation).expand(shape), maps).to_event(len(shape))


def sample_covariance_roots(half: Any, kind: str, count: int, spread: Spread = MEASURED) -> Any:
    """Sample the covariances of K Gaussians and return their Cholesky factors, shape (K, d, d).

    Parameters
    ----------
    half : array of shape (d,)
    kind : str
        ``"full"``, ``"tied"``, ``"diag"`` or ``"spherical"``, as scikit-learn's.
    count : int
    spread : Spread
        The prior of the standard deviations.
    """
    d = half.size
    if kind == "spherical":
        sd = numpyro.sample("θ.sd", std_prior(np.exp(np.log(half).mean()), (count,), spread))
        return sd[:, None, None] * jnp.eye(d)
    each = 1 if kind == "tied" else count
    sd = numpyro.sample("θ.sd", std_prior(half, (each, d), spread))
    correlation: Any = jnp.eye(d)
    if kind != "diag" and d > 1:
        correlation = numpyro.sample("θ.correlation", UniformCorrelations(d).expand((each,)).to_event(1))
    return jnp.broadcast_to(sd[:, :, None] * correlation, (count, d, d))


def initialize_covariances(covariances: Array, half: Sequence[float], kind: str) -> dict[str, Array]:
    """Return parameters of ``sample_covariance_roots`` near K given matrices, inside of their prior's support."""
    wide, d = np.asarray(half), covariances.shape[-1]
    sd = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
    if kind == "spherical":
        most = math.exp(float(np.log(wide).mean()))
        return {"θ.sd": np.clip(np.sqrt((sd**2).mean(axis=-1)), MIN_SHARE * most, MAX_SHARE * most)}
    each = covariances[:1] if kind == "tied" else covariances
    sd = np.clip(sd[: len(each)], MIN_SHARE * wide, MAX_SHARE * wide)
    if kind == "diag" or d == 1:
        return {"θ.sd": sd}
    unit = np.sqrt(np.diagonal(each, axis1=-2, axis2=-1)) + 1e-300
    correlation = each / unit[:, :, None] / unit[:, None, :] * (1.0 - 1e-6) + 1e-6 * np.eye(d)
    values, vectors = np.linalg.eigh(correlation)
    correlation = np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 1e-6), vectors)
    unit = np.sqrt(np.diagonal(correlation, axis1=-2, axis2=-1))
    correlation = correlation / unit[:, :, None] / unit[:, None, :]
    return {"θ.sd": sd, "θ.correlation": np.linalg.cholesky(correlation)}


def clip_to_bounds(means: Array, where: Scales) -> Array:
    """Return means clipped to the declared bounds."""
    center, half = (np.array(part) for part in where)
    return np.clip(means, center - half, center + half)


def shape_covariances(covariances: Array, kind: str) -> Array:
    """Return K full matrices, shape (…, K, d, d), in the shape of a covariance type."""
    if kind == "tied":
        return np.asarray(covariances[..., 0, :, :])
    if kind == "spherical":
        return np.asarray(covariances[..., 0, 0])
    return np.asarray(np.diagonal(covariances, axis1=-2, axis2=-1)) if kind == "diag" else covariances


def covariance_dims(kind: str, group: str) -> list[str]:
    """Return the names of the axes of covariances of a type; ``group`` names the axis of the K Gaussians."""
    columns = {"full": ["column", "other_column"], "tied": ["column", "other_column"], "diag": ["column"]}
    return ([] if kind == "tied" else [group]) + columns.get(kind, [])


@lru_cache(maxsize=32)
def build_gaussian_model(where: Scales, kind: str, spread: Spread = MEASURED) -> Callable[[], Any]:
    """Return the model of one Gaussian; ``kind`` is ``"full"`` or ``"diag"``."""
    center, half = (np.array(part) for part in where)

    def model() -> None:
        mean = numpyro.sample("θ.mean", dist.Normal(center, half).to_event(1))
        root = sample_covariance_roots(half, kind, 1, spread)[0]
        numpyro.deterministic("θ.covariance", to_covariance(root))
        numpyro.sample("row", WhitenedNormal(mean, root))

    return model


@lru_cache(maxsize=32)
def _build_mixture_model(where: Scales, kind: str, count: int) -> Callable[[], Any]:
    center, half = (np.array(part) for part in where)

    def model() -> None:
        weights: Any = jnp.ones(1)
        if count > 1:
            weights = numpyro.sample("θ.weights", UniformWeights(count))
        means = numpyro.sample("θ.means", dist.Normal(center, half).expand((count, half.size)).to_event(2))
        roots = sample_covariance_roots(half, kind, count)
        numpyro.deterministic("θ.covariances", to_covariance(roots))
        numpyro.sample("row", WhitenedMixture(weights, means, roots))

    return model


def build_mixture(
    where: Scales, columns: tuple[str, ...], kind: str, weights: Array, means: Array, covariances: Array
) -> ModelSpec:
    """Return the model of a mixture of Gaussians, started at a fit; draws are relabelled to its components.

    Parameters
    ----------
    where : Scales
    columns : tuple of str
    kind : str
        The type of the covariances.
    weights, means, covariances : array
        The fit, of shapes (K,), (K, d) and (K, d, d).
    """
    count = len(weights)
    start = {"θ.means": clip_to_bounds(means, where)} | initialize_covariances(covariances, where[1], kind)
    if count > 1:
        start["θ.weights"] = weights

    def report(draws: Draws) -> dict[str, Array]:
        drawn = draws["θ.weights"] if count > 1 else np.ones(draws["θ.means"].shape[:-1])
        shares, centers, spreads = relabel(drawn, draws["θ.means"], draws["θ.covariances"], means, covariances)
        mean = np.einsum("...k,...ki->...i", shares, centers)
        away = centers - mean[..., None, :]
        whole = np.einsum("...k,...kij->...ij", shares, spreads + away[..., :, None] * away[..., None, :])
        return {
            "weights": shares,
            "means": centers,
            "covariances": shape_covariances(spreads, kind),
            "mean": mean,
            "covariance": whole,
            "components": count_components(shares, centers, spreads),
        }

    return ModelSpec(
        _build_mixture_model(where, kind, count),
        start,
        report,
        {
            "weights": ["component"],
            "means": ["component", "column"],
            "covariances": covariance_dims(kind, "component"),
            "mean": ["column"],
            "covariance": ["column", "other_column"],
            "components": [],
        },
        {"column": columns, "other_column": columns, "component": range(count)},
        remarks=lambda reported: describe_count(reported["components"]),
    )
