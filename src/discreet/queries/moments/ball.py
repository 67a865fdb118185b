"""From noisy sums to valid numbers: what every mixture does with a release first.

Everything here is total: whatever finite numbers a release holds, counts come out positive, means inside the unit
ball and covariances positive definite.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["inside_ball"]

Array = NDArray[np.float64]


def inside_ball(points: Array, radius: float = 1.0) -> Array:
    """Return points moved radially into the ball around 0."""
    lengths = np.linalg.norm(points, axis=-1, keepdims=True)
    return np.asarray(points * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))
