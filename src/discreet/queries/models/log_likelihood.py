"""The mean log-likelihood of rows under public models, as a query.

Row x contributes (a, b·s_1(x)/√m, …, b·s_m(x)/√m) with a² + b² = 1, where s_i is the log-density of model i at x,
clipped to a public interval and mapped to [−1, 1]. So ‖c‖² ≤ a² + b²·(1/m)·Σs_i² ≤ 1, and for two rows the first
number cancels: ‖c − c'‖ ≤ 2b. Both are attained where each model's density reaches both ends. In L1: a + b√m and 2b√m.

The interval goes down from the largest value that the log-density can have to below where the model itself puts all but
one in ten thousand of its rows. Both ends are functions of the model, which is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.queries.bound import Bound
from discreet.queries.moments.components import Components
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box

Array = NDArray[np.float64]


DRAWS = 20_000


def score_interval(components: Components) -> tuple[float, float]:
    """Return the ends of the interval that log-densities are clipped to."""
    log_peaks = components.log_constants - 0.5 * components.dimension * math.log(2.0 * math.pi)
    high = float(np.logaddexp.reduce(log_peaks))  # no density is above the sum of the components' peaks
    rows, _ = components.sample(DRAWS, np.random.default_rng(0))
    lowest = float(np.quantile(components.log_density(rows), 1e-4))
    return lowest - 0.5 * (high - lowest), high


@dataclass(frozen=True, eq=False)
class LogLikelihood(Query):
    """Sums of clipped log-densities, one for each model; with a count of the rows where that is not public.

    Parameters
    ----------
    models : sequence of Components
        In the data's own units.
    space : Box or Ball
        Rows are moved into it first.
    counted : bool
        Whether to count the rows as well.
    """

    models: Sequence[Components]
    space: Box | Ball
    counted: bool

    name = "log-likelihood"

    @cached_property
    def ends(self) -> list[tuple[float, float]]:
        """The interval of each model's log-densities."""
        return [score_interval(model) for model in self.models]

    @property
    def _weights(self) -> tuple[float, float]:
        """a² and b²."""
        return (0.2, 0.8) if self.counted else (0.0, 1.0)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The scores, in units of half their intervals, and the count."""
        a, b = (math.sqrt(weight) for weight in self._weights)
        scores = {"scores": Part((len(self.models),), b / math.sqrt(len(self.models)))}
        return ({"count": Part((1,), a)} if self.counted else {}) | scores

    @property
    def bound(self) -> Bound:
        """See the module."""
        a, b = (math.sqrt(weight) for weight in self._weights)
        root = math.sqrt(len(self.models))
        # How near a row comes to both ends at once depends on the models.
        near = {"l2": 0.8, "l1": 0.8, "replace_l2": 0.8, "replace_l1": 0.8}
        return Bound(l2=1.0, l1=a + b * root, replace_l2=max(2.0 * b, 1.0), replace_l1=2.0 * b * root, attained=near)

    @property
    def roundoff(self) -> float:
        """An exponent of at most 10⁴ in size is off by a few ulp of it, and of the constants."""
        worst = 0.0
        for model, (low, high) in zip(self.models, self.ends, strict=True):
            d = model.dimension
            reach = np.linalg.norm(np.asarray(self.space.scale)) + np.linalg.norm(np.asarray(self.space.center))
            norms = np.sqrt((model.whitening**2).sum(axis=(1, 2))) * (reach + np.linalg.norm(model.means, axis=1))
            far = 2.0 * (high - low) + 2.0 * np.abs(model.log_constants).max() + 10.0 * d  # where it is not clipped
            logit = (d + 8) * 2.0**-53 * (math.sqrt(2.0 * far) * norms.max() + far)
            worst = max(worst, float(logit) / (0.5 * (high - low)))
        return worst + (self.dimension + 16) * 2.0**-53

    def contributions(self, block: Block) -> Any:
        """Return the count and the mapped scores of each row."""
        x = self.space.clip(block.x)
        xp = array_namespace(x)
        a, b = (math.sqrt(weight) for weight in self._weights)
        columns = [xp.full((x.shape[0],), a, dtype=x.dtype, device=device(x))] if self.counted else []
        for model, (low, high) in zip(self.models, self.ends, strict=True):
            score = (_log_density(model, x) - (low + high) / 2.0) / ((high - low) / 2.0)
            columns.append(b / math.sqrt(len(self.models)) * xp.clip(score, -1.0, 1.0))
        return xp.stack(columns, axis=1)


def _log_density(model: Components, x: Any) -> Any:
    """Return the log-density of each row, array-API generic."""
    xp = array_namespace(x)

    def public(values: Any) -> Any:
        return xp.asarray(values, dtype=xp.float64, device=device(x))

    joint = []
    for k in range(model.count):
        z = xp.matmul(x - public(model.means[k]), public(model.whitening[k].T))
        joint.append(public(model.log_constants[k]) - 0.5 * xp.sum(z * z, axis=1))
    stacked = xp.stack(joint, axis=0)
    largest = xp.max(stacked, axis=0)
    total = xp.sum(xp.exp(stacked - largest[None, :]), axis=0)
    return largest + xp.log(total) - 0.5 * model.dimension * math.log(2.0 * math.pi)
