"""Sample the posterior: by ``independence_chains`` around its mode where it is nearly normal, otherwise by NUTS.

NumPyro's NUTS runs in coordinates in which the proposal of those chains is a unit normal: at the mode curvature is 1 in
all directions, where that of the reference may be off by orders of magnitude. Chains run side by side in threads. A
chain is a loop over compiled blocks of a fixed number of steps. They are functions of the problem's numbers, so that a
second problem of the same form needs no compilation, whatever the number of draws and chains. NUTS for several chains
in one array would take longer to compile, and every chain would wait for the longest trajectory.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.infer.hmc import hmc
from tqdm.auto import tqdm

from discreet.inference.clt.independence_chains import NearMode, Proposal
from discreet.inference.clt.likelihood import LogTarget
from discreet.inference.rows.row_model import RowModel, double_precision, make_keys

Array = NDArray[np.float64]

MAX_TREE_DEPTH = 8
TARGET_ACCEPTANCE = 0.8
CAREFUL_ACCEPTANCE = 0.9  # where variances are coordinates or depend on them, which bends the posterior sharply
START_SCALE = 0.5  # of the starting points around the mode, in posterior standard deviations
BLOCK = 100  # steps that are compiled together


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws, and how they were made.

    Attributes
    ----------
    w : array of shape (chains, draws, dimension)
    diverging : array of shape (chains, draws)
        Which of the transitions diverged.
    sampler : str
        ``"importance"``, ``"nuts"`` or ``"augmentation"``.
    pareto_k : float
        k̂ of the weights of points around the mode (``independence_chains``); not a number where none were drawn.
    """

    w: Array
    diverging: NDArray[np.bool_]
    sampler: str
    pareto_k: float = math.nan


def run_chains(
    model: RowModel, target: LogTarget, *, chains: int, draws: int, warmup: int, seed: int, progress: bool
) -> Chains:
    """Return draws from the posterior."""
    rng = np.random.default_rng(seed)
    size = target.data["w0"].size
    with double_precision():
        near = NearMode(model, target, rng, progress=progress)
        proposed = near.propose(chains * draws)
        if proposed.cover:
            u, sampler = near.run(proposed, chains, draws), "importance"
            diverging = np.zeros((chains, draws), dtype=bool)
        else:
            starts = rng.standard_normal((chains, target.size)) * START_SCALE
            u, diverging = _run_nuts(
                model, target, near.proposal, starts, draws=draws, warmup=warmup, seed=seed, progress=progress
            )
            sampler = "nuts"
    w = target.data["w0"] + u[:, :, :size] @ target.data["root"].T
    return Chains(w, diverging, sampler, proposed.pareto_k)


def _run_nuts(
    model: RowModel,
    target: LogTarget,
    proposal: Proposal,
    starts: Array,
    *,
    draws: int,
    warmup: int,
    seed: int,
    progress: bool,
) -> tuple[Array, NDArray[np.bool_]]:
    """Return chains of NUTS, and which of the transitions diverged; ``starts`` are in the proposal's coordinates."""
    chains, blocks = len(starts), -(-(warmup + draws) // BLOCK)
    bar = tqdm(total=blocks * BLOCK * chains, desc="posterior", unit="step", disable=not progress)
    with bar:
        begin, advance = _compiled(model, target, warmup)
        root = np.linalg.cholesky(proposal.scale)
        data, keys = jax.tree.map(jnp.asarray, (target.data, proposal.mode, root)), make_keys(seed, chains)
        # The first block of every chain comes before there are threads, so that all is compiled once.
        firsts = [advance(data, begin(data, *each)) for each in zip(starts, keys, strict=True)]
        bar.update(BLOCK * chains)

        def run(state: Any, block: Any) -> Any:
            drawn = [block]
            with double_precision():  # which is each thread's own
                for _ in range(blocks - 1):
                    state, block = advance(data, state)
                    drawn.append(jax.tree.map(np.asarray, block))
                    bar.update(BLOCK)
            return jax.tree.map(lambda *each: np.concatenate(each)[warmup : warmup + draws], *drawn)

        with ThreadPoolExecutor(min(chains, os.cpu_count() or 1)) as pool:
            z, diverging = jax.tree.map(lambda *each: np.stack(each), *pool.map(run, *zip(*firsts, strict=True)))
    return proposal.mode + z @ root.T, diverging


def _compiled(model: RowModel, target: LogTarget, warmup: int) -> Any:
    """Return compiled functions: start a chain, and advance it. Kept where the target is a function of its data."""
    density, acceptance = target.density, CAREFUL_ACCEPTANCE if "noise" in target.data else TARGET_ACCEPTANCE
    key = ("nuts", density, target.size, warmup, acceptance)
    if key in model.compiled:
        return model.compiled[key]

    def potential(data: Any) -> Any:
        own, mode, root = data
        return lambda z: -density(own, mode + root @ z)

    init, step = hmc(potential_fn_gen=potential, algo="NUTS")

    def begin(data: Any, start: Any, key: Any) -> Any:
        return init(
            start, warmup, max_tree_depth=MAX_TREE_DEPTH, target_accept_prob=acceptance, dense_mass=False,
            model_args=(data,), rng_key=key,
        )  # fmt: skip

    def advance(data: Any, state: Any) -> Any:
        def one(state: Any, _: Any) -> Any:
            state = step(state, model_args=(data,))
            return state, (state.z, state.diverging)

        return jax.lax.scan(one, state, length=BLOCK)

    functions = jax.jit(begin), jax.jit(advance)
    return model.compiled.setdefault(key, functions) if target.is_shared else functions
