"""What was asked, as plain values: so that whoever reads a release knows what each row contributed to it.

A question is an immutable value of public numbers, so it can be written down whole: the name of its class and its
fields, one inside the other. ``described`` does that for questions of this library; one that a user wrote, or that
holds a function, is not described, for a file cannot bring it back. ``asked`` reads a description. It makes nothing
but frozen dataclasses and enumerations of this library, from the fields that stand there, each of which checks what it
is given as it does for every caller.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from discreet.door.question import Question

__all__ = ["asked", "described"]

HOUSE = "discreet."
NUMBERS = {np.dtype(code).name for code in np.typecodes["AllInteger"] + "?efd"}


class _ForeignError(Exception):
    """Something that cannot be written down."""


def described(question: Any) -> dict[str, Any] | None:
    """Return a question as plain values, for JSON; None where it is not of this library.

    >>> from discreet import Histogram
    >>> described(Histogram(categories=3))
    {'kind': 'discreet.door.queries.histogram:Histogram', 'categories': 3, 'column': 0}
    """
    try:
        found: dict[str, Any] = _plain(question)
    except _ForeignError:
        return None
    return found


def asked(description: Mapping[str, Any]) -> Question:
    """Return the question that ``described`` wrote down.

    >>> from discreet import Box, Sum
    >>> asked(described(Sum(Box(0.0, 1.0)))) == Sum(Box(0.0, 1.0))
    True
    """
    try:
        question = _value(description)
    except (ArithmeticError, AttributeError, ImportError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"asked: expected a question that this version can read ({error})") from error
    if not isinstance(question, Question):
        raise ValueError(f"asked: expected a question, got a {type(question).__name__}")
    return question


def _kind(value: Any) -> str:
    kind = type(value)
    if not kind.__module__.startswith(HOUSE) or "<" in kind.__qualname__:
        raise _ForeignError
    return f"{kind.__module__}:{kind.__qualname__}"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"kind": "float", "value": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Enum):
        return {"kind": _kind(value), "value": value.value}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, np.ndarray) and value.dtype.name in NUMBERS:
        return {
            "kind": "array",
            "type": value.dtype.name,
            "shape": list(value.shape),
            "values": _plain(value.ravel().tolist()),
        }
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": _kind(value)} | {
            field.name: _plain(getattr(value, field.name)) for field in fields(value) if field.init
        }
    raise _ForeignError


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(_value(item) for item in plain)
    if not isinstance(plain, Mapping):
        return plain
    given = {name: value for name, value in plain.items() if name != "kind"}
    if plain["kind"] == "float":
        return float(given["value"])
    if plain["kind"] == "array":
        if given["type"] not in NUMBERS:
            raise ValueError(f"type={given['type']!r}: expected a type of numbers")
        return np.array(_value(given["values"]), dtype=given["type"]).reshape(given["shape"])
    module, _, name = str(plain["kind"]).partition(":")
    if not module.startswith(HOUSE):
        raise ValueError(f"kind={plain['kind']!r}: expected one of this library")
    kind: Any = import_module(module)
    for part in name.split("."):
        kind = getattr(kind, part)
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return kind(given["value"])
    if not (inspect.isclass(kind) and is_dataclass(kind) and kind.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise ValueError(f"kind={plain['kind']!r}: expected an immutable value")
    return kind(**{str(key): _value(value) for key, value in given.items()})
