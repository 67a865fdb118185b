"""Covariances in the shapes of scikit-learn's ``covariance_type``, and checks of fitted Gaussians."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError

Array = NDArray[np.float64]


def pack_covariances(covariances: Array, covariance_type: str) -> Array:
    """Return K full matrices in the shape that scikit-learn has for a covariance type."""
    if covariance_type == "tied":
        return np.asarray(covariances[0])
    diagonals = np.diagonal(covariances, axis1=1, axis2=2)
    if covariance_type == "spherical":
        return np.asarray(diagonals.mean(axis=1))
    return diagonals.copy() if covariance_type == "diag" else covariances


def unpack_covariances(covariances: Array, covariance_type: str, count: int, dimension: int) -> Array:
    """Return K full matrices from the shape that scikit-learn has for a covariance type."""
    if covariance_type == "full":
        return covariances
    if covariance_type == "tied":
        return np.repeat(covariances[None], count, axis=0)
    diagonals = covariances if covariance_type == "diag" else np.repeat(covariances[:, None], dimension, axis=1)
    return np.asarray(diagonals[:, :, None] * np.eye(dimension))


def check_gaussians(
    names: tuple[str, str, str], parts: tuple[Array, Array, Array], covariance_type: str, k: int, d: int
) -> None:
    """Raise where weights, means and covariances from a file are not those of K Gaussians of d columns.

    Parameters
    ----------
    names : tuple of three str
        The names of the fitted attributes, for errors.
    parts : tuple of three arrays
        Weights of shape (K,), means, and covariances in the shape of ``covariance_type``.
    covariance_type : {"full", "tied", "diag", "spherical"}
    k, d : int
    """
    weights, means, covariances = parts
    shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    if (weights.shape, means.shape, covariances.shape) != ((k,), (k, d), shapes[covariance_type]):
        raise ArgumentError(", ".join(names), UNSHOWN, f"those of {k} Gaussians of {d} columns")
    if not (np.all(weights > 0.0) and abs(weights.sum() - 1.0) < 1e-6):
        raise ArgumentError(names[0], UNSHOWN, "positive numbers that sum to 1")
