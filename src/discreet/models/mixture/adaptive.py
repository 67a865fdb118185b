"""The adaptive method: one Gaussian first, then a mixture, and how the two share the budget.

Every choice is a function of public numbers: ε, δ, d, K, and the number of rows where it is public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from discreet.door import PublicSize, Release
from discreet.em import Step, expectation_maximization
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.method import Method, growing_shares
from discreet.models.mixture.adaptive_mixture import AdaptiveMixture
from discreet.models.mixture.joint import Prior
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import Clipping, Shape, mixture_weights
from discreet.models.noisy_sums import released_rows
from discreet.queries.moments.clipped_moments import Components
from discreet.records import Ball, Box

__all__ = ["Adaptive"]

GUESS = 10_000  # rows, where their number is not public; only accuracy depends on it
ROUNDS = 4  # of phase 1
WORTHWHILE = 0.25  # nats a column that the noise of one round may cost
MANY_COLUMNS = 500  # beyond, the rounds take long
DISTINCT = 0.05  # up to this error of its mean a component is well told apart
HOPELESS = 0.2  # above this error of its mean a component is noise


@dataclass(frozen=True)
class Adaptive(Method[Components]):
    """Phase 1 and phase 2, and how they share the budget.

    Parameters
    ----------
    count : int
        K.
    shape : Shape
    neighbors : Neighbors
    size : PublicSize
    budget : float
        μ² of the fit.
    steps : int
        Of phase 2; of phase 1 where there is no other.
    prior : Prior or None
    metric : tuple of float, optional
    spectral : bool
        See ``OneGaussian``.

    Attributes
    ----------
    rows : int
        Their number, or a guess where it is not public.
    mean_noise : float
        About the squared error of a component's mean in its own coordinates, from one release of all the budget.
    difficulty : float
        What the noise of one release of one Gaussian's covariance with all of the budget costs, in nats.
    is_single : bool
        Whether one Gaussian is all that can be had: asked for, or since a mixture would be noise.
    first : float
        The part of the budget that phase 1 has.
    """

    count: int
    shape: Shape
    neighbors: Neighbors
    size: PublicSize
    budget: float
    steps: int
    prior: Prior | None = None
    metric: tuple[float, ...] | None = None
    spectral: bool = False
    rows: int = field(init=False)
    mean_noise: float = field(init=False)
    difficulty: float = field(init=False)
    is_single: bool = field(init=False)
    first: float = field(init=False)

    @classmethod
    def for_data(
        cls,
        count: int,
        space: Box | Ball,
        guarantee: Guarantee,
        size: PublicSize,
        *,
        shape: str = "full",
        prior: Prior | None = None,
        steps: int | None = None,
        part: float = 1.0,
        spectral: bool = False,
    ) -> Adaptive:
        """Return the method for a guarantee, with a part of its squared budget."""
        d = space.dimension
        budget = part * normal_mu(guarantee.epsilon, guarantee.delta) ** 2
        metric = tuple(space.scale) if shape == "spherical" else None
        plan = cls(count, Shape(shape, d), guarantee.neighbors, size, budget, 1, prior, metric, spectral)
        return replace(plan, steps=steps or plan.default_steps())

    def __post_init__(self) -> None:
        d, rows = self.shape.dimension, max(self.size.units or GUESS, 1)
        mean_noise = 2.0 * self.count**2 / (self.budget * rows**2) * d * (d + 2.0) / 0.3
        difficulty = self.shape.energy() / 4.0 / self.budget * ((d + 2.0) / rows) ** 2
        single = self.count == 1 or mean_noise > HOPELESS
        first = 1.0 if single else min(max(1.5 * math.sqrt(difficulty), 0.1), 0.85)
        result = {"rows": rows, "mean_noise": mean_noise, "difficulty": difficulty, "is_single": single, "first": first}
        for name, value in result.items():
            object.__setattr__(self, name, value)

    @property
    def distinguishable(self) -> int:
        """How many components the budget can tell apart well, of those that were asked for."""
        return max(min(int(self.count * math.sqrt(DISTINCT / self.mean_noise)), self.count), 1)

    @property
    def is_worthwhile(self) -> bool:
        """Whether a single Gaussian is better found in some rounds than by one release of all the budget."""
        d = self.shape.dimension
        return d <= MANY_COLUMNS and self.difficulty <= WORTHWHILE * d

    def default_steps(self) -> int:
        """Return how many steps suit the budget: more where there is less noise."""
        return ROUNDS if self.is_single else int(min(max(math.ceil(2.2 * self.mean_noise**-0.26), 3), 40))

    @property
    def shares(self) -> list[float]:
        """Growing shares in phase 1, equal shares in phase 2."""
        if self.is_single:
            return growing_shares(self.first, self.steps)
        return growing_shares(self.first, ROUNDS) + [(1.0 - self.first) / self.steps] * self.steps

    @property
    def clipping(self) -> Clipping:
        """How phase 1 clips, in its own coordinates."""
        return Clipping.at_quantile(self.shape.dimension, _level(2.0 * self.difficulty / self.first, 0.25))

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Find one Gaussian, spread the components over it, and improve them."""
        counted, rounds = self.size.rows is None, self.steps if self.is_single else ROUNDS
        one = OneGaussian(self.shape, self.clipping, self.neighbors, counted, self.metric, self.spectral)
        start = one.initialize(space.dimension, rng)
        base, releases = expectation_maximization(one, start, space, islice(measures, rounds))
        rows = released_rows(releases[-1])
        if self.is_single:
            parts = (np.full(1, 1.0 / self.count), base.means, base.covariances)
            result = Components(*(np.repeat(part, self.count, axis=0) for part in parts))
        else:
            model = self.mixture(base, rows)
            pool, more = expectation_maximization(model, model.initialize(space.dimension, rng), space, measures)
            result, releases = pool.components, releases + more
        if self.prior is not None:
            result = self.prior.mode(rows * result.weights, result.means, result.covariances)
        return result, releases

    def mixture(self, base: Components, rows: float) -> AdaptiveMixture:
        """Return phase 2's model, for about so many rows."""
        d, second = self.shape.dimension, (1.0 - self.first) / self.steps
        cost = self.difficulty * (self.rows / rows) ** 2
        clipping = Clipping.at_quantile(d, _level(cost * self.count**2 / second, 0.3))
        noise = (self.count / rows) ** 2 / (second * self.budget)
        weights = mixture_weights(clipping, self.shape, self.neighbors, self.count, noise, 2.0 * cost / self.first)
        return AdaptiveMixture(self.count, base, clipping, self.shape, weights, self.steps)


def _level(cost: float, most: float) -> float:
    """Return how much of a Gaussian to leave unclipped: less where noise costs more."""
    return 1.0 - min(max(math.sqrt(cost), 0.01), most)
