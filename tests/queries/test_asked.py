"""A release knows its question: written down, read back, and asking the same of every row."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil

import numpy as np
import pytest

import discreet as dp
from discreet.queries.moments.clipped_moments import ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.queries.question import Part, Query
from discreet.queries.question_files import as_plain, describe, read_question
from discreet.records import Block
from instances import QUERIES

RNG = np.random.default_rng(0)
ROWS = RNG.normal(0.0, 2.0, (40, 8))


class Foreign(Query):
    """A question of a user's own."""

    name = "foreign"
    dimension = 3
    parts = {"sum": Part((3,))}  # noqa: RUF012
    bound = dp.Sum(dp.Box([-9.0] * 3, [9.0] * 3)).bound

    def contributions(self, block):
        return block.x


def questions():
    """Return instances of every registered query that the library can write down."""
    for module in pkgutil.walk_packages(dp.__path__, "discreet."):
        if ".inference" not in module.name:
            importlib.import_module(module.name)
    for kind, make in QUERIES.items():
        if kind.__module__.startswith("discreet."):
            yield from make(np.random.default_rng(1), 3, 5.0)


def test_every_question_of_the_library_comes_back_the_same():
    seen, silent = set(), set()
    codes = RNG.integers(0, 2, (len(ROWS), 12))
    for query in questions():
        description = describe(query)
        if description is None:
            silent.add(type(query).__name__)
            continue
        plain = as_plain(description)
        again = read_question(json.loads(json.dumps(plain, allow_nan=False)))
        assert as_plain(describe(again)) == plain
        declared = getattr(query, "categories", ())
        width = len(declared) if isinstance(declared, tuple) else 1
        block = Block(ROWS[:, : query.dimension], codes[:, : max(width, 1)])
        np.testing.assert_array_equal(again.contributions(block), query.contributions(block))
        seen.add(type(query).__name__)
    assert {"Sum", "Moments", "Histogram", "ModelQuery", "MarginGradient", "ClassMoments"} <= seen
    # A user's function cannot be written down, nor can a mechanism that DirectionScatter holds; everything else is
    assert silent <= {"FactoredSum", "DirectionScatter"}, silent


def test_a_release_keeps_its_question_through_files():
    curator = dp.Curator(ROWS[:, :3], space=dp.Box([-9.0] * 3, [9.0] * 3))
    release = curator.measure(dp.Moments(curator.space), dp.GaussianLoss(1.0))
    assert release.question == dp.Moments(curator.space)
    assert dp.Release.from_json(release.to_json()).question == dp.Moments(curator.space)


def test_a_question_of_ones_own_is_not_written_down():
    curator = dp.Curator(ROWS[:, :3], space=dp.Box([-9.0] * 3, [9.0] * 3))
    release = curator.measure(Foreign(), dp.GaussianLoss(1.0))
    assert release.asked is None
    assert release.question is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "os:system", "command": "true"},
        {"kind": "discreet.door.curator:Curator", "data": []},
        {"kind": "discreet.records.box:Box", "low": [0.0], "high": [1.0]},
        {"kind": "discreet.queries.moments.moments:Sum", "space": {"kind": "discreet.nowhere:Box"}},
        {"kind": "discreet.queries.moments.moments:Nothing"},
        {"kind": "discreet.queries.moments.moments:Sum", "room": 3},
        {"space": 3},
        {"kind": "float", "value": 10**400},
        {"kind": "array", "type": "int8", "shape": [1], "values": [1000]},
        {"kind": "array", "type": "S2000000000", "shape": [0], "values": []},
        {"kind": "discreet.statistics.density.piecewise:Piecewise", "edges": [None], "left": 3, "right": 1e-320},
    ],
)
def test_a_file_brings_back_questions_of_the_library_and_nothing_else(wrong):
    with pytest.raises(ValueError, match="expected"):
        read_question(wrong)


def test_what_was_asked_is_checked():
    curator = dp.Curator(ROWS[:, :3], space=dp.Box([-9.0] * 3, [9.0] * 3))
    facts = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(1.0)).to_dict()
    with pytest.raises(ValueError, match="asked"):
        dp.Release.from_dict(facts | {"asked": 3})
    for wrong in ({"columns": 5}, {"columns": [["x0"]]}, {"where": {}}):
        with pytest.raises(ValueError, match="declared"):
            dp.Release.from_dict(facts | {"declared": facts["declared"] | wrong})


def test_what_was_asked_cannot_be_changed():
    curator = dp.Curator(ROWS[:, :3], space=dp.Box([-9.0] * 3, [9.0] * 3))
    facts = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(1.0)).to_dict()
    release = dp.Release.from_dict(facts)
    facts["asked"]["kind"] = "discreet.queries.counts.count_queries:Count"
    with pytest.raises(TypeError):
        release.asked["kind"] = "discreet.queries.counts.count_queries:Count"
    assert release.question == dp.Sum(curator.space)
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="deep"):
        dp.Release.from_dict(release.to_dict() | {"asked": {"kind": deep}})


def test_arrays_stay_arrays_until_they_are_written_and_cannot_be_reached():
    """A release keeps its question's arrays, copied: whoever changes theirs changes nothing of it."""
    curator = dp.Curator(ROWS[:, :2], space=dp.Box([-9.0] * 2, [9.0] * 2))
    means = np.array([[0.5, np.pi]])
    parts = Components(np.ones(1), means, np.eye(2)[None])
    query = MomentSums(ClippedMoments(parts, 2.0, (0.2, 0.3, 0.5)), curator.space, "moments")
    release = curator.measure(query, dp.GaussianLoss(1.0))
    before = release.to_json()
    means[:] = 0.0
    assert release.to_json() == before
    assert json.loads(before)["asked"]["moments"]["components"]["means"]["values"] == [0.5, np.pi]
    again = dp.Release.from_json(before)
    assert again.to_json() == before.replace('"provenance": "measured"', '"provenance": "loaded"')
    for one in (release, again):
        np.testing.assert_array_equal(one.question.moments.components.means, [[0.5, np.pi]])


def test_questions_are_frozen():
    """What is written down cannot change after it was asked."""
    for kind in QUERIES:
        if kind.__module__.startswith("discreet.") and dataclasses.is_dataclass(kind):
            assert kind.__dataclass_params__.frozen, kind
