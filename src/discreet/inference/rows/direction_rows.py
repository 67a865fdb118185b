"""The models of ``PCA`` and ``KMeans``: one Gaussian with its axes, and a mixture of round components with its centres.

**PCA.** Rows are one Gaussian. The principal components of a draw are the eigenvectors of its covariance, in the units
of the fit. An eigenvector has no sign, so each has the one that is nearer to the fit's. Where two eigenvalues are
close, the draws show that the releases do not tell their axes apart.

**KMeans.** Clusters are no model of rows. A mixture of Gaussians, each the same in all directions, is one whose means
are what centres estimate, where clusters are apart. Where they overlap, a centre is the mean of the rows that are
nearest to it, which is farther out than the mean of a component.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.inference.rows.component_labels import MixtureDraws
from discreet.inference.rows.gaussian_rows import Scales, build_gaussian_model, clip_to_bounds, initialize_covariances
from discreet.inference.rows.mixture_rows import build_mixture
from discreet.inference.rows.model_spec import Draws, ModelSpec

Array = NDArray[np.float64]

START_SHARE = 0.25  # of the distance to the nearest other centre: the standard deviation of a cluster to start from


def find_axes(covariances: Array, scale: Array, to: Array) -> tuple[Array, Array]:
    """Return the principal components of covariances, and the variances along them.

    Parameters
    ----------
    covariances : array of shape (…, d, d)
    scale : array of shape (d,)
        Columns are divided by it first.
    to : array of shape (k, d)
        Components that the signs agree with.

    Examples
    --------
    >>> axes, variances = find_axes(np.diag([1.0, 4.0]), np.ones(2), np.array([[0.0, -1.0]]))
    >>> axes.round(6).tolist(), variances.tolist()
    ([[0.0, -1.0]], [4.0])
    """
    values, vectors = np.linalg.eigh(covariances / scale[:, None] / scale)
    axes = np.swapaxes(vectors, -1, -2)[..., ::-1, :][..., : len(to), :]
    signs = np.where((axes * to).sum(axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
    return axes * signs + 0.0, np.asarray(values[..., ::-1][..., : len(to)])


def build_principal_axes(
    where: Scales, columns: tuple[str, ...], mean: Array, covariance: Array, components: Array, scale: Array
) -> ModelSpec:
    """Return the model of principal components, started at a fit.

    Parameters
    ----------
    where : Scales
    columns : tuple of str
    mean, covariance : array
        Of all columns, to start from.
    components : array of shape (k, d)
        The fitted ones.
    scale : array of shape (d,)
        What columns are divided by.
    """

    def report(draws: Draws) -> dict[str, Array]:
        axes, variances = find_axes(draws["θ.covariance"], scale, components)
        return {"mean": draws["θ.mean"], "components": axes, "explained_variance": variances}

    return ModelSpec(
        build_gaussian_model(where, "full"),
        {"θ.mean": clip_to_bounds(mean, where)} | initialize_covariances(covariance[None], where[1], "full"),
        report,
        {"mean": ["column"], "components": ["component", "column"], "explained_variance": ["component"]},
        {"column": columns, "component": range(len(components))},
    )


def build_clusters(where: Scales, columns: tuple[str, ...], centers: Array) -> ModelSpec:
    """Return the model of clusters, started at fitted centres.

    Parameters
    ----------
    where : Scales
    columns : tuple of str
    centers : array of shape (K, d)
    """
    count, d = centers.shape
    apart = np.linalg.norm(centers[:, None] - centers, axis=2) + np.where(np.eye(count), np.inf, 0.0)
    usual = 0.2 * float(np.exp(np.log(where[1]).mean()))
    sd = np.minimum(START_SHARE * apart.min(axis=1), usual) if count > 1 else np.array([usual])
    spreads = np.maximum(sd, 1e-3 * usual)[:, None, None] ** 2 * np.eye(d)
    fit = MixtureDraws(np.full(count, 1.0 / count), centers, spreads)
    mixture = build_mixture(where, columns, "spherical", fit)

    def report(draws: Draws) -> dict[str, Array]:
        result = mixture.report(draws)
        kept = {"cluster_centers": result["means"], "weights": result["weights"]}
        return kept | {"variances": result["covariances"], "components": result["components"]}

    dims = {
        "cluster_centers": ["cluster", "column"],
        "weights": ["cluster"],
        "variances": ["cluster"],
        "components": [],
    }
    return replace(
        mixture, report=report, dims=dims, coords={"column": columns, "cluster": mixture.coords["component"]}
    )
