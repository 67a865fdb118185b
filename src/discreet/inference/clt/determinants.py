"""How the determinants in the densities of released minima vary with the parameters of a model.

The density of a minimum θ with noise in its objective has the factor det(M), M = Σ ∇²ℓ_i(θ) + λI over the rows
(``measured_sums``). Given parameters v, M is near n·h(v) + λI with h(v) = E ∇²ℓ(θ), up to a relative error of order
1/√n. So the log-likelihood has the term ln det(n·h(v) + λI). Its gradient at the reference,

    ∂/∂v_j ln det(n·h + λI) = tr((n·h + λI)⁻¹ · n·∂h/∂v_j),    ∂h/∂v = E (∇²ℓ − h)sᵀ,    s = ∂ln p/∂v,

is what is used: the term is taken to be linear in v. It moves a posterior by a small share of its standard deviation
where rows are many, and by up to a standard deviation where noise is loud.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.clt.local_moments import compute_local_moments
from discreet.inference.clt.reference import Problem, Reference
from discreet.inference.measured_sums import StationaryPoint, View
from discreet.inference.rows.layout import Layout, Rows

Array = NDArray[np.float64]

DRAWS = 16384  # rows for h and its derivative


@dataclass(frozen=True, eq=False)
class _Curvatures:
    """∇²ℓ(θ) of rows, at one minimum."""

    point: StationaryPoint
    view: View
    layout: Layout

    def contributions(self, rows: Rows) -> Array:
        """Return the matrix of each row, flat."""
        question, block = self.point.question, self.view.read(self.layout.to_block(rows))
        u, weight = (np.asarray(part) for part in question.features.weigh_rows(block))
        label = 2.0 * (block.codes[:, question.column] == 1) - 1.0
        curvature = weight * np.asarray(question.loss.curvature(label * (u @ question.theta[0])))
        return np.asarray((curvature[:, None, None] * u[:, :, None] * u[:, None, :]).reshape(len(u), -1))


def compute_determinant_slope(problem: Problem, reference: Reference, seed: int) -> Array:
    """Return the gradient of Σ ln det(n·h + λI) over all released minima, in w; 0 where there are none."""
    v, n = problem.split(reference.w)
    result = np.zeros(reference.w.size)
    for point, view in zip(problem.measured.sums, problem.measured.views, strict=True):
        if not isinstance(point, StationaryPoint):
            continue
        rows = _Curvatures(point, view, problem.measured.layout)
        found = compute_local_moments(problem.model, rows, v, DRAWS, seed + 2, with_covariance=False)
        size = point.question.features.size
        inverse = np.linalg.inv(n * found.mean.reshape(size, size) + point.ridge * np.eye(size)).ravel()
        result[: v.size] += n * inverse @ found.jacobian
        if problem.rows is None:  # ∂n/∂ln n = n
            result[-1] += n * inverse @ found.mean
    return result
