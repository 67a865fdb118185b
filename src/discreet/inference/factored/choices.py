"""The posterior from draws of ``FactoredExponential`` alone, for any model of one row.

The likelihood of all draws together is that of ``factored_posterior``, an expectation over rows: all of them where they
are finitely many, else some that are drawn from a mixture of the model at parameters from its prior, with their
weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from discreet.inference.clt.likelihood import LogTarget, mixed_rows
from discreet.inference.clt.reference import Problem
from discreet.inference.factored.factored_posterior import factored_likelihood
from discreet.inference.rows.row_model import double_precision
from discreet.mechanisms import FactoredChoice

__all__ = ["target_of_choices"]

CENTRES, ROWS = 64, 2048


def target_of_choices(problem: Problem, chosen: Sequence[FactoredChoice], seed: int) -> LogTarget:
    """Return the posterior as a sampler wants it."""
    model = problem.model
    with double_precision():
        keys = jax.random.split(jax.random.key(seed), CENTRES)
        centres = np.stack([model.call("prior_draw", key) for key in keys])
    if model.points is None:
        rows, log_weights = mixed_rows(model, centres, ROWS // CENTRES, seed)
    else:
        rows, log_weights = model.points, np.zeros(len(model.points["x"]))
    rows_given = None if problem.rows is None else int(problem.rows)
    likelihood = factored_likelihood(
        chosen, rows["x"], lambda v: model.log_rows(v, rows) + log_weights, rows=rows_given, seed=seed
    )

    def density(data: Any, u: Any) -> Any:
        v = data["w0"] + data["root"] @ u
        total = model.log_prior(v) + likelihood(v)
        if problem.public is not None:
            total = total + jnp.sum(model.log_rows(v, problem.public))
        return jnp.where(jnp.isnan(total), -jnp.inf, total)

    data = {"w0": np.median(centres, axis=0), "root": np.eye(model.size)}
    return LogTarget("joint", data, density, model.size, 0.0, weighted=False, shared=False)
