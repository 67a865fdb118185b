"""``plot_spending``: the plot of what a ledger recorded for a data set."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from typing import Any

import numpy as np

from discreet.arguments import ArgumentError, format_names, suggest_name
from discreet.guarantees import Loss, compose
from discreet.ledger import Ledger
from discreet.ledger.book import SPENDS
from discreet.plots import SpendingPlot

SHOWN = 60  # entries whose cumulative ε is computed
DELTA = 1e-6  # used where there is no limit


def plot_spending(ledger: Ledger | str | PathLike[str], name: str | None, releases: Any) -> SpendingPlot:
    """Return the plot of the cumulative ε over the entries of a data set.

    It leaves out who asked, since a report is read by more people than a ledger.

    Parameters
    ----------
    ledger : Ledger or path
    name : str, optional
        The data set; by default the one that the releases name.
    releases : sequence of Release
    """
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger, create=False)
    asked = name if name is not None else releases[0].dataset
    known = book.datasets()
    if asked is None and len(known) == 1:
        (asked,) = known
    if asked not in known:
        expected = f"a data set of the ledger, one of {format_names(known)}{suggest_name(asked, known)}"
        raise ArgumentError("name", asked, expected, write=f"name={known[0]!r}" if asked is None and known else None)
    history = book.history(asked)
    last = book.limit(asked)
    delta = DELTA if last is None else last.guarantee.delta
    spent, limit = Counter[Loss](), np.inf
    points = []
    for entry in history:
        if entry.kind not in SPENDS:
            limit = limit if entry.limit is None else entry.limit.guarantee.epsilon  # a mark changes nothing
            continue
        spent += Counter(dict(entry.losses))
        step = entry.query or " ".join(filter(None, (entry.kind, entry.reason)))  # as the ledger's history has it
        points.append((entry.time.strftime("%Y-%m-%d %H:%M UTC"), step, Counter(spent), limit))
    if not points:
        raise ArgumentError("name", asked, "a data set with a recorded spend; this one has none")
    kept = sorted({round(place) for place in np.linspace(0, len(points) - 1, min(SHOWN, len(points)))})
    ends = zip([0, *(place + 1 for place in kept)], kept, strict=False)
    steps = [_count_steps([points[k][1] for k in range(start, end + 1)]) for start, end in ends]
    points = [points[place] for place in kept]
    losses = [total if last is None else last.convert(total) for _, _, total, _ in points]
    composed = [compose(one) for one in losses]
    if not np.isfinite(composed[-1].epsilon(delta)):  # a limit with δ = 0 was set after Gaussian noise was spent
        delta = DELTA
    return SpendingPlot(
        entries=steps,
        numbers=[place + 1 for place in kept],
        times=[time for time, _, _, _ in points],
        spent=np.array([one.epsilon(delta) for one in composed]),
        limits=np.array([most for _, _, _, most in points]),
        delta=delta,
        name=asked,
    )


def _count_steps(steps: list[str]) -> str:
    """Describe the entries that one point of the plot stands for, with their numbers."""
    return ", ".join(step if count == 1 else f"{step} ({count} times)" for step, count in Counter(steps).items())
