"""Groups of several columns: one release, every combination, the same numbers from every source."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import statistics as st

SURE = 1e7
RNG = np.random.default_rng(5)
WARDS, SEXES = ("a", "b", "c"), ("f", "m")
ROWS = pd.DataFrame(
    {
        "age": RNG.integers(18, 91, 3000).astype(float),
        "bmi": RNG.normal(26.0, 4.0, 3000).clip(12.0, 60.0),
        "weight": RNG.uniform(0.5, 5.0, 3000),
        "ward": RNG.choice(["a", "b", "elsewhere"], 3000),
        "sex": RNG.choice(["f", "m", None], 3000),
    }
)
SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 120),
        "bmi": dp.Number(10, 80),
        "weight": dp.Number(0, 5),
        "ward": dp.Category(WARDS),
        "sex": dp.Category(SEXES),
    }
)
PAIRS = list(product(WARDS, SEXES))
FILLED = ROWS[ROWS["ward"].isin(WARDS) & ROWS["sex"].isin(SEXES)]
BY = ["ward", "sex"]


def of_each(column, compute):
    return [compute(FILLED[(FILLED["ward"] == w) & (FILLED["sex"] == s)][column]) for w, s in PAIRS[:4]]


ASKED = {
    "count": (lambda rows, **how: st.count(rows, **how), lambda: of_each("age", len)),
    "sum": (lambda rows, **how: st.sum(rows, "age", **how), lambda: of_each("age", np.sum)),
    "mean": (lambda rows, **how: st.mean(rows, "age", **how), lambda: of_each("age", np.mean)),
    "variance": (lambda rows, **how: st.variance(rows, "age", **how), lambda: of_each("age", np.var)),
    "median": (lambda rows, **how: st.median(rows, "age", step=1, **how), lambda: of_each("age", np.median)),
    "interquartile_range": (
        lambda rows, **how: st.interquartile_range(rows, "bmi", **how),
        lambda: of_each("bmi", lambda x: np.subtract(*np.quantile(x, [0.75, 0.25], method="inverted_cdf"))),
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_every_combination_has_its_own_answer(name):
    ask, truth = ASKED[name]
    answer = ask(ROWS, by=BY, epsilon=SURE, schema=SCHEMA)
    assert (answer.groups, answer.by) == (tuple(PAIRS), ("ward", "sex"))
    np.testing.assert_allclose(answer.value[:4], truth(), rtol=0.03)
    table = answer.table()
    assert [(row["ward"], row["sex"]) for row in table] == PAIRS
    assert answer.to_dict()["b", "m"] == answer.value[3]


def test_matrices_and_bins_of_groups():
    how = {"by": BY, "epsilon": SURE, "schema": SCHEMA}
    matrix = st.covariance(ROWS, ["age", "bmi"], **how)
    assert matrix.value.shape == (6, 2, 2)
    one = FILLED[(FILLED["ward"] == "b") & (FILLED["sex"] == "f")][["age", "bmi"]]
    np.testing.assert_allclose(matrix.value[2], np.cov(one.T, bias=True), rtol=0.02, atol=0.2)
    counts = st.histogram(ROWS, "age", bins=[0, 40, 120], **how)
    assert counts.value.shape == (6, 2)
    assert counts.value[2].round().tolist() == [(one["age"] < 40).sum(), (one["age"] >= 40).sum()]
    assert list(counts.table()[0]) == ["ward", "sex", "age", "value", "low", "high", "which_rows"]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_groups_of_several_columns_cost_no_more_than_those_of_one(relation, delta):
    how = {"epsilon": 1.0, "delta": delta, "schema": SCHEMA, "neighbors": relation}
    for ask in (st.mean.plan, st.median.plan):
        one, several = (ask(ROWS, column, by=by, **how).losses for by, column in [("ward", "age"), (BY, "age")])
        assert one == several
    one, several = (st.count(ROWS, by=by, **how).release.noise.variance for by in ("ward", BY))
    assert several == pytest.approx(one, rel=2e-3)  # more numbers are rounded to the grid


@pytest.mark.parametrize("statistic", ["mean", "median", "count"])
def test_every_source_gives_the_same(statistic, seeded, tmp_path):
    ROWS.to_parquet(tmp_path / "rows.parquet")
    ask, places = ASKED[statistic][0], (ROWS, tmp_path / "rows.parquet")
    values = [ask(data, by=BY, epsilon=2.0, delta=1e-6, schema=SCHEMA, bits=seeded(3)).value for data in places]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9)


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (["ward", "ward"], "each once"),
        ([], "at least one column"),
        (["ward", "age"], "by='age': expected a declared column of categories"),
        ({"ward": 1}, "by=a dict"),
        ("colour", "there are 'ward', 'sex'"),
    ],
)
def test_what_cannot_be_a_group_is_refused(by, words):
    with pytest.raises(ValueError, match=words):
        st.mean(ROWS, "age", by=by, epsilon=1.0, schema=SCHEMA)


def test_more_groups_than_can_be_told_apart_are_refused():
    many = {f"c{i}": dp.Category(list(range(30))) for i in range(3)}
    rows = pd.DataFrame({name: [0, 1] for name in many})
    with pytest.raises(ValueError, match="at most 10000 combinations of categories, got 27000"):
        st.count(rows, by=list(many), epsilon=1.0, schema=dp.Schema(many))


def test_a_group_that_is_called_like_a_column_of_the_table_is_told_apart():
    rows = pd.DataFrame({"value": ["u", "v"] * 50})
    table = st.count(rows, by="value", epsilon=1.0, classes={"value": ["u", "v"]}).table()
    assert [row["group value"] for row in table] == ["u", "v"]


def test_the_database_and_its_drafts_speak_of_all_columns(tmp_path):
    ROWS.to_parquet(tmp_path / "rows.parquet")
    db = dp.StatisticalDatabase(
        tmp_path / "rows.parquet", schema=SCHEMA, budget=dp.Guarantee(1e6, 1e-6), ledger=tmp_path / "ledger"
    )
    assert db.draft.mean("age", by=BY).description == "mean of age by ward, sex"
    reply = db.mean("age", by=("ward", "sex"), epsilon=1e4)
    np.testing.assert_allclose(reply.value[:4], of_each("age", np.mean), rtol=0.01)
