"""Checks of a user's function and arguments before anything is spent, on made-up rows.

``queries.functions.user_functions`` makes a user's function total on real rows, so a mistake in it would go unnoticed
there. Made-up rows are public, so a failure on them can be reported as an error.
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import UNSHOWN, ArgumentError, probability
from discreet.door import Curator
from discreet.guarantees import Neighbors
from discreet.queries.functions.user_functions import Array, NotNumbers, UserFunction, as_numbers, silence_warnings

MADE_UP = 100


def try_function(function: UserFunction, curator: Curator, argument: str = "f") -> UserFunction:
    """Return the function, after a call with made-up rows of the declared kind; raise where it fails on them."""
    call_on_made_up_rows(function, curator, argument)
    return function


def call_on_made_up_rows(function: UserFunction, curator: Curator, argument: str = "f") -> Array:
    """Return the function's result on made-up rows, not clipped; raise where it fails."""
    rows = make_up_rows(curator)
    try:
        with silence_warnings():
            return as_numbers(function.f(rows), function.shape)
    except NotNumbers as error:
        wanted = f"numbers of shape {function.shape}" if function.shape else "one number"
        raise ArgumentError(argument, UNSHOWN, f"a function that returns {wanted}, got {error}") from None
    except Exception as error:
        raise ArgumentError(
            argument,
            UNSHOWN,
            f"a function that works on rows; on {MADE_UP} made-up rows it raised {type(error).__name__}: {error}; "
            "where it has no result, write return float('nan')",
        ) from error


def make_up_rows(curator: Curator, count: int = MADE_UP) -> Array:
    """Return rows that do not depend on the data: uniform over the declared columns."""
    rng = np.random.default_rng(0)
    columns = [np.empty((count, 0))]
    if curator.space is not None:
        center, scale = np.asarray(curator.space.center), np.asarray(curator.space.scale)
        columns.append(curator.space.clip(center + scale * rng.uniform(-1.0, 1.0, (count, len(scale)))))
    columns += [rng.integers(len(values), size=(count, 1)).astype(np.float64) for values in curator.categories]
    return np.concatenate(columns, axis=1)


def require_one_row_per_unit(curator: Curator, reason: str) -> None:
    """Raise where a unit may have several rows."""
    if curator.setting.max_rows != 1:
        raise ValueError(f"max_rows={curator.setting.max_rows}: expected 1, since {reason}; write sample_and_aggregate")


def require_public_rows(curator: Curator, reason: str, instead: str) -> int:
    """Return the number of rows where it is public; raise where it is not, or where there is no row."""
    if curator.neighbors is not Neighbors.REPLACE_ONE:
        raise ArgumentError("neighbors", "add-remove", f"'replace-one', since {reason}", write=instead)
    rows = curator.size.rows
    if rows is None or rows == 0:
        raise ArgumentError(
            "data",
            UNSHOWN,
            f"at least one row, and rows that all count and are units of their own, since {reason}",
            write="missing='fill' for columns with gaps, and one row for each person",
        )
    return rows


def check_share(share: float) -> float:
    """Return a share of ε, checked to be strictly between 0 and 1."""
    if probability("share", share, accepted="a number in (0, 1)") == 0.0:
        raise ArgumentError("share", share, "a number in (0, 1)")
    return float(share)
