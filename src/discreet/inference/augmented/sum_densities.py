"""``SumDensity``: the density of a release given the rows, for mechanisms that depend on the rows through a sum.

Data augmentation (``augmentation``) needs to know two things about a mechanism: what each row contributes to a sum, and
the density of the released value given that sum. Sums with noise and draws of the factored exponential
mechanism are implemented here; another mechanism with a known density is a class with these five members.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.guarantees import Neighbors
from discreet.inference.measured_sums import Measurement
from discreet.inference.measurements import Measurements
from discreet.inference.rows.layout import Layout, Rows
from discreet.mechanisms import FactoredChoice
from discreet.queries.functions.factored_scores import FactoredSum

Array = NDArray[np.float64]


class SumDensity(Protocol):
    """A release whose density is a function of a sum over rows."""

    @property
    def name(self) -> str:
        """The name in error messages."""

    @property
    def size(self) -> int:
        """How many numbers a row contributes."""

    @property
    def epsilon(self) -> float:
        """The ε of pure privacy for replacing one row; ∞ where there is none."""

    def contributions(self, rows: Rows) -> Array:
        """Return the contribution of each row, shape (n, size)."""

    def log_density(self, total: Any) -> Any:
        """Return the log-density of the released value given the sum, up to a constant; in ``jax.numpy``."""


@dataclass(frozen=True, eq=False)
class _ReleasedSum:
    """A release that depends on the rows through the sum of their contributions to its question.

    Parameters
    ----------
    measured : Measurement
    layout : Layout
        The columns of the rows that the model draws.
    """

    measured: Measurement
    layout: Layout

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.measured.release.query

    @property
    def size(self) -> int:
        """How many numbers a row contributes."""
        return self.measured.question.size

    @property
    def epsilon(self) -> float:
        """The ε of pure privacy for replacing a row: that of two steps, where the relation is add-remove."""
        loss = self.measured.release.loss
        return loss.under(Neighbors.REPLACE_ONE).pure if math.isfinite(loss.pure) else math.inf

    @cached_property
    def _measurements(self) -> Measurements:
        return Measurements((self.measured,), self.layout)

    def contributions(self, rows: Rows) -> Array:
        """Return the rows' contributions to the question, shape (n, size)."""
        return self._measurements.contributions(rows)


class NoisySum(_ReleasedSum):
    """A sum with Gaussian or Laplace noise.

    Noise on a grid is treated as the continuous distribution of the same scale; they differ by the grid's step.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Box, LaplaceLoss, Sum
    >>> from discreet.door import open_rows
    >>> from discreet.inference.measurements import read_measurements
    >>> release = open_rows(np.ones(50), bounds=(0, 1)).measure(Sum(Box([0.0], [1.0])), LaplaceLoss(0.5))
    >>> result = read_measurements(release)
    >>> density = NoisySum(result.sums[0], result.layout)
    >>> density.contributions({"x": np.array([[0.25], [7.0]]), "codes": np.zeros((2, 0))}).ravel().tolist()
    [-0.5, 1.0]
    >>> total = result.values
    >>> f"{float(density.log_density(total) - density.log_density(total - 2.0)):.4f}", density.epsilon
    ('0.5000', 0.5)
    """

    def log_density(self, total: Any) -> Any:
        """Return −Σ|z − s|/b or −Σ(z − s)²/(2σ²)."""
        return self.measured.noise.log_density(self.measured.release.value - total)


@dataclass(frozen=True, eq=False)
class FactoredDraw(_ReleasedSum):
    """A draw of the factored exponential mechanism. A row contributes its clamped scores, less their interval's centre.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.mechanisms import FactoredExponential
    >>> sign = FactoredExponential(lambda rows, signs: rows * np.array(signs), [-1.0, 1.0])
    >>> drawn = sign.draw(np.ones(1000), bounds=(-1, 1), epsilon=1.0)
    >>> density = FactoredDraw.from_choice(drawn, Layout(("x0",)))
    >>> f"{float(density.log_density(np.array([-10.0, 10.0]))):.4f}", f"{drawn.rate:.4f}"  # −ln(1 + e^(−20η))
    ('-0.0067', '0.2500')
    """

    rate: float
    index: int

    @classmethod
    def from_choice(cls, choice: FactoredChoice, layout: Layout) -> FactoredDraw:
        """Return the density of what a mechanism chose."""
        declared = choice.release.declared
        categories = tuple(map(len, declared.get("categories") or ()))
        question = FactoredSum(choice.mechanism, len(declared["columns"]), categories)
        return cls(Measurement(question, choice.release), layout, choice.rate, choice.index)

    def log_density(self, total: Any) -> Any:
        """Return log softmax(η·sums) at the candidate that was drawn."""
        return jax.nn.log_softmax(self.rate * jnp.asarray(total), axis=-1)[..., self.index]


def collect_densities(
    measured: Measurements, also: Sequence[FactoredChoice | SumDensity], layout: Layout
) -> tuple[SumDensity, ...]:
    """Return the densities of all releases: of measurements, of draws, and of a user's own mechanisms."""
    choices = [one for one in also if isinstance(one, FactoredChoice)]
    releases = [one.release for one in measured.sums] + [one.release for one in choices]
    sources = {(release.dataset, release.declared.get("where")) for release in releases}
    if len(sources) > 1:
        raise ArgumentError("also", UNSHOWN, "releases of the rows of one data set; infer from each apart")
    result: list[SumDensity] = [NoisySum(one, layout) for one in measured.sums]
    result += [FactoredDraw.from_choice(one, layout) if isinstance(one, FactoredChoice) else one for one in also]
    if not result:
        raise ArgumentError("releases", UNSHOWN, "at least one", write="also=[…] for draws of FactoredExponential")
    return tuple(result)


def log_densities(densities: Sequence[SumDensity], total: Any) -> Any:
    """Return the log-density of each mechanism, given the concatenated sums of all."""
    ends = np.cumsum([one.size for one in densities]).tolist()
    return jnp.stack([one.log_density(total[end - one.size : end]) for one, end in zip(densities, ends, strict=True)])


def update_rows(densities: Sequence[SumDensity], logs: Any, rows: Rows, proposed: Rows, c: Any, proposed_c: Any) -> Any:
    """Propose a replacement for each row in turn, and accept or reject it.

    Parameters
    ----------
    densities : sequence of SumDensity
    logs : array of shape (n,)
        Logarithms of uniform variates.
    rows, proposed : Rows
    c, proposed_c : array of shape (n, D)
        Their contributions.

    Returns
    -------
    rows, c
        The rows after all proposals, and their contributions.
    mean, least
        The mean acceptance probability, and the logarithm of the least.
    largest : array
        For each mechanism the largest change of its log-density by a proposal.
    """

    def step(carry: Any, row: Any) -> Any:
        total, before = carry
        current, other, log_uniform = row
        replaced = total - current + other
        changed = log_densities(densities, replaced)
        now = jnp.sum(before)
        log_chance = jnp.where(jnp.isneginf(now), 0.0, jnp.minimum(jnp.sum(changed) - now, 0.0))
        log_chance = jnp.where(jnp.isnan(log_chance), -jnp.inf, log_chance)
        accept = log_uniform < log_chance
        carry = jnp.where(accept, replaced, total), jnp.where(accept, changed, before)
        return carry, (accept, log_chance, jnp.nan_to_num(jnp.abs(changed - before), posinf=jnp.inf))

    total = jnp.sum(c, axis=0)
    first = total, log_densities(densities, total)
    _, (accept, log_chances, changes) = jax.lax.scan(step, first, (c, proposed_c, logs))
    rows, c = jax.tree.map(partial(_choose_rows, accept), (proposed, proposed_c), (rows, c))
    return rows, c, jnp.mean(jnp.exp(log_chances)), jnp.min(log_chances), jnp.max(changes, axis=0)


def _choose_rows(accept: Any, new: Any, old: Any) -> Any:
    return jnp.where(accept[:, None], new, old)
