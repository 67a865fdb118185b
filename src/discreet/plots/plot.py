"""``Plot``: what every plot can do. It draws itself, and says in words and as a table what it shows.

The module also has what all plots share.

**Colours.** They are those of Okabe and Ito (2008), which people can tell apart however they see colours. Each colour
has one role, so that a page can replace each by its own (``report`` does, for dark screens). Text is always ``INK`` or
``MUTED``; series are told apart by a label beside them as well.

**Text.** ``plain``, ``number``, ``percent``, ``listed`` and ``plural`` write names and numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, axes
from discreet.records.cells import format_day

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


LONGEST = 36  # letters of a name


def plain(name: object) -> str:
    r"""Return a name for matplotlib: printable, not too long, and never taken for mathematics.

    >>> plain("cost in $"), plain("a\x00b"), plain("x" * 40)
    ('cost in \\$', 'a�b', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(name))
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return text.replace("$", r"\$")


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many digits, and a true minus.

    >>> number(-1234567.0), number(0.00001234), number(38.5812), number(50_000.0)
    ('−1,230,000', '1.23e−05', '38.6', '50,000')
    """
    value = float(value)
    if not math.isfinite(value) or value == 0.0:
        return "0" if value == 0.0 else "∞" if value > 0.0 else "−∞" if value < 0.0 else "unknown"
    size = math.floor(math.log10(abs(value)))
    text = f"{round(value, digits - 1 - size):,.0f}" if 3 <= size < 9 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def percent(share: float, digits: int = 3) -> str:
    """Return a share in percent.

    >>> percent(0.1234), percent(2.0)
    ('12.3 %', '200 %')
    """
    return f"{number(100.0 * share, digits)} %"


def listed(names: Iterable[object]) -> str:
    """Return names as one writes them in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    words = [str(name) for name in names]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}" if words else ""


def plural(name: str) -> str:
    """Return the plural of a noun.

    >>> plural("component"), plural("class")
    ('components', 'classes')
    """
    return name + ("es" if name.endswith("s") else "s")


Array = NDArray[np.float64]


def matplotlib_part(name: str) -> Any:
    """Return a module of matplotlib; an error that says what to install where it is absent."""
    from importlib import import_module

    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as missing:
        raise ImportError("plots need matplotlib: pip install 'discreet[plot]'") from missing


@dataclass(frozen=True)
class Facts:
    """What a plot shows, as a table.

    Attributes
    ----------
    header : sequence of str
    rows : sequence of sequences of str
        Their first cell names the row.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Plot(ABC):
    """A plot of public numbers. Its subclasses are frozen dataclasses."""

    what: str  # what the numbers are: "coefficients", say

    @property
    def title(self) -> str:
        """What the plot shows, in a few words."""
        return f"The {self.what}"

    @property
    @abstractmethod
    def description(self) -> str:
        """What is to be seen, with the numbers that matter: for whoever cannot see it."""

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """All that it shows, as a table."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return 7.0, 4.4

    @property
    def panels(self) -> tuple[int, int]:
        """How many rows and columns of axes it has."""
        return 1, 1

    dated: frozenset[str] = frozenset()  # columns whose numbers are days since 1970-01-01, and shown as dates

    def with_dates(self, columns: Collection[str]) -> Self:
        """Return the same plot, in which places along these columns are dates."""
        if frozenset(columns) == self.dated:
            return self
        result = copy(self)
        object.__setattr__(result, "dated", frozenset(columns))
        return result

    def place(self, column: str, value: float, digits: int = 3) -> str:
        """Return a place along a column as text: a number, or a date."""
        return format_day(value) if column in self.dated else number(value, digits)

    def _date_axes(self, panels: Any) -> None:
        """Write dates along the axes of such columns."""
        for ax in panels.ravel() if self.dated else ():
            for axis, name in ((ax.xaxis, ax.get_xlabel()), (ax.yaxis, ax.get_ylabel())):
                if name in {plain(column) for column in self.dated}:
                    ticker = matplotlib_part("ticker")
                    axis.set_major_locator(ticker.MaxNLocator(4, integer=True))
                    axis.set_major_formatter(ticker.FuncFormatter(lambda days, _: format_day(days)))

    @abstractmethod
    def _fill(self, panels: Any) -> None:
        """Draw on an array of axes of shape ``panels``."""

    def draw(self, ax: Any = None) -> Any:
        """Draw, and return the axes; an array of them where there are several panels.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default those of a new figure. A plot of several panels makes its own.
        """
        if ax is None:
            figure = matplotlib_part("pyplot").figure(figsize=self.size, layout="constrained")
            panels = self.on(figure)
            return panels[0, 0] if self.panels == (1, 1) else panels
        if self.panels != (1, 1):
            raise ArgumentError("ax", UNSHOWN, f"None, since this plot has {self.panels[0]} × {self.panels[1]} panels")
        panels = np.empty((1, 1), dtype=object)
        panels[0, 0] = axes(ax)
        self._fill(panels)
        self._date_axes(panels)
        return ax

    def on(self, figure: Any) -> Any:
        """Draw on an empty figure and return its axes, an array of shape ``panels``."""
        panels = figure.subplots(*self.panels, squeeze=False)
        self._fill(panels)
        self._date_axes(panels)
        return panels


def annotate(ax: Any, text: str, at: tuple[Any, Any], offset: tuple[int, int], **how: Any) -> None:
    """Write a text beside a point, moved by an offset in points of ink."""
    ax.annotate(text, at, xytext=offset, textcoords="offset points", fontsize=9, color=INK, **how)


def label_axes(ax: Any, columns: Sequence[str]) -> None:
    """Name both axes by columns, and draw a grid."""
    ax.set(xlabel=plain(columns[0]), ylabel=plain(columns[1]))
    quiet(ax, grid="both")


def quiet(ax: Any, *, grid: str = "") -> None:
    """Take away what tells nothing, and draw lines of a grid along ``"x"``, ``"y"`` or ``"both"``."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        ax.spines[side].set_color(GRID)
    ax.tick_params(colors=MUTED, labelcolor=INK, length=0, labelsize=9)
    ax.xaxis.label.set(color=INK, fontsize=10)
    ax.yaxis.label.set(color=INK, fontsize=10)
    ax.title.set(color=INK, fontsize=10)
    for axis in (ax.xaxis, ax.yaxis):
        axis.offsetText.set(color=INK, fontsize=8)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(visible=True, axis=grid, color=GRID, linewidth=0.7)
    ax.set_facecolor("none")
