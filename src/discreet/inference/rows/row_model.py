"""``RowModel``: a NumPyro model of one row, as a prior, a density of rows, and a way to draw them.

The model is a function without arguments. Some of its sample sites are the row: the site ``row`` (all numeric columns
as one vector), or one site for each column, by its name; and for a column of categories its name, or ``label`` where
there is one alone (a whole number: the place among the declared values). Every other sample site is a parameter, with
its prior, and ``numpyro.deterministic`` sites are reported beside them.

Parameters are handled as one vector v of real numbers, by the bijections of their supports, with the Jacobian in the
prior. Everything is a pure function of v and of fixed keys, for JAX to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from threading import RLock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray
from numpyro import handlers
from numpyro.distributions import biject_to

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.inference.rows.layout import Layout, Rows
from discreet.inference.rows.site_values import combinations, is_finite, site_moments, with_products

Array = NDArray[np.float64]

_ONE_AT_A_TIME = RLock()  # NumPyro has one stack of handlers for all threads

CHECKED, FAR = 4096, 8.0  # rows that stated moments are checked with, and the standard errors that they may be off
MOST_POINTS = 4096  # of a finite set of rows that is gone through

double_precision = partial(jax.enable_x64, True)  # a context in which JAX computes in float64; its setting stays


@lru_cache(maxsize=64)
def row_model(
    model: Callable[[], Any],
    layout: Layout,
    features: Callable[[Rows], Any] | None = None,
    expectations: Callable[[Mapping[str, Any]], Any] | None = None,
    form: str = "",
) -> RowModel:
    """Return a model with what was compiled for it before; ``form`` tells one that has changed since."""
    return RowModel(model, layout, features, expectations)


def own_row_model(model: Callable[[], Any], layout: Layout) -> RowModel:
    """Return a user's model, which may depend on what has changed since it was called before."""
    try:
        return row_model(model, layout, form=_form(model))
    except Exception:  # not hashable, or it cannot be traced: whatever that was, the model itself will say
        return RowModel(model, layout)


def _form(model: Callable[[], Any]) -> str:
    """Return what a model computes, with all the numbers in it, as text."""

    def traced(key: Any) -> Any:
        with _ONE_AT_A_TIME, handlers.block(), handlers.trace() as trace, handlers.seed(rng_seed=key):
            model()
        sites = [site for site in trace.values() if site["type"] in ("sample", "deterministic")]
        return [site["value"] if "fn" not in site else site["fn"].log_prob(site["value"]) for site in sites]

    with double_precision():
        closed = jax.make_jaxpr(traced)(jax.random.key(0))
    return "\n".join([str(closed.jaxpr), *(np.asarray(number).tobytes().hex() for number in closed.consts)])


class RowModel:
    """A prior and a density of rows.

    Parameters
    ----------
    model : callable
        See the module.
    layout : Layout
    features, expectations : callable, optional
        Functions of rows (NumPy's or JAX's), and what their expectations are, from the parameters by their names. By
        default x and the products of its numbers, where the site ``row`` is alone and NumPyro knows its mean and
        covariance.

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
        features: Callable[[Rows], Any] | None = None,
        expectations: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        self.model, self.layout = model, layout
        self._features, self._expectations = features, expectations
        self.compiled: dict[Any, Any] = {}
        with double_precision():
            jax.eval_shape(self._read, jax.random.key(0))  # nothing is computed, so nothing is compiled
            self._check_factors()

    def _trace(self, key: Any, values: Callable[[Any], Any] | None = None) -> Any:
        given = handlers.substitute(substitute_fn=values or (lambda site: None))
        with _ONE_AT_A_TIME, handlers.block(), handlers.trace() as trace, handlers.seed(rng_seed=key), given:
            self.model()
        return trace

    def _read(self, key: Any) -> None:
        """Note what sites there are."""
        try:
            trace = self._trace(key)
        except Exception as error:
            hint = "; give every parameter a proper prior" if isinstance(error, NotImplementedError) else ""
            raise ArgumentError(
                "model",
                UNSHOWN,
                "a NumPyro model of one row, a function without arguments (rows are not passed to it); calling it "
                f"raised {type(error).__name__}: {error}{hint}",
            ) from error
        samples = {name: site for name, site in trace.items() if site["type"] == "sample" and not site["is_observed"]}
        places = {name: self.layout.place(name) for name in samples}
        self.row_sites = tuple(name for name in samples if places[name] is not None)
        self._check_row({name: places[name] for name in self.row_sites}, samples)
        self.names = tuple(name for name in samples if places[name] is None)
        discrete = [name for name in self.names if samples[name]["fn"].is_discrete]
        if discrete:
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"parameters that are real numbers, but {discrete[0]!r} is discrete and no column of the rows "
                f"({self.layout}); sum over it within the model, as numpyro's MixtureSameFamily does",
            )
        if not self.names:
            raise ArgumentError(
                "model", UNSHOWN, "a sample site that is a parameter; all of its sites are columns or have obs=…"
            )
        if "rows" in self.names:
            raise ArgumentError("model", UNSHOWN, "no parameter called 'rows', as their number is; rename it")
        scaled = [name for name, site in trace.items() if site["type"] == "sample" and site["scale"] is not None]
        if scaled:
            raise ArgumentError("model", UNSHOWN, f"no handlers.scale, got it at {scaled[0]!r}; a row counts once")
        self.derived = tuple(name for name, site in trace.items() if site["type"] == "deterministic")
        start = self._unconstrain(trace)
        flat, self._unflatten = ravel_pytree(start)
        self.size = int(flat.size)
        self.sites, at = {}, 0
        for name in sorted(self.names):  # the order in which ravel_pytree has a dictionary
            self.sites[name] = slice(at, at + int(np.size(start[name])))
            at = self.sites[name].stop
        self._factors = any(site["type"] == "sample" and site["is_observed"] for site in trace.values())
        with jax.ensure_compile_time_eval():
            self.points = self._finite_rows(samples)
        alone = samples[self.row_sites[0]]["fn"] if len(self.row_sites) == 1 and not self.layout.categories else None
        known = self._expectations is not None or (alone is not None and site_moments(alone) is not None)
        self.states_moments = self.points is None and known

    def _check_factors(self) -> None:
        """Raise where a factor, or data that the model brings, depends on the row: that would be no prior."""
        if not self._factors:
            return
        v = self.prior_draw(jax.random.key(0))
        if not np.array_equal(self.log_prior(v), self.log_prior(v, jax.random.key(1)), equal_nan=True):
            raise ArgumentError(
                "model",
                UNSHOWN,
                "factors and observed sites that depend on parameters alone, for they are part of the prior; one "
                "depends on the row. A row's columns are sample sites without obs=…",
            )

    def _check_row(self, places: Mapping[str, Any], samples: Mapping[str, Any]) -> None:
        d = len(self.layout.columns)
        if "row" in places and samples["row"]["value"].shape != (d,):
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"a site 'row' of shape ({d},), a number for each of {self.layout.columns}, got "
                f"{samples['row']['value'].shape}",
            )
        both = [name for name in self.layout.columns if name in places and "row" in places]
        if both:
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"the site 'row' or one for each column, not both; {both[0]!r} is a column: rename it, if it is a "
                "parameter",
            )
        missing = [name for name in self.layout.columns if name not in places and "row" not in places]
        if missing:
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"a sample site 'row', or one for each column that was measured; {missing} have none; its sites are "
                f"{list(samples)}, without those that have obs=…: releases are what is observed",
            )
        codes = {at for kind, at in places.values() if kind == "codes"}
        if codes < set(range(len(self.layout.category_columns))):
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"a sample site for each of the columns of categories {self.layout.category_columns}, whose values "
                "are whole numbers, the places among the declared categories",
            )

    def _finite_rows(self, samples: Mapping[str, Any]) -> Rows | None:
        """Return all rows that there can be, where they are few; None otherwise."""
        sites = [samples[name]["fn"] for name in self.row_sites]
        if not all(map(is_finite, sites)):
            return None
        values = combinations([site.enumerate_support() for site in sites], MOST_POINTS)
        if values is None:
            return None
        rows = [self.placed(dict(zip(self.row_sites, point, strict=True))) for point in zip(*values, strict=True)]
        return {part: np.array([row[part] for row in rows]) for part in ("x", "codes")}

    def placed(self, values: Mapping[str, Any]) -> Rows:
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

    def _choosing(self, v: Any, row: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
        unconstrained = self._unflatten(v)

        def value(site: Any) -> Any:
            if site["type"] != "sample" or site["is_observed"]:
                return None
            name = site["name"]
            if name in unconstrained:
                return biject_to(site["fn"].support)(unconstrained[name])
            return None if row is None else row(site)

        return value

    def at(self, v: Any, row: Callable[[Any], Any] | None = None, key: Any = None) -> Any:
        """Return the trace at v, with values of the row's sites where ``row`` gives them."""
        return self._trace(jax.random.key(0) if key is None else key, self._choosing(v, row))

    def log_prior(self, v: Any, key: Any = None) -> Any:
        """Return the log-density of v, without constants that matter."""
        unconstrained, trace = self._unflatten(v), self.at(v, key=key)
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
        def given(site: Any) -> Any:
            part, at = self.layout.place(site["name"])  # type: ignore[misc]
            return row[part][at]

        trace = self.at(v, given)
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
            trace = self.at(v, key=key)
            return self.placed({name: trace[name]["value"] for name in self.row_sites})

        rows: Rows = jax.vmap(one)(keys)
        return rows

    def parameters(self, v: Any) -> dict[str, Any]:
        """Return the parameters, and what the model derives from them, by their names."""
        trace = self.at(v)
        return {name: trace[name]["value"] for name in (*self.names, *self.derived)}

    def all_parameters(self, v: Any) -> dict[str, Any]:
        """Return ``parameters`` for v of shape (chains, draws, size)."""
        result: dict[str, Any] = jax.vmap(jax.vmap(self.parameters))(v)
        return result

    def features(self, rows: Rows) -> Any:
        """Return functions of rows whose expectation is known, shape (n, q)."""
        if self._features is not None:
            return self._features(rows)
        return with_products(rows["x"])

    def checked_moments(self, v: Array, seed: int) -> bool:
        """Return whether the expectations of features are stated, and are what rows at v have.

        NumPyro gives the scale of a Student's t for its covariance, say, and some distributions have no moments.
        """
        if not self.states_moments:
            return False
        features = np.asarray(self.features(self.draw(v, CHECKED, seed)))
        away = features.mean(axis=0) - self.call("expectations", v)
        error = features.std(axis=0) / np.sqrt(CHECKED)
        return bool(np.all(np.abs(away) <= FAR * error + 1e-9 * np.abs(features).max(axis=0)))

    def expectations(self, v: Any) -> Any:
        """Return the expectations of ``features`` at v; only where ``states_moments``."""
        if self._expectations is not None:
            return self._expectations(self.parameters(v))
        mean, covariance = site_moments(self.at(v)[self.row_sites[0]]["fn"])
        second = covariance + mean[:, None] * mean[None, :]
        return jnp.concatenate([mean, second[jnp.triu_indices(mean.size)]])

    def expected_slope(self, v: Any) -> Any:
        """Return the slope of ``expectations``."""
        return jax.jacfwd(self.expectations)(v)

    def prior_draw(self, key: Any) -> Any:
        """Return v of parameters drawn from the prior."""
        return ravel_pytree(self._unconstrain(self._trace(key)))[0]

    def _unconstrain(self, trace: Any) -> dict[str, Any]:
        """Return the parameters of a trace, moved from their supports to the real numbers."""
        return {
            name: biject_to(trace[name]["fn"].support).inv(jnp.asarray(trace[name]["value"], dtype=float))
            for name in self.names
        }

    def unconstrained(self, values: Any) -> Any:
        """Return v of given parameters; not finite where one is outside of its range."""
        trace = self._trace(jax.random.key(0), lambda site: values.get(site["name"]))
        return ravel_pytree({name: biject_to(trace[name]["fn"].support).inv(values[name]) for name in self.names})[0]

    def vector(self, values: Mapping[str, Any]) -> Array:
        """Return v of given parameters."""
        odd = sorted(set(self.names) ^ set(values))
        if odd:
            raise ArgumentError(
                "start", UNSHOWN, f"a value for each of {list(self.names)}; {odd[0]!r} is too much or missing"
            )
        given = {name: np.asarray(values[name], dtype=np.float64) for name in self.names}
        try:
            v: Array = self.call("unconstrained", given)
        except (TypeError, ValueError):  # JAX's, at other shapes
            v = np.full(self.size, np.nan)
        if v.shape != (self.size,) or not np.all(np.isfinite(v)):
            raise ArgumentError("start", UNSHOWN, "finite values inside the range of each parameter, and of its shape")
        return v

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
