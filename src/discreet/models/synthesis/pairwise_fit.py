"""Fits the pairwise model (``pairwise_model``) to noisy pair tables.

**Shrinkage.** A released count is y = n·(1 + θ) + noise of variance v where n is the count that the columns' own
histograms explain, to first order: o_a·o_b/N under independence, and for two numbers mostly that of the table which
their link has (``number_links``). With a prior θ ~ N(0, s²) the posterior mean solves y − M(θ) = λ·θ with λ = v/(n·s²),
M(θ) being the model's count. That is the equation which the fit solves for every cell. s² is estimated for each pair
table from its own counts (empirical Bayes), is larger where few rows are expected, and is joined by a penalty on
differences of neighbouring bins of numbers. So noise far from the diagonal of two correlated numbers becomes no rows.

Most cells of a table differ little from what is expected, and a few by much. So the prior is a mixture of normal
distributions of ``WIDTHS`` times s, whose shares are those of greatest likelihood in that table (adaptive shrinkage,
Stephens 2017). A cell has the s² with which its λ gives the posterior mean under the mixture. That mean is the best
estimate of every cell, and a classifier learns most from it. But all together the means vary less than what they
estimate, so Cramér's V would come out too small: s is ``PRIOR`` times as large, but not for pairs of the target.

**Trends.** The product of two numbers' scores, and a number's score within a category, are single directions in a
table, and hold most of what is known about it. They have priors of their own, and θ is split as

    θ = S·B·Sᵀ + S·C + Cᵀ·Sᵀ + Q·D·Qᵀ + rest,      B: numbers × numbers,  C: numbers × categories,

with the scores S of ``number_links``. **Curves** are the next few directions: Q holds S and polynomials of the ranks,
and D the coefficients of all their products but those of B. A parabola of one number over another is one of them. Its
cells each know little of it and would be shrunk as the rest is; all of them together know it well. So every coefficient
has a prior of its own, as wide as it is above its noise. Of two strongly correlated numbers all of them follow from B
already, and there are none. How far the model is from its target is measured by ranks Z, which were released.

Strongly correlated numbers would take hundreds of steps: at a correlation r the trend answers to B as (1 − r²)². So B
starts where a normal distribution with the target's correlations R has it, −(R⁻¹) off the diagonal, and its steps are
those of that distribution, R⁻¹·ΔT·R⁻¹.

**The fit** is stochastic approximation with persistent chains (Tieleman 2008): rows of the current model are moved by a
Gibbs sweep, counted, and θ is moved by the difference. All of it is a function of releases and of a generator, total
for any finite numbers, and every loop has a fixed length.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.models.synthesis.number_links import STRONG
from discreet.models.synthesis.pair_targets import PairTargets
from discreet.models.synthesis.pairwise_model import PairwiseModel, Walk, draw_independent
from discreet.models.synthesis.triples import TripleSolver, TripleTargets, TripleTerms
from discreet.threads import one_blas_thread

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Rows = NDArray[np.int32]

CHAINS = 8000
SWEEPS = 200
STEP, FIELD_STEP = 0.1, 0.3  # of θ and f
WIDEST = 0.5  # largest change of a number in a step
FARTHEST = 0.1  # largest share by which R⁻¹ changes in a step
DECAY_FROM, MEAN_FROM = 0.6, 0.85  # shares of the sweeps after which steps become smaller, and parameters are averaged
TRIPLES_FROM = 0.3, 0.4  # shares of the sweeps between which triples of the model of pairs are counted
MEMORY = 0.7  # of the running mean of the model's counts, by which steps are scaled
PRIOR = 1.5  # factor of the estimated spread of θ, so that tables vary as much as the real ones
PRIOR_OF_TARGET = 1.0
WIDTHS = 0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0  # of the normal distributions of a prior, times s
CELLS = 1.0, 1.0, 1.0, 1.0, 11.0, 1.0, 1.0  # that each has at first: a table of few cells keeps to s
ROUNDS = 20  # of their shares
LEAST_SPREAD, MOST_SPREAD = 0.03, 3.0  # of θ; a larger floor leaves noise in pairs that are independent,
LEAST_OF_TARGET = 0.1  # a smaller one takes weak relations, which a classifier adds up, from the target
RARE = 0.5  # power by which the spread grows as the expected count falls
SMOOTH = 1.0  # weight of the penalty on differences of neighbouring bins
COPULA = 0.9  # share of the trend in the counts that are expected of two numbers; the rest is independent
LEAST_TREND = 0.05  # spread of a trend that is below its noise
FORBIDDEN = -60.0  # θ of a pair that cannot occur
TIED = 0.4  # Cramér's V from which two columns are drawn together,
TIED_NUMBERS = 0.6  # and the rank correlation of two numbers
LEAST_EIGENVALUE = 0.02  # of the numbers' correlations


class Solver:
    """Steps of fields and interactions towards targets; see the module.

    Parameters
    ----------
    targets : PairTargets
    zeros : bool array of shape (L, L)
        The pairs of bins that cannot occur.
    """

    mixes = True  # whether priors are mixtures

    def __init__(self, targets: PairTargets, zeros: NDArray[np.bool_]) -> None:
        columns = targets.columns
        self.targets, self.zeros, self.starts = targets, zeros, columns.starts
        d, size = len(columns.sizes), len(targets.one)
        self.rows, self.one, self.share = columns.rows, targets.one, targets.shares
        self.member = np.zeros((size, d))  # 1 where a bin is of a column
        for column in range(d):
            self.member[columns.places(column), column] = 1.0
        self.across = (self.member @ self.member.T == 0.0) & ~zeros
        self.goal = np.where(self.across, targets.pairs, 0.0)
        self.expected = np.outer(self.one, self.one) / self.rows
        self.base = targets.links.tables * COPULA + self.expected * (1.0 - COPULA)
        self._set_shrinkage()
        self._set_trends()
        self._set_curves()
        self.push: Array | float = 0.0  # where θ is drawn to, times λ: to 0, but for draws of a posterior
        self.trend_push: Array | float = 0.0
        self.level_push: Array | float = 0.0
        self.curve_push: Array | float = 0.0

    def _set_shrinkage(self) -> None:
        """Set λ, and the weights of the penalty on differences."""
        columns = self.targets.columns
        spread = np.ones_like(self.expected)  # s² of every cell
        self.spreads = np.ones(self.targets.noise.shape)
        for i, j in combinations(range(len(columns.sizes)), 2):
            a, b = columns.places(i), columns.places(j)
            n, y, v = self.base[a, b], self.goal[a, b], self.targets.noise[i, j]
            rare = np.clip((self.rows / n.size / n) ** RARE, 0.05, 20.0)
            found, least = 1.0, LEAST_OF_TARGET if self.targets.target in (i, j) else LEAST_SPREAD
            for _ in range(8):  # E[(y − n)²] = v + s²·rare·n², weighted by how well each cell knows it
                u = rare * n**2
                weight = u / (v + found * u) ** 2
                found = float((weight * ((y - n) ** 2 - v)).sum() / (weight * u).sum())
                found = min(max(found, least**2), MOST_SPREAD**2)
            found = self._join_prior(found, (n.shape[0] - 1) * (n.shape[1] - 1))
            self.spreads[i, j] = self.spreads[j, i] = found
            spread[a, b] = rare * found * PRIOR**2
            if self.mixes and self.targets.mixed:
                factor = PRIOR_OF_TARGET if self.targets.target in (i, j) else PRIOR
                mixed = mix_spreads(n, y, v, rare * found)
                spread[a, b] = np.maximum(mixed, rare * least**2) * factor**2
            spread[b, a] = spread[a, b].T
        noise, self.spread = self.member @ self.targets.noise @ self.member.T, spread
        self.shrink = np.where(self.across, noise / self.base / spread, 0.0)
        self.smooth = np.where(self.across, SMOOTH * noise / self.base / np.maximum(spread, 0.04), 0.0)
        self.follows = np.zeros(len(self.one) - 1)  # 1 where a bin and the next are neighbours
        for column in columns.numbers:
            first = int(columns.starts[column])
            self.follows[first : first + columns.ordered[column] - 1] = 1.0
        degree = np.append(self.follows, 0.0) + np.append(0.0, self.follows)
        self.stiffness = self.shrink + self.smooth * (degree[:, None] + degree[None, :])

    @staticmethod
    def _join_prior(found: float, numbers: int) -> float:
        """Return s² of a table with so many numbers beside its margins."""
        return found

    def _set_trends(self) -> None:
        """Set scores, priors of trends, and R⁻¹."""
        targets, z = self.targets, self.targets.scores
        numbers = targets.columns.numbers
        self.links = targets.links.scores
        self.weighted = self.links * self.share[:, None]  # for the part of θ along a score
        pair = np.zeros((z.shape[1], z.shape[1]), dtype=bool)
        pair[np.ix_(numbers, numbers)] = True
        self.between = pair & ~np.eye(len(pair), dtype=bool)
        inside = np.array([ordered == 0 for ordered in targets.columns.ordered])
        self.within = (self.member @ inside > 0.0)[None, :] & (np.abs(z).sum(axis=0) > 0.0)[:, None]
        variance = np.maximum(targets.trends**2 - targets.trend_noise, LEAST_TREND**2)
        self.trend_shrink = np.where(self.between, targets.trend_noise / np.minimum(variance, 1.0), 0.0)
        # Of a number within a category: c = Σ_a z_a·(y_a − n_a)/o, of variance σ²·Σz²/o²; spread by moments, per column
        noise = (z**2).sum(axis=0)[:, None] * (targets.noise @ self.member.T) / self.one[None, :] ** 2
        found = z.T @ np.where(self.across, self.goal - self.expected, 0.0) / self.one[None, :]
        weight = self.share[None, :] / (noise + 0.04)
        total = (weight * (found**2 - noise)) @ self.member / np.maximum(weight @ self.member, 1e-12)
        spread = np.clip(total, LEAST_TREND**2, 1.0) @ self.member.T
        self.level_shrink = np.where(self.within, noise / spread, 0.0)
        ranks = np.where(self.between, np.clip(targets.trends, -0.999, 0.999), 0.0)
        values, vectors = np.linalg.eigh(2.0 * np.sin(np.pi / 12.0 * (ranks + ranks.T)) + np.eye(len(pair)))
        self.precision = (vectors / np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
        self.root = (vectors / np.sqrt(np.maximum(values, LEAST_EIGENVALUE))) @ vectors.T

    def _set_curves(self) -> None:
        """Set Q, and the priors of D."""
        links, d = self.targets.links, len(self.between)
        owner = np.append(np.arange(d), links.owners)
        self.curves = np.hstack([self.links, links.curves])  # Q
        numbers = np.isin(owner, self.targets.columns.numbers) & self.curves.any(axis=0)  # a single bin has no scores
        self.curved = np.outer(numbers, numbers) & (owner[:, None] != owner[None, :])
        self.curved[:d, :d] = False
        self.curved &= np.abs(self.targets.trends)[np.ix_(owner, owner)] <= STRONG
        squares = self.curves**2
        found = self.curves.T @ np.where(self.across, self.goal - links.tables, 0.0) @ self.curves / self.rows
        sums = squares.sum(axis=0)
        self.curve_noise = np.outer(sums, sums) * self.targets.noise[np.ix_(owner, owner)] / self.rows**2
        # θ along two scores moves their product by the mean of its square, g: λ = noise·g/(found² − noise)
        self.curvature = np.where(
            self.curved, squares.T @ np.where(self.across, self.base, 0.0) @ squares / self.rows, 1.0
        )
        self.most_curved = WIDEST / np.outer(*(np.maximum(np.abs(self.curves).max(axis=0), 1.0),) * 2)
        variance = np.maximum(found**2 - self.curve_noise, LEAST_TREND**2)
        self.curve_shrink = self.curve_noise * self.curvature / variance

    def start(self) -> tuple[Array, Array]:
        """Return the fields and interactions of a normal distribution's scores."""
        w = self.links
        theta = np.where(self.across, -w @ np.where(self.between, self.precision, 0.0) @ w.T, 0.0)
        fields = np.log(self.share) - 0.5 * (w**2) @ (np.diag(self.precision) - 1.0)
        return fields, np.where(self.zeros, FORBIDDEN, theta)

    def _center(self, table: Array) -> Array:
        """Return tables whose margins, weighted by the histograms, are 0."""
        table = table - (table @ (self.member * self.share[:, None])) @ self.member.T
        return np.asarray(table - self.member @ ((self.member * self.share[:, None]).T @ table))

    def _laplacian(self, table: Array) -> Array:
        """Return for each row of a table the sum of its differences from the rows of neighbouring bins."""
        steps = self.follows[:, None] * np.diff(table, axis=0)
        result = np.zeros_like(table)
        result[1:] += steps
        result[:-1] -= steps
        return result

    def _split(self, theta: Array) -> tuple[Array, Array]:
        """Return B and C, the trends of θ."""
        along = self.weighted.T @ theta
        return np.where(self.between, along @ self.weighted, 0.0), np.where(self.within, along, 0.0)

    def _bend(self, theta: Array) -> Array:
        """Return D, the curves of θ."""
        weighted = self.curves * self.share[:, None]
        return np.where(self.curved, weighted.T @ theta @ weighted, 0.0)

    def _join(self, numbers: Array, levels: Array) -> Array:
        """Return W·B·Wᵀ + W·C + Cᵀ·Wᵀ."""
        mixed = self.links @ levels
        return np.asarray(self.links @ numbers @ self.links.T + mixed + mixed.T)

    def change(self, theta: Array, counts: Array, mean: Array, chains: int, step: float, trend_step: float) -> Array:
        """Return the change of θ, from the model's counts M and their running mean; trends have steps of their own."""
        z = self.targets.scores
        theta = np.where(self.across, theta, 0.0)
        gap = np.where(self.across, self.goal - counts, 0.0)
        trend, level = self._split(theta)
        curve = self._bend(theta)
        rest = theta - self._join(trend, level) - self.curves @ curve @ self.curves.T
        rough = self._laplacian(rest)
        pull = self.shrink * rest + self.smooth * (rough + rough.T) - self.push  # θ is symmetric
        curvature = np.maximum(mean, 0.3 * self.expected) + self.stiffness + self.rows / chains
        part = np.where(self.across, np.clip(step * (gap - pull) / curvature, -WIDEST, WIDEST), 0.0)
        part = self._center(part)
        part = part - self._join(*self._split(part)) - self.curves @ self._bend(part) @ self.curves.T
        moved = np.where(self.between, self._newton(theta, counts, trend_step), 0.0)
        by_level = (z.T @ gap - self.level_shrink * self.one[None, :] * level + self.level_push) / (
            self.one[None, :] * (1.0 + self.level_shrink)
        )
        by_level = np.where(self.within, np.clip(trend_step * by_level, -WIDEST, WIDEST), 0.0)
        off = self.curves.T @ gap @ self.curves / self.rows - self.curve_shrink * curve + self.curve_push
        bent = np.clip(trend_step * off / (self.curvature + self.curve_shrink), -self.most_curved, self.most_curved)
        joined = self._join(moved, by_level) + self.curves @ np.where(self.curved, bent, 0.0) @ self.curves.T
        return np.asarray(part + self._center(np.where(self.across, joined, 0.0)))

    def _newton(self, theta: Array, counts: Array, step: float) -> Array:
        """Return R⁻¹·ΔR·R⁻¹, shape (d, d): how −R⁻¹ of normal scores changes for second moments to meet the targets.

        Off the diagonal it is the change of B. A larger B also widens both columns, so the diagonal belongs to it: half
        of it, times s², is the change of f that keeps their variances. Without it steps would have to be very small.
        With Q² = R⁻¹ the change is Q·(Q·ΔR·Q)·Q, and the norm of what is in brackets, times the step, is limited: R⁻¹
        changes by a share of itself.
        """
        z = self.targets.scores
        gap = np.where(self.across, self.goal - counts, 0.0)
        off = z.T @ gap @ z / self.rows - self.trend_shrink * self._split(np.where(self.across, theta, 0.0))[0]
        stiff = np.outer(np.diag(self.precision), np.diag(self.precision)) * self.trend_shrink
        off = (off + self.trend_push) / (1.0 + step * stiff)
        explained = np.maximum(1.0 - 1.0 / np.diag(self.precision), 0.0)  # by other numbers; the rest is for f alone
        own = explained * ((self.one - np.diag(counts)) @ z**2) / self.rows
        inner = step * self.root @ (np.where(self.between, off, 0.0) + np.diag(own)) @ self.root
        inner = inner * min(1.0, FARTHEST / max(float(np.linalg.norm(inner, 2)), 1e-12))
        return np.asarray(self.root @ inner @ self.root)

    def change_fields(self, theta: Array, counts: Array, chains: int, step: float, trend_step: float) -> Array:
        """Return the change of f."""
        own = np.diag(counts)
        single = np.clip((self.one - own) / (own + self.rows / chains), -WIDEST, WIDEST)
        correlated = self.between.any(axis=1)
        newton = np.diag(self._newton(theta, counts, trend_step))
        return np.asarray(step * single + 0.5 * self.links**2 @ np.where(correlated, newton, 0.0))


def mix_spreads(n: Array, y: Array, v: float, spread: Array) -> Array:
    """Return the s² of each cell with which a normal prior has the posterior mean of the mixture.

    The shares of the distributions are found by EM, with ``CELLS`` beside those of the table.

    Parameters
    ----------
    n, y : arrays
        The counts that are expected, and those released.
    v : float
        The variance of the noise.
    spread : array
        s² of each cell, of which the mixture has multiples.

    Examples
    --------
    >>> n = np.full(100, 10.0)
    >>> y = np.append(n[:99], 60.0)
    >>> result = mix_spreads(n, y, 4.0, np.full(100, 0.25))
    >>> bool(result[0] < 0.02), bool(result[99] > 2.0)
    (True, True)
    """
    shape = (-1,) + (1,) * n.ndim
    noise = v / n**2
    prior = np.square(WIDTHS).reshape(shape) * spread
    total = prior + noise
    likelihood = -0.5 * (np.log(total) + ((y - n) / n) ** 2 / total)
    shares = np.full(len(WIDTHS), 1.0 / len(WIDTHS))
    for _ in range(ROUNDS):
        own = likelihood + np.log(shares).reshape(shape)
        own = np.exp(own - own.max(axis=0))
        own /= own.sum(axis=0)
        shares = own.reshape(len(shares), -1).sum(axis=1) + CELLS
        shares /= shares.sum()
    kept = np.minimum((own * prior / total).sum(axis=0), 1.0 - 1e-9)  # of y − n
    return np.asarray(noise * kept / (1.0 - kept))


def fit_pairs(
    targets: PairTargets, zeros: NDArray[np.bool_], rng: np.random.Generator, three: TripleTargets | None = None
) -> PairwiseModel:
    """Return the model whose pair tables are the targets, shrunk, and whose triples are as far as they can be seen."""
    with one_blas_thread():
        return _fit_pairs(targets, zeros, rng, three)


def _fit_pairs(
    targets: PairTargets, zeros: NDArray[np.bool_], rng: np.random.Generator, three: TripleTargets | None
) -> PairwiseModel:
    solver, chains = Solver(targets, zeros), CHAINS
    fields, theta = solver.start()
    walk = Walk(solver.starts, draw_start(targets, chains, rng), tied_pairs(targets))
    mean: Array | None = None
    scale, triples = solver.rows / chains, _FittedTriples(three, walk, solver.rows / chains)
    total_fields, total_theta, number = np.zeros_like(fields), np.zeros_like(theta), 0
    for place in range(SWEEPS):
        walk.move(fields, theta, rng)
        counts = walk.count() * scale
        mean = counts if mean is None else MEMORY * mean + (1.0 - MEMORY) * counts
        late = max(place / SWEEPS - DECAY_FROM, 0.0) / (1.0 - DECAY_FROM)
        step = STEP * 0.5 * (1.0 + math.cos(math.pi * late)) + 0.02 * (late > 0.0)
        fields = fields + solver.change_fields(theta, counts, chains, FIELD_STEP * step / STEP, step)
        theta = np.where(zeros, FORBIDDEN, theta + solver.change(theta, counts, mean, chains, step, step))
        triples.move(place / SWEEPS, step)
        if place >= MEAN_FROM * SWEEPS:
            total_fields, total_theta, number = total_fields + fields, total_theta + theta, number + 1
    return PairwiseModel(solver.starts, total_fields / number, total_theta / number, walk.blocks, triples.mean)


class _FittedTriples:
    """The terms of triples during a fit: none at first, then those that the model of pairs leaves unexplained.

    Parameters
    ----------
    targets : TripleTargets or None
    walk : Walk
        Whose terms are set.
    scale : float
        How many rows a row of the walk stands for.
    """

    def __init__(self, targets: TripleTargets | None, walk: Walk, scale: float) -> None:
        self.targets, self.walk, self.scale = targets, walk, scale
        self.solver: TripleSolver | None = None
        self.total, self.number = np.zeros(()), 0

    @property
    def mean(self) -> TripleTerms | None:
        """The mean of the terms over the last sweeps; None where there are none."""
        own = self.walk.triples
        return None if self.solver is None else TripleTerms(own.columns, own.levels, self.total / max(self.number, 1))

    def move(self, share: float, step: float) -> None:
        """Take a step after a share of the sweeps."""
        if self.targets is None or share < TRIPLES_FROM[0]:
            return
        if self.solver is None:
            self.total, self.number = self.total + self.targets.terms().count(self.walk.rows), self.number + 1
            if share < TRIPLES_FROM[1]:
                return
            solver = TripleSolver(self.targets, self.total * (self.scale / self.number), self.scale / self.number)
            self.total, self.number = np.zeros(()), 0
            self.targets = solver.targets if len(solver.targets.columns) else None
            if self.targets is not None:
                self.solver, self.walk.triples = solver, solver.targets.terms()
            return
        counts = self.walk.triples.count(self.walk.rows) * self.scale
        self.walk.triples = self.solver.change(self.walk.triples, counts, self.scale, step)
        if share >= MEAN_FROM:
            self.total, self.number = self.total + self.walk.triples.values, self.number + 1


def draw_start(targets: PairTargets, number: int, rng: np.random.Generator) -> Rows:
    """Return rows whose columns have the targets' histograms: numbers by normal scores, all others independent."""
    columns = targets.columns
    rows = draw_independent(columns.starts, np.log(targets.shares), number, rng)
    numbers = columns.numbers
    latent = rng.standard_normal((number, len(numbers))) @ np.linalg.cholesky(targets.normal_correlations).T
    for k, column in enumerate(numbers):
        first, ordered = int(columns.starts[column]), columns.ordered[column]
        there = np.flatnonzero(rows[:, column] < first + ordered)
        ends = np.cumsum(targets.shares[first : first + ordered])
        bins = np.searchsorted(ends[:-1] / ends[-1], ndtr(latent[there, k]), side="right")
        rows[there, column] = first + bins
    return rows


def tied_pairs(targets: PairTargets) -> Whole:
    """Return the pairs of columns that are drawn together; at most as many as there are columns.

    These have a large Cramér's V, the noise left out, or are numbers with a large rank correlation.
    """
    columns = targets.columns
    found = []
    for i, j in combinations(range(len(columns.sizes)), 2):
        least = min(columns.sizes[i], columns.sizes[j]) - 1
        a, b, noise = columns.places(i), columns.places(j), targets.noise[i, j]
        n = np.outer(targets.one[a], targets.one[b]) / columns.rows
        square = float((((targets.pairs[a, b] - n) ** 2 - noise) / (n + math.sqrt(noise))).sum()) / columns.rows
        strength = math.sqrt(max(square / least, 0.0)) / TIED if least else 0.0
        strength = max(strength, abs(float(targets.trends[i, j])) / TIED_NUMBERS)
        if strength > 1.0:
            found.append((strength, i, j))
    best = sorted(found, reverse=True)[: len(columns.sizes)]
    return np.array([(i, j) for _, i, j in best], dtype=np.int64).reshape(-1, 2)
