"""Fits of pairwise models with fewer sweeps and chains, for tests that do not need the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.models.synthesis import pairwise_fit
from effort import LONG

__all__ = ["shorter_synthesis"]


@contextmanager
def shorter_synthesis(sweeps: int = 80, chains: int = 1500) -> Iterator[None]:
    """Make fits shorter within; ``make audit`` has them at full length."""
    kept = pairwise_fit.SWEEPS, pairwise_fit.CHAINS
    if not LONG:
        pairwise_fit.SWEEPS, pairwise_fit.CHAINS = sweeps, chains
    try:
        yield
    finally:
        pairwise_fit.SWEEPS, pairwise_fit.CHAINS = kept
