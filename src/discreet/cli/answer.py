"""What a command returns: values for a program, and the same in words and tables for a person."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.guarantees import Guarantee

__all__ = ["CommandOutput", "OutputTable", "facts", "plain", "words"]


@dataclass(frozen=True)
class OutputTable:
    """A table.

    Attributes
    ----------
    head : sequence of str
    rows : sequence of sequence
        Text, numbers, or None.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class CommandOutput:
    """What a command found.

    Attributes
    ----------
    data : mapping
        For ``--json``: everything that is shown, and maybe more.
    shown : sequence of str or OutputTable
        For a person: paragraphs and tables, in this order. Nothing is printed where nothing is shown: the command
        wrote to standard output itself.
    code : int
        With which the command ends.
    """

    data: Mapping[str, Any]
    shown: Sequence[str | OutputTable]
    code: int = 0


def facts(pairs: Mapping[str, Any]) -> OutputTable:
    """Return a table of names and values, without those that are None.

    >>> facts({"guarantee": "(ε=1, δ=1e-06)", "ledger": None}).rows
    [('guarantee', '(ε=1, δ=1e-06)')]
    """
    return OutputTable((), [(name, value) for name, value in pairs.items() if value is not None])


def plain(value: Any) -> Any:
    """Return a value as JSON has it; what is not finite is null.

    >>> plain({"epsilon": np.float64("inf"), "columns": ("age",)})
    {'epsilon': None, 'columns': ['age']}
    """
    if isinstance(value, Guarantee):
        return {"epsilon": value.epsilon, "delta": value.delta, "neighbors": str(value.neighbors)}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return str(value)


def words(value: Any) -> str:
    """Return a cell of a table as text; what a terminal would take for a command is no letter.

    >>> words(0.1234567), words(None), words("a" + chr(27) + "b")
    ('0.123457', '', 'a�b')
    """
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return "".join(letter if letter.isprintable() else "�" for letter in str(value))
