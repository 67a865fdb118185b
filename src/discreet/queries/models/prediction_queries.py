"""How well a public model predicts: a confusion matrix, scores by class on a grid, and squared residuals, as queries.

The model is public (it was released before), and so is what it predicts for a row. Every number is computed by
elementwise operations, column by column and not by a matrix product, so it is a function of the row's own bits.

**Confusion matrix and scores by class** (``Confusion``, ``ScoreCells``). A row adds 1 to one cell: that of its class
and of the class that the model predicts, or of its class and of the bin of its score. So the bounds are those of
``CellCounts``, whatever the model: 1 in both norms, and √2 in L2, 2 in L1 for a replaced row.

**Squared residuals** (``ResidualSquares``). A target y between declared bounds is t = (y − middle)/half in [−1, 1]. The
prediction is clipped to the same bounds, u in [−1, 1], and r = (t − u)/2 is in [−1, 1] too. A row contributes

    c = (a, b·t, b/√2·(2t² − 1), e·(2r² − 1)),    a² + b² + b²/2 + e² = 1.

*Norm.* b²t² + b²/2·(2t² − 1)² is convex in t², so it is largest at an end: b²/2 at t = 0 and 3b²/2 at t = ±1. Hence
‖c‖² ≤ a² + 3b²/2 + e² = 1, and ‖c‖₁ ≤ a + b·|t| + b/√2 + e ≤ a + b + b/√2 + e.

*Two rows.* a cancels. With δ = |t − t'| and s = |t + t'| ≤ 2 − δ the second and the third number move by b·δ and
√2·b·δ·s. Let v = 2 − δ, in [0, 2]. In L2 they move together by at most b·δ·√(1 + 2v²), and

    δ²(1 + 2v²) − 4 = (2 − v)²(1 + 2v²) − 4 = v·(2v³ − 8v² + 9v − 4) ≤ 0:

the bracket has its only maximum within [0, 2] at v = (8 − √10)/6, where it is below −0.89; it is −4 at v = 0 and −2 at
v = 2. So they move by at most 2b, the last number by at most 2e, and ‖c − c'‖ ≤ 2√(b² + e²). In L1 they move by at most
b·(δ + √2·δ(2 − δ)), which is largest at δ = 1 + 1/(2√2), at b·(1 + 2√2)²/(4√2): ‖c − c'‖₁ ≤ b·(1 + 2√2)²/(4√2) + 2e.
All are attained where the model predicts an end of the bounds for some row. ∎
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.adaptors import column_limits
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.counts.count_queries import CellCounts
from discreet.queries.moments.components import Components
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box

Array = NDArray[np.float64]

COUNTED = 0.1  # a², where rows are counted
RESIDUAL = 0.6  # e², as a share of the rest
APART = (1.0 + 2.0 * math.sqrt(2.0)) ** 2 / (4.0 * math.sqrt(2.0))


@dataclass(frozen=True, eq=False)
class LinearRule:
    """Linear scores of a row: x·coefficients + intercepts.

    Parameters
    ----------
    coefficients : array of shape (k, d)
    intercepts : array of shape (k,)
    """

    coefficients: Array
    intercepts: Array

    def __post_init__(self) -> None:
        coefficients, intercepts = np.asarray(self.coefficients), np.asarray(self.intercepts)
        if coefficients.ndim != 2 or intercepts.shape != coefficients.shape[:1]:
            raise ArgumentError("coefficients, intercepts", UNSHOWN, "shapes (k, d) and (k,)")
        if not (np.isfinite(coefficients).all() and np.isfinite(intercepts).all()):
            raise ArgumentError("coefficients, intercepts", UNSHOWN, "finite numbers")


def rule_scores(rule: LinearRule | Components, columns: Sequence[Any]) -> list[Any]:
    """Return a score for each row, for each of the rule's classes: linear, or log prior plus log density.

    The constant of the normal density is left out. Elementwise, from a list of columns; array-API generic.
    """
    if isinstance(rule, LinearRule):
        return [
            _combine(columns, line, float(start))
            for line, start in zip(rule.coefficients, rule.intercepts, strict=True)
        ]
    result = []
    for mean, whitening, constant in zip(rule.means, rule.whitening, rule.log_constants, strict=True):
        moved = [column - float(middle) for column, middle in zip(columns, mean, strict=True)]
        squares = 0.0
        for line in whitening:
            z = _combine(moved, line, 0.0)
            squares = squares + z * z
        result.append(float(constant) - 0.5 * squares)
    return result


def _combine(columns: Sequence[Any], weights: Array, start: float) -> Any:
    total = start
    for column, weight in zip(columns, weights, strict=True):
        total = total + column * float(weight)
    return total


def _split(x: Any) -> list[Any]:
    return [x[:, j] for j in range(x.shape[1])]


class _PredictedCells(CellCounts):
    """A cell for each row, by its class and by what the model says of it."""

    space: Box | Ball
    rule: LinearRule | Components
    column: int

    @property
    def classes(self) -> int:
        """How many classes there are."""
        raise NotImplementedError

    @property
    def categories(self) -> tuple[int, ...]:
        """How many categories each column of them has, as far as the query looks at them."""
        return (1,) * self.column + (self.classes,)

    def check(self, space: Any, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the column is not there, or has another number of classes."""
        super().check(space, categories)
        have = [len(values) for values in categories]
        if self.column >= len(have) or have[self.column] != self.classes:
            raise ArgumentError("column", self.column, f"a column of {self.classes} categories; they have {have}")

    def _check_rule(self, classes: int) -> None:
        integer("column", self.column, least=0)
        linear = isinstance(self.rule, LinearRule)
        shape = self.rule.coefficients.shape if isinstance(self.rule, LinearRule) else self.rule.means.shape
        if shape != (classes, self.space.dimension):
            kind = "linear scores" if linear else "Gaussians"
            raise ArgumentError("rule", UNSHOWN, f"{classes} {kind} of {self.space.dimension} columns")

    def _scores(self, block: Block) -> list[Any]:
        return rule_scores(self.rule, _split(self.space.clip(block.x)))


@dataclass(frozen=True, eq=False)
class Confusion(_PredictedCells):
    """How many rows of each class the model takes for each class; see the module.

    Parameters
    ----------
    space : Box or Ball
        The curator's.
    rule : LinearRule or Components
        A score for each class, in the order of the declared categories. The largest one is predicted, and the first of
        equal ones.
    count : int
        How many classes there are.
    column : int
        Which of the columns of categories has the class.
    """

    space: Box | Ball
    rule: LinearRule | Components
    count: int
    column: int = 0

    name = "confusion matrix"

    def __post_init__(self) -> None:
        integer("count", self.count, least=2)
        self._check_rule(self.count)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.count

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count for each class and each prediction."""
        return {"counts": Part((self.count, self.count))}

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        best, *others = self._scores(block)
        xp = array_namespace(block.x)
        place = xp.zeros((block.x.shape[0],), dtype=xp.int64, device=device(block.x))
        for k, score in enumerate(others, start=1):
            better = score > best
            place, best = xp.where(better, xp.full_like(place, k), place), xp.where(better, score, best)
        return xp.astype(block.codes[:, self.column], xp.int64) * self.count + place


@dataclass(frozen=True, eq=False)
class ScoreCells(_PredictedCells):
    """How many rows of each of two classes have a score between two edges; see the module.

    Parameters
    ----------
    space : Box or Ball
        The curator's.
    rule : LinearRule or Components
        A score for each class. What is counted is the second less the first.
    inner : tuple of float
        The edges between bins, in increasing order. The first bin has all below, the last all above.
    column : int
        Which of the columns of categories has the class.
    """

    space: Box | Ball
    rule: LinearRule | Components
    inner: tuple[float, ...]
    column: int = 0

    name = "scores by class"

    def __post_init__(self) -> None:
        self._check_rule(2)
        edges = np.asarray(self.inner, dtype=np.float64)
        if edges.ndim != 1 or not edges.size or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise ArgumentError("inner", UNSHOWN, "finite edges, in increasing order")

    @property
    def classes(self) -> int:
        """Two."""
        return 2

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.inner) + 1

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count for each class and each bin."""
        return {"counts": Part((2, self.bins))}

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        first, second = self._scores(block)
        score, xp = second - first, array_namespace(block.x)
        edges = xp.asarray(self.inner, dtype=score.dtype, device=device(block.x))
        place = xp.searchsorted(edges, score, side="right")
        return xp.astype(block.codes[:, self.column], xp.int64) * self.bins + xp.astype(place, xp.int64)


@dataclass(frozen=True, eq=False)
class ResidualSquares(Query):
    """Sums of a target, its square and the squared residual of a linear prediction; see the module.

    Parameters
    ----------
    space : Box
        The curator's, with the target among its columns.
    rule : LinearRule
        One score, of the other columns in their order.
    target : int
        Which column is the target.
    counted : bool
        Whether the rows are counted as well.
    """

    space: Box
    rule: LinearRule
    target: int
    counted: bool = True

    name = "squared residuals"

    def __post_init__(self) -> None:
        integer("target", self.target, least=0, most=self.space.dimension - 1)
        if self.rule.coefficients.shape != (1, self.space.dimension - 1):
            raise ArgumentError("rule", UNSHOWN, f"one score of {self.space.dimension - 1} columns")

    @property
    def amplitudes(self) -> tuple[float, float, float]:
        """a, b and e."""
        a2 = COUNTED if self.counted else 0.0
        e2 = RESIDUAL * (1.0 - a2)
        return math.sqrt(a2), math.sqrt((1.0 - a2 - e2) / 1.5), math.sqrt(e2)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The count, Σt, Σ(2t² − 1) and Σ(2r² − 1)."""
        a, b, e = self.amplitudes
        sums = {"first": Part((1,), b), "square": Part((1,), b / math.sqrt(2.0)), "residual": Part((1,), e)}
        return ({"count": Part((1,), a)} if self.counted else {}) | sums

    @property
    def bound(self) -> Bound:
        """See the module."""
        a, b, e = self.amplitudes
        # Models that predict no value near an end of the bounds come less near.
        near = {"l2": 0.7, "l1": 0.7, "replace_l2": 0.7, "replace_l1": 0.7}
        return Bound(
            l2=1.0,
            l1=a + b + b / math.sqrt(2.0) + e,
            replace_l2=max(2.0 * math.hypot(b, e), 1.0),
            replace_l1=b * APART + 2.0 * e,
            attained=near,
        )

    @property
    def ends(self) -> tuple[float, float]:
        """The declared bounds of the target."""
        return column_limits(self.space, self.target)

    @property
    def roundoff(self) -> float:
        """A prediction is off by a few ulp of its largest term; where it is clipped, by less."""
        low, high = self.ends
        largest = np.maximum(np.abs(np.asarray(self.space.low)), np.abs(np.asarray(self.space.high)))
        terms = np.abs(self.rule.coefficients[0]) @ np.delete(largest, self.target) + abs(self.rule.intercepts[0])
        size = float(terms) + abs(low) + abs(high)
        return (self.dimension + 32.0) * UNIT_ROUNDOFF * (1.0 + 8.0 * size / (high - low))

    def contributions(self, block: Block) -> Any:
        """Return the numbers of each row."""
        low, high = self.ends
        middle, half = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
        columns = _split(self.space.clip(block.x))
        xp = array_namespace(block.x)
        y = columns.pop(self.target)
        (predicted,) = rule_scores(self.rule, columns) if columns else (xp.zeros_like(y) + self.rule.intercepts[0],)
        t, u = (xp.clip((one - middle) / half, -1.0, 1.0) for one in (y, predicted))
        r = (t - u) / 2.0
        a, b, e = self.amplitudes
        numbers = [b * t, b / math.sqrt(2.0) * (2.0 * t * t - 1.0), e * (2.0 * r * r - 1.0)]
        return xp.stack([xp.full_like(t, a), *numbers] if self.counted else numbers, axis=1)
