"""The query of a model at given parameters: the sum of its contributions, with the bound that the model proves.

``ModelQuery`` is for models of the library, ``GuardedQuery`` for a user's model, whose code is not trusted.
``check_model`` looks for faults on made-up rows, and ``GuardedQuery`` makes those harmless that it does not find.
Whatever the code of a model does with a row, the row contributes finite numbers of norm at most B = ``bound.l2``:

- Contributions are computed through ``queries.functions.user_functions``. Only plain numbers are used, and nothing that
  the code raises, warns of or returns reveals a row.
- Each contribution is clipped to its bound (``Bound.clip_contributions``). One that is not finite, or masked, is 0.
- Where the code fails, or returns another shape or another type than float64, its rows are tried in halves, down to
  single rows. A row for which it still fails contributes 0. So one row does not affect the others.
- The sum is computed here from these contributions. The model's own ``sum`` never sees a row.
- ``parts``, ``bound`` and ``roundoff`` are evaluated once, before a row is read, so the charged bound is the enforced
  one.

Contributions are copied to the host and clipped there, whatever array library the rows are in. The author of the model
must still prove that a row's contribution depends on no other row, and ``replace_l2`` where it is below 2B.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.queries.bound import Bound
from discreet.queries.functions.user_functions import NotNumbers, attempt_rows
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box, Space

Params = TypeVar("Params")


class Contributing(ABC, Generic[Params]):
    """The private side of a model (``discreet.Model``): what a row contributes at given parameters, and its bound.

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
    def parts(self, params: Params) -> Mapping[str, Part]:
        """Return the named parts of the contributions, in order.

        Each has a shape and the weight that ``contributions`` multiplied it with: ``release["name"]`` then has that
        shape, with the weight undone.
        """

    @abstractmethod
    def bound(self, params: Params) -> Bound:
        """Return the proved norms of one row's contribution, over every row in the unit ball.

        ``Bound(l2=B)`` is enough. Under replace-one the noise is proportional to ``replace_l2``, a bound on the
        distance of two contributions. It is 2B by default, and often √2·B can be proved.
        """

    @abstractmethod
    def contributions(self, params: Params, block: Block) -> Any:
        """Return one row of contributions for each row of the block, shape (n, size of all parts), float64.

        The parts stand side by side in the order of ``parts``, each multiplied with its weight.
        """

    def sum(self, params: Params, block: Block) -> Any:
        """Return the sum of the block's contributions. Overridden where it can be computed faster.

        For models of the library alone: ``discreet.fit_model`` adds up the contributions itself.
        """
        rows = self.contributions(params, block)
        return array_namespace(rows).sum(rows, axis=0)

    def roundoff(self, params: Params, dimension: int) -> float | None:
        """Return a bound on the float error of one contribution relative to ``bound.l2``; None for the default.

        The default, (d + 16)·2⁻⁵³, is for few operations per number. Exponentials, matrix products and recursions need
        more: a bound on the difference between the float result and the ideal one, for any order of the rows. A
        generous bound costs little: 10⁻¹⁰ with a million rows adds 0.02 % to the noise.
        """
        return None


@dataclass(frozen=True, eq=False)
class ModelQuery(Query, Generic[Params]):
    """The query of a model at given parameters."""

    model: Contributing[Params]
    params: Params
    space: Box | Ball

    @property
    def name(self) -> str:  # type: ignore[override]
        """The model's."""
        return self.model.name

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
        """The model's, or the default."""
        own = self.model.roundoff(self.params, self.dimension)
        return super().roundoff if own is None else own

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the rows have another space, or other categories than the model says that it looks at."""
        super().check(space, categories)
        result = tuple(len(values) for values in categories)
        if self.model.categories and tuple(self.model.categories) != result:
            raise ValueError(
                f"categories={self.model.categories!r} of {self.name!r}: expected {result}, as many as are declared"
            )

    def _unit(self, block: Block) -> Block:
        # A model does not see codes that it has not declared: no attack on its bound has tried them.
        codes = block.codes if self.model.categories else block.codes[:, :0]
        return Block(self.space.to_unit(block.x), codes)

    def contributions(self, block: Block) -> Any:
        """Return the model's contributions of the rows in the unit ball."""
        return self.model.contributions(self.params, self._unit(block))

    def sum(self, block: Block) -> Any:
        """Return the model's sum, where it has one of its own, and else that of its contributions."""
        if type(self.model).sum is Contributing.sum:
            return super().sum(block)
        return self.model.sum(self.params, self._unit(block))


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GuardedQuery(ModelQuery[Any]):
    """The query of a user's model; see the module."""

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The model's."""
        return dict(super().parts)

    @cached_property
    def bound(self) -> Bound:
        """The model's."""
        return super().bound

    @cached_property
    def roundoff(self) -> float:
        """The model's."""
        return super().roundoff

    def contributions(self, block: Block) -> Array:
        """Return each row's contribution: finite, and clipped to the bound."""
        rows = attempt_rows(partial(self._ask, block), block.x.shape[0], self.size, 0.0)
        return np.asarray(self.bound.clip_contributions(rows, self.roundoff))

    def _ask(self, block: Block, some: slice) -> Any:
        """Return the model's contributions of some rows, which are copied because it may write into them."""
        xp = array_namespace(block.x)
        rows = super().contributions(Block(*(xp.asarray(part[some, :], copy=True) for part in block)))
        if not str(rows.dtype).endswith("float64"):  # its float error is charged for no other
            raise NotNumbers(f"values of type {rows.dtype}")
        return rows

    def sum(self, block: Block) -> Array:
        """Return the sum of these contributions."""
        return np.asarray(Query.sum(self, block))
