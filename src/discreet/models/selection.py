"""The number of components by private selection: fit each candidate, score all of them in one release, take the best.

The candidates share the budget equally but for a tenth, which pays for the scores: clipped mean log-likelihoods, one
Gaussian release for all (``score``). Between scores that its noise cannot tell apart the smaller model is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from discreet.door import PublicSize, Release
from discreet.em import Step
from discreet.models.method import Method
from discreet.models.score import mean_scores
from discreet.queries.models.log_likelihood import LogLikelihood
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["SCORING", "Selected"]

SCORING = 0.1


@dataclass(frozen=True)
class Selected(Method[Components]):
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
        own = [components.moved(np.asarray(space.center), np.asarray(space.scale)) for components in fitted]
        query = LogLikelihood(own, space, counted=not self.size.complete)
        release = next(measures)(query)
        releases.append(release)
        scores, noise = mean_scores(query, release)
        enough = np.flatnonzero(scores >= scores.max() - 2.0 * noise)
        best = min(enough, key=lambda place: (fitted[place].count, -scores[place]))
        return fitted[best], releases
