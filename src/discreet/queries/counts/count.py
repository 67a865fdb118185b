"""The number of rows: 1 for each. A row that comes or goes moves it by 1; a replaced one may have been dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Block

__all__ = ["Count"]


@dataclass(frozen=True)
class Count(Query):
    """How many rows contribute."""

    name = "count"

    @property
    def dimension(self) -> int:
        """No numeric column is looked at."""
        return 0

    @property
    def parts(self) -> Mapping[str, Part]:
        """The count."""
        return {"count": Part((1,))}

    @property
    def bound(self) -> Bound:
        """1; two rows that both contribute are not apart at all."""
        return Bound(l2=1.0, l1=1.0, replace_l2=1.0, replace_l1=1.0, attained={"replace_l2": 0.0, "replace_l1": 0.0})

    @property
    def roundoff(self) -> float:
        """Counts below 2⁵³ are exact."""
        return 0.0

    def contributions(self, block: Block) -> Any:
        """Return ones."""
        xp = array_namespace(block.x)
        return xp.ones((block.x.shape[0], 1), dtype=xp.float64, device=device(block.x))
