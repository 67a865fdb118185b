"""Queries of tables: in the bins of a number, and several queries side by side in one release.

- ``Binned``: c in the place of the row's bin, as ``Grouped`` does it for categories. A number is in one bin, so the
  proof is the same.
- ``SideBySide``: (w₁c₁(x), …, w_k c_k(x)) of queries with bounds B_i on one row and D_i on the difference of two.
  Squares add up in L2 and lengths in L1, over the queries:

      ‖c(x)‖₂ ≤ √(Σ w_i²B_i²),      ‖c(x) − c(x')‖₂ ≤ √(Σ w_i²D_i²),
      ‖c(x)‖₁ ≤ Σ w_i B_i,          ‖c(x) − c(x')‖₁ ≤ Σ w_i D_i.

  They are attained where one row, or one pair, attains the bounds of all queries: as queries about different columns
  do, and as counts of a table and of its margins do. The histograms of k columns have √k and k, and √(2k) and 2k where
  a row is replaced.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from discreet.arguments import UNSHOWN, ArgumentError, integer, positive
from discreet.queries.adaptors import InGroups
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box

MOST_EDGES = 2**20


@dataclass(frozen=True)
class Binned(InGroups):
    """A query in every bin of a number, at once; an edge belongs to the bin above it.

    Which bin a number is in is decided by comparisons alone. The parts of the other query get an axis of bins first.

    Parameters
    ----------
    query : Query
    space : Box or Ball
        The curator's.
    column : int
    inner : tuple of float
        The edges between bins, in increasing order. The first bin has all below, the last all above.
    """

    query: Query
    space: Box | Ball
    column: int
    inner: tuple[float, ...]

    def __post_init__(self) -> None:
        integer("column", self.column, least=0, most=self.space.dimension - 1)
        edges = np.asarray(self.inner, dtype=np.float64)
        rising = edges.ndim == 1 and np.isfinite(edges).all() and (np.diff(edges) > 0.0).all()
        if not rising or not 1 <= edges.size <= MOST_EDGES:
            raise ArgumentError("inner", UNSHOWN, f"from 1 to {MOST_EDGES} finite edges, in increasing order")

    @property
    def groups(self) -> int:  # type: ignore[override]
        """How many bins there are."""
        return len(self.inner) + 1

    def check(self, space: Any, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the space is another, or the other query does not fit."""
        super().check(space, categories)
        self.query.check(space, categories)

    def _members(self, block: Block) -> list[Any]:
        x = self.space.clip(block.x)[:, self.column]
        inside = [(x >= low) & (x < high) for low, high in zip(self.inner, self.inner[1:], strict=False)]
        return [x < self.inner[0], *inside, x >= self.inner[-1]]


@dataclass(frozen=True)
class SideBySide(Query):
    """Several queries in one release.

    Parameters
    ----------
    queries : tuple of Query
        About the same rows.
    weights : tuple of float
        By which each is multiplied; a release divides by it again.

    Examples
    --------
    >>> from discreet.queries.counts.count_queries import Bins, Histogram
    >>> pair = SideBySide((Histogram(3), Bins(Box([0.0], [9.0]), 0, (3.0,))), (1.0, 1.0))
    >>> list(pair.parts), round(pair.bound.replace("l2"), 9)
    (['counts0', 'counts1'], 2.0)
    """

    queries: tuple[Query, ...]
    weights: tuple[float, ...]

    name = "side by side"

    def __post_init__(self) -> None:
        if not self.queries or len(self.queries) != len(self.weights):
            raise ArgumentError("weights", self.weights, "one for each query, of at least one")
        object.__setattr__(self, "weights", tuple(positive("weights", weight) for weight in self.weights))
        if len({one.dimension for one in self.queries} - {0}) > 1:
            raise ArgumentError("queries", UNSHOWN, "queries about the same columns")

    @property
    def dimension(self) -> int:
        """The number of columns, 0 where no query looks at one."""
        return max(one.dimension for one in self.queries)

    @property
    def categories(self) -> tuple[int, ...]:
        """How many categories each column of them has, as far as the queries look at them."""
        each = [getattr(one, "categories", 1) for one in self.queries]
        known = [one if isinstance(one, tuple) else (one,) for one in each]
        return tuple(map(max, zip_longest(*known, fillvalue=1)))

    def check(self, space: Any, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where one of the queries would."""
        for one in self.queries:
            one.check(space, categories)

    @property
    def parts(self) -> Mapping[str, Part]:
        """Those of all queries, each with the number of its query in its name."""
        return {
            f"{name}{place}": Part(part.shape, part.weight * weight, part.symmetric)
            for place, (query, weight) in enumerate(zip(self.queries, self.weights, strict=True))
            for name, part in query.parts.items()
        }

    @property
    def bound(self) -> Bound:
        """See the module."""
        bounds = [one.bound for one in self.queries]
        norms: dict[str, float | None] = {}
        attained = {}
        for name in ("l2", "l1", "replace_l2", "replace_l1"):
            norm = name.removeprefix("replace_")
            lengths = [one.replace(norm) if name.startswith("replace") else one.norm(norm) for one in bounds]
            if not all(map(math.isfinite, lengths)):
                norms[name] = None
                continue
            shares = [one.attained.get(name, 1.0) for one in bounds]
            whole = self._add(lengths, norm)
            norms[name] = whole
            reached = self._add([share * length for share, length in zip(shares, lengths, strict=True)], norm)
            attained[name] = min(reached / whole, 1.0)
        l2 = norms["l2"]
        assert l2 is not None  # every query has one
        return Bound(l2, norms["l1"], norms["replace_l2"], norms["replace_l1"], attained)

    def _add(self, lengths: Sequence[float], norm: str) -> float:
        """Return the length of vectors of these lengths, with their weights, side by side; rounded up."""
        terms = [Fraction(weight) * Fraction(length) for weight, length in zip(self.weights, lengths, strict=True)]
        exact = sum(terms) if norm == "l1" else sum(term * term for term in terms)
        result = float(exact) if norm == "l1" else math.sqrt(exact)
        while (Fraction(result) if norm == "l1" else Fraction(result) ** 2) < exact:
            result = math.nextafter(result, math.inf)
        return result

    @property
    def roundoff(self) -> float:
        """One product more than the queries, unless it is by 1 or of whole numbers."""
        exact = self.whole_numbers or all(weight == 1.0 for weight in self.weights)
        return max(one.roundoff for one in self.queries) + (0.0 if exact else 4.0 * UNIT_ROUNDOFF)

    @property
    def whole_numbers(self) -> bool:
        """Whether those of all queries are, and the weights."""
        return all(one.whole_numbers for one in self.queries) and all(weight.is_integer() for weight in self.weights)

    def contributions(self, block: Block) -> Any:
        """Return those of all queries, with their weights."""
        rows = [weight * one.contributions(block) for one, weight in zip(self.queries, self.weights, strict=True)]
        return array_namespace(rows[0]).concat(rows, axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums of all queries, with their weights."""
        sums = [weight * one.sum(block) for one, weight in zip(self.queries, self.weights, strict=True)]
        return array_namespace(sums[0]).concat(sums, axis=0)
