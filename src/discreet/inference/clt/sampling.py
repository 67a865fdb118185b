"""Sample the posterior by NumPyro's NUTS in whitened coordinates, all chains side by side.

The whole run is one compiled function of the problem's numbers, so that a second problem of the same form starts at
once. The bar of a run that shows progress is moved from within it.
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

TREE = 8  # doublings of a trajectory, at most
ACCEPTANCE, CAREFUL = 0.8, 0.9  # and where variances are coordinates or follow them, which makes corners
NEAR = 0.5  # how far from the reference chains start, in posterior standard deviations
EVERY = 20  # steps of all chains between two moves of the bar

_BARS: list[Any] = []  # the bar of the run at hand, if any


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws of w, of shape (chains, draws, dimension), and which of the transitions diverged."""

    w: Array
    diverging: NDArray[np.bool_]


def sample(
    model: RowModel, target: LogTarget, *, chains: int, draws: int, warmup: int, seed: int, progress: bool
) -> Chains:
    """Return draws from the posterior."""
    with double_precision():
        acceptance = CAREFUL if "noise" in target.data else ACCEPTANCE
        run = jax.jit(_runner(target.density, draws, warmup, acceptance, progress))
        if target.shared:
            run = model.compiled.setdefault(("nuts", target.density, target.size, draws, warmup, progress), run)
        start = np.random.default_rng(seed).standard_normal((chains, target.size)) * NEAR
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
        _BARS[-1].update(EVERY)


def _runner(
    density: Callable[[Any, Any], Any], draws: int, warmup: int, acceptance: float, progress: bool
) -> Callable[..., Any]:
    """Return the function that runs all chains."""

    def chain(data: Any, start: Any, key: Any) -> Any:
        init, step = hmc(potential_fn_gen=lambda data: lambda u: -density(data, u), algo="NUTS")
        state = init(
            start, warmup, max_tree_depth=TREE, target_accept_prob=acceptance, dense_mass=False, model_args=(data,),
            rng_key=key,
        )  # fmt: skip

        def advance(state: Any, i: Any) -> Any:
            if progress:
                jax.lax.cond(i % EVERY == EVERY - 1, lambda: jax.debug.callback(_tick), lambda: None)
            state = step(state, model_args=(data,))
            return state, (state.z, state.diverging)

        # One loop over both, which is compiled once; what the warm-up drew is dropped.
        drawn = jax.lax.scan(advance, state, jnp.arange(warmup + draws))[1]
        return jax.tree.map(lambda each: each[warmup:], drawn)

    return jax.vmap(chain, in_axes=(None, 0, 0))
