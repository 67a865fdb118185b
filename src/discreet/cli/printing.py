"""Where answers and messages go: tables on a terminal, aligned text in a pipe, JSON where it was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from numbers import Real

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.cli.answer import CommandOutput, OutputTable, plain, words

__all__ = ["note", "show", "watched"]


def watched() -> bool:
    """Return whether somebody sees messages as they come, and so progress is worth showing."""
    return sys.stderr.isatty()


def note(text: str) -> None:
    """Write a message to standard error, apart from the answer."""
    sys.stderr.write(_in_words(text) + "\n")
    sys.stderr.flush()


def _in_words(text: str) -> str:
    """Return text whose lines hold nothing that a terminal would obey."""
    return "\n".join(map(words, text.split("\n")))


def show(answer: CommandOutput, *, as_json: bool = False) -> None:
    """Write an answer to standard output."""
    if not answer.shown:
        return
    if as_json:
        sys.stdout.write(json.dumps(plain(answer.data), indent=2, allow_nan=False) + "\n")
    elif sys.stdout.isatty():
        _on_terminal(answer)
    else:
        parts = [_aligned(part) if isinstance(part, OutputTable) else _in_words(part) for part in answer.shown]
        sys.stdout.write("\n\n".join(parts) + "\n")
    sys.stdout.flush()


def _on_terminal(answer: CommandOutput) -> None:
    console = Console(file=sys.stdout, highlight=False, markup=False)
    for part in answer.shown:
        if isinstance(part, OutputTable):
            console.print(_table(part))
        else:
            console.print(Text(_in_words(part)), soft_wrap=True)  # a line stays a line: it may be TOML to copy


def _table(grid: OutputTable) -> Table:
    table = Table(box=SIMPLE_HEAD if grid.head else None, show_header=bool(grid.head), header_style="bold")
    right = _numeric(grid)
    for j, aligned in enumerate(right):
        head = Text(words(grid.head[j])) if grid.head else ""
        style = None if grid.head or j else "bold"
        table.add_column(head, justify="right" if aligned else "left", style=style, overflow="fold")
    for row in grid.rows:
        table.add_row(*(Text(words(cell)) for cell in row))
    return table


def _aligned(grid: OutputTable) -> str:
    """Return a table as text whose columns stand below each other."""
    lines = [list(map(words, row)) for row in ([grid.head] if grid.head else []) + list(grid.rows)]
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
    """Return for each column whether it holds numbers alone."""
    width = len(grid.head) or max(map(len, grid.rows), default=0)
    columns = [[row[j] for row in grid.rows] for j in range(width)]
    return [bool(cells) and all(cell is None or isinstance(cell, Real) for cell in cells) for cells in columns]
