"""The model of logistic regression: x ~ N(μ, Σ), and a label whose probabilities given x are logistic or softmax.

A released gradient is a sum over rows of features times residuals of the labels, so its distribution depends on that of
the features: a Gaussian. Its moments follow from the first releases, where rows were measured in whitened coordinates.
Otherwise Σ is known only from the gradients and from its prior.

**Prior.** Scores are level + b·(x − μ)/sd, column by column, and b and the level are N(0, 2.5²). So a coefficient is
relative to the standard deviation of its column, and it is usual that one standard deviation changes the odds by a
factor of e^2.5 ≈ 12. With more than two classes the parameters are the scores of K − 1 orthonormal contrasts. So the
prior treats all classes alike, and scores sum to 0 over the classes, which does not change their softmax.

There is always an intercept. (The scores of a fit without one are 0 at the origin of its own coordinates, which is not
the origin in the data's units.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.special import softmax

from discreet.inference.rows.gaussian_rows import (
    Scales,
    clip_to_bounds,
    initialize_covariances,
    sample_covariance_roots,
)
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.model_spec import Draws, ModelSpec
from discreet.inference.rows.site_values import append_products
from discreet.inference.rows.whitened_normal import WhitenedNormal, to_covariance

Array = NDArray[np.float64]

SLOPE_STD = 2.5  # of the prior: change of a score for each standard deviation of a column
MAX_START = 10.0  # for slopes and levels to start from


def contrast_matrix(count: int) -> Array:
    """Return the matrix from q free numbers to K scores, shape (K, q): for two classes the scores are 0 and the number.

    >>> contrast_matrix(2).tolist()
    [[0.0], [1.0]]
    >>> bool(np.allclose(contrast_matrix(4).sum(axis=0), 0.0)), contrast_matrix(4).shape
    (True, (4, 3))
    """
    return np.array([[0.0], [1.0]]) if count == 2 else np.asarray(helmert(count).T)


@lru_cache(maxsize=32)
def _build_logistic_model(where: Scales, count: int, label: str) -> ModelSpec:
    center, half = (np.array(part) for part in where)
    contrasts = contrast_matrix(count)
    i, j = np.triu_indices(half.size)

    def model() -> None:
        mean = numpyro.sample("θ.mean", dist.Normal(center, half).to_event(1))
        root = sample_covariance_roots(half, "full", 1)[0]
        covariance = numpyro.deterministic("θ.covariance", to_covariance(root))
        shape = (contrasts.shape[1], half.size)
        slopes = numpyro.sample("θ.slopes", dist.Normal(0.0, SLOPE_STD).expand(shape).to_event(2))
        level = numpyro.sample("θ.level", dist.Normal(0.0, SLOPE_STD).expand(shape[:1]).to_event(1))
        weights = numpyro.deterministic("θ.weights", slopes / jnp.sqrt(jnp.diagonal(covariance)))
        intercept = numpyro.deterministic("θ.intercept", level - weights @ mean)
        x = numpyro.sample("row", WhitenedNormal(mean, root))
        numpyro.sample(label, dist.Categorical(logits=contrasts @ (weights @ x + intercept)))

    def features(rows: Rows) -> Any:
        return append_products(rows["x"])

    def expectations(values: Mapping[str, Any]) -> Any:
        mean = values["θ.mean"]
        return jnp.concatenate([mean, (values["θ.covariance"] + mean[:, None] * mean[None, :])[i, j]])

    return ModelSpec(model, features=features, expectations=expectations)


def build_logistic(
    where: Scales,
    columns: tuple[str, ...],
    label: str,
    labels: Sequence[Any],
    order: Sequence[int],
    gaussian: tuple[Array, Array],
    scores: tuple[Array, Array],
) -> ModelSpec:
    """Return the model of logistic regression.

    Parameters
    ----------
    where : Scales
    columns : tuple of str
    label : str
        The column of the labels.
    labels : sequence
        The label of each code.
    order : sequence of int
        The code of each class of the fit, whose classes are sorted.
    gaussian : (array of shape (d,), array of shape (d, d))
        The features' mean and covariance, to start from.
    scores : (array of shape (q, d), array of shape (q,))
        The fitted coefficients and intercepts: one row for two classes, otherwise one for each class.
    """
    count = len(labels)
    rows = _build_logistic_model(where, count, label)
    mean = clip_to_bounds(gaussian[0], where)
    start = {"θ.mean": mean} | initialize_covariances(gaussian[1][None], where[1], "full")
    coef, intercept = scores
    # From the fit's order to the codes', and from scores to contrasts
    sign = math.copysign(1.0, order[1] - order[0])
    to_codes = np.array([[sign]]) if count == 2 else contrast_matrix(count).T @ np.eye(count)[:, list(order)]
    slopes, level = to_codes @ (coef * start["θ.sd"][0]), to_codes @ (intercept + coef @ mean)
    start |= {name: np.clip(part, -MAX_START, MAX_START) for name, part in (("θ.slopes", slopes), ("θ.level", level))}
    to_fit = np.array([[sign]]) if count == 2 else contrast_matrix(count)[list(order)]

    def report(draws: Draws) -> dict[str, Array]:
        return {"coef": to_fit @ draws["θ.weights"], "intercept": draws["θ.intercept"] @ to_fit.T}

    def predict_proba(one: Mapping[str, Array], X: Array) -> Array:
        result = X @ one["coef"].T + one["intercept"]
        return np.asarray(softmax(np.column_stack([np.zeros(len(X)), result]) if count == 2 else result, axis=1))

    axis = "score" if count == 2 else "class"
    sorted_labels = [labels[place] for place in order]
    return replace(
        rows,
        start=start,
        report=report,
        dims={"coef": [axis, "column"], "intercept": [axis]},
        coords={"column": columns, axis: sorted_labels[1:] if count == 2 else sorted_labels},
        predict_proba=predict_proba,
        labels=tuple(labels),
    )
