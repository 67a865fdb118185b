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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from array_api_compat import array_namespace

from discreet.door import Bound, Query, Release
from discreet.door.part import Part
from discreet.door.registry import Maker, registered
from discreet.records import Ball, Block, Box

__all__ = ["MODELS", "Model", "ModelQuery", "Step", "expectation_maximization", "registered_model"]

Params = TypeVar("Params")
Step = Callable[[Query], Release]

MODELS: dict[type[Any], Maker] = {}


class Model(ABC, Generic[Params]):
    """A model with latent variables, as the loop sees it. Parameters are a value of any kind, public by construction.

    Attributes
    ----------
    name : str
        For the ledger and the releases.
    """

    name: str

    @abstractmethod
    def initialize(self, dimension: int, rng: np.random.Generator) -> Params:
        """Return parameters to start from. They must not depend on the data, other than through earlier releases."""

    @abstractmethod
    def parts(self, params: Params) -> Mapping[str, Part]:
        """Return the named parts of the contributions, in order."""

    @abstractmethod
    def bound(self, params: Params) -> Bound:
        """Return the proved norms of one row's contribution, over every row in the unit ball."""

    @abstractmethod
    def contributions(self, params: Params, block: Block) -> Any:
        """Return one row of contributions for each row of the block. Array-API generic."""

    @abstractmethod
    def maximize(self, params: Params, release: Release) -> Params:
        """Return the next parameters. Total: any finite numbers give valid parameters."""

    def sum(self, params: Params, block: Block) -> Any:
        """Return the sum of the block's contributions. Overridden where it can be had faster."""
        rows = self.contributions(params, block)
        return array_namespace(rows).sum(rows, axis=0)

    def roundoff(self, params: Params, dimension: int) -> float | None:
        """Return a bound on the float error of one contribution relative to ``bound.l2``; None for the usual one."""
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

    def _unit(self, block: Block) -> Block:
        return Block(self.space.to_unit(block.x), block.codes)

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
