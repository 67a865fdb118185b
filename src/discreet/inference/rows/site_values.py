"""Facts about a NumPyro distribution: its finitely many values, or its moments in closed form (control variates)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from numpyro import distributions as dist

Array = NDArray[np.float64]


def has_finite_support(site: Any) -> bool:
    """Return whether a site is a single number with finitely many values."""
    return bool(site.has_enumerate_support and site.event_shape == () and site.batch_shape == ())


def enumerate_combinations(supports: Iterable[Any], limit: int) -> list[Array] | None:
    """Return all combinations of values, an array for each support; None if there are more than ``limit``."""
    arrays = [np.asarray(support) for support in supports]
    if prod(map(len, arrays)) > limit:
        return None
    return [np.array(part) for part in zip(*product(*arrays), strict=True)]


def append_products(x: Any) -> Any:
    """Return the numbers of each row and the products of every two of them, each once."""
    i, j = np.triu_indices(x.shape[1])
    return array_namespace(x).concat([x, x[:, i] * x[:, j]], axis=1)


def compute_moments(site: Any) -> Any:
    """Return the mean and the covariance of a distribution, where they have a closed form; otherwise None."""
    if isinstance(site, dist.MixtureSameFamily | dist.MixtureGeneral):
        return _mixture_moments(site)
    if isinstance(site, dist.Independent) and site.reinterpreted_batch_ndims == len(site.event_shape) == 1:
        site, shape = site.base_dist, "independent"
    else:
        shape = "one" if site.event_shape == () and site.batch_shape == () else "vector"
    try:
        mean = jnp.atleast_1d(site.mean)
        covariance = site.covariance_matrix if shape == "vector" else jnp.diag(jnp.atleast_1d(site.variance))
    except (AttributeError, NotImplementedError):
        return None
    return mean, covariance


def _mixture_moments(site: Any) -> Any:
    """Return the moments of a mixture of vectors, from those of its components."""
    parts = getattr(site, "component_distribution", None)
    if not isinstance(parts, dist.MultivariateNormal) or len(site.event_shape) != 1:
        return None
    weights, means = site.mixing_distribution.probs, parts.mean
    mean = weights @ means
    centred = means - mean
    within = jnp.einsum(
        "k,kij->ij", weights, jnp.broadcast_to(parts.covariance_matrix, (*means.shape, means.shape[-1]))
    )
    return mean, within + jnp.einsum("k,ki,kj->ij", weights, centred, centred)
