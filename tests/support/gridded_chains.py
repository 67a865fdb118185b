"""Draws from a posterior of one or two parameters by its density on a grid, for tests of the density itself.

The same density is what chains walk on, but they take many seconds to compile for each kind of model. Chains proper are
tested in ``test_infer.py``, and wherever these are used by ``make audit``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import discreet as dp

__all__ = ["gridded_chains", "gridded_posterior"]


def gridded_chains(monkeypatch: Any, *axes: Any) -> None:
    """Have ``dp.infer`` draw from cells of a grid in whitened coordinates, for the rest of a test."""
    import jax

    from discreet.inference.clt.sampling import Chains
    from discreet.inference.rows.row_model import double_precision

    def run_chains(model: Any, target: Any, *, chains: int, draws: int, seed: int, **_: Any) -> Chains:
        assert target.size == target.data["w0"].size == len(axes)
        grid = np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], axis=1)
        with double_precision():
            run = jax.jit(lambda data, u: jax.lax.map(lambda one: target.density(data, one), u, batch_size=64))
            logs = np.asarray(run(target.data, grid))
        shares = np.exp(logs - logs.max())
        edge = np.any([np.isin(u, axis[[0, -1]]) for u, axis in zip(grid.T, axes, strict=True)], axis=0)
        assert shares[edge].sum() < 0.01 * shares.sum(), "the grid is too narrow"
        rng = np.random.default_rng(seed)
        cells = grid[rng.choice(len(grid), (chains, draws), p=shares / shares.sum())]
        u = cells + (rng.random(cells.shape) - 0.5) * [axis[1] - axis[0] for axis in axes]
        w = target.data["w0"] + u @ target.data["root"].T
        return Chains(w, np.zeros((chains, draws), dtype=bool), "nuts")

    monkeypatch.setattr(sys.modules[dp.infer.__module__], "run_chains", run_chains)


def gridded_posterior(log_likelihood: Any, prior: Any, *, draws: int, seed: int, **_: Any) -> Any:
    """Return draws of two parameters by the density on a grid of ±6, in place of ``sampled_posterior``."""
    import jax

    from discreet.inference.factored.factored_posterior import SampledPosterior
    from discreet.inference.rows.row_model import double_precision

    axis = np.linspace(-6.0, 6.0, 97)
    grid = np.stack([each.ravel() for each in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    with double_precision():
        run = jax.jit(lambda u: jax.lax.map(lambda one: prior().log_prob(one) + log_likelihood(one), u, batch_size=97))
        logs = np.asarray(run(grid))
    shares = np.exp(logs - logs.max())
    chosen = np.random.default_rng(seed).choice(len(grid), draws, p=shares / shares.sum())
    return SampledPosterior(grid[chosen][None], 0)
