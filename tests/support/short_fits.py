"""Fits of pairwise models with fewer sweeps and chains, for tests that do not need the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.models.synthesis import pairwise_model
from effort import LONG

__all__ = ["shorter_synthesis"]


@contextmanager
def shorter_synthesis(sweeps: int = 80, chains: int = 1500) -> Iterator[None]:
    """Make fits shorter within; ``make audit`` has them at full length."""
    kept = pairwise_model.SWEEPS, pairwise_model.CHAINS
    if not LONG:
        pairwise_model.SWEEPS, pairwise_model.CHAINS = sweeps, chains
    try:
        yield
    finally:
        pairwise_model.SWEEPS, pairwise_model.CHAINS = kept
