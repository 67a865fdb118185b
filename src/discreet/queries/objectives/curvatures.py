"""``MarginCurvature``: the second derivative of a margin loss at a public θ, summed over rows."""

from __future__ import annotations

import math
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

SURPLUS = 0.5  # η: what the surplus is multiplied by


@dataclass(frozen=True, eq=False)
class MarginCurvature(FeatureQuestion, Query):
    """Σ 4s(1 − s)·wuuᵀ with s = 1/(1 + e^(−⟨θ, u⟩)): four times the Fisher information of logistic regression at θ.

    It does not depend on the labels. Where far rows have weights w < 1 (``Features``), the *surplus* Σ 4s(1 − s)·w(1 −
    w)uuᵀ is released as well: the curvature less the surplus is four times the variance of the gradient, in which each
    row has w².

    *Bounds.* w‖u‖² ≤ 1 and 0 < 4s(1 − s) ≤ 1. A matrix is packed with √2 off the diagonal, so that the vector norm is
    the Frobenius norm, which is 4s(1 − s)·w‖u‖² ≤ 1. It is attained by a row with ‖u‖ = 1 and ⟨θ, u⟩ = 0. The surplus,
    1 − w times as long, is multiplied by η, so with it the norm is at most √(1 + η²). The product of what two rows
    contribute is ⟨u, u'⟩² times factors that are not negative, so two rows are apart by at most √2 times that.

    *Floats.* √w·u is off by e (``Features``), so a score by T‖θ‖(e + (D + 2)u), T the largest 1/√w; 4s(1 − s) by at
    most that (its slope is at most 0.39), w by 2e relative to it, and wuuᵀ by 2e; exponential, products and sums add
    (D + 32)u, u = 2⁻⁵³. The surplus has at most twice these errors, and η = ½.

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
        """The matrix, and the surplus where rows have weights."""
        square = (self.features.size, self.features.size)
        parts = {"curvature": Part(square, symmetric=True)}
        return parts | {"surplus": Part(square, SURPLUS, symmetric=True)} if self.features.weighted else parts

    @property
    def bound(self) -> Bound:
        """See the class. What is attained depends on θ."""
        length = math.sqrt(1.0 + SURPLUS**2) if self.features.weighted else 1.0
        return Bound(l2=length, replace_l2=2.0**0.5 * length, attained={"l2": 0.0, "replace_l2": 0.0})

    @property
    def roundoff(self) -> float:
        """See the class."""
        size, e = self.features.size, self.features.roundoff
        length = self.features.farthest * float(np.linalg.norm(self.theta))
        own = (2.0 + length) * e + (length * (size + 2.0) + size + 32.0) * UNIT_ROUNDOFF
        return 2.0 * own + 2.0 * e if self.features.weighted else own

    def contributions(self, block: Block) -> Any:
        """Return 4s(1 − s)·w times packed uuᵀ, and (1 − w)η times that."""
        u, weight = self.features.weigh_rows(block)
        xp = array_namespace(u)
        theta = xp.asarray(self.theta, dtype=u.dtype, device=device(u))
        size = xp.exp(-xp.abs(xp.matmul(u, theta)))  # in (0, 1], so nothing overflows
        result = (weight * 4.0 * size / ((1.0 + size) * (1.0 + size)))[:, None] * pack_squares(u)
        return (
            xp.concat([result, SURPLUS * (1.0 - weight)[:, None] * result], axis=1)
            if self.features.weighted
            else result
        )
