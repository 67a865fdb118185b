"""Whose rows, and which: what was seen to go wrong, through the public interface, and what must hold instead."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest

import discreet as dp
from discreet.records import Box, Date, Number, Schema, Table, as_records
from discreet.records.row_choice import DeclaredRows, choose_rows

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

VISITS = Schema({"x": Number(0, 1)}, unit="person", max_rows=1, unit_type="integer")
SEEN = Schema({"x": Number(0, 1)}, unit="who", max_rows=1)


def exact(curator: dp.Curator) -> float:
    """Return the sum that enters the door: what a curator adds noise to."""
    return float(curator._records.reduce(lambda block: block.x.sum(axis=0), 1)[0])


def hospital(people: int) -> list[str]:
    """Return SQL for 1,000 persons with two visits each (0, then 1), one more for each beyond, and a registry."""
    return [
        "CREATE TABLE visits AS SELECT i % 1000 AS person, CAST(CASE WHEN i < 1000 THEN 0 ELSE 1 END AS FLOAT8) AS x "
        "FROM generate_series(0, 1999) AS s(i)",
        f"INSERT INTO visits SELECT 1000 + i, 1.0 FROM generate_series(1, {people - 1000}) AS s(i)",
        f"CREATE TABLE registry AS SELECT i AS person, i % 7 AS ward FROM generate_series(0, {people + 1444}) AS s(i)",
        "CREATE VIEW joined AS SELECT v.person, v.x, r.ward FROM visits v JOIN registry r ON v.person = r.person",
    ]


def test_one_more_person_in_a_view_moves_a_sum_by_that_persons_rows(tmp_path):
    """Before, the registry's size decided how the view was joined, and so which visit of everybody came first."""
    sums = []
    for people in range(1000, 1004):
        path = tmp_path / f"{people}.duckdb"
        with duckdb.connect(str(path)) as connection:
            for statement in hospital(people):
                connection.execute(statement)
        curator = dp.Curator(Table(path, "joined", per_unit=True), schema=VISITS, neighbors="add-remove")
        sums.append(exact(curator))
    assert np.abs(np.diff(sums)).max() <= 1.0
    assert 400 < sums[0] < 600  # about half of the persons' visits are the second


def test_one_more_person_in_a_view_of_postgresql(server, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", server.password)
    sums = []
    for people, join in ((1001, "on"), (1002, "off")):  # the planner may choose either for one row more
        schema = server.new_schema()
        with server.connect(schema) as connection:
            for statement in hospital(people):
                connection.execute(statement)
            connection.execute(f"ALTER DATABASE {connection.info.dbname} SET enable_hashjoin = {join}")
        url = server.url(schema, password=False)
        sums.append(exact(dp.Curator(Table(url, "joined", per_unit=True), schema=VISITS, neighbors="add-remove")))
    with server.connect(schema) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} RESET enable_hashjoin")
    assert abs(sums[1] - sums[0]) <= 1.0


def test_a_view_needs_the_owners_word_and_releases_say_so(tmp_path):
    path = tmp_path / "v.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in hospital(1000):
            connection.execute(statement)
    with pytest.raises(ValueError, match=r"is a view: expected a table, or the owner's declaration .* per_unit=True"):
        dp.Curator(Table(path, "joined"), schema=VISITS)
    curator = dp.Curator(Table(path, "joined", per_unit=True), schema=VISITS)
    release = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.5))
    assert release.declared["per_unit"] is True
    assert "a view whose rows are declared to be made from one unit's rows each" in release.which_rows
    assert dp.Release.from_json(release.to_json()).which_rows == release.which_rows
    assert dp.Curator(Table(path, "visits"), schema=VISITS).declared.get("per_unit") is None
    assert repr(Table(path, "joined", per_unit=True)).endswith("'joined', per_unit=True)")


@pytest.mark.parametrize(
    "names", [["1_23", "12_3", "123"], ["1E3", "1000", "1e3"], ["٣", "3", "³"], ["1.0", "1", "01"]]
)
def test_different_names_are_different_people(names):
    frame = pd.DataFrame({"who": names, "x": [1.0, 1.0, 1.0]})
    curator = dp.Curator(frame, schema=SEEN)
    assert exact(curator) == 3.0
    assert curator.size.units == 3


def test_ids_that_a_gap_has_made_floats_are_refused_to_the_owner():
    ids = [2**60 + j for j in range(1000)]
    frame = pd.DataFrame({"who": [*ids, None], "x": 1.0})
    with pytest.raises(ValueError, match=r"'who' has the type Float64: expected names of units.*Int64.*dtype=str"):
        dp.Curator(frame, schema=SEEN)
    frame["who"] = pd.array([*ids, None], dtype="Int64")
    assert exact(dp.Curator(frame, schema=SEEN)) == 1000.0
    with pytest.raises(ValueError, match="unit: expected names of units as whole numbers or text"):
        as_records(np.ones((3, 1)), space=Box(0, 1), unit=np.array([1.0, 2.0, np.nan]), max_rows=1)


def test_one_cell_does_not_decide_about_a_column():
    frame = pd.DataFrame({"x": [1.0] * 1000 + [1j]})
    with pytest.raises(ValueError, match=r"'x' has the type .*: expected numbers; convert it first"):
        dp.Curator(frame, schema=Schema({"x": Number(0, 1)}))
    frame = pd.DataFrame({"x": pd.Series([1.0] * 1000 + [1j], dtype=object)})
    assert exact(dp.Curator(frame, schema=Schema({"x": Number(0, 1)}))) == 1000.0


@pytest.mark.parametrize("odd", ["odd", 7.5, None, True, b"7", 2**70])
def test_one_odd_name_changes_nobody_elses(odd):
    ids = [j // 2 for j in range(2000)]
    frame = pd.DataFrame({"who": pd.Series([*ids, odd], dtype=object), "x": [*(j % 2 for j in range(2000)), 0.0]})
    base = pd.DataFrame({"who": ids, "x": [float(j % 2) for j in range(2000)]})
    assert exact(dp.Curator(frame, schema=SEEN)) == exact(dp.Curator(base, schema=SEEN))


def test_rows_of_a_person_are_chosen_without_favour():
    """Rows 0 and 1, a tenth of them 1, often equal: the rows that count have the same share, and all sizes of sets."""
    rng = np.random.default_rng(1)
    people, each = 4000, 12
    unit = np.repeat(np.arange(people), each)
    x = (rng.random((people * each, 1)) < 0.1).astype(float)
    kept = choose_rows(
        unit, lambda codes: [str(j) for j in codes], DeclaredRows(x, np.zeros((len(x), 0), dtype=int)), 3, None
    )
    assert kept.sum() == 3 * people
    share = x[kept].mean()
    assert abs(share - x.mean()) < 6.2 * math.sqrt(0.1 * 0.9 / (3 * people))  # false alarm below 1e-9


def test_ties_of_the_hash_are_broken_by_the_rows_themselves(monkeypatch):
    """With a hash that tells nothing the rows still decide, and not their order."""
    monkeypatch.setattr("discreet.records.row_choice._hashes", lambda names, unit, *_: np.zeros(len(unit), np.uint64))
    rng = np.random.default_rng(2)
    x = rng.integers(0, 4, (60, 2)).astype(float)
    unit = rng.integers(0, 5, 60)
    result = set()
    for _ in range(20):
        order = rng.permutation(60)
        rows = DeclaredRows(x[order], np.zeros((60, 0), dtype=int))
        kept = choose_rows(unit[order], lambda codes: ["abcde"[j] for j in codes], rows, 3, None)
        result.add(tuple(sorted((int(unit[j]), *x[j]) for j in order[kept])))
    assert len(result) == 1


def test_the_same_rows_count_for_every_question():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"who": rng.integers(0, 50, 1000), "x": rng.random(1000), "y": rng.random(1000)})
    frame.loc[rng.random(1000) < 0.3, "y"] = np.nan
    schema = Schema({"x": Number(0, 1), "y": Number(0, 1)}, unit="who", max_rows=4)
    records = as_records(frame, schema=schema)
    every = np.concatenate([block.x[:, 0] for block in records.only(["x"]).blocks()])
    assert len(every) == 200
    for view in (records, records.only(["y"]), records.where("x > 0.5"), records.where("y < 0.5").only(["x"])):
        left = as_records(frame[frame.x.isin(every)], schema=schema)
        seen = {column: view.columns.index(column) for column in view.columns}
        again = left.only(view.columns) if view.condition is None else left.where(view.condition).only(view.columns)
        assert view.gather(lambda block: block.x, len(seen)).tolist() == again.gather(lambda b: b.x, len(seen)).tolist()


def test_first_visits_count_where_an_order_is_declared():
    frame = pd.DataFrame({
        "who": ["a"] * 4 + ["b"] * 3,
        "day": [None, "2023-03-01", "2021-01-01", "2022-01-01", None, None, "2020-02-02"],
        "x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.7],
    })  # fmt: skip
    columns = {"day": Date("2020-01-01", "2024-01-01", missing="fill", fill="2020-01-01"), "x": Number(0, 1)}
    schema = Schema(columns, unit="who", max_rows=2, order="day")
    for seed in range(5):
        rows = as_records(frame.sample(frac=1, random_state=seed), schema=schema).only(["x"])
        assert rows.gather(lambda block: block.x, 1).ravel().tolist() == [0.3, 0.4, 0.5, 0.7]
    curator = dp.Curator(frame, schema=schema)
    assert curator.measure(dp.Sum(curator.space), dp.GaussianLoss(1.0)).which_rows.startswith(
        "at most 2 rows of each who, the first by day"
    )


def test_a_collection_whose_rows_come_in_another_order_each_time_has_the_same_sum():
    """A graph that is not deterministic in its order, nor in its partitions: what must stay are the rows."""
    dask = pytest.importorskip("dask", reason="dask is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"who": rng.integers(0, 30, 400), "x": rng.integers(0, 5, 400) / 4})
    turn = iter(range(10**6))

    def part(number):
        mixed = frame.sample(frac=1, random_state=next(turn) // 4)  # all four of one pass agree, each pass differs
        return mixed.iloc[number::4]

    collection = dd.from_delayed([dask.delayed(part, pure=False)(j) for j in range(4)], meta=frame.iloc[:0])
    with dask.config.set(scheduler="synchronous"):
        records = as_records(collection, schema=Schema({"x": Number(0, 1)}, unit="who", max_rows=3))
        sums = {float(records.reduce(lambda block: block.x.sum(axis=0), 1)[0]) for _ in range(5)}
    assert sums == {exact(dp.Curator(frame, schema=Schema({"x": Number(0, 1)}, unit="who", max_rows=3)))}


# What a second attack found.


def test_a_database_does_not_tell_by_the_largest_number_whether_a_nan_counts(tmp_path):
    """Statistics of a Parquet file know of no NaN: DuckDB let it pass a test of its size, but beside an infinity."""
    for more in ([], [math.inf], [1e300]):
        numbers = [math.nan] * 500 + [1.0] * 500 + more
        pq.write_table(pa.table({"who": list(range(len(numbers))), "x": numbers}), tmp_path / "t.parquet")
        for unit in ({}, {"unit": "who", "max_rows": 1}):
            curator = dp.Curator(Table(tmp_path / "t.parquet"), schema=Schema({"x": Number(0, 8)}, **unit))
            summed = curator._records.reduce(lambda block: block.x.sum(axis=0), 1, 9.0, lambda block: block.x)
            assert summed[0] == exact(curator) == 500.0 + 8.0 * (more == [1e300])


def test_gaps_and_what_is_unreadable_are_chosen_among_without_regard_to_arrival():
    frame = pd.DataFrame({"who": np.repeat(np.arange(60), 2).astype(str), "x": ["", "?"] * 60})
    schema = Schema({"x": Number(0, 1)}, unit="who", max_rows=1)
    result = set()
    for seed in range(6):
        states = as_records(frame.sample(frac=1.0, random_state=seed), schema=schema).states()
        result.add(tuple(np.bincount(np.concatenate([block.codes for block in states.blocks()]).ravel(), minlength=5)))
    assert len(result) == 1
    assert sum(next(iter(result))[3:]) == 60


def test_a_gap_in_one_partition_does_not_rename_everybody_in_it():
    dask = pytest.importorskip("dask", reason="dask is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    parts = [pd.DataFrame({"who": np.arange(100), "x": 1.0}), pd.DataFrame({"who": [*range(100, 200), None], "x": 1.0})]
    assert parts[1].who.dtype == "float64"
    collection = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)
    records = as_records(collection, schema=SEEN)
    assert (records.units, float(records.reduce(lambda block: block.x.sum(axis=0), 1)[0])) == (200, 200.0)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_that_is_written_anew_is_looked_at_anew(kind, tmp_path):
    """The same rows in another order: a mask by places would be everybody's wrong row."""
    frame = pd.DataFrame({"who": np.repeat(np.arange(200), 2).astype(str), "x": [0.0, 1.0] * 200})
    path = tmp_path / f"t.{kind}"
    write = {"parquet": lambda one: one.to_parquet(path), "csv": lambda one: one.to_csv(path, index=False)}[kind]
    write(frame)
    curator = dp.Curator(path, schema=SEEN)
    before = exact(curator)
    write(frame.iloc[::-1].assign(y=1.0))
    assert exact(curator) == before
    if kind == "csv":
        with path.open("a") as file:
            file.write("zoe,1,1\n" * 3)
        assert exact(curator) == before + 1.0


def test_names_of_any_size_have_a_place(monkeypatch):
    names = pa.chunked_array([pa.array(["a" * 100] * 10), pa.array(["b" * 100] * 10)])
    frame = pa.table({"who": names, "x": [1.0] * 20})
    assert exact(dp.Curator(frame, schema=SEEN)) == 2.0


@pytest.mark.parametrize("unit", [datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), datetime.datetime(1, 1, 1)])
def test_the_first_and_the_last_instant_are_on_their_days_everywhere(unit, tmp_path):
    table = pa.table({"d": pa.array([unit], pa.timestamp("us"))})
    day = float((unit.date() - datetime.date(1970, 1, 1)).days)
    pq.write_table(table, tmp_path / "t.parquet")
    table.to_pandas().assign(d=[str(unit)]).to_csv(tmp_path / "t.csv", index=False)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    stored = Table(tmp_path / "t.duckdb", "t")
    objects = pd.DataFrame({"d": pd.Series([unit], dtype=object)})
    for data in (table, tmp_path / "t.parquet", tmp_path / "t.csv", stored, Table(tmp_path / "t.parquet"), objects):
        records = as_records(data, schema=Schema({"d": Date("0001-01-01", "9999-12-31")}))
        assert records.reduce(lambda block: block.x.sum(axis=0), 1, 1e7, lambda block: block.x)[0] == day
        assert records.gather(lambda block: block.x, 1).tolist() == [[day]]


def test_no_readable_name_is_an_error_before_anything_is_spent(tmp_path):
    frame = pd.DataFrame({"who": ["P1", "P2"], "x": [0.5, 0.5]})
    schema = Schema({"x": Number(0, 1)}, unit="who", max_rows=1, unit_type="integer")
    curator = dp.Curator(frame, schema=schema, name="t", ledger=tmp_path / "book")
    with pytest.raises(ValueError, match=r"unit='who': no row has a name .* as integer.*write unit_type='text'"):
        curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.5))
    assert list(curator.ledger.history("t")) == []


def test_a_column_of_another_kind_is_refused_to_the_owner():
    frame = pd.DataFrame({"d": pd.to_datetime(["2023-01-01"]), "x": [1.0]})
    with pytest.raises(ValueError, match=r"'d' has the type .*: expected numbers; declare it as Date"):
        as_records(frame, schema=Schema({"d": Number(0, 1)}))
    with pytest.raises(ValueError, match=r"'x' has the type .*: expected dates"):
        as_records(frame, schema=Schema({"x": Date("2020-01-01", "2024-01-01")}))
