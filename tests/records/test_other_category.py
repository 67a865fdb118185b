"""A category of all other values: what counts in it and what stays a gap, the same from every source and type."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
import pytest

import discreet as dp
from discreet import statistics as st
from discreet.queries.adaptors import Grouped
from discreet.queries.counts.count_queries import Count
from discreet.records import Category, Number, Schema, Table, as_records
from discreet.records.cells import GAPS, is_gap
from discreet.records.sources import databases
from effort import size

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
arrow_csv = pytest.importorskip("pyarrow.csv", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

WARD = Category(["a", "b"], other="other")
CODE = Category([1, 2], other=9)
SCHEMA = Schema({"ward": WARD})
CODES = Schema({"ward": CODE})
EMPTY = [
    None,
    math.nan,
    "",
    "  ",
    "\u2003",
    "NA",
    " nan ",
    "-NaN",
    "null",
    "None",
    "<NA>",
    b"\xff",
    pd.NA,
    np.datetime64("NaT"),
]
UNDECLARED = ["c", "A", " a", "none", "na", "0", 7, 7.5, math.inf, "-inf", 2**53, 2**70, Decimal("1e300"), b"c", True,
              datetime.date(2020, 1, 1), [1], {}]  # fmt: skip


@pytest.mark.parametrize("cell", EMPTY, ids=repr)
def test_gaps_stay_gaps(cell):
    assert is_gap(cell)
    assert WARD.encode([cell]).tolist() == CODE.encode([cell]).tolist() == [-1]


@pytest.mark.parametrize("cell", UNDECLARED, ids=repr)
def test_what_is_not_declared_is_other(cell):
    assert WARD.encode([cell, "a", cell]).tolist() == [2, 0, 2]


@pytest.mark.parametrize("cell", ["a", "one", "1.5", math.inf, 2**53, "9", 9.0, b"x"], ids=repr)
def test_what_cannot_be_read_as_a_whole_number_is_other(cell):
    assert CODE.encode([cell]).tolist() == [2]
    assert CODE.encode(["1", 2.0, "02", True]).tolist() == [0, 1, 1, 0]


def test_other_is_declared_once_and_goes_into_a_file_and_back():
    assert WARD.values == ("a", "b", "other")
    assert Category(["rest", "a"], other="rest").encode(["x", "a"]).tolist() == [0, 1]
    assert Category(WARD.values, other="other") == WARD
    assert Category([1, 2], other="2").other == 2
    assert Category(["a"], missing="fill", fill="other", other="other").fill_code == 1
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA
    assert Schema.from_toml('[columns.ward]\nvalues = ["a", "b"]\nother = "other"\n') == SCHEMA
    assert Category(["NA", "a"], other="other").encode(["NA", "nan"]).tolist() == [0, -1]  # what is declared is no gap
    for wrong in ("", 1.5, 2**53, ["a"], math.nan):
        with pytest.raises(ValueError, match=r"other=.*: expected the name of the category of all other values"):
            Category(["a"], other=wrong)


def counts(data, schema=SCHEMA):
    records = as_records(data, schema=schema)
    return records.reduce(one_hot_sum, 3, 1.0, one_hot).tolist()


def one_hot(block):
    return Grouped(Count(), 3, 0).contributions(block)


def one_hot_sum(block):
    return Grouped(Count(), 3, 0).sum(block)


TEXTS = [
    "a",
    "b",
    "b",
    "c",
    "A",
    None,
    "",
    " ",
    "\u00a0\u2003",
    "NA",
    "nan",
    "none",
    "7",
    "other",
    "'",
    "é",
    "NAN",
    "N/A ",
]
TRUTH = [1.0, 2.0, 7.0]
WHOLE = [1, 2, 2, 7, 9, 0, -1, None, 2**53, 2**62]
WHOLE_TRUTH = [1.0, 2.0, 6.0]
FLOATS = [1.0, 2.0, 2.0, 7.5, 9.0, math.nan, math.inf, -math.inf, None, 1e300]
FLOAT_TRUTH = [1.0, 2.0, 5.0]


def as_source(kind, cells, type_, folder):
    table = pa.table({"ward": pa.array(cells, type_)})
    if kind == "duckdb":
        with duckdb.connect(str(folder / "t.duckdb")) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
        return Table(folder / "t.duckdb", "t")
    if kind in ("parquet", "parquet by DuckDB"):
        pq.write_table(table, folder / "t.parquet")
        return folder / "t.parquet" if kind == "parquet" else Table(folder / "t.parquet")
    if kind == "pandas":
        return pd.DataFrame({"ward": pd.Series(cells, dtype=object)})
    if kind == "dask":
        return dd.from_pandas(pd.DataFrame({"ward": pd.Series(cells, dtype=object)}), npartitions=3, sort=False)
    return {"arrow": lambda: table, "polars": lambda: pl.from_arrow(table), "retyped": lambda: table.to_pandas()}[
        kind
    ]()


KINDS = ["arrow", "polars", "pandas", "retyped", "dask", "parquet", "parquet by DuckDB", "duckdb"]
CELLS = {
    "text": (TEXTS, pa.string(), SCHEMA, TRUTH),
    "whole": (WHOLE, pa.int64(), CODES, WHOLE_TRUTH),
    "floats": (FLOATS, pa.float64(), CODES, FLOAT_TRUTH),
    "whole as text": ([None if one is None else str(one) for one in WHOLE], pa.string(), CODES, WHOLE_TRUTH),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cells", CELLS)
def test_every_source_and_type_gives_the_same_counts(kind, cells, tmp_path):
    given, type_, schema, truth = CELLS[cells]
    assert counts(as_source(kind, given, type_, tmp_path), schema) == truth


def test_a_csv_file_and_an_array_of_objects_give_the_same_counts(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("ward,x\n" + "".join(f"{'' if cell is None else cell},1\n" for cell in TEXTS))
    assert counts(path) == TRUTH
    rows = np.empty((len(TEXTS), 1), dtype=object)
    rows[:, 0] = TEXTS
    assert counts(rows) == TRUTH


@pytest.mark.parametrize(
    ("cells", "type_", "schema"), [(TEXTS, "text", SCHEMA), (WHOLE, "int8", CODES), (FLOATS, "float8", CODES)]
)
def test_postgresql_gives_the_same_counts(cells, type_, schema, server, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", server.password)
    place = server.new_schema()
    with server.connect(place) as connection:
        connection.execute(f"CREATE TABLE t (ward {type_})")
        with connection.cursor().copy("COPY t FROM STDIN") as sink:
            for cell in cells:
                sink.write_row([cell])
    truth = {"text": TRUTH, "int8": WHOLE_TRUTH, "float8": FLOAT_TRUTH}[type_]
    texts = summed_there(monkeypatch)
    assert counts(Table(server.url(place, password=False), "t"), schema) == truth
    assert texts


def summed_there(monkeypatch):
    """Return a list to which every sum is added that a database computes."""
    texts, write = [], databases.write_sum
    monkeypatch.setattr(databases, "write_sum", lambda *given: texts.append(write(*given)) or texts[-1])
    return texts


@pytest.mark.parametrize(("cells", "type_", "schema", "truth"), list(CELLS.values())[:3])
def test_duckdb_counts_others_itself(cells, type_, schema, truth, tmp_path, monkeypatch):
    source = as_source("duckdb", cells, type_, tmp_path)
    texts = summed_there(monkeypatch)
    assert counts(source, schema) == truth
    assert texts


def test_every_spelling_of_a_gap_is_one_in_a_database(tmp_path):
    cells = [
        f"{before}{gap}{after}" for gap in sorted(GAPS) for before, after in (("", ""), ("\t", " "), ("\u3000", "\x1f"))
    ]
    assert counts(as_source("duckdb", [*cells, "x"], pa.string(), tmp_path)) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("odd", ["odd", "3x", "'", "inf"])
@pytest.mark.parametrize("read", ["arrow", "polars", "pandas"])
def test_one_odd_cell_retypes_the_column_and_changes_nobody_elses(odd, read, tmp_path):
    """A reader that looks at all cells makes text of a column of numbers, gaps included."""
    lines = ["1", "2", "nan", "7", "NaN", "2", *(["NA", "null", "#N/A"] if read == "arrow" else [])]

    def table(cells):
        path = tmp_path / f"{len(cells)}.csv"
        path.write_text("ward,x\n" + "".join(f"{cell},1\n" for cell in cells))
        readers = {
            "arrow": lambda: arrow_csv.read_csv(path),
            "polars": lambda: pl.read_csv(path),
            "pandas": lambda: pd.read_csv(path),
        }
        return readers[read]()

    before, after = table(lines), table([*lines, odd])
    assert counts(before, CODES) == [1.0, 2.0, 1.0]
    assert counts(after, CODES) == [1.0, 2.0, 2.0]
    # A check of the declaration tells gaps from what is unreadable, so it must read them alike too.
    for schema in (Schema({"ward": Category([1, 2])}), Schema({"ward": Number(0, 9)})):
        states = [as_records(one, schema=schema).states() for one in (before, after)]
        sizes = len(states[0].categories[0])
        moved = np.subtract(*(one.reduce(dp.Histogram(sizes).sum, sizes) for one in states))
        assert np.abs(moved).sum() == 1.0


@pytest.mark.filterwarnings("ignore:random_state")
def test_other_is_a_category_like_any_other():
    frame = pd.DataFrame({"ward": ["a", "b", "c", "d", None] * 2000, "x": [1.0, 2.0, 3.0, 5.0, 9.0] * 2000})
    schema = Schema({"ward": WARD, "x": Number(0, 10)})
    curator = dp.Curator(frame, schema=schema)
    means = st.mean(curator, "x", by="ward", epsilon=1e6).to_dict()
    assert means["other"] == pytest.approx(4.0, abs=1e-3)
    here = curator.where("ward == 'other' and x > 4")
    assert st.count(here, epsilon=1e6).value == pytest.approx(2000, abs=1)
    with pytest.raises(
        ValueError, match=r"one of the values that are declared for 'ward', which are 'a', 'b', 'other'"
    ):
        curator.where("ward == 'c'")
    check = st.check_schema(curator, epsilon=1e6).table()
    states = {row["state"]: row["value"] for row in check if row["column"] == "ward"}
    assert states["as declared"] == pytest.approx(8000, abs=1)
    assert states["gap"] == pytest.approx(2000, abs=1)
    assert states["unreadable"] == pytest.approx(0, abs=1)
    how = {"epsilon": 50.0, "delta": 1e-6, "random_state": 0} | size({"n_steps": 3}, {})
    model = dp.TableMixture(2, schema=schema, **how).fit(frame.dropna())
    drawn = model.sample(4000)
    assert set(drawn["ward"]) == {"a", "b", "other"}
    assert 0.45 < np.mean(np.asarray(drawn["ward"]) == "other") < 0.55
    assert model.score_samples({"ward": ["a", "unheard of"], "x": [1.0, 4.0]}).shape == (2,)
