"""``Plot``: the base class of all plots, with their shared colours, text formatting and axis styles.

**Colours.** They are those of Okabe and Ito (2008), which are distinguishable with any colour vision. Each colour has
one role, so that a page can replace each by its own (``report`` does, for dark screens). Text is always ``INK`` or
``MUTED``. Series also have a label, so that colour is not the only distinction.

**Text.** ``format_name``, ``format_number``, ``format_percent``, ``join_names`` and ``pluralize`` write names and
numbers.
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

# Without yellow, which is too pale on white. Black is replaced by ``INK``.
SERIES = {
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
}


def series_colour(place: int) -> str:
    """Return the colour of the series with this index; the six colours repeat."""
    return tuple(SERIES.values())[place % len(SERIES)]


LONGEST = 36  # characters of a name


def format_name(name: object) -> str:
    r"""Return a name as text for matplotlib: printable, not too long, and never parsed as mathematics.

    >>> format_name("cost in $"), format_name("a\x00b"), format_name("x" * 40)
    ('cost in \\$', 'a�b', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(name))
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return text.replace("$", r"\$")


def format_number(value: float, digits: int = 3) -> str:
    """Return a number as text with this many significant digits, and a true minus sign.

    >>> format_number(-1234567.0), format_number(0.00001234), format_number(38.5812), format_number(50_000.0)
    ('−1,230,000', '1.23e−05', '38.6', '50,000')
    """
    value = float(value)
    if not math.isfinite(value) or value == 0.0:
        return "0" if value == 0.0 else "∞" if value > 0.0 else "−∞" if value < 0.0 else "unknown"
    size = math.floor(math.log10(abs(value)))
    text = f"{round(value, digits - 1 - size):,.0f}" if 3 <= size < 9 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def format_percent(share: float, digits: int = 3) -> str:
    """Return a share as text in percent.

    >>> format_percent(0.1234), format_percent(2.0)
    ('12.3 %', '200 %')
    """
    return f"{format_number(100.0 * share, digits)} %"


def join_names(names: Iterable[object]) -> str:
    """Join names as in a sentence.

    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    words = [str(name) for name in names]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}" if words else ""


def pluralize(name: str) -> str:
    """Return the plural of a noun.

    >>> pluralize("component"), pluralize("class")
    ('components', 'classes')
    """
    return name + ("es" if name.endswith("s") else "s")


Array = NDArray[np.float64]


def matplotlib_part(name: str) -> Any:
    """Return a module of matplotlib; raise an error that says what to install where it is missing."""
    from importlib import import_module

    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as missing:
        raise ImportError("plots need matplotlib: pip install 'discreet[plot]'") from missing


@dataclass(frozen=True)
class Facts:
    """A table of texts: the numbers of a plot, or a section of a report.

    Attributes
    ----------
    header : sequence of str
    rows : sequence of sequences of str
        The first cell of a row is its name.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Plot(ABC):
    """A plot of public numbers. Its subclasses are frozen dataclasses."""

    what: str  # what the numbers are, for example "coefficients"

    @property
    def title(self) -> str:
        """The title of the plot."""
        return f"The {self.what}"

    @property
    @abstractmethod
    def description(self) -> str:
        """A description in words, with the most important numbers, for readers who cannot see the plot."""

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """The numbers of the plot as a table."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return 7.0, 4.4

    @property
    def panels(self) -> tuple[int, int]:
        """The numbers of rows and columns of axes."""
        return 1, 1

    dated: frozenset[str] = frozenset()  # columns whose numbers are days since 1970-01-01 and are shown as dates

    def with_dates(self, columns: Collection[str]) -> Self:
        """Return the same plot, with locations along these columns shown as dates."""
        if frozenset(columns) == self.dated:
            return self
        result = copy(self)
        object.__setattr__(result, "dated", frozenset(columns))
        return result

    def place(self, column: str, value: float, digits: int = 3) -> str:
        """Return a location along a column as text: a number, or a date."""
        return format_day(value) if column in self.dated else format_number(value, digits)

    def _date_axes(self, panels: Any) -> None:
        """Label the axes of dated columns with dates."""
        for ax in panels.ravel() if self.dated else ():
            for axis, name in ((ax.xaxis, ax.get_xlabel()), (ax.yaxis, ax.get_ylabel())):
                if name in {format_name(column) for column in self.dated}:
                    ticker = matplotlib_part("ticker")
                    axis.set_major_locator(ticker.MaxNLocator(4, integer=True))
                    axis.set_major_formatter(ticker.FuncFormatter(lambda days, _: format_day(days)))

    @abstractmethod
    def _fill(self, panels: Any) -> None:
        """Draw on an array of axes of shape ``panels``."""

    def draw(self, ax: Any = None) -> Any:
        """Draw the plot and return its axes; an array of axes where there are several panels.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default those of a new figure. A plot with several panels always makes its own.
        """
        if ax is None:
            figure = matplotlib_part("pyplot").figure(figsize=self.size, layout="constrained")
            panels = self.draw_on(figure)
            return panels[0, 0] if self.panels == (1, 1) else panels
        if self.panels != (1, 1):
            raise ArgumentError("ax", UNSHOWN, f"None, since this plot has {self.panels[0]} × {self.panels[1]} panels")
        panels = np.empty((1, 1), dtype=object)
        panels[0, 0] = axes(ax)
        self._fill(panels)
        self._date_axes(panels)
        return ax

    def draw_on(self, figure: Any) -> Any:
        """Draw on an empty figure and return its axes, an array of shape ``panels``."""
        panels = figure.subplots(*self.panels, squeeze=False)
        self._fill(panels)
        self._date_axes(panels)
        return panels


def annotate(ax: Any, text: str, at: tuple[Any, Any], offset: tuple[int, int], **how: Any) -> None:
    """Write a text beside a point, moved by an offset in typographic points."""
    ax.annotate(text, at, xytext=offset, textcoords="offset points", fontsize=9, color=INK, **how)


def label_axes(ax: Any, columns: Sequence[str]) -> None:
    """Label both axes with column names, and draw a grid."""
    ax.set(xlabel=format_name(columns[0]), ylabel=format_name(columns[1]))
    style_axes(ax, grid="both")


def style_axes(ax: Any, *, grid: str = "") -> None:
    """Remove frames and ticks, set colours and sizes, and draw grid lines along ``"x"``, ``"y"`` or ``"both"``."""
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
