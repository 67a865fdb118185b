"""Figures of a report: a plot as inline SVG, with a title, a description and a table.

The SVG is matplotlib's, cleaned: no metadata, no style of its own, and ids that are unique on the page. Text stays
text, and every colour is a variable of the page, so that dark screens have their own colours.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from xml.etree import ElementTree

from discreet.plots import Facts, Plot
from discreet.plots.plot import GRID, INK, MUTED, PAPER, SERIES, matplotlib_part

SVG = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
COLOURS = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"} | {hue: name for name, hue in SERIES.items()}
PIXELS = 96 / 72  # of a page, per typographic point
NOT_NEEDED = {f"{{{SVG}}}{name}" for name in ("metadata", "style", "title")}


@dataclass(frozen=True)
class Figure:
    """A figure of a page.

    Attributes
    ----------
    id : str
    title, description : str
    svg : str
        Its text is escaped already, so a page includes it unchanged.
    width : int
        In pixels of the page, where there is enough space.
    facts : Facts
    """

    id: str
    title: str
    description: str
    svg: str
    width: int
    facts: Facts


def draw_figure(plot: Plot, name: str) -> Figure:
    """Return a plot as a figure whose ids begin with ``name``."""
    root = ElementTree.fromstring(_draw_svg(plot))
    width = round(float(root.get("width", "504pt").removesuffix("pt")) * PIXELS)
    _clean(root)
    for element in root.iter():
        _rename(element, name)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-words")
    for place, (tag, part, text) in enumerate([("title", "title", plot.title), ("desc", "words", plot.description)]):
        element = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": f"{name}-{part}"})
        element.text = _printable(text)
        root.insert(place, element)
    ElementTree.register_namespace("", SVG)
    text = ElementTree.tostring(root, encoding="unicode")
    return Figure(name, plot.title, plot.description, text, width, plot.facts)


def _draw_svg(plot: Plot) -> bytes:
    """Return matplotlib's SVG of a plot."""
    figure = matplotlib_part("figure").Figure(figsize=plot.size, layout="constrained")
    settings = {"svg.fonttype": "none", "svg.hashsalt": "discreet", "font.size": 10.0, "axes.formatter.limits": (-4, 6)}
    file = io.BytesIO()
    with matplotlib_part("pyplot").rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the fonts of the page have it
        plot.draw_on(figure)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    return file.getvalue()


def _clean(element: ElementTree.Element) -> None:
    """Remove metadata, styles and titles."""
    for child in list(element):
        if child.tag in NOT_NEEDED:
            element.remove(child)
        else:
            _clean(child)


def _rename(element: ElementTree.Element, name: str) -> None:
    """Prefix ids with the figure's name, and replace links by plain ones and colours by variables."""
    link = element.attrib.pop(LINK, None)
    if link is not None:
        element.set("href", link)
    for attribute, value in element.attrib.items():
        if attribute == "id":
            value = f"{name}-{value}"
        elif attribute == "href":
            value = value.replace("#", f"#{name}-")
        elif attribute in ("clip-path", "fill", "stroke", "style"):
            value = value.replace("url(#", f"url(#{name}-")
            value = re.sub(r"#[0-9a-f]{6}\b", _variable, value)
        element.set(attribute, value)
    if element.text is not None:
        element.text = _printable(element.text)


def _variable(result: re.Match[str]) -> str:
    return f"var(--{COLOURS[result[0]]})" if result[0] in COLOURS else result[0]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() or letter in "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
