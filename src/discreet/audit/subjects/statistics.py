"""Every statistic, and the statistical database that answers with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from discreet import statistics as st
from discreet.audit.pairs import Pair
from discreet.audit.subjects.subject import BOTH, DELTA, LABELLED, LINE, PERSONS, PLANE, Subject, across, of_schema
from discreet.database import StatisticalDatabase
from discreet.guarantees import Guarantee
from discreet.ledger import Ledger

__all__ = ["database", "statistics"]

Ask = Callable[[Any, float], Any]
PAIR = ["x", "y"]

UNDER_BOTH: dict[str, Ask] = {
    "sum": lambda c, e: st.sum(c, PAIR, epsilon=e),
    "mean": lambda c, e: st.mean(c, PAIR, epsilon=e, delta=DELTA),
    "covariance": lambda c, e: st.covariance(c, PAIR, epsilon=e, delta=DELTA),
}
ADDITIVE: dict[str, Ask] = {
    "mean, loose": lambda c, e: st.mean(c, PAIR, loose=True, epsilon=e),
    "variance": lambda c, e: st.variance(c, PAIR, epsilon=e, delta=DELTA),
    "variance, adaptive": lambda c, e: st.variance(c, PAIR, method="adaptive", epsilon=e, delta=DELTA),
    "variance, direct": lambda c, e: st.variance(c, PAIR, method="direct", epsilon=e, delta=DELTA),
    "covariance, adaptive": lambda c, e: st.covariance(c, PAIR, method="adaptive", epsilon=e, delta=DELTA),
}
GROUPED: dict[str, Ask] = {
    "mean by group": lambda c, e: st.mean(c, PAIR, by="g", epsilon=e),
    "count by group": lambda c, e: st.count(c, by="g", epsilon=e, delta=DELTA),
}
OF_ONE: dict[str, Ask] = {
    "count": lambda c, e: st.count(c.where("x > 5"), epsilon=e),
    "histogram": lambda c, e: st.histogram(c, "x", bins=4, epsilon=e),
    "density": lambda c, e: st.density(c, "x", epsilon=e, delta=DELTA),
    "density, histogram": lambda c, e: st.density(c, "x", method="histogram", epsilon=e),
    "density, functional": lambda c, e: st.density(c, "x", method="functional", epsilon=e, delta=DELTA),
    "Huber location": lambda c, e: st.huber_location(c, "x", scale=1.0, epsilon=e),
    "least absolute": lambda c, e: st.m_estimate(c, "x", loss="absolute", epsilon=e),
}
RANKED: dict[str, Ask] = {
    "median": lambda c, e: st.median(c, "x", epsilon=e, interval=None),
    "median with limits": lambda c, e: st.median(c, "x", epsilon=e),
    "quantiles": lambda c, e: st.quantiles(c, [0.1, 0.5, 0.8], "x", step=0.5, epsilon=e, interval=None),
    "interquartile range": lambda c, e: st.interquartile_range(c, "x", epsilon=e, interval=None),
    "trimmed mean": lambda c, e: st.trimmed_mean(c, "x", epsilon=e),
}


def statistics() -> list[Subject]:
    """Return all of them."""
    return [
        *of_schema("statistics", UNDER_BOTH, PLANE, BOTH),
        *of_schema("statistics", ADDITIVE, PLANE),
        *of_schema("statistics", GROUPED, LABELLED),
        *of_schema("statistics", OF_ONE, LINE),
        *of_schema("statistics", RANKED, LINE, BOTH, also=across),
        *of_schema("statistics", {"mean of persons": lambda c, e: st.mean(c, "x", epsilon=e)}, PERSONS, BOTH),
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
