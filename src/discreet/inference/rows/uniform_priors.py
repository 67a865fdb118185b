"""Uniform priors of weights and correlations that JAX compiles quickly.

They are drawn from normal and exponential variates. NumPyro draws the same distributions from gamma variates, whose
rejection loops take long to compile, again for each shape.

*Correlations.* The Cholesky factor of a uniform correlation matrix of d columns has independent rows, and row i (from
0) is (y·u, √(1 − y²)) with u uniform on the sphere of i coordinates and y² ~ Beta(i/2, (d + 1 − i)/2) (the onion method
of Lewandowski, Kurowicka and Joe 2009, at η = 1). So a row has the distribution of the first i coordinates of a uniform
unit vector of d + 1 coordinates, followed by the length of the other coordinates.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist


@partial(jax.jit, static_argnums=(1, 2))
def _correlations(key: Any, shape: tuple[int, ...], d: int) -> Any:
    normal = jax.random.normal(key, (*shape, d, d + 1))
    unit = normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)
    rest = jnp.sqrt(jnp.cumsum(unit[..., ::-1] ** 2, axis=-1)[..., ::-1])
    return jnp.tril(unit[..., :d], -1) + jnp.eye(d) * rest[..., :d]


@partial(jax.jit, static_argnums=1)
def _weights(key: Any, shape: tuple[int, ...]) -> Any:
    exponentials = jax.random.exponential(key, shape)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


class UniformCorrelations(dist.LKJCholesky):  # type: ignore[misc]
    """The Cholesky factor of a correlation matrix, uniform over all of them.

    Parameters
    ----------
    dimension : int

    Examples
    --------
    >>> import jax
    >>> root = UniformCorrelations(3).sample(jax.random.key(0))
    >>> (root @ root.T).diagonal().round(4).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension, 1.0)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Return draws."""
        return _correlations(key, (*sample_shape, *self.batch_shape), self.dimension)


class UniformWeights(dist.Dirichlet):  # type: ignore[misc]
    """Weights that sum to 1, uniform over the simplex.

    Parameters
    ----------
    count : int
    """

    def __init__(self, count: int) -> None:
        super().__init__(jnp.ones(count))

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Return draws."""
        return _weights(key, (*sample_shape, *self.batch_shape, *self.event_shape))


class SquaredLengths(dist.Chi2):  # type: ignore[misc]
    """Independent χ² variates, each with an integer number of degrees of freedom.

    Parameters
    ----------
    freedom : sequence of int
    """

    def __init__(self, freedom: Any) -> None:
        self.largest = max(freedom)
        super().__init__(jnp.asarray(freedom, dtype=float))

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Return draws."""
        squares = jax.random.normal(key, (*sample_shape, *self.batch_shape, self.largest)) ** 2
        return jnp.where(jnp.arange(self.largest) < self.df[..., None], squares, 0.0).sum(axis=-1)
