"""A Pólya tree over the values of a column: the prior of its distribution, and that of the rows' own distribution.

A cell is halved again and again, and the share of the left half is Beta(a/2, a/2), independently of all other cells. At
depth k, a = max(1, k − 2)². So the first halves say hardly anything of where values lie, also where bounds are several
times too wide, and the distribution has a density, since Σ1/a converges (Ferguson 1974). A column with steps has
finitely many values; there cells have whole numbers of values, and halves that are not equal have a in proportion.

Of N rows in a cell the share r that lies in the left half is beta-binomial, and here Beta with its mean and variance,
so that it is continuous. Given r the share p of the population is Beta(a·l + N·r, a·(1 − l) + N·(1 − r)), l the share
of the left half's values. Cells are halved where draws lie, as far as these can tell halves apart; which cells there
are is computed from releases, and the prior does not depend on it.

Chains move in coordinates z that are nearly N(0, 1) by this prior. Where r is Beta(b, c), its log-odds are
ln(b/c) + s·z·√(1 + (z/2st)²) with s² = 1/b + 1/c, and t = c for z > 0, b for z < 0. Around 0 that is the normal
approximation. Far out the tails are right: the density e^(−t·|log-odds|) becomes e^(−z²/2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, log_expit

Array = NDArray[np.float64]
Places = NDArray[np.int64]

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
    levels : tuple of array of int
        The cells that were halved, from the whole down, each level together.
    parents, sides : array of int of shape (nodes,)
        Whose half each of them is (0 of the whole), and which: 0 for the left one.
    leaf_parents, leaf_sides : array of int of shape (leaves,)
        The same of the cells that were not halved.
    """

    edges: Array
    lefts: Array
    rights: Array
    strengths: Array
    shares: Array
    levels: tuple[Places, ...]
    parents: Places
    sides: Places
    leaf_parents: Places
    leaf_sides: Places

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
        leaves: list[tuple[float, float, int, int]] = []
        nodes: list[tuple[float, float, float, int, int, int]] = []

        def halve(low: float, high: float, depth: int, parent: int, side: int) -> None:
            size = high - low
            middle = low + (np.ceil(size / 2.0) if whole else size / 2.0)
            away = np.maximum(np.maximum(low - draws, draws - high), 0.0)
            count = float(np.diff(rows(np.array([low, high])))[0])
            wanted = depth < LEAST_DEPTH or bool(((count > RESOLVED * errors) & (away <= NEAR * size)).any())
            if not wanted or depth >= DEEPEST or (whole and size <= 1.0):
                leaves.append((low, high, parent, side))
                return
            own = len(nodes)
            nodes.append((low, float(middle), high, depth, parent, side))
            halve(low, float(middle), depth + 1, own, 0)
            halve(float(middle), high, depth + 1, own, 1)

        halve(0.0, width, 0, 0, 0)
        starts, ends, *leaf = np.array(leaves).T
        low, middle, high, depth, *node = np.array(nodes).T
        lefts = (starts[:, None] >= low) & (ends[:, None] <= middle)
        rights = (starts[:, None] >= middle) & (ends[:, None] <= high)
        strengths = np.maximum(1.0, depth - FREE) ** 2
        return cls(
            np.append(starts, width),
            lefts * 1.0,
            rights * 1.0,
            strengths,
            (middle - low) / (high - low),
            tuple(np.flatnonzero(depth == level) for level in range(int(depth.max()) + 1)),
            *(one.astype(int) for one in (*node, *leaf)),
        )

    @property
    def size(self) -> int:
        """The number of cells that were halved."""
        return len(self.strengths)

    def unfold(self, points: Array, units: Array) -> tuple[Array, Array]:
        """Return the logarithm of the rows' own share of each cell, and the log-density of points up to a constant.

        Parameters
        ----------
        points : array of shape (n, nodes)
            z, which says how each cell is split.
        units : array of shape (n,)
            How many persons there are.
        """
        z, strengths, parts = points.T, self.strengths[:, None], self.shares[:, None]
        inside, density = np.zeros_like(z), np.zeros(len(points))
        halves = np.zeros((2, *z.shape))  # logarithms of both halves' shares of their cell
        for here in self.levels:
            if here[0]:
                parent, side = self.parents[here], self.sides[here]
                inside[here] = inside[parent] + halves[side, parent]
            count = np.exp(inside[here]) * units + 1e-9
            wide = np.maximum(count * (strengths[here] + 1.0) / (strengths[here] + count) - 1.0, 2.0 * LEAST)
            left, right = wide * parts[here], wide * (1.0 - parts[here])
            s = np.sqrt(1.0 / left + 1.0 / right)
            bend = np.square(z[here] / (2.0 * s * np.where(z[here] > 0.0, right, left)))
            root = np.sqrt(1.0 + bend)
            logits = np.log(parts[here] / (1.0 - parts[here])) + s * z[here] * root
            halves[0, here] = below = log_expit(logits)
            halves[1, here] = above = below - logits
            slope = np.log(s * (1.0 + 2.0 * bend) / root)
            density += (left * below + right * above - betaln(left, right) + slope).sum(axis=0)
        shares = inside[self.leaf_parents] + halves[self.leaf_sides, self.leaf_parents]
        return np.asarray(shares.T), density

    def draw_population(self, log_shares: Array, units: Array, rng: np.random.Generator) -> Array:
        """Return the population's share of each cell, given those of the rows, shape (n, leaves)."""
        counts = np.exp(log_shares) * units[:, None]
        left = self.strengths * self.shares + counts @ self.lefts
        right = self.strengths * (1.0 - self.shares) + counts @ self.rights
        logits = _log_gamma(left, rng) - _log_gamma(right, rng)
        return np.asarray(np.exp(log_expit(logits) @ self.lefts.T + log_expit(-logits) @ self.rights.T))

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
