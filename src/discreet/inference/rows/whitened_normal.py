"""Gaussian distributions whose log-density is one matrix product: fast for thousands of rows at every sampler step.

Let P be the inverse of a Cholesky factor L, computed once. Then ln N(x; μ, LLᵀ) = ln|P| − ½‖Px − Pμ‖² − ½d·ln 2π, and
for many rows or several Gaussians Px is one product. Triangular solves for one row at a time are many times slower on a
CPU. The derivative of the inverse is −P·dL·P, two more products.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import logsumexp, ndtri
from numpyro.distributions import constraints

from discreet.inference.rows.quasi_random import choose


@jax.custom_jvp
def _inverse(root: Any) -> Any:
    """Return the inverse of lower triangular matrices."""
    return solve_triangular(root, jnp.broadcast_to(jnp.eye(root.shape[-1]), root.shape), lower=True)


@_inverse.defjvp
def _inverse_jvp(primals: Any, tangents: Any) -> Any:
    inverse = _inverse(*primals)
    return inverse, -inverse @ tangents[0] @ inverse


def _log_densities(x: Any, locs: Any, roots: Any) -> Any:
    """Return the log-density of one vector under each of K Gaussians, shape (K,)."""
    count, d = locs.shape
    inverses = _inverse(roots)
    along = (inverses.reshape(count * d, d) @ x).reshape(count, d) - jnp.einsum("kij,kj->ki", inverses, locs)
    sizes = jnp.log(jnp.diagonal(inverses, axis1=-2, axis2=-1)).sum(axis=-1)
    return sizes - 0.5 * (along**2).sum(axis=-1) - 0.5 * d * math.log(2.0 * math.pi)


@jax.jit
def _draw(key: Any, place: Any, locs: Any, roots: Any) -> Any:
    """Return a draw from one of K Gaussians."""
    return locs[place] + roots[place] @ jax.random.normal(key, locs.shape[1:], locs.dtype)


@jax.jit
def to_covariance(roots: Any) -> Any:
    """Return LLᵀ for Cholesky factors L."""
    return roots @ jnp.swapaxes(roots, -1, -2)


class _VectorDistribution(dist.Distribution):  # type: ignore[misc]
    """A distribution of one vector with known moments."""

    support = constraints.real_vector

    def _log_density(self, value: Any) -> Any:
        raise NotImplementedError

    def _sample_one(self, key: Any) -> Any:
        raise NotImplementedError

    def from_uniforms(self, u: Any) -> Any:
        """Return the vector that belongs to so many independent uniform numbers as ``uniforms`` says."""
        raise NotImplementedError

    @property
    def uniforms(self) -> int:
        """The number of uniform numbers that a vector is a function of."""
        return int(self.event_shape[0])

    def log_prob(self, value: Any) -> Any:
        """Return the log-density of one vector, or of several."""
        value = jnp.asarray(value)
        flat = value.reshape(-1, value.shape[-1])
        return jax.vmap(self._log_density)(flat).reshape(value.shape[:-1])

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Return draws of shape (*sample_shape, d)."""
        if not sample_shape:
            return self._sample_one(key)
        keys = jax.random.split(key, math.prod(sample_shape))
        return jax.vmap(self._sample_one)(keys).reshape(*sample_shape, *self.event_shape)

    @property
    def variance(self) -> Any:
        """The variance of each number."""
        return jnp.diagonal(self.covariance_matrix)


class WhitenedNormal(_VectorDistribution):
    """A Gaussian vector.

    Parameters
    ----------
    loc : array of shape (d,)
    scale_tril : array of shape (d, d)
        The lower Cholesky factor of the covariance.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> one = WhitenedNormal(jnp.array([1.0, 2.0]), jnp.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> round(float(one.log_prob(jnp.array([1.0, 2.0]))), 3)
    -2.531
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector,
        "scale_tril": constraints.lower_cholesky,
    }
    reparametrized_params: ClassVar[list[str]] = ["loc", "scale_tril"]

    def __init__(self, loc: Any, scale_tril: Any, *, validate_args: bool = False) -> None:
        self.loc, self.scale_tril = jnp.asarray(loc), jnp.asarray(scale_tril)
        super().__init__((), self.loc.shape, validate_args=validate_args)

    def _log_density(self, value: Any) -> Any:
        return _log_densities(value, self.loc[None], self.scale_tril[None])[0]

    def _sample_one(self, key: Any) -> Any:
        return _draw(key, 0, self.loc[None], self.scale_tril[None])

    def from_uniforms(self, u: Any) -> Any:
        """Return μ + Lε, where ε has the quantiles of normal variates."""
        return self.loc + self.scale_tril @ ndtri(u)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return to_covariance(self.scale_tril)


class WhitenedMixture(_VectorDistribution):
    """A mixture of Gaussian vectors, the component summed over.

    Parameters
    ----------
    weights : array of shape (K,)
    locs : array of shape (K, d)
    scale_trils : array of shape (K, d, d)

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> two = WhitenedMixture(jnp.array([0.5, 0.5]), jnp.array([[0.0], [4.0]]), jnp.ones((2, 1, 1)))
    >>> round(float(two.log_prob(jnp.array([2.0]))), 3), float(two.mean[0]), float(two.covariance_matrix[0, 0])
    (-2.919, 2.0, 5.0)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "weights": constraints.simplex,
        "locs": constraints.real_matrix,
        "scale_trils": constraints.independent(constraints.lower_cholesky, 1),
    }

    def __init__(self, weights: Any, locs: Any, scale_trils: Any, *, validate_args: bool = False) -> None:
        self.weights, self.locs, self.scale_trils = jnp.asarray(weights), jnp.asarray(locs), jnp.asarray(scale_trils)
        super().__init__((), self.locs.shape[-1:], validate_args=validate_args)

    def _log_density(self, value: Any) -> Any:
        return logsumexp(jnp.log(self.weights) + _log_densities(value, self.locs, self.scale_trils))

    def _sample_one(self, key: Any) -> Any:
        which, where = jax.random.split(key)
        return _draw(where, jax.random.categorical(which, jnp.log(self.weights)), self.locs, self.scale_trils)

    @property
    def uniforms(self) -> int:
        """One uniform number chooses the component."""
        return 1 + int(self.event_shape[0])

    def from_uniforms(self, u: Any) -> Any:
        """Return a vector of the component that the first number chooses."""
        place = choose(self.weights, u[0])
        return self.locs[place] + self.scale_trils[place] @ ndtri(u[1:])

    @property
    def mixing_distribution(self) -> Any:
        """The distribution of the component."""
        return dist.Categorical(self.weights)

    def component_sample(self, key: Any) -> Any:
        """Return a draw from each component, shape (K, d), as a smooth function of means and factors."""
        return self.locs + jnp.einsum("kij,kj->ki", self.scale_trils, jax.random.normal(key, self.locs.shape))

    @property
    def mean(self) -> Any:
        """The mean over the components."""
        return self.weights @ self.locs

    @property
    def covariance_matrix(self) -> Any:
        """The mean covariance of the components, plus the covariance of their means."""
        centred = self.locs - self.mean
        within = jnp.einsum("k,kij,klj->il", self.weights, self.scale_trils, self.scale_trils)
        return within + jnp.einsum("k,ki,kj->ij", self.weights, centred, centred)


class WhitenedChoice(_VectorDistribution):
    """One of several Gaussians, chosen by index. All of them are inverted once, and not again for each row.

    Parameters
    ----------
    place : int
    locs : array of shape (K, d)
    scale_trils : array of shape (K, d, d)

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> second = WhitenedChoice(1, jnp.array([[0.0], [4.0]]), jnp.ones((2, 1, 1)))
    >>> round(float(second.log_prob(jnp.array([4.0]))), 3)
    -0.919
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "place": constraints.nonnegative_integer,
        "locs": constraints.real_matrix,
        "scale_trils": constraints.independent(constraints.lower_cholesky, 1),
    }

    def __init__(self, place: Any, locs: Any, scale_trils: Any, *, validate_args: bool = False) -> None:
        self.place, self.locs, self.scale_trils = jnp.asarray(place), jnp.asarray(locs), jnp.asarray(scale_trils)
        super().__init__((), self.locs.shape[-1:], validate_args=validate_args)

    def _log_density(self, value: Any) -> Any:
        chosen = jax.nn.one_hot(self.place, len(self.locs), dtype=self.locs.dtype)
        return chosen @ _log_densities(value, self.locs, self.scale_trils)

    def _sample_one(self, key: Any) -> Any:
        return _draw(key, self.place, self.locs, self.scale_trils)

    def from_uniforms(self, u: Any) -> Any:
        """Return μ + Lε of the chosen Gaussian."""
        return self.locs[self.place] + self.scale_trils[self.place] @ ndtri(u)

    @property
    def has_rsample(self) -> bool:
        """True: given the index, a draw is a smooth function of means and factors."""
        return True

    @property
    def mean(self) -> Any:
        """The mean of the chosen Gaussian."""
        return self.locs[self.place]

    @property
    def covariance_matrix(self) -> Any:
        """The covariance of the chosen Gaussian."""
        return to_covariance(self.scale_trils[self.place])
