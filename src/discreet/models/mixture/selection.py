"""``SelectedModel``: private selection between models, such as mixtures with different numbers of components.

Each candidate is fitted, and all are scored in one release. A tenth of the budget pays for the scores, clipped mean
log-likelihoods (``mean_scores``); the candidates share the rest equally. Among the models whose score differs from
the best by at most two standard deviations of the noise of both, the one with the fewest components is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from discreet.door import PublicSize, Release
from discreet.em import Step
from discreet.models.method import Method
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.queries.models.log_likelihood import LogLikelihood
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["SCORING", "SelectedModel", "mean_scores", "scored_rows"]

Array = NDArray[np.float64]


def mean_scores(query: LogLikelihood, release: Release) -> tuple[Array, Array]:
    """Return the mean log-density under each model, and the standard deviation of its noise."""
    rows = scored_rows(query, release)
    half = np.array([(high - low) / 2.0 for low, high in query.ends])
    middle = np.array([(high + low) / 2.0 for low, high in query.ends])
    assert release.noise is not None
    means = release["scores"] / rows
    variance = np.full(means.shape, release.noise.variance / release.parts["scores"].weight ** 2)
    if query.counted:  # the mean is divided by a noisy count
        variance += means**2 * (release.noise.variance / release.parts["count"].weight ** 2)
    return middle + half * means, half * np.sqrt(variance) / rows


def scored_rows(query: LogLikelihood, release: Release) -> float:
    """Return the number of rows: the released one, or else the public one."""
    counted = float(release["count"][0]) if query.counted else float(release.size.units or 0)
    return max(counted, 1.0)


SCORING = 0.1  # share of the budget of the scores


@dataclass(frozen=True)
class SelectedModel(Method[Components]):
    """Private choice of the best of several methods.

    Parameters
    ----------
    candidates : tuple of Method
    size : PublicSize
        What is public about the number of rows; they are counted where it is not public.
    """

    candidates: tuple[Method[Components], ...]
    size: PublicSize

    @property
    def earlier(self) -> SelectedModel | None:
        """The choice among the methods as an earlier version planned them.

        All histograms came with one version, so they go back together; else those with most earlier ones come first.
        """
        ages = [_count_earlier(method) for method in self.candidates]
        if max(ages) == 0:
            return None
        drawn = [isinstance(method, Adaptive) and method.has_histogram for method in self.candidates]
        first = drawn if any(drawn) else [age == max(ages) for age in ages]
        back = (method.earlier if now else None for method, now in zip(self.candidates, first, strict=True))
        return replace(self, candidates=tuple(new or old for new, old in zip(back, self.candidates, strict=True)))

    @property
    def shares(self) -> list[float]:
        """The shares of each candidate, one after the other, and then that of the scores."""
        each = (1.0 - SCORING) / len(self.candidates)
        return [each * share for method in self.candidates for share in method.shares] + [SCORING]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return the components of the chosen candidate, and all releases."""
        fitted: list[Components] = []
        releases: list[Release] = []
        for method in self.candidates:
            components, its = method.run(space, rng, islice(measures, len(method.shares)))
            fitted.append(components)
            releases += its
        own = [components.rescale(np.asarray(space.center), np.asarray(space.scale)) for components in fitted]
        query = LogLikelihood(own, space, counted=not self.size.complete)
        release = next(measures)(query)
        releases.append(release)
        scores, noise = mean_scores(query, release)
        top = int(np.argmax(scores))
        enough = np.flatnonzero(scores >= scores[top] - 2.0 * np.hypot(noise, noise[top]))
        best = min(enough, key=lambda place: (fitted[place].count, -scores[place]))
        return fitted[best], releases


def _count_earlier(method: Method[Components]) -> int:
    """Return how many earlier versions of a method there are."""
    return 0 if method.earlier is None else 1 + _count_earlier(method.earlier)
