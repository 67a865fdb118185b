"""Cross-tabulations and histograms of several columns: what adds up, what is never negative, and honest intervals."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import statistics as st
from discreet.noise import GaussianNoise, LaplaceNoise
from discreet.records import Table
from discreet.records.sources import databases
from discreet.statistics.consistent_tables import estimate_table, noise_variances, project_table
from effort import crossed, size

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

SURE = 1e7
RNG = np.random.default_rng(11)
N = 4000
WARDS, SEXES = ("a", "b", "c"), ("f", "m")
ROWS = pd.DataFrame(
    {
        "ward": RNG.choice(["a", "b", "c", "elsewhere"], N, p=[0.6, 0.2, 0.1, 0.1]),
        "sex": RNG.choice(["f", "m", None], N, p=[0.5, 0.4, 0.1]),
        "age": RNG.integers(18, 91, N).astype(float),
        "stay": RNG.gamma(2.0, 3.0, N).clip(0, 60),
        "admitted": np.datetime64("2020-01-01") + RNG.integers(0, 366, N).astype("m8[D]"),
    }
)
COLUMNS = {
    "ward": dp.Category(WARDS),
    "sex": dp.Category(SEXES),
    "age": dp.Number(0, 120),
    "stay": dp.Number(0.1, 60, log=True),
    "admitted": dp.Date("2020-01-01", "2020-12-31"),
}
SCHEMA = dp.Schema(COLUMNS)
COMPLETE = dp.Schema(
    {"ward": dp.Category(WARDS, missing="fill", fill="c", other="c"), "sex": dp.Category(SEXES, "fill", "f")}
)
HELD = ROWS[ROWS["ward"].isin(WARDS) & ROWS["sex"].isin(SEXES)]
TRUTH = pd.crosstab(HELD["ward"], HELD["sex"]).to_numpy()


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_table_has_the_counts_of_its_cells(delta):
    answer = st.crosstab(ROWS, "ward", "sex", epsilon=SURE, delta=delta, schema=SCHEMA)
    assert answer.value == pytest.approx(TRUTH, abs=0.5)
    assert answer.measured == pytest.approx(TRUTH, abs=0.5)
    assert answer.margins["rows"] == pytest.approx(TRUTH.sum(axis=1), abs=1)
    assert answer.margins["columns"] == pytest.approx(TRUTH.sum(axis=0), abs=1)
    assert answer.margins["total"] == pytest.approx(TRUTH.sum(), abs=1)
    assert answer.axes == {"ward": WARDS, "sex": SEXES}
    assert answer.to_dict()["a"]["m"] == answer.value[0, 1]
    assert len(answer.releases) == 1
    assert answer.guarantee.epsilon == SURE


def test_numbers_and_dates_are_binned_as_in_a_histogram():
    answer = st.crosstab(
        ROWS, "age", "admitted", bins={"age": [0, 40, 65, 120], "admitted": "month"}, epsilon=SURE, schema=SCHEMA
    )
    months = ROWS["admitted"].dt.month
    bands = pd.cut(ROWS["age"], [0, 40, 65, 120], right=False)
    assert answer.value == pytest.approx(pd.crosstab(bands, months).to_numpy(), abs=0.5)
    assert list(answer.axes["admitted"])[:2] == ["2020-01", "2020-02"]
    assert answer.axes["age"] == ("[0, 40)", "[40, 65)", "[65, 120]")
    same = st.histogram(ROWS, "age", bins=[0, 40, 65, 120], epsilon=SURE, schema=SCHEMA)
    assert answer.margins["rows"] == pytest.approx(same.value, abs=1)


def test_means_in_every_cell_and_margins_weighted_by_their_counts():
    answer = st.crosstab(ROWS, "ward", "sex", "age", epsilon=SURE, schema=SCHEMA)
    means = HELD.pivot_table("age", "ward", "sex", aggfunc="mean").to_numpy()
    assert answer.value == pytest.approx(means, abs=0.1)
    assert answer.counts == pytest.approx(TRUTH, abs=0.5)
    assert answer.measured_sums == pytest.approx(
        HELD.pivot_table("age", "ward", "sex", aggfunc="sum").to_numpy(), abs=9
    )
    weighted = (answer.counts * answer.value).sum(axis=1) / answer.counts.sum(axis=1)
    assert answer.margins["rows"] == pytest.approx(weighted)
    assert answer.margins["total"] == pytest.approx(HELD["age"].mean(), abs=0.1)
    dates = st.crosstab(ROWS, "ward", "sex", "admitted", epsilon=SURE, schema=SCHEMA)
    assert dates.to_dict()["a"]["f"][:4] == "2020"
    logs = st.crosstab(ROWS, "ward", "sex", "stay", epsilon=SURE, schema=SCHEMA)
    geometric = np.exp(np.log(HELD["stay"].clip(lower=0.1)).groupby([HELD["ward"], HELD["sex"]]).mean()).to_numpy()
    assert logs.value.ravel() == pytest.approx(geometric, rel=0.02)
    assert logs.table()[0]["statistic"] == "geometric mean"
    assert logs.table(margins=True)[-1]["value"] == logs.margins["total"]


@pytest.mark.parametrize(
    ("epsilon", "neighbors", "delta"),
    crossed([0.01, 0.3], ["replace-one", "add-remove"], [0.0, 1e-6]),
)
def test_tables_add_up_are_not_negative_and_lie_in_their_intervals(delta, neighbors, epsilon):
    for values, by in ((None, None), ("stay", None), (None, "sex")):
        answer = st.crosstab(
            ROWS,
            "ward",
            "age",
            values,
            by=by,
            epsilon=epsilon,
            delta=delta,
            schema=SCHEMA,
            neighbors=neighbors,
            bins=12,
        )
        counts = answer.value if values is None else answer.counts
        assert (counts >= 0.0).all()
        margins = answer.margins
        if values is None:
            assert margins["rows"].sum(axis=-1) == pytest.approx(margins["total"])
            assert margins["columns"].sum(axis=-1) == pytest.approx(margins["total"])
            assert counts.sum(axis=-1) == pytest.approx(margins["rows"])
        low, high = answer.interval(0.8)
        assert (low <= answer.value).all()
        assert (answer.value <= high).all()
        for name, (least, most) in answer.margin_intervals(0.8).items():
            assert (np.asarray(least) <= margins[name]).all()
            assert (margins[name] <= np.asarray(most)).all()
        rows = answer.table(margins=True)
        groups = 2 if by else 1
        assert len(rows) == groups * (36 + 3 + 12 + 1)
        assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
        assert len(answer.table()) == groups * 36
        assert repr(answer)


def test_a_public_number_of_rows_is_the_total():
    for delta in (0.0, 1e-6):
        answer = st.crosstab(ROWS, "ward", "sex", epsilon=0.05, delta=delta, schema=COMPLETE)
        assert answer.margins["total"] == N
        assert answer.value.sum() == pytest.approx(N)
        assert answer.margin_intervals()["total"] == (N, N)
        assert answer.measured.sum() == pytest.approx(N)
        private = st.crosstab(ROWS, "ward", "sex", epsilon=0.05, delta=delta, schema=COMPLETE, neighbors="add-remove")
        low, high = private.margin_intervals()["total"]
        assert low < high


@pytest.mark.parametrize(
    ("delta", "known"), size([(0.0, True), (1e-6, False)], list(product([0.0, 1e-6], [False, True])))
)
def test_intervals_hold_the_true_numbers_at_their_level(delta, known):
    """Of the estimate before it is made to fit, so at the level and not far above it."""
    some, level, runs = ROWS[:200], 0.8, size(60, 4000)
    rows = some.assign(ward=some["ward"].where(some["ward"].isin(WARDS), "c"), sex=some["sex"].fillna("f"))
    rows = rows if known else some[some["ward"].isin(WARDS) & some["sex"].isin(SEXES)]
    truth = pd.crosstab(rows["ward"], rows["sex"]).to_numpy()
    true = {"cells": truth, "rows": truth.sum(axis=1), "columns": truth.sum(axis=0), "total": truth.sum()}
    plan = st.crosstab.plan(some, "ward", "sex", epsilon=1.0, delta=delta, schema=COMPLETE if known else SCHEMA)
    inside = {name: [] for name in true}
    for _ in range(runs):
        answer = plan.run()
        for name, (low, high) in {"cells": answer.interval(level), **answer.margin_intervals(level)}.items():
            inside[name].append(np.mean((low <= true[name]) & (true[name] <= high)))
    for name, held in inside.items():
        spread = 6.2 * math.sqrt(level * (1 - level) / runs)  # numbers of one table are not independent
        assert np.mean(held) > level - spread
        assert np.mean(held) < level + spread or (known and name == "total")


def test_intervals_of_means_hold_the_true_means():
    level, runs, held = 0.8, size(40, 1000), []
    means = HELD.pivot_table("age", "ward", "sex", aggfunc="mean").to_numpy()
    rows = HELD.groupby("ward")["age"].mean().to_numpy()
    plans = [
        st.crosstab.plan(HELD, "ward", "sex", "age", epsilon=0.2, delta=delta, schema=SCHEMA) for delta in (0.0, 1e-6)
    ]
    for place in range(runs):
        answer = plans[place % 2].run()
        low, high = answer.interval(level)
        least, most = answer.margin_intervals(level)["rows"]
        held.append([np.mean((low <= means) & (means <= high)), np.mean((least <= rows) & (rows <= most))])
    assert (np.mean(held, axis=0) > level - 6.2 * math.sqrt(level * (1 - level) / runs)).all()


def brute_force(cells, rows, columns, precisions, total):
    """Return the estimate by a general solver of least squares."""
    height, width = cells.shape
    design = np.vstack(
        [np.eye(cells.size), np.kron(np.eye(height), np.ones(width)), np.kron(np.ones(height), np.eye(width))]
    )
    weights = np.sqrt(np.repeat(precisions, [cells.size, height, width]))
    design, given = design * weights[:, None], np.concatenate([cells.ravel(), rows, columns]) * weights
    if total is not None:
        design, given = np.vstack([design, np.full(cells.size, 1e5)]), np.append(given, 1e5 * total)
    return np.linalg.lstsq(design, given, rcond=None)[0].reshape(cells.shape), np.linalg.inv(design.T @ design)


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (7, 1), (1, 4)])
@pytest.mark.parametrize("precisions", [(1.0, 0.0, 0.0), (5 / 6, 1 / 12, 1 / 12), (0.2, 0.7, 0.1)])
@pytest.mark.parametrize("known", [False, True])
def test_the_estimate_is_that_of_least_squares(shape, precisions, known):
    rng = np.random.default_rng(3)
    cells, rows, columns = rng.normal(20, 9, shape), rng.normal(60, 9, shape[0]), rng.normal(50, 9, shape[1])
    total = 123.0 if known else None
    expected, covariance = brute_force(cells, rows, columns, precisions, total)
    assert estimate_table(cells, rows, columns, precisions, total) == pytest.approx(expected, abs=1e-4)
    width = shape[1]
    cell, row, column, whole = noise_variances(shape, precisions, known=known)
    assert covariance[0, 0] == pytest.approx(cell, rel=1e-3, abs=1e-6)
    assert covariance[:width, :width].sum() == pytest.approx(row, rel=1e-3, abs=1e-6)
    assert covariance[::width, ::width].sum() == pytest.approx(column, rel=1e-3, abs=1e-6)
    assert covariance.sum() == pytest.approx(whole, rel=1e-3, abs=1e-5)


def test_the_table_is_the_nearest_one_with_its_margins():
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(4)
    for shape in ((2, 3), (4, 4)):
        estimate = rng.normal(1.0, 3.0, shape)
        table = project_table(estimate, 20.0)
        assert (table >= 0.0).all()
        assert table.sum() == pytest.approx(20.0)
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        constraints = [
            {"type": "eq", "fun": lambda x, s=shape, r=rows: x.reshape(s).sum(axis=1) - r},
            {"type": "eq", "fun": lambda x, s=shape, c=columns: (x.reshape(s).sum(axis=0) - c)[1:]},
        ]
        found = optimize.minimize(
            lambda x, e=estimate: ((x - e.ravel()) ** 2).sum(), table.ravel() * 0.5 + 0.5, method="SLSQP",
            bounds=[(0, None)] * table.size, constraints=constraints, options={"maxiter": 500, "ftol": 1e-12},
        )  # fmt: skip
        assert found.x.reshape(shape) == pytest.approx(table, abs=1e-4)


@pytest.mark.parametrize("estimate", [np.zeros((2, 3)), np.full((2, 2), -5.0), np.array([[1e300, -1e300], [1.0, 2.0]])])
def test_every_table_has_an_answer(estimate):
    for total in (None, 0.0, 10.0):
        table = project_table(estimate, total)
        assert np.isfinite(table).all()
        assert (table >= 0.0).all()


def test_measured_margins_are_more_accurate_and_cells_hardly_less():
    """With Gaussian noise a sixth of the squared budget goes to the totals."""
    for shape, margin in (((20, 20), 0.64), ((5, 10), 0.88), ((2, 2), 0.98)):
        alone, beside = (noise_variances(shape, p, known=False) for p in ((1.0, 0.0, 0.0), (5 / 6, 1 / 12, 1 / 12)))
        cell, row, column, total = np.sqrt(np.divide(beside, alone))
        assert cell < 1.07
        assert max(row, column) < margin
        assert total < row


def recorded(folder):
    """Return a curator with a ledger, where a δ means Gaussian noise."""
    return dp.Curator(ROWS, schema=SCHEMA, name="rows", ledger=dp.Ledger(folder / "rows.ledger"))


def test_margins_are_measured_beside_the_cells_with_gaussian_noise_alone(tmp_path):
    gaussian = st.crosstab(recorded(tmp_path), "ward", "sex", epsilon=1.0, delta=1e-6)
    assert isinstance(gaussian.release.noise, GaussianNoise)
    assert [part.shape for part in gaussian.release.parts.values()] == [(3, 2, 1), (3, 1), (2, 1)]
    laplace = st.crosstab(ROWS, "ward", "sex", epsilon=1.0, schema=SCHEMA)
    assert isinstance(laplace.release.noise, LaplaceNoise)
    assert [part.shape for part in laplace.release.parts.values()] == [(3, 2, 1)]
    count = st.count(recorded(tmp_path), by=["ward", "sex"], epsilon=1.0, delta=1e-6)
    together = math.hypot(*(part.weight for part in gaussian.release.parts.values()))
    assert gaussian.release.noise.scale == pytest.approx(together * count.release.noise.scale, rel=1e-6)


WRONG = [
    ({"rows": "ward", "columns": "ward"}, "expected different columns"),
    ({"rows": "ward", "columns": "sex", "by": "sex"}, "expected different columns"),
    ({"rows": "ward", "columns": "height"}, "a declared column, one of"),
    ({"rows": "ward", "columns": "sex", "values": "ward"}, "a column of numbers, and this one has categories"),
    ({"rows": "ward", "columns": "age", "bins": {"stay": 3}}, "and no other column"),
    ({"rows": "age", "columns": "stay", "bins": 200}, "at most 10000 cells, got 40000"),
    ({"rows": "ward", "columns": "age", "bins": "month"}, "a whole number, at least 2"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_what_does_not_fit_is_refused_before_the_spend(arguments, message, tmp_path):
    ledger = dp.Ledger(tmp_path / "l")
    curator = dp.Curator(ROWS, schema=SCHEMA, name="rows", ledger=ledger)
    with pytest.raises(ValueError, match=message):
        st.crosstab(curator, **arguments, epsilon=1.0)
    assert not ledger.spent("rows")


def test_a_database_computes_the_cells_itself_and_answers(tmp_path, monkeypatch):
    path, texts, write = tmp_path / "t.duckdb", [], databases.write_sum
    with duckdb.connect(str(path)) as connection:
        connection.register("given", ROWS.drop(columns="admitted"))
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    monkeypatch.setattr(databases, "write_sum", lambda *given: texts.append(write(*given)) or texts[-1])
    schema = dp.Schema({name: COLUMNS[name] for name in ("ward", "sex", "age")})
    for delta in (0.0, 1e-9):
        answer = st.crosstab(
            Table(path, "t"), "ward", "age", by="sex", bins=3, epsilon=SURE, delta=delta, schema=schema
        )
        for group, sex in enumerate(SEXES):
            here = HELD[HELD["sex"] == sex]
            true = pd.crosstab(here["ward"], pd.cut(here["age"], [0, 40, 80, 120], right=False)).to_numpy()
            assert answer.value[group] == pytest.approx(true, abs=0.5)
    assert len(texts) == 2


def test_a_database_prices_and_answers_a_table(tmp_path):
    db = dp.StatisticalDatabase(ROWS, schema=SCHEMA, budget=dp.Guarantee(2.0, 1e-6), ledger=tmp_path / "l", name="rows")
    draft = db.draft.crosstab("ward", "age", "stay", bins={"age": [0, 40, 120]}, where="age > 20")
    assert draft.description == "crosstab of ward, age with means of stay where age > 20"
    assert db.preview(draft).admitted
    reply = db.crosstab("ward", "age", bins={"age": [0, 40, 120]}, share=0.2)
    assert reply.statistic.axes["age"] == ("[0, 40)", "[40, 120]")
    assert [*reply.table()[0]] == ["ward", "age", "value", "low", "high", "which_rows"]
    several = db.histogram(["ward", "age"], bins={"age": 3}, share=0.2)
    assert len(several.table()) == 6


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_histograms_of_several_columns_are_one_release(delta):
    answer = st.histogram(ROWS, ["ward", "age", "admitted"], bins={"age": [0, 40, 120], "admitted": "month"},
                          epsilon=SURE, delta=delta, schema=SCHEMA)  # fmt: skip
    held = ROWS[ROWS["ward"].isin(WARDS)]
    assert answer["ward"].to_dict() == pytest.approx(held["ward"].value_counts().to_dict(), abs=0.5)
    assert answer["age"].value == pytest.approx([(held["age"] < 40).sum(), (held["age"] >= 40).sum()], abs=0.5)
    assert answer["admitted"].value == pytest.approx(held["admitted"].dt.month.value_counts().sort_index(), abs=0.5)
    assert len(answer.releases) == 1
    assert len(answer.value) == 3 + 2 + 12
    first = answer.table()[0]
    assert [*first] == ["column", "bin", "value", "low", "high", "which_rows"]
    assert (first["column"], first["bin"]) == ("ward", "a")
    assert {row["column"] for row in answer.table()} == {"ward", "age", "admitted"}
    assert answer.shares.sum() == pytest.approx(3.0)
    assert answer.to_dict()["ward"]["a"] == answer["ward"].value[0]
    with pytest.raises(ValueError, match="name='sex': expected one of the columns 'ward', 'age', 'admitted'"):
        answer["sex"]


@pytest.mark.parametrize(("delta", "times"), [(0.0, 3.0), (1e-6, math.sqrt(3.0))])
def test_several_histograms_have_the_noise_of_their_norm(delta, times, tmp_path):
    one = st.histogram(recorded(tmp_path), "ward", epsilon=1.0, delta=delta)
    three = st.histogram(recorded(tmp_path), ["ward", "sex", "age"], epsilon=1.0, delta=delta)
    assert three.release.noise.scale == pytest.approx(times * one.release.noise.scale, rel=1e-6)
    low, high = three["sex"].interval(0.9)
    assert high - low == pytest.approx(2 * three.release.noise.half_width(0.9))


def test_histograms_in_groups_and_their_refusals():
    answer = st.histogram(ROWS, ["ward", "age"], bins=4, by="sex", epsilon=SURE, schema=SCHEMA)
    assert answer.value.shape == (2, 7)
    assert answer["age"].value.shape == (2, 4)
    assert answer.table()[0]["sex"] == "f"
    assert answer["ward"].value == pytest.approx(TRUTH.T, abs=0.5)
    for columns in ([], ["ward", "ward"], ["ward", "height"]):
        with pytest.raises(ValueError, match="column"):
            st.histogram(ROWS, columns, epsilon=1.0, schema=SCHEMA)
    assert isinstance(st.histogram(ROWS, ["ward"], epsilon=1.0, schema=SCHEMA), st.Histograms)


def test_a_column_called_like_a_number_of_the_table_keeps_its_labels():
    rows = pd.DataFrame({"value": ["a", "b"] * 50, "low": ["c", "d"] * 50})
    classes = {"value": ["a", "b"], "low": ["c", "d"]}
    row = st.histogram(rows, "value", epsilon=1.0, classes=classes).table()[0]
    assert (row["column value"], isinstance(row["value"], float)) == ("a", True)
    row = st.crosstab(rows, "value", "low", epsilon=1.0, classes=classes).table()[0]
    assert (row["column value"], row["column low"]) == ("a", "c")


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_a_whole_table_adds_up(neighbors):
    rng = np.random.default_rng(8)
    rows = pd.DataFrame({name: rng.choice(["a", "b", "c"], 200) for name in ("x", "y", "z")} | {"age": rng.random(200)})
    schema = dp.Schema({name: dp.Category(["a", "b", "c"]) for name in ("x", "y", "z")} | {"age": dp.Number(0, 1)})
    how = {"epsilon": 0.5, "schema": schema, "neighbors": neighbors}
    for by in (None, "z"):
        result = st.crosstab(rows, "x", "y", by=by, **how)
        whole = result.whole()
        assert (whole.value == np.round(whole.value)).all()
        assert (np.abs(whole.value - result.value) <= 1.0).all()
        assert np.allclose(whole.margins["rows"], whole.value.sum(axis=-1))
        assert np.allclose(whole.margins["total"], whole.value.sum(axis=(-2, -1)))
        low, high = whole.interval(0.5)
        assert ((low <= whole.value) & (whole.value <= high)).all()
    with pytest.raises(TypeError, match="means"):
        st.crosstab(rows, "x", "y", values="age", **how).whole()


def test_a_table_says_how_numbers_were_binned():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.uniform(0.0, 120.0, 500), "sex": rng.choice(["f", "m"], 500)})
    schema = dp.Schema({"age": dp.Number(0, 120), "sex": dp.Category(["f", "m"])})
    found = st.crosstab(rows, "age", "sex", epsilon=1.0, bins=[0, 18, 65, 120], schema=schema)
    assert "age in 3 bins from [0, 18) to [65, 120]" in found.notes
    assert "age in 3 bins from [0, 18) to [65, 120]" in repr(found)
    assert not any(" sex in " in f" {note}" for note in found.notes)
