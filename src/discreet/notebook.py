"""Answers in notebooks: a few rows of numbers and some notes as HTML, with everything escaped.

Imports no other room.

This room guarantees that no name or label becomes markup, and that an answer of any size is shown in a few dozen rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

MOST_ROWS = 30
MOST_LETTERS = 500  # of one text


def format_cell(value: Any) -> str:
    """Return a cell of a table as text: a number with six digits, anything else as it is, cut to a length.

    >>> format_cell(12.3456789), format_cell("a"), len(format_cell("x" * 1000))
    ('12.3457', 'a', 500)
    """
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def format_html(title: str, rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> str:
    """Return a title, a table and notes below it as HTML.

    Parameters
    ----------
    title : str
    rows : sequence of mappings
        The cells by the names of their columns, which are those of the first row. At most 30 rows are shown.
    notes : sequence of str

    Examples
    --------
    >>> format_html("mean", [{"ward": "<b>", "value": 2.0}], ["at ε=1"]).count("&lt;b&gt;")
    1
    """
    parts = [f"<p><b>{escape(format_cell(title))}</b></p>"] if title else []
    if rows:
        names = list(rows[0])
        head = "".join(f"<th>{escape(format_cell(name))}</th>" for name in names)
        cells = ["".join(f"<td>{escape(format_cell(row[name]))}</td>" for name in names) for row in rows[:MOST_ROWS]]
        body = "".join(f"<tr>{line}</tr>" for line in cells)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if len(rows) > MOST_ROWS:
            notes = [f"… and {len(rows) - MOST_ROWS} more rows, which to_frame() has", *notes]
    parts += [f"<p>{escape(format_cell(note))}</p>" for note in notes]
    return f'<div class="discreet-answer">{"".join(parts)}</div>'
