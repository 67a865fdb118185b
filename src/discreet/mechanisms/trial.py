"""Checks of a user's function and arguments before anything is spent, on made-up rows.

``queries.functions.user_functions`` makes such a function total on real rows, so a mistake in it would pass unnoticed.
Made-up rows are public: what goes wrong there is an error that says so.
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import UNSHOWN, ArgumentError, probability
from discreet.door import Curator
from discreet.queries.functions.user_functions import Array, NotNumbers, Own, numbers, quiet

MADE_UP = 100


def tried(own: Own, curator: Curator, argument: str = "f") -> Own:
    """Return the function, which was called with made-up rows of the declared kind; raise where it fails on those."""
    result_on_made_up_rows(own, curator, argument)
    return own


def result_on_made_up_rows(own: Own, curator: Curator, argument: str = "f") -> Array:
    """Return what the function makes of made-up rows, not moved anywhere; raise where it fails."""
    rows = made_up(curator)
    try:
        with quiet():
            return numbers(own.f(rows), own.shape)
    except NotNumbers as error:
        wanted = f"numbers of shape {own.shape}" if own.shape else "one number"
        raise ArgumentError(argument, UNSHOWN, f"a function that returns {wanted}, got {error}") from None
    except Exception as error:
        raise ArgumentError(
            argument,
            UNSHOWN,
            f"a function that works on rows; on {MADE_UP} made-up rows it raised {type(error).__name__}: {error}; "
            "where it has no result, write return float('nan')",
        ) from error


def made_up(curator: Curator, count: int = MADE_UP) -> Array:
    """Return rows that have nothing to do with the data: uniform over what is declared."""
    rng = np.random.default_rng(0)
    columns = [np.empty((count, 0))]
    if curator.space is not None:
        center, scale = np.asarray(curator.space.center), np.asarray(curator.space.scale)
        columns.append(curator.space.clip(center + scale * rng.uniform(-1.0, 1.0, (count, len(scale)))))
    columns += [rng.integers(len(values), size=(count, 1)).astype(np.float64) for values in curator.categories]
    return np.concatenate(columns, axis=1)


def checked_share_of_epsilon(share: float) -> float:
    """Return a share of ε, strictly between 0 and 1."""
    if probability("share", share, accepted="a number in (0, 1)") == 0.0:
        raise ArgumentError("share", share, "a number in (0, 1)")
    return float(share)
