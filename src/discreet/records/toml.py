"""The TOML form of a schema: a small closed format, read with ``tomllib`` and written here.

::

    unit = "patient_id"        # optional, with max_rows
    max_rows = 10
    unit_type = "text"         # or "integer"
    order = "admitted"         # optional: the first rows count

    [columns.age]
    low = 17
    high = 90
    missing = "drop"           # or "fill", with fill = 40

    [columns.income]
    low = 1
    high = 1e6
    log = true                 # optional

    [columns.admitted]
    low = 2020-01-01
    high = 2025-12-31

    [columns.sex]
    values = ["female", "male"]

A key that the format does not have is an error: a misspelt ``mising`` must not pass in silence.
"""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.records.columns import Category, Column, Date, Number

__all__ = ["read", "write"]

UNIT = ("unit", "max_rows", "unit_type", "order")
KEYS: dict[type, tuple[str, ...]] = {
    Number: ("low", "high", "log", "missing", "fill"),
    Date: ("low", "high", "missing", "fill"),
    Category: ("values", "missing", "fill"),
}


def read(text: str) -> dict[str, Any]:
    """Return the arguments of a ``Schema``."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the schema is not valid TOML: {error}") from None
    except (ValueError, RecursionError, TypeError):  # a number of thousands of digits, a list of thousands of lists
        raise ValueError("the schema is not valid TOML: expected shorter numbers and flat lists") from None
    _known("the schema", found, (*UNIT, "columns"))
    columns = found.pop("columns", {})
    if not isinstance(columns, dict) or not columns:
        raise ValueError("the schema has no columns: write for example\n\n[columns.age]\nlow = 17\nhigh = 90")
    return {"columns": {name: _column(name, values) for name, values in columns.items()}, **found}


def _column(name: str, values: Any) -> Column:
    if not isinstance(values, dict) or not ({"low", "high", "values"} & set(values)):
        raise ValueError(f"[columns.{_key(name)}]: write low = … and high = …, or values = […]")
    dated = any(isinstance(values.get(end), datetime.date | str) for end in ("low", "high"))
    kind: type[Column] = Category if "values" in values else Date if dated else Number
    _known(f"[columns.{_key(name)}]", values, KEYS[kind])
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"[columns.{_key(name)}]: {error}") from None


def _known(where: str, values: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in values:
        if key not in keys:
            raise ValueError(f"{where}: the key {key!r} is not known; expected " + ", ".join(keys))


def write(unit: Mapping[str, Any], columns: Iterable[tuple[str, Column]]) -> str:
    """Return a schema as TOML text."""
    lines = [f"{key} = {_value(value)}" for key, value in unit.items() if value is not None]
    lines += [""] if lines else []
    for name, column in columns:
        lines.append(f"[columns.{_key(name)}]")
        values = {key: getattr(column, key) for key in KEYS[type(column)]}
        said = {key: value for key, value in values.items() if value is not None and (key, value) != ("log", False)}
        lines += [f"{key} = {_value(value)}" for key, value in said.items()]
        lines.append("")
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{value!r} has half a surrogate pair, which TOML cannot hold") from None
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
