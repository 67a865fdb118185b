"""``diagnose``: whether components of a fitted mixture coincide, are too wide (over several clusters) or too weak.

EM from a bad start ends with two components in one cluster and another one over two. From the result alone, which is
public, this can be seen:

- **Coinciding components**: one Gaussian in place of two loses no more likelihood than the noise of their estimates
  costs. The loss is that on synthetic rows of the mixture.
- **A wide component**: in some direction its variance is many times that of the others, beyond what noise explains. It
  may be right (a group can be wide), or cover several clusters.
- **A weak component**: its number of rows is less than three standard deviations of the noise.

What noise costs follows from its size: with x = (s/n)²/κ, s the standard deviation of a count that has the whole
budget, n the rows of the component and κ = 0.4 the part of the budget that the last steps keep, it is
x·(√A + √B + √C)² nats for each row of the component, with the costs A, B and C of ``own_coordinates``.

**Measured.** On 100 fits from a start that does not look for clusters (K from 3 to 8, d from 2 to 8, centres with a
spread of 3.5 standard deviations) 30 were bad, more than 0.3 nats below the best. A wide component was seen in 28 of
them, and in 19 of the 70 others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.guarantees import Guarantee
from discreet.models.mixture.mixture_reduction import SYNTHETIC, merge_pair
from discreet.models.mixture.own_coordinates import Clipping, Shape, noise_costs
from discreet.planning.mixture_formula import KEPT, LEVEL
from discreet.queries.moments.components import Components

__all__ = ["MixtureDiagnosis", "diagnose"]

Array = NDArray[np.float64]

SEEN = 3.0  # standard deviations that the rows of a component shall exceed
WIDE = 8.0  # variance in some direction, relative to the other components, that is worth a word
MOST_NAMED = 6  # in a sentence
LEAST_LOSS = 0.01  # nats a row of the pair: less than this is lost by no reader


@dataclass(frozen=True)
class MixtureDiagnosis:
    """What the releases say about a fit; ``print`` shows it in words, in which components are numbered from 1.

    The attributes hold indices, as ``means_`` has them: component 1 is index 0.

    Attributes
    ----------
    rows : tuple of float
        About how many rows each component has.
    noise : float
        The standard deviation of the noise on such a number.
    coinciding : tuple of pairs of int
        Components of which one Gaussian would take the place.
    wide : tuple of int
        Components that are wider than noise explains.
    weak : tuple of int
        Components whose rows may be noise.
    unclear : tuple of int
        Components that may be wide or not, for all that their noise tells.
    again : Guarantee or None
        What this fit and another one like it cost together; None where the noise came from a seed.
    """

    rows: tuple[float, ...]
    noise: float
    coinciding: tuple[tuple[int, int], ...]
    wide: tuple[int, ...]
    weak: tuple[int, ...]
    unclear: tuple[int, ...]
    again: Guarantee | None

    @property
    def missed(self) -> bool:
        """Whether a cluster seems to be missed: one component is wide, and another has no place of its own."""
        return bool(self.wide and (self.coinciding or self.weak))

    def describe(self) -> tuple[str, ...]:
        """Return what there is to say, in sentences; the first component has the number 1."""
        count, smallest = len(self.rows), int(np.argmin(self.rows))
        said = [
            f"{count} component{'s' * (count > 1)}; the smallest, number {smallest + 1}, has about "
            f"{self.rows[smallest]:,.0f} rows (noise {self.noise:,.0f})."
        ]
        pairs = [f"{one + 1} and {other + 1}" for one, other in self.coinciding]
        if len(pairs) == count * (count - 1) // 2 > 0:
            said.append("All of them coincide: this is one Gaussian, and the budget could not tell more apart.")
        elif pairs:
            said.append(
                f"{_list(pairs)} coincide{'s' * (len(pairs) == 1)}: fewer components would describe the rows as well, "
                "within the noise."
            )
        numbers = {name: [str(k + 1) for k in getattr(self, name)] for name in ("wide", "weak", "unclear")}
        if self.wide:
            said.append(
                f"Wider than the others, more than noise explains: {_list(numbers['wide'])}. Such a component is a "
                "wide group, or covers several."
            )
        if self.weak:
            said.append(f"With no more rows than noise can show: {_list(numbers['weak'])}.")
        if self.unclear:
            said.append(
                f"Too noisy to tell whether they cover several groups: {_list(numbers['unclear'])}. More rows, fewer "
                "components or a larger ε would show it."
            )
        if self.missed:
            said.append("The start seems to have missed a group.")
        if count == 1 and len(said) == 1:
            said.append("There is no other one that it could coincide with or be wider than.")
        elif len(said) == 1:
            said.append("No two components coincide, and none is wider than noise explains.")
        elif self.again is not None:
            said.append(f"Another fit starts elsewhere; this one and the next cost {self.again} together.")
        return tuple(said)

    def __str__(self) -> str:
        return "\n".join(self.describe())


def diagnose(
    components: Components, shape: Shape, rows: float, noise: float, again: Guarantee | None, rng: np.random.Generator
) -> MixtureDiagnosis:
    """Return what can be seen of a fitted mixture.

    Parameters
    ----------
    components : Components
        In any coordinates.
    shape : Shape
        Their covariance type.
    rows : float
        The number of all rows, about.
    noise : float
        s: the standard deviation of a count that has the whole budget.
    again : Guarantee or None
        What two such fits cost.
    rng : Generator
        For synthetic rows.
    """
    counts = rows * components.weights
    costs = np.sqrt(noise_costs(Clipping.at_quantile(shape.dimension, LEVEL), shape))
    squared = (noise / np.maximum(counts, 1.0)) ** 2 / KEPT  # x of each component
    spreads = squared * costs.sum() * costs[2] * 4.0 / shape.energy()  # v: a covariance's noise costs ¼·energy·v
    relative = _relative_noise(spreads, shape.dimension)
    widths = np.array([_width(components, k) for k in range(components.count)])
    wide = widths * (1.0 - relative) > WIDE
    kept = noise / math.sqrt(KEPT) * math.sqrt(costs.sum() / costs[0])
    return MixtureDiagnosis(
        rows=tuple(counts.tolist()),
        noise=float(kept),
        coinciding=_coinciding(components, np.minimum(squared * costs.sum() ** 2, 0.1 * shape.dimension), rng),
        wide=tuple(np.flatnonzero(wide).tolist()),
        weak=tuple(np.flatnonzero(counts < SEEN * kept).tolist()),
        unclear=tuple(np.flatnonzero(~wide & (widths > WIDE * (1.0 - relative))).tolist()),
        again=again,
    )


def _coinciding(components: Components, costs: Array, rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    """Return the pairs that one Gaussian could take the place of, within the cost of noise for a row of each."""
    rows, _ = components.sample(SYNTHETIC, rng)
    joint = components.log_joint(rows)
    result = []
    for one in range(components.count):
        for other in range(one):
            pair, merged = [one, other], merge_pair(components, one, other)
            share = np.exp(joint[:, pair] - np.logaddexp.reduce(joint, axis=1)[:, None]).sum(axis=1)
            lost = share @ (np.logaddexp.reduce(joint[:, pair], axis=1) - merged.log_joint(rows)[:, 0])
            allowed = max(float(costs[pair].mean()), LEAST_LOSS)
            if lost <= allowed * max(float(share.sum()), 1.0):
                result.append((other, one))
    return tuple(sorted(result))


def _width(components: Components, k: int) -> float:
    """Return the largest variance in some direction, relative to the others' mean; 0 where there are no others.

    With noise of a relative size r it is between 1 − r and 1 + r times what it would be without.
    """
    if components.count == 1:
        return 0.0
    weights = np.where(np.arange(components.count) == k, 0.0, components.weights)
    others = np.einsum("k,kij->ij", weights / weights.sum(), components.covariances)
    whiten = np.linalg.inv(np.linalg.cholesky(others))
    return float(np.linalg.eigvalsh(whiten @ components.covariances[k] @ whiten.T)[-1])


def _relative_noise(variances: Array, dimension: int) -> Array:
    """Return how far noise of variance v moves the largest eigenvalue, relative to it: 2√(vd), twice over."""
    return np.asarray(np.minimum(4.0 * np.sqrt(variances * dimension), 1.0))


def _list(names: list[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
