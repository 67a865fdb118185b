"""Exact posteriors for few rows by data augmentation: the unseen rows are sampled too (Ju, Awan, Gong and Rao 2022).

The state of a chain is the parameters v and all n rows. Its stationary distribution is their joint posterior,

    p(v, x_1 … x_n | z) ∝ prior(v) Π_i p(x_i|v) Π_j η_j(z_j | x_1 … x_n)

(public rows are counted with the prior), with the exact density η_j of each mechanism (``sum_densities``). There is no
normal approximation, however small n is. One sweep:

1. *Rows.* For each i in turn a row is proposed from the model, x' ~ p(·|v). The model's densities cancel, so x' is
   accepted with probability min(1, Π_j η_j(z_j | x' for x_i)/η_j(z_j | x)). η_j depends on a sum: a step costs O(1).
2. *Parameters.* One step of NUTS given the rows. Its step size and mass matrix are adapted during warm-up only.
3. *Both.* v' = v + a normal step (with the covariance of the mass matrix), and all rows are redrawn from p(·|v'). The
   step is symmetric and the model's densities cancel again: it is accepted with probability
   min(1, prior(v')η(z|x')/(prior(v)η(z|x))). Where noise is large, rows determine v and hardly depend on z, so that 1
   and 2 mix slowly; there this step is mostly accepted. Where noise is small it is rarely accepted, and 1 and 2 mix
   quickly.

*A bound on the acceptance of 1.* Rows with x' and with x_i are neighbours under replace-one, so under pure privacy each
η_j changes by a factor of at least e^(−ε_j): acceptance is at least e^(−Σε_j). (Under add-remove ε_j is that of two
steps, 2ε.) The bound is checked on every proposal, for each mechanism by itself and in both directions. A violation
means that the density is not the mechanism's, or that the mechanism is less private than its stated loss.

Sums are updated row by row within a sweep and recomputed for the next, so that float errors do not accumulate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.infer.hmc import hmc
from tqdm.auto import tqdm

from discreet.arguments import ArgumentError, integer
from discreet.inference.augmented.sum_densities import SumDensity, collect_densities, log_densities, update_rows
from discreet.inference.clt.reference import Problem, find_reference
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel, double_precision, make_keys
from discreet.mechanisms import FactoredChoice

Array = NDArray[np.float64]

MAX_ROWS, MAX_NUMBERS = 10_000, 100_000  # n, and n·D: a sweep of four chains takes some tenths of a second
MAX_TREE_DEPTH = 8
TARGET_ACCEPTANCE = 0.8
SLACK = 1e-9  # float error of a log-ratio
WALK_SCALE = 2.38  # over √p: the step of a random walk, in standard deviations


@dataclass(frozen=True, eq=False)
class AugmentedDraws:
    """Draws from the exact posterior, with acceptance statistics.

    Attributes
    ----------
    v : array of shape (chains, draws, p)
    diverging : array of shape (chains, draws)
        Whether a step of NUTS diverged.
    acceptance : float
        The mean acceptance probability of a proposed row.
    least_acceptance : float
        The least acceptance probability of a proposed row, warm-up included.
    acceptance_bound : float or None
        The lower bound e^(−Σε) that pure privacy implies; None where a mechanism is not purely private.
    joint_acceptance : float
        The mean acceptance probability of a joint step in parameters and rows.
    """

    v: Array
    diverging: NDArray[np.bool_]
    acceptance: float
    least_acceptance: float
    acceptance_bound: float | None
    joint_acceptance: float


def sample_augmented(
    problem: Problem,
    *,
    chains: int,
    draws: int,
    warmup: int,
    seed: int,
    progress: bool,
    steps: int = 1,
    also: Sequence[FactoredChoice | SumDensity] = (),
    start: Array | None = None,
) -> AugmentedDraws:
    """Return draws of v from the exact posterior.

    Parameters
    ----------
    problem : Problem
        It must have the number of rows. Its measurements may be empty, ``Measurements((), layout)``, if ``also`` has
        some.
    chains, draws, warmup, seed : int
    progress : bool
        Whether to show a progress bar.
    steps : int
        The number of sweeps for each draw.
    also : sequence of FactoredChoice or SumDensity
        Further releases of the same rows.
    start : array of shape (p,), optional
        v to start from; by default near the mode of the normal likelihood, or draws from the prior if no sum was
        released.
    """
    chains, draws, warmup, steps = (
        integer(name, value, least=1)
        for name, value in (("chains", chains), ("draws", draws), ("warmup", warmup), ("steps", steps))
    )
    rng, model = np.random.default_rng(integer("seed", seed, least=0)), problem.model
    densities = collect_densities(problem.measured, also, model.layout)
    n = _check_rows(problem, sum(one.size for one in densities))
    v, diverging = np.empty((chains, draws, model.size)), np.zeros((chains, draws), dtype=bool)
    with double_precision():
        chain = _Chain(problem, densities, n, _start(problem, start, chains, seed), warmup * steps, rng)
        for sweep in tqdm(range((warmup + draws) * steps), desc="sweeps", unit="sweep", disable=not progress):
            chain.sweep()
            draw = sweep // steps - warmup
            if draw >= 0:
                v[:, draw] = chain.state.z
                diverging[:, draw] |= np.asarray(chain.state.diverging)
            elif sweep == warmup * steps - 1:
                chain.reset_acceptance()
    total = sum(one.epsilon for one in densities)
    return AugmentedDraws(
        v=v,
        diverging=diverging,
        acceptance=float(np.mean(chain.acceptances)),
        least_acceptance=math.exp(chain.least_log_acceptance),
        acceptance_bound=math.exp(-total) if math.isfinite(total) else None,
        joint_acceptance=float(np.mean(chain.joint_acceptances)),
    )


def _check_rows(problem: Problem, numbers: int) -> int:
    """Return n, or raise an error if it is not known or too large."""
    if problem.rows is None:
        raise ArgumentError(
            "rows",
            None,
            "the number of rows, since the exact method samples each of them",
            write="rows=…, from a released count or from other knowledge, or likelihood='normal'",
        )
    n = integer("rows", int(problem.rows) if problem.rows == int(problem.rows) else problem.rows, least=1)
    if n > MAX_ROWS or n * numbers > MAX_NUMBERS:
        raise ValueError(
            f"rows={n}: expected at most {min(MAX_ROWS, MAX_NUMBERS // numbers)} for {numbers} released numbers, as "
            "the exact method samples all rows in every sweep; write likelihood='normal', accurate for so many rows"
        )
    return n


def _start(problem: Problem, start: Array | None, chains: int, seed: int) -> Array:
    """Return v for each chain."""
    model = problem.model
    if start is None and not problem.measured.sums:
        return np.stack([model.call("prior_draw", key) for key in make_keys(seed, chains)])
    v = find_reference(problem, None, seed).w if start is None else np.asarray(start, dtype=np.float64)
    if v.shape != (model.size,):
        raise ValueError(f"start of shape {v.shape}: expected ({model.size},); write model.vector({{…}})")
    return np.tile(v, (chains, 1))


class _Chain:
    """Chains in parallel: their parameters, rows and contributions."""

    def __init__(
        self, problem: Problem, densities: Sequence[SumDensity], n: int, v: Array, warmup: int, rng: np.random.Generator
    ) -> None:
        self.densities, self.n, self.public, self._rng = densities, n, problem.public, rng
        self.chains = len(v)
        self._draw, begin, self._nuts = _compiled(problem.model, warmup)
        self._update_rows = jax.jit(jax.vmap(partial(update_rows, densities)))
        self._jump = jax.jit(jax.vmap(partial(_jump, densities, problem.model), (0, 0, 0, None)))
        self.rows = self._draw_rows(v)
        self.c = self._contributions(self.rows)
        self.state = begin(v, self._seeds(self.chains), self.rows, self.public)
        self.least_log_acceptance = 0.0
        self.reset_acceptance()

    def reset_acceptance(self) -> None:
        """Drop the acceptance probabilities recorded so far."""
        self.acceptances: list[float] = []
        self.joint_acceptances: list[float] = []

    def _seeds(self, *shape: int) -> NDArray[np.uint32]:
        """Return the data of random keys for JAX."""
        return self._rng.integers(2**32, size=(*shape, 2), dtype=np.uint32)

    def _log_uniforms(self, *shape: int) -> Array:
        return -self._rng.standard_exponential(shape)

    def _draw_rows(self, v: Any) -> Rows:
        rows: Rows = self._draw(v, self._seeds(self.chains, self.n))
        return rows

    def _contributions(self, rows: Rows) -> Array:
        count = self.chains * self.n
        flat = {part: np.asarray(values).reshape(count, values.shape[-1]) for part, values in rows.items()}
        result = [np.asarray(one.contributions(flat), dtype=np.float64) for one in self.densities]
        for one, c in zip(self.densities, result, strict=True):
            if c.shape != (count, one.size):
                raise ValueError(f"contributions of {one.name!r}: expected shape (rows, {one.size}), got {c.shape}")
        return np.concatenate(result, axis=1).reshape(self.chains, self.n, -1)

    def sweep(self) -> None:
        """Do the three steps once, as the module describes."""
        proposed = self._draw_rows(self.state.z)
        logs = self._log_uniforms(self.chains, self.n)
        result = self._update_rows(logs, self.rows, proposed, self.c, self._contributions(proposed))
        self.rows, self.c, *facts = result
        mean, least, largest = map(np.asarray, facts)
        self._check_loss(largest.max(axis=0))
        self.acceptances.append(float(mean.mean()))
        self.least_log_acceptance = min(self.least_log_acceptance, float(least.min()))
        step = self._rng.standard_normal(self.state.z.shape)
        self.state, v = self._nuts(step, self.state, self.rows, self.public)
        rows = self._draw_rows(v)
        now, new = (self.state.z, self.rows, self.c), (v, rows, self._contributions(rows))
        (v, self.rows, self.c), chance = self._jump(self._log_uniforms(self.chains), now, new, self.public)
        self.state = self.state._replace(z=v)
        self.joint_acceptances.append(float(np.mean(chance)))

    def _check_loss(self, largest: Array) -> None:
        """Raise an error if a density changed by more than the stated privacy loss allows."""
        for one, change in zip(self.densities, largest, strict=True):
            if change > one.epsilon + SLACK:
                raise RuntimeError(
                    f"{one.name}: its density or its sensitivity is wrong; replacing one row changed the log-density "
                    f"by {change:.6g}, but its loss allows at most {one.epsilon:.6g}"
                )


def _log_prior_and_public(model: RowModel, v: Any, public: Rows | None) -> Any:
    """Return the log-prior plus the log-density of the public rows."""
    return model.log_prior(v) + (0.0 if public is None else jnp.sum(model.log_rows(v, public)))


def _jump(
    densities: Sequence[SumDensity], model: RowModel, log_uniform: Any, now: Any, new: Any, public: Rows | None
) -> Any:
    """Do the third step; return v, rows and contributions, and the acceptance probability."""

    def log_target(state: Any) -> Any:
        v, _, c = state
        return _log_prior_and_public(model, v, public) + jnp.sum(log_densities(densities, jnp.sum(c, axis=0)))

    log_chance = jnp.minimum(log_target(new) - log_target(now), 0.0)
    log_chance = jnp.where(jnp.isnan(log_chance), -jnp.inf, log_chance)
    return jax.tree.map(partial(jnp.where, log_uniform < log_chance), new, now), jnp.exp(log_chance)


def _compiled(model: RowModel, warmup: int) -> Any:
    """Return compiled functions, from a cache: draw rows, start NUTS, and step with NUTS and propose v for step 3."""
    key = ("augmented", warmup)
    if key not in model.compiled:
        init, step = hmc(potential_fn_gen=partial(_potential, model), algo="NUTS")

        def draw(v: Any, seeds: Any) -> Rows:
            return model.draw_with_keys(v, jax.random.wrap_key_data(seeds))

        def begin(v: Any, seed: Any, rows: Rows, public: Rows | None) -> Any:
            return init(
                v, warmup, dense_mass=True, target_accept_prob=TARGET_ACCEPTANCE, max_tree_depth=MAX_TREE_DEPTH,
                model_args=(rows, public), rng_key=jax.random.wrap_key_data(seed),
            )  # fmt: skip

        def nuts(normal: Any, state: Any, rows: Rows, public: Rows | None) -> Any:
            energy, gradient = jax.value_and_grad(_potential(model, rows, public))(state.z)  # the rows have changed
            state = step(state._replace(potential_energy=energy, z_grad=gradient), (rows, public))
            root = jnp.linalg.cholesky(state.adapt_state.inverse_mass_matrix)
            return state, state.z + WALK_SCALE / math.sqrt(model.size) * root @ normal

        each = (0, 0, 0, None)
        mapped = (jax.vmap(draw), jax.vmap(begin, each), jax.vmap(nuts, each))
        model.compiled[key] = tuple(jax.jit(one) for one in mapped)
    return model.compiled[key]


def _potential(model: RowModel, rows: Rows, public: Rows | None) -> Any:
    """Return the potential energy as a function of v: minus the log-prior and the log-density of all rows."""

    def energy(v: Any) -> Any:
        total = _log_prior_and_public(model, v, public) + jnp.sum(model.log_rows(v, rows))
        return jnp.where(jnp.isnan(total), jnp.inf, -total)

    return energy
