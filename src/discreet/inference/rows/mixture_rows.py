"""The model of a mixture of Gaussians, with or without columns of categories, and its report.

Weights are uniform over the simplex, and so are the probabilities of each column's categories in each component; the
priors of the Gaussians are those of ``gaussian_rows``. Within a component all columns of categories are independent of
one another and of the numbers.

**Rows with categories.** The component k is summed over, in the order of the sites. The categories l₁, l₂, … come
first, each given those before it, and then the numbers:

    P(l_j | l₁ … l_{j−1}) = Σ_k r_k p_kj(l_j),    r_k ∝ w_k Π_{i<j} p_ki(l_i),    x ~ Σ_k r_k N(μ_k, Σ_k),

with r after all categories in the last one. The product of these is the mixture's density. The expectations of x, xxᵀ,
the indicator of each category, and the indicator times x have a closed form.

**One Gaussian.** A budget that cannot tell components apart is spent on one, and the fit repeats it. Then nothing is
known of components but their prior, and the posterior is that of the one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.inference.rows.component_labels import MixtureDraws, describe_count
from discreet.inference.rows.gaussian_rows import (
    Scales,
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
from discreet.inference.rows.whitened_normal import WhitenedMixture, to_covariance

Array = NDArray[np.float64]
Categories = tuple[tuple[str, int], ...]  # columns, and how many categories each has

MIXTURE_NAMES = ("weights", "means", "covariances", "mean", "covariance", "correlations", "components")
ONE_GAUSSIAN = (
    "the budget of this fit could not tell components apart, and was spent on one Gaussian: this is its posterior. For "
    "several components fit again, with more budget or more rows"
)
TINY = 1e-100  # a probability whose logarithm is finite


@lru_cache(maxsize=32)
def _build_mixture_model(where: Scales, kind: str, count: int, categories: Categories) -> Callable[[], Any]:
    center, half = (np.array(part) for part in where)

    def model() -> None:
        weights: Any = jnp.ones(1)
        if count > 1:
            weights = numpyro.sample("θ.weights", UniformWeights(count))
        means = numpyro.sample("θ.means", dist.Normal(center, half).expand((count, half.size)).to_event(2))
        roots = sample_covariance_roots(half, kind, count)
        numpyro.deterministic("θ.covariances", to_covariance(roots))
        given = weights
        for j, (name, size) in enumerate(categories):
            table: Any = jnp.ones((count, 1))
            if size > 1:
                table = numpyro.sample(f"θ.table{j}", UniformWeights(size).expand((count,)).to_event(1))
            place = numpyro.sample(name, dist.Categorical(given @ table))
            given = given * jnp.maximum(table[:, place], TINY)
            given = given / given.sum()
        numpyro.sample("row", WhitenedMixture(jnp.maximum(given, TINY), means, roots))

    return model


def _indicators(rows: Rows, categories: Categories) -> Any:
    """Return 1 at each row's categories and 0 elsewhere, shape (n, categories in all)."""
    xp, codes = array_namespace(rows["x"]), rows["codes"]
    hot = [codes[:, j : j + 1] == np.arange(size) for j, (_, size) in enumerate(categories)]
    return xp.concat(hot, axis=1) * xp.ones_like(rows["x"][:, :1])


@lru_cache(maxsize=32)
def _known_expectations(count: int, categories: Categories) -> tuple[Callable[[Rows], Any], Callable[..., Any]]:
    """Return the features of the module, and their expectations given parameters."""

    def features(rows: Rows) -> Any:
        x, hot = rows["x"], _indicators(rows, categories)
        xp = array_namespace(x)
        both = (hot[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        return xp.concat([append_products(x), hot, both], axis=1)

    def expectations(values: Mapping[str, Any]) -> Any:
        means, weights = values["θ.means"], values["θ.weights"] if count > 1 else jnp.ones(1)
        i, j = np.triu_indices(means.shape[1])
        second = (values["θ.covariances"] + means[:, :, None] * means[:, None, :])[:, i, j]
        sizes = [size for _, size in categories]
        tables = [values[f"θ.table{j}"] if size > 1 else jnp.ones((count, 1)) for j, size in enumerate(sizes)]
        shares = weights[:, None] * jnp.concatenate(tables, axis=1)
        both = jnp.einsum("kc,ki->ci", shares, means).reshape(-1)
        return jnp.concatenate([weights @ means, weights @ second, shares.sum(axis=0), both])

    return features, expectations


def build_mixture(
    where: Scales,
    columns: tuple[str, ...],
    kind: str,
    fit: MixtureDraws,
    categories: Mapping[str, Sequence[Any]] | None = None,
) -> ModelSpec:
    """Return the model of a mixture, started at a fit; draws are relabelled to its components.

    Parameters
    ----------
    where : Scales
    columns : tuple of str
        Of numbers.
    kind : str
        The type of the covariances.
    fit : MixtureDraws
        One mixture.
    categories : mapping, optional
        The columns of categories, in the order of the fit's tables, and the values of each.
    """
    alone = fit.count > 1 and fit.is_one
    if alone:
        tables = tuple(table[:1] for table in fit.tables)
        fit = MixtureDraws(np.ones(1), fit.means[:1], fit.covariances[:1], tables)
    count, values = fit.count, dict(categories or {})
    sizes = tuple((name, len(some)) for name, some in values.items())
    start = {"θ.means": clip_to_bounds(fit.means, where)} | initialize_covariances(fit.covariances, where[1], kind)
    if count > 1:
        start["θ.weights"] = fit.weights
    start |= {f"θ.table{j}": table for j, table in enumerate(fit.tables) if table.shape[-1] > 1}

    def read(draws: Draws) -> MixtureDraws:
        ones = np.ones(draws["θ.means"].shape[:-1])
        tables = [draws[f"θ.table{j}"] if size > 1 else ones[..., None] for j, (_, size) in enumerate(sizes)]
        weights = draws["θ.weights"] if count > 1 else ones
        return MixtureDraws(weights, draws["θ.means"], draws["θ.covariances"], tuple(tables)).order_like(fit)

    def report(draws: Draws) -> dict[str, Array]:
        mixtures = read(draws)
        result = {
            "weights": mixtures.weights,
            "means": mixtures.means,
            "covariances": shape_covariances(mixtures.covariances, kind),
            "mean": mixtures.mean,
            "covariance": mixtures.covariance,
            "correlations": mixtures.correlations,
            "components": mixtures.count_different(),
        }
        if sizes:
            result |= dict(zip(values, mixtures.shares, strict=True))
            result |= {f"{name} by component": table for name, table in zip(values, mixtures.tables, strict=True)}
        return result

    dims = {
        "weights": ["component"],
        "means": ["component", "column"],
        "covariances": covariance_dims(kind, "component"),
        "mean": ["column"],
        "covariance": ["column", "other_column"],
        "correlations": ["column", "other_column"],
        "components": [],
    }
    coords: dict[str, Sequence[Any]] = {"column": columns, "other_column": columns, "component": range(count)}
    for name, some in values.items():
        axis = f"{name} "  # an axis is not called as what is on it
        dims |= {name: [axis], f"{name} by component": ["component", axis]}
        coords[axis] = list(map(str, some))
    features, expectations = _known_expectations(count, sizes) if sizes else (None, None)
    return ModelSpec(
        _build_mixture_model(where, kind, count, sizes),
        start,
        report,
        dims,
        coords,
        features,
        expectations,
        remarks=lambda reported: [ONE_GAUSSIAN] if alone else describe_count(reported["components"]),
    )
