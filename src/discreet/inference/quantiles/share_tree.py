"""A Pólya tree over the values of a column: the prior of its distribution, and that of the rows' own distribution.

A cell is halved again and again, and the share of the left half is Beta(a/2, a/2), independently of all other cells. At
depth k, a = max(1, k − 2)². So the first halves say hardly anything of where values lie, also where bounds are several
times too wide, and the distribution has a density, since Σ1/a converges (Ferguson 1974). A column with steps has
finitely many values; there cells have whole numbers of values, and halves that are not equal have a in proportion.

Of N rows in a cell the share r that lies in the left half is beta-binomial, and here Beta with its mean and variance,
so that it is continuous. Given r the share p of the population is Beta(a·l + N·r, a·(1 − l) + N·(1 − r)), l the share
of the left half's values. Cells are halved where draws lie, as far as these can tell halves apart; which cells there
are is computed from releases, and the prior does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, log_expit

Array = NDArray[np.float64]

FREE = 2  # depths of which the prior hardly says anything
DEEPEST, LEAST_DEPTH = 44, 4
DESCENT = 10  # halvings of the cell of a quantile, by the prior
NEAR = 0.25  # widths of a cell that a draw is away, up to which it is halved
RESOLVED = 1.0  # rows in a cell over the error of a rank, up to which draws cannot tell its halves apart
LEAST = 0.1  # a/2 of the rows' own share: with one row in a cell it is in either half


@dataclass(frozen=True, eq=False)
class ShareTree:
    """Cells, and the halves that they came from.

    Attributes
    ----------
    edges : array of shape (leaves + 1,)
        Of the cells that were not halved.
    lefts, rights : array of bool of shape (leaves, nodes)
        Which cells are in the left and in the right half of each that was halved.
    strengths : array of shape (nodes,)
        a.
    shares : array of shape (nodes,)
        l.
    """

    edges: Array
    lefts: Array
    rights: Array
    strengths: Array
    shares: Array

    @classmethod
    def around(
        cls, width: float, whole: bool, draws: Array, errors: Array, rows: Callable[[Array], Array]
    ) -> ShareTree:
        """Return the tree of values in [0, width], with small cells near draws.

        Parameters
        ----------
        width : float
        whole : bool
            Whether values are the intervals between whole numbers.
        draws, errors : array
            Values that were drawn, and the scales of the errors of their ranks.
        rows : callable
            About how many rows lie below each of some values.
        """
        leaves: list[tuple[float, float]] = []
        nodes: list[tuple[float, float, float, int]] = []

        def halve(low: float, high: float, depth: int) -> None:
            size = high - low
            middle = low + (np.ceil(size / 2.0) if whole else size / 2.0)
            away = np.maximum(np.maximum(low - draws, draws - high), 0.0)
            count = float(np.diff(rows(np.array([low, high])))[0])
            wanted = depth < LEAST_DEPTH or bool(((count > RESOLVED * errors) & (away <= NEAR * size)).any())
            if not wanted or depth >= DEEPEST or (whole and size <= 1.0):
                leaves.append((low, high))
                return
            nodes.append((low, float(middle), high, depth))
            halve(low, float(middle), depth + 1)
            halve(float(middle), high, depth + 1)

        halve(0.0, width, 0)
        starts, ends = np.array(leaves).T
        low, middle, high, depth = np.array(nodes).reshape(-1, 4).T
        lefts = (starts[:, None] >= low) & (ends[:, None] <= middle)
        rights = (starts[:, None] >= middle) & (ends[:, None] <= high)
        strengths = np.maximum(1.0, depth - FREE) ** 2
        return cls(np.append(starts, width), lefts * 1.0, rights * 1.0, strengths, (middle - low) / (high - low))

    @property
    def size(self) -> int:
        """The number of cells that were halved."""
        return len(self.strengths)

    def split(self, logits: Array) -> Array:
        """Return the logarithm of the share of each cell, for log-odds of left halves of shape (n, nodes)."""
        return np.asarray(log_expit(logits) @ self.lefts.T + log_expit(-logits) @ self.rights.T)

    def log_prior(self, logits: Array, log_shares: Array, units: Array) -> Array:
        """Return the log-density of the log-odds of the rows' own shares, up to a constant.

        Parameters
        ----------
        logits : array of shape (n, nodes)
        log_shares : array of shape (n, leaves)
            What ``split`` returns for them.
        units : array of shape (n,)
            How many persons there are.
        """
        count = np.exp(log_shares) @ (self.lefts + self.rights) * units[:, None] + 1e-9
        wide = np.maximum(count * (self.strengths + 1.0) / (self.strengths + count) - 1.0, 2.0 * LEAST)
        left, right = wide * self.shares, wide * (1.0 - self.shares)
        heights = left * log_expit(logits) + right * log_expit(-logits) - betaln(left, right)
        return np.asarray(heights.sum(axis=1))

    def draw_population(self, log_shares: Array, units: Array, rng: np.random.Generator) -> Array:
        """Return the population's share of each cell, given those of the rows, shape (n, leaves)."""
        counts = np.exp(log_shares) * units[:, None]
        left = self.strengths * self.shares + counts @ self.lefts
        right = self.strengths * (1.0 - self.shares) + counts @ self.rights
        logits = _log_gamma(left, rng) - _log_gamma(right, rng)
        return np.exp(self.split(logits))

    def quantiles(self, shares: Array, levels: Array, whole: bool, rng: np.random.Generator) -> Array:
        """Return quantiles of distributions with these shares of the cells, shape (n, levels).

        Within a cell they follow the prior, since the draws tell nothing of it.
        """
        sums = np.concatenate([np.zeros((len(shares), 1)), np.cumsum(shares, axis=1)], axis=1)
        aim = levels * sums[:, -1:]
        place = np.clip((sums[:, None] <= aim[:, :, None]).sum(axis=2) - 1, 0, shares.shape[1] - 1)
        chosen = np.take_along_axis(shares, place, axis=1)
        inside = np.clip((aim - np.take_along_axis(sums, place, axis=1)) / np.maximum(chosen, 1e-300), 0.0, 1.0)
        low, size = self.edges[place], np.diff(self.edges)[place]
        depth = (self.lefts + self.rights).sum(axis=1)[place]
        for _ in range(DESCENT):
            left = np.ceil(size / 2.0) if whole else size / 2.0
            half, part = np.maximum(1.0, depth - FREE) ** 2, left / size
            u = rng.random((len(shares), 1))  # the same for all levels, which may lie in one cell
            share = np.where(part < 1.0, betaincinv(half * part, np.maximum(half * (1.0 - part), 1e-9), u), 1.0)
            below = inside < share
            inside = np.where(
                below, inside / np.maximum(share, 1e-300), (inside - share) / np.maximum(1.0 - share, 1e-300)
            )
            low, size = np.where(below, low, low + left), np.where(below, left, np.maximum(size - left, 1e-300))
            depth = depth + 1.0
        return np.asarray(np.minimum(low, self.edges[-1] - 1.0) if whole else low + np.clip(inside, 0.0, 1.0) * size)


def _log_gamma(shape: Array, rng: np.random.Generator) -> Array:
    """Return logarithms of gamma variables, also of tiny shapes."""
    return np.asarray(np.log(rng.gamma(shape + 1.0)) + np.log(rng.random(shape.shape)) / shape)
