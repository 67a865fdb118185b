"""The house's colours: those of Okabe and Ito (2008), which people see apart however they see colours.

Each colour has one role, so that a page can put its own in the place of each (``report`` does, for dark screens). Text
is always ``INK`` or ``MUTED``; series are told apart by a label beside them as well.
"""

from __future__ import annotations

__all__ = ["GRID", "INK", "MUTED", "PAPER", "SERIES", "series"]

INK = "#1b1f24"
MUTED = "#57606a"
GRID = "#d8dee4"
PAPER = "#ffffff"

# Without their yellow, which is too pale on paper. Their black is the ink.
SERIES = {
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
}


def series(place: int) -> str:
    """Return the colour of the series at a place; they come round again after six."""
    return tuple(SERIES.values())[place % len(SERIES)]
