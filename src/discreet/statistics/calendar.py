"""Bins of a calendar: the days, weeks, months or years between two declared days."""

from __future__ import annotations

import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.records.cells import day_text

__all__ = ["CALENDAR", "MOST", "calendar_bins", "interval_labels"]

Array = NDArray[np.float64]

CALENDAR = ("day", "week", "month", "year")
NUMPY_UNIT = {"month": "M", "year": "Y"}
THURSDAY = 3  # 1970-01-01 was one, counted from Monday
MOST = 2**20  # bins


def calendar_bins(bins: str, low: float, high: float) -> tuple[tuple[str, ...], Array]:
    """Return the label of each bin and the days on which bins begin, the day after the last one at the end.

    The first and the last bin may be cut by the declared days; every day from ``low`` to ``high`` is in exactly one.

    Parameters
    ----------
    bins : str
        One of ``CALENDAR``. Weeks are those of ISO 8601, which begin on a Monday.
    low, high : float
        The first and the last day, as whole days since 1970-01-01.

    Examples
    --------
    >>> labels, edges = calendar_bins("month", 18276.0, 18350.0)
    >>> labels, [day_text(edge) for edge in edges]
    (('2020-01', '2020-02', '2020-03'), ['2020-01-15', '2020-02-01', '2020-03-01', '2020-03-30'])
    """
    first, last = int(low), int(high)
    if bins in NUMPY_UNIT:
        unit = f"M8[{NUMPY_UNIT[bins]}]"
        ends = np.array([first, last], dtype=np.int64).astype("M8[D]").astype(unit).astype(np.int64)
        starts = np.arange(ends[0], ends[1] + 1).astype(unit).astype("M8[D]").astype(np.int64)
    else:
        step = 7 if bins == "week" else 1
        begin = first - (first + THURSDAY) % 7 if bins == "week" else first
        if (last - begin) // step >= MOST:
            raise ArgumentError("bins", bins, f"at most {MOST} bins between the declared days", write="'month'")
        starts = np.arange(begin, last + 1, step)
    if len(starts) < 2:
        raise ArgumentError(
            "bins",
            bins,
            f"at least two of them between the declared days, {day_text(first)} and {day_text(last)}",
            write="bins='day'",
        )
    labels = tuple(_label(bins, int(start)) for start in starts)
    return labels, np.array([first, *starts[1:].tolist(), last + 1], dtype=np.float64)


def _label(bins: str, start: int) -> str:
    """Return what a bin is called: 2023, 2023-01, 2023-W05 or 2023-01-31."""
    if bins == "week":
        # A week has the year of its Thursday, and a first week may begin before the year 1.
        year, week, _ = datetime.date.fromisoformat(day_text(start + THURSDAY)).isocalendar()
        return f"{year:04d}-W{week:02d}"
    return day_text(start)[: {"year": 4, "month": 7, "day": 10}[bins]]


def interval_labels(edges: Array) -> list[tuple[str, str]]:
    """Return what bins between days are called, by the days on which they begin and before which they end."""
    return [(day_text(start), day_text(end)) for start, end in pairwise(edges.tolist())]
