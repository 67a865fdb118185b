"""Sums of rows and of their products, in the unit ball of the declared space or in the columns' own units.

Each class has its bound with the proof. ``Products`` follows Blum, Dwork, McSherry and Nissim (2005), where every entry
of a covariance is a query of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.arguments import ArgumentError, nonnegative, positive
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query, pack_gram, pack_squares
from discreet.records import Ball, Block, Box
from discreet.records.generic_arrays import on_device


def _check_space(space: Any) -> None:
    if not isinstance(space, Box | Ball):
        raise ArgumentError("space", space, "a Box or a Ball", write="for example Sum(curator.space)")


@dataclass(frozen=True)
class Sum(Query):
    """Σ y, the rows mapped into the unit ball: ‖y‖₂ ≤ 1, ‖y‖₁ ≤ √d, and twice that when a row is replaced."""

    space: Box | Ball

    name = "sum"

    def __post_init__(self) -> None:
        _check_space(self.space)

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The sum of y."""
        return {"sum": Part((self.dimension,))}

    @cached_property
    def bound(self) -> Bound:
        """1 in L2, √d in L1."""
        return Bound(l2=1.0, l1=math.sqrt(self.dimension))

    def contributions(self, block: Block) -> Any:
        """Return y."""
        return self.space.to_unit(block.x)


def _box_l1(p: float, r: float) -> float:
    """Return the maximum of pβ + rβ(1 − β) over β in [0, 1]."""
    return (p + r) ** 2 / (4.0 * r) if p <= r else p


@dataclass(frozen=True)
class Moments(Query):
    """Σ (a, b·y, c·yyᵀ): the number of rows, their sum and their second moment, as one release.

    *Bounds.* With ‖y‖ ≤ 1 and ψ = (a, b·y, c·yyᵀ), the matrix packed with √2 off the diagonal so that the vector norm
    is the Frobenius norm:

    - ‖ψ‖₂² = a² + b²‖y‖² + c²‖y‖⁴ ≤ a² + b² + c² = 1.
    - ⟨ψ, ψ'⟩ = a² + b²v + c²v² with v = ⟨y, y'⟩ in [−1, 1]. Its least value is t = a² − b⁴/(4c²) at v = −b²/(2c²),
      where that is at least −1, else t = a² − b² + c² at v = −1. So ‖ψ − ψ'‖₂² ≤ 2 − 2t.
    - ‖y‖₁ ≤ √d and ‖packed yyᵀ‖₁ = (1 − 1/√2)‖y‖₂² + ‖y‖₁²/√2 ≤ 1 − 1/√2 + d/√2. The constant a cancels when a row is
      replaced, and in a ball two rows are apart by twice the rest at most.

    In a box y = z/√d with z in [−1, 1]^d, and two rows are closer. Let β_i = |z_i − z'_i|/2 and α_i = 1 − β_i, so that
    |z_i + z'_i|/2 ≤ α_i. As z_i z_j − z'_i z'_j = ½[(z_i + z'_i)(z_j − z'_j) + (z_i − z'_i)(z_j + z'_j)], it is at most
    2(α_iβ_j + β_iα_j), and all of this is attained at once.

    - L1: (2b/√d)Σβ_i + (2c/d)·[2S + √2(AB − S)], A = Σα_i, B = Σβ_i, S = Σα_iβ_i, since the diagonal has 2α_iβ_i and
      each pair √2(α_iβ_j + β_iα_j). It grows with S = B − Σβ_i², which for a given B is largest where all β_i are one
      β. That leaves Pβ + Rβ(1 − β), P = 2b√d and R = 2c(2 + √2(d − 1)): at most (P + R)²/(4R) where P ≤ R, else P, at β
      = 1.
    - L2: the square is (4b²/d)Σβ_i² + (4c²/d²)Σ_{i,j}(α_iβ_j + β_iα_j)². In one β_i all of it is convex but the
      diagonal term (16c²/d²)β²(1 − β)², which is at most (4c²/d²)β(1 − β), with equality at both ends. With that in its
      place the second derivative is at least 8b²/d − 8c²/d² ≥ 0 if b²d ≥ c². So the maximum is at two corners that
      differ in k columns: 4b²k/d + 8c²k(d − k)/d².

    Parameters
    ----------
    space : Box or Ball
        The rows are clipped to it and mapped into the unit ball.
    weights : tuple of three floats
        a², b² and c², which sum to 1: how the budget is shared between count, first and second moment. The count may be
        left out (0), and one of the moments.
    """

    space: Box | Ball
    weights: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)

    name = "moments"

    def __post_init__(self) -> None:
        _check_space(self.space)
        wrong = ArgumentError("weights", self.weights, "three numbers a², b², c² ≥ 0 that sum to 1, a² < 1")
        if not isinstance(self.weights, tuple | list | np.ndarray) or len(self.weights) != 3:
            raise wrong
        a2, b2, c2 = (nonnegative("weights", weight) for weight in self.weights)
        total = a2 + b2 + c2
        if not (b2 + c2 > 0.0 and abs(total - 1.0) < 1e-9):
            raise wrong
        object.__setattr__(self, "weights", (a2 / total, b2 / total, c2 / total))  # 1 to the last digits

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The count, the first moment and the second, as far as they have a weight."""
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        d = self.dimension
        named = {"count": Part((1,), a), "first": Part((d,), b), "second": Part((d, d), c, symmetric=True)}
        return {name: part for name, part in named.items() if part.weight}

    @cached_property
    def bound(self) -> Bound:
        """See the class; in a ball the L1 bound under replacement is not tight, nor in a box L2 where c² > b²d."""
        a2, b2, c2 = self.weights
        d = self.dimension
        least = a2 - b2 * b2 / (4.0 * c2) if b2 <= 2.0 * c2 and c2 > 0.0 else a2 - b2 + c2
        replaced = math.sqrt(max(2.0 - 2.0 * least, 1.0))
        rows = math.sqrt(b2 * d) + math.sqrt(c2) * (1.0 - math.sqrt(0.5) + d * math.sqrt(0.5))
        l1 = math.sqrt(a2) + rows
        # In a box, and on the line, only corners have norm 1, and two of them have v = 1 − 2k/d.
        corners = [1.0 - 2.0 * k / d for k in range(d + 1)]
        at_corners = math.sqrt(max(2.0 - 2.0 * (a2 + b2 * v + c2 * v * v) for v in corners))
        tight = d > 1 and isinstance(self.space, Ball) and 2.0 - 2.0 * least >= 1.0
        if isinstance(self.space, Box):
            exact = b2 * d >= c2
            return Bound(
                l2=1.0,
                l1=l1,
                replace_l2=at_corners if exact else replaced,
                replace_l1=_box_l1(2.0 * math.sqrt(b2 * d), 2.0 * math.sqrt(c2) * (2.0 + math.sqrt(2.0) * (d - 1))),
                attained={} if exact else {"replace_l2": at_corners / replaced},
            )
        return Bound(
            l2=1.0,
            l1=l1,
            replace_l2=replaced,
            replace_l1=max(2.0 * rows, l1),
            attained={
                "replace_l2": 1.0 if tight else at_corners / replaced,
                "replace_l1": 2.0 * math.sqrt(b2 * d) / max(2.0 * rows, l1),
            },
        )

    def contributions(self, block: Block) -> Any:
        """Return (a, b·y, c·packed yyᵀ)."""
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        parts = [xp.full((y.shape[0], 1), a, dtype=y.dtype, device=device(y))] if a else []
        parts += [b * y] if b else []
        parts += [c * pack_squares(y)] if c else []
        return xp.concat(parts, axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums by one matrix product."""
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        parts = [xp.full((1,), a * y.shape[0], dtype=y.dtype, device=device(y))] if a else []
        parts += [b * xp.sum(y, axis=0)] if b else []
        parts += [c * pack_gram(y)] if c else []
        return xp.concat(parts, axis=0)


@dataclass(frozen=True)
class Squares(Query):
    """Σ(a, b·y, c·(2y² − 1)) of one column, about the middle of its bounds: what a variance is made of.

    With y in [−1, 1] a row contributes (a, b·y, c·(2y² − 1)), a² + b² + c² = 1. The square is taken about its own
    middle, so that a row that comes or goes moves it by half of what y² would.

    *Bounds.* b²y² + c²(2y² − 1)² is convex in y², so it is largest at |y| = 1 (or at 0, where it is less): ‖ψ‖₂ ≤ 1,
    and ‖ψ‖₁ ≤ a + b + c, as b|y| + c|2y² − 1| is at most c + b²/(8c) < b + c where 2y² < 1 and b ≤ 4c, and rises after
    that.

    For two rows let δ = |y − y'| and s = |y + y'|, δ + s ≤ 2. They are apart by (b·δ, 2c·δ·s), so take s = 2 − δ.
    - L1: δ(b + 2c(2 − δ)) is largest at δ = 1 + b/(4c), where it is 2c(1 + b/(4c))²; if b ≥ 4c at δ = 2, where it is
      2b.
    - L2: δ²(b² + 4c²(2 − δ)²) is 4b² at δ = 2. With u = 2 − δ its slope is 0 where b² + 8c²u² − 8c²u = 0, of which u =
      (1 + √(1 − b²/(2c²)))/2 is the maximum, if b² ≤ 2c².

    Parameters
    ----------
    space : Box
        The column's bounds.
    counted : bool
        Whether the rows are counted as well.
    weights : (float, float, float), optional
        a², b² and c², in any unit. The default ones make the error of the variance small where the mean is up to a
        third of the way from the middle to an end, and do not fail it elsewhere.
    """

    space: Box
    counted: bool
    weights: tuple[float, float, float] | None = None

    name = "squares"
    dimension = 1

    def __post_init__(self) -> None:
        if self.space.dimension != 1:
            raise ArgumentError("space", self.space, "the bounds of one column")
        for weight in self.weights or ():
            positive("weights", weight)

    @property
    def amplitudes(self) -> tuple[float, float, float]:
        """a, b and c."""
        default = (0.64, 1.0, 1.0) if self.counted else (0.0, 1.21, 1.0)
        a2, b2, c2 = default if self.weights is None else self.weights
        total = (a2 if self.counted else 0.0) + b2 + c2
        return math.sqrt(a2 / total) if self.counted else 0.0, math.sqrt(b2 / total), math.sqrt(c2 / total)

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The count, the sum of y and the sum of 2y² − 1."""
        a, b, c = self.amplitudes
        return ({"count": Part((1,), a)} if a else {}) | {"first": Part((1,), b), "square": Part((1,), c)}

    @cached_property
    def bound(self) -> Bound:
        """See the class."""
        a, b, c = self.amplitudes
        if 2.0 * c * c >= b * b:
            u = (1.0 + math.sqrt(1.0 - b * b / (2.0 * c * c))) / 2.0
            inner = (2.0 - u) * math.sqrt(b * b + 4.0 * c * c * u * u)
        else:
            inner = 0.0
        replace_l1 = 2.0 * b if b >= 4.0 * c else 2.0 * c * (1.0 + b / (4.0 * c)) ** 2
        return Bound(l2=1.0, l1=a + b + c, replace_l2=max(2.0 * b, inner), replace_l1=replace_l1)

    def contributions(self, block: Block) -> Any:
        """Return (a, b·y, c·(2y² − 1))."""
        a, b, c = self.amplitudes
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        count = [xp.full(y.shape, a, dtype=y.dtype, device=device(y))] if a else []
        return xp.concat([*count, b * y, c * (2.0 * y * y - 1.0)], axis=1)


@dataclass(frozen=True)
class Total(Query):
    """Σx in the columns' own units, about zero: each column over its largest size and √d.

    With columns in [l_j, h_j] and M_j = max(|l_j|, |h_j|) a row contributes (x_j/(M_j·√d))_j.

    *Bounds.* Each |x_j| ≤ M_j, so ‖c‖₂ ≤ 1 and ‖c‖₁ ≤ √d, attained where every |x_j| = M_j. Two rows are apart by at
    most w_j = (h_j − l_j)/M_j in each, so by √(Σw_j²/d) in L2 and Σw_j/√d in L1, attained at two opposite corners.
    (Theorem 3.2 of Xi, Kantarcioglu and Inan 2011, for columns in [0, 1]: d in L1 for Σx, the same as n times the
    mean's.)

    ``Sum`` is about the middle of the bounds instead: better where the number of rows is public or wanted as well.
    """

    space: Box

    name = "total"

    @cached_property
    def _ends(self) -> tuple[Any, Any]:
        return np.asarray(self.space.low, dtype=np.float64), np.asarray(self.space.high, dtype=np.float64)

    @cached_property
    def scale(self) -> tuple[float, ...]:
        """M_j·√d: what a step of the released numbers is in the columns' units."""
        low, high = self._ends
        sizes: list[float] = (np.maximum(np.abs(low), np.abs(high)) * math.sqrt(self.dimension)).tolist()
        return tuple(sizes)

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The sums."""
        return {"total": Part((self.dimension,))}

    @cached_property
    def bound(self) -> Bound:
        """See the class."""
        low, high = self._ends
        widths = (high - low) / np.asarray(self.scale)
        l1, l2 = float(widths.sum()), float(np.sqrt((widths**2).sum()))
        return Bound(l2=1.0, l1=math.sqrt(self.dimension), replace_l2=l2, replace_l1=l1)

    def contributions(self, block: Block) -> Any:
        """Return x/(M·√d)."""
        x = self.space.clip(block.x)
        sizes = on_device(self.scale, x)
        return array_namespace(x).clip(x / sizes, -1.0, 1.0)


COUNTED = 0.05  # a²


@dataclass(frozen=True)
class Products(Query):
    """Σ y_i·y_j for i ≤ j, and the number of rows where it is asked for: a covariance by SuLQ, to compare with.

    Rows y in the unit ball contribute the products y_i·y_j, i ≤ j. *Bound.* Their squares sum to (‖y‖⁴ + Σy_i⁴)/2 ≤ 1.
    For two rows, with D = yyᵀ − y'y'ᵀ, to (‖D‖² + ΣD_ii²)/2, where ‖D‖² ≤ 2, as ⟨yyᵀ, y'y'ᵀ⟩ ≥ 0, and ΣD_ii² is at most
    Σy_i⁴ + Σy'_i⁴ ≤ 2: √2 in all. The noise is copied across the diagonal; the packed matrix of ``Moments`` has half of
    its variance there.
    """

    space: Box | Ball
    counted: bool
    name = "products"

    @property
    def _weights(self) -> tuple[float, float]:
        a2 = COUNTED if self.counted else 0.0
        return math.sqrt(a2), math.sqrt(1.0 - a2)

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The count and the products."""
        a, c = self._weights
        count = {"count": Part((1,), a)} if a else {}
        return count | {"products": Part((self.dimension * (self.dimension + 1) // 2,), c)}

    @cached_property
    def bound(self) -> Bound:
        """See the class; two rows along different axes attain it, which the search comes near to."""
        _, c = self._weights
        near = 0.9 if self.dimension > 1 else math.sqrt(0.5)
        return Bound(l2=1.0, replace_l2=math.sqrt(2.0) * c, attained={"replace_l2": near})

    def contributions(self, block: Block) -> Any:
        """Return the count and the products."""
        a, c = self._weights
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        i, j = (xp.asarray(part, device=device(y)) for part in np.triu_indices(self.dimension))
        count = [xp.full((y.shape[0], 1), a, dtype=y.dtype, device=device(y))] if a else []
        return xp.concat([*count, c * xp.take(y, i, axis=1) * xp.take(y, j, axis=1)], axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums by one matrix product."""
        a, c = self._weights
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        i, j = (xp.asarray(part, device=device(y)) for part in np.triu_indices(self.dimension))
        gram = xp.take(xp.reshape(xp.matmul(y.T, y), (-1,)), i * self.dimension + j, axis=0)
        count = [xp.full((1,), a * y.shape[0], dtype=y.dtype, device=device(y))] if a else []
        return xp.concat([*count, c * gram], axis=0)
