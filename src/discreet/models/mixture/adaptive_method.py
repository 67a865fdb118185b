"""``Adaptive``: fits a Gaussian mixture in three phases: one Gaussian, a search for clusters, and the mixture.

Where covariances would be noise, clusters that are apart are looked for within the first phase (``look``), and measured
with what is left (``measure_apart``). Where none are seen, nothing but the price of the look changes.

How the phases share the budget is a function of public numbers: ε, δ, d, K, and the number of rows where it is public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

import numpy as np

from discreet.door import PublicSize, Release
from discreet.em import Step, expectation_maximization
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.clusters.lloyd_search import LloydSearch, relative_noise, usual_steps
from discreet.models.method import Method, growing_shares
from discreet.models.mixture.adaptive_model import AdaptiveMixture, Pool, spread_over
from discreet.models.mixture.cluster_start import start_at_clusters
from discreet.models.mixture.component_moves import move_spare, split_heaviest
from discreet.models.mixture.histogram_start import start_at_peaks
from discreet.models.mixture.joint_release import Prior
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import Clipping, Shape, mixture_weights
from discreet.models.mixture.round_components import RoundComponents
from discreet.models.noisy_sums import count_noise, mean_release, released_rows
from discreet.queries.moments.components import Components
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["Adaptive"]

GUESS = 10_000  # assumed number of rows where it is not public; only accuracy depends on it
ROUNDS = 4  # releases of phase 1
WORTHWHILE = 0.25  # most nats a column that the noise of one release may cost for further rounds to pay off
MANY_COLUMNS = 500  # with more columns the rounds take too long
DISTINCT = 0.05  # largest squared error of its mean at which a component is well distinguished from the others
MOST_PERMITTED = 64
HOPELESS = 0.2  # squared error of its mean above which a component is dominated by noise

SEARCH = 0.1  # share of the budget of the search for clusters, relative to what phase 1 leaves
# Noise of a centre, relative to the spread of its cluster, above which there is no search: 0.16 up to four components,
# and more with more of them, as a start without a search is then less likely to have one near each cluster
BLIND, USUAL_COUNT, MOST_BLIND = 0.16, 4.0, 0.6
# In up to three columns, and for more than four components, a histogram sees more where that noise is above 0.4
FEW_COLUMNS, FEW, MOST_LLOYD_ERROR = 3, 4, 0.4
MOVES = 0.25, 0.5  # shares of the steps of phase 2 after which components that are not needed move

# Growth: a fit with few components, whose heaviest are then split, again and again
LEAST_GROWN, FEWEST = 10, 4  # so many components and more grow, from four or from as many clusters as were found
MOST_GROWN = 1.25  # relative to the number of components that is permitted
GROWTH, GROWTH_STEPS = 0.15, 2  # share of the budget, relative to what the search leaves, and steps at each number

# A look for clusters that are apart, after half of phase 1, where otherwise phase 1 would have more than FAINT of the
# budget: shares of the budget for Lloyd steps and for sizes, and the noise of a centre above which there is none
FAINT, MOST_FAINT, LOOK, SIZING, MOST_LOOK_ERROR = 0.3, 0.8, 0.1, 0.07, 2.0
LEAST_ROWS = 50  # rows for each component, below which there is no look
FIRST_STEPS = 0.2  # share of the steps of phase 2 for sizes, where the look comes after phase 1
COARSE, LEAST_REACH = 0.3, 1.5  # share of what is left for the coarse one of two measurements; least R²/d of both


@dataclass(frozen=True)
class Adaptive(Method[Components]):
    """Phase 1 finds one Gaussian (``OneGaussian``), a search finds clusters, phase 2 is the mixture.

    The search is ``LloydSearch``, or one histogram in few columns (``start_at_peaks``).

    Parameters
    ----------
    count : int
        K, the number of components.
    shape : Shape
        The covariance type.
    neighbors : Neighbors
    size : PublicSize
    budget : float
        μ² of the whole fit.
    steps : int
        The number of releases of phase 2, or of phase 1 where that is the only one.
    prior : Prior or None
        If given, the result is the posterior mode.
    metric : tuple of float, optional
    spectral : bool
        See ``OneGaussian``.
    searches, grows, uses_histogram, looks : bool
        Whether there may be a search, growth, a histogram as the search, and a look for clusters within phase 1.

    Attributes
    ----------
    rows : int
        The number of rows, or a guess where it is not public.
    mean_noise : float
        Approximate squared error of a component's mean in its own coordinates, if one release had all of the budget.
    difficulty : float
        The cost, in nats, of the noise on the covariance of one Gaussian, if one release had all of the budget.
    is_single : bool
        Whether all components are one Gaussian unless a look has found clusters: because K = 1, or because the means of
        a mixture would be dominated by noise.
    first : float
        The share of the budget of phase 1.
    """

    count: int
    shape: Shape
    neighbors: Neighbors
    size: PublicSize
    budget: float
    steps: int
    prior: Prior | None = None
    metric: tuple[float, ...] | None = None
    spectral: bool = False
    searches: bool = True
    grows: bool = True
    uses_histogram: bool = True
    looks: bool = True
    rows: int = field(init=False)
    mean_noise: float = field(init=False)
    difficulty: float = field(init=False)
    is_single: bool = field(init=False)
    first: float = field(init=False)

    @classmethod
    def for_data(
        cls,
        count: int | None,
        space: Box | Ball,
        guarantee: Guarantee,
        size: PublicSize,
        *,
        shape: str = "full",
        prior: Prior | None = None,
        steps: int | None = None,
        part: float = 1.0,
        spectral: bool = False,
    ) -> Adaptive:
        """Return the method for a guarantee, with the share ``part`` of its squared budget.

        Without a ``count`` it is the number of components that is permitted.
        """
        d = space.dimension
        budget = part * normal_mu(guarantee.epsilon, guarantee.delta) ** 2
        metric = tuple(space.scale) if shape == "spherical" else None
        plan = cls(count or 1, Shape(shape, d), guarantee.neighbors, size, budget, 1, prior, metric, spectral)
        if count is None:
            plan = replace(plan, count=plan.permitted)
        return replace(plan, steps=steps or plan.default_steps())

    def __post_init__(self) -> None:
        d, rows = self.shape.dimension, max(self.size.units or GUESS, 1)
        mean_noise = 2.0 * self.count**2 / (self.budget * rows**2) * d * (d + 2.0) / 0.3
        difficulty = self.shape.energy() / 4.0 / self.budget * ((d + 2.0) / rows) ** 2
        single = self.count == 1 or mean_noise > HOPELESS
        first = 1.0 if single else min(max(1.5 * math.sqrt(difficulty), 0.1), 0.85)
        result = {"rows": rows, "mean_noise": mean_noise, "difficulty": difficulty, "is_single": single, "first": first}
        for name, value in result.items():
            object.__setattr__(self, name, value)

    @property
    def permitted(self) -> int:
        """The number of components that suits the budget where nothing is known of the rows.

        Rows that are no mixture of Gaussians gain from every further component, but noise grows with their number. With
        y = μN/√(d(d + 2)) it is 0.3·y^0.65, or y/20 where that is less: chosen on tables of benchmarks/bench_auto.py.
        """
        d = self.shape.dimension
        y = math.sqrt(self.budget) * self.rows / math.sqrt(d * (d + 2.0))
        return int(min(max(round(min(0.3 * y**0.65, y / 20.0)), 1), MOST_PERMITTED))

    @property
    def distinguishable(self) -> int:
        """The number of components that the budget can distinguish well, at most K."""
        return max(min(int(self.count * math.sqrt(DISTINCT / self.mean_noise)), self.count), 1)

    @property
    def is_worthwhile(self) -> bool:
        """Whether several rounds find a single Gaussian better than one release with all of the budget."""
        d = self.shape.dimension
        return d <= MANY_COLUMNS and self.difficulty <= WORTHWHILE * d

    def is_faint(self, rows: float) -> bool:
        """Return whether with so many rows covariances would be noise, while means could be seen."""
        ratio = self.rows / rows
        noise = self.mean_noise * ratio**2
        if self.shape.name not in ("full", "diag"):  # these have few numbers already, and clusters of their own shape
            return False
        return noise <= MOST_FAINT and (1.5 * math.sqrt(self.difficulty) * ratio > FAINT or noise > HOPELESS)

    @property
    def rounds(self) -> int:
        """The number of releases of phase 1."""
        return self.steps if self.is_single else ROUNDS

    @property
    def has_look(self) -> bool:
        """Whether clusters are looked for after half of the rounds of phase 1, which would have most of the budget."""
        few = self.count == 1 or self.rounds < 3 or self.has_histogram or self.rows < LEAST_ROWS * self.count
        return self.looks and not few and self.is_faint(self.rows) and self._look_error <= MOST_LOOK_ERROR

    @property
    def may_look(self) -> bool:
        """Whether there may be a look after phase 1, where there are fewer rows than planned for."""
        searches = self.search_steps > 0 and not (self.has_histogram or self.has_growth)
        return self.looks and self.size.units is None and searches and self.steps > 2

    @property
    def _look_error(self) -> float:
        """The noise of a centre in a Lloyd step of the look, relative to the spread of its cluster."""
        noise = count_noise(LOOK * self.budget / usual_steps(self.count), self.neighbors)
        return relative_noise(noise, self.shape.dimension) * self.count / self.rows

    def default_steps(self) -> int:
        """Return the number of steps that suits the budget: more steps where there is less noise."""
        return ROUNDS if self.is_single else int(min(max(math.ceil(2.2 * self.mean_noise**-0.26), 3), 40))

    @property
    def shares(self) -> list[float]:
        """Growing shares in phase 1, equal shares in the search and in phase 2; twice as much for twice as many."""
        if self.has_look:
            half = self.rounds // 2
            rounds = growing_shares((1.0 - LOOK - SIZING) * self.first, self.rounds)
            look = [self.search_share] * self.search_steps + [SIZING]
            return rounds[:half] + look + rounds[half:] + ([] if self.is_single else [self.step_share] * self.steps)
        if self.is_single:
            return growing_shares(self.first, self.steps)
        search = [self.search_share] * self.search_steps
        growth = [share for share in self.growth_shares for _ in range(GROWTH_STEPS)]
        return growing_shares(self.first, ROUNDS) + search + growth + [self.step_share] * self.steps

    @property
    def earlier(self) -> Adaptive | None:
        """The method of the version before: without a look, a histogram, growth, a search, one after the other."""
        if self.has_look:
            return replace(self, looks=False)
        if self.has_histogram:
            return replace(self, uses_histogram=False)
        if self.has_growth:
            return replace(self, grows=False)
        return replace(self, grows=True, searches=False) if self.searches else None

    @property
    def has_histogram(self) -> bool:
        """Whether the search is one histogram: in few columns, where Lloyd steps would see many clusters badly."""
        many = self.count > FEW and self.shape.dimension <= FEW_COLUMNS
        return (
            many
            and self.uses_histogram
            and self.searches
            and not self.is_single
            and self._lloyd_error > MOST_LLOYD_ERROR
        )

    @property
    def search_steps(self) -> int:
        """The number of steps of the search; none where noise would hide clusters, if the number of rows is public.

        Where it is not, there may be many more than the guess, and a search that sees nothing costs little.
        """
        if self.has_look:
            return usual_steps(self.count)
        if self.is_single or not self.searches:
            return 0
        if self.has_histogram:
            return 1
        limit = min(BLIND * max(self.count / USUAL_COUNT, 1.0), MOST_BLIND) if self.size.units else math.inf
        return 0 if self._lloyd_error > limit else usual_steps(self.count)

    @property
    def _lloyd_error(self) -> float:
        """The noise of a centre in a Lloyd step, relative to the spread of its cluster."""
        noise = count_noise(self._whole_search / usual_steps(self.count) * self.budget, self.neighbors)
        return relative_noise(noise, self.shape.dimension) * self.count / self.rows

    @property
    def _whole_search(self) -> float:
        """The share of the budget of the search."""
        return SEARCH * (1.0 - self.first)

    @property
    def search_share(self) -> float:
        """The share of the budget of one step of the search."""
        if self.has_look:
            return LOOK / usual_steps(self.count)
        return self._whole_search / (1 if self.has_histogram else usual_steps(self.count))

    @property
    def _search_noise(self) -> float:
        """The standard deviation of a count that has all of the budget of a step of the search."""
        return count_noise(self.search_share * self.budget, self.neighbors)

    @property
    def has_growth(self) -> bool:
        """Whether components grow from few: ten or more, not many more than the budget permits, and no histogram."""
        may_grow = self.grows and not (self.is_single or self.has_histogram or self.has_look)
        return may_grow and LEAST_GROWN <= self.count <= MOST_GROWN * self.permitted

    @property
    def growth_shares(self) -> list[float]:
        """The share of the budget of a step at each number of components before K; none where they do not grow."""
        if not self.has_growth:
            return []
        doublings = math.ceil(math.log2(self.count / FEWEST) - 0.2)  # the last one may be a little more
        parts = 2.0 ** np.arange(doublings)
        shares: list[float] = (GROWTH * self._after_search * parts / parts.sum() / GROWTH_STEPS).tolist()
        return shares

    @property
    def _after_search(self) -> float:
        """The share of the budget that phase 1 and the search leave."""
        return 1.0 - self.first - self.search_share * self.search_steps

    @property
    def step_share(self) -> float:
        """The share of the budget of one step of phase 2."""
        if self.has_look:
            return (1.0 - LOOK - SIZING) * (1.0 - self.first) / self.steps
        return (self._after_search - GROWTH_STEPS * math.fsum(self.growth_shares)) / self.steps

    @property
    def clipping(self) -> Clipping:
        """How phase 1 clips, in its own coordinates."""
        return Clipping.at_quantile(self.shape.dimension, _level(2.0 * self.difficulty / self.first, 0.25))

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Find one Gaussian, then clusters, and improve them by EM."""
        counted, before = self.size.rows is None, self.rounds // 2 if self.has_look else self.rounds
        one = OneGaussian(self.shape, self.clipping, self.neighbors, counted, self.metric, self.spectral)
        base, releases = expectation_maximization(
            one, one.initialize(space.dimension, rng), space, islice(measures, before)
        )
        rows = released_rows(releases[-1])
        found = start = None
        if self.has_look or (self.may_look and self.is_faint(rows)):
            found, start, more = self.look(base, rows, space, rng, measures)
            releases += more
        if found is not None:
            result, more = self.measure_apart(found, base, rows, space, measures, self.shares[len(releases) :])
            return self._finish(result, rows), releases + more
        if self.has_look:
            base, more = expectation_maximization(one, base, space, islice(measures, self.rounds - before))
            rows, releases = released_rows(more[-1]), releases + more
        single = self.is_single
        if start is not None and self.mean_noise * (self.rows / rows) ** 2 > HOPELESS:
            single, asked = True, [measure(one.query(base, space)) for measure in measures]
            base, releases = one.maximize(base, mean_release(asked)), releases + asked
        if single:
            parts = (np.full(1, 1.0 / self.count), base.means, base.covariances)
            return self._finish(Components(*(np.repeat(part, self.count, axis=0) for part in parts)), rows), releases
        if self.has_look:
            start = spread_over(base, self.count, rng)
        if start is None:
            start, more = self.search(base, rows, space, rng, measures)
            releases += more
        result, more = self.improve(start, base, rows, space, rng, measures, len(self.shares) - len(releases))
        return self._finish(result, rows), releases + more

    def _finish(self, components: Components, rows: float) -> Components:
        """Return the components, or the posterior mode where there is a prior."""
        if self.prior is None:
            return components
        return self.prior.mode(rows * components.weights, components.means, components.covariances)

    def look(
        self, base: Components, rows: float, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components | None, Components | None, list[Release]]:
        """Return round components where clusters are apart, or None; else what phase 2 may start from; the releases.

        Lloyd steps find centres, and one release the size of what is around each (``round_components``).

        Parameters
        ----------
        base : Components
            The Gaussian so far.
        rows : float
            Their number, about.
        space : Box or Ball
        rng : Generator
        measures : iterator of callables
        """
        releases = list[Release]()

        def measure(question: Question) -> Release:
            releases.append(next(measures)(question))
            return releases[-1]

        search = LloydSearch(self.count, self.search_steps, self._search_noise, np.sqrt(np.diag(base.covariances[0])))
        centers = search.run(base, rows, space, rng, measure)
        share, several = (SIZING, 1) if self.has_look else (self.step_share, max(round(self.steps * FIRST_STEPS), 1))
        noise = (self.count / rows) ** 2 / (several * share * self.budget)
        sizes = RoundComponents.at_centers(centers, search, base, noise)
        found = sizes.find(
            lambda question: mean_release([measure(question) for _ in range(several)]), self.neighbors, space
        )
        if found is not None or self.has_look:
            return found, None, releases
        start = start_at_clusters(centers, search, base, self.shape, self.count, rng)
        return None, start if start.count >= self.count else spread_over(base, self.count, rng), releases

    def measure_apart(
        self,
        start: Components,
        base: Components,
        rows: float,
        space: Box | Ball,
        measures: Iterator[Step],
        shares: list[float],
    ) -> tuple[Components, list[Release]]:
        """Return clusters that are apart, after two measurements with all that is left of the budget.

        Such clusters need no further steps of EM. Each measurement asks one question several times.

        Parameters
        ----------
        start : Components
        base : Components
            The Gaussian so far.
        rows : float
            Their number, about.
        space : Box or Ball
        measures : iterator of callables
        shares : list of float
            The shares of the budget that are left.
        """
        pool, releases = Pool.empty(start), list[Release]()
        parts = np.cumsum(shares) / math.fsum(shares)
        first = min(int(np.searchsorted(parts, COARSE * (1.0 - 1e-9))) + 1, len(shares) - 1)
        for several in (shares[:first], shares[first:]):
            mixture = self.mixture(base, rows, self.count, math.fsum(several), 2)
            mixture = replace(mixture, apart=True, clipping=mixture.clipping.at_least(LEAST_REACH))
            asked = [measure(mixture.query(pool, space)) for measure in islice(measures, len(several))]
            pool = mixture.maximize(pool, mean_release(asked)).widened
            releases += asked
        return pool.components, releases

    def search(
        self, base: Components, rows: float, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return the components that phase 2 starts from, where a search has found clusters, and its releases.

        Parameters
        ----------
        base : Components
            The Gaussian of phase 1.
        rows : float
            Their number, about.
        space : Box or Ball
        rng : Generator
        measures : iterator of callables
            The steps of the search are taken from it.
        """
        growth = self.growth_shares
        fewest = FEWEST if growth else self.count
        found, releases = base, list[Release]()

        def measure(question: Question) -> Release:
            releases.append(next(measures)(question))
            return releases[-1]

        if self.has_histogram:
            noise = self._search_noise
            return start_at_peaks(self.count, noise, self.shape, base, rows, space, rng, measure), releases
        if self.search_steps:
            # Every column counts by its standard deviation
            scales = np.sqrt(np.diag(base.covariances[0]))
            search = LloydSearch(self.count, self.search_steps, self._search_noise, scales)
            centers = search.run(base, rows, space, rng, measure)
            found = start_at_clusters(centers, search, base, self.shape, fewest, rng)
        if found.count < fewest:
            found = spread_over(base, fewest, rng)
        for share in growth:
            mixture = self.mixture(base, rows, found.count, share, GROWTH_STEPS)
            pool, more = expectation_maximization(mixture, Pool.empty(found), space, islice(measures, GROWTH_STEPS))
            found = split_heaviest(pool.components, min(2 * found.count, self.count), base, self.shape)
            releases += more
        return split_heaviest(found, self.count, base, self.shape), releases

    def improve(
        self,
        start: Components,
        base: Components,
        rows: float,
        space: Box | Ball,
        rng: np.random.Generator,
        measures: Iterator[Step],
        steps: int,
    ) -> tuple[Components, list[Release]]:
        """Return the components after all steps of phase 2, and their releases; some move on the way (``move_spare``).

        Parameters
        ----------
        start : Components
        base : Components
            The Gaussian of phase 1.
        rows : float
            Their number, about.
        space : Box or Ball
        rng : Generator
            For synthetic rows.
        measures : iterator of callables
        steps : int
            Their number.
        """
        pool, releases = Pool.empty(start), list[Release]()
        mixture = self.mixture(base, rows, self.count, self.step_share, steps)
        ends = sorted({round(part * steps) for part in (0.0, *MOVES, 1.0)})
        for begin, end in pairwise(ends):
            pool, more = expectation_maximization(mixture, pool, space, islice(measures, end - begin))
            releases += more
            if end < steps:
                pool = move_spare(pool, self.shape, rng)
        return pool.components, releases

    def mixture(self, base: Components, rows: float, count: int, share: float, steps: int) -> AdaptiveMixture:
        """Return the model of some steps of EM.

        Parameters
        ----------
        base : Components
            The Gaussian of phase 1.
        rows : float
            Their number, about.
        count : int
            The number of components.
        share : float
            The share of the budget of a step.
        steps : int
        """
        d, cost = self.shape.dimension, self.difficulty * (self.rows / rows) ** 2
        clipping = Clipping.at_quantile(d, _level(cost * count**2 / share, 0.3))
        noise = (count / rows) ** 2 / (share * self.budget)
        weights = mixture_weights(clipping, self.shape, self.neighbors, count, noise, 2.0 * cost / self.first)
        return AdaptiveMixture(count, base, clipping, self.shape, weights, steps)


def _level(cost: float, most: float) -> float:
    """Return the probability that a Gaussian row is not clipped: smaller where noise costs more."""
    return 1.0 - min(max(math.sqrt(cost), 0.01), most)
