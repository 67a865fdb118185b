"""Where K components start: spread over one private Gaussian, without a further look at the rows.

The centres are those of k-means on draws from that Gaussian, computed in coordinates between its own and whitened ones:
wide directions get more centres than narrow ones, but not all of them.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.vq import kmeans2

from discreet.queries.moments.components import Components

__all__ = ["spread_over"]

ANISOTROPY = 0.5  # 0: whitened coordinates, 1: the Gaussian's own
TRIES = 3
FEW = 50  # components for which it pays to look for a good spread; many cover the Gaussian anyway


def spread_over(gaussian: Components, count: int, rng: np.random.Generator) -> Components:
    """Return ``count`` equal components spread over a Gaussian.

    >>> one = Components(np.ones(1), np.zeros((1, 2)), np.diag([1.0, 0.01])[None])
    >>> two = spread_over(one, 2, np.random.default_rng(0))
    >>> bool(abs(two.means[0, 0] - two.means[1, 0]) > 1.0), two.covariances.shape
    (True, (2, 2, 2))
    """
    values, vectors = np.linalg.eigh(gaussian.covariances[0])
    stretch = (values / values[-1]) ** (ANISOTROPY / 2.0)
    draws = rng.standard_normal((max(2000, min(50, 20_000 // count + 5) * count), len(values))) * stretch
    few = count <= FEW
    tries = [
        kmeans2(draws, count, iter=30 if few else 5, minit="++" if few else "points", missing="warn", rng=rng)
        for _ in range(TRIES if few else 1)
    ]
    centres, _ = min(tries, key=lambda found: float(((draws - found[0][found[1]]) ** 2).sum()))
    narrower = max(0.6, 1.0 - 4.0 / len(values))  # the means take up less of the spread where there is more of it
    means = gaussian.means[0] + (centres / stretch * np.sqrt(values)) @ vectors.T
    return Components(np.full(count, 1.0 / count), means, np.repeat(narrower * gaussian.covariances, count, axis=0))
