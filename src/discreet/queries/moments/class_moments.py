"""What a labelled row contributes: clipped moments in the place of its class, with their norm and its proof.

**The statistic.** Row (y, l) has numbers y in the unit ball and one of K declared labels. Each class has coordinates of
its own, y_k = z·min(1, R/‖z‖)/R with z = L_k⁻¹(y − m_k), from earlier releases; or those of the unit ball. It
contributes to its own class and to no other:

    c = (1{l = k}·ψ_k)_k,    ψ_k = (a, b·y_k, c·S(y_k)),    a² + b² + c² = 1,

where S is yyᵀ packed with √2 off the diagonal ("full"), (y_j²)_j ("diag"), or yyᵀ in one place for all classes
("tied"). This is the statistic of ``clipped_moments`` with γ at the corner of the simplex that the label names.

**The norm.** ‖y_k‖ ≤ 1 and ‖S(y)‖ ≤ ‖y‖² ≤ 1, so ‖c‖² = a² + b²‖y_l‖² + c²‖S‖² ≤ 1, whatever K is. A row that comes
or goes touches one class: add-remove costs 1.

**Replaced rows.** With t the least value of ⟨ψ_k, ψ'_k⟩ (``clipped_moments``: t = a² − b⁴/(4q) where b² ≤ 2q, else
a² − b² + q, with q = c², or c²/d for diag):

- The label stays: ‖c − c'‖² ≤ 2 − 2t.
- The label changes, so two classes are touched. Counts and first moments are in different places. So are the second
  moments, or (tied) they have the product ⟨yyᵀ, y'y'ᵀ⟩ = ⟨y, y'⟩² ≥ 0. So ⟨c, c'⟩ ≥ 0 and ‖c − c'‖² ≤ 2.

Together ‖c − c'‖² ≤ 2 + 2·max(0, −t); with a single class 2 − 2t.

**What is attained.** Where class k *reaches*, that is ‖L_k⁻¹‖_F²/d + ‖L_k⁻¹m_k‖² ≥ R², some row of the space is
clipped: the left side is the mean of ‖z‖² over the corners of the box (each of norm 1 in the unit ball), and over the
sphere.
That row has ‖y_k‖ = 1, and ‖c‖ = 1, or at least √(a² + b² + c²/d) with diag, as Σy_j⁴ ≥ 1/d there. Rows of two such
classes are √2 times that apart; with tied at least √(2(a² + b²)).

**Floats.** With u = 2⁻⁵³: y − m_k and the product with the float matrix P_k = L_k⁻¹ are off by at most
e = (d + 3)u·‖P_k‖_F(1 + ‖m_k‖) in norm. Moving into the ball is 1-Lipschitz; dividing by R makes e/R; the root, the
division and the product add (d/2 + 7)u. Then c is off by 2.3 times that (b + 2c ≤ √5) and (d + 14)u for its own
products and for weights that sum to 1 within 4u. The label is compared, which is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.moments.components import Components
from discreet.queries.moments.mixed_moments import one_hot
from discreet.queries.objectives.labelled_rows import LabelledQuestion
from discreet.queries.question import Part, Query, pack_gram, pack_squares
from discreet.records import Ball, Block, Box

Array = NDArray[np.float64]

SHAPES = ("full", "tied", "diag")


@dataclass(frozen=True, eq=False)
class ClassMoments(LabelledQuestion, Query):
    """Counts, first and second moments of all classes, as one release.

    Parameters
    ----------
    space : Box or Ball
        Of the curator; rows are clipped to it and mapped into the unit ball.
    classes : Components
        A mean and a covariance for each class, in the unit ball: the classes' own coordinates.
    radius : float or None
        R of these; None for the coordinates of the unit ball.
    weights : tuple of three floats
        a², b², c², positive, summing to 1.
    shape : str
        ``"full"``, ``"tied"`` or ``"diag"``.
    column : int
        Which of the columns of categories holds the labels, counted from 0.
    """

    space: Box | Ball
    classes: Components
    radius: float | None
    weights: tuple[float, float, float]
    shape: str = "full"
    column: int = 0

    name = "class moments"

    def __post_init__(self) -> None:
        if abs(math.fsum(self.weights) - 1.0) > 4.0 * UNIT_ROUNDOFF or min(self.weights) <= 0.0:
            raise ArgumentError("weights", self.weights, "a², b², c² above 0 that sum to 1")

    @property
    def labels(self) -> int:
        """The classes."""
        return self.classes.count

    @property
    def parts(self) -> Mapping[str, Part]:
        """Counts, first and second moments."""
        k, d = self.classes.count, self.dimension
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        second = {
            "full": Part((k, d, d), c, symmetric=True),
            "tied": Part((d, d), c, symmetric=True),
            "diag": Part((k, d), c),
        }
        return {"counts": Part((k,), a), "first": Part((k, d), b), "second": second[self.shape]}

    @property
    def bound(self) -> Bound:
        """See the module."""
        a2, b2, c2 = self.weights
        d, several = self.dimension, self.classes.count > 1
        q = c2 / d if self.shape == "diag" else c2
        least = a2 - b2 * b2 / (4.0 * q) if b2 <= 2.0 * q else a2 - b2 + q
        squared = 2.0 + 2.0 * max(0.0, -least) if several else max(2.0 - 2.0 * least, 1.0)
        row, pair = self._attained()
        return Bound(
            l2=1.0, replace_l2=math.sqrt(squared), attained={"l2": row, "replace_l2": pair / math.sqrt(squared)}
        )

    def _attained(self) -> tuple[float, float]:
        """Return the norm of one contribution, and of a difference, that some rows surely have."""
        a2, b2, c2 = self.weights
        squares = (self.classes.whitening**2).sum(axis=(1, 2)) / self.dimension
        squares = squares + (self.classes.offsets**2).sum(axis=1)
        reach = self.classes.count if self.radius is None else int((squares >= self.radius**2).sum())
        row = math.sqrt(a2 + b2 + (c2 / self.dimension if self.shape == "diag" else c2))
        pair = math.sqrt(2.0 * (a2 + b2)) if self.shape == "tied" else math.sqrt(2.0) * row
        return (row if reach else 0.0), (pair if reach > 1 else 0.0)

    @property
    def roundoff(self) -> float:
        """See the module, *Floats*."""
        u, d = UNIT_ROUNDOFF, self.dimension
        moved = (d / 2.0 + 7.0) * u
        if self.radius is not None:
            norms = np.sqrt((self.classes.whitening**2).sum(axis=(1, 2)))
            lengths = 1.0 + np.sqrt((self.classes.means**2).sum(axis=1))
            moved += float((d + 3) * u * (norms * lengths).max()) / self.radius
        return 2.3 * moved + (d + 14.0) * u

    def _own(self, y: Any, k: int) -> Any:
        """Return rows of the unit ball in the coordinates of a class, clipped."""
        if self.radius is None:
            return y
        xp = array_namespace(y)
        mean, whiten = (
            xp.asarray(part[k], dtype=y.dtype, device=device(y))
            for part in (self.classes.means, self.classes.whitening)
        )
        z = xp.matmul(y - mean[None, :], whiten.T)
        squared = xp.sum(z * z, axis=1)
        return z / xp.sqrt(xp.clip(squared, self.radius**2, None))[:, None]

    def contributions(self, block: Block) -> Any:
        """Return the clipped moments of each row in the place of its class."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        counts, first, second = [], [], []
        for k in range(self.classes.count):
            here = xp.astype(block.codes[:, self.column] == k, xp.float64)[:, None]
            own = self._own(y, k)
            square = own * own if self.shape == "diag" else pack_squares(own)
            counts.append(a * here)
            first.append(b * here * own)
            second.append(c * here * square)
        if self.shape == "tied":
            second = [sum(second[1:], start=second[0])]
        return xp.concat([*counts, *first, *second], axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums of each class's rows by matrix products."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        counts, first, second = [], [], []
        for k in range(self.classes.count):
            here = xp.nonzero(block.codes[:, self.column] == k)[0]
            own = self._own(xp.take(y, here, axis=0), k)
            counts.append(a * xp.sum(xp.ones_like(own[:, :1]), axis=0))
            first.append(b * xp.sum(own, axis=0))
            second.append(c * (xp.sum(own * own, axis=0) if self.shape == "diag" else pack_gram(own)))
        if self.shape == "tied":
            second = [sum(second[1:], start=second[0])]
        return xp.concat([*counts, *first, *second], axis=0)


@dataclass(frozen=True)
class ClassSums(LabelledQuestion, Query):
    """Σ u over the rows of each class.

    *Bound.* A row u in [0, 1]^d contributes u in the place of its class and 0 elsewhere: ‖u‖₁ ≤ d and ‖u‖₂ ≤ √d. Of a
    replaced row the two contributions have no negative number, and in one class they differ by at most 1 in each
    column: d in L1 and √d in L2. In two classes they are in different places: 2d in L1 and √(2d) in L2. All of it is
    attained at u = (1, …, 1), and at u' = 0 in the same class.

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
    def labels(self) -> int:
        """The classes."""
        return self.classes

    @property
    def parts(self) -> Mapping[str, Part]:
        """The sums."""
        return {"sums": Part((self.classes, self.dimension))}

    @property
    def bound(self) -> Bound:
        """See the class."""
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
