"""Expectation maximisation through the door: what a model is, and the loop.

A model is four questions and nothing else: where to start, what a row contributes, how long that can be, and what
follows from a noisy sum of contributions. The loop measures the contributions at the parameters so far and maximises, a
fixed number of times: to stop when it has converged would be a query that nobody paid for. ``maximize`` is given a
``Release`` and never a sum, so a model cannot see a number without noise.

Rows come to a model mapped into the unit ball of the declared space (``discreet.records``), whatever they were.
It may import ``arguments``, ``guarantees``, ``records``, ``queries`` and ``door``.
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
    """A model with latent variables, as the loop sees it. To have one of your own, write a subclass.

    A frozen dataclass is the usual form: what it holds are public choices (how many components, a cap, the space).
    Parameters are a value of any kind, an array or a named tuple, say, and public by construction: they come from
    ``initialize``, and then from ``maximize``, which sees releases and never a row.

    **Rows.** ``block.x`` has shape (n, d): the numeric columns, complete, moved into the declared space and mapped by
    ``space.to_unit`` into the unit ball. So every row has norm at most 1, whatever was in the data. A model that works
    in these coordinates need not know the space. One that needs the data's own units takes the space in its
    constructor, as ``space``, and writes ``space.clip(space.from_unit(block.x))``; it is then refused for data of
    another space. ``block.codes`` has shape (n, k): for each column of categories the number of the row's category. It
    has as many columns as ``categories`` names, so none for most models.

    **Private side.** ``contributions`` and ``sum`` run on real rows. They keep nothing, print nothing and raise nothing
    that depends on a row. They are array-API generic: ``array_namespace(block.x)`` has the functions, public numbers
    come to the rows by ``xp.asarray(numbers, device=device(block.x))``, and nothing is assigned to an item. Then the
    same code runs on NumPy, PyTorch, JAX and Dask. The contribution of a row is a function of that row and of public
    numbers alone: nothing is divided by an exact count, and nothing is taken from the other rows of a block.

    **The bound** holds for every row that there can be and for all parameters, not for typical ones. Its proof stands
    beside it. All privacy rests on it. ``discreet.model_check.check_model`` attacks it on made-up rows: what it refuses
    is wrong, and what it lets through is not proved by that.

    **Public side.** ``maximize`` is total: any finite release gives valid parameters, whether it is zero, negative or
    huge, since noise can make it so. Floors by the noise (``release.noise``, ``release.parts[name].weight``) keep
    a component alive whose count drowned. ``release.size`` says what is public about the number of rows.

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
        """Return parameters to start from. They must not depend on the data, other than through earlier releases.

        Parameters
        ----------
        dimension : int
            The number of numeric columns, d.
        rng : Generator
            For a random start; components that start equal stay equal.
        """

    @abstractmethod
    def maximize(self, params: Params, release: Release) -> Params:
        """Return the next parameters, from those at which the release was measured. Total."""

    def query(self, params: Params, space: Box | Ball) -> Query:
        """Return what is asked of the rows at these parameters: the sum of their contributions.

        Overridden by models of the library whose statistic is a query already. ``discreet.fit_model`` does not ask
        this: it adds up the contributions itself.
        """
        return ModelQuery(self, params, space)


def expectation_maximization(
    model: Model[Params], params: Params, space: Box | Ball, steps: Iterable[Step]
) -> tuple[Params, list[Release]]:
    """Run the loop: measure at the parameters, maximise, as often as there are steps.

    Parameters
    ----------
    model : Model
    params : Params
        Where to start.
    space : Box or Ball
        Of the curator.
    steps : iterable of callables
        Each measures a query; ``schedule.measure`` for each loss of a ``Schedule``.

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
