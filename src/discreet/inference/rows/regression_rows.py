"""The model of linear regression (``build_regression``): features and target are jointly Gaussian.

The line is the target's conditional mean.

With means μ and covariances Σ of the features x, and those of the target y beside them, y given x is normal around
a + x·β with β = Σ⁻¹·cov(x, y), a = E y − μ·β, and variance var(y) − cov(x, y)·β. This is the model x ~ N(μ, Σ),
y | x ~ N(a + x·β, s²) in other parameters. The prior is that of one Gaussian (``gaussian_rows``). It treats the target
like any other column, so the order of the columns does not matter.

Without an intercept, the line is the best one through 0: β = E[xxᵀ]⁻¹·E[xy].
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.inference.rows.gaussian_rows import Scales, build_gaussian_model, clip_to_bounds, initialize_covariances
from discreet.inference.rows.model_spec import Draws, ModelSpec

Array = NDArray[np.float64]


def compute_lines(means: Array, covariances: Array, target: int, *, intercept: bool) -> dict[str, Array]:
    """Return the coefficients, the intercepts, and the standard deviations around the lines.

    Parameters
    ----------
    means : array of shape (…, d + 1)
    covariances : array of shape (…, d + 1, d + 1)
    target : int
        The index of the target's column.
    intercept : bool
        Whether lines have an intercept.

    Examples
    --------
    >>> result = compute_lines(np.array([1.0, 5.0]), np.array([[1.0, 2.0], [2.0, 5.0]]), 1, intercept=True)
    >>> result["coef"].tolist(), float(result["intercept"]), float(result["noise"])
    ([2.0], 3.0, 1.0)
    """
    second = covariances if intercept else covariances + means[..., :, None] * means[..., None, :]
    others = [place for place in range(means.shape[-1]) if place != target]
    cross = second[..., others, target]
    coef = np.linalg.solve(second[..., others, :][..., :, others], cross[..., None])[..., 0]
    rest = second[..., target, target] - (cross * coef).sum(axis=-1)
    level = means[..., target] - (means[..., others] * coef).sum(axis=-1)
    return {
        "coef": coef,
        "intercept": level if intercept else np.zeros_like(level),
        "noise": np.sqrt(np.maximum(rest, 0.0)),
    }


def build_regression(
    where: Scales, columns: tuple[str, ...], target: int, mean: Array, covariance: Array, *, intercept: bool
) -> ModelSpec:
    """Return the model of linear regression.

    Parameters
    ----------
    where : Scales
    columns : tuple of str
        The columns, with the target's.
    target : int
        The index of the target's column.
    mean, covariance : array
        Of all columns, to start from.
    intercept : bool
    """

    def report(draws: Draws) -> dict[str, Array]:
        result = compute_lines(draws["θ.mean"], draws["θ.covariance"], target, intercept=intercept)
        return result if intercept else {name: result[name] for name in ("coef", "noise")}

    def predict(one: Mapping[str, Array], X: Array) -> Array:
        return np.asarray(X @ one["coef"] + one.get("intercept", 0.0))

    return ModelSpec(
        build_gaussian_model(where, "full"),
        {"θ.mean": clip_to_bounds(mean, where)} | initialize_covariances(covariance[None], where[1], "full"),
        report,
        {"coef": ["column"], "intercept": [], "noise": []} if intercept else {"coef": ["column"], "noise": []},
        {"column": [name for place, name in enumerate(columns) if place != target]},
        predict=predict,
    )
