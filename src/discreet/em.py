"""Private expectation maximisation: the base class of models, and the EM loop.

Imports these rooms, and may import any other above it: ``records``, ``queries``, ``door``.

A model defines its initial parameters, the contribution of a row, a bound on the norm of that contribution, and the
parameters that follow from a noisy sum of contributions. The loop measures the contributions at the current parameters
and maximises, a fixed number of times. Stopping at convergence would need another query, which nobody paid for.
``maximize`` gets a ``Release`` and never a sum, so a model cannot see a number without noise.

Rows are mapped into the unit ball of the declared space (``discreet.records``) before a model sees them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from discreet.door import Release
from discreet.queries.models.model_query import Contributing, ModelQuery
from discreet.queries.question import Query, Question
from discreet.records import Ball, Box

__all__ = ["Model", "Step", "expectation_maximization"]

Params = TypeVar("Params")
Step = Callable[[Question], Release]


class Model(Contributing[Params]):
    """A model with latent variables, for the EM loop. Subclass it to write your own.

    The usual form is a frozen dataclass of public choices (the number of components, a cap, the space). Parameters are
    any value, for example an array or a named tuple. They are public by construction: they come from ``initialize``,
    and then from ``maximize``, which sees releases and never a row.

    **Rows.** ``block.x`` has shape (n, d): the numeric columns, without missing values, clipped to the declared space
    and mapped by ``space.to_unit`` into the unit ball. So every row has norm at most 1, whatever the data is. A model
    that works in these coordinates does not need the space. A model that needs the data's own units takes the space in
    its constructor, as ``space``, and uses ``space.clip(space.from_unit(block.x))``; it is then refused for data with
    another space. ``block.codes`` has shape (n, k): the code of the row's category in each categorical column. It has
    as many columns as ``categories`` names, so none for most models.

    **Private side.** ``contributions`` and ``sum`` run on real rows. They store nothing, print nothing and raise
    nothing that depends on a row. They are array-API generic: they take functions from ``array_namespace(block.x)``,
    convert public numbers by ``xp.asarray(numbers, device=device(block.x))``, and assign to no item. Then the same code
    runs on NumPy, PyTorch, JAX and Dask. The contribution of a row is a function of that row and of public numbers
    alone: it is not divided by an exact count, and it does not use other rows of the block.

    **The bound** holds for all possible rows and all parameters, not only for typical ones. Its proof stands beside it,
    and the privacy of the model depends on it. ``discreet.model_check.check_model`` attacks it on made-up rows. A bound
    that it refuses is wrong; a bound that passes is not proved by that.

    **Public side.** ``maximize`` is total: any finite release gives valid parameters. Noise can make a release zero,
    negative or huge. Lower limits derived from the noise (``release.noise``, ``release.parts[name].weight``) keep a
    component whose count is dominated by noise. ``release.size`` has the public facts about the number of rows.

    ``discreet.fit_model`` checks a model and fits it. ``examples/model_skeleton.py`` is one to copy.

    Attributes
    ----------
    name : str
        For the ledger and the releases.
    categories : tuple of int
        For a model that looks at ``block.codes``: how many categories each of their columns has. () by default.
    """

    @abstractmethod
    def initialize(self, dimension: int, rng: np.random.Generator) -> Params:
        """Return initial parameters. They must not depend on the data, other than through earlier releases.

        Parameters
        ----------
        dimension : int
            The number of numeric columns, d.
        rng : Generator
            For a random start: components with equal initial parameters stay equal.
        """

    @abstractmethod
    def maximize(self, params: Params, release: Release) -> Params:
        """Return the next parameters, from the current ones and a release measured at them. It must not fail."""

    def query(self, params: Params, space: Box | Ball) -> Query:
        """Return the query at these parameters: the sum of the rows' contributions.

        Models of the library override it if their statistic is a query already. ``discreet.fit_model`` does not use it:
        it adds up the contributions itself.
        """
        return ModelQuery(self, params, space)


def expectation_maximization(
    model: Model[Params], params: Params, space: Box | Ball, steps: Iterable[Step]
) -> tuple[Params, list[Release]]:
    """Run the EM loop: measure at the current parameters and maximise, once for each step.

    Parameters
    ----------
    model : Model
    params : Params
        The initial parameters.
    space : Box or Ball
        The curator's space.
    steps : iterable of callables
        One function per step, which measures a query: ``schedule.measure`` for each loss of a ``Schedule``.

    Returns
    -------
    params, list of Release
    """
    releases = []
    for measure in steps:
        release = measure(model.query(params, space))
        params = model.maximize(params, release)
        releases.append(release)
    return params, releases
