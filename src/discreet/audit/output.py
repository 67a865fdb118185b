"""What an attacker sees of a result: its releases and every public number on it; and what it claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claim import Claim
from discreet.door import Release
from discreet.guarantees import Guarantee

__all__ = ["Output", "claimed_by", "seen"]

Array = NDArray[np.float64]

MOST = 512  # numbers that are looked at, of one result
DEPTH = 3


@dataclass(frozen=True, eq=False)
class Output:
    """One result, as an attacker has it.

    Attributes
    ----------
    numbers : array
        Those of its public attributes, and of releases whose noise law is not stated.
    releases : tuple of Release
    """

    numbers: Array
    releases: tuple[Release, ...]


def seen(result: Any) -> Output:
    """Return what can be seen of a fitted estimator, an answer, a release, or of numbers."""
    releases = _releases(result)
    numbers = [release.value for release in releases if release.law is None]
    if not isinstance(result, Release):
        numbers += list(_numbers(result, DEPTH))
    flat = np.concatenate([np.empty(0), *(np.ravel(each) for each in numbers)])
    return Output(np.nan_to_num(flat[:MOST], posinf=1e300, neginf=-1e300), releases)


def _releases(result: Any) -> tuple[Release, ...]:
    if isinstance(result, Release):
        return (result,)
    for name in ("releases_", "releases"):
        found = getattr(result, name, None)
        if isinstance(found, Iterable) and all(isinstance(one, Release) for one in found):
            return tuple(found)
    one = getattr(result, "release", None)
    if isinstance(one, Release):
        return (one,)
    if isinstance(result, tuple | list):
        return tuple(release for part in result for release in _releases(part))
    return ()


def claimed_by(result: Any) -> Claim | None:
    """Return what a result says of itself; None where it says nothing."""
    releases = _releases(result)
    if isinstance(result, tuple | list) and releases:
        return Claim.of(tuple(release.loss for release in releases))
    losses = tuple(release.loss for release in releases)
    for name in ("guarantee_", "guarantee"):
        if hasattr(result, name):  # None where it says that nothing is promised
            guarantee = getattr(result, name)
            return Claim(guarantee, losses) if isinstance(guarantee, Guarantee) else None
    return Claim.of(losses) if losses else None


def _numbers(value: Any, depth: int) -> Iterable[Array]:
    """Yield the numbers of a value: of an array, of what a container holds, of public attributes of an object."""
    if isinstance(value, bool | int | float | np.number | np.bool_):
        yield np.array([float(value)])
    elif isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            yield value.astype(np.float64)
    elif depth == 0 or value is None or isinstance(value, str | bytes | type | Release):
        return
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _numbers(value[key], depth - 1)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _numbers(part, depth - 1)
    elif hasattr(value, "__dict__"):
        for name, part in sorted(vars(value).items()):
            if not name.startswith("_") and name not in ("releases", "releases_", "losses", "losses_"):
                yield from _numbers(part, depth - 1)
