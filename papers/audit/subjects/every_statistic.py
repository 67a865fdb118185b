"""Subjects: every statistic, and answers of the statistical database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from discreet.audit.pairs import Pair
from discreet.database import StatisticalDatabase
from discreet.guarantees import Guarantee
from discreet.ledger import Ledger
from discreet.statistics.request import STATISTICS
from papers.audit.subjects.subject import (
    BOTH,
    DELTA,
    ENDED,
    LABELLED,
    LINE,
    PERSONS,
    PLANE,
    POSITIVE,
    Subject,
    across,
    of_schema,
)

__all__ = ["database", "statistics"]

Ask = Callable[[Any, float], Any]
PAIR = ["x", "y"]


def _of(statistic: str, columns: Any = "x", where: str | None = None, **arguments: Any) -> Ask:
    """Return a function that asks a curator for a statistic of the registry."""
    registered = STATISTICS[statistic]
    taken = {one.name for one in registered.parameters} & {"column", "columns"}

    def ask(curator: Any, epsilon: float) -> Any:
        asked = curator if where is None else curator.where(where)
        return registered.function(asked, **dict.fromkeys(taken, columns), **arguments, epsilon=epsilon)

    ASKED.add(statistic)
    return ask


ASKED: set[str] = set()

UNDER_BOTH: dict[str, Ask] = {
    "sum": _of("sum", PAIR),
    "mean": _of("mean", PAIR, delta=DELTA),
    "covariance": _of("covariance", PAIR, delta=DELTA),
    "correlation": _of("correlation", PAIR, delta=DELTA),
    "proportion": _of("proportion", "x > 5"),
    "mean, loose": _of("mean", PAIR, loose=True),
    "std of the population": _of("std", PAIR, population=True, delta=DELTA),
    "covariance of the population": _of("covariance", PAIR, population=True, delta=DELTA),
    "correlation of the population": _of("correlation", PAIR, population=True),
}
ADDITIVE: dict[str, Ask] = {
    "variance": _of("variance", PAIR, delta=DELTA),
    "variance, adaptive": _of("variance", PAIR, method="adaptive", delta=DELTA),
    "variance, direct": _of("variance", PAIR, method="direct", delta=DELTA),
    "covariance, adaptive": _of("covariance", PAIR, method="adaptive", delta=DELTA),
}
GROUPED: dict[str, Ask] = {
    "mean by group": _of("mean", PAIR, by="g"),
    "count by group": _of("count", by="g", delta=DELTA),
    "crosstab": _of("crosstab", "g", rows="x", bins=2, delta=DELTA),
    "crosstab of means": _of("crosstab", "g", rows="x", values="y", bins=2),
    "histograms": _of("histogram", ["x", "g"], bins=3, delta=DELTA),
    "proportion by group": _of("proportion", "x > 5", by="g", delta=DELTA),
    "mode": _of("mode", "g"),
    "trend": _of("trend", over="y", bins=3),
    "covariance of the population by group": _of("covariance", PAIR, population=True, by="g", delta=DELTA),
}
OF_ONE: dict[str, Ask] = {
    "count": _of("count", where="x > 5"),
    "histogram": _of("histogram", bins=4),
    "density": _of("density", delta=DELTA),
    "density, histogram": _of("density", method="histogram"),
    "density, functional": _of("density", method="functional", delta=DELTA),
    "Huber location": _of("huber_location", scale=1.0),
    "least absolute": _of("m_estimate", loss="absolute"),
}
WITH_ENDS: dict[str, Ask] = {
    "survival": _of("survival", time="x", event="end", by="g", grid=5),
    "survival, square root": _of("survival", time="x", event="end", grid=5, delta=DELTA),
    "log rank": _of("log_rank", time="x", event="end", between="g", grid=[0.0, 2.0, 9.0]),
    "difference by group": _of("difference", between="end", by="g", delta=DELTA),
    "rank test by group": _of("rank_test", between="end", bins=3, by="g"),
    "trend by group": _of("trend", "end", of=1, over="x", bins=3, by="g"),
}
RANKED: dict[str, Ask] = {
    "median": _of("median", interval=None),
    "median with limits": _of("median"),
    "quantile": _of("quantile", q=0.9, interval=None),
    "quantiles": _of("quantiles", levels=[0.1, 0.5, 0.8], step=0.5, interval=None),
    "interquartile range": _of("interquartile_range", interval=None),
    "trimmed mean": _of("trimmed_mean"),
    "minimum": _of("min", interval=None),
}
ASKED.add("geometric_mean")  # of a schema of its own
ASKED -= {"std", "difference", "rank_test"}  # above only for the population or by groups
# All other statistics of the registry, with the arguments of their examples.
OTHERS: dict[str, Ask] = {
    name.replace("_", " "): _of(name, **one.example) for name, one in STATISTICS.items() if name not in ASKED
}


def statistics() -> list[Subject]:
    """Return the subjects of this module."""
    return [
        *of_schema("statistics", UNDER_BOTH, PLANE, BOTH),
        *of_schema("statistics", ADDITIVE, PLANE),
        *of_schema("statistics", GROUPED, LABELLED),
        *of_schema("statistics", OF_ONE, LINE),
        *of_schema("statistics", WITH_ENDS, ENDED, BOTH),
        *of_schema("statistics", RANKED, LINE, BOTH, also=across),
        *of_schema("statistics", {"mean of persons": _of("mean")}, PERSONS, BOTH),
        *of_schema("statistics", {"geometric mean": _of("geometric_mean")}, POSITIVE),
        *of_schema("statistics", OTHERS, PERSONS),
    ]


def database() -> list[Subject]:
    """Return questions to a database, whose spends are recorded."""

    @contextmanager
    def pairs() -> Iterator[tuple[Pair, ...]]:
        rows = np.array([[0.0, 1.0]] * 3)
        changed = np.array([[0.0, 1.0]] * 2 + [[10.0, -3.0]])
        with TemporaryDirectory() as folder:
            ledger = Ledger(f"{folder}/audit.ledger")
            one, other = (
                StatisticalDatabase(
                    data, schema=PLANE, budget=Guarantee(1e5, DELTA), ledger=ledger, name=name, share=1e-6
                )
                for name, data in (("first", rows), ("second", changed))
            )
            yield (Pair("opposite corners, beside 2 like the first", one, other),)

    asked: dict[str, Ask] = {
        "mean": lambda db, e: db.mean(PAIR, epsilon=e).statistic,
        "count where": lambda db, e: db.count(where="x > 5", epsilon=e).statistic,
    }
    return [Subject(f"database: {name}", ask, pairs) for name, ask in asked.items()]
