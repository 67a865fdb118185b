"""Rows that move with the parameters: the mean of what they contribute is a smooth function, however far it goes.

A row drawn with fixed random numbers is a smooth function of the parameters v: x = μ + Lε. So the mean of c(x) over
some such rows can be differentiated by JAX through the model and through the question itself, and it is as good an
estimate far from where one began as it is there (weights p(x|v)/q(x) are not: see ``likelihood``). A discrete site
takes all of its values, each with its probability at v, and so does the component of a mixture.

That needs a model whose continuous sites NumPyro draws in this way, and questions whose contributions are continuous: a
clipped sum is, a histogram is not, and its mean over such rows is a staircase without slope. ``is_smooth`` tells.

**Compiled once.** What JAX compiles would have the numbers of a question in it (θ at which a gradient was taken, say),
and would be compiled anew for each. So ``lift_arrays`` takes the arrays out of the questions. What is left, as pickle's
bytes, says whether two questions have the same form, and ``restore_arrays`` puts arrays back in, or what stands for
them while JAX traces. The bytes never leave this process.
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

from discreet.inference.measurements import Measurements, side_by_side
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel, double_precision
from discreet.inference.rows.site_values import combinations, is_finite
from discreet.records import Block

Array = NDArray[np.float64]

MOST_VALUES = 32  # of all discrete sites and components together
CLOSE, NEGLIGIBLE = 0.1, 0.1  # of the change, and of a standard deviation of what is released


class _Lifting(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.arrays: list[Array] = []

    def persistent_id(self, what: Any) -> int | None:
        if not isinstance(what, np.ndarray) or what.dtype != np.float64:
            return None
        self.arrays.append(what)
        return len(self.arrays) - 1

    def reducer_override(self, what: Any) -> Any:
        """Leave out what a dataclass has computed and kept, but for arrays: its numbers are not part of the form."""
        if not dataclasses.is_dataclass(what) or isinstance(what, type) or hasattr(what, "__setstate__"):
            return NotImplemented
        fields = {field.name for field in dataclasses.fields(what)}
        state = {name: part for name, part in vars(what).items() if name in fields or isinstance(part, np.ndarray)}
        return copyreg.__newobj__, (type(what),), state  # type: ignore[attr-defined]


class _Restoring(pickle.Unpickler):
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
    lifting = _Lifting(file)
    lifting.dump(what)
    return file.getvalue(), lifting.arrays


def restore_arrays(form: bytes, arrays: Sequence[Any]) -> Any:
    """Return the object with other arrays in it."""
    return _Restoring(io.BytesIO(form), arrays).load()


@dataclass(frozen=True, eq=False)
class MovingRows:
    """How a model draws rows that move.

    Attributes
    ----------
    model : RowModel
    values : dict of str to array
        For each site that takes all of its values (or the components of a mixture) those of all combinations.
    """

    model: RowModel
    values: dict[str, Array]

    def at(self, v: Any, keys: Any) -> tuple[Rows, Any]:
        """Return rows at v, one for each key and combination, and what share of all each is."""
        places = jnp.arange(max(map(len, self.values.values()), default=1))
        each = jax.vmap(jax.vmap(self._one, in_axes=(None, None, 0)), in_axes=(None, 0, None))
        rows, shares = each(v, keys, places)
        flat = {part: some.reshape(shares.size, some.shape[-1]) for part, some in rows.items()}
        return flat, shares.reshape(-1) / len(keys)

    def _one(self, v: Any, key: Any, place: Any) -> tuple[Rows, Any]:
        values = {name: jnp.asarray(some)[place] for name, some in self.values.items()}
        own, key = jax.random.split(key)

        def given(site: Any) -> Any:
            name = site["name"]
            if name not in values or not _is_mixture(site["fn"]):
                return values.get(name)
            drawn = site["fn"].component_sample(jax.random.fold_in(own, list(values).index(name)))
            return drawn[values[name]]

        trace = self.model.at(v, given, key)
        share: Any = jnp.zeros(())
        for name, value in values.items():
            site = trace[name]["fn"]
            share = share + (site.mixing_distribution if _is_mixture(site) else site).log_prob(value)
        row = self.model.placed({name: trace[name]["value"] for name in self.model.row_sites})
        return row, jnp.exp(share)


def _is_mixture(site: Any) -> bool:
    return hasattr(site, "component_sample")


def _is_smooth(site: Any) -> bool:
    """Return whether NumPyro draws from a distribution, or from each component of a mixture, by a smooth function."""
    if not _is_mixture(site):
        return bool(site.has_rsample)
    parts = getattr(site, "component_distributions", None) or getattr(site, "component_distribution", None) or ()
    return all(part.has_rsample for part in (parts if isinstance(parts, list | tuple) else (parts,)))


def moving_rows(model: RowModel, v: Array) -> MovingRows | None:
    """Return how the model draws rows that move; None where it cannot."""
    supports: dict[str, Any] = {}
    smooth = []

    def read(v: Any) -> None:
        trace = model.at(v)
        for name in model.row_sites:
            site = trace[name]["fn"]
            if is_finite(site):
                with jax.ensure_compile_time_eval():
                    supports[name] = np.asarray(site.enumerate_support())
            elif _is_mixture(site):
                supports[name] = np.arange(site.mixing_distribution.probs.shape[-1])
            smooth.append(is_finite(site) or (not site.is_discrete and _is_smooth(site)))

    with double_precision():
        jax.eval_shape(read, v)  # nothing is computed
    values = combinations(supports.values(), MOST_VALUES)
    return MovingRows(model, dict(zip(supports, values, strict=True))) if values is not None and all(smooth) else None


class MovingMean:
    """The mean of what moving rows contribute, as a function of v.

    Parameters
    ----------
    model : RowModel
    rows : MovingRows
    form : bytes
        That of the measurements' views (``lift_arrays``).
    """

    def __init__(self, model: RowModel, rows: MovingRows, form: bytes) -> None:
        self.model, self.rows, self.form = model, rows, form
        self._sloped = jax.jit(lambda data, v, along: jax.jvp(partial(self, data), (v,), (along,)))

    def contributed(self, data: Any, v: Any) -> tuple[Any, Any, Any]:
        """Return the rows' shares, what of their contributions features do not explain, and all of these."""
        rows, shares = self.rows.at(v, data["keys"])
        views = restore_arrays(self.form, data["questions"])
        c = side_by_side(views, Block(rows["x"], rows["codes"])) @ data["projection"].T
        return shares, c - self.model.features(rows) @ data["B"].T if data["B"].shape[1] else c, c

    def __call__(self, data: Any, v: Any) -> Any:
        """Return ĉ(v): of the contributions, less what is explained by features with known expectations."""
        shares, rest, _ = self.contributed(data, v)
        return shares @ rest

    def slope(self, data: Any, v: Array) -> Array:
        """Return the slope at v, shape (numbers, size of v)."""
        return np.column_stack([np.asarray(self._sloped(data, v, one)[1]) for one in np.eye(v.size)])

    def is_smooth(self, data: Any, v: Array, moves: Array, stds: Array) -> bool:
        """Return whether the mean changes as its slope says, along some moves of v (Simpson's rule).

        Parameters
        ----------
        data : dict
        v : array
        moves : array of shape (k, size of v)
        stds : array
            Of what is released, a row: changes that are small beside these do not matter.
        """
        for move in moves:
            each = (self._sloped(data, v + part * move, move) for part in (0.0, 0.5, 1.0))
            (start, first), (_, second), (end, third) = each
            change = np.asarray(end - start) / stds
            missed = np.asarray((first + 4.0 * second + third) / 6.0) / stds - change
            if not np.linalg.norm(missed) <= CLOSE * np.linalg.norm(change) + NEGLIGIBLE:
                return False
        return True


def moving_mean(rows: MovingRows, measured: Measurements, data: dict[str, Any]) -> MovingMean | None:
    """Return the mean over moving rows, to whose ``data`` it adds the questions' numbers; None if it has no form."""
    try:
        form, data["questions"] = lift_arrays(measured.views)
    except (pickle.PicklingError, AttributeError, TypeError):  # a user's question may hold anything
        return None
    result: MovingMean = rows.model.compiled.setdefault(("moving", form), MovingMean(rows.model, rows, form))
    return result
