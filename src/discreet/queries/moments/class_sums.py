"""Sums of each class's rows, scaled to [0, 1] by their bounds: what the means of Xi, Kantarcioglu and Inan are made of.

*Bound.* A row u in [0, 1]^d contributes u in the place of its class and 0 elsewhere: ‖u‖₁ ≤ d and ‖u‖₂ ≤ √d. Of a
replaced row the two contributions have no negative number, and in one class they differ by at most 1 in each column: d
in L1 and √d in L2. In two classes they are in different places: 2d in L1 and √(2d) in L2. All of it is attained at
u = (1, …, 1), and at u' = 0 in the same class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.arguments import integer
from discreet.queries.bound import Bound
from discreet.queries.moments.mixed_moments import one_hot
from discreet.queries.objectives.labelled import LabelledQuestion
from discreet.queries.question import Part, Query
from discreet.records import Block, Box

__all__ = ["ClassSums"]


@dataclass(frozen=True)
class ClassSums(LabelledQuestion, Query):
    """Σ u over the rows of each class.

    Parameters
    ----------
    space : Box
        The curator's.
    classes : int
        How many labels are declared.
    column : int
        Which of the columns of categories holds them, counted from 0.
    """

    space: Box
    classes: int
    column: int = 0

    name = "class sums"

    def __post_init__(self) -> None:
        integer("classes", self.classes, least=1)
        integer("column", self.column, least=0)

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def labels(self) -> int:
        """The classes."""
        return self.classes

    @property
    def parts(self) -> Mapping[str, Part]:
        """The sums."""
        return {"sums": Part((self.classes, self.dimension))}

    @property
    def bound(self) -> Bound:
        """See the module."""
        d, moved = float(self.dimension), 2.0 if self.classes > 1 else 1.0
        return Bound(l2=math.sqrt(d), l1=d, replace_l2=math.sqrt(moved * d), replace_l1=moved * d)

    def contributions(self, block: Block) -> Any:
        """Return u in the place of the row's class."""
        xp = array_namespace(block.x)
        low = xp.asarray(np.asarray(self.space.low), device=device(block.x))
        width = xp.asarray(np.asarray(self.space.high) - np.asarray(self.space.low), device=device(block.x))
        u = xp.clip((self.space.clip(block.x) - low) / width, 0.0, 1.0)
        here = one_hot(block.codes[:, self.column], self.classes)
        return xp.reshape(here[:, :, None] * u[:, None, :], (u.shape[0], -1))
