"""Rows as functions of uniform numbers, so that evenly spread (quasi-random) numbers give evenly spread rows.

An average over rows that are drawn one by one has an error of 1/√S. Where a row is a smooth function of a few uniform
numbers, scrambled Sobol points have an error of nearly 1/S (Owen 1997), and the average is unbiased for any function.
Its error is estimated from averages over several independent scrambles, which are independent of one another.

A site of a model is such a function if it has finitely many values, an inverse distribution function, or is Gaussian or
a mixture of such sites. Other models draw independent rows, whose averages over equal parts are independent as well.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from numpy.typing import NDArray
from numpyro import distributions as dist
from scipy.stats import qmc

from discreet.inference.rows.site_values import has_finite_support

Array = NDArray[np.float64]

BITS = 30  # of a Sobol point
MAX_DIMENSION = 1024  # uniform numbers of a row


def uniforms_of_site(site: Any) -> int | None:
    """Return how many uniform numbers a draw of a site is a function of; None if it is not known as one.

    >>> [uniforms_of_site(site) for site in (dist.Normal(0.0, 1.0), dist.Bernoulli(0.3), dist.Poisson(2.0))]
    [1, 1, None]
    """
    if hasattr(site, "from_uniforms"):
        return int(site.uniforms)
    if has_finite_support(site):
        return 1
    if isinstance(site, dist.MultivariateNormal) and site.batch_shape == ():
        return int(site.event_shape[0])
    if isinstance(site, dist.MixtureSameFamily) and site.batch_shape == ():
        part = site.component_distribution
        one = isinstance(part, dist.MultivariateNormal) or _has_quantiles(part)
        return 1 + math.prod(site.event_shape) if one else None
    if site.is_discrete or not _has_quantiles(site):
        return None
    return int(math.prod((*site.batch_shape, *site.event_shape)))


def from_uniforms(site: Any, u: Any) -> Any:
    """Return the draw of a site that belongs to uniform numbers.

    >>> import jax.numpy as jnp
    >>> float(from_uniforms(dist.Normal(3.0, 1.0), jnp.array([0.5]))), int(from_uniforms(dist.Bernoulli(0.3), [0.8]))
    (3.0, 1)
    """
    u = jnp.asarray(u)
    if hasattr(site, "from_uniforms"):
        return site.from_uniforms(u)
    if has_finite_support(site):
        values = site.enumerate_support()
        return values[choose(jnp.exp(site.log_prob(values)), u[0])]
    if isinstance(site, dist.MixtureSameFamily):
        each = _quantiles(site.component_distribution, u[1:])
        return each[choose(site.mixing_distribution.probs, u[0])]
    return _quantiles(site, u)


def choose(probabilities: Any, u: Any) -> Any:
    """Return the index whose interval of the cumulated probabilities has u in it."""
    return jnp.sum(u > jnp.cumsum(probabilities)[:-1])


def _has_quantiles(site: Any) -> bool:
    while isinstance(site, dist.Independent):
        site = site.base_dist
    return type(site).icdf is not dist.Distribution.icdf


def _quantiles(site: Any, u: Any) -> Any:
    """Return values of independent numbers by their inverse distribution functions, or of Gaussian vectors."""
    if isinstance(site, dist.MultivariateNormal):
        return site.loc + site.scale_tril @ ndtri(u)
    shape = (*site.batch_shape, *site.event_shape)
    while isinstance(site, dist.Independent):
        site = site.base_dist
    return site.icdf(u.reshape(shape) if math.prod(shape) == u.size else u)


@lru_cache(maxsize=8)
def spread_evenly(count: int, dimension: int, seed: int) -> Array:
    """Return scrambled Sobol points in the open unit cube, shape (count, dimension); ``count`` is a power of two."""
    points = qmc.Sobol(dimension, scramble=True, bits=BITS, seed=np.random.default_rng(seed))
    return np.asarray(points.random_base2(count.bit_length() - 1) + 0.5 ** (BITS + 1))
