"""Logistic regression from moments: its loss to second order, as Zhang et al. (2012) have it, from one release.

To second order in a margin m = y·⟨θ, u⟩ the logistic loss is ln 2 − m/2 + m²/8. So all that is needed of the rows are
Σ y·u and Σ uuᵀ, and for K > 2 classes, each against the rest, Σ u over the rows of each class. All of it is one
release, and minimising over it is post-processing:

    ψ = (b·code_l ⊗ u, c·uuᵀ),    b² + c² = 1,

the matrix packed with √2 off the diagonal. The code of a label l is ±1 for two classes, the unit vector e_l for more.

**The norm.** ‖code‖ = 1 and ‖u‖ ≤ 1, so ‖ψ‖² = b²‖u‖² + c²‖u‖⁴ ≤ 1, whatever K is.

**Replaced rows.** ‖ψ − ψ'‖² ≤ 2 − 2⟨ψ, ψ'⟩, and ⟨ψ, ψ'⟩ = s·b²·r + c²r² with r = ⟨u, u'⟩ and s = ⟨code, code'⟩. With a
constant κ among the features r is in [2κ² − 1, 1]; s is 1 where the label stays, and −1 (two classes) or 0 (more) where
it changes. In r it is convex, so least at r = −s·b²/(2c²), moved into that interval. The least of both labels is
charged. It is attained where two rows of norm 1 can have this r: in a ball of two or more dimensions; in a box of d
columns, and on the line, r is (1 − κ²)(1 − 2k/d) + κ² for corners that differ in k columns.

**Floats.** u is off by e (``features``): ψ by (b + 2c)e ≤ 2.3e, and its products by (D + 14)·2⁻⁵³.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, probability
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.moments.mixed_moments import one_hot
from discreet.queries.objectives.gradients import has_unit_rows
from discreet.queries.objectives.labelled_rows import FeatureQuestion, Features
from discreet.queries.question import Part, Query, pack_gram, pack_squares
from discreet.records import Ball, Block

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodedMoments(FeatureQuestion, Query):
    """First moments by label, and the second moment of all rows, as one release.

    Parameters
    ----------
    features : Features
    first : float
        b², above 0 and below 1.
    classes : int
    column : int
        Which of the columns of categories holds the labels; for two classes the second is y = 1.
    """

    features: Features
    first: float
    classes: int
    column: int = 0

    name = "coded moments"

    def __post_init__(self) -> None:
        if not 0.0 < probability("first", self.first) < 1.0 or self.classes < 2:
            raise ArgumentError(("first", "classes"), (self.first, self.classes), "b² in (0, 1), and two or more")
        if self.features.weighted:  # these may be longer than 1
            raise ArgumentError("features", UNSHOWN, "features without weights; write weighted=False")

    @property
    def amplitudes(self) -> tuple[float, float]:
        """Return b and c."""
        return math.sqrt(self.first), math.sqrt(1.0 - self.first)

    @property
    def parts(self) -> Mapping[str, Part]:
        """First moments, a row for each code, and the second."""
        size, (b, c) = self.features.size, self.amplitudes
        return {
            "first": Part((1 if self.classes == 2 else self.classes, size), b),
            "second": Part((size, size), c, symmetric=True),
        }

    def _product(self, same: float, r: float) -> float:
        """Return ⟨ψ, ψ'⟩ of rows of norm 1."""
        return same * self.first * r + (1.0 - self.first) * r * r

    @property
    def bound(self) -> Bound:
        """See the module."""
        b2, c2 = self.first, 1.0 - self.first
        kappa2, d = self.features.constant**2, self.dimension
        signs = (1.0, -1.0 if self.classes == 2 else 0.0)
        worst = ((same, min(max(-same * b2 / (2.0 * c2), 2.0 * kappa2 - 1.0), 1.0)) for same in signs)
        replaced = math.sqrt(max(2.0 - 2.0 * min(self._product(*pair) for pair in worst), 1.0))
        corners = [(1.0 - kappa2) * (1.0 - 2.0 * k / d) + kappa2 for k in range(d + 1)]
        result = max(2.0 - 2.0 * self._product(same, r) for same in signs for r in corners)
        if self.features.gaussian is not None:  # where a row is clipped it has norm 1, and may change its label
            result = 2.0 - 2.0 * self._product(signs[1], 1.0)
        clipped = has_unit_rows(self.features)
        pair = 1.0 if isinstance(self.space, Ball) and d > 1 and self.features.gaussian is None else 0.0
        return Bound(
            l2=1.0,
            replace_l2=replaced,
            attained={"l2": 1.0 * clipped, "replace_l2": pair or min(math.sqrt(result) / replaced, 1.0) * clipped},
        )

    @property
    def roundoff(self) -> float:
        """See the module, *Floats*."""
        return 2.3 * self.features.roundoff + (self.features.size + 14.0) * UNIT_ROUNDOFF

    def _map_rows(self, block: Block) -> tuple[Any, Any]:
        """Return u and the codes of the labels."""
        labels = block.codes[:, self.column]
        codes = one_hot(labels, self.classes)
        if self.classes == 2:
            codes = codes[:, 1:] - codes[:, :1]
        return self.features.map_rows(block), codes

    def contributions(self, block: Block) -> Any:
        """Return (b·code ⊗ u, c·packed uuᵀ)."""
        (u, codes), (b, c) = self._map_rows(block), self.amplitudes
        xp = array_namespace(u)
        first = xp.reshape(codes[:, :, None] * u[:, None, :], (u.shape[0], -1))
        return xp.concat([b * first, c * pack_squares(u)], axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums by two matrix products."""
        (u, codes), (b, c) = self._map_rows(block), self.amplitudes
        xp = array_namespace(u)
        return xp.concat([b * xp.reshape(xp.matmul(codes.T, u), (-1,)), c * pack_gram(u)], axis=0)
