"""How the numbers of a column are rounded: how many rows are multiples of each of a chain of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from array_api_compat import array_namespace

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.counts.count_queries import CellCounts
from discreet.queries.question import Part
from discreet.records import Ball, Block, Box

EXACT, NEAR = 2e-7, 1e-3  # tolerances, of the number and of a step: logarithms and floats of 32 bits are rounded


@dataclass(frozen=True)
class RoundedNumbers(CellCounts):
    """How many rows are multiples of no step, of the first step alone, …, of all steps; and how many are atoms.

    A row is in one cell, so the bound is that of ``CellCounts``: let a(x) be 1 where x is an atom, that is 0 or at a
    bound, or beyond it, and b(x) the number of steps of which x is a multiple, each decided by comparisons. Of K steps
    the cell is b(x), from 0 to K, or K + 1 where a(x) = 1. It follows from the row's own bits.

    Parameters
    ----------
    space : Box or Ball
    column : int
    ends : (float, float)
        The bounds of the column, as it is measured. Numbers are clipped to them, so that none overflows.
    steps : tuple of float
        In the column's own units, each a multiple of the one before.
    log : bool
        Whether the column has logarithms; their exponentials are looked at.
    """

    space: Box | Ball
    column: int
    ends: tuple[float, float]
    steps: tuple[float, ...]
    log: bool = False

    name = "rounded numbers"

    def __post_init__(self) -> None:
        integer("column", self.column, least=0, most=self.space.dimension - 1)
        if not self.steps or self.steps[0] <= 0.0 or any(b <= a for a, b in pairwise(self.steps)):
            raise ArgumentError("steps", UNSHOWN, "one or more above 0, in increasing order")
        if not self.ends[0] < self.ends[1]:
            raise ArgumentError("ends", self.ends, "two numbers in increasing order")

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """One count a cell."""
        return {"counts": Part((len(self.steps) + 2,))}

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        low, high = self.ends
        xp = array_namespace(block.x)
        measured = xp.clip(block.x[:, self.column], low, high)
        x = xp.exp(measured) if self.log else measured
        number = xp.zeros_like(x, dtype=xp.int64)
        for step in self.steps:
            times = x / step
            off = xp.abs(times - xp.round(times))
            number = number + xp.astype((off <= NEAR) & (off <= EXACT * xp.abs(times)), xp.int64)
        atom = xp.astype((measured <= low) | (measured >= high) | (x == 0.0), xp.int64)
        return number + atom * (len(self.steps) + 1 - number)
