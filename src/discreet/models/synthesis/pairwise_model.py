"""The pairwise maximum-entropy model of a table's bins, and rows that are drawn from it.

p(x) ∝ exp(Σ_j f_j(x_j) + Σ_{i<j} θ_ij(x_i, x_j)): of all distributions with given pair tables the one of
largest entropy. It has no conditional independence, so no structure is chosen. Terms of a few triples of
columns join it where they can be seen (``triples``).

Rows are moved by Gibbs sweeps (``gibbs``). Uniform numbers are evenly spread over rows that are alike, so that counts
vary less than those of independent rows.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.models.synthesis.triples import TripleTerms
from discreet.threads import count_cores

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Rows = NDArray[np.int32]

FIRST_GAUGES, GAUGES = 100, 3  # rounds in the first sweep and in later ones
STRATA = 16  # rows alike over which uniform numbers are evenly spread
ORDERS = np.random.default_rng(0).permuted(np.tile(np.arange(STRATA, dtype=np.uint8), (4096, 1)), axis=1)  # of them
LEAST_ROWS = 2000  # of a thread


@dataclass(frozen=True, eq=False)
class PairwiseModel:
    """Fields and interactions of the bins of all columns.

    Attributes
    ----------
    starts : array of shape (d + 1,)
        Where the bins of each column begin.
    fields, interactions : arrays of shape (L,) and (L, L)
        f and θ; θ is symmetric, and 0 within a column.
    blocks : int array of shape (k, 2)
        Pairs of columns that are drawn together.
    triples : TripleTerms or None
        Terms of three columns at once.
    """

    starts: Whole
    fields: Array
    interactions: Array
    blocks: Whole
    triples: TripleTerms | None = None

    def move(self, rows: Rows, sweeps: int, rng: np.random.Generator, *, independent: bool = False) -> Rows:
        """Return rows after so many sweeps, as places among the bins; the given ones are changed."""
        walk = Walk(self.starts, rows, self.blocks, self.triples, independent=independent)
        for _ in range(sweeps):
            walk.move(self.fields, self.interactions, rng)
        return walk.rows

    def energies(self, rows: Rows) -> Array:
        """Return Σ_j f[x_j] + Σ_{i<j} θ[x_i, x_j] + Σ_t τ_t of each row."""
        from discreet.models.synthesis.gibbs import add_energies

        result = np.zeros(len(rows))
        add_energies(rows, self.fields, self.interactions, result)
        return result if self.triples is None else result + self.triples.energies(rows)

    def logits(self, rows: Rows, column: int) -> Array:
        """Return ln of the probability of each bin of a column given the others, up to a constant, for each row."""
        first, last = int(self.starts[column]), int(self.starts[column + 1])
        result = np.tile(self.fields[first:last], (len(rows), 1))
        for other in range(rows.shape[1]):
            result += self.interactions[rows[:, other], first:last]  # 0 within a column
        if self.triples is not None:
            result += self.triples.logits(rows, column)[:, self.triples.levels[first:last]]
        return result

    def log_partition(self, rng: np.random.Generator, *, chains: int = 2000, steps: int = 100) -> float:
        """Return an estimate of ln Σ_x exp(Σ f + Σ θ + Σ τ), by annealed importance sampling (Neal 2001).

        Rows start with independent columns, whose sum is Π_j Σ_a exp f_j(a), and interactions grow from 0 to all of
        them in so many steps. exp of the estimate has the right mean; its logarithm is on average too small.
        """
        first = sum(_log_sum(self.fields[a:b]) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True))
        walk = Walk(self.starts, draw_independent(self.starts, self.fields, chains, rng), self.blocks, self.triples)
        alone = replace(self, fields=np.zeros_like(self.fields))
        weight = np.zeros(chains)
        for step in range(1, steps + 1):
            weight += alone.energies(walk.rows) / steps
            walk.move(self.fields, self.interactions, rng, step / steps)
        return float(first + _log_sum(weight) - math.log(chains))


def _log_sum(values: Array) -> float:
    most = float(values.max())
    return most + math.log(float(np.exp(values - most).sum()))


def draw_independent(starts: Whole, fields: Array, number: int, rng: np.random.Generator) -> Rows:
    """Return rows with independent columns, of probabilities proportional to exp(f)."""
    rows = np.empty((number, len(starts) - 1), dtype=np.int32)
    for column, (first, last) in enumerate(pairwise(starts)):
        weights = np.exp(fields[first:last] - fields[first:last].max())
        ends = np.cumsum(weights) / weights.sum()
        u = (rng.permutation(number) + rng.random(number)) / number
        rows[:, column] = first + np.minimum(np.searchsorted(ends, u), last - first - 1)
    return rows


class Walk:
    """Rows of a model that are moved by Gibbs sweeps.

    Two columns that determine one another never change one at a time, so strongly tied pairs are drawn together.

    Parameters
    ----------
    starts : array of shape (d + 1,)
    rows : int32 array of shape (n, d)
        Places among the bins; they are moved.
    blocks : int array of shape (k, 2)
        Pairs of columns that are drawn together.
    triples : TripleTerms, optional
        Terms of three columns at once.
    independent : bool
        Whether rows are independent of one another, as they are not where uniform numbers are evenly spread over them.
    """

    def __init__(
        self,
        starts: Whole,
        rows: Rows,
        blocks: Whole,
        triples: TripleTerms | None = None,
        *,
        independent: bool = False,
    ) -> None:
        self.starts, self.rows, self.blocks, self.independent = starts, rows, blocks, independent
        self.triples = TripleTerms.empty(int(starts[-1])) if triples is None else triples
        self.single = np.setdiff1d(np.arange(rows.shape[1]), blocks)
        self.gauges = np.zeros((len(blocks), 2, int(np.diff(starts).max())))
        self.pool: ThreadPoolExecutor | None = None

    def move(self, fields: Array, interactions: Array, rng: np.random.Generator, temperature: float = 1.0) -> None:
        """Draw every column of every row anew."""
        from discreet.models.synthesis.gibbs import sweep

        some = rng.permutation(len(self.blocks))
        blocks = self.blocks[some]
        uniforms = self._uniforms(2 * len(blocks) + len(self.single), rng)
        own, pairs = fields.astype(np.float32), interactions.astype(np.float32)
        ties, gauges = self._ties(temperature * interactions)[some], self.gauges[some].astype(np.float32)
        order, triples = rng.permutation(self.single), (self.triples.levels, *self.triples.facing(self.rows.shape[1]))
        same = own, pairs, self.starts, temperature, triples

        def work(piece: slice) -> None:
            sweep(self.rows[piece], order, blocks, ties, gauges, uniforms[piece], *same)

        cores = min(count_cores(), len(self.rows) // LEAST_ROWS)
        if cores < 2:
            work(slice(None))
        else:  # a row moves by itself, so it does not matter which thread moves it
            ends = np.linspace(0, len(self.rows), cores + 1).astype(int)
            self.pool = self.pool or ThreadPoolExecutor(cores, "discreet")
            list(self.pool.map(work, map(slice, ends[:-1], ends[1:])))

    def _uniforms(self, draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return uniform numbers for each row and draw, evenly spread over rows that are alike.

        Rows are sorted by some columns. In each draw, every ``STRATA`` rows that follow one another have one number in
        each of so many equal intervals, in random order. So each number is uniform and those of a row independent, and
        counts vary less than with independent numbers. An order is one of ``ORDERS``, turned at random: fast to draw,
        and every row is in every interval equally often.
        """
        n, d = self.rows.shape
        if self.independent:
            return np.minimum(rng.random((n, draws), dtype=np.float32), np.float32(1.0 - 2.0**-24))
        key = self.rows[:, rng.permutation(d)[:6]] @ self.starts[-1] ** np.arange(min(d, 6))  # may wrap around
        pieces = draws * -(-n // STRATA)
        strata = ORDERS[rng.integers(0, len(ORDERS), pieces)] + rng.integers(0, STRATA, (pieces, 1), dtype=np.uint8)
        spread = (rng.random(strata.shape, dtype=np.float32) + strata % np.uint8(STRATA)) / np.float32(STRATA)
        result = np.empty((n, draws), dtype=np.float32)
        result[np.argsort(key)] = np.minimum(spread, np.float32(1.0 - 2.0**-24)).reshape(draws, -1)[:, :n].T
        return result

    def _ties(self, interactions: Array) -> NDArray[np.float32]:
        """Return exp(θ_ab − r_a − c_b) of each block.

        θ of strongly correlated numbers is large in two corners of its table, and fields make up for it. r and c take
        it out before exp: r_a = ln mean_b exp(θ_ab − c_b), and c alike. They begin with those of the last sweep.
        """
        result = np.zeros((len(self.blocks), *(self.gauges.shape[2],) * 2), dtype=np.float32)
        for place, (i, j) in enumerate(self.blocks):
            table = interactions[self.starts[i] : self.starts[i + 1], self.starts[j] : self.starts[j + 1]]
            r, c = self.gauges[place, 0, : len(table)], self.gauges[place, 1, : table.shape[1]]
            for _ in range(GAUGES if r.any() else FIRST_GAUGES):
                r[:] = np.logaddexp.reduce(table - c, axis=1) - math.log(len(c))
                c[:] = np.logaddexp.reduce(table - r[:, None], axis=0) - math.log(len(r))
            result[place, : len(r), : len(c)] = np.exp(np.maximum(table - r[:, None] - c, -80.0))
        return result

    def count(self) -> Array:
        """Return how many rows are in each pair of bins, and on the diagonal in each bin."""
        from discreet.models.synthesis.gibbs import count_pairs

        size = int(self.starts[-1])
        counts = np.zeros((size, size))
        count_pairs(self.rows, counts)
        return np.asarray(np.triu(counts) + np.triu(counts, 1).T)
