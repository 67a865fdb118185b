"""Tails of sums of Laplace noise and a normal variable: noise, and the error of a sample of many rows, together.

Let L have the Laplace distribution of scale b, and Z be normal with standard deviation s. By completing the square,

    P(L + Z > x) = Φ(−x/s) + ½·e^(s²/(2b²))·[e^(−x/b)·Φ(x/s − s/b) − e^(x/b)·Φ(−x/s − s/b)].

For several scales b_i the characteristic function Π 1/(1 + b_i²t²) is Σ A_i/(1 + b_i²t²) by partial fractions, with
A_i the product over j ≠ i of b_i²/(b_i² − b_j²). So the tail is Σ A_i times that of L_i + Z. Scales that are equal are
taken a little apart, upwards. Scales that hardly matter beside the rest, and those beyond the five largest, are normal
to a good approximation, and are added to s².
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

from discreet.noise import NoiseDistribution

Array = NDArray[np.float64]

NEGLIGIBLE = 0.02  # a scale relative to the standard deviation of the whole sum below which it counts as normal
MOST_SCALES = 5
APART = 1.005  # the least ratio of two scales


def laplace_normal_tail(scales: Sequence[float], normal: ArrayLike, beyond: ArrayLike) -> Array:
    """Return P(|Σ b_i·L_i + s·Z| > x) for standard Laplace L_i and standard normal Z, elementwise in s and x.

    Parameters
    ----------
    scales : sequence of float
        b_i, positive; there may be none.
    normal : array_like
        s, at least 0.
    beyond : array_like
        x, at least 0.

    Examples
    --------
    >>> round(float(laplace_normal_tail([], 1.0, 1.96)), 3), round(float(laplace_normal_tail([1.0], 0.0, 3.0)), 4)
    (0.05, 0.0498)
    >>> round(float(laplace_normal_tail([1.0, 1.0], 2.0, 5.0)), 3)
    0.077
    """
    given = sorted(abs(float(scale)) for scale in scales)
    spread, x = np.broadcast_arrays(np.asarray(normal, dtype=np.float64), np.asarray(beyond, dtype=np.float64))
    whole = math.sqrt(2.0 * sum(b * b for b in given) + float(np.min(spread, initial=math.inf)) ** 2)
    small = max(sum(b <= NEGLIGIBLE * whole for b in given), len(given) - MOST_SCALES)
    added = 2.0 * sum(b * b for b in given[:small])
    kept: list[float] = []
    for one in given[small:]:
        kept.append(max(one, APART * kept[-1]) if kept else one)
    s = np.sqrt(spread * spread + added)
    if not kept:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(s > 0.0, 2.0 * ndtr(-x / np.where(s > 0.0, s, 1.0)), 0.0)
    total = np.zeros(x.shape)
    for one in kept:
        share = math.prod(one * one / (one * one - other * other) for other in kept if other != one)
        total = total + share * _one_sided(one, s, x)
    return np.clip(2.0 * total, 0.0, 1.0)


def _one_sided(b: float, s: Array, x: Array) -> Array:
    """Return P(L + Z > x) of the module; elementwise."""
    safe = np.maximum(s, 1e-9 * b)  # below that Z does not matter
    half = 0.5 * (safe / b) ** 2
    down = np.exp(half - x / b + log_ndtr(x / safe - safe / b))
    up = np.exp(half + x / b + log_ndtr(-x / safe - safe / b))
    return np.asarray(ndtr(-x / safe) + 0.5 * (down - up))


def noise_normal_tail(
    noise: NoiseDistribution, coefficients: Sequence[float], normal: ArrayLike, beyond: ArrayLike
) -> Array:
    """Return P(|Σ c_i·z_i + s·Z| > x) for independent draws z_i of Gaussian or Laplace noise, and a normal Z.

    Elementwise in s and x.

    Examples
    --------
    >>> from discreet.noise import GaussianNoise
    >>> round(float(noise_normal_tail(GaussianNoise(3.0), [1.0], 4.0, 9.8)), 3)
    0.05
    """
    scales = [abs(float(one)) * noise.scale for one in coefficients]
    if not noise.normal:
        return laplace_normal_tail([one for one in scales if one > 0.0], normal, beyond)
    return laplace_normal_tail([], np.hypot(normal, math.hypot(*scales)), beyond)
