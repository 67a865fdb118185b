"""``SumDensity``: the density of a release given the rows, for mechanisms that depend on the rows through a sum.

``SumDensity`` is all that data augmentation (``augmentation``) needs to know of a mechanism: what each row contributes
to a sum, and how likely the released value is given that sum. Sums with noise and draws of the factored exponential
mechanism are here; another mechanism whose density is known is a class of five members.
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
from discreet.door import Release
from discreet.guarantees import Neighbors
from discreet.inference.measurements import Measurement, Measurements
from discreet.inference.rows.layout import Layout, Rows
from discreet.mechanisms import FactoredChoice
from discreet.queries.functions.factored_scores import FactoredSum

Array = NDArray[np.float64]


class SumDensity(Protocol):
    """A mechanism whose density is a function of a sum over rows, and what it released."""

    @property
    def name(self) -> str:
        """For messages."""

    @property
    def size(self) -> int:
        """How many numbers a row contributes."""

    @property
    def epsilon(self) -> float:
        """The ε of pure privacy when one row has other values; ∞ where there is none."""

    def contributions(self, rows: Rows) -> Array:
        """Return what each of some rows contributes, shape (n, size)."""

    def log_density(self, total: Any) -> Any:
        """Return the log-density of what was released given the sum, but for a constant; in ``jax.numpy``."""


def _pure(release: Release) -> float:
    """Return the ε for a row that is replaced: of two steps, where the relation is add-remove."""
    return release.loss.under(Neighbors.REPLACE_ONE).pure if math.isfinite(release.loss.pure) else math.inf


@dataclass(frozen=True, eq=False)
class NoisySum:
    """A sum with Gaussian or Laplace noise.

    Noise on a grid is taken as the continuous distribution of the same scale, which it is but for the grid's step.

    Parameters
    ----------
    measured : Measurement
    layout : Layout
        Of the rows that the model draws.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Box, LaplaceLoss, Sum
    >>> from discreet.door import open_rows
    >>> from discreet.inference.measurements import read_measurements
    >>> release = open_rows(np.ones(50), bounds=(0, 1)).measure(Sum(Box([0.0], [1.0])), LaplaceLoss(0.5))
    >>> result = read_measurements(release)
    >>> density = NoisySum(result.each[0], result.layout)
    >>> density.contributions({"x": np.array([[0.25], [7.0]]), "codes": np.zeros((2, 0))}).ravel().tolist()
    [-0.5, 1.0]
    >>> at = result.value
    >>> f"{float(density.log_density(at) - density.log_density(at - 2.0)):.4f}", density.epsilon
    ('0.5000', 0.5)
    """

    measured: Measurement
    layout: Layout

    @property
    def name(self) -> str:
        """The query's."""
        return self.measured.release.query

    @property
    def size(self) -> int:
        """How many numbers were released."""
        return int(self.measured.release.value.size)

    @property
    def epsilon(self) -> float:
        """The release's."""
        return _pure(self.measured.release)

    def contributions(self, rows: Rows) -> Array:
        """Return the question's."""
        return Measurements((self.measured,), self.layout).contributions(rows)

    def log_density(self, total: Any) -> Any:
        """Return −Σ|z − s|/b or −Σ(z − s)²/(2σ²)."""
        return self.measured.noise.log_density(self.measured.release.value - total)


@dataclass(frozen=True, eq=False)
class FactoredDraw:
    """A draw of the factored exponential mechanism.

    Parameters
    ----------
    drawn : FactoredChoice
    layout : Layout
        Of the rows that the model draws.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.mechanisms import FactoredExponential
    >>> sign = FactoredExponential(lambda rows, signs: rows * np.array(signs), [-1.0, 1.0])
    >>> drawn = sign.draw(np.ones(1000), bounds=(-1, 1), epsilon=1.0)
    >>> density = FactoredDraw(drawn, Layout(("x0",)))
    >>> f"{float(density.log_density(np.array([-10.0, 10.0]))):.4f}", f"{drawn.rate:.4f}"  # −ln(1 + e^(−20η))
    ('-0.0067', '0.2500')
    """

    drawn: FactoredChoice
    layout: Layout

    @property
    def name(self) -> str:
        """The release's."""
        return self.drawn.release.query

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.drawn.mechanism.candidates)

    @property
    def epsilon(self) -> float:
        """The release's."""
        return _pure(self.drawn.release)

    @cached_property
    def _measured(self) -> Measurements:
        release = self.drawn.release
        categories = tuple(map(len, release.declared.get("categories") or ()))
        question = FactoredSum(self.drawn.mechanism, len(release.declared["columns"]), categories)
        return Measurements((Measurement(question, release),), self.layout)

    def contributions(self, rows: Rows) -> Array:
        """Return a row's clamped scores, the middle of their interval taken off."""
        return self._measured.contributions(rows)

    def log_density(self, total: Any) -> Any:
        """Return log softmax(η·sums) at the candidate that was drawn."""
        return jax.nn.log_softmax(self.drawn.rate * jnp.asarray(total), axis=-1)[..., self.drawn.index]


def release_densities(
    measured: Measurements, also: Sequence[FactoredChoice | SumDensity], layout: Layout
) -> tuple[SumDensity, ...]:
    """Return the densities of all that was released: of measurements, of draws, and of a user's own mechanisms."""
    choices = [one for one in also if isinstance(one, FactoredChoice)]
    releases = [one.release for one in measured.each] + [one.release for one in choices]
    sources = {(release.dataset, release.declared.get("where")) for release in releases}
    if len(sources) > 1:
        raise ArgumentError("also", UNSHOWN, "releases of the rows of one data set; infer from each apart")
    result: list[SumDensity] = [NoisySum(one, layout) for one in measured.each]
    result += [FactoredDraw(one, layout) if isinstance(one, FactoredChoice) else one for one in also]
    if not result:
        raise ArgumentError("releases", UNSHOWN, "at least one", write="also=[…] for draws of FactoredExponential")
    return tuple(result)


def log_densities(densities: Sequence[SumDensity], total: Any) -> Any:
    """Return the log-density of each mechanism, given the sums of all, one after the other."""
    ends = np.cumsum([one.size for one in densities]).tolist()
    return jnp.stack([one.log_density(total[end - one.size : end]) for one, end in zip(densities, ends, strict=True)])


def update_rows(densities: Sequence[SumDensity], logs: Any, rows: Rows, proposed: Rows, c: Any, others: Any) -> Any:
    """Go through the rows once, and propose another for each.

    Parameters
    ----------
    densities : sequence of SumDensity
    logs : array of shape (n,)
        Logarithms of uniform variates.
    rows, proposed : Rows
    c, others : array of shape (n, D)
        What they contribute.

    Returns
    -------
    rows, c
        After all were gone through.
    mean, least
        The mean acceptance probability, and the logarithm of the least.
    most : array
        How much, at most, each mechanism's log-density would have been changed by a proposal.
    """

    def step(carry: Any, row: Any) -> Any:
        total, before = carry
        mine, other, log_uniform = row
        replaced = total - mine + other
        changed = log_densities(densities, replaced)
        now = jnp.sum(before)
        log_chance = jnp.where(jnp.isneginf(now), 0.0, jnp.minimum(jnp.sum(changed) - now, 0.0))
        log_chance = jnp.where(jnp.isnan(log_chance), -jnp.inf, log_chance)
        accept = log_uniform < log_chance
        carry = jnp.where(accept, replaced, total), jnp.where(accept, changed, before)
        return carry, (accept, log_chance, jnp.nan_to_num(jnp.abs(changed - before), posinf=jnp.inf))

    total = jnp.sum(c, axis=0)
    first = total, log_densities(densities, total)
    _, (accept, log_chances, changes) = jax.lax.scan(step, first, (c, others, logs))
    rows, c = jax.tree.map(partial(_either, accept), (proposed, others), (rows, c))
    return rows, c, jnp.mean(jnp.exp(log_chances)), jnp.min(log_chances), jnp.max(changes, axis=0)


def _either(accept: Any, new: Any, old: Any) -> Any:
    return jnp.where(accept[:, None], new, old)
