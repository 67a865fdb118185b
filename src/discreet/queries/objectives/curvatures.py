"""``MarginCurvature``: the second derivative of a margin loss at a public θ, summed over rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.objectives.labelled_rows import FeatureQuestion, Features
from discreet.queries.question import Part, Query, pack_squares
from discreet.records import Block

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MarginCurvature(FeatureQuestion, Query):
    """Σ 4s(1 − s)·uuᵀ with s = 1/(1 + e^(−⟨θ, u⟩)): four times the Fisher information of logistic regression at θ.

    It does not depend on the labels.

    *Bounds.* ‖u‖ ≤ 1 and 0 < 4s(1 − s) ≤ 1. The matrix is packed with √2 off the diagonal, so that the vector norm is
    the Frobenius norm, which is 4s(1 − s)‖u‖² ≤ 1. It is attained by a row with ‖u‖ = 1 and ⟨θ, u⟩ = 0. The product of
    two rows is 16ss'(1 − s)(1 − s')⟨u, u'⟩² ≥ 0, so two rows are apart by at most √2.

    *Floats.* u is off by e (``Features``), so a score by ‖θ‖(e + (D + 2)u), 4s(1 − s) by at most that (its slope is at
    most 0.39), and uuᵀ by 2e; exponential, products and sums add (D + 32)u, u = 2⁻⁵³.

    Parameters
    ----------
    features : Features
    theta : array of shape (D,)
    classes : int
        How many labels are declared.
    column : int
        Which of the columns of categories holds them.
    """

    features: Features
    theta: Array
    classes: int
    column: int = 0

    name = "curvature"

    def __post_init__(self) -> None:
        theta = np.asarray(self.theta, dtype=np.float64).reshape(-1)
        if theta.shape != (self.features.size,) or not np.isfinite(theta).all():
            raise ArgumentError("theta", self.theta, f"{self.features.size} finite numbers")
        object.__setattr__(self, "theta", theta)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The matrix."""
        return {"curvature": Part((self.features.size, self.features.size), symmetric=True)}

    @property
    def bound(self) -> Bound:
        """1; √2 when a row is replaced. What is attained depends on θ."""
        return Bound(l2=1.0, replace_l2=2.0**0.5, attained={"l2": 0.0, "replace_l2": 0.0})

    @property
    def roundoff(self) -> float:
        """See the class."""
        size, e = self.features.size, self.features.roundoff
        length = float(np.linalg.norm(self.theta))
        return (2.0 + length) * e + (length * (size + 2.0) + size + 32.0) * UNIT_ROUNDOFF

    def contributions(self, block: Block) -> Any:
        """Return 4s(1 − s)·packed uuᵀ."""
        u = self.features.map_rows(block)
        xp = array_namespace(u)
        theta = xp.asarray(self.theta, dtype=u.dtype, device=device(u))
        size = xp.exp(-xp.abs(xp.matmul(u, theta)))  # in (0, 1], so nothing overflows
        weight = 4.0 * size / ((1.0 + size) * (1.0 + size))
        return weight[:, None] * pack_squares(u)
