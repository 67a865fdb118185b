"""Reparametrised rows: the mean contribution of rows that are smooth functions of the parameters (pathwise gradients).

A row that is drawn with fixed random numbers is a smooth function of the parameters v, for example x = μ + Lε. So the
mean of c(x) over such rows can be differentiated by JAX through the model and through the question, and its accuracy
does not depend on how far v is from the reference. (That of importance weights p(x|v)/q(x) does: see ``likelihood``.) A
discrete site takes all of its values, each with its probability at v, and so does the component of a mixture.

This needs a model whose continuous sites NumPyro can reparametrise, and questions whose contributions are continuous: a
clipped sum is, a histogram is not. The mean of a histogram over such rows is piecewise constant, so that its derivative
is 0 almost everywhere. ``is_smooth`` checks this.

**Compiled once.** A compiled function would contain the numbers of its question (for example the θ at which a gradient
was taken), and would be compiled again for each question. So ``lift_arrays`` takes the arrays out of the questions. The
rest, as pickled bytes, tells whether two questions have the same form, and ``restore_arrays`` puts arrays back in, or
JAX's tracers for them. The bytes never leave this process.
"""

from __future__ import annotations

import copyreg
import dataclasses
import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from discreet.inference.measurements import Measurements, concatenate_contributions
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel, double_precision
from discreet.inference.rows.site_values import enumerate_combinations, has_finite_support
from discreet.records import Block

Array = NDArray[np.float64]

MAX_VALUES = 32  # combinations of the values of discrete sites and mixture components
TOLERANCE = 0.1  # of an integrated derivative, relative to the change
NEGLIGIBLE = 0.1  # an absolute error, in standard deviations of the released numbers


class _ArrayLifter(pickle.Pickler):
    """A pickler that collects float64 arrays instead of writing them."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.arrays: list[Array] = []

    def persistent_id(self, what: Any) -> int | None:
        if not isinstance(what, np.ndarray) or what.dtype != np.float64:
            return None
        self.arrays.append(what)
        return len(self.arrays) - 1

    def reducer_override(self, what: Any) -> Any:
        """Leave out cached values of a dataclass, except arrays: cached numbers are not part of the form."""
        if not dataclasses.is_dataclass(what) or isinstance(what, type) or hasattr(what, "__setstate__"):
            return NotImplemented
        fields = {field.name for field in dataclasses.fields(what)}
        state = {name: part for name, part in vars(what).items() if name in fields or isinstance(part, np.ndarray)}
        return copyreg.__newobj__, (type(what),), state  # type: ignore[attr-defined]


class _ArrayRestorer(pickle.Unpickler):
    """An unpickler that puts given objects in the places of the collected arrays."""

    def __init__(self, file: io.BytesIO, arrays: Sequence[Any]) -> None:
        super().__init__(file)
        self.arrays = arrays

    def persistent_load(self, place: int) -> Any:
        return self.arrays[place]


def lift_arrays(what: Any) -> tuple[bytes, list[Array]]:
    """Return the form of an object, and its arrays.

    >>> from discreet.records import Box
    >>> one, other = ((Box(0, 1), np.full(2, number)) for number in (1.0, 2.0))
    >>> lift_arrays(one)[0] == lift_arrays(other)[0], lift_arrays(other)[1][0].tolist()
    (True, [2.0, 2.0])
    >>> restore_arrays(lift_arrays(one)[0], ["an array"])
    (Box(low=0.0, high=1.0), 'an array')
    """
    file = io.BytesIO()
    lifter = _ArrayLifter(file)
    lifter.dump(what)
    return file.getvalue(), lifter.arrays


def restore_arrays(form: bytes, arrays: Sequence[Any]) -> Any:
    """Return the object with other arrays in it."""
    return _ArrayRestorer(io.BytesIO(form), arrays).load()


@dataclass(frozen=True, eq=False)
class ReparametrizedRows:
    """Rows of a model as smooth functions of its parameters.

    Attributes
    ----------
    model : RowModel
    values : dict of str to array
        For each discrete site and each mixture its values (or components) in all combinations.
    """

    model: RowModel
    values: dict[str, Array]

    def draw(self, v: Any, keys: Any) -> tuple[Rows, Any]:
        """Return rows at v, one for each key and combination, and the weight of each; weights sum to 1."""
        combinations = jnp.arange(max(map(len, self.values.values()), default=1))
        draw_all = jax.vmap(jax.vmap(self._draw_row, in_axes=(None, None, 0)), in_axes=(None, 0, None))
        rows, weights = draw_all(v, keys, combinations)
        flat = {part: some.reshape(weights.size, some.shape[-1]) for part, some in rows.items()}
        return flat, weights.reshape(-1) / len(keys)

    def _draw_row(self, v: Any, key: Any, combination: Any) -> tuple[Rows, Any]:
        values = {name: jnp.asarray(some)[combination] for name, some in self.values.items()}
        own, key = jax.random.split(key)

        def substitute(site: Any) -> Any:
            name = site["name"]
            if name not in values or not _is_mixture(site["fn"]):
                return values.get(name)
            components = site["fn"].component_sample(jax.random.fold_in(own, list(values).index(name)))
            return components[values[name]]

        trace = self.model.trace_at(v, substitute, key)
        log_weight: Any = jnp.zeros(())
        for name, value in values.items():
            site = trace[name]["fn"]
            log_weight = log_weight + (site.mixing_distribution if _is_mixture(site) else site).log_prob(value)
        row = self.model.assemble_row({name: trace[name]["value"] for name in self.model.row_sites})
        return row, jnp.exp(log_weight)


def _is_mixture(site: Any) -> bool:
    return hasattr(site, "component_sample")


def _is_smooth(site: Any) -> bool:
    """Return whether NumPyro can reparametrise a distribution, or each component of a mixture."""
    if not _is_mixture(site):
        return bool(site.has_rsample)
    parts = getattr(site, "component_distributions", None) or getattr(site, "component_distribution", None) or ()
    return all(part.has_rsample for part in (parts if isinstance(parts, list | tuple) else (parts,)))


def reparametrize_rows(model: RowModel, v: Array) -> ReparametrizedRows | None:
    """Return the model's rows as smooth functions of its parameters; None where that is not possible."""
    supports: dict[str, Any] = {}
    smooth = []

    def read(v: Any) -> None:
        trace = model.trace_at(v)
        for name in model.row_sites:
            site = trace[name]["fn"]
            if has_finite_support(site):
                with jax.ensure_compile_time_eval():
                    supports[name] = np.asarray(site.enumerate_support())
            elif _is_mixture(site):
                supports[name] = np.arange(site.mixing_distribution.probs.shape[-1])
            smooth.append(has_finite_support(site) or (not site.is_discrete and _is_smooth(site)))

    with double_precision():
        jax.eval_shape(read, v)  # nothing is computed
    values = enumerate_combinations(supports.values(), MAX_VALUES)
    return (
        ReparametrizedRows(model, dict(zip(supports, values, strict=True)))
        if values is not None and all(smooth)
        else None
    )


class PathwiseMean:
    """The mean contribution of reparametrised rows, as a function of v.

    Parameters
    ----------
    rows : ReparametrizedRows
    form : bytes
        The form of the measurements' views (``lift_arrays``).
    """

    def __init__(self, rows: ReparametrizedRows, form: bytes) -> None:
        self.rows, self.form = rows, form
        self._jvp = jax.jit(lambda data, v, tangent: jax.jvp(partial(self, data), (v,), (tangent,)))

    def contributions(self, data: Any, v: Any) -> tuple[Any, Any, Any]:
        """Return the weights of rows, their contributions c − Bg without the control variates, and c itself."""
        rows, weights = self.rows.draw(v, data["keys"])
        views = restore_arrays(self.form, data["questions"])
        c = concatenate_contributions(views, Block(rows["x"], rows["codes"])) @ data["projection"].T
        return weights, c - self.rows.model.features(rows) @ data["B"].T if data["B"].shape[1] else c, c

    def __call__(self, data: Any, v: Any) -> Any:
        """Return ĉ(v), the weighted mean of c − Bg."""
        weights, rest, _ = self.contributions(data, v)
        return weights @ rest

    def expand(self, data: Any, v: Array) -> tuple[Array, Array]:
        """Return ĉ(v) and its Jacobian at v, of shape (numbers, size of v)."""
        values, columns = zip(*(self._jvp(data, v, one) for one in np.eye(v.size)), strict=True)
        return np.asarray(values[0]), np.column_stack(columns)

    def is_smooth(self, data: Any, v: Array, moves: Array, stds: Array) -> bool:
        """Return whether the mean changes by the integral of its derivative (Simpson's rule), along some moves of v.

        Parameters
        ----------
        data : dict
        v : array
        moves : array of shape (k, size of v)
        stds : array
            The standard deviations of the released numbers over n: smaller errors do not matter.
        """
        for move in moves:
            each = (self._jvp(data, v + part * move, move) for part in (0.0, 0.5, 1.0))
            (start, first), (_, second), (end, third) = each
            change = np.asarray(end - start) / stds
            error = np.asarray((first + 4.0 * second + third) / 6.0) / stds - change
            if not np.linalg.norm(error) <= TOLERANCE * np.linalg.norm(change) + NEGLIGIBLE:
                return False
        return True


def build_pathwise_mean(rows: ReparametrizedRows, measured: Measurements, data: dict[str, Any]) -> PathwiseMean | None:
    """Return the mean over reparametrised rows, and add the questions' arrays to its ``data``.

    Return None where a question cannot be pickled.
    """
    try:
        form, data["questions"] = lift_arrays(measured.views)
    except (pickle.PicklingError, AttributeError, TypeError):  # a user's question may hold anything
        return None
    result: PathwiseMean = rows.model.compiled.setdefault(("pathwise", form), PathwiseMean(rows, form))
    return result
