"""The model of one Gaussian, and the priors that all models of Gaussians share.

**Priors.** A mean is normal around the centre of its column's bounds, with the half-width as its standard deviation.
The standard deviation of a column is a share of the half-width whose log-odds are normal. Its median is a fifth, a
hundredth is plausible, and a share above 1 is impossible, as it is for rows within their bounds. Correlations are
uniform over all matrices. Where no release measures the standard deviation, its median is half of the half-width, and a
tenth is unlikely: there only the prior limits the distance between the population's mean and that of the rows, and too
large a distance is the safer error.
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

from discreet.inference.measurements import Measurements
from discreet.inference.rows.uniform_priors import UniformCorrelations
from discreet.inference.rows.whitened_normal import WhitenedNormal, to_covariance
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
