"""From a release of log-likelihoods to the mean under each model, with its noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.queries.models.log_likelihood import LogLikelihood

__all__ = ["mean_scores", "scored_rows"]

Array = NDArray[np.float64]


def mean_scores(query: LogLikelihood, release: Release) -> tuple[Array, Array]:
    """Return the mean log-density under each model, and its standard deviation, of the noise alone."""
    rows = scored_rows(query, release)
    half = np.array([(high - low) / 2.0 for low, high in query.ends])
    middle = np.array([(high + low) / 2.0 for low, high in query.ends])
    assert release.law is not None
    means = release["scores"] / rows
    variance = np.full(means.shape, release.law.variance / release.parts["scores"].weight ** 2)
    if query.counted:  # the count has noise as well, and the mean is divided by it
        variance += means**2 * (release.law.variance / release.parts["count"].weight ** 2)
    return middle + half * means, half * np.sqrt(variance) / rows


def scored_rows(query: LogLikelihood, release: Release) -> float:
    """Return the number of rows: as released, or else public."""
    counted = float(release["count"][0]) if query.counted else float(release.size.units or 0)
    return max(counted, 1.0)
