"""Expectation maximisation through the door: what a model is, and the loop.

A model is four questions and nothing else: where to start, what a row contributes, how long that can be, and what
follows from a noisy sum of contributions. The loop measures the contributions at the parameters so far and maximises, a
fixed number of times: to stop when it has converged would be a query that nobody paid for. ``maximize`` is given a
``Release`` and never a sum, so a model cannot see a number without noise.

Rows come to a model mapped into the unit ball of the declared space (``discreet.records``), whatever they were.
It may import ``arguments``, ``guarantees``, ``records`` and ``door``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from array_api_compat import array_namespace

from discreet.door import Bound, Query, Question, Release
from discreet.door.part import Part
from discreet.door.registry import Maker, registered
from discreet.records import Ball, Block, Box, Space

__all__ = ["MODELS", "Model", "ModelQuery", "Step", "expectation_maximization", "registered_model"]

Params = TypeVar("Params")
Step = Callable[[Question], Release]

MODELS: dict[type[Any], Maker] = {}


class Model(ABC, Generic[Params]):
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
    huge, since noise can make it so. Floors that know the noise (``release.law``, ``release.parts[name].weight``) keep
    a component alive whose count drowned. ``release.size`` says what is public about the number of rows.

    ``discreet.fit_model`` checks a model and fits it. ``examples/model_skeleton.py`` is one to copy.

    Attributes
    ----------
    name : str
        For the ledger and the releases.
    categories : tuple of int
        For a model that looks at ``block.codes``: how many categories each of their columns has. () by default.
    """

    name: str
    categories: tuple[int, ...] = ()

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
    def parts(self, params: Params) -> Mapping[str, Part]:
        """Return the named parts of the contributions, in order.

        Each has a shape and the weight that ``contributions`` multiplied it with: ``release["name"]`` then has that
        shape, with the weight undone.
        """

    @abstractmethod
    def bound(self, params: Params) -> Bound:
        """Return the proved norms of one row's contribution, over every row in the unit ball.

        ``Bound(l2=B)`` is enough. ``replace_l2``, a bound on the distance of two contributions, is worth proving:
        without one it is 2B, often √2·B can be shown, and the noise under replace-one follows it.
        """

    @abstractmethod
    def contributions(self, params: Params, block: Block) -> Any:
        """Return one row of contributions for each row of the block, shape (n, size of all parts), float64.

        The parts stand side by side in the order of ``parts``, each multiplied with its weight.
        """

    @abstractmethod
    def maximize(self, params: Params, release: Release) -> Params:
        """Return the next parameters, from those at which the release was measured. Total."""

    def sum(self, params: Params, block: Block) -> Any:
        """Return the sum of the block's contributions. Overridden where it can be had faster.

        For models of the library alone: ``discreet.fit_model`` adds up the contributions itself.
        """
        rows = self.contributions(params, block)
        return array_namespace(rows).sum(rows, axis=0)

    def roundoff(self, params: Params, dimension: int) -> float | None:
        """Return a bound on the float error of one contribution relative to ``bound.l2``; None for the usual one.

        The usual one, (d + 16)·2⁻⁵³, is for few operations a number. Exponentials, matrix products and recursions need
        more: what the float result may differ from the ideal one, in any order of the rows. Be generous: at 10⁻¹⁰ and
        a million rows it adds 0.02 % to the noise.
        """
        return None


def _instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    return [query for make in MODELS.values() for query in make(rng, d, radius)]


@registered(_instances)
@dataclass(frozen=True, eq=False)
class ModelQuery(Query, Generic[Params]):
    """What a model asks of the rows at given parameters."""

    model: Model[Params]
    params: Params
    space: Box | Ball

    @property
    def name(self) -> str:  # type: ignore[override]
        """The model's."""
        return self.model.name

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def categories(self) -> int | tuple[int, ...]:
        """The model's, for the search."""
        return tuple(self.model.categories)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The model's."""
        return self.model.parts(self.params)

    @property
    def bound(self) -> Bound:
        """The model's."""
        return self.model.bound(self.params)

    @property
    def roundoff(self) -> float:
        """The model's, or the usual one."""
        own = self.model.roundoff(self.params, self.dimension)
        return super().roundoff if own is None else own

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the rows have another space, or other categories than the model says that it looks at."""
        super().check(space, categories)
        found = tuple(len(values) for values in categories)
        if self.model.categories and tuple(self.model.categories) != found:
            raise ValueError(
                f"categories={self.model.categories!r} of {self.name!r}: expected {found}, as many as are declared"
            )

    def _unit(self, block: Block) -> Block:
        # Codes that the model has not declared stay away from it: no attack on its bound has tried them.
        codes = block.codes if self.model.categories else block.codes[:, :0]
        return Block(self.space.to_unit(block.x), codes)

    def contributions(self, block: Block) -> Any:
        """Return the model's contributions of the rows in the unit ball."""
        return self.model.contributions(self.params, self._unit(block))

    def sum(self, block: Block) -> Any:
        """Return the model's sum."""
        return self.model.sum(self.params, self._unit(block))


M = TypeVar("M", bound=type[Model[Any]])


def registered_model(make: Maker) -> Callable[[M], M]:
    """Return a class decorator for models: ``make(rng, d, radius)`` gives ``ModelQuery``s for the search."""

    def register(model: M) -> M:
        MODELS[model] = make
        return model

    return register


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
        release = measure(ModelQuery(model, params, space))
        params = model.maximize(params, release)
        releases.append(release)
    return params, releases
