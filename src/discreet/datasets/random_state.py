"""The ``random_state`` argument of the generators: an int, a ``Generator`` or ``None``."""

from __future__ import annotations

import operator

import numpy as np

from discreet.arguments import ArgumentError

__all__ = ["Seed", "generator"]

Seed = int | np.integer | np.random.Generator | None


def generator(random_state: Seed) -> np.random.Generator:
    """Return a generator: seeded by an int, the given one, or a fresh one for ``None``.

    The global state of ``numpy.random`` is neither read nor changed. The generator makes data; noise for
    privacy never comes from it.

    >>> bool(generator(7).random() == generator(7).random())
    True
    >>> generator("seven")
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: random_state='seven': expected a whole number, at least 0, a numpy.random...
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    try:
        seed = operator.index(random_state)
    except TypeError:
        seed = -1
    if seed < 0 or isinstance(random_state, bool):
        raise ArgumentError(
            "random_state", random_state, "a whole number, at least 0, a numpy.random.Generator or None"
        )
    return np.random.default_rng(seed)
