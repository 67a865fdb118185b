"""The model of labelled rows, with a Gaussian for each class: for ``GaussianClassifier`` and for means by group.

The prior of the class probabilities is uniform over the simplex, each class has its own mean, and covariances have the
fitted type (``gaussian_rows``). The expectations of a row's label indicator, the indicator times x, and the indicator
times xxᵀ have a closed form: π_k·(1, μ_k, Σ_k + μ_kμ_kᵀ).
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
    MEASURED,
    Scales,
    Spread,
    clip_to_bounds,
    covariance_dims,
    initialize_covariances,
    sample_covariance_roots,
    shape_covariances,
)
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.model_spec import Draws, ModelSpec
from discreet.inference.rows.site_values import append_products
from discreet.inference.rows.uniform_priors import UniformWeights
from discreet.inference.rows.whitened_normal import WhitenedChoice, to_covariance
from discreet.queries.moments.components import Components
from discreet.records import Space

Array = NDArray[np.float64]


@lru_cache(maxsize=32)
def build_class_model(where: Scales, kind: str, count: int, label: str, spread: Spread = MEASURED) -> ModelSpec:
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
        The prior of the standard deviations.
    """
    center, half = (np.array(part) for part in where)
    i, j = np.triu_indices(half.size)

    def model() -> None:
        prior = numpyro.sample("θ.class_prior", UniformWeights(count))
        means = numpyro.sample("θ.means", dist.Normal(center, half).expand((count, half.size)).to_event(2))
        roots = sample_covariance_roots(half, kind, count, spread)
        numpyro.deterministic("θ.covariances", to_covariance(roots))
        place = numpyro.sample(label, dist.Categorical(prior))
        numpyro.sample("row", WhitenedChoice(place, means, roots))

    def features(rows: Rows) -> Any:
        x, one = rows["x"], rows["codes"][:, :1] == np.arange(count)
        xp = array_namespace(x)
        each = xp.concat([xp.ones_like(x[:, :1]), append_products(x)], axis=1)
        return (one[:, :, None] * each[:, None, :]).reshape(len(x), -1)

    def expectations(values: Mapping[str, Any]) -> Any:
        prior, means = values["θ.class_prior"], values["θ.means"]
        second = values["θ.covariances"] + means[:, :, None] * means[:, None, :]
        each = jnp.concatenate([jnp.ones((count, 1)), means, second[:, i, j]], axis=1)
        return (prior[:, None] * each).reshape(-1)

    return ModelSpec(model, features=features, expectations=expectations)


def initialize_classes(
    where: Scales, kind: str, class_prior: Array, means: Array, covariances: Array
) -> dict[str, Array]:
    """Return parameters of ``build_class_model`` near given classes, inside of their prior's support."""
    shares = np.maximum(class_prior, 1e-6)
    first = {"θ.class_prior": shares / shares.sum(), "θ.means": clip_to_bounds(means, where)}
    return first | initialize_covariances(covariances, where[1], kind)


def build_classifier(
    where: Scales,
    columns: tuple[str, ...],
    kind: str,
    label: str,
    labels: Sequence[Any],
    order: Sequence[int],
    fit: Components,
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
        The label of each code.
    order : sequence of int
        The code of each class of the fit, whose classes are sorted.
    fit : Components
        The fitted classes, sorted.
    space : Space
        The declared space. Rows are clipped to it before they are classified, as the measured rows were.
    """
    rows = build_class_model(where, kind, len(labels), label)
    codes = np.argsort(order)
    start = initialize_classes(where, kind, fit.weights[codes], fit.means[codes], fit.covariances[codes])
    places = list(order)

    def report(draws: Draws) -> dict[str, Array]:
        spreads = draws["θ.covariances"][..., places, :, :]
        return {
            "class_prior": draws["θ.class_prior"][..., places],
            "means": draws["θ.means"][..., places, :],
            "covariances": shape_covariances(spreads, kind),
        }

    def predict_proba(one: Mapping[str, Array], X: Array) -> Array:
        spreads = unpack_covariances(one["covariances"], kind, *one["means"].shape)
        classes = Components(one["class_prior"], one["means"], spreads)
        return np.asarray(softmax(classes.log_joint(np.asarray(space.clip(X))), axis=1))

    return replace(
        rows,
        start=start,
        report=report,
        dims={"class_prior": ["class"], "means": ["class", "column"], "covariances": covariance_dims(kind, "class")},
        coords={"column": columns, "other_column": columns, "class": [labels[place] for place in order]},
        predict_proba=predict_proba,
        labels=tuple(labels),
    )
