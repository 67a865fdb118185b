"""The output of a command and its printing: tables on a terminal, aligned text in a pipe, JSON with ``--json``.

Answers go to standard output, messages to standard error. Terminal control characters are never printed.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.guarantees import Guarantee


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
    """The output of a command.

    Attributes
    ----------
    data : mapping
        For ``--json``: everything that is shown, and possibly more.
    shown : sequence of str or OutputTable
        For readers: paragraphs and tables, in order. Empty where the command wrote to standard output itself.
    code : int
        The exit code.
    """

    data: Mapping[str, Any]
    shown: Sequence[str | OutputTable]
    code: int = 0


def facts_table(pairs: Mapping[str, Any]) -> OutputTable:
    """Return a table of names and values, without those that are None.

    >>> facts_table({"guarantee": "(ε=1, δ=1e-06)", "ledger": None}).rows
    [('guarantee', '(ε=1, δ=1e-06)')]
    """
    return OutputTable((), [(name, value) for name, value in pairs.items() if value is not None])


def to_json(value: Any) -> Any:
    """Return a value in the types of JSON; numbers that are not finite become null.

    >>> to_json({"epsilon": np.float64("inf"), "columns": ("age",)})
    {'epsilon': None, 'columns': ['age']}
    """
    if isinstance(value, Guarantee):
        return {"epsilon": value.epsilon, "delta": value.delta, "neighbors": str(value.neighbors)}
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, Iterable):
        return [to_json(item) for item in value]
    return str(value)


def cell_text(value: Any) -> str:
    """Return a cell of a table as text, with control characters replaced.

    >>> cell_text(0.1234567), cell_text(None), cell_text("a" + chr(27) + "b")
    ('0.123457', '', 'a�b')
    """
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return "".join(letter if letter.isprintable() else "�" for letter in str(value))


def _clean_text(text: str) -> str:
    """Replace the control characters in the lines of a text."""
    return "\n".join(map(cell_text, text.split("\n")))


def is_interactive() -> bool:
    """Return whether standard error is a terminal, so that progress should be shown."""
    return sys.stderr.isatty()


def note(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(_clean_text(text) + "\n")
    sys.stderr.flush()


def show(answer: CommandOutput, *, as_json: bool = False) -> None:
    """Write an answer to standard output."""
    if not answer.shown:
        return
    if as_json:
        sys.stdout.write(json.dumps(to_json(answer.data), indent=2, allow_nan=False) + "\n")
    elif sys.stdout.isatty():
        _on_terminal(answer)
    else:
        parts = [_aligned(part) if isinstance(part, OutputTable) else _clean_text(part) for part in answer.shown]
        sys.stdout.write("\n\n".join(parts) + "\n")
    sys.stdout.flush()


def _on_terminal(answer: CommandOutput) -> None:
    console = Console(file=sys.stdout, highlight=False, markup=False)
    for part in answer.shown:
        if isinstance(part, OutputTable):
            console.print(_table(part))
        else:
            console.print(Text(_clean_text(part)), soft_wrap=True)  # lines are kept: it may be TOML to copy


def _table(grid: OutputTable) -> Table:
    table = Table(box=SIMPLE_HEAD if grid.head else None, show_header=bool(grid.head), header_style="bold")
    right = _numeric(grid)
    for j, aligned in enumerate(right):
        head = Text(cell_text(grid.head[j])) if grid.head else ""
        style = None if grid.head or j else "bold"
        table.add_column(head, justify="right" if aligned else "left", style=style, overflow="fold")
    for row in grid.rows:
        table.add_row(*(Text(cell_text(cell)) for cell in row))
    return table


def _aligned(grid: OutputTable) -> str:
    """Return a table as text with aligned columns."""
    lines = [list(map(cell_text, row)) for row in ([grid.head] if grid.head else []) + list(grid.rows)]
    if not lines:
        return "(none)"
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = _numeric(grid)

    def line(cells: Sequence[str]) -> str:
        placed = [
            cell.rjust(width) if aligned else cell.ljust(width)
            for cell, width, aligned in zip(cells, widths, right, strict=True)
        ]
        return "  ".join(placed).rstrip()

    return "\n".join(map(line, lines))


def _numeric(grid: OutputTable) -> list[bool]:
    """Return for each column whether it holds only numbers."""
    width = len(grid.head) or max(map(len, grid.rows), default=0)
    columns = [[row[j] for row in grid.rows] for j in range(width)]
    return [bool(cells) and all(cell is None or isinstance(cell, Real) for cell in cells) for cells in columns]
