"""Plots of statistics: which plot of ``discreet.plots`` shows the numbers of an answer, and with which labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import ArgumentError
from discreet.plots import IntervalPanels, Intervals, Plot
from discreet.plots.count_bars import CountBars

if TYPE_CHECKING:
    from discreet.statistics.statistic import Statistic

MOST_DRAWN = 400  # numbers in one plot
PANELS = ("column", "state")  # the axes whose numbers have units or sizes of their own


def label_text(label: Any) -> str:
    """Return the label of a group or a bin as text.

    >>> label_text(("a", "f")), label_text(0.25)
    ('a, f', '0.25')
    """
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def interval_text(level: float, of: str) -> str:
    """Describe the lines of a plot.

    >>> interval_text(0.95, "population")
    '95 % intervals of the population, from noise and sampling'
    """
    return f"{100.0 * level:g} % intervals of the {'noise' if of == 'rows' else 'population, from noise and sampling'}"


def check_size(answer: Statistic) -> None:
    """Raise where an answer has more numbers than a plot can show."""
    size = np.size(answer.value)
    if size > MOST_DRAWN:
        raise ArgumentError("answer", None, f"at most {MOST_DRAWN} numbers to plot; it has {size}, see to_frame()")


def plot_numbers(answer: Statistic, level: float, of: str) -> Plot:
    """Return a plot of values and intervals: points in one panel, or in a panel for each column."""
    check_size(answer)
    value, axes = np.asarray(answer.value, dtype=np.float64), answer._axes()
    drawn = getattr(answer, "ends", ()) is not None  # of quantiles, perhaps without intervals
    ends = [np.broadcast_to(end, value.shape) for end in answer.interval(level, of)] if drawn else []
    dated = [scale.name for scale in answer._scales if scale.kind == "date" and answer._kind == "location"]
    what, lines = f"values of {', '.join(answer.columns)}", interval_text(level, of)
    if len(axes) > 0 and axes[-1][0] in PANELS and len(axes[-1][1]) > 1 and drawn:
        rows = [label_text(label) for label in axes[0][1]] if len(axes) > 1 else ["all rows"]
        columns = [label_text(label) for label in axes[-1][1]]
        values, low, high = (part.reshape(len(rows), len(columns)) for part in (value, *ends))
        panels: Plot = IntervalPanels(values, low, high, rows, columns, what=what, interval=lines)
        return panels.with_dates(dated)
    labels, kept = _flat_labels(axes, answer.columns[0])
    lower, upper = (end.reshape(-1)[kept] for end in ends) if drawn else (None, None)
    unit = answer._axis_label
    points = Intervals(
        value.reshape(-1)[kept], labels, lower, upper, what=what, unit=unit, interval=lines, unknown="no interval drawn"
    )
    return points.with_dates([unit] if unit in dated else [])


def _flat_labels(axes: Sequence[tuple[str, Sequence[Any]]], alone: str) -> tuple[list[str], list[int]]:
    """Return a label for each number, and which numbers: of a symmetric matrix those above and on the diagonal."""
    if not axes:
        return [alone], [0]
    labels, kept = [], []
    matrix = axes[-1][0] == "with"
    for place, each in enumerate(product(*(range(len(several)) for _, several in axes))):
        if matrix and each[-2] > each[-1]:
            continue
        words = [label_text(several[one]) for (_, several), one in zip(axes, each, strict=True)]
        pair = [" × ".join(dict.fromkeys(words[-2:]))] if matrix else words[-1:]
        labels.append(", ".join([*words[: -2 if matrix else -1], *pair]))
        kept.append(place)
    return labels, kept


def plot_counts(
    answer: Statistic, level: float, of: str, labels: Sequence[Any] | None, edges: Any, *, log: bool, dated: bool
) -> Plot:
    """Return a plot of counts as bars: of categories, of bins along their axis, or of groups."""
    check_size(answer)
    value = np.asarray(answer.value, dtype=np.float64)
    if not value.ndim:
        return plot_numbers(answer, level, of)
    groups = [""]
    column = answer.columns[0]
    if labels is None:  # of groups alone
        labels, column = [label_text(label) for label in answer.groups or ()], ", ".join(answer.by)
    elif answer.groups is not None:
        groups = [label_text(label) for label in answer.groups]
    shape = (len(groups), len(labels))
    low, high = (np.broadcast_to(end, value.shape).reshape(shape) for end in answer.interval(level, of))
    texts = [label_text(label) for label in labels]
    lines = interval_text(level, of)
    bars = CountBars(value.reshape(shape), low, high, texts, groups, column, edges, log, interval=lines)
    return bars.with_dates([column] if dated and edges is not None else [])
