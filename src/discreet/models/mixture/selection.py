"""The number of components by private selection: fit each candidate, score all of them in one release, take the best.

The candidates share the budget equally but for a tenth, which pays for the scores: clipped mean log-likelihoods, one
Gaussian release for all (``mean_scores``). Between scores that its noise cannot tell apart the smaller model is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from discreet.door import PublicSize, Release
from discreet.em import Step
from discreet.models.method import Method
from discreet.queries.models.log_likelihood import LogLikelihood
from discreet.queries.moments.clipped_moments import Components
from discreet.records import Ball, Box

__all__ = ["SCORING", "SelectedModel", "mean_scores", "scored_rows"]

Array = NDArray[np.float64]


def mean_scores(query: LogLikelihood, release: Release) -> tuple[Array, Array]:
    """Return the mean log-density under each model, and its standard deviation, of the noise alone."""
    rows = scored_rows(query, release)
    half = np.array([(high - low) / 2.0 for low, high in query.ends])
    middle = np.array([(high + low) / 2.0 for low, high in query.ends])
    assert release.noise is not None
    means = release["scores"] / rows
    variance = np.full(means.shape, release.noise.variance / release.parts["scores"].weight ** 2)
    if query.counted:  # the count has noise as well, and the mean is divided by it
        variance += means**2 * (release.noise.variance / release.parts["count"].weight ** 2)
    return middle + half * means, half * np.sqrt(variance) / rows


def scored_rows(query: LogLikelihood, release: Release) -> float:
    """Return the number of rows: as released, or else public."""
    counted = float(release["count"][0]) if query.counted else float(release.size.units or 0)
    return max(counted, 1.0)


SCORING = 0.1


@dataclass(frozen=True)
class SelectedModel(Method[Components]):
    """The best of several methods.

    Parameters
    ----------
    candidates : tuple of Method
    size : PublicSize
        Of the data; rows are counted where it does not tell.
    """

    candidates: tuple[Method[Components], ...]
    size: PublicSize

    @property
    def shares(self) -> list[float]:
        """Each candidate's, one after the other, and then the scores'."""
        each = (1.0 - SCORING) / len(self.candidates)
        return [each * share for method in self.candidates for share in method.shares] + [SCORING]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return the chosen candidate's components and all releases."""
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
        enough = np.flatnonzero(scores >= scores.max() - 2.0 * noise)
        best = min(enough, key=lambda place: (fitted[place].count, -scores[place]))
        return fitted[best], releases
