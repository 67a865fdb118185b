"""``MixturePlan``: how the phases of the fit of a mixture share its budget.

All of it follows from public numbers: ε, δ, d, K, and the number of rows where it is public. Where K follows from a
histogram, the plan is that of the K that the numbers permit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from discreet.door import PublicSize
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.clusters.lloyd_search import relative_noise, usual_steps
from discreet.models.method import GUESS, Method, growing_shares
from discreet.models.mixture.joint_release import Prior
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_sums import count_noise
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["MixturePlan"]

ROUNDS = 4  # releases of phase 1
WORTHWHILE = 0.25  # most nats a column that the noise of one release may cost for further rounds to pay off
MANY_COLUMNS = 500  # with more columns the rounds take too long
DISTINCT = 0.05  # largest squared error of its mean at which a component is well distinguished from the others
MOST_PERMITTED = 64
HOPELESS = 0.2  # squared error of its mean above which a component is dominated by noise

SEARCH = 0.1  # share of the budget of the search for clusters, relative to what phase 1 leaves
# Noise of a centre, relative to the spread of its cluster, above which there is no search: so much for each component
# beyond two, as a start without a search is then less likely to have one near each cluster. Centres of a look are
# started from up to so much
BLIND, MOST_BLIND = 0.16, 1.0
# In up to three columns, and for more than four components, a histogram sees more where that noise is above 0.4; or
# above 0.35 if it also chooses K. It has twice the share of a search, and few steps follow
FEW_COLUMNS, FEW, MOST_LLOYD_ERROR, MOST_CHOOSING_ERROR = 3, 4, 0.4, 0.35
HISTOGRAM = 0.2
MOST_MEAN_NOISE = 0.07  # squared error of a mean with as many components as a histogram may choose

# Growth: a fit with few components, whose heaviest are then split, again and again
LEAST_GROWN, FEWEST = 10, 4  # so many components and more grow, from four or from as many clusters as were found
MOST_GROWN = 1.25  # relative to the number of components that is permitted
GROWTH, GROWTH_STEPS = 0.15, 2  # share of the budget, relative to what the search leaves, and steps at each number

# A look for clusters that are apart, after half of phase 1, where otherwise phase 1 would have more than FAINT of the
# budget: shares of the budget for Lloyd steps and for sizes, and the noise of a centre above which there is none
FAINT, MOST_FAINT, LOOK, SIZING, MOST_LOOK_ERROR = 0.3, 0.8, 0.1, 0.07, 2.0
LEAST_ROWS = 50  # rows for each component, below which there is no look


@dataclass(frozen=True)
class MixturePlan(Method[Components]):
    """The phases of a fit and the share of the budget of each release; subclasses run them.

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
    chooses : bool
        Whether K may follow from a histogram. Then ``count`` is the number for which the budget is shared.
    prefers_histogram : bool
        Whether a histogram has more of the budget than Lloyd steps, and fewer steps follow.

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
    chooses: bool = False
    prefers_histogram: bool = True
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
    ) -> Self:
        """Return the method for a guarantee, with the share ``part`` of its squared budget.

        Without a ``count`` it is the number of components that is permitted, or what a histogram shows.
        """
        d = space.dimension
        budget = part * normal_mu(guarantee.epsilon, guarantee.delta) ** 2
        metric = tuple(space.scale) if shape == "spherical" else None
        plan = cls(count or 1, Shape(shape, d), guarantee.neighbors, size, budget, 1, prior, metric, spectral)
        if count is None:
            plan = replace(plan, count=plan.permitted, chooses=True)
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
    def most_chosen(self) -> int:
        """The largest number of components that a histogram may choose."""
        carried = self.count * math.sqrt(MOST_MEAN_NOISE / self.mean_noise)
        return int(min(max(carried, self.count), MOST_PERMITTED))

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

    def is_hopeless(self, rows: float) -> bool:
        """Return whether with so many rows the means of a mixture would be dominated by noise."""
        return self.mean_noise * (self.rows / rows) ** 2 > HOPELESS

    @property
    def rounds(self) -> int:
        """The number of releases of phase 1."""
        return self.steps if self.is_single else ROUNDS

    @property
    def has_look(self) -> bool:
        """Whether clusters are looked for after half of the rounds of phase 1, which would have most of the budget."""
        few = self.count == 1 or self.rounds < 3 or self.has_histogram or self.rows < LEAST_ROWS * self.count
        return self.looks and not few and self.is_faint(self.rows) and self._look_error <= MOST_LOOK_ERROR

    def looks_with(self, rows: float) -> bool:
        """Return whether clusters are looked for within phase 1, or after it as there are fewer rows than planned for.

        Parameters
        ----------
        rows : float
            Their number, about, as phase 1 has released it.
        """
        later = self.looks and self.size.units is None and self.search_steps > 0 and self.steps > 2
        return self.has_look or (later and not (self.has_histogram or self.has_growth) and self.is_faint(rows))

    @property
    def _look_error(self) -> float:
        """The noise of a centre in a Lloyd step of the look, relative to the spread of its cluster."""
        noise = count_noise(LOOK * self.budget / usual_steps(self.count), self.neighbors)
        return relative_noise(noise, self.shape.dimension) * self.count / self.rows

    def sees_centers(self, rows: float) -> bool:
        """Return whether with so many rows the centres of a look are seen, so that a mixture may start at them."""
        return not self.has_look or self._look_error * self.rows / rows <= BLIND

    def default_steps(self) -> int:
        """Return the number of steps that suits the budget: more steps where there is less noise.

        A histogram finds clusters at once: with the squared error s of a mean, 0.95·s^(-0.42) steps follow it, from 2.
        """
        if self.is_single:
            return ROUNDS
        usual = int(min(max(math.ceil(2.2 * self.mean_noise**-0.26), 3), 40))
        few = self.has_histogram and self.prefers_histogram
        return min(usual, max(round(0.95 * self.mean_noise**-0.42), 2)) if few else usual

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
    def earlier(self) -> Self | None:
        """The method of the version before: without a look, a histogram, growth, a search, one after the other."""
        if self.has_look:
            return replace(self, looks=False)
        if self.has_histogram and self.prefers_histogram:
            before = replace(self, chooses=False, prefers_histogram=False)
            return replace(before, steps=before.default_steps()) if self.steps == self.default_steps() else before
        if self.has_histogram:
            return replace(self, uses_histogram=False)
        if self.has_growth:
            return replace(self, grows=False)
        return replace(self, grows=True, searches=False) if self.searches else None

    @property
    def has_histogram(self) -> bool:
        """Whether the search is one histogram: in few columns, where Lloyd steps would see many clusters badly."""
        if self.is_single or not (self.searches and self.uses_histogram) or self.shape.dimension > FEW_COLUMNS:
            return False
        if self.chooses:
            return self._lloyd_error > MOST_CHOOSING_ERROR
        return self.count > FEW and self._lloyd_error > MOST_LLOYD_ERROR

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
        limit = min(BLIND * max(self.count - 2, 1), MOST_BLIND) if self.size.units else math.inf
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
        if self.has_histogram:
            return HISTOGRAM * (1.0 - self.first) if self.prefers_histogram else self._whole_search
        return self._whole_search / usual_steps(self.count)

    @property
    def search_noise(self) -> float:
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
        return self._clipping(2.0 * self.difficulty / self.first, 0.25)

    def clipping_with(self, rows: float, count: int, share: float) -> Clipping:
        """Return how a step of phase 2 clips, with so many rows and components, for a share of the budget."""
        return self._clipping(self.difficulty_with(rows) * count**2 / share, 0.3)

    def difficulty_with(self, rows: float) -> float:
        """Return the difficulty with so many rows."""
        return self.difficulty * (self.rows / rows) ** 2

    def _clipping(self, cost: float, most: float) -> Clipping:
        """Return the clipping that leaves fewer Gaussian rows as they are where noise costs more."""
        return Clipping.at_quantile(self.shape.dimension, 1.0 - min(max(math.sqrt(cost), 0.01), most))
