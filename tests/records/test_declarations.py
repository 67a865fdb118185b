"""A check of a declaration: what it tells is true, and one person moves it by no more than is charged."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as dp
from discreet import statistics
from discreet.queries.counts.count_queries import Margins
from discreet.records import Ball, Box, Category, Date, Number, Schema, Table, as_records
from discreet.records.declaration_check import LABEL_STATES, STATES
from effort import size

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

COLUMNS = {
    "age": Number(0, 100),
    "income": Number(1, 1e6, missing="fill", fill=1000, log=True),
    "day": Date("2020-01-01", "2020-12-31"),
    "ward": Category(["a", "b"]),
}
ROWS = {
    "who": ["ann", "ann", "ann", "bob", "bob", "cy", None, "dee"],
    "age": [50.0, -1.0, 101.0, None, math.nan, math.inf, 50.0, 100.0],
    "income": [5.0, 0.0, 1e7, None, -math.inf, 1.0, 5.0, 1e6],
    "day": ["2020-01-01", "2019-12-31", "2021-01-01", None, "2020-12-31", "2020-05-05", "2020-01-01", "2020-02-02"],
    "ward": ["a", "b", "A", None, "", "c", "a", "b"],
}
STATE = {  # as declared, below, above, gap, unreadable
    "age": [0, 1, 2, 3, 3, 4, 0, 0],
    "income": [0, 1, 2, 3, 4, 0, 0, 0],
    "day": [0, 1, 2, 3, 0, 0, 0, 0],
    "ward": [0, 0, 2, 1, 1, 2, 0, 0],  # as declared, gap, unreadable
}


def as_source(kind, tmp_path):
    frame = pd.DataFrame(ROWS)
    typed = frame.assign(day=pd.to_datetime(frame.day))
    table = pa.table({name: pa.array(ROWS[name]) for name in ROWS} | {"day": pa.array(typed.day).cast(pa.date32())})
    if kind == "pandas":
        return typed
    if kind == "text":
        return frame
    if kind == "polars":
        return pl.from_arrow(table)
    if kind == "csv":
        table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"
    if kind == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
        return tmp_path / "t.parquet"
    if kind == "dask":
        return dd.from_pandas(typed, npartitions=3)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return Table(tmp_path / "t.duckdb", "t")


@pytest.mark.parametrize("kind", ["pandas", "text", "polars", "csv", "parquet", "dask", "duckdb"])
@pytest.mark.parametrize("most", [None, 9])
def test_every_source_tells_the_same_states(kind, most, tmp_path):
    unit = {} if most is None else {"unit": "who", "max_rows": most}
    records = as_records(as_source(kind, tmp_path), schema=Schema(COLUMNS, **unit)).states()
    result = sorted(tuple(row) for block in records.blocks() for row in np.asarray(block.codes).tolist())
    rows = [row for row, who in zip(zip(*STATE.values(), strict=True), ROWS["who"], strict=True) if who or not most]
    if kind == "csv":  # where infinity is written as text that spells it, and an empty cell is a gap
        assert len(result) == len(rows)
        result = [row for row in result if 4 not in row[:2]]
        rows = [row for row in rows if 4 not in row[:2]]
    assert result == sorted(rows)
    assert records.category_columns == tuple(COLUMNS)
    assert records.categories == (STATES,) * 3 + (LABEL_STATES,)


@pytest.mark.parametrize("unit", [{}, {"unit": "who", "max_rows": 1}])
def test_no_database_takes_categories_for_states(unit, tmp_path):
    """The codes of categories look like states, where there is nothing but categories."""
    schema = Schema({"ward": Category(["a", "b"])}, **unit)
    sums = []
    for kind in ("duckdb", "parquet", "pandas"):
        data = as_source(kind, tmp_path)
        curator = dp.Curator(Table(data) if kind == "parquet" else data, schema=schema).states()
        sums.append(Margins((3,)).collect(curator._records, curator.setting).tolist())
    assert sums[0] == sums[1] == sums[2]
    assert unit or sums[0] == [4.0, 2.0, 2.0]


def test_a_ball_clips_a_row_as_a_whole():
    records = as_records(np.array([[3.0, 4.0], [0.1, 0.2], [np.nan, 0.0]]), space=Ball(1.0)).states()
    assert np.concatenate([block.codes for block in records.blocks()]).tolist() == [[2, 2], [0, 0], [3, 0]]
    records = as_records(np.array([[3.0], [0.5]]), space=Box(0, 1)).states()
    assert np.concatenate([block.codes for block in records.blocks()]).ravel().tolist() == [2, 0]


def test_the_answer_and_its_price():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 30, 20_000), "ward": rng.choice(["a", "B", None], 20_000)})
    schema = Schema({"age": Number(0, 100), "ward": Category(["a", "b"])})
    result = statistics.check_schema(frame, epsilon=5.0, delta=1e-6, schema=schema)
    truth = [(frame.age < 0).sum(), (frame.age > 100).sum(), (frame.ward == "B").sum(), frame.ward.isna().sum()]
    assert result.value[[0, 0, 1, 1], [1, 2, 4, 3]] == pytest.approx(truth, abs=40)
    assert result.to_dict()["ward"]["unreadable"] == result.value[1, 4]
    low, high = result.interval(0.999)
    assert (low <= high).all()
    assert [row["column"] for row in result.table()] == ["age"] * 5 + ["ward"] * 3  # a category is not below or above
    assert "ward: 33% gap, 33% unreadable (these rows are dropped)" in repr(result).replace("34%", "33%")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_one_person_is_one_row_of_the_persons(relation, most):
    rng = np.random.default_rng(5)
    schema = Schema({"x": Number(0, 1)}, unit="who", max_rows=most)
    for _ in range(size(20, 60)):
        rows = rng.integers(0, 9, 6)  # of each person
        other = rows.copy()
        other[0] = 0 if relation == "add-remove" else rng.integers(1, 9)
        rows[0] = max(rows[0], 1)
        sums = []
        for each in (rows, other):
            frame = pd.DataFrame({"who": np.repeat(np.arange(6), each).astype(str), "x": 0.5})
            view = dp.Curator(frame, schema=schema, neighbors=relation).persons()
            ((column,), (values,)) = view._records.category_columns, view._records.categories
            assert column == "rows"
            query = dp.Histogram(len(values))
            sums.append(query.collect(view._records, view.setting))
            expected = [(each == 1).sum(), ((each > 1) & (each <= most)).sum(), (each > most).sum()]
            assert sums[-1].tolist() == (expected if most > 1 else [expected[0], expected[2]])
        moved = float(np.linalg.norm(sums[0] - sums[1]))
        assert moved <= query.bound.sensitivity("l2", relation, max_rows=view.setting.max_rows)
        assert view.setting.max_rows == 1


def test_what_cannot_be_asked_is_refused_before_anything_is_read():
    frame = pd.DataFrame({"x": [0.5, 0.6]})
    with pytest.raises(ValueError, match="expected records with a unit"):
        statistics.count_persons(frame, epsilon=1.0, bounds={"x": (0, 1)})
    states = dp.Curator(frame, schema=Schema({"x": Number(0, 1)})).states()
    for refused in (lambda: states.where("x > 0"), lambda: states.only(["x"])):
        with pytest.raises(ValueError, match="declaration is checked"):
            refused()


def test_both_are_questions_of_a_database(tmp_path):
    frame = pd.DataFrame({"who": np.repeat(np.arange(500), 3).astype(str), "x": 0.5})
    frame.to_parquet(tmp_path / "visits.parquet")
    schema = Schema({"x": Number(0, 1)}, unit="who", max_rows=2)
    db = dp.StatisticalDatabase(
        tmp_path / "visits.parquet", schema=schema, budget=dp.Guarantee(20.0, 1e-6), ledger=tmp_path / "book"
    )
    pricing = db.preview([db.draft.check_schema(share=0.2), db.draft.count_persons(share=0.2)])
    assert [round(one.share, 2) for one in pricing.questions] == [0.2, 0.2]
    checked, persons = db.answer(pricing)
    assert checked.value[0, 0] == pytest.approx(1000, abs=30)
    assert persons.value == pytest.approx([0, 0, 500], abs=15)
    assert "at most 2 rows of each who" in repr(checked)
    assert db.ledger.history(db.name)[-1].unit == "each who"
