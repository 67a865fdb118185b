"""The model of logistic regression: x ~ N(μ, Σ), and the label given x by the logistic or the softmax.

A released gradient is a sum over rows of features times residuals of the labels, so its distribution needs that of the
features too: a Gaussian, whose moments follow from the first releases where rows were measured in whitened coordinates.
Where they were not, Σ is known from the gradients alone, and from its prior.

**Prior.** Scores are level + b·(x − μ)/sd, column by column, with b and the level N(0, 2.5²): a coefficient is relative
to the standard deviation of its column, and one standard deviation that turns odds of 1 into odds of 12 is usual. With
more than two classes the scores are those of K − 1 contrasts: orthonormal, so that all classes are alike beforehand,
and scores sum to 0 over the classes, which leaves their softmax as it is.

There is always an intercept. (A fit without one has its scores 0 where its coordinates are, not in the data's units.)
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

from discreet.inference.rows.gaussian_rows import Scales, covariance_roots, covariance_start, inside
from discreet.inference.rows.model_spec import Draws, ModelSpec, Rows
from discreet.inference.rows.site_values import with_products
from discreet.inference.rows.whitened_normal import WhitenedNormal, squared

Array = NDArray[np.float64]

SLOPE = 2.5  # of a score, a standard deviation
MOST_SLOPE = 10.0  # to start from


def contrasts(count: int) -> Array:
    """Return how K scores follow from fewer numbers, shape (K, q): for two classes 0 and the number itself.

    >>> contrasts(2).tolist()
    [[0.0], [1.0]]
    >>> bool(np.allclose(contrasts(4).sum(axis=0), 0.0)), contrasts(4).shape
    (True, (4, 3))
    """
    return np.array([[0.0], [1.0]]) if count == 2 else np.asarray(helmert(count).T)


@lru_cache(maxsize=32)
def _scored_rows(where: Scales, count: int, label: str) -> ModelSpec:
    center, half = (np.array(part) for part in where)
    apart = contrasts(count)
    i, j = np.triu_indices(half.size)

    def model() -> None:
        mean = numpyro.sample("θ.mean", dist.Normal(center, half).to_event(1))
        root = covariance_roots(half, "full", 1)[0]
        covariance = numpyro.deterministic("θ.covariance", squared(root))
        shape = (apart.shape[1], half.size)
        slopes = numpyro.sample("θ.slopes", dist.Normal(0.0, SLOPE).expand(shape).to_event(2))
        level = numpyro.sample("θ.level", dist.Normal(0.0, SLOPE).expand(shape[:1]).to_event(1))
        weights = numpyro.deterministic("θ.weights", slopes / jnp.sqrt(jnp.diagonal(covariance)))
        intercept = numpyro.deterministic("θ.intercept", level - weights @ mean)
        x = numpyro.sample("row", WhitenedNormal(mean, root))
        numpyro.sample(label, dist.Categorical(logits=apart @ (weights @ x + intercept)))

    def features(rows: Rows) -> Any:
        return with_products(rows["x"])

    def expectations(values: Mapping[str, Any]) -> Any:
        mean = values["θ.mean"]
        return jnp.concatenate([mean, (values["θ.covariance"] + mean[:, None] * mean[None, :])[i, j]])

    return ModelSpec(model, features=features, expectations=expectations)


def logistic(
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
        What its codes stand for.
    order : sequence of int
        Which of them is at each place of the fit, whose classes are sorted.
    gaussian : (array of shape (d,), array of shape (d, d))
        The features' mean and covariance, to start from.
    scores : (array of shape (q, d), array of shape (q,))
        The fit's coefficients and intercepts: one for two classes, else one for each.
    """
    count = len(labels)
    rows = _scored_rows(where, count, label)
    mean = inside(gaussian[0], where)
    start = {"θ.mean": mean} | covariance_start(gaussian[1][None], where[1], "full")
    coef, intercept = scores
    # From the fit's order to the codes', and from scores to contrasts
    sign = math.copysign(1.0, order[1] - order[0])
    to_codes = np.array([[sign]]) if count == 2 else contrasts(count).T @ np.eye(count)[:, list(order)]
    slopes, level = to_codes @ (coef * start["θ.sd"][0]), to_codes @ (intercept + coef @ mean)
    start |= {name: np.clip(part, -MOST_SLOPE, MOST_SLOPE) for name, part in (("θ.slopes", slopes), ("θ.level", level))}
    to_fit = np.array([[sign]]) if count == 2 else contrasts(count)[list(order)]

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
