"""The model of factor analysis: rows are N(mean, WWᵀ + diag(ψ)), with loadings W up to a rotation.

**Parameters.** W = diag(√ψ)·Z: loadings in units of each column's own noise. Z is lower triangular with a positive
diagonal, for an order of the columns in which the fit's Z is far from singular. Exactly one rotation of W has this
form.

**Prior.** Entries of Z below the diagonal are N(0, s²), and the j-th on it is s times the root of a χ² variate with
k − j + 1 degrees of freedom. This is the triangular form of a matrix of independent N(0, s²) entries (Bartlett's
decomposition; Leung and Drton 2016), whose distribution is invariant under rotations. So the distribution of ZZᵀ does
not depend on the order of the columns: the order is a choice of coordinates, and the prior does not depend on the
releases. √ψ has the prior of a standard deviation.

**Report.** The loadings of each draw are rotated to be nearest to the fit's (orthogonal Procrustes), in units of the
noise. The covariance WWᵀ + diag(ψ) and ψ do not depend on the rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpy.typing import NDArray
from scipy.linalg import qr

from discreet.inference.rows.gaussian_rows import MAX_SHARE, MIN_SHARE, Scales, clip_to_bounds, std_prior
from discreet.inference.rows.model_spec import Draws, ModelSpec
from discreet.inference.rows.uniform_priors import SquaredLengths
from discreet.inference.rows.whitened_normal import WhitenedNormal

Array = NDArray[np.float64]

SIGNAL_STD = 3.0  # s: a loading of one standard deviation explains nine tenths of a column's variance
MIN_CORNER = 1e-3  # of (Z_jj/s)², to start from


@lru_cache(maxsize=32)
def _build_factor_model(where: Scales, order: tuple[int, ...], count: int, centered: bool) -> Callable[[], Any]:
    center, half = (np.array(part) for part in where)
    d, places = half.size, np.argsort(order)
    below = np.tril_indices(d, -1, count)
    freedom = [count - j for j in range(count)]

    def model() -> None:
        mean = numpyro.sample("θ.mean", dist.Normal(center, half).to_event(1)) if centered else jnp.asarray(center)
        noise = numpyro.sample("θ.noise", std_prior(half, (d,)))
        corner = numpyro.sample("θ.corner", SquaredLengths(freedom).to_event(1))
        z = jnp.zeros((d, count)).at[np.arange(count), np.arange(count)].set(SIGNAL_STD * jnp.sqrt(corner))
        if below[0].size:
            rest = numpyro.sample("θ.below", dist.Normal(0.0, SIGNAL_STD).expand((below[0].size,)).to_event(1))
            z = z.at[below].set(rest)
        loadings = numpyro.deterministic("θ.loadings", noise[:, None] * z[places])
        covariance = numpyro.deterministic("θ.covariance", loadings @ loadings.T + jnp.diag(noise**2))
        numpyro.sample("row", WhitenedNormal(mean, jnp.linalg.cholesky(covariance)))

    return model


def rotate_to(loadings: Array, noise: Array, to: Array) -> Array:
    """Return loadings in the rotation that is nearest to given loadings, in units of the noise.

    Parameters
    ----------
    loadings : array of shape (…, d, k)
    noise : array of shape (…, d)
        √ψ.
    to : array of shape (d, k)

    Examples
    --------
    >>> rotate_to(np.array([[0.0, -2.0], [1.0, 0.0]]), np.ones(2), np.array([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    cross = np.swapaxes(loadings / noise[..., None], -1, -2) @ (to / noise[..., None])
    left, _, right = np.linalg.svd(cross)
    return np.asarray(loadings @ (left @ right))


def build_factor_analysis(
    where: Scales, columns: tuple[str, ...], mean: Array | None, loadings: Array, noise_variance: Array
) -> ModelSpec:
    """Return the model of factor analysis, started at a fit.

    Parameters
    ----------
    where : Scales
    columns : tuple of str
    mean : array of shape (d,), or None
        None where the mean is declared to be the centre of the bounds.
    loadings : array of shape (d, k)
    noise_variance : array of shape (d,)
    """
    d, count = loadings.shape
    noise = np.sqrt(noise_variance)
    _, _, chosen = qr((loadings / noise[:, None]).T, pivoting=True, mode="economic")
    order = tuple(int(place) for place in chosen)
    own = np.clip(noise, MIN_SHARE * np.array(where[1]), MAX_SHARE * np.array(where[1]))
    triangle = np.linalg.qr((loadings / own[:, None])[list(order)].T)[1].T
    signs = np.where(np.diagonal(triangle) < 0.0, -1.0, 1.0)
    triangle = triangle * signs
    start = {"θ.noise": own, "θ.corner": np.maximum((np.diagonal(triangle) / SIGNAL_STD) ** 2, MIN_CORNER)}
    below = np.tril_indices(d, -1, count)
    if below[0].size:
        start["θ.below"] = triangle[below]
    if mean is not None:
        start["θ.mean"] = clip_to_bounds(mean, where)

    def report(draws: Draws) -> dict[str, Array]:
        rotated = rotate_to(draws["θ.loadings"], draws["θ.noise"], loadings)
        center = {} if mean is None else {"mean": draws["θ.mean"]}
        return center | {
            "loadings": np.swapaxes(rotated, -1, -2),
            "noise_variance": draws["θ.noise"] ** 2,
            "covariance": draws["θ.covariance"],
        }

    axes = {} if mean is None else {"mean": ["column"]}
    return ModelSpec(
        _build_factor_model(where, order, count, mean is not None),
        start,
        report,
        axes
        | {
            "loadings": ["factor", "column"],
            "noise_variance": ["column"],
            "covariance": ["column", "other_column"],
        },
        {"column": columns, "other_column": columns, "factor": range(count)},
    )
