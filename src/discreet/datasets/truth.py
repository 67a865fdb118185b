"""The distributions of generated rows, as values with which a test or a benchmark can compare."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GENERATED", "Plane", "TrueMixture"]

GENERATED = "synthetic; no rights reserved"  # the licence of generated rows


class Plane(NamedTuple):
    """A hyperplane through the origin: label 1 is more likely where ``X @ coef`` is above 0.

    ``coef`` has shape (n_features,).
    """

    coef: NDArray[np.float64]


class TrueMixture(NamedTuple):
    """A mixture of Gaussians; component k is the distribution of the rows with label k.

    ``weights`` has shape (K,), ``means`` (K, n_features), ``covariances`` (K, n_features, n_features).
    """

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]
