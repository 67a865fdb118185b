"""The model of labelled rows, a Gaussian for each class: for ``GaussianClassifier`` and for means by group.

The prior of the label's probabilities is uniform over the simplex, each class has its own mean, and covariances are of
the type that was fitted (``gaussian_rows``). A row's expected label, label times x and label times xxᵀ have a closed
form: π_k·(1, μ_k, Σ_k + μ_kμ_kᵀ).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.estimators.covariance_types import unpack_covariances
from discreet.inference.rows.gaussian_rows import (
    USUAL,
    Scales,
    Spread,
    covariance_roots,
    covariance_start,
    inside,
    shaped_draws,
    shared_axes,
)
from discreet.inference.rows.model_spec import Draws, ModelSpec, Rows
from discreet.inference.rows.site_values import with_products
from discreet.inference.rows.uniform_priors import UniformWeights
from discreet.inference.rows.whitened_normal import WhitenedChoice, squared
from discreet.queries.moments.clipped_moments import Components
from discreet.records import Space

Array = NDArray[np.float64]


@lru_cache(maxsize=32)
def labelled_rows(where: Scales, kind: str, count: int, label: str, spread: Spread = USUAL) -> ModelSpec:
    """Return the model of K classes.

    Parameters
    ----------
    where : Scales
    kind : str
        The type of the covariances.
    count : int
    label : str
        The column of categories.
    spread : Spread
        Of the standard deviations.
    """
    center, half = (np.array(part) for part in where)
    i, j = np.triu_indices(half.size)

    def model() -> None:
        prior = numpyro.sample("θ.class_prior", UniformWeights(count))
        means = numpyro.sample("θ.means", dist.Normal(center, half).expand((count, half.size)).to_event(2))
        roots = covariance_roots(half, kind, count, spread)
        numpyro.deterministic("θ.covariances", squared(roots))
        place = numpyro.sample(label, dist.Categorical(prior))
        numpyro.sample("row", WhitenedChoice(place, means, roots))

    def features(rows: Rows) -> Any:
        x, one = rows["x"], rows["codes"][:, :1] == np.arange(count)
        xp = array_namespace(x)
        each = xp.concat([xp.ones_like(x[:, :1]), with_products(x)], axis=1)
        return (one[:, :, None] * each[:, None, :]).reshape(len(x), -1)

    def expectations(values: Mapping[str, Any]) -> Any:
        prior, means = values["θ.class_prior"], values["θ.means"]
        second = values["θ.covariances"] + means[:, :, None] * means[:, None, :]
        each = jnp.concatenate([jnp.ones((count, 1)), means, second[:, i, j]], axis=1)
        return (prior[:, None] * each).reshape(-1)

    return ModelSpec(model, features=features, expectations=expectations)


def class_start(where: Scales, kind: str, class_prior: Array, means: Array, covariances: Array) -> dict[str, Array]:
    """Return the parameters of ``labelled_rows`` for given classes, about."""
    shares = np.maximum(class_prior, 1e-6)
    first = {"θ.class_prior": shares / shares.sum(), "θ.means": inside(means, where)}
    return first | covariance_start(covariances, where[1], kind)


def classifier(
    where: Scales,
    columns: tuple[str, ...],
    kind: str,
    label: str,
    labels: Sequence[Any],
    order: Sequence[int],
    result: Components,
    space: Space,
) -> ModelSpec:
    """Return the model of a classifier.

    Parameters
    ----------
    where : Scales
    columns : tuple of str
    kind : str
        The type of the covariances.
    label : str
        The column of the labels.
    labels : sequence
        What its codes stand for.
    order : sequence of int
        Which of them is at each place of the fit, whose classes are sorted.
    result : Components
        The fit's classes, sorted.
    space : Space
        Where rows are moved into before they are classified, as those were that were measured.
    """
    rows = labelled_rows(where, kind, len(labels), label)
    codes = np.argsort(order)
    start = class_start(where, kind, result.weights[codes], result.means[codes], result.covariances[codes])
    places = list(order)

    def report(draws: Draws) -> dict[str, Array]:
        spreads = draws["θ.covariances"][..., places, :, :]
        return {
            "class_prior": draws["θ.class_prior"][..., places],
            "means": draws["θ.means"][..., places, :],
            "covariances": shaped_draws(spreads, kind),
        }

    def predict_proba(one: Mapping[str, Array], X: Array) -> Array:
        spreads = unpack_covariances(one["covariances"], kind, *one["means"].shape)
        classes = Components(one["class_prior"], one["means"], spreads)
        return np.asarray(softmax(classes.log_joint(np.asarray(space.clip(X))), axis=1))

    return replace(
        rows,
        start=start,
        report=report,
        dims={"class_prior": ["class"], "means": ["class", "column"], "covariances": shared_axes(kind, "class")},
        coords={"column": columns, "other_column": columns, "class": [labels[place] for place in order]},
        predict_proba=predict_proba,
        labels=tuple(labels),
    )
