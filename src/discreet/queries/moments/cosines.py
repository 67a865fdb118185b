"""Sums of cosines of one column: the coefficients of its density, as a query, with the proof of its bounds.

Let t in [0, 1] be where in its interval the column lies, φ_0 = 1 and φ_j(t) = √2·cos(πjt), orthonormal on [0, 1]. Row t
contributes (w_0, w_1·φ_1(t), …, w_J·φ_J(t)), the first only where the number of rows is to be released. With
g(u) = Σ_{j≥1} w_j²·cos(πju), and by 2·cos a·cos b = cos(a − b) + cos(a + b),

    ⟨c(s), c(t)⟩ = w_0² + g(s − t) + g(s + t).

- ‖c(t)‖² = w_0² + g(0) + g(2t) ≤ w_0² + 2·g(0), attained at t = 0.
- The first number cancels when a row is replaced. What is left of ‖c(s) − c(t)‖² is at most twice 2·g(0), less twice an
  inner product that is at least 2·min g: **‖c(s) − c(t)‖² ≤ 4·(g(0) − min g)**. Where the least value is at u = 1, the
  pair s = 0, t = 1 attains it. So it is for the whole heat kernel, as by Jacobi's product g decreases on [0, 1].
- min g is taken over a grid of step 1/(64·J), less what may lie between its points: at the least value the slope is
  zero (at both ends too, g being even around 0 and 1), so a grid point within half a step is at most
  ½·(1/(128·J))²·max|g''| above it, and |g''| ≤ π²·Σ j²w_j².

**Why this is the functional mechanism** (Hall, Rinaldo and Wasserman 2013). With w_j² = λ_j = e^(−(πjh)²/2) the kernel
K(s, t) = Σ λ_j·φ_j(s)·φ_j(t) is the Gaussian kernel of width h, reflected at both ends. With released sums
S_j = Σ_i w_j·φ_j(t_i) + σZ_j the function Σ_j w_j·S_j·φ_j is Σ_i K(·, t_i) + σG, where G = Σ w_j·Z_j·φ_j is the
Gaussian process of covariance K (its Karhunen-Loève series); and the norm of Σ_i K(·, t_i) in K's Hilbert space is the
plain norm of the sums. So noise on the sums is that process on the function, and the sensitivities agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, nonnegative
from discreet.queries.adaptors import scale_column
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box

Array = NDArray[np.float64]

MOST_COSINES = 512


def cosines_at(points: Array, count: int) -> Array:
    """Return φ_1 … φ_count at points of [0, 1], a column each.

    >>> cosines_at(np.array([0.0, 0.5]), 2).round(3).tolist()
    [[1.414, 1.414], [0.0, -1.414]]
    """
    return np.asarray(math.sqrt(2.0) * np.cos(np.pi * np.outer(points, np.arange(1.0, count + 1.0))))


def heat_weights(width: float) -> tuple[float, ...]:
    """Return √λ_1, √λ_2 … of the reflected Gaussian kernel, as far as λ_j is above 10⁻⁷.

    >>> len(heat_weights(0.1))
    18
    """
    count = math.floor(math.sqrt(2.0 * math.log(1e7)) / (math.pi * width))
    return tuple(np.exp(-((math.pi * np.arange(1.0, max(count, 1) + 1.0) * width) ** 2) / 4.0).tolist())


def power_weights(count: int) -> tuple[float, ...]:
    """Return j^(−1/4): less noise on the slow cosines, which nearly every density needs.

    >>> [round(weight, 2) for weight in power_weights(3)]
    [1.0, 0.84, 0.76]
    """
    return tuple((np.arange(1.0, count + 1.0) ** -0.25).tolist())


@dataclass(frozen=True)
class Cosines(Query):
    """Sums of weighted cosines of one column; see the module.

    Parameters
    ----------
    space : Box or Ball
        That of all columns.
    column : int
    weights : tuple of float
        w_1 … w_J.
    count : float
        w_0; 0 to leave the number of rows out.

    Examples
    --------
    >>> Cosines(Box(0.0, 1.0).for_columns(1), 0, power_weights(3)).bound.replace_l2
    3.5...
    """

    space: Box | Ball
    column: int
    weights: tuple[float, ...]
    count: float = 0.0

    name = "cosines"

    def __post_init__(self) -> None:
        integer("column", self.column, least=0, most=self.dimension - 1)
        nonnegative("count", self.count)
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.ndim != 1 or not 1 <= weights.size <= MOST_COSINES or not np.all((weights > 0.0) & (weights < 1e9)):
            raise ArgumentError("weights", self.weights, f"1 to {MOST_COSINES} numbers above 0")

    @property
    def parts(self) -> Mapping[str, Part]:
        """The number of rows, where it has a weight, and the sums, their weights still on them."""
        sums = {"sums": Part((len(self.weights),))}
        return ({"count": Part((1,), self.count)} if self.count else {}) | sums

    @cached_property
    def bound(self) -> Bound:
        """See the module; the two ends of the interval attain at least the share that is named."""
        w = np.asarray(self.weights)
        j = np.arange(1.0, w.size + 1.0)
        u = np.arange(64 * w.size + 1) / (64.0 * w.size)
        g = np.cos(np.pi * np.outer(u, j)) @ w**2
        total = float((w**2).sum())
        between = (math.pi / (128.0 * w.size)) ** 2 * float((j**2 * w**2).sum()) / 2.0
        least = float(g.min()) - between - 1e-12 * total
        replaced = 4.0 * (total - least)
        ends = 4.0 * (total - float(g[-1]))  # the pair 0, 1
        return Bound(
            l2=math.sqrt(self.count**2 + 2.0 * total),
            replace_l2=math.sqrt(replaced),
            attained={"replace_l2": math.sqrt(ends / replaced)},
        )

    @property
    def roundoff(self) -> float:
        """π·j·t is off by 3 roundings, so φ_j by 3·πj of them; sines, cosines, and what ``sum`` makes of them by 30.

        t itself is what it was computed to be: for any t in [0, 1] the bound holds.
        """
        w = np.asarray(self.weights)
        each = math.sqrt(2.0) * w * (3.0 * math.pi * np.arange(1.0, w.size + 1.0) + 30.0)
        return (float(np.linalg.norm(each)) / self.bound.l2 + 1.0) * UNIT_ROUNDOFF

    def contributions(self, block: Block) -> Any:
        """Return the weighted cosines of each row."""
        t = scale_column(self.space, block.x, self.column)
        xp = array_namespace(t)
        rates = xp.asarray(np.pi * np.arange(1.0, len(self.weights) + 1.0), dtype=t.dtype, device=device(t))
        scales = xp.asarray(math.sqrt(2.0) * np.asarray(self.weights), dtype=t.dtype, device=device(t))
        cosines = scales[None, :] * xp.cos(t[:, None] * rates[None, :])
        if not self.count:
            return cosines
        return xp.concat([xp.full((t.shape[0], 1), self.count, dtype=t.dtype, device=device(t)), cosines], axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums by two matrix products, with 4·√J sines and cosines a row.

        With j = B·a + b it is cos(πjt) = cos(πBat)·cos(πbt) − sin(πBat)·sin(πbt). The sizes of the two products add up
        to at most 1 in each row, so that summing them is no worse than summing the cosines.
        """
        t = scale_column(self.space, block.x, self.column)
        xp = array_namespace(t)
        fine = math.isqrt(len(self.weights)) + 1
        coarse = len(self.weights) // fine + 1

        def angles(count: int, step: int) -> Any:
            rates = xp.asarray(np.pi * step * np.arange(float(count)), dtype=t.dtype, device=device(t))
            return t[:, None] * rates[None, :]

        slow, fast = angles(coarse, fine), angles(fine, 1)
        both = xp.matmul(xp.cos(slow).T, xp.cos(fast)) - xp.matmul(xp.sin(slow).T, xp.sin(fast))
        scales = xp.asarray(math.sqrt(2.0) * np.asarray(self.weights), dtype=t.dtype, device=device(t))
        sums = scales * xp.reshape(both, (-1,))[1 : len(self.weights) + 1]
        if not self.count:
            return sums
        return xp.concat([xp.full((1,), self.count * t.shape[0], dtype=t.dtype, device=device(t)), sums], axis=0)
