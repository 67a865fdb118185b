"""Sums of clipped moments at public components, as a query: for methods that are no loop of one model.

A row is mapped into the unit ball of the space and contributes what ``clipped_moments`` says. Its bounds and its
roundoff, with their proofs, are the query's: the map clips by itself, so they hold for any row.

The weights (a², b², c²) say which moments there are. Those that are in use are named here, so that the search attacks
what is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.queries.bound import Bound
from discreet.queries.moments.clipped_moments import ClippedMoments
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box

__all__ = ["COUNTS", "COUNTS_AND_SUMS", "FIRST", "FULL", "ROUND", "SECOND", "MomentSums"]

COUNTS, FIRST, SECOND = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
COUNTS_AND_SUMS = (0.5, 0.5, 0.0)  # a ≥ b: a replaced row costs √2
ROUND = (0.25, 0.5, 0.25)  # 2ac ≥ b²: the same
FULL = (0.2, 0.3, 0.5)


@dataclass(frozen=True, eq=False)
class MomentSums(Query):
    """Sums of clipped moments over the rows.

    Parameters
    ----------
    moments : ClippedMoments
    space : Box or Ball
        Of the curator; rows are mapped from it into the unit ball.
    name : str
        For the ledger and the release: what the sums are for.
    """

    moments: ClippedMoments
    space: Box | Ball
    name: str  # type: ignore[misc]

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """Counts, first and second moments, as far as they have a weight."""
        return self.moments.parts

    @property
    def bound(self) -> Bound:
        """See ``clipped_moments``."""
        return self.moments.bound

    @property
    def roundoff(self) -> float:
        """See ``clipped_moments``."""
        return self.moments.roundoff

    def contributions(self, block: Block) -> Any:
        """Return responsibilities times clipped moments."""
        return self.moments.contributions(self.space.to_unit(block.x))

    def sum(self, block: Block) -> Any:
        """Return their sum."""
        return self.moments.sum(self.space.to_unit(block.x))
