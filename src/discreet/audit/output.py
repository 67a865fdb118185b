"""Read what an attacker observes of a result: its releases and every public number; and what the result claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claim import Claim
from discreet.door import Release
from discreet.guarantees import Guarantee

Array = NDArray[np.float64]

MOST, FOLDS = 512, 16  # numbers of a result that are used, and random sums of the others
MISSING = 1.2345e299  # in place of NaN: a number that does not occur otherwise
DEPTH = 3


@dataclass(frozen=True, eq=False)
class Output:
    """One result, as an attacker observes it.

    Attributes
    ----------
    numbers : array
        The numbers of its public attributes, and of releases whose noise is not stated.
    releases : tuple of Release
    """

    numbers: Array
    releases: tuple[Release, ...]


def read_error(error: Exception) -> Output:
    """Return the observable output of an error: its type and its message."""
    return Output(np.concatenate([_hash(type(error).__name__), _hash(str(error)), np.ones(1)]), ())


def read_output(result: Any) -> Output:
    """Return the observable output of a fitted estimator, an answer, a release, or any other object."""
    releases = _releases(result)
    numbers = [release.value for release in releases if release.noise is None]
    if not isinstance(result, Release):
        numbers += list(_numbers(result, DEPTH))
    flat = np.concatenate([np.empty(0), *(np.ravel(each) for each in numbers)]).astype(np.float64)
    return Output(_fold(np.nan_to_num(flat, nan=MISSING, posinf=1e300, neginf=-1e300)), releases)


def _fold(numbers: Array) -> Array:
    """Return the first ``MOST`` numbers, and random sums of the others with fixed signs."""
    rest = np.clip(numbers[MOST:], -1e60, 1e60)
    if not len(rest):
        return numbers
    signs = np.random.default_rng(len(rest)).choice([-1.0, 1.0], (FOLDS, len(rest)))
    return np.concatenate([numbers[:MOST], signs @ rest])


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
    parts = list(result.values()) if isinstance(result, Mapping) else result
    return tuple(release for part in parts for release in _releases(part)) if isinstance(parts, tuple | list) else ()


def read_claim(result: Any) -> Claim | None:
    """Return the guarantee that a result states; None if it states none."""
    releases = _releases(result)
    if isinstance(result, tuple | list | Mapping) and releases:
        return Claim.from_losses(tuple(release.loss for release in releases))
    losses = tuple(release.loss for release in releases)
    for name in ("guarantee_", "guarantee"):
        if hasattr(result, name):  # None if nothing is guaranteed
            guarantee = getattr(result, name)
            return Claim(guarantee, losses) if isinstance(guarantee, Guarantee) else None
    return Claim.from_losses(losses) if losses else None


def _numbers(value: Any, depth: int) -> Iterable[Array]:
    """Yield the numbers of a value: of an array, of the items of a container, of the public attributes of an object.

    Other values are hashed to a number by their ``repr``, so that different texts give different numbers.
    """
    if isinstance(value, bool | int | float | complex | np.number | np.bool_):
        yield _floats(value)
    elif isinstance(value, Release):
        return  # read by ``_releases``
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        yield np.concatenate(
            [np.ravel(value.real), np.ravel(value.imag)] if value.dtype.kind == "c" else [np.ravel(value)]
        )
    elif depth == 0 or value is None or isinstance(value, str | bytes | type):
        yield _hash(value)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _numbers(key, 0)
            yield from _numbers(value[key], depth - 1)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _numbers(part, depth - 1)
    elif isinstance(value, set | frozenset):
        yield from _numbers(sorted(map(repr, value)), depth - 1)
    elif hasattr(value, "to_numpy") or isinstance(value, np.ndarray):  # a frame or a series, or an array of objects
        yield from _numbers(np.asarray(value).tolist(), depth)
    elif getattr(value, "__dict__", None):
        for name, part in sorted(vars(value).items()):
            if not name.startswith("_") and name not in ("releases", "releases_", "losses", "losses_"):
                yield from _numbers(part, depth - 1)
    else:
        yield _hash(value)


def _floats(value: Any) -> Array:
    try:
        return np.array([complex(value).real, complex(value).imag] if isinstance(value, complex) else [float(value)])
    except OverflowError:
        return _hash(value)


def _hash(value: Any) -> Array:
    return np.array([float(crc32(repr(value).encode(errors="replace")))])
