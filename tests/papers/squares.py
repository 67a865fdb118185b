"""A small experiment's measurement. Processes that measure import this module, and so nothing that takes long."""

from __future__ import annotations

__all__ = ["measure", "measured"]

measured: list[int] = []  # what was measured in this process, in order


def measure(x: int, seed: int) -> dict[str, float]:
    measured.append(x)
    return {"square": float(x * x + seed)}
