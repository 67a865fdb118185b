"""A NumPyro model of one row, as inference sees it: a prior, a density of rows, and a way to draw them.

The model is a function without arguments. Some of its sample sites are the row: the site ``row`` (all numeric columns
as one vector), or one site for each column, by its name; and for a column of categories its name, or ``label`` where
there is one alone (a whole number: the place among the declared values). Every other sample site is a parameter, with
its prior, and ``numpyro.deterministic`` sites are reported beside them.

Parameters are handled as one vector v of real numbers, by the bijections of their supports, with the Jacobian in the
prior. Everything is a pure function of v and of fixed keys, for JAX to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.distributions import biject_to

from discreet.records import Block

__all__ = ["Layout", "RowModel", "double_precision", "row_model"]

Array = NDArray[np.float64]
Rows = dict[str, Any]  # "x" of shape (n, d) and "codes" of shape (n, k), or those of one row

MOST_POINTS = 4096  # of a finite set of rows that is gone through


@contextmanager
def double_precision() -> Iterator[None]:
    """Have JAX compute in float64 within, and leave its global setting alone."""
    with jax.enable_x64(True):
        yield


@dataclass(frozen=True)
class Layout:
    """Which columns a row has.

    Attributes
    ----------
    columns : tuple of str
        The numeric ones.
    category_columns : tuple of str
    categories : tuple of tuple
        The declared values of each of them.
    """

    columns: tuple[str, ...]
    category_columns: tuple[str, ...] = ()
    categories: tuple[tuple[Any, ...], ...] = ()

    def place(self, name: str) -> tuple[str, Any] | None:
        """Return where a sample site stands in a row; None for a parameter."""
        if name in self.columns:
            return "x", self.columns.index(name)
        if name in self.category_columns:
            return "codes", self.category_columns.index(name)
        if name == "row" and self.columns:
            return "x", slice(None)
        return ("codes", 0) if name == "label" and len(self.category_columns) == 1 else None

    def block(self, rows: Rows) -> Block:
        """Return rows as the door sees them."""
        return Block(np.asarray(rows["x"], dtype=np.float64), np.asarray(rows["codes"]).astype(np.int64))

    def __str__(self) -> str:
        return ", ".join((*self.columns, *self.category_columns))


@lru_cache(maxsize=64)
def row_model(
    model: Callable[[], Any],
    layout: Layout,
    features: Callable[[Rows], Array] | None = None,
    expectations: Callable[[Mapping[str, Any]], Any] | None = None,
) -> RowModel:
    """Return a model with what was compiled for it before."""
    return RowModel(model, layout, features, expectations)


class RowModel:
    """A prior and a density of rows.

    Parameters
    ----------
    model : callable
        See the module.
    layout : Layout
    features, expectations : callable, optional
        Functions of rows, and what their expectations are, from the parameters by their names. By default x and the
        products of its numbers, where the site ``row`` is alone and NumPyro knows its mean and covariance.

    Attributes
    ----------
    size : int
        How many numbers v has.
    names : tuple of str
        The parameters.
    sites : dict
        For each of them the slice of v.
    """

    def __init__(
        self,
        model: Callable[[], Any],
        layout: Layout,
        features: Callable[[Rows], Array] | None = None,
        expectations: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        self.model, self.layout = model, layout
        self._features, self._expectations = features, expectations
        self.compiled: dict[Any, Any] = {}
        with double_precision():
            try:
                trace = self._trace(jax.random.key(0))
            except Exception as error:
                raise ValueError(
                    f"model: expected a NumPyro model of one row, a function without arguments; calling it raised "
                    f"{type(error).__name__}: {error}"
                ) from error
            self._read(trace)

    def _trace(self, key: Any, values: Callable[[Any], Any] | None = None) -> Any:
        given = handlers.substitute(substitute_fn=values or (lambda site: None))
        with handlers.block(), handlers.trace() as trace, handlers.seed(rng_seed=key), given:
            self.model()
        return trace

    def _read(self, trace: Any) -> None:
        samples = {name: site for name, site in trace.items() if site["type"] == "sample" and not site["is_observed"]}
        places = {name: self.layout.place(name) for name in samples}
        self.row_sites = tuple(name for name in samples if places[name] is not None)
        self._check_row({name: places[name] for name in self.row_sites}, samples)
        self.names = tuple(name for name in samples if places[name] is None)
        discrete = [name for name in self.names if samples[name]["fn"].is_discrete]
        if discrete:
            raise ValueError(
                f"model: expected parameters that are real numbers, but {discrete[0]!r} is discrete and no column of "
                f"the rows ({self.layout}); sum over it within the model, as numpyro's MixtureSameFamily does"
            )
        if not self.names:
            raise ValueError("model: expected a sample site that is a parameter; all of its sites are columns")
        self.derived = tuple(name for name, site in trace.items() if site["type"] == "deterministic")
        start = {
            name: biject_to(samples[name]["fn"].support).inv(jnp.asarray(samples[name]["value"], dtype=float))
            for name in self.names
        }
        flat, self._unflatten = ravel_pytree(start)
        self.size = int(flat.size)
        self.sites, at = {}, 0
        for name in sorted(self.names):  # the order in which ravel_pytree has a dictionary
            self.sites[name] = slice(at, at + int(np.size(start[name])))
            at = self.sites[name].stop
        self.points = self._finite_rows(samples)
        alone = samples[self.row_sites[0]]["fn"] if len(self.row_sites) == 1 and not self.layout.categories else None
        known = self._expectations is not None or (alone is not None and _moments(alone) is not None)
        self.knows_moments = self.points is None and known

    def _check_row(self, places: Mapping[str, Any], samples: Mapping[str, Any]) -> None:
        d = len(self.layout.columns)
        if "row" in places and samples["row"]["value"].shape != (d,):
            raise ValueError(
                f"model: expected a site 'row' of shape ({d},), a number for each of {self.layout.columns}, got "
                f"{samples['row']['value'].shape}"
            )
        missing = [name for name in self.layout.columns if name not in places and "row" not in places]
        if missing:
            raise ValueError(
                f"model: expected a sample site 'row', or one for each column that was measured; {missing} have none; "
                f"its sites are {list(samples)}"
            )
        codes = {at for kind, at in places.values() if kind == "codes"}
        if codes < set(range(len(self.layout.category_columns))):
            raise ValueError(
                f"model: expected a sample site for each of the columns of categories {self.layout.category_columns}, "
                "whose values are whole numbers, the places among the declared categories"
            )

    def _finite_rows(self, samples: Mapping[str, Any]) -> Rows | None:
        """Return all rows that there can be, where they are few; None otherwise."""
        sites = [samples[name]["fn"] for name in self.row_sites]
        if not all(site.has_enumerate_support and site.event_shape == () and site.batch_shape == () for site in sites):
            return None
        supports = [np.asarray(site.enumerate_support()) for site in sites]
        if np.prod([len(support) for support in supports]) > MOST_POINTS:
            return None
        rows = [self._placed(dict(zip(self.row_sites, point, strict=True))) for point in product(*supports)]
        return {part: np.array([row[part] for row in rows]) for part in ("x", "codes")}

    def _placed(self, values: Mapping[str, Any]) -> Rows:
        """Return one row from the values of its sites."""
        x = jnp.zeros(len(self.layout.columns))
        codes = jnp.zeros(len(self.layout.category_columns), dtype=int)
        for name in self.row_sites:
            part, at = self.layout.place(name)  # type: ignore[misc]
            if part == "x":
                x = x.at[at].set(values[name])
            else:
                codes = codes.at[at].set(jnp.asarray(values[name]).astype(int))
        return {"x": x, "codes": codes}

    def _choosing(self, v: Any, row: Rows | None) -> Callable[[Any], Any]:
        unconstrained = self._unflatten(v)

        def value(site: Any) -> Any:
            if site["type"] != "sample" or site["is_observed"]:
                return None
            name = site["name"]
            if name in unconstrained:
                return biject_to(site["fn"].support)(unconstrained[name])
            if row is None:
                return None
            part, at = self.layout.place(name)  # type: ignore[misc]
            return row[part][at]

        return value

    def _at(self, v: Any, row: Rows | None = None, key: Any = None) -> Any:
        return self._trace(jax.random.key(0) if key is None else key, self._choosing(v, row))

    def log_prior(self, v: Any) -> Any:
        """Return the log-density of v, without constants that matter."""
        unconstrained, trace = self._unflatten(v), self._at(v)
        total: Any = 0.0
        for name in self.names:
            site = trace[name]
            bijection = biject_to(site["fn"].support)
            moved = bijection.log_abs_det_jacobian(unconstrained[name], site["value"])
            total = total + jnp.sum(site["fn"].log_prob(site["value"])) + jnp.sum(moved)
        for site in trace.values():
            if site["type"] == "sample" and site["is_observed"]:  # factors and data that the model brings itself
                total = total + jnp.sum(site["fn"].log_prob(site["value"]))
        return total

    def prior_slope(self, v: Any) -> Any:
        """Return the gradient of ``log_prior``."""
        return jax.grad(self.log_prior)(v)

    def prior_curvature(self, v: Any) -> Any:
        """Return the second derivatives of ``log_prior``."""
        return jax.hessian(self.log_prior)(v)

    def _log_row(self, v: Any, row: Rows) -> Any:
        trace = self._at(v, row)
        return sum(jnp.sum(trace[name]["fn"].log_prob(trace[name]["value"])) for name in self.row_sites)

    def log_rows(self, v: Any, rows: Rows) -> Any:
        """Return the log-density of each of some rows."""
        return jax.vmap(partial(self._log_row, v))(rows)

    def scores(self, v: Any, rows: Rows) -> Any:
        """Return the gradient of the log-density of each row in v, shape (n, size)."""
        return jax.vmap(jax.grad(self._log_row), in_axes=(None, 0))(v, rows)

    def drawn(self, v: Any, keys: Any) -> Rows:
        """Return one row for each key."""

        def one(key: Any) -> Rows:
            trace = self._at(v, key=key)
            return self._placed({name: trace[name]["value"] for name in self.row_sites})

        rows: Rows = jax.vmap(one)(keys)
        return rows

    def parameters(self, v: Any) -> dict[str, Any]:
        """Return the parameters, and what the model derives from them, by their names."""
        trace = self._at(v)
        return {name: trace[name]["value"] for name in (*self.names, *self.derived)}

    def all_parameters(self, v: Any) -> dict[str, Any]:
        """Return ``parameters`` for v of shape (chains, draws, size)."""
        found: dict[str, Any] = jax.vmap(jax.vmap(self.parameters))(v)
        return found

    def features(self, rows: Rows) -> Array:
        """Return functions of rows whose expectation is known, shape (n, q)."""
        if self._features is not None:
            return self._features(rows)
        x = np.asarray(rows["x"], dtype=np.float64)
        i, j = np.triu_indices(x.shape[1])
        return np.concatenate([x, x[:, i] * x[:, j]], axis=1)

    def expectations(self, v: Any) -> Any:
        """Return the expectations of ``features`` at v; only where ``knows_moments``."""
        if self._expectations is not None:
            return self._expectations(self.parameters(v))
        mean, covariance = _moments(self._at(v)[self.row_sites[0]]["fn"])
        second = covariance + mean[:, None] * mean[None, :]
        return jnp.concatenate([mean, second[jnp.triu_indices(mean.size)]])

    def expected_slope(self, v: Any) -> Any:
        """Return the slope of ``expectations``."""
        return jax.jacfwd(self.expectations)(v)

    def prior_draw(self, key: Any) -> Any:
        """Return v of parameters drawn from the prior."""
        trace = self._trace(key)
        return ravel_pytree(
            {
                name: biject_to(trace[name]["fn"].support).inv(jnp.asarray(trace[name]["value"], dtype=float))
                for name in self.names
            }
        )[0]

    def vector(self, values: Mapping[str, Any]) -> Array:
        """Return v of given parameters."""
        with double_precision():
            given = {name: jnp.asarray(values[name], dtype=float) for name in self.names}
            trace = self._trace(jax.random.key(0), lambda site: given.get(site["name"]))
            found = {name: biject_to(trace[name]["fn"].support).inv(given[name]) for name in self.names}
            return np.asarray(ravel_pytree(found)[0])

    def call(self, name: str, *arguments: Any) -> Any:
        """Return what one of the functions above gives, compiled, in float64."""
        if name not in self.compiled:
            self.compiled[name] = jax.jit(getattr(self, name))
        with double_precision():
            return jax.tree.map(np.asarray, self.compiled[name](*arguments))

    def draw(self, v: Array, count: int, seed: int) -> Rows:
        """Return rows drawn from the model."""
        with double_precision():
            keys = jax.random.split(jax.random.key(seed), count)
            rows: Rows = self.call("drawn", v, keys)
        return rows

    def named(self, index: int) -> str:
        """Return the parameter that a number of v belongs to."""
        return next(str(name) for name, at in self.sites.items() if at.start <= index < at.stop)


def _moments(site: Any) -> Any:
    """Return the mean and the covariance of a distribution, where they have a closed form; else None."""
    if isinstance(site, dist.MixtureSameFamily | dist.MixtureGeneral):
        return _mixture_moments(site)
    if isinstance(site, dist.Independent) and site.reinterpreted_batch_ndims == len(site.event_shape) == 1:
        site, shape = site.base_dist, "independent"
    else:
        shape = "one" if site.event_shape == () and site.batch_shape == () else "vector"
    try:
        mean = jnp.atleast_1d(site.mean)
        covariance = site.covariance_matrix if shape == "vector" else jnp.diag(jnp.atleast_1d(site.variance))
    except (AttributeError, NotImplementedError):
        return None
    return mean, covariance


def _mixture_moments(site: Any) -> Any:
    """Return the moments of a mixture of vectors, from those of its components."""
    parts = getattr(site, "component_distribution", None)
    if not isinstance(parts, dist.MultivariateNormal) or len(site.event_shape) != 1:
        return None
    weights, means = site.mixing_distribution.probs, parts.mean
    mean = weights @ means
    away = means - mean
    within = jnp.einsum(
        "k,kij->ij", weights, jnp.broadcast_to(parts.covariance_matrix, (*means.shape, means.shape[-1]))
    )
    return mean, within + jnp.einsum("k,ki,kj->ij", weights, away, away)
