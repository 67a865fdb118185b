"""``RowModel``: a NumPyro model of one row, with its prior, the density of rows, and draws of rows.

The model is a function without arguments. Some of its sample sites are the row: the site ``row`` (all numeric columns
as one vector), or one site for each column, by its name; and for a column of categories its name, or ``label`` where
there is only one (an integer: the index among the declared values). Every other sample site is a parameter with its
prior, and ``numpyro.deterministic`` sites are reported beside them.

Parameters are one vector v of unconstrained real numbers, by the bijections of their supports, and the prior includes
the Jacobian. Everything is a pure function of v and of fixed random keys, for JAX to compile.
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
from discreet.inference.rows.quasi_random import MAX_DIMENSION, from_uniforms, spread_evenly, uniforms_of_site
from discreet.inference.rows.site_values import (
    append_products,
    compute_moments,
    enumerate_combinations,
    has_finite_support,
)

Array = NDArray[np.float64]

_LOCK = RLock()  # NumPyro has one stack of handlers for all threads

CHECKED_ROWS, MAX_STANDARD_ERRORS = 4096, 8.0  # to check stated moments with
MAX_POINTS = 4096  # of a finite set of rows that is enumerated

double_precision = partial(jax.enable_x64, True)  # a context in which JAX computes in float64


def make_keys(seed: int, count: int) -> Any:
    """Return random keys for JAX. NumPy draws them, since JAX would compile a split for each count."""
    words = np.random.default_rng(seed).integers(2**32, size=(count, 2), dtype=np.uint32)
    return jax.random.wrap_key_data(jnp.asarray(words))


@lru_cache(maxsize=64)
def get_row_model(
    model: Callable[[], Any],
    layout: Layout,
    features: Callable[[Rows], Any] | None = None,
    expectations: Callable[[Mapping[str, Any]], Any] | None = None,
    computation: str = "",
) -> RowModel:
    """Return the model from a cache, with its compiled functions; ``computation`` distinguishes changed models."""
    return RowModel(model, layout, features, expectations)


def get_user_row_model(model: Callable[[], Any], layout: Layout) -> RowModel:
    """Return a user's model, from the cache only if it still computes the same: it may depend on changed globals."""
    try:
        return get_row_model(model, layout, computation=_describe_computation(model))
    except Exception:  # not hashable, or it cannot be traced: ``RowModel`` raises the error
        return RowModel(model, layout)


def _describe_computation(model: Callable[[], Any]) -> str:
    """Return the computation of a model as text, with all numbers in it."""

    def traced(key: Any) -> Any:
        with _LOCK, handlers.block(), handlers.trace() as trace, handlers.seed(rng_seed=key):
            model()
        sites = [site for site in trace.values() if site["type"] in ("sample", "deterministic")]
        return [site["value"] if "fn" not in site else site["fn"].log_prob(site["value"]) for site in sites]

    with double_precision():
        closed = jax.make_jaxpr(traced)(jax.random.key(0))
    return "\n".join([str(closed.jaxpr), *(np.asarray(number).tobytes().hex() for number in closed.consts)])


class RowModel:
    """A model of one row: a prior of parameters, and a density of rows given these.

    Parameters
    ----------
    model : callable
        See the module.
    layout : Layout
    features, expectations : callable, optional
        A function from rows (NumPy's or JAX's) to features, and one from the parameters, by name, to the expectations
        of these features. By default x and the products of its numbers, where ``row`` is the only site of the row and
        NumPyro knows its mean and covariance.

    Attributes
    ----------
    size : int
        The length of v.
    names : tuple of str
        The parameters.
    sites : dict
        For each parameter its slice of v.
    points : Rows or None
        All possible rows, where they are few.
    uniforms : dict or None
        For each site of the row its slice of the uniform numbers that a row is a function of (``quasi_random``); None
        where rows are not such functions.
    has_moments : bool
        Whether the expectations of ``features`` have a closed form.
    compiled : dict
        Compiled functions, by key.
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
        with _LOCK, handlers.block(), handlers.trace() as trace, handlers.seed(rng_seed=key), given:
            self.model()
        return trace

    def _read(self, key: Any) -> None:
        """Read the sites of the model, and check them."""
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
        places = {name: self.layout.locate(name) for name in samples}
        self.row_sites = tuple(name for name in samples if places[name] is not None)
        self._check_row({name: places[name] for name in self.row_sites}, samples)
        self.names = tuple(name for name in samples if places[name] is None)
        discrete = [name for name in self.names if samples[name]["fn"].is_discrete]
        if discrete:
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"parameters that are real numbers, but {discrete[0]!r} is discrete and not a column of the rows "
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
        self.deterministic = tuple(name for name, site in trace.items() if site["type"] == "deterministic")
        start = self._unconstrain(trace)
        flat, self._unflatten = ravel_pytree(start)
        self.size = int(flat.size)
        self.sites, first = {}, 0
        for name in sorted(self.names):  # ravel_pytree sorts the keys of a dictionary
            self.sites[name] = slice(first, first + int(np.size(start[name])))
            first = self.sites[name].stop
        self._factors = any(site["type"] == "sample" and site["is_observed"] for site in trace.values())
        with jax.ensure_compile_time_eval():
            self.points = self._finite_rows(samples)
        self.uniforms = self._read_uniforms(samples)
        alone = samples[self.row_sites[0]]["fn"] if len(self.row_sites) == 1 and not self.layout.categories else None
        known = self._expectations is not None or (alone is not None and compute_moments(alone) is not None)
        self.has_moments = self.points is None and known

    def _check_factors(self) -> None:
        """Raise an error if a factor or an observed site depends on the row: then it is not part of the prior."""
        if not self._factors:
            return
        one, other = jax.random.key(0), jax.random.key(1)
        v = self.call("prior_draw", one)
        if not np.array_equal(self.call("log_prior", v, one), self.call("log_prior", v, other), equal_nan=True):
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
                f"{list(samples)}, without those that have obs=… (a model observes nothing: the releases are observed)",
            )
        codes = {index for part, index in places.values() if part == "codes"}
        if codes < set(range(len(self.layout.category_columns))):
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"a sample site for each of the columns of categories {self.layout.category_columns}, whose values "
                "are integers, the indices of the declared categories",
            )

    def _finite_rows(self, samples: Mapping[str, Any]) -> Rows | None:
        """Return all possible rows, where they are few; None otherwise."""
        sites = [samples[name]["fn"] for name in self.row_sites]
        if not all(map(has_finite_support, sites)):
            return None
        values = enumerate_combinations([site.enumerate_support() for site in sites], MAX_POINTS)
        if values is None:
            return None
        rows = [self.assemble_row(dict(zip(self.row_sites, point, strict=True))) for point in zip(*values, strict=True)]
        return {part: np.array([row[part] for row in rows]) for part in ("x", "codes")}

    def _read_uniforms(self, samples: Mapping[str, Any]) -> dict[str, slice] | None:
        result, first = {}, 0
        for name in self.row_sites:
            count = uniforms_of_site(samples[name]["fn"])
            if count is None:
                return None
            result[name] = slice(first, first := first + count)
            try:
                value = from_uniforms(samples[name]["fn"], jnp.full(count, 0.5))
            except Exception:  # NumPyro states an inverse that another package would have to compute
                return None
            if value.shape != samples[name]["value"].shape:
                return None
        return result if first <= MAX_DIMENSION else None

    def assemble_row(self, values: Mapping[str, Any]) -> Rows:
        """Return one row from the values of its sites."""
        x = jnp.zeros(len(self.layout.columns))
        codes = jnp.zeros(len(self.layout.category_columns), dtype=int)
        for name in self.row_sites:
            part, index = self.layout.locate(name)  # type: ignore[misc]
            if part == "x":
                x = x.at[index].set(values[name])
            else:
                codes = codes.at[index].set(jnp.asarray(values[name]).astype(int))
        return {"x": x, "codes": codes}

    def trace_at(self, v: Any, row: Callable[[Any], Any] | None = None, key: Any = None) -> Any:
        """Return the trace at v; ``row`` maps a site of the row to its value, or to None to draw it."""
        unconstrained = self._unflatten(v)

        def value(site: Any) -> Any:
            if site["type"] != "sample" or site["is_observed"]:
                return None
            name = site["name"]
            if name in unconstrained:
                return biject_to(site["fn"].support)(unconstrained[name])
            return None if row is None else row(site)

        return self._trace(jax.random.key(0) if key is None else key, value)

    def log_prior(self, v: Any, key: Any = None) -> Any:
        """Return the log-density of v, up to a constant."""
        unconstrained, trace = self._unflatten(v), self.trace_at(v, key=key)
        total: Any = 0.0
        for name in self.names:
            site = trace[name]
            bijection = biject_to(site["fn"].support)
            jacobian = bijection.log_abs_det_jacobian(unconstrained[name], site["value"])
            total = total + jnp.sum(site["fn"].log_prob(site["value"])) + jnp.sum(jacobian)
        for site in trace.values():
            if site["type"] == "sample" and site["is_observed"]:  # factors and observed sites
                total = total + jnp.sum(site["fn"].log_prob(site["value"]))
        return total

    def expand_prior(self, v: Any) -> tuple[Any, Any, Any]:
        """Return ``log_prior``, its gradient and its Hessian."""

        def gradient(v: Any) -> Any:
            value, slope = jax.value_and_grad(self.log_prior)(v)
            return slope, (value, slope)

        hessian, (value, slope) = jax.jacfwd(gradient, has_aux=True)(v)
        return value, slope, hessian

    def _log_row(self, v: Any, row: Rows) -> Any:
        def given(site: Any) -> Any:
            part, index = self.layout.locate(site["name"])  # type: ignore[misc]
            return row[part][index]

        trace = self.trace_at(v, given)
        return sum(jnp.sum(trace[name]["fn"].log_prob(trace[name]["value"])) for name in self.row_sites)

    def log_rows(self, v: Any, rows: Rows) -> Any:
        """Return the log-density of each row."""
        return jax.vmap(partial(self._log_row, v))(rows)

    def scores(self, v: Any, rows: Rows) -> Any:
        """Return the gradient of the log-density of each row in v, shape (n, size)."""
        return jax.vmap(jax.grad(self._log_row), in_axes=(None, 0))(v, rows)

    def draw_with_keys(self, v: Any, keys: Any) -> Rows:
        """Return one row for each key."""

        def one(key: Any) -> Rows:
            trace = self.trace_at(v, key=key)
            return self.assemble_row({name: trace[name]["value"] for name in self.row_sites})

        rows: Rows = jax.vmap(one)(keys)
        return rows

    def draw_from_uniforms(self, v: Any, u: Any) -> Rows:
        """Return one row for each vector of uniform numbers; needs ``uniforms``."""
        places: Any = self.uniforms

        def one(numbers: Any) -> Rows:
            def given(site: Any) -> Any:
                return from_uniforms(site["fn"], numbers[places[site["name"]]])

            trace = self.trace_at(v, given)
            return self.assemble_row({name: trace[name]["value"] for name in self.row_sites})

        rows: Rows = jax.vmap(one)(u)
        return rows

    def parameters(self, v: Any) -> dict[str, Any]:
        """Return the parameters and the deterministic sites, by name."""
        trace = self.trace_at(v)
        return {name: trace[name]["value"] for name in (*self.names, *self.deterministic)}

    def all_parameters(self, v: Any) -> dict[str, Any]:
        """Return ``parameters`` for v of shape (chains, draws, size)."""
        result: dict[str, Any] = jax.vmap(jax.vmap(self.parameters))(v)
        return result

    def features(self, rows: Rows) -> Any:
        """Return the features of rows whose expectations are known, shape (n, q)."""
        if self._features is not None:
            return self._features(rows)
        return append_products(rows["x"])

    def has_correct_moments(self, v: Array, seed: int) -> bool:
        """Return whether the stated expectations of features agree with those of rows drawn at v.

        NumPyro's ``covariance_matrix`` of a Student's t is its scale matrix, for example, and some distributions have
        no moments.
        """
        if not self.has_moments:
            return False
        features = np.asarray(self.features(self.draw_evenly(v[None], CHECKED_ROWS, seed)))
        away = features.mean(axis=0) - self.call("expectations", v)
        error = features.std(axis=0) / np.sqrt(CHECKED_ROWS)
        return bool(np.all(np.abs(away) <= MAX_STANDARD_ERRORS * error + 1e-9 * np.abs(features).max(axis=0)))

    def expectations(self, v: Any) -> Any:
        """Return the expectations of ``features`` at v; needs ``has_moments``."""
        if self._expectations is not None:
            return self._expectations(self.parameters(v))
        mean, covariance = compute_moments(self.trace_at(v)[self.row_sites[0]]["fn"])
        second = covariance + mean[:, None] * mean[None, :]
        return jnp.concatenate([mean, second[jnp.triu_indices(mean.size)]])

    def expectation_jacobian(self, v: Any) -> Any:
        """Return the Jacobian of ``expectations``."""
        return jax.jacfwd(self.expectations)(v)

    def prior_draw(self, key: Any) -> Any:
        """Return v drawn from the prior."""
        return ravel_pytree(self._unconstrain(self._trace(key)))[0]

    def _unconstrain(self, trace: Any) -> dict[str, Any]:
        """Return the parameters of a trace, mapped from their supports to the real numbers."""
        return {
            name: biject_to(trace[name]["fn"].support).inv(jnp.asarray(trace[name]["value"], dtype=float))
            for name in self.names
        }

    def unconstrain(self, values: Any) -> Any:
        """Return v of given parameters; not finite where one is outside of its range."""
        trace = self._trace(jax.random.key(0), lambda site: values.get(site["name"]))
        return ravel_pytree(self._unconstrain(trace))[0]

    def vector(self, values: Mapping[str, Any]) -> Array:
        """Return v of given parameters, checked."""
        wrong = sorted(set(self.names) ^ set(values))
        if wrong:
            raise ArgumentError(
                "start", UNSHOWN, f"a value for each of {list(self.names)}; {wrong[0]!r} is unknown or missing"
            )
        given = {name: np.asarray(values[name], dtype=np.float64) for name in self.names}
        try:
            v: Array = self.call("unconstrain", given)
        except (TypeError, ValueError):  # JAX's errors of shape
            v = np.full(self.size, np.nan)
        if v.shape != (self.size,) or not np.all(np.isfinite(v)):
            raise ArgumentError("start", UNSHOWN, "finite values inside the range of each parameter, and of its shape")
        return v

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method by its name, compiled by JAX, in float64."""
        if name not in self.compiled:
            self.compiled[name] = jax.jit(getattr(self, name))
        with double_precision():
            return jax.tree.map(np.asarray, self.compiled[name](*arguments))

    def draw_evenly(self, centres: Array, count: int, seed: int) -> Rows:
        """Return rows that are evenly spread over the model's distribution, as many at each of some parameters.

        Averages over them are those over drawn rows with a smaller error. They are not independent of one another, but
        of those of another seed. Where rows are not functions of uniform numbers, they are independent.

        Parameters
        ----------
        centres : array of shape (k, size)
        count : int
            The number of all rows; a power of two.
        seed : int
        """
        each = count // len(centres)
        if self.uniforms is None:
            with double_precision():
                keys = make_keys(seed, count)
                drawn = [self.call("draw_with_keys", v, keys[i * each :][:each]) for i, v in enumerate(centres)]
        else:
            dimension = max(place.stop for place in self.uniforms.values())
            u = spread_evenly(count, dimension, seed)
            drawn = [self.call("draw_from_uniforms", v, u[i * each :][:each]) for i, v in enumerate(centres)]
        return {part: np.concatenate([rows[part] for rows in drawn]) for part in ("x", "codes")}

    def draw(self, v: Array, count: int, seed: int) -> Rows:
        """Return independent rows drawn from the model."""
        with double_precision():
            keys = make_keys(seed, count)
            rows: Rows = self.call("draw_with_keys", v, keys)
        return rows

    def parameter_at(self, index: int) -> str:
        """Return the name of the parameter that a coordinate of v belongs to."""
        return next(str(name) for name, place in self.sites.items() if place.start <= index < place.stop)
