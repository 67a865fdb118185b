"""Posteriors of the first principal direction, from draws of a mechanism (Williams and McSherry 2010, section 4.2).

Rows are N(0, θθᵀ + σ²I). Candidates are directions z. The score of a row is its log-likelihood at θ = length·z, minus
its average over all directions and without terms that do not depend on z,

    log φ(z, x) = g·((z·x)² − ‖x‖²/d),   g = length²/(2σ²(σ² + length²)),

clamped. θ and −θ give the same rows, so a posterior is over axes: in the plane, angles in [0, π).

In the plane the rows are integrated over cells of half a ring, as x and −x score alike. A cell's probability is exact
along the radius: at the angle φ, with h(φ) = uᵀ(θθᵀ + σ²I)⁻¹u, it is ∝ (e^(−a²h/2) − e^(−b²h/2))/h between radii a and
b; the last cell is everything beyond the declared ball, which is clipped to its edge. In more dimensions fixed points
from N(0, s²I) are weighted instead, which is accurate up to about five dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import Normal

from discreet.arguments import integer, positive
from discreet.inference.factored.factored_posterior import (
    GridPosterior,
    SampledPosterior,
    factored_likelihood,
    grid_posterior,
    sampled_posterior,
)
from discreet.mechanisms import FactoredChoice, FactoredExponential

__all__ = ["AxisPosterior", "axis_posterior", "direction_mechanism", "sampled_axis_posterior"]

Array = NDArray[np.float64]

ANGLES, RINGS = 32, 12  # of the cells over which rows are integrated


def direction_mechanism(
    directions: int | Array, *, length: float, sigma: float, low: float = -1.0, high: float = 1.0
) -> FactoredExponential:
    """Return the mechanism that chooses a direction.

    Parameters
    ----------
    directions : int or array of shape (candidates, d)
        Unit vectors; or their number, evenly spaced over half the plane.
    length, sigma : float
        Public guesses of ‖θ‖ and σ for the score. The posterior may use other values.
    low, high : float
        Scores are clamped to this interval.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Ball
    >>> rows = np.random.default_rng(0).normal(size=(3000, 2)) * [2.0, 0.5]
    >>> mechanism = direction_mechanism(8, length=2.0, sigma=0.5)
    >>> drawn = mechanism.draw(rows, bounds=Ball(8.0, center=[0.0, 0.0]), epsilon=1.0)
    >>> drawn.value.tolist()
    [1.0, 0.0]
    """
    if isinstance(directions, np.ndarray):
        z = np.asarray(directions, dtype=np.float64)
        if z.ndim != 2 or not np.allclose(np.linalg.norm(z, axis=1), 1.0):
            raise ValueError(
                f"directions of shape {z.shape}: expected unit vectors as rows; write z / norm(z, axis=1)[:, None]"
            )
    else:
        angles = np.pi * np.arange(integer("directions", directions, least=2)) / directions
        z = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    signal, noise = positive("length", length) ** 2, positive("sigma", sigma) ** 2
    gain = signal / (2.0 * noise * (noise + signal))

    def score(rows: Array, candidates: Array) -> Array:
        along = rows @ candidates.T
        return np.asarray(gain * (along**2 - (rows**2).mean(axis=1, keepdims=True)))

    return FactoredExponential(score, z, low, high)


@dataclass(frozen=True, eq=False)
class AxisPosterior(GridPosterior):
    """A posterior over θ in the plane, in which θ and −θ are the same.

    Parameters
    ----------
    theta : array of shape (points, 2)
        One of each pair: angles in [0, π).
    weights : array of shape (points,)
    """

    @property
    def angles(self) -> Array:
        """The angle of each point, in [0, π)."""
        return np.asarray(np.arctan2(self.theta[:, 1], self.theta[:, 0]) % np.pi)

    @property
    def lengths(self) -> Array:
        """The length of each point."""
        return np.asarray(np.linalg.norm(self.theta, axis=1))

    @property
    def axis(self) -> float:
        """The mean axis, as an angle in [0, π): half the mean direction of twice the angle."""
        return float(np.angle(self._resultant) / 2.0 % np.pi)

    @property
    def concentration(self) -> float:
        """The concentration of the axis: 0 for a uniform distribution, 1 for a single axis."""
        return float(abs(self._resultant))

    @property
    def _resultant(self) -> Any:
        """The mean of exp(2i·angle): its argument is twice the mean axis, its modulus the concentration."""
        return self.weights @ np.exp(2j * self.angles)

    def within(self, level: float = 0.9) -> float:
        """Return the radius, in radians, of the interval of probability ``level`` around the mean axis; at most π/2."""
        off = np.abs((self.angles - self.axis + np.pi / 2.0) % np.pi - np.pi / 2.0)
        return float(GridPosterior(off, self.weights).quantile(level))

    def sample(self, count: int, seed: int = 0) -> Array:
        """Return draws of θ, with random signs."""
        signs = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], (count, 1))
        return signs * super().sample(count, seed)


def axis_posterior(
    choices: FactoredChoice | Sequence[FactoredChoice],
    *,
    sigma: float,
    scale: float,
    radius: float,
    rows: int | None = None,
    likelihood: str = "normal",
    angles: int = 64,
    lengths: int = 12,
) -> AxisPosterior:
    """Return the posterior over θ in the plane, on a grid of angles and lengths.

    Parameters
    ----------
    choices : FactoredChoice or sequence of them
        Draws of ``direction_mechanism`` in the plane.
    sigma : float
    scale : float
        The prior: θ ~ N(0, scale²·I).
    radius : float
        The radius of the declared ball around 0.
    rows, likelihood
        As in ``factored_likelihood``.
    angles, lengths : int
        The size of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Ball
    >>> rows = np.random.default_rng(0).normal(size=(3000, 2)) * [2.0, 0.5]
    >>> drawn = direction_mechanism(32, length=2.0, sigma=0.5).draw(rows, bounds=Ball(8.0, center=[0, 0]), epsilon=1.0)
    >>> result = axis_posterior(drawn, sigma=0.5, scale=2.0, radius=8.0, angles=32, lengths=2)
    >>> bool(np.cos(2 * result.axis) > 0.8), bool(result.concentration > 0.9)
    (True, True)
    """
    noise, edge = positive("sigma", sigma) ** 2, positive("radius", radius)
    points, inner, outer = _cells(edge)
    units = points / np.linalg.norm(points, axis=1, keepdims=True)

    def log_weights(theta: Array) -> Array:
        along = (theta @ units.T) ** 2
        h = (1.0 - along / (noise + (theta**2).sum(axis=-1))[..., None]) / noise
        with np.errstate(divide="ignore"):
            mass = np.log(-np.expm1(-h * (outer**2 - inner**2) / 2.0))
        return np.asarray(mass - h * inner**2 / 2.0 - np.log(h))

    # Cells of equal prior probability in length: quantiles of the Rayleigh distribution, so that weights start equal.
    shares = (np.arange(integer("lengths", lengths, least=1)) + 0.5) / lengths
    length = positive("scale", scale) * np.sqrt(-2.0 * np.log1p(-shares))
    angle = np.pi * np.arange(integer("angles", angles, least=2)) / angles
    each, at = (one.ravel() for one in np.meshgrid(length, angle))
    theta = each[:, None] * np.stack([np.cos(at), np.sin(at)], axis=1)
    f = factored_likelihood(choices, points, log_weights, rows=rows, likelihood=likelihood)
    result = grid_posterior(f, theta)
    return AxisPosterior(result.theta, result.weights)


def _cells(radius: float) -> tuple[Array, Array, Array]:
    """Return a point for each cell of the plane, and the inner and outer radius of the cell; the last is unbounded."""
    edges = radius * np.linspace(0.0, 1.0, RINGS) ** 1.5  # narrower near 0, where the density of rows is large
    middles = np.append(np.sqrt((edges[:-1] ** 2 + edges[1:] ** 2) / 2.0), radius)
    outer = np.append(edges[1:], math.inf)
    angle = np.pi * (np.arange(ANGLES) + 0.5) / ANGLES
    r, at = (one.ravel() for one in np.meshgrid(middles, angle))
    return np.stack([r * np.cos(at), r * np.sin(at)], axis=1), np.tile(edges, ANGLES), np.tile(outer, ANGLES)


def sampled_axis_posterior(
    choices: Sequence[FactoredChoice],
    *,
    sigma: float,
    scale: float,
    dimension: int,
    rows: int | None = None,
    likelihood: str = "lower",
    points: int = 2000,
    seed: int = 0,
    draws: int = 1000,
    warmup: int = 500,
) -> SampledPosterior:
    """Return draws of θ in any number of dimensions, by NUTS; signs are chosen to point along the first choice.

    Parameters
    ----------
    choices, sigma, scale, rows, likelihood
        As in ``axis_posterior``; the paper uses the lower bound, which is by far the fastest with many points.
    dimension : int
    points : int
        The number of points that approximate the integral over rows; drawn from N(0, (σ² + scale²)I) with the seed.
    seed, draws, warmup : int
    """
    d = integer("dimension", dimension, least=1)
    noise, wide = positive("sigma", sigma) ** 2, positive("scale", scale)
    spread = noise + wide**2
    half = np.random.default_rng(seed).standard_normal((integer("points", points, least=2) // 2, d))
    x = math.sqrt(spread) * np.concatenate([half, -half])
    sizes = (x**2).sum(axis=1)

    def log_weights(theta: Any) -> Any:
        signal = jnp.sum(theta**2, axis=-1)[..., None]
        along = (theta @ x.T) ** 2 / (noise * (noise + signal))
        return 0.5 * (along - sizes / noise + sizes / spread)

    f = factored_likelihood(choices, x, log_weights, rows=rows, likelihood=likelihood)
    result = sampled_posterior(
        f, lambda: Normal(0.0, wide).expand((d,)).to_event(1), draws=draws, warmup=warmup, chains=1, seed=seed
    )
    signs = np.where(result.theta @ np.asarray(choices[0].value) < 0.0, -1.0, 1.0)
    return SampledPosterior(result.theta * signs[..., None], result.divergences)
