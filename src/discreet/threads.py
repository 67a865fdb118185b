"""How many cores and threads work is done on. No number depends on it.

Imports no other room.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

__all__ = ["count_cores", "one_blas_thread"]


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_blas_thread() -> Any:
    """Return a context in which a matrix product uses one thread: where work is on threads already, or is small."""
    return _libraries().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
