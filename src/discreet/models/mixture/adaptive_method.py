"""``Adaptive``: fits a Gaussian mixture in three phases: one Gaussian, a search for clusters, and the mixture.

Where covariances would be noise, clusters that are apart are looked for within the first phase (``look``), and measured
with what is left (``measure_apart``). Where none are, phase 2 may still start at the centres that were seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from discreet.door import Release
from discreet.em import Step, expectation_maximization
from discreet.models.clusters.lloyd_search import LloydSearch, MovingCenters
from discreet.models.mixture.adaptive_model import AdaptiveMixture, Pool, spread_over
from discreet.models.mixture.cluster_start import start_at_clusters
from discreet.models.mixture.component_moves import move_spare, split_heaviest
from discreet.models.mixture.histogram_start import start_at_peaks
from discreet.models.mixture.mixture_plan import FEWEST, GROWTH_STEPS, SIZING, MixturePlan
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import mixture_weights
from discreet.models.mixture.round_components import RoundComponents
from discreet.models.noisy_sums import mean_release, released_rows
from discreet.queries.moments.components import Components
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["Adaptive"]

MOVES = 0.25, 0.5  # shares of the steps of phase 2 after which components that are not needed move
LARGER = 0.5  # share of the steps of phase 2 from which on steps are larger where components are apart
FIRST_STEPS = 0.2  # share of the steps of phase 2 for sizes, where the look comes after phase 1
COARSE, LEAST_REACH = 0.3, 1.5  # share of what is left for the coarse one of two measurements; least R²/d of both


class Adaptive(MixturePlan):
    """Phase 1 finds one Gaussian (``OneGaussian``), a search finds clusters, phase 2 is the mixture.

    The search is ``LloydSearch``, or one histogram in few columns (``start_at_peaks``). ``MixturePlan`` has what is
    decided beforehand.
    """

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
        found = seen = None
        if self.looks_with(rows):
            found, seen, more = self.look(base, rows, space, rng, measures)
            releases += more
        if found is not None:
            result, more = self.measure_apart(found, base, rows, space, measures, self.shares[len(releases) :])
            return self._finish(result, rows), releases + more
        if self.has_look:
            base, more = expectation_maximization(one, base, space, islice(measures, self.rounds - before))
            rows, releases = released_rows(more[-1]), releases + more
        single = self.is_single
        if seen is not None and not self.has_look and self.is_hopeless(rows):
            single, asked = True, [measure(one.query(base, space)) for measure in measures]
            base, releases = one.maximize(base, mean_release(asked)), releases + asked
        if single:
            parts = (np.full(1, 1.0 / self.count), base.means, base.covariances)
            return self._finish(Components(*(np.repeat(part, self.count, axis=0) for part in parts)), rows), releases
        if seen is not None:
            start = start_at_clusters(*seen, base, self.shape, self.count, rng) if self.sees_centers(rows) else base
            start = start if start.count >= self.count else spread_over(base, self.count, rng)
        else:
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
    ) -> tuple[Components | None, tuple[MovingCenters, LloydSearch], list[Release]]:
        """Return round components where clusters are apart, or None; the centres that were seen; the releases.

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

        search = LloydSearch(self.count, self.search_steps, self.search_noise, np.sqrt(np.diag(base.covariances[0])))
        centers = search.run(base, rows, space, rng, measure)
        share, several = (SIZING, 1) if self.has_look else (self.step_share, max(round(self.steps * FIRST_STEPS), 1))
        noise = (self.count / rows) ** 2 / (several * share * self.budget)
        sizes = RoundComponents.at_centers(centers, search, base, noise)
        found = sizes.find(
            lambda question: mean_release([measure(question) for _ in range(several)]), self.neighbors, space
        )
        return found, (centers, search), releases

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
            most, noise = self.most_chosen if self.chooses else 0, self.search_noise
            return start_at_peaks(self.count, most, noise, self.shape, base, rows, space, rng, measure), releases
        if self.search_steps:
            # Every column counts by its standard deviation
            scales = np.sqrt(np.diag(base.covariances[0]))
            search = LloydSearch(self.count, self.search_steps, self.search_noise, scales)
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

        More components than the budget was shared for, as a histogram may have chosen, suit fewer steps: each then asks
        its question several times. Clusters that are apart need no more of EM after half of the steps: each question
        is then asked twice as often as the one before.

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
        numbers = [1] * steps
        if start.count > self.count and steps == self.default_steps():  # fewer steps, of several releases each
            wanted = min(replace(self, count=start.count).default_steps(), steps)
            numbers = [steps // wanted + (step < steps % wanted) for step in range(wanted)]
            steps = wanted
        share = math.fsum(numbers) / steps * self.step_share
        sizes = iter(numbers)

        def measure(question: Question) -> Release:
            asked = [next(measures)(question) for _ in range(next(sizes))]
            releases.extend(asked)
            return mean_release(asked)

        moves, done, several = {round(part * steps) for part in MOVES}, 0, 1
        while done < steps:
            several = 2 * several if done >= round(LARGER * steps) and pool.is_apart else 1
            if several > 1 and steps - done < 2 * several:  # the rest would be a smaller one
                several = steps - done
            mixture = self.mixture(base, rows, start.count, several * share, steps)
            question = mixture.query(pool, space)
            release, done = mean_release([measure(question) for _ in range(several)]), done + several
            pool = replace(mixture, steps=0 if done == steps else steps).maximize(pool, release)
            if done in moves and done < steps:
                pool = move_spare(pool, self.shape, rng)
        return (pool.widened if pool.is_apart else pool).components, releases

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
        clipping, first = self.clipping_with(rows, count, share), 2.0 * self.difficulty_with(rows) / self.first
        noise = (count / rows) ** 2 / (share * self.budget)
        weights = mixture_weights(clipping, self.shape, self.neighbors, count, noise, first)
        return AdaptiveMixture(count, base, clipping, self.shape, weights, steps)
