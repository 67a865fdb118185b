"""Fits a mixture over numbers and categories (``AdaptiveTables``) and draws synthetic rows of it (``MixedComponents``).

The fit takes four phases: marginals, one Gaussian, a search for clusters of the numbers, and the mixture.

Every choice is a function of public numbers: ε, δ, the number of columns, of categories and of components, and the
number of rows where it is public.

**Weights of a release.** In nats a row, noise of variance x on all numbers of a release costs a table of C
categories about x·C²/(2e_j²), and the moments x·G²/(1 − e²), with G = √A + √B + √C of ``own_coordinates``. So e_j² ∝
C_j, and e² : 1 − e² = ΣC_j/√2 : G. Shrinkage of noisy tables lowers their cost, so twice G is taken.

**Steps.** Twice as many as for Gaussians alone: tables take longer to converge, and pooling makes up for the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.door import PublicSize, Release
from discreet.em import Step, expectation_maximization
from discreet.guarantees import Guarantee
from discreet.models.method import Method
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.mixture.adaptive_model import Pool
from discreet.models.mixture.mixture_plan import ROUNDS
from discreet.models.mixture.own_coordinates import Clipping, Shape, noise_costs
from discreet.models.noisy_sums import released_rows
from discreet.models.table.column_maps import correct_cells, estimate_probabilities
from discreet.models.table.table_model import TableModel
from discreet.queries.counts.grids import Marginals
from discreet.queries.moments.components import Components
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["AdaptiveTables", "MixedComponents"]

Array = NDArray[np.float64]

FIRST = 0.1  # share of the budget for the marginals
ALONE = 0.3  # the same with one component, whose tables are the marginals
LEAST_TABLES, MOST_TABLES = 0.1, 0.5  # limits on e²
LONGER = 2  # number of steps, relative to that for Gaussians alone
MOST_STEPS = 60
RESOLUTION = 0.1  # least standard deviation before the last step, relative to a column's half-width
DEFAULT_LEVEL = 0.9  # probability that a Gaussian row is not clipped, for the weights


@dataclass(frozen=True, eq=False)
class MixedComponents:
    """A mixture over numbers and categories.

    Attributes
    ----------
    components : Components
        The Gaussians of the numbers.
    probabilities : tuple of arrays of shape (K, C)
        For each column of categories its probabilities in each component.
    cells : tuple of arrays
        For each column of numbers the probabilities of its ``cells``, over all components.
    """

    components: Components
    probabilities: tuple[Array, ...]
    cells: tuple[Array, ...]

    def rescale(self, offset: Array, scale: Array) -> Self:
        """Return the mixture with the numbers in the coordinates offset + scale·y."""
        return replace(self, components=self.components.rescale(offset, scale))

    def log_joint(self, x: Array, codes: NDArray[np.int64]) -> Array:
        """Return ln(weight·density·probability) of each row under each component, shape (n, K)."""
        joint = self.components.log_joint(x)
        for j, table in enumerate(self.probabilities):
            joint += np.log(table).T[codes[:, j]]
        return joint

    def log_density(self, x: Array, codes: NDArray[np.int64]) -> Array:
        """Return the logarithm of density times probability of each row."""
        joint = self.log_joint(x, codes)
        return np.asarray(np.logaddexp.reduce(joint, axis=1))

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
        """Return rows of numbers, and their categories' codes."""
        x, labels = self.components.sample(size, rng)
        codes = np.empty((size, len(self.probabilities)), dtype=np.int64)
        for j, table in enumerate(self.probabilities):
            ends = np.cumsum(table, axis=1)
            ends /= ends[:, -1:]
            codes[:, j] = (rng.random(size)[:, None] >= ends[labels, :-1]).sum(axis=1)
        return x, codes


@dataclass(frozen=True)
class AdaptiveTables(Method[MixedComponents]):
    """Marginals first, and then the two phases of ``Adaptive`` with tables.

    Parameters
    ----------
    numbers : Adaptive
        The method of the Gaussians, with their share of the budget.
    categories : tuple of int
        The number of categories of each column.
    whole : tuple of bool
        For each column of numbers whether it is declared to hold whole numbers.
    """

    numbers: Adaptive
    categories: tuple[int, ...]
    whole: tuple[bool, ...]

    @classmethod
    def for_data(
        cls,
        count: int,
        space: Box | Ball,
        categories: tuple[int, ...],
        guarantee: Guarantee,
        size: PublicSize,
        *,
        whole: tuple[bool, ...],
        shape: str = "full",
        steps: int | None = None,
    ) -> AdaptiveTables:
        """Return the method for a guarantee, with at most as many components as it can distinguish."""
        part = (1.0 - FIRST) * (1.0 - _table_share(Shape(shape, space.dimension), categories))
        numbers = Adaptive.for_data(count, space, guarantee, size, shape=shape, steps=steps, part=part)
        if numbers.distinguishable < count:  # fewer components that differ fit better than many that do not
            numbers = Adaptive.for_data(
                numbers.distinguishable, space, guarantee, size, shape=shape, steps=steps, part=part
            )
        # Growth would split components by their numbers alone; a histogram of the numbers and a look within phase 1
        # were not tried
        numbers = replace(numbers, grows=False, uses_histogram=False, looks=False)
        if steps is None and not numbers.is_single:
            numbers = replace(numbers, steps=min(LONGER * numbers.steps, MOST_STEPS))
        return cls(numbers, categories, whole)

    @property
    def is_single(self) -> bool:
        """Whether only one Gaussian is fitted."""
        return self.numbers.is_single

    @property
    def earlier(self) -> AdaptiveTables | None:
        """The method with an earlier one of the Gaussians."""
        return None if self.numbers.earlier is None else replace(self, numbers=self.numbers.earlier)

    @property
    def shares(self) -> list[float]:
        """The share of the marginals, then those of the Gaussians."""
        first = ALONE if self.is_single else FIRST
        return [first, *((1.0 - first) * share for share in self.numbers.shares)]

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return the question of the marginals, and sums."""
        return [self._marginals(space), *super().questions(space, number - 1)]

    def _marginals(self, space: Box | Ball) -> Marginals:
        assert isinstance(space, Box)  # as every schema has
        return Marginals(self.categories, space, self.whole)

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[MixedComponents, list[Release]]:
        """Find the marginals, one Gaussian and clusters of numbers, and improve components with tables by EM."""
        query = self._marginals(space)
        release = next(measures)(query)
        result, noises = estimate_probabilities(query, release)
        marginals, noise = result[: len(self.categories)], noises[: len(self.categories)]
        count = self.numbers.count

        def with_cells(components: Components, tables: tuple[Array, ...]) -> MixedComponents:
            own = components.rescale(np.asarray(space.center), np.asarray(space.scale))
            several = enumerate(zip(query.cells, result[len(self.categories) :], strict=True))
            shares = tuple(correct_cells(own, j, cells, released, noises[0]) for j, (cells, released) in several)
            return MixedComponents(components, tables, shares)

        if self.is_single:
            components, releases = self.numbers.run(space, rng, measures)
            tables = tuple(np.repeat(marginal[None], count, axis=0) for marginal in marginals)
            return with_cells(components, tables), [release, *releases]
        first = sum(self.numbers.shares[:ROUNDS])
        one = replace(self.numbers, count=1, steps=ROUNDS, budget=self.numbers.budget * first)
        base, releases = one.run(space, rng, islice(measures, ROUNDS))
        rows = released_rows(releases[-1])
        found, searched = self.numbers.search(base, rows, space, rng, measures)
        numbers = self.numbers
        mixture = numbers.mixture(base, rows, numbers.count, numbers.step_share, numbers.steps)
        mixture = replace(mixture, narrowest=RESOLUTION**2 / space.dimension)
        model = TableModel(mixture, marginals, noise, self._weights)
        start = replace(model.initialize(space.dimension, rng), numbers=Pool.empty(found))
        pool, more = expectation_maximization(model, start, space, measures)
        return with_cells(pool.components, pool.probabilities), [release, *releases, *searched, *more]

    @property
    def _weights(self) -> tuple[float, ...]:
        """e_j² for each column, proportional to its number of categories."""
        sizes = np.array(self.categories, dtype=np.float64)
        return tuple((_table_share(self.numbers.shape, self.categories) * sizes / sizes.sum()).tolist())


def _table_share(shape: Shape, categories: tuple[int, ...]) -> float:
    """Return e² of the module, the share of the tables in a release."""
    tables = sum(categories) / math.sqrt(2.0)
    moments = sum(map(math.sqrt, noise_costs(Clipping.at_quantile(shape.dimension, DEFAULT_LEVEL), shape)))
    return min(max(tables / (tables + 2.0 * moments), LEAST_TABLES), MOST_TABLES)
