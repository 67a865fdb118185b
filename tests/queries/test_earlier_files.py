"""Files that an earlier version wrote are read: releases and what they asked, fitted models, a ledger.

``data/before_core`` was written once, by version 0.1.0.dev0 at commit 4705e26, when files named kinds of questions by
the module that had them. ``releases.json`` has one release for every kind of question, and for every set of values one
inside the other, that could be written down then: from every estimator, statistic, mechanism, signal and question of
a database in ``every.py``, and from the registry's makers; those that could not be written down have none. With each
stand numbers of what four rows contribute to it. ``models.json`` has every estimator by each of its methods, with what
it says of three rows; ``ledger.db`` has limits, spends and reservations, and ``ledger.json`` what is left of them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.estimators.loading import KINDS
from discreet.queries.question import Question
from discreet.queries.question_files import as_plain, describe, read_question
from discreet.records import Block
from together import together

FOLDER = Path(__file__).parents[1] / "data" / "before_core"
RELEASES = json.loads((FOLDER / "releases.json").read_text())
MODELS = json.loads((FOLDER / "models.json").read_text())
ROWS = (np.arange(32.0).reshape(4, 8) * 7.0) % 10.0 - 4.0


def of_four_rows(question):
    """Return a few numbers that tell what a question takes from rows, and their bound; None where it is no sum."""
    if not hasattr(question, "contributions"):
        return None
    declared = getattr(question, "categories", ())
    width = max(len(declared) if isinstance(declared, tuple) else 1, 1)
    block = Block(ROWS[:, : question.dimension], np.arange(4 * width).reshape(4, width) % 2)
    given = np.asarray(question.contributions(block))
    return [np.abs(given).sum(), given.ravel() @ np.cos(np.arange(given.size)), question.bound.l2]


@together(
    "one", RELEASES, ids=[f"{number} {one['question']} from {one['from']}" for number, one in enumerate(RELEASES)]
)
def test_a_release_is_read_with_its_question(one):
    release = dp.Release.from_json(json.dumps(one["release"]))
    np.testing.assert_array_equal(release.value, one["release"]["value"])
    assert release.loss.to_dict() == one["release"]["loss"]
    assert release.provenance == ("simulated" if one["from"].startswith("made") else "loaded")
    question = release.question
    if one["question"] is None:
        assert question is None
        return
    assert isinstance(question, Question)
    assert describe(question)["kind"].rpartition(".")[2] == one["question"]
    assert question.name == release.query
    description = json.loads(json.dumps(as_plain(describe(question)), allow_nan=False))
    again = read_question(description)
    assert type(again) is type(question)
    assert as_plain(describe(again)) == description
    if one["contributes"] is not None:
        np.testing.assert_allclose(of_four_rows(question), one["contributes"], rtol=1e-8, atol=1e-12)
        np.testing.assert_array_equal(of_four_rows(question), of_four_rows(again))
    assert dp.Release.from_json(release.to_json()) == release


def test_every_kind_of_model_is_there():
    later = {"TableSynthesizer"}  # than these files
    assert {one["model"]["kind"] for one in MODELS} == set(KINDS) - later


@pytest.mark.parametrize("one", MODELS, ids=[one["from"] for one in MODELS])
def test_a_model_is_read_and_says_what_it_said(one, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(one["model"]))
    model = dp.load_model(path)
    promised = model.guarantee_
    said = None if promised is None else [promised.epsilon, promised.delta, promised.neighbors.value]
    assert said == one["guarantee"]
    assert all(release.question is not None for release in model.releases_ if release.asked is not None)
    names, values = one["rows"]["names"], one["rows"]["values"]
    rows = np.array(values) if names is None else pd.DataFrame(values, columns=names)
    for method, expected in one["gives"].items():
        given = model.sample(2, random_state=0) if method == "sample" else getattr(model, method)(rows)
        alike(given, expected)
    path.write_text(model.to_json())
    assert dp.load_model(path).to_json() == model.to_json()


def alike(given, expected):
    """See that rows, labels, numbers or several of them are those of the file."""
    if isinstance(expected, dict):
        for name, column in expected.items():
            alike(np.asarray(given[name]), column)
    elif isinstance(given, tuple):
        for one, other in zip(given, expected, strict=True):
            alike(one, other)
    elif np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(given, expected, rtol=1e-6, atol=1e-9)
    else:
        np.testing.assert_array_equal(given, expected)


def test_a_ledger_is_read_and_goes_on(tmp_path):
    told = json.loads((FOLDER / "ledger.json").read_text())
    path = tmp_path / "ledger.db"
    shutil.copy(FOLDER / "ledger.db", path)
    ledger = dp.Ledger(path, create=False)
    assert ledger.verify() == told["head"]
    assert sorted(ledger.datasets()) == sorted(told["datasets"])
    history = [[one.number, one.kind, one.dataset, one.query, one.unit, one.who] for one in ledger.history()]
    assert history == told["history"]
    for name, balance in told["datasets"].items():
        limit = ledger.limit(name)
        assert (None if limit is None else limit.to_dict()) == balance["limit"]
        assert ledger.unit(name) == balance["unit"]
        spent = {json.dumps(loss): count for loss, count in balance["spent"]}
        assert {json.dumps(loss.to_dict()): count for loss, count in ledger.spent(name).items()} == spent
        left = ledger.remaining(name)
        for kind, most in balance["remaining"].items():
            assert getattr(left, kind) == pytest.approx(most, rel=1e-9)
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend("census", dp.GaussianLoss(1.0), query="too much")
    curator = dp.Curator(ROWS[:, :1], space=dp.Box(-9.0, 9.0), name="census", ledger=ledger)
    assert curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.05)).recorded
    ledger.verify(told["head"])
    assert len(ledger.history()) == len(history) + 1


@pytest.mark.parametrize("wrong", [[], {}, "2", 1, None])
def test_a_format_that_is_none_is_refused(wrong):
    with pytest.raises(dp.ArgumentError, match="format"):
        dp.Release.from_dict(RELEASES[0]["release"] | {"format": wrong})


def test_a_field_under_both_of_its_names_is_refused():
    """One of the two would be passed over, and it may be the one with less noise."""
    release = RELEASES[0]["release"]
    for earlier, now in {"law": "noise", "passage": "mechanism"}.items():
        with pytest.raises(dp.ArgumentError, match="expected the fields of format 2"):
            dp.Release.from_dict(release | {now: release[earlier]})
