"""The model for counts: rows fall into cells, of categories or of bins of a number, with unknown shares.

The shares of all combinations of cells are uniform over the simplex. Rows are finitely many, so nothing is drawn to
compute their moments. A number is known by its bin alone: its values are the middles of the bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpy.typing import NDArray
from numpyro.distributions import constraints

from discreet.inference.rows.model_spec import Draws, ModelSpec
from discreet.inference.rows.uniform_priors import UniformWeights

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CellAxis:
    """A column whose cells are counted.

    Attributes
    ----------
    name : str
    labels : tuple
        What each cell is called.
    middles : tuple of float or None
        The middles of the bins on the measured scale; None for categories.
    """

    name: str
    labels: tuple[Any, ...]
    middles: tuple[float, ...] | None = None


class BinMiddles(dist.Distribution):  # type: ignore[misc]
    """A number that is the middle of some bin.

    Parameters
    ----------
    middles : array of shape (k,)
    probs : array of shape (k,)

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> float(jnp.exp(BinMiddles([5.0, 20.0], jnp.array([0.25, 0.75])).log_prob(20.0)))
    0.75
    """

    support = constraints.real
    has_enumerate_support = True

    def __init__(self, middles: Any, probs: Any) -> None:
        self.middles, self.probs = np.asarray(middles), jnp.asarray(probs)  # values are known before anything is traced
        super().__init__((), ())

    @property
    def is_discrete(self) -> bool:
        """True: there are finitely many values."""
        return True

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Return draws."""
        return jnp.asarray(self.middles)[jax.random.categorical(key, jnp.log(self.probs), shape=sample_shape)]

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the share of the nearest bin."""
        place = jnp.argmin(jnp.abs(self.middles - jnp.asarray(value)[..., None]), axis=-1)
        return jnp.log(self.probs)[place]

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all values."""
        return self.middles


@lru_cache(maxsize=32)
def _build_cell_model(axes: tuple[CellAxis, ...]) -> Any:
    shape = tuple(len(axis.labels) for axis in axes)

    def model() -> None:
        left: Any = numpyro.sample("θ.shares", UniformWeights(int(np.prod(shape)))).reshape(shape)
        for axis in axes:  # one column after the other, each given those before
            sums = left.reshape(left.shape[0], -1).sum(axis=1)
            probs = sums / sums.sum()
            if axis.middles is None:
                place = numpyro.sample(axis.name, dist.Categorical(probs))
            else:
                value = numpyro.sample(axis.name, BinMiddles(axis.middles, probs))
                place = jnp.argmin(jnp.abs(jnp.asarray(axis.middles) - value))
            left = left[place]

    return model


def build_cells(axes: Sequence[CellAxis], counts: Array) -> ModelSpec:
    """Return the model of counts in cells.

    Parameters
    ----------
    axes : sequence of CellAxis
    counts : array
        The released counts, an axis for each of ``axes``, to start from.
    """
    shape = tuple(len(axis.labels) for axis in axes)
    positive = np.maximum(counts, 0.0).ravel() + max(1e-3 * float(np.abs(counts).sum()), 1.0)

    def report(draws: Draws) -> dict[str, Array]:
        return {"shares": draws["θ.shares"].reshape(*draws["θ.shares"].shape[:2], *shape)}

    return ModelSpec(
        _build_cell_model(tuple(axes)),
        {"θ.shares": positive / positive.sum()},
        report,
        {"shares": [axis.name for axis in axes]},
        {axis.name: list(axis.labels) for axis in axes},
    )
