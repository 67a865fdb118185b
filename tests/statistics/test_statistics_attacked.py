"""Whole statistics under audit: how far each release of a call moves on a neighbour, against what it was charged for.

Every measurement that a function makes is intercepted and asked of a neighbour too, so that not only each query by
itself is checked but how functions put them together: groups, weights, parts, ranges found before, shares of ε.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import statistics as st
from discreet.door import curator as door_curator
from discreet.door import exit as door
from discreet.door import schedule as door_schedule
from discreet.noise import GaussianNoise
from discreet.queries.question import Selection
from discreet.queries.ranks.quantile_queries import TIE_BITS, Quantiles, RankDistribution
from discreet.statistics.request import STATISTICS
from effort import size

COLUMNS = {
    "x": dp.Number(0, 10),
    "y": dp.Number(-3, 10),
    "w": dp.Number(0, 2),
    "g": dp.Category(["a", "b", "c"]),
    "h": dp.Category(["d", "e"]),
    "k": dp.Category([0, 1]),
    "p": dp.Number(1, 1000),
}
ROWS = dp.Schema(COLUMNS)
PERSONS = dp.Schema(COLUMNS, unit="person", max_rows=3)
BOTH = ["x", "y"]

ASKED = {
    "sum": lambda c, **how: st.sum(c, BOTH, **how),
    "sum by, weighted": lambda c, **how: st.sum(c, BOTH, by="g", weights="w", **how),
    "mean": lambda c, **how: st.mean(c, BOTH, **how),
    "mean by, weighted": lambda c, **how: st.mean(c, BOTH, by=["g", "h"], weights="w", **how),
    "loose mean": lambda c, **how: st.mean(c, BOTH, loose=True, weights="w", **how),
    "trimmed mean": lambda c, **how: st.trimmed_mean(c, "x", weights="w", **how),
    "variance": lambda c, **how: st.variance(c, BOTH, by="g", weights="w", **how),
    "covariance": lambda c, **how: st.covariance(c, BOTH, by="g", **how),
    "std": lambda c, **how: st.std(c, BOTH, by="g", weights="w", **how),
    "correlation": lambda c, **how: st.correlation(c, BOTH, by="g", weights="w", **how),
    "geometric mean": lambda c, **how: st.geometric_mean(c, "p", by="g", weights="w", **how),
    "proportion": lambda c, **how: st.proportion(c, "x > 4 and g != 'b'", **how),
    "proportion of categories": lambda c, **how: st.proportion(c, "g", of=["a", "b"], by="h", weights="w", **how),
    "mode": lambda c, **how: st.mode(c, "g", **how),
    "mode by": lambda c, **how: st.mode(c, "h", by=["g", "k"], **how),
    "minimum": lambda c, **how: st.min(c, "x", by="g", step=0.5, **how),
    "maximum": lambda c, **how: st.max(c, "x", weights="w", **how),
    "quantiles by": lambda c, **how: st.quantiles(c, [0.1, 0.2, 0.5, 0.7, 0.95], "x", by=["h", "g"], step=0.5, **how),
    "weighted quantile": lambda c, **how: st.quantile(c, 0.8, "x", weights="w", **how),
    "lower end": lambda c, **how: st.quantile(c, 0.0, "x", by="g", step=0.5, **how),
    "upper end": lambda c, **how: st.quantile(c, 1.0, "x", **how),
    "interquartile range": lambda c, **how: st.interquartile_range(c, "x", weights="w", **how),
    "count": lambda c, **how: st.count(c, by="g", **how),
    "histogram": lambda c, **how: st.histogram(c, "x", by=["g", "h"], **how),
    "histograms": lambda c, **how: st.histogram(c, ["x", "g", "y"], by="h", bins={"x": 3}, **how),
    "crosstab": lambda c, **how: st.crosstab(c, "g", "x", by="h", bins=[0, 2, 9, 10], **how),
    "crosstab of means": lambda c, **how: st.crosstab(c, "g", "x", "y", bins=2, **how),
    "survival": lambda c, **how: st.survival(c, "x", "h", occurred="e", by="g", **how),
    "survival, fine": lambda c, **how: st.survival(c, "x", "g", occurred=["a", "c"], grid=60, **how),
    "log rank": lambda c, **how: st.log_rank(c, "x", "g", "h", occurred="b", grid=[0.0, 1.0, 7.0], **how),
    "density": lambda c, **how: st.density(c, "x", **how),
    "difference": lambda c, **how: st.difference(c, "x", between="g", groups=("a", "c"), **how),
    "difference of shares": lambda c, **how: st.difference(c, "g", between="h", of="b", **how),
    "rank test": lambda c, **how: st.rank_test(c, "y", between="h", bins=5, **how),
    "chi-square": lambda c, **how: st.chi_square(c, "g", by="h", **how),
    "trend": lambda c, **how: st.trend(c, "y", over="x", bins=4, **how),
    "trend of counts": lambda c, **how: st.trend(c, over="x", bins=4, **how),
    "absolute": lambda c, **how: st.m_estimate(c, BOTH, loss="absolute", **how),
}
ADAPTIVE = {
    "adaptive variance": lambda c, **how: st.variance(c, BOTH, method="adaptive", **how),
    "adaptive covariance": lambda c, **how: st.covariance(c, BOTH, method="adaptive", **how),
    "functional density": lambda c, **how: st.density(c, "x", method="functional", **how),
}

# Of another statistic (a quantile, an estimate), or about the declaration and not about columns.
ELSEWHERE = {"median", "huber_location", "check_schema", "count_persons"}


def test_every_statistic_is_asked():
    called = {name for ask in (ASKED | ADAPTIVE).values() for name in ask.__code__.co_names}
    assert set(STATISTICS) - called == ELSEWHERE


def extreme_row(rng, person):
    def number(low, high):
        return float(rng.choice([low, high, low, high, rng.uniform(low, high), np.nan, 1e308, -1e308]))

    return (
        number(0, 10),
        number(-3, 10),
        float(rng.choice([0.0, 1.0, 2.0, 2.0])),
        str(rng.choice(list("abc"))),
        str(rng.choice(list("de"))),
        int(rng.integers(0, 2)),
        number(1, 1000),
        person,
    )


def neighbours(rng, kind):
    """Return two curators whose rows are neighbours: a row, or a person of up to three rows, added or replaced."""
    number = int(rng.choice([3, 12, 60]))
    tied = rng.random() < 0.5
    rest = [(5.0, 5.0, 2.0, "a", "d", 0, 30.0, i) if tied else extreme_row(rng, i) for i in range(number)]
    schema = PERSONS if kind.startswith("person") else ROWS
    times = (4, 4) if schema is PERSONS else (1, 1)  # the fourth row of a person does not count
    one, other = ([extreme_row(rng, -1)] * many for many in times)
    relation = "add-remove" if kind.endswith("added") else "replace-one"
    pair = (rest if kind.endswith("added") else rest + one, rest + other)
    frames = [pd.DataFrame(rows, columns=[*COLUMNS, "person"]) for rows in pair]
    return [dp.Curator(frame, schema=schema, neighbors=relation, at_most=500) for frame in frames]


def move_of_quantiles(query, loss, setting, values, rng):
    """Return the range of the log-ratio of the laws, or its size where ties are broken, in units of what it cost."""
    eta = query.way.eta(query, loss, setting)
    drawn = {}  # the same bits for the rows that both have, wherever these stand
    most = least = 0.0
    for target in query.targets:
        distributions = []
        for rows in values:
            numbers = rows[:, 0].astype(np.int64)
            if query.break_ties:
                numbers = (numbers << TIE_BITS) | _bits_of(rows, drawn, rng)
            here = (numbers >= target.first) & (numbers <= target.last)
            if query.by:
                here &= rows[:, 1] == target.group
            order = np.argsort(numbers[here], kind="stable")
            weights = None if query.weights is None else rows[here, -1].astype(np.int64)[order]
            starts, counts, scores, *_ = RankDistribution(numbers[here][order], weights, target, eta).runs()
            distributions.append((starts, scores - np.logaddexp.reduce(scores + np.log(counts.astype(float)))))
        points = np.unique(np.concatenate([starts for starts, _ in distributions]))
        one, other = (scores[np.searchsorted(starts, points, side="right") - 1] for starts, scores in distributions)
        most, least = most + (one - other).max(), least + (one - other).min()
    return (max(most, -least) if query.break_ties else most - least) / loss.epsilon  # of permute-and-flip at most so


def _bits_of(rows, drawn, rng):
    """Return bits for each row, those that were drawn before for a row, or for the k-th of equal ones."""
    copies = Counter()
    result = []
    for row in map(tuple, rows.tolist()):
        result.append(drawn.setdefault((row, copies[row]), int(rng.integers(0, 2**TIE_BITS))))
        copies[row] += 1
    return np.array(result, dtype=np.int64)


def audited(monkeypatch, rng):
    """Intercept measurements; return a function that asks something of two neighbours and returns the largest move."""
    release, draw, result = door.release, door.draw_plan, []
    other, asked = [None], []

    def watched(curator, query, payment, **how):
        asked.append((curator, query))
        return release(curator, query, payment, **how)

    def drawn(plan, collected, bits):
        curator, query = asked.pop()
        alike = other[0].only([*curator.columns, *curator.category_columns])  # a statistic reads what it asks about
        logs = [name for name, scale in zip(curator.columns, curator.scales, strict=True) if scale == "log"]
        alike = alike.on_log_scale(logs) if logs else alike
        values = [collected, query.collect(alike._records, curator.setting)]
        if isinstance(query, Quantiles):
            result.append(move_of_quantiles(query, plan.loss, curator.setting, values, rng))
        elif isinstance(query, Selection):  # the sum of the ranges of all choices
            moved = np.atleast_2d(plan.target(values[0]) - plan.target(values[1]))
            result.append(np.ptp(moved, axis=1).sum() / plan.loss.epsilon)
        elif isinstance(plan.noise, GaussianNoise):
            result.append(np.linalg.norm(values[0] - values[1]) / plan.noise.scale / plan.loss.gaussian)
        else:
            result.append(np.abs(values[0] - values[1]).sum() / plan.noise.scale / plan.loss.epsilon)
        return draw(plan, collected, bits)

    def ask(what, one, another, **how):
        result.clear()
        other[0] = another
        what(one, **how)
        assert not asked
        return max(result)

    for module in (door_curator, door_schedule):
        monkeypatch.setattr(module, "release", watched)
    monkeypatch.setattr(door, "draw_plan", drawn)
    return ask


@pytest.mark.parametrize("kind", ["row added", "row replaced", "person added", "person replaced"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_no_release_of_a_call_moves_further_than_it_was_charged_for(kind, delta, monkeypatch):
    rng = np.random.default_rng(17)
    ask = audited(monkeypatch, rng)
    worst = 0.0
    for _ in range(size(1, 4)):
        pair = neighbours(rng, kind)
        for name, what in (ASKED | (ADAPTIVE if delta else {})).items():
            moved = ask(what, *pair, epsilon=2.0, delta=delta)
            assert moved <= 1.0 + 1e-9, (name, moved)
            worst = max(worst, moved)
    assert worst > 0.95  # the worlds are hard enough to reach what is charged


@pytest.mark.parametrize("fault", ["quantiles", "groups"])
def test_the_audit_catches_a_broken_copy(fault, monkeypatch):
    rng = np.random.default_rng(18)
    ask = audited(monkeypatch, rng)
    if fault == "quantiles":
        from discreet.queries.ranks.quantile_queries import QuantileMechanism

        right = QuantileMechanism.spread
        monkeypatch.setattr(QuantileMechanism, "spread", lambda self, query, setting: right(self, query, setting) / 2.0)
    else:
        from discreet.queries.adaptors import Grouped

        monkeypatch.setattr(Grouped, "bound", property(lambda self: self.query.bound))
    what = ASKED["quantiles by" if fault == "quantiles" else "count"]
    assert any(ask(what, *neighbours(rng, "row replaced"), epsilon=2.0) > 1.05 for _ in range(20))
