"""Blocks summed on all cores, in the order of the blocks.

Each block is small, so a matrix product gains nothing from several threads and loses much to their meeting. The other
way round is faster: one thread a core, each with a block of its own, and BLAS on one thread meanwhile. What comes out
does not depend on the number of threads: results are taken in the order of the blocks.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from array_api_compat import is_numpy_array

from discreet.records.reading import RawBlock

__all__ = ["in_order"]

Found = TypeVar("Found")


@lru_cache(maxsize=1)
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_order(work: Callable[[RawBlock], Found], blocks: Iterable[RawBlock]) -> Iterator[Found]:
    """Yield ``work`` of each block, in order, on several threads where that pays.

    Blocks of another library than NumPy are worked on one after the other: those libraries use the machine themselves.
    """
    ahead = iter(blocks)
    first = list(islice(ahead, 4))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1 or len(first) < 4 or not is_numpy_array(first[0].numbers):
        yield from map(work, first)
        yield from map(work, ahead)
        return
    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(cores, "discreet") as pool:
        waiting: deque[Future[Found]] = deque(pool.submit(work, block) for block in first)
        try:
            for block in ahead:
                waiting.append(pool.submit(work, block))
                if len(waiting) > cores:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
