"""Sample the posterior by NumPyro's NUTS in whitened coordinates, all chains in parallel.

The whole run is one compiled function of the problem's numbers, so that a second problem of the same form needs no
compilation. The progress bar is updated from within the compiled run, by a callback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.infer.hmc import hmc

from discreet.inference.clt.likelihood import LogTarget
from discreet.inference.rows.row_model import RowModel, double_precision

Array = NDArray[np.float64]

MAX_TREE_DEPTH = 8
TARGET_ACCEPTANCE = 0.8
CAREFUL_ACCEPTANCE = 0.9  # where variances are coordinates or depend on them, which bends the posterior sharply
START_SCALE = 0.5  # of the starting points around the reference, in posterior standard deviations
BAR_STEPS = 20  # between two updates of the progress bar

_BARS: list[Any] = []  # the progress bar of the current run, if any


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws of w, of shape (chains, draws, dimension), and which of the transitions diverged."""

    w: Array
    diverging: NDArray[np.bool_]


def run_chains(
    model: RowModel, target: LogTarget, *, chains: int, draws: int, warmup: int, seed: int, progress: bool
) -> Chains:
    """Return draws from the posterior."""
    with double_precision():
        acceptance = CAREFUL_ACCEPTANCE if "noise" in target.data else TARGET_ACCEPTANCE
        run = jax.jit(_runner(target.density, draws, warmup, acceptance, progress))
        if target.is_shared:
            run = model.compiled.setdefault(("nuts", target.density, target.size, draws, warmup, progress), run)
        start = np.random.default_rng(seed).standard_normal((chains, target.size)) * START_SCALE
        keys = jax.random.split(jax.random.key(seed), chains)
        if progress:
            from tqdm.auto import tqdm

            _BARS.append(tqdm(total=(draws + warmup) * chains, desc="posterior", unit="draw"))
        try:
            u, diverging = jax.tree.map(np.asarray, run(target.data, start, keys))
        finally:
            if progress:
                jax.effects_barrier()  # type: ignore[no-untyped-call]
                _BARS.pop().close()
    size = target.data["w0"].size
    return Chains(target.data["w0"] + u[:, :, :size] @ target.data["root"].T, diverging)


def _tick() -> None:
    if _BARS:
        _BARS[-1].update(BAR_STEPS)


def _runner(
    density: Callable[[Any, Any], Any], draws: int, warmup: int, acceptance: float, progress: bool
) -> Callable[..., Any]:
    """Return the function that runs all chains, from their data, starting points and random keys."""

    def chain(data: Any, start: Any, key: Any) -> Any:
        init, step = hmc(potential_fn_gen=lambda data: lambda u: -density(data, u), algo="NUTS")
        state = init(
            start,
            warmup,
            max_tree_depth=MAX_TREE_DEPTH,
            target_accept_prob=acceptance,
            dense_mass=False,
            model_args=(data,),
            rng_key=key,
        )

        def advance(state: Any, i: Any) -> Any:
            if progress:
                jax.lax.cond(i % BAR_STEPS == BAR_STEPS - 1, lambda: jax.debug.callback(_tick), lambda: None)
            state = step(state, model_args=(data,))
            return state, (state.z, state.diverging)

        # One loop over warm-up and draws is compiled once; the draws of the warm-up are dropped.
        drawn = jax.lax.scan(advance, state, jnp.arange(warmup + draws))[1]
        return jax.tree.map(lambda each: each[warmup:], drawn)

    return jax.vmap(chain, in_axes=(None, 0, 0))
