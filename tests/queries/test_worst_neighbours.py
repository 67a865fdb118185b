"""Every query's bound under attack, and broken copies that the attack must catch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from discreet.queries.bound import Bound
from discreet.queries.counts.count_queries import Histogram
from discreet.queries.functions.user_functions import RowMechanism
from discreet.queries.moments.moments import Moments, Sum
from discreet.queries.question import Query, RowQuery
from discreet.queries.search import random_codes, worst_neighbours
from discreet.records import Ball, Block, Box
from effort import LONG, size
from instances import QUERIES, library_questions
from together import together

LIBRARY = library_questions(Query)  # imports every module, so that every query has registered itself
EACH = sorted(QUERIES, key=lambda query: query.__name__)


def test_every_query_is_registered():
    assert {query for query in QUERIES if query.__module__.startswith("discreet.")} == LIBRARY


# A question that needs rows side by side has no bound to search; what its mechanism draws is enumerated over small
# worlds instead. ``WholeRows`` only hands rows to the mechanisms of a user's functions.
ENUMERATED = {
    "Quantiles": "test_quantile_queries.py",
    "OneColumn": "test_mechanisms_smooth.py",
    "SmoothMedian": "test_mechanisms_smooth.py",
    "SmoothFunction": "test_mechanisms_smooth.py",
    "ExponentialChoice": "test_mechanisms_choice.py",
    "IntervalChoice": "test_mechanisms_choice.py",
    "OutputPerturbation": "test_mechanisms_noise.py",
    "NoisyRows": "test_mechanisms_noise.py",
    "BlockMean": "test_mechanisms_blocks.py",
    "BlockMedian": "test_mechanisms_blocks.py",
    "ProposeTestRelease": "test_mechanisms_propose.py",
}


def test_every_row_query_has_its_distributions_enumerated_somewhere():
    result = {one.__name__ for one in library_questions(RowQuery) | library_questions(RowMechanism)}
    assert result == {*ENUMERATED, "WholeRows"}
    for name, file in ENUMERATED.items():
        (place,) = Path(__file__).parents[1].rglob(file)
        text = place.read_text(encoding="utf-8")
        assert "neighbours" in text, (name, file)


SPACES = [(1, 1.0), (2, 1e-3), (3, 1e6), (7, 20.0), (size(10, 30), 1.0)]  # columns and radius


def attacked(query, rng, space):
    """Return the instances of a query in a space.

    Of a query that has several, each is attacked in at least one of the spaces; in all of them by ``make audit``.
    """
    every = QUERIES[query](rng, *space)
    stride = 1 if LONG else min(len(every), len(SPACES))
    return every[SPACES.index(space) % stride :: stride]


@pytest.mark.parametrize("query", EACH, ids=lambda query: query.__name__)
@pytest.mark.parametrize("space", SPACES, ids=lambda space: "{}-{}".format(*space))
def test_no_neighbours_beat_the_bound_and_some_come_close(query, space):
    rng = np.random.default_rng(space[0])
    for instance in attacked(query, rng, space):
        findings = worst_neighbours(instance, rng, crowds=size(2, 8))
        assert findings
        for finding in findings:
            assert finding.holds, (instance, finding)
            assert finding.tight, (instance, finding)


@together("query", EACH, ids=lambda query: query.__name__)
@together("d", [1, 4])
def test_the_fast_sum_is_the_sum_of_the_contributions(query, d):
    rng = np.random.default_rng(d)
    for instance in QUERIES[query](rng, d, 5.0):
        x = rng.normal(size=(200, instance.dimension)) * 10.0
        block = Block(x, random_codes(instance, rng, 200))
        rows = instance.contributions(block)
        assert rows.shape == (200, instance.size)
        error = 200 * instance.bound.l2 * 200 * 2.0**-53 * 4
        np.testing.assert_allclose(instance.sum(block), rows.sum(axis=0), rtol=0, atol=error + 1e-14)


@dataclass(frozen=True)
class Broken(Query):
    """A copy of a query with something wrong: the bound √2 too small, the clipping left out, a count too exact."""

    right: Query
    fault: str
    name = "broken"

    @property
    def dimension(self):
        return self.right.dimension

    @property
    def space(self):
        return self.right.space

    @property
    def parts(self):
        return self.right.parts

    @property
    def bound(self):
        bound = self.right.bound
        if self.fault == "sqrt 2":
            return Bound(l2=bound.l2 / np.sqrt(2), replace_l2=bound.replace("l2") / np.sqrt(2))
        if self.fault == "replace as add":
            return Bound(l2=bound.l2, replace_l2=bound.l2)
        return bound

    def contributions(self, block):
        if self.fault == "no clipping":
            centre, scale = np.asarray(self.space.center), np.asarray(self.space.scale)
            unclipped = (block.x - centre) / scale
            rows = np.array(self.right.contributions(block))
            start = 0 if isinstance(self.right, Sum) else 1
            rows[:, start : start + unclipped.shape[1]] = unclipped
            return rows
        return self.right.contributions(block)

    def sum(self, block):
        if self.fault == "exact count in a denominator":  # of those on one side; each row by itself is as before
            rows = np.asarray(self.contributions(block))
            side = np.asarray(block.x)[:, 0] > np.asarray(self.space.center)[0]
            return rows[side].sum(axis=0) * len(rows) / max(2.0 * side.sum(), 1.0)
        return super().sum(block)


@pytest.mark.parametrize("fault", ["sqrt 2", "replace as add", "no clipping", "exact count in a denominator"])
@pytest.mark.parametrize(
    "right",
    [Sum(Ball(2.0, center=[0.0, 1.0, 2.0])), Moments(Ball(1.0, center=[0.0] * 3)), Moments(Box([0.0] * 4, [1.0] * 4))],
    ids=["sum in a ball", "moments in a ball", "moments in a box"],
)
def test_broken_copies_are_caught(right, fault):
    findings = worst_neighbours(Broken(right, fault), np.random.default_rng(0))
    assert not all(finding.holds for finding in findings)
    assert all(finding.holds for finding in worst_neighbours(right, np.random.default_rng(0)))


def too_small(instance: Query) -> Query:
    """Return a copy of a query whose bound is √2 below what it proves."""
    kind = type(instance)

    class TooSmall(kind):
        @property
        def bound(self):
            own = super().bound
            norms = {norm: getattr(own, norm) for norm in ("l2", "l1", "replace_l2", "replace_l1")}
            return Bound(**{norm: value and value / np.sqrt(2.0) for norm, value in norms.items()})

    copy = object.__new__(TooSmall)
    copy.__dict__.update(vars(instance))
    return copy


@pytest.mark.parametrize("query", EACH, ids=lambda query: query.__name__)
def test_a_bound_too_small_by_the_root_of_two_is_caught_in_every_query(query):
    rng = np.random.default_rng(5)
    for instance in QUERIES[query](rng, 3, 2.0)[:2]:
        findings = worst_neighbours(too_small(instance), rng, crowds=size(2, 8))
        # A guarded query holds every row to the norm that it states, whatever that is.
        assert all(finding.holds for finding in findings) == (query.__name__ == "GuardedQuery"), instance


def test_a_bound_that_claims_too_much_tightness_is_caught():
    @dataclass(frozen=True)
    class Loose(Histogram):
        @property
        def bound(self):
            return Bound(l2=2.0, l1=2.0, replace_l2=4.0, replace_l1=4.0)

    findings = worst_neighbours(Loose(3), np.random.default_rng(0))
    assert all(finding.holds for finding in findings)
    assert not any(finding.tight for finding in findings)


@pytest.mark.parametrize(
    ("relation", "rows", "l2", "l1"),
    [
        ("add-remove", 1, 1.0, 2.0),
        ("replace-one", 1, 1.5, 4.0),
        ("add-remove", 3, 3.0, 6.0),
        ("replace-one", 3, 4.5, 12.0),
    ],
)
def test_the_sensitivity_follows_from_the_relation_in_one_place(relation, rows, l2, l1):
    bound = Bound(l2=1.0, l1=2.0, replace_l2=1.5)
    assert bound.sensitivity("l2", relation, max_rows=rows) == l2
    assert bound.sensitivity("l1", relation, max_rows=rows) == l1


def test_a_dropped_row_counts_under_replace_one():
    """Where rows are close to each other, dropping one for a missing value moves the sum further than replacing it."""
    assert Bound(l2=1.0, replace_l2=0.1).sensitivity("l2", "replace-one") == 1.0


@pytest.mark.parametrize(
    "arguments",
    [{"l2": 0.0}, {"l2": -1.0}, {"l2": None}, {"l2": 1.0, "l1": float("nan")}, {"l2": 1.0, "attained": {"l3": 1.0}}],
)
def test_bounds_that_are_none(arguments):
    with pytest.raises(ValueError, match="expected"):
        Bound(**arguments)


@pytest.mark.parametrize("weights", [(0.5, 0.5, 0.5), (1.0, 0.0, 0.0), (-0.5, 1.0, 0.5), (0.5, 0.5)])
def test_weights_of_moments(weights):
    with pytest.raises(ValueError, match="weights="):
        Moments(Ball(1.0, center=[0.0]), weights)
