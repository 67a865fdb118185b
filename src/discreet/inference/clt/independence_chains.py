"""Sample a posterior that is nearly normal: chains that propose from a t distribution around the mode.

Most posteriors from releases are nearly normal in whitened coordinates, and NUTS, which takes long to compile and to
run, is not needed there. So first

1. the mode is found by Newton's method, with a Hessian from differences of gradients;
2. points are drawn from a t distribution q with that mode and Hessian, and have the weights p/q. Where q does not cover
   the posterior p, q takes the weighted moments of the points, up to ``ROUNDS`` times;
3. chains propose these points one after the other and accept them with probability min(1, w/w′), where w and w′ are the
   weights of the proposed point and of the current one (independence Metropolis; Tierney 1994). So the draws have equal
   weights, and R-hat and the effective sample size say the same as for any other chain.

The chains are right for any q, but only useful where q covers the posterior. Whether it does is checked by the weights
of the proposals: the shape k̂ of a generalised Pareto distribution that is fitted to the largest ones (Vehtari, Simpson,
Gelman, Yao and Gabry 2024), which is below ``MAX_PARETO_K`` where their variance is finite, and the effective share of
all of them, at least ``MIN_SHARE``. Where either fails, NUTS starts from the mode.

A q around one mode does not see another one far away. Neither do chains of NUTS that start near the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from tqdm.auto import tqdm

from discreet.inference.clt.likelihood import LogTarget
from discreet.inference.rows.row_model import RowModel

Array = NDArray[np.float64]

BATCH = 32  # points that are evaluated together
MAX_NEWTON, NEAR_MODE = 10, 0.01  # steps, and the squared length of the last one in standard deviations
STEP = 1e-3  # of differences, in whitened coordinates
HALVES = 0.5 ** np.arange(8)  # of a step, of which the best is taken
MIN_CURVATURE = 0.01  # of a whitened coordinate, in which it is about 1
MIN_POINTS, ROUNDS = 1000, 4
MIN_FREEDOM = 5.0  # degrees of freedom of q; as many as there are coordinates, where these are more
MAX_PARETO_K, MIN_SHARE = 0.5, 0.25
HOPELESS = 0.02  # effective share of points, below which no weighted moments help
UNTHINNED = 0.6  # effective share of points, from which on each draw is one proposal


@dataclass(frozen=True, eq=False)
class Proposal:
    """A multivariate t distribution: its mode, its scale matrix, and its degrees of freedom."""

    mode: Array
    scale: Array
    freedom: float

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return points, and the log-density of each up to a constant."""
        size = self.mode.size
        z = rng.standard_normal((count, size))
        z = z * np.sqrt(self.freedom / rng.chisquare(self.freedom, (count, 1)))
        log_density = -0.5 * (self.freedom + size) * np.log1p((z**2).sum(axis=1) / self.freedom)
        return self.mode + z @ np.linalg.cholesky(self.scale).T, log_density

    def match(self, points: Array, weights: Array) -> Proposal:
        """Return the distribution with weighted moments, as far as there are effective points to know them from."""
        count, size = 1.0 / float((weights**2).sum()), self.mode.size
        center = weights @ points
        away = points - center
        scale = _mix(self.scale, (away * weights[:, None]).T @ away, count / (count + size**2))
        return Proposal(_mix(self.mode, center, count / (count + size)), (scale + scale.T) / 2.0, self.freedom)


def _mix(old: Array, new: Array, trust: float) -> Array:
    return (1.0 - trust) * old + trust * new


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Points of a proposal with their importance weights.

    Attributes
    ----------
    points : array of shape (count, size)
    log_weights : array of shape (count,)
        ln(p/q), up to a constant.
    """

    points: Array
    log_weights: Array

    @cached_property
    def weights(self) -> Array:
        """The weights, with a sum of 1; the largest are truncated at √count times their mean (Ionides 2008)."""
        result = self._relative
        result = np.minimum(result, result.mean() * math.sqrt(len(result)))
        return np.asarray(result / max(float(result.sum()), 1e-300))

    @cached_property
    def pareto_k(self) -> float:
        """k̂, the shape of the largest weights."""
        return estimate_pareto_k(self._relative)

    @property
    def _relative(self) -> Array:
        """The weights relative to the largest one; 0 where the density is 0 at all points."""
        top = self.log_weights.max()
        return np.exp(self.log_weights - top) if np.isfinite(top) else np.zeros_like(self.log_weights)

    @property
    def share(self) -> float:
        """The effective share of the points (Kish)."""
        squares = float((self.weights**2).sum())
        return 1.0 / squares / len(self.weights) if squares else 0.0

    def extend(self, others: Sequence[WeightedPoints]) -> WeightedPoints:
        """Return these points and others of the same proposal."""
        every = [self, *others]
        return WeightedPoints(
            np.concatenate([one.points for one in every]), np.concatenate([one.log_weights for one in every])
        )

    @property
    def cover(self) -> bool:
        """Whether the proposal covers the posterior."""
        return self.pareto_k < MAX_PARETO_K and self.share >= MIN_SHARE


def estimate_pareto_k(weights: Array) -> float:
    """Return k̂: the shape of a generalised Pareto distribution fitted to the largest of some importance weights.

    The largest are min(S/5, 3√S) of S. Their shape is the posterior mean of Zhang and Stephens (2009), drawn towards ½
    as by ten more weights (Vehtari et al. 2024, appendix C).

    >>> rng = np.random.default_rng(0)
    >>> [round(estimate_pareto_k(rng.uniform(size=4000) ** -k), 1) for k in (0.3, 0.8)]
    [0.3, 0.8]
    """
    ordered = np.sort(weights)
    count = int(min(0.2 * len(ordered), 3.0 * math.sqrt(len(ordered))))
    above = ordered[-count:] - ordered[-count - 1]
    if not above[0] > 0.0:  # equal weights: there is no tail
        return -math.inf if above[-1] <= 0.0 else math.inf
    grid = 30 + int(math.sqrt(count))
    b = (1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))) / (3.0 * above[int(count / 4 + 0.5) - 1]) + 1.0 / above[
        -1
    ]
    shapes = np.log1p(-b[:, None] * above).mean(axis=1)
    likelihoods = softmax(count * (np.log(-b / shapes) - shapes - 1.0))
    shape = float(np.log1p(-(likelihoods @ b) * above).mean())
    return (count * shape + 5.0) / (count + 10.0)


class NearMode:
    """The posterior around its mode.

    Parameters
    ----------
    model : RowModel
    target : LogTarget
    rng : Generator
    progress : bool
        Whether to show a bar while points are evaluated.

    Attributes
    ----------
    proposal : Proposal
        A t distribution that is near the posterior, if the latter is nearly normal.
    """

    def __init__(self, model: RowModel, target: LogTarget, rng: np.random.Generator, *, progress: bool) -> None:
        self._rng, self._data, self._progress = rng, jax.tree.map(jnp.asarray, target.data), progress
        key = ("gradient", target.density)
        compiled = model.compiled.get(key) or jax.jit(jax.vmap(jax.value_and_grad(target.density, 1), (None, 0)))
        self._compiled = model.compiled.setdefault(key, compiled) if target.is_shared else compiled
        mode, precision = self._find_mode(np.zeros(target.size))
        self.proposal = Proposal(
            mode, np.asarray(np.linalg.inv(precision), dtype=np.float64), max(MIN_FREEDOM, target.size)
        )

    def propose(self, count: int) -> WeightedPoints:
        """Return at least so many points of the first proposal that covers the posterior, or of the last one.

        Where many of the points would be refused there are more of them, for chains that are thinned.
        """
        for _ in range(ROUNDS):
            proposed = self._weigh(max(count, MIN_POINTS))
            if proposed.cover:
                more = [self._weigh(count) for _ in range(math.ceil(UNTHINNED / proposed.share) - 1)]
                return proposed.extend(more)
            if proposed.share < HOPELESS:
                break
            self.proposal = self.proposal.match(proposed.points, proposed.weights)
        return proposed

    def _evaluate(self, u: Array) -> tuple[Array, Array]:
        """Return the log-density at each of some points, and its gradients."""
        padded = np.concatenate([u, np.zeros((-len(u) % BATCH, u.shape[1]))])
        hidden = not self._progress or len(u) < MIN_POINTS
        batches = tqdm(range(0, len(padded), BATCH), desc="posterior", unit="batch", disable=hidden)
        parts = [self._compiled(self._data, padded[i : i + BATCH]) for i in batches]
        values, gradients = (np.concatenate(part)[: len(u)] for part in zip(*parts, strict=True))
        return np.where(np.isfinite(values), values, -np.inf), np.nan_to_num(gradients)

    def _find_mode(self, u: Array) -> tuple[Array, Array]:
        """Return the mode, and minus the Hessian there, made positive definite."""
        moves = STEP * np.eye(u.size)
        for _ in range(MAX_NEWTON):
            _, gradients = self._evaluate(np.concatenate([u[None], u + moves, u - moves]))
            gradient, ahead, behind = gradients[0], gradients[1 : u.size + 1], gradients[u.size + 1 :]
            hessian = (behind - ahead) / (2.0 * STEP)
            values, vectors = np.linalg.eigh((hessian + hessian.T) / 2.0)
            values = np.maximum(np.abs(values), MIN_CURVATURE)
            move = vectors @ ((vectors.T @ gradient) / values)
            if gradient @ move < NEAR_MODE:
                break
            tried = u + move * np.minimum(1.0, math.sqrt(u.size) / np.linalg.norm(move)) * HALVES[:, None]
            u = tried[int(np.argmax(self._evaluate(tried)[0]))]
        return u, (vectors * values) @ vectors.T

    def _weigh(self, count: int) -> WeightedPoints:
        """Return so many points of the proposal, with their weights."""
        points, log_density = self.proposal.draw(count, self._rng)
        return WeightedPoints(points, self._evaluate(points)[0] - log_density)

    def run(self, proposed: WeightedPoints, chains: int, draws: int) -> Array:
        """Return chains that accept or refuse the proposed points in turn, shape (chains, draws, size)."""
        log_weights = proposed.log_weights
        thinned = len(log_weights) // (chains * draws)
        places = np.arange(thinned * chains * draws).reshape(-1, chains)  # each point is proposed once
        chances = np.log(self._rng.random(places.shape))
        current = self._rng.choice(len(log_weights), chains, p=proposed.weights)
        result = np.empty_like(places)
        for i, (place, chance) in enumerate(zip(places, chances, strict=True)):
            result[i] = current = np.where(chance < log_weights[place] - log_weights[current], place, current)
        return np.asarray(proposed.points[result[thinned - 1 :: thinned].T])
