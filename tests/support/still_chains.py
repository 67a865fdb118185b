"""Chains that stay near where they start, for tests of what a posterior says and not of what it is.

Chains proper take seconds to compile for each kind of model; their draws are tested in ``test_inference_*.py``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import discreet as dp

__all__ = ["still_chains"]


def still_chains(monkeypatch: Any) -> None:
    """Have ``dp.infer`` draw from a small normal distribution around its reference, for the rest of a test."""
    from discreet.inference.clt.sampling import Chains

    def run_chains(model: Any, target: Any, *, chains: int, draws: int, seed: int, **_: Any) -> Chains:
        start = target.data["w0"]
        away = 1e-3 * np.random.default_rng(seed).standard_normal((chains, draws, start.size))
        return Chains(start + away, np.zeros((chains, draws), dtype=bool), "nuts")

    monkeypatch.setattr(sys.modules[dp.infer.__module__], "run_chains", run_chains)
