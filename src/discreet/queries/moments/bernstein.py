"""``Bernstein``: the number of rows, their sum and the sum of their squares, as three soft counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from discreet.arguments import ArgumentError
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Block, Box


@dataclass(frozen=True)
class Bernstein(Query):
    """Σ((1 − y)², 2y(1 − y), y²) of one column, scaled to y in [0, 1] by its bounds.

    These are the Bernstein polynomials of degree two: at least 0, and 1 together. So a row divides a count of 1 among
    three cells. From the sums c₀, c₁ and c₂ follow the number of rows, c₀ + c₁ + c₂, Σy = c₁/2 + c₂ and Σy² = c₂.

    *Bounds.* ‖c‖₁ = 1, and ‖c‖₂² = Σc_j² ≤ Σc_j = 1, both attained at y = 0. For two rows ‖c − c'‖₁ ≤ 2 and, since no
    number is negative, ‖c − c'‖₂² ≤ ‖c‖₂² + ‖c'‖₂² ≤ 2, both attained at y = 0 and y' = 1.

    Noise on Σy − m·(number of rows), which tests of a mean m depend on, has the variance m² + (½ − m)² + (1 − m)² in
    units of that of a cell. For Laplace noise that is about a third of what ``Squares`` has, at the same cost.

    Parameters
    ----------
    space : Box
        The column's bounds.
    """

    space: Box

    name = "bernstein"
    dimension = 1

    def __post_init__(self) -> None:
        if not isinstance(self.space, Box) or self.space.dimension != 1:
            raise ArgumentError("space", self.space, "the bounds of one column")

    @property
    def parts(self) -> Mapping[str, Part]:
        """The three sums."""
        return {"cells": Part((3,))}

    @property
    def bound(self) -> Bound:
        """1 in both norms; √2 and 2 when a row is replaced."""
        return Bound(l2=1.0, l1=1.0, replace_l2=math.sqrt(2.0), replace_l1=2.0)

    def contributions(self, block: Block) -> Any:
        """Return ((1 − y)², 2y(1 − y), y²)."""
        z = self.space.to_unit(block.x)
        xp = array_namespace(z)
        y, rest = 0.5 * z + 0.5, 0.5 - 0.5 * z
        return xp.concat([rest * rest, 2.0 * y * rest, y * y], axis=1)
