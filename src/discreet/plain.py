"""Converts frozen dataclasses to plain values for JSON and back: the name of the class, then its fields.

Imports these rooms, and may import any other above it: ``arguments``.

Releases, ledgers and files store losses, noise and declared spaces in this way. Values are checked when they are read.
What earlier versions wrote is converted elsewhere: fields of releases in ``door.release``, questions in
``queries.question_files``, fitted estimators in ``estimators.persistence``, their budget plans in ``Method.earlier``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from inspect import isabstract
from typing import Any, TypeVar

from discreet.arguments import UNSHOWN, ArgumentError, choice, format_value

T = TypeVar("T")


def read_json(text: Any) -> Any:
    """Return the value of a JSON text. The error of a text that is not JSON shows nothing of it: it may be any file.

    >>> read_json("[" * 10**5)
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: text: expected JSON, as to_json writes it
    """
    if not isinstance(text, str | bytes | bytearray):
        raise ValueError(f"text of type {type(text).__name__}: expected JSON, as to_json writes it")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # of JSON, of UTF-8, and of a number of thousands of digits
        raise ArgumentError("text", UNSHOWN, "JSON, as to_json writes it") from None


def to_plain(value: Any) -> dict[str, Any]:
    """Return a dataclass as a dictionary of plain values; enumerations by their value, tuples as lists.

    >>> from discreet import LaplaceLoss
    >>> to_plain(LaplaceLoss(0.5))
    {'kind': 'LaplaceLoss', 'epsilon': 0.5, 'neighbors': 'replace-one'}
    """
    return {"kind": type(value).__name__} | {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def from_plain(kinds: Mapping[str, type[T]], values: Mapping[str, Any]) -> T:
    """Return the value that ``to_plain`` described: of one of ``kinds``, with all of its fields and no others.

    Abstract classes are not accepted.
    """
    known = {name: kind for name, kind in kinds.items() if not isabstract(kind)}
    if not isinstance(values, Mapping):
        raise ArgumentError("values", values, f"what to_dict wrote, one of {', '.join(known)}")
    kind: Any = known[choice("kind", values.get("kind"), known)]
    given = {name: value for name, value in values.items() if name != "kind"}
    names = {field.name for field in fields(kind)}
    if given.keys() != names:
        raise ValueError(
            f"{kind.__name__}: expected the fields {sorted(names)}, got {format_value(sorted(map(str, given)))}"
        )
    made: T = kind(**given)
    return made


def register_kind(kinds: dict[str, type[T]], kind: type[T]) -> None:
    """Register a class under its name, which files use. A name that is taken is refused.

    A class that is defined again, as in a notebook, replaces itself.
    """
    known = kinds.get(kind.__name__, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise TypeError(f"class {kind.__name__}: expected another name; files and ledgers mean {known!r} by this one")
    kinds[kind.__name__] = kind
