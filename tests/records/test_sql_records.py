"""Tables that a database reads: the same rows and the same sums as in memory, whatever stands in them.

Half of this file attacks: rows, names and files that make a database fail, guess or look elsewhere, and neighbours that
move a sum by more than its bound. Nothing here is random but for fixed seeds, and no test can raise a false alarm.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import os
import pickle
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import discreet as dp
from discreet.queries.adaptors import Grouped
from discreet.queries.counts.count_queries import Count
from discreet.queries.moments.moments import Moments, Squares, Sum, Total
from discreet.records import Ball, Box, Category, Date, Number, Schema, as_records
from discreet.records.sources import databases
from discreet.records.sources.databases import SqlSource
from discreet.records.sources.engines import Table, open_engine
from discreet.sql import text as sql_text
from discreet.sql.traced import NotTraceable
from effort import LONG, crossed, size
from ideal_rows import ideal_rows
from instances import QUERIES
from kept_connections import kept_connections

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
feather = pytest.importorskip("pyarrow.feather", reason="pyarrow is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

TRACED = ["Count", "Sum", "Moments", "Squares", "Total", "OfColumns", "Weighted", "Within", "Grouped", "Binned"]
KINDS = ["parquet", "folder", "arrow", "duckdb", "postgresql"]
OWN_TYPES = ["parquet", "duckdb", "postgresql"]  # folders and Arrow files are read as one of these
SPECIAL = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -5e-324, 1e-310, -0.0, 0.0, None, 1e-60, 9.9e-61, 1e60]


@pytest.fixture
def database(server, monkeypatch):
    """Give a schema of its own, with the password in the environment, as the documentation says."""
    monkeypatch.setenv("PGPASSWORD", server.password)
    schema = server.new_schema()
    with server.connect(schema) as connection:
        yield _Database(server, schema, connection)


class _Database:
    def __init__(self, running, schema, connection):
        self.server, self.schema, self.connection = running, schema, connection
        self.url = running.url(self.schema, password=False)

    def run(self, *statements):
        for statement in statements:
            result = self.connection.execute(statement)
        return result.fetchall() if result.description else None

    def table(self, rows, name="t", types=None):
        """Write an Arrow table."""
        kinds = {"double": "float8", "float": "float4", "int64": "int8", "int32": "int4", "string": "text"}
        kinds |= {"bool": "bool", "int16": "int2", "date32[day]": "date"}
        columns = [
            f"{sql_text.quote_identifier(field.name)} {(types or {}).get(field.name) or kinds[str(field.type)]}"
            for field in rows.schema
        ]
        self.run(f"CREATE TABLE {sql_text.quote_identifier(name)} ({', '.join(columns)})")
        copying = f"COPY {sql_text.quote_identifier(name)} FROM STDIN"
        with self.connection.cursor() as cursor, cursor.copy(copying) as sink:
            for row in rows.to_pylist():
                sink.write_row(list(row.values()))
        return Table(self.url, name)


def stored(rows, path, name="t"):
    """Write an Arrow table into a DuckDB file."""
    with duckdb.connect(str(path)) as connection:
        connection.register("given", rows)
        connection.execute(f"CREATE TABLE {sql_text.quote_identifier(name)} AS SELECT * FROM given")
    return Table(path, name)


@pytest.fixture
def written(request, tmp_path):
    """Write an Arrow table as a kind of place says; connections to it are kept."""

    def write(kind, rows):
        path = tmp_path / f"{kind}-{len(list(tmp_path.iterdir()))}"
        if kind == "postgresql":
            return request.getfixturevalue("database").table(rows)
        if kind == "duckdb":
            return stored(rows, path.with_suffix(".duckdb"))
        if kind == "arrow":
            feather.write_feather(rows, str(path.with_suffix(".arrow")), chunksize=70)
            return Table(path.with_suffix(".arrow"))
        path.mkdir()
        step = max(1, len(rows) // 3) if kind == "folder" else max(1, len(rows))
        for part, start in enumerate(range(0, max(len(rows), 1), step)):
            pq.write_table(rows.slice(start, step), path / f"{part}.parquet", row_group_size=50)
        return Table(path if kind == "folder" else path / "0.parquet")

    with kept_connections():
        yield write


@pytest.fixture
def kept():
    """Keep connections to tables that a test reads many times."""
    with kept_connections():
        yield


def by_database(records, query):
    """Return the sum by the database, None where it is not for it; a database that fails is a failure of the test."""
    rows, norm = (query.contributions, query.bound.l2) if hasattr(query, "contributions") else query
    size = query.size if hasattr(query, "contributions") else records.dimension
    why = None
    if not isinstance(records._source, SqlSource):
        return None
    try:
        return records._source._sum_by_database(rows, size, norm)
    except NotTraceable as error:
        why = error.args[0]
    assert why != "the database"
    return None


@contextmanager
def opened_once(table):
    """Look at the columns of a table once, for many schemas."""
    engine = open_engine(table)
    engine.empty = functools.cache(engine.empty)
    with mock.patch("discreet.records.opening.open_engine", return_value=engine):
        yield table


def summed(records):
    """Return the sums of the numbers by the database."""
    return by_database(records, (lambda block: block.x, 2.0**20))


def plain(records):
    """Return the sums of the numbers: by the database, and of the rows it sends."""
    streamed = records.reduce(lambda block: block.x.sum(axis=0), records.dimension)
    return summed(records), streamed


def numbers(*names, low=-100.0, high=100.0):
    return Schema({name: Number(low, high) for name in names})


def special_rows(n=240, seed=0):
    rng = np.random.default_rng(seed)
    columns = {}
    for name in "abc":
        values = [float(value) for value in rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3, n)]
        for place in rng.choice(n, n // 3, replace=False):
            values[place] = SPECIAL[rng.integers(len(SPECIAL))]
        columns[name] = pa.array(values, pa.float64(), from_pandas=False)
    groups = [["oak", "elm", "ash", "Oak", "", None, "oak ", "7"][j] for j in rng.integers(0, 8, n)]
    return pa.table({**columns, "g": groups, "person": pa.array(rng.integers(0, 60, n), pa.int32())})


def instances(d, radius, seed=0, most=2):
    """Yield queries over boxes that a database can compute, at most so many of a class, with schemas for them."""
    rng = np.random.default_rng(seed)
    makers = {kind.__name__: make for kind, make in QUERIES.items()}
    for name in TRACED:
        made = makers[name](rng, d, radius)
        boxes = [query for query in made if not query.dimension or isinstance(query.space, Box)]
        boxes = [query for query in boxes if np.size(getattr(query, "categories", 1)) == 1]  # the rows have one column
        for query in boxes[:: max(1, len(boxes) // most)][:most]:
            box = query.space if query.dimension else Box([-1.0], [1.0])
            columns = {
                column: Number(low, high, missing="fill", fill=high) if column == "b" else Number(low, high)
                for column, low, high in zip("abc", box.low, box.high, strict=False)
            }
            yield query, Schema({**columns, "g": Category(["oak", "elm", "ash"])})


@pytest.mark.parametrize("kind", KINDS)
def test_the_database_sums_what_the_rows_sum_to(kind, written):
    rows = special_rows()
    with opened_once(written(kind, rows)) as table:
        check_every_query(table, rows, 1 if LONG or kind in ("parquet", "postgresql") else 3)


def check_every_query(table, rows, step):
    seen = set()
    for query, schema in itertools.islice(instances(2, 1.5, most=1), 0, None, step):
        records = as_records(table, schema=schema)
        expected = as_records(rows, schema=schema).reduce(query.sum, query.size)
        error = query.float_error(len(rows), records.float_error)
        result = by_database(records, query)
        assert result is not None, query
        assert np.linalg.norm(result - expected) <= 2.0 * error
        seen.add(type(query))
        if isinstance(query, Moments | Grouped):
            with mock.patch.object(
                type(records._source), "read_declared", side_effect=AssertionError("rows were read")
            ):
                assert np.array_equal(
                    records.reduce(query.sum, query.size, query.bound.l2, query.contributions), result
                )
            assert np.linalg.norm(records.reduce(query.sum, query.size) - expected) <= 2.0 * error
    assert {query.__name__ for query in seen} == set(TRACED[::step])


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_conditions_and_units_choose_the_same_rows(kind, written):
    rows = special_rows(400, seed=3)
    schema = Schema({"a": Number(-5, 5), "b": Number(-1, 2, missing="fill", fill=0), "g": Category(["oak", "elm"])})
    query = Moments(Box([-5, -1], [5, 2]))
    table = written(kind, rows)
    records, memory = (
        as_records(data, schema=schema, unit="person", max_rows=3, block_rows=512) for data in (table, rows)
    )
    for where in (None, "a < b", "0 <= a < 4 and not (g == 'oak' or b != 0)", "g not in ['oak'] or a >= 5"):
        one, other = (part if where is None else part.where(where) for part in (records, memory))
        expected = other.reduce(query.sum, query.size)
        error = 2.0 * query.float_error(len(rows), records.float_error)
        assert np.linalg.norm(by_database(one, query) - expected) <= error
        assert np.linalg.norm(one.reduce(query.sum, query.size) - expected) <= error
    assert (records.rows, records.units) == (memory.rows, memory.units)


LIMITS = crossed(KINDS, ["numbers", "text"], [1, 3, 20, 300], [None, "a"])


@pytest.mark.parametrize("names", ["numbers", "text"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_holds_in_a_database_as_by_the_reference(kind, names, written, request):
    """In any order of the rows, summed by the database and of the rows that it sends."""
    rng = np.random.default_rng(7)
    a, b = rng.integers(0, 9, 300).astype(float), rng.integers(0, 3, 300).astype(float)
    a[::11] = math.nan
    known = rng.integers(0, 12, 300) ** 2 // 4  # some have many rows, some few
    who = [None if j % 13 == 0 else int(one) for j, one in enumerate(known)]
    if names == "text":
        who = [None if one is None else ["", "007", "7", "ann", "Ann", "é"][one % 6] for one in who]
    rows = pa.table({"a": pa.array(a, from_pandas=True), "b": b, "who": who})
    mixed = rows.take(rng.permutation(300))
    other = request.getfixturevalue("database").table(mixed, "mixed") if kind == "postgresql" else written(kind, mixed)
    listed = [None if one in (None, "") else str(one) for one in who]
    for most, order in (case[2:] for case in LIMITS if case[:2] == (kind, names)):
        chosen = np.array(ideal_rows(listed, [*zip(a, b, strict=True)], most, None if order is None else 0))
        chosen &= np.isfinite(a)
        expected = [float(column[chosen].sum()) for column in (a, b)]
        for table in (written(kind, rows), other) if most == 3 and kind != "postgresql" else (other,):
            records = as_records(table, schema=numbers("a", "b"), unit="who", max_rows=most, order=order)
            by_sql, streamed = plain(records)
            assert streamed.tolist() == expected  # whole numbers, exact in any order
            if (kind, names) != ("arrow", "text"):  # whose names may be no UTF-8, which DuckDB does not see
                assert by_sql.tolist() == expected
            assert records.units == len({*listed} - {None})
            assert records.gather(lambda block: block.x, 2).shape == (chosen.sum(), 2)


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_only_rows_of_units_that_have_too_many_leave_the_database(kind, written):
    rows = pa.table({"a": [float(j) for j in range(50)], "who": [1] * 30 + [*range(2, 22)]})
    records = as_records(written(kind, rows), schema=numbers("a"), unit="who", max_rows=2)
    sent = []
    with mock.patch.object(
        type(records._source), "_choose_among", lambda self, units, codes, parts: sent.append(len(codes)) or parts[0]
    ):
        by_database(records, (lambda block: block.x, 2.0**20))
    assert sent == [30]


DAYS = ["2023-01-31", "1969-12-31", None, "1960-01-01", "2199-12-31", "2024-02-29"]


@pytest.mark.parametrize("kind", KINDS)
def test_days_are_the_same_summed_by_a_database(kind, written, request):
    """By the database and of the rows that it sends; two days are clipped, and a gap is filled."""
    day = Date("1965-01-01", "2169-11-13", missing="fill", fill="1970-01-03")
    dates = pa.array(np.array(DAYS, dtype="M8[D]"))
    late = pa.array(np.array([one and f"{one}T23:59:59.999999" for one in DAYS], dtype="M8[us]"))
    rows = pa.table({"d": dates, "t": late, "z": late.cast(pa.timestamp("us", "Asia/Tokyo")), "s": DAYS})
    if kind == "postgresql":
        database = request.getfixturevalue("database")
        database.run("CREATE TABLE t (d date, t timestamp, z timestamptz, s text)")
        for one in DAYS:
            moment = "NULL" if one is None else f"'{one} 23:59:59.999999'"
            zoned = "NULL" if one is None else f"'{one} 23:59:59.999999+00'"
            text = "NULL" if one is None else f"'{one}'"
            database.run(f"INSERT INTO t VALUES ({text}::date, {moment}, {zoned}, {text})")
        table = Table(database.url, "t")
    else:
        table = written(kind, rows)
    expected = 19388.0 - 1.0 + 2.0 - 1826.0 + 73000.0 + 19782.0
    for names in (["d"], ["t"], ["z"], ["d", "t", "z"])[size(0 if kind in OWN_TYPES else 3, 0) :]:
        records = as_records(table, schema=Schema(dict.fromkeys(names, day)))
        by_sql, streamed = plain(records)
        assert by_sql.tolist() == streamed.tolist() == [expected] * len(names)
        assert as_records(rows, schema=Schema(dict.fromkeys(names, day))).reduce(
            lambda block: block.x.sum(axis=0), len(names)
        ).tolist() == [expected] * len(names)
        late = records.where(f"{names[0]} >= '2023-01-31'")
        assert [part.tolist() for part in plain(late)] == [[112170.0] * len(names)] * 2
    by_sql, streamed = plain(as_records(table, schema=Schema({"s": day})))
    assert (by_sql, streamed.tolist()) == (None, [expected])  # text is read as everywhere
    dropping = Schema({"d": Date("1965-01-01", "2169-11-13"), "t": Date("1965-01-01", "2169-11-13")})
    assert [part.tolist() for part in plain(as_records(table, schema=dropping))] == [[expected - 2.0] * 2] * 2
    for name, wanted in (("d", "numbers"), ("t", "numbers"), ("z", "numbers")):
        with pytest.raises(ValueError, match=f"has the type .*: expected {wanted}; declare it as Date"):
            as_records(table, schema=numbers(name))


@pytest.mark.usefixtures("kept")
def test_days_that_python_does_not_have_are_missing_in_a_database(database, tmp_path):
    odd = ["infinity", "-infinity", "2020-01-01", "0001-01-01", "9999-12-31", "12000-01-01"]
    before = ["4713-01-01 BC", "0044-03-15 BC"]
    database.run("CREATE TABLE t (d date, t timestamp, z timestamptz, a float8)")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (d DATE, t TIMESTAMP, z TIMESTAMPTZ, a DOUBLE)")
        for cell in odd:
            zoned = cell if "infinity" in cell else f"{cell} 12:00:00+00"
            moment = cell if "infinity" in cell else f"{cell} 12:00:00"
            connection.execute("INSERT INTO t VALUES (?, ?, ?, 1)", [cell, moment, zoned])
        for cell in before:
            earlier = cell.replace(" BC", " (BC)")
            connection.execute(f"INSERT INTO t VALUES ('{earlier}'::DATE, NULL, NULL, 1)")
    for cell in [*odd, *before]:
        database.run(f"INSERT INTO t VALUES ('{cell}', '{cell}', '{cell}', 1)")
    for table in (Table(database.url, "t"), Table(tmp_path / "t.duckdb")):
        for name in "dtz":
            schema = Schema({name: Date("0001-01-01", "9999-12-31"), "a": Number(0, 9)})
            by_sql, streamed = plain(as_records(table, schema=schema))
            assert by_sql.tolist() == streamed.tolist() == [18262.0 - 719162.0 + 2932896.0, 3.0]


@pytest.mark.parametrize("kind", KINDS)
def test_logarithms_are_those_of_rows_in_memory(kind, written):
    rows = pa.table({"a": [1.0, 2.5, 1e9, 0.5, -3.0, None, 123.456], "who": [1, 1, 1, 2, 2, 3, 4]})
    schema = Schema({"a": Number(1, 1e6, log=True)})
    table = written(kind, rows)
    for people in ({}, {"unit": "who", "max_rows": 2}):
        by_sql, streamed = plain(as_records(table, schema=schema, **people))
        assert by_sql is None  # every database rounds a logarithm in its own way
        memory = as_records(rows, schema=schema, **people)
        assert streamed == pytest.approx(memory.reduce(lambda block: block.x.sum(axis=0), 1), rel=1e-14)
        result = as_records(table, schema=schema, **people).gather(lambda block: block.x, 1)
        assert np.array_equal(result, memory.gather(lambda block: block.x, 1))


@pytest.mark.usefixtures("kept")
def test_a_view_needs_the_owners_word(database, tmp_path):
    """Its rows may have other people in them."""
    with duckdb.connect(str(tmp_path / "v.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 2.0::DOUBLE AS a; CREATE VIEW v AS SELECT a FROM t")
    database.run(
        "CREATE TABLE t AS SELECT 2.0::float8 AS a",
        "CREATE VIEW v AS SELECT a FROM t",
        "CREATE MATERIALIZED VIEW m AS SELECT a FROM t",
        "CREATE TABLE p (a float8) PARTITION BY RANGE (a)",
        "CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (9)",
        "INSERT INTO p VALUES (2.0)",
    )
    for location, names in ((tmp_path / "v.duckdb", ["v"]), (database.url, ["v", "m"])):
        for name in names:
            with pytest.raises(ValueError, match=rf"table='{name}' is a view: .*; write Table\(.*per_unit=True\)"):
                as_records(Table(location, name), schema=numbers("a"))
            table = Table(location, name, per_unit=True)
            assert [part.tolist() for part in plain(as_records(table, schema=numbers("a")))] == [[2.0], [2.0]]
            assert "per_unit=True" in repr(table)
            assert pickle.loads(pickle.dumps(table)).per_unit
    for table in (Table(tmp_path / "v.duckdb", "t"), Table(database.url, "t"), Table(database.url, "p")):
        assert summed(as_records(table, schema=numbers("a"))).tolist() == [2.0]


@pytest.mark.usefixtures("kept")
def test_every_type_of_postgresql_is_read_as_in_memory(database):
    rows = pa.table(
        {
            "i2": pa.array([1, -2, None, 3], pa.int16()),
            "i4": pa.array([2**31 - 1, -(2**31), None, 3], pa.int32()),
            "i8": pa.array([2**63 - 1, -(2**63), None, 3]),
            "f4": pa.array([1.5, 3e38, None, 1e-45], pa.float32()),
            "f8": [1.5, 1e308, None, 5e-324],
            "b": [True, False, None, True],
            "n": pa.array(["1e400", "4.25", "NaN", "-1e-400"]),
            "tx": ["7", "oak", None, ""],
            "vc": ["oak", "elm", "7", "true"],
            "ch": ["oak", "elm", None, ""],
            "e": ["sad", "ok", None, "sad"],
            "u": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None],
            "d": ["2020-01-01", "9999-12-31", "infinity", "4713-01-01 BC"],
            "mp": ["1 day", "2 days", None, "1 mon"],
            "one": [1, 2, 4, 8],
        }
    )
    database.run("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    types = {"n": "numeric", "vc": "varchar(9)", "ch": "char(5)", "e": "mood", "u": "uuid", "d": "date"}
    with opened_once(database.table(rows, types=types | {"mp": "interval"})) as table:
        check_every_type(table, rows)


def check_every_type(table, rows):
    wide = as_records(table, schema=numbers("i2", "i4", "i8", "f4", "f8", "b", low=-1e19, high=1e19))
    memory = as_records(rows, schema=numbers("i2", "i4", "i8", "f4", "f8", "b", low=-1e19, high=1e19))
    expected = memory.reduce(lambda block: block.x.sum(axis=0), 6)
    assert np.array_equal(wide.reduce(lambda block: block.x.sum(axis=0), 6), expected)
    assert summed(as_records(table, schema=numbers("i2", "b"))).tolist() == [2.0, 2.0]
    filling = Schema({name: Number(-9, 9, missing="fill", fill=0) for name in ("n", "tx", "vc", "ch", "e")})
    by_sql, streamed = plain(as_records(table, schema=filling))
    assert (by_sql, streamed.tolist()) == (None, [4.25, 7.0, 8.0, 0.0, 0.0])
    codes = {"tx": ["oak", ""], "ch": ["oak", "elm", ""], "e": ["ok", "sad"], "u": [rows["u"][0].as_py()]}
    codes |= {"i8": [3, 7], "f8": [1, 2], "b": [True], "n": [4, "x"], "vc": ["elm", 7, 1]}
    for name, values in codes.items():
        schema = Schema({"one": Number(0, 9), name: Category(values)})
        memory = as_records(rows, schema=schema).reduce(lambda block: block.x.sum(axis=0), 1)
        by_sql, streamed = plain(as_records(table, schema=schema))
        assert streamed == memory, name
        assert by_sql is None or by_sql == memory, name
        assert (by_sql is not None) == (name in ("tx", "i8", "f8", "b")), name
    units = {"i8": 11.0, "tx": 3.0, "vc": 15.0, "e": 3.0, "u": 1.0, "ch": 3.0}
    for name, total in units.items():
        by_sql, streamed = plain(as_records(table, schema=numbers("one"), unit=name, max_rows=1, order="one"))
        assert streamed.tolist() == [total], name
        assert by_sql is None or by_sql.tolist() == [total], name
        assert (by_sql is not None) == (name in ("i8", "tx", "vc")), name
    by_sql, streamed = plain(as_records(table, schema=numbers("one"), unit="tx", max_rows=1, unit_type="integer"))
    assert (by_sql, streamed.tolist()) == (None, [1.0])
    for name in ("mp", "d", "f8", "b", "n"):
        with pytest.raises(ValueError, match=r"has the type .*: expected names of units"):
            as_records(table, schema=numbers("one"), unit=name, max_rows=1)
    with pytest.raises(ValueError, match="has the type"):
        as_records(table, schema=numbers("d"))


def test_what_a_database_reads_otherwise_is_not_for_it(tmp_path, written):
    rows = pa.table({"a": [1.0, 2.0, 4.0], "s": ["1", "2", "x"], "f": [7.0, 7.0, 8.0], "p": ["ann", "7", "007"]})
    table = written("parquet", rows)
    assert by_database(as_records(table, space=Ball(9.0)).only(["a"]), (lambda block: block.x, 9.0)) is None
    for schema, people in (
        (Schema({"s": Number(0, 9)}), {}),
        (Schema({"a": Number(0, 9), "s": Category([1, 2])}), {}),
        (numbers("a"), {"unit": "p", "max_rows": 1, "unit_type": "integer"}),
    ):
        records = as_records(table, schema=schema, **people)
        by_sql, streamed = plain(records)
        assert by_sql is None
        memory = as_records(rows, schema=schema, **people)
        assert streamed == memory.reduce(lambda block: block.x.sum(axis=0), 1)
    with pytest.raises(ValueError, match="'f' has the type Float64: expected names of units"):
        as_records(table, schema=numbers("a"), unit="f", max_rows=1)
    assert [part.tolist() for part in plain(as_records(table, schema=numbers("a"), unit="p", max_rows=1))] == [
        [7.0]
    ] * 2
    (tmp_path / "t.csv").write_text("a,p\n1,ann\n2,bob\n4,ann\n")
    records = as_records(tmp_path / "t.csv", schema=numbers("a"), unit="p", max_rows=1, order="a")
    by_sql, streamed = plain(records)
    assert (by_sql, streamed.tolist(), records.units) == (None, [3.0], 2)
    with duckdb.connect(str(tmp_path / "v.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i::DOUBLE AS a, i % 2 AS p FROM range(5) r(i)")
        connection.execute("CREATE VIEW v AS SELECT * FROM t ORDER BY a DESC")
    view = Table(tmp_path / "v.duckdb", "v", per_unit=True)
    by_sql, streamed = plain(as_records(view, schema=numbers("a"), unit="p", max_rows=1, order="a"))
    assert by_sql.tolist() == streamed.tolist() == [1.0]  # whatever the order of the view
    assert summed(as_records(view, schema=numbers("a"))).tolist() == [10.0]


@pytest.mark.usefixtures("kept")
def test_views_children_and_indices_of_postgresql(database):
    """An order in which the planner would rather read rows changes nothing."""
    database.run(
        "CREATE TABLE t (a float8, who int, w text)",
        "INSERT INTO t SELECT 5 - (i % 5), i % 7, repeat('x', 1500) FROM generate_series(1, 3000) i",
        "CREATE INDEX ON t (a, who)",  # narrow: the planner would rather read this
        "VACUUM ANALYZE t",
        "CREATE TABLE child () INHERITS (t)",
        "INSERT INTO child VALUES (77, 8, 'x')",
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE TABLE alone AS SELECT * FROM t",
        "CREATE INDEX ON alone (a, who)",
        "VACUUM ANALYZE alone",
    )
    rows = [(str(i % 7), 5.0 - i % 5) for i in range(1, 3001)] + [("8", 77.0)]
    for order in (None, "a"):
        place = None if order is None else 0
        chosen = ideal_rows([who for who, _ in rows], [[a] for _, a in rows], 3, place)
        expected = sum(a for (_, a), one in zip(rows, chosen, strict=True) if one)
        for name in ("alone", "t", "v"):
            table = Table(database.url, name, per_unit=name == "v")
            records = as_records(table, schema=numbers("a"), unit="who", max_rows=3, order=order)
            assert [part.tolist() for part in plain(records)] == [[expected], [expected]]
            assert records.units == 8


@pytest.mark.usefixtures("kept")
def test_no_row_makes_postgresql_fail(database):
    """Boxes of any size and place: PostgreSQL raises where a product or quotient underflows or overflows."""
    rng = np.random.default_rng(5)
    tiny = [1e-300, -1e-200, 1e-154, -1e-162, 1e-150, 2.2250738585072014e-308, 1e100, -1e60, 1e-61]
    values = rng.choice(np.array(SPECIAL + tiny, dtype=object), (120, 3)).tolist()
    values += [[float(10.0**e), float(-(10.0 ** (e / 2))), float(10.0 ** (-e / 3))] for e in range(-320, 300, 20)]
    rows = pa.table({name: pa.array([row[j] for row in values], pa.float64()) for j, name in enumerate("abc")})
    rows = rows.append_column("g", pa.array(["oak", "elm"] * (len(rows) // 2) + ["ash"] * (len(rows) % 2)))
    summed = 0
    with opened_once(database.table(rows)) as table:
        for radius in (1.0, 1e-30, 1e50, 1e-50, 3e59, 1e-60, 1e-100, 1e290):
            for query, schema in itertools.islice(instances(2, radius, seed=int(abs(math.log10(radius)))), 1, None, 3):
                records = as_records(table, schema=schema)
                result = by_database(records, query)
                if result is None:
                    assert not 1e-40 < radius < 1e40, query
                    continue
                summed += 1
                expected = as_records(rows, schema=schema).reduce(query.sum, query.size)
                error = query.float_error(len(rows), records.float_error)
                assert np.linalg.norm(result - expected) <= 2.0 * error, query
        raw = as_records(table, schema=numbers("a", low=-1e300, high=1e300))
        for norm in (1e-300, 2.0**-899, 1.0, 2.0**51, 1e20, 1e300):
            by_database(raw, (lambda block, norm=norm: block.x * (0.0 if norm < 1e300 else 1.0), norm))
    assert summed >= 12


@pytest.mark.parametrize("kind", ["parquet", "postgresql"])
def test_the_order_of_rows_changes_no_bit(kind, written, request):
    rows = special_rows(seed=9)
    schema = Schema({"a": Number(-3, 1), "b": Number(0, 1e3, missing="fill", fill=1)})
    query = Moments(Box([-3, 0], [1, 1e3]), (0.2, 0.5, 0.3))
    result = by_database(as_records(written(kind, rows), schema=schema), query)
    mixed = rows.take(np.random.default_rng(1).permutation(len(rows)))
    inside = kind == "postgresql"
    table = request.getfixturevalue("database").table(mixed, "mixed") if inside else written(kind, mixed)
    assert np.array_equal(by_database(as_records(table, schema=schema), query), result)


CORNERS = [(-1e308, -2.0, "oak", 9), (1.0, 7.0, "oak", 9), (-1e308, 7.0, "oak", 9), (-1e308, -2.0, "elm", 9)]
CORNERS += [(-0.7195, 0.0, "oak", 9)]  # where a replaced row moves the usual squares most, with one at the end


def worst(written, query, most=1):
    """Search for the worst neighbours, and check what they move against the bounds; return the shares of them found."""
    rng = np.random.default_rng(0)
    base = [(float(a), float(b), "oak", 100 + j) for j, (a, b) in enumerate(rng.normal(size=(20, 2)) * 3)]
    schema = Schema({**{name: Number(-2, 1) for name in "ab"[: query.dimension]}, "g": Category(["oak", "elm"])})

    def summed_of(rows):
        table = written("parquet", pa.table({name: [row[j] for row in rows] for j, name in enumerate("abgu")}))
        records = as_records(table, schema=schema, **({} if most == 1 else {"unit": "u", "max_rows": most}))
        return by_database(records, query), records.float_error

    without, accumulation = summed_of(base)
    copies = 1 if most == 1 else 2 * most
    sums = [summed_of(base + [row] * copies)[0] for row in CORNERS]
    error = 2.0 * query.float_error(len(base) + copies, accumulation)
    comes = max(float(np.linalg.norm(one - without)) for one in sums)
    assert comes <= most * query.bound.l2 + error
    apart = max(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(sums, 2))
    assert apart <= most * max(query.bound.replace("l2"), query.bound.l2) + error
    return comes / (most * query.bound.l2), apart / (most * query.bound.replace("l2"))


BOX = Box([-2, -2], [1, 1])
ATTACKED = {
    "moments": Moments(BOX),
    "squares": Squares(Box([-2], [1]), True),
    "total": Total(BOX),
    "grouped": Grouped(Total(BOX), 2, 0),
}


@pytest.mark.parametrize("name", ATTACKED)
def test_worst_neighbours_move_a_sum_by_its_bound_and_no_more(name, written):
    query = ATTACKED[name]
    comes, apart = worst(written, query)
    assert comes >= 0.99
    assert apart >= 0.99 * query.bound.attained.get("replace_l2", 1.0)


def test_worst_units_move_a_sum_by_the_bound_of_their_rows(written):
    comes, _ = worst(written, Total(BOX), most=3)
    assert comes >= 0.99


class _Raw:
    """The rows as they are, which nothing clips but the declaration."""

    dimension, size = 2, 2
    bound = Total(BOX).bound

    def contributions(self, block):
        return block.x / (2.0 * math.sqrt(2.0))

    def float_error(self, rows, accumulation):
        return Total(BOX).float_error(rows, accumulation)


def test_a_database_that_neither_clips_nor_limits_is_caught(written):
    worst(written, _Raw())
    scale = sql_text.write_whole
    for name, broken, query, most in (
        ("_write_clipping", lambda reading: [f'GREATEST(LEAST("x{j}", 9), -9)' for j in (0, 1)], _Raw(), 1),
        ("_write_unit_limit", lambda engine, reading: ("", None), Total(BOX), 2),
        ("write_whole", lambda text, norm: scale(f"({text} * {math.sqrt(2)!r})", norm), Total(BOX), 1),
    ):
        with mock.patch.object(databases, name, broken), pytest.raises(AssertionError, match="<="):
            worst(written, query, most)


def test_one_unit_has_no_rows_too_many_where_it_is_spelt_in_two_ways(written):
    """As whole numbers, which are read from the rows; as text each is a name of its own, also one that comes later."""
    rows = pa.table({"a": [1.0, 1.0, 1.0], "p": ["ann", "bob", "ann"]})
    table = written("duckdb", rows)
    records = as_records(table, schema=numbers("a"), unit="p", max_rows=1)
    whole = as_records(table, schema=numbers("a"), unit="p", max_rows=1, unit_type="integer")
    assert [part.tolist() for part in plain(records)] == [[2.0], [2.0]]
    assert (plain(whole)[0], plain(whole)[1].tolist()) == (None, [0.0])
    with duckdb.connect(str(table.location)) as connection:
        connection.execute("INSERT INTO t VALUES (1.0, '7'), (1.0, ' 007'), (1.0, '7.0'), (1.0, 'bob'), (1.0, '')")
    assert [part.tolist() for part in plain(records)] == [[5.0], [5.0]]
    assert as_records(table, schema=numbers("a"), unit="p", max_rows=1).units == 5
    assert (plain(whole)[0], plain(whole)[1].tolist()) == (None, [1.0])


SPELT = [
    "7",
    " 7",
    "007",
    "7.",
    ".5",
    "+7",
    "-7",
    "1_000",
    "1e3",
    "1E+3",
    "true",
    " FALSE\n",
    "\t7\u00a0",
    "\x1c7",
    "0x7",
]


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_whatever_spells_a_number_is_a_name_of_its_own(kind, written):
    """Each twice: one row of each counts, for the database, for the rows that it sends, and in memory."""
    texts = [*SPELT, "ann", "a7", "é", "7a", "e7", "Infinity", "NaN", "٣", "truely", " ", "Ann"]
    rows = pa.table({"a": [*range(0, 4 * len(texts), 2)], "p": [*texts, *texts]})
    table = written(kind, rows)
    for unit_type in ("text", "integer"):
        declared = {"schema": numbers("a"), "unit": "p", "max_rows": 1, "unit_type": unit_type}
        records, memory = (as_records(data, **declared) for data in (table, rows))
        by_sql, streamed = plain(records)
        expected = memory.reduce(lambda block: block.x.sum(axis=0), 1).tolist()
        assert streamed.tolist() == expected
        assert by_sql is None if unit_type == "integer" else by_sql.tolist() == expected
        assert records.units == memory.units == (len(texts) if unit_type == "text" else 2)  # 7 and −7


NAMES = [
    'the "old" ward', "a b", "100%", "%s", "{x}", "Größe", "x1", "x0", "k0", "rank", "Rank_", "rows", "t", "read",
    "kept", "select", "filename", "file_row_number", "order", "user", "'; DROP TABLE t; --", '"; DROP TABLE t; --',
    "a.b", "\\", "$1",
    "ranked", "given", "::int", "/*", "`", "😀", "row of the unit", "u", "many", "terms", "chosen", "t0",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_names(kind, written):
    names = [*NAMES, *(["Ctid", "CTID_", "rowid"] if kind == "postgresql" else ["ctid", "rowid"])]
    rng = np.random.default_rng(2)
    rows = pa.table(
        {name: rng.integers(-9, 9, 30).astype(float) for name in names}
        | {"k1": ["oak", "it's"] * 15, "who": [1, 2, 3] * 9 + [4] * 3}
    )
    table = written(kind, rows)
    schema = Schema(
        {**{name: Number(-5, 5) for name in names}, "k1": Category(["it's", "oak'); DROP TABLE t; --", "oak"])}
    )
    units = [{}, {"unit": "who", "max_rows": 4}, {"unit": "who", "max_rows": 4, "order": NAMES[0]}]
    for people in units[size({"duckdb": 1, "postgresql": 0}.get(kind, 2), 0) :]:
        by_sql, streamed = plain(as_records(table, schema=schema, **people))
        memory = as_records(rows, schema=schema, **people).reduce(lambda block: block.x.sum(axis=0), len(names))
        assert streamed.tolist() == memory.tolist()
        assert by_sql.tolist() == memory.tolist()
    where = f"`{NAMES[0]}` > 0 and k1 != 'oak\\'); DROP TABLE t; --'"
    by_sql, streamed = plain(as_records(table, schema=schema).where(where))
    assert by_sql.tolist() == streamed.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_may_have_any_name(kind, written):
    """One table has all of them, so that each also stands beside the others."""
    names = ["rowid", "Filename", "u", "many", "read", "kept", "t0", "x0", "file_row_number", "order"]
    rows = pa.table(
        {"rank": [1.0, 2.0, 4.0, 8.0, 16.0], **{name: [9, 3, 5, 9, 9] for name in names}, "RANK_": [5.0] * 5}
    )
    table = written(kind, rows)
    for unit in names if LONG or kind in ("parquet", "postgresql") else names[:3]:
        records = as_records(table, schema=numbers("rank", "RANK_"), unit=unit, max_rows=2, order="rank")
        by_sql, streamed = plain(records)
        assert by_sql.tolist() == streamed.tolist() == [15.0, 20.0], unit
        assert records.units == 3, unit


def test_names_that_duckdb_cannot_tell_apart_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "A": [2.0]}), tmp_path / "t.parquet")
    feather.write_feather(pa.table({"a": [1.0], "A": [2.0]}), str(tmp_path / "t.arrow"))
    (tmp_path / "t.csv").write_text("a,A\n1,2\n")
    for name in ("t.parquet", "t.arrow", "t.csv"):
        with pytest.raises(ValueError, match="rename one"):
            as_records(Table(tmp_path / name), schema=numbers("a"))
    (tmp_path / "t.csv").write_text("a,b,\n1,2,\n")
    with pytest.raises(ValueError, match="expected a name for each"):
        as_records(Table(tmp_path / "t.csv"), schema=numbers("a"))


@pytest.mark.parametrize("name", ["g[1]", "h*", "i?", "'); DROP TABLE t; --"])
def test_a_path_is_one_file(name, tmp_path, monkeypatch):
    for other in ("g1", "hx", "ix"):
        pq.write_table(pa.table({"a": [50.0], "u": [1]}), tmp_path / f"{other}.parquet")
        (tmp_path / f"{other}.csv").write_text("a,u\n50,1\n")
    pq.write_table(pa.table({"a": [1.0, 2.0], "u": [1, 1]}), tmp_path / f"{name}.parquet")
    (tmp_path / f"{name}.csv").write_text("a,u\n1,1\n2,1\n")
    monkeypatch.chdir(tmp_path)
    people = {"unit": "u", "max_rows": 1, "order": "a"}
    parquet = as_records(Table(f"{name}.parquet"), schema=numbers("a"), **people)
    text = as_records(Table(f"{name}.csv"), schema=numbers("a"), **people)
    database = stored(pa.table({"a": [1.0, 2.0], "u": [1, 1]}), f"{name}.duckdb")
    kept = as_records(database, schema=numbers("a"), **people)
    monkeypatch.chdir("/")
    assert [part.tolist() for part in plain(parquet)] == [[1.0], [1.0]]
    assert [part.tolist() for part in plain(kept)] == [[1.0], [1.0]]
    assert plain(text)[1].tolist() == [1.0]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_tables_are_found_by_their_names(kind, tmp_path, request):
    names = ['the "old" one', "a.b", "'; DROP TABLE t; --", "main"]
    if kind == "duckdb":
        path = tmp_path / "clinic.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                'CREATE SCHEMA "clinic"; CREATE SCHEMA a; CREATE TABLE clinic.a.b AS SELECT 9.0::DOUBLE AS x'
            )
            connection.execute('CREATE TABLE "clinic"."clinic"."visits" AS SELECT 7.0::DOUBLE AS x')
            for place, name in enumerate(names):
                relation = f"clinic.main.{sql_text.quote_identifier(name)}"
                connection.execute(f"CREATE TABLE {relation} AS SELECT {place}::DOUBLE AS x")
        location, inner = path, "clinic.visits"
    else:
        database = request.getfixturevalue("database")
        for place, name in enumerate(names):
            database.run(f"CREATE TABLE {sql_text.quote_identifier(name)} AS SELECT {place}::float8 AS x")
        database.run("CREATE TABLE visits AS SELECT 7.0::float8 AS x")
        location, inner = database.url, f"{database.schema}.visits"
    for place, name in enumerate(names):
        assert summed(as_records(Table(location, name), schema=numbers("x"))).tolist() == [float(place)]
    assert summed(as_records(Table(location, inner), schema=numbers("x"))).tolist() == [7.0]
    for wrong in ("visits; DROP TABLE visits", "a\0b"):
        with pytest.raises(ValueError, match="table="):
            as_records(Table(location, wrong), schema=numbers("x"))


def test_nothing_but_reading_can_run(database, tmp_path):
    rows = pa.table({"a": [1.0]})
    for table in (database.table(rows), stored(rows, tmp_path / "t.duckdb")):
        engine = open_engine(table)
        for statement in (
            "DROP TABLE t",
            "INSERT INTO t VALUES (2)",
            "CREATE TABLE s AS SELECT 1 AS a",
            "SELECT 'a'; DROP TABLE t",
        ):
            with pytest.raises(OSError, match="failed to answer"), engine.snapshot() as state:
                state.texts(statement)
        assert summed(as_records(table, schema=numbers("a"))).tolist() == [1.0]


@pytest.mark.usefixtures("kept")
def test_a_servers_habits_change_no_category(database):
    database.run(
        "CREATE TABLE t (a float8, s text)",
        r"INSERT INTO t VALUES (1, 'o\ak'), (2, 'o\\ak'), (4, 'Größe')",
        "ALTER ROLE keeper SET standard_conforming_strings = off",
        "ALTER ROLE keeper SET client_encoding = 'LATIN1'",
        "ALTER ROLE keeper SET backslash_quote = on",
    )
    try:
        for values, total in ((["o\\ak"], 1.0), (["o\\\\ak", "\\'; DROP TABLE t; --"], 2.0), (["Größe"], 4.0)):
            schema = Schema({"a": Number(0, 9), "s": Category(values)})
            by_sql, streamed = plain(as_records(Table(database.url, "t"), schema=schema))
            assert by_sql.tolist() == streamed.tolist() == [total]
    finally:
        database.run("ALTER ROLE keeper RESET ALL")


@pytest.mark.usefixtures("kept")
def test_text_is_compared_character_by_character(database, tmp_path):
    database.run(
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE t (a float8, s text COLLATE loose)",
        "INSERT INTO t VALUES (1, 'A'), (2, 'a'), (4, 'b')",
    )
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (a DOUBLE, s VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES (1, 'A'), (2, 'a'), (4, 'b')")
    for table in (Table(database.url, "t"), Table(tmp_path / "t.duckdb")):
        one = as_records(table, schema=Schema({"a": Number(0, 9), "s": Category(["a"])}))
        assert [part.tolist() for part in plain(one)] == [[2.0], [2.0]]
        each = as_records(table, schema=numbers("a"), unit="s", max_rows=1)
        assert [part.tolist() for part in plain(each)] == [[7.0], [7.0]]


def test_whole_numbers_are_categories_exactly(written):
    rows = pa.table(
        {
            "f": pa.array([16777216.0, 5.0, 2.0**24 + 2], pa.float32()),
            "u": pa.array([1, 2**64 - 1, 5], pa.uint64()),
            "i": pa.array([1, -128, 5], pa.int8()),
            "d": [2.0**53 - 1, 2.0**53, 5.5],
            "a": [1.0, 2.0, 4.0],
        }
    )
    table = written("parquet", rows)
    for name, values in (("f", [16777217, 5]), ("u", [-1, 1]), ("i", [300, -128, -(10**12)]), ("d", [2**53 - 1, 5])):
        schema = Schema({"a": Number(0, 9), name: Category(values)})
        by_sql, streamed = plain(as_records(table, schema=schema))
        assert by_sql.tolist() == streamed.tolist()
        assert streamed == as_records(rows, schema=schema).reduce(lambda block: block.x.sum(axis=0), 1), name


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_text_that_is_not_utf8_changes_its_own_row_only(kind, written):
    buffers = pa.py_buffer(np.array([0, 1, 6, 7, 8], np.int32)), pa.py_buffer(b"oJos\xe9Xoe")
    rows = pa.table({"s": pa.StringArray.from_buffers(4, *buffers), "a": [1.0, 2.0, 4.0, 8.0]})
    table = written(kind, rows)
    for declared, total in (
        ({"schema": Schema({"a": Number(0, 9), "s": Category(["o", "e"])})}, 13.0),
        ({"schema": numbers("a"), "unit": "s", "max_rows": 1, "order": "a"}, 9.0),
    ):
        records = as_records(table, **declared)
        assert records.reduce(lambda block: block.x.sum(axis=0), 1, 9.0, lambda block: block.x).tolist() == [total]
        assert records.reduce(lambda block: block.x.sum(axis=0), 1).tolist() == [total]


BROKEN = size(10_000, 50_000)
CSV = {
    "windows": (b"a,b\r\n1,2\r\n3,4\r\n", 2, [4.0, 6.0]),
    "mixed ends": (b"a,b\r\n1,2\n3,4\r\n", 2, [4.0, 6.0]),
    "byte order mark": (b"\xef\xbb\xbfa,b\n1,2\n3,4", 2, [4.0, 6.0]),
    "short line": (b"a,b\n1\n3,4\n", 2, [3.0, 4.0]),
    "long line": (b"a,b\n1,2,9\n3,4\n", 2, [4.0, 6.0]),
    "quote inside": (b'a,b\n1,2"\n3,4\n', 2, [3.0, 4.0]),
    "text after a quote": (b'a,b\n1,"2"x\n3,4\n', 2, None),
    "line break in quotes": (b'a,b\n1,"2\n3"\n3,4\n', 3, [3.0, 4.0]),
    "NUL": (b"a,b\n1,\x002\n3,4\n", 2, [3.0, 4.0]),
    "not UTF-8": (b"a,b\n1,\xff\xfe\n3,4\n", 2, [3.0, 4.0]),
    "text": (b"a,b\n1,n/a\n3,4\nx,\n", 3, [3.0, 4.0]),
    "numbers": (b"a,b\n1e308,-1e400\n3,4\nnan,inf\n 2 ,5e-324\n", 4, [5.0, 4.0]),
    "no rows": (b"a,b\n", 0, [0.0, 0.0]),
    "no line end": (b"a,b", 0, [0.0, 0.0]),
    "comment": (b"a,b\n#1,2\n3,4\n", 2, [3.0, 4.0]),
    "semicolons": (b"a;b\n1;2\n3,5;4\n", 2, [1.0, 2.0]),
    "a line of megabytes": (b"a,b\n1," + b"7" * 3_000_000 + b"\n3,4\n", None, [3.0, 4.0]),
    "many broken lines": (
        b"a,b\n" + b'1,"x\ny"\n1\n1,2,3\n' * BROKEN + b"3,4\n",
        None,
        [BROKEN + 3.0, 2.0 * BROKEN + 4.0],
    ),
    "a quote left open": (b'a,b\n3,4\n1,"2\n3,4\n', 3, [6.0, 8.0]),
    "empty lines": (b"a,b\n\n3,4\n\r\n\n1,2\n", 5, [4.0, 6.0]),
    "returns alone": (b"a,b\n3,4\r1,2\n3,4\n", 2, [3.0, 4.0]),
}


@pytest.mark.parametrize("name", CSV)
def test_a_broken_line_makes_no_error_and_no_warning(name, tmp_path):
    data, count, total = CSV[name]
    (tmp_path / "t.csv").write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        records = as_records(tmp_path / "t.csv", schema=numbers("a", "b", low=-1e6, high=1e6))
        result = records.reduce(lambda block: block.x.sum(axis=0), 2).tolist()
    assert total is None or result == total
    assert count is None or records.rows == count


@pytest.mark.parametrize("kind", ["parquet", "arrow", "postgresql"])
def test_few_rows_or_none_are_a_table_too(kind, written):
    for rows, total in (([], 0.0),) if kind == "postgresql" else (([], 0.0), ([2.5], 2.5), ([None], 0.0)):
        table = written(kind, pa.table({"a": pa.array(rows, pa.float64()), "u": pa.array([1] * len(rows), pa.int64())}))
        for people in ({}, {"unit": "u", "max_rows": 2}):
            by_sql, streamed = plain(as_records(table, schema=numbers("a"), **people))
            assert streamed.tolist() == [total]
            assert by_sql is None or by_sql.tolist() == [total]


def test_kernels_that_cannot_be_written_down_read_rows(written):
    records = as_records(written("parquet", pa.table({"a": [1.0, 2.0, 4.0]})), schema=numbers("a", low=0.0, high=9.0))

    def total(rows, norm=100.0):
        return records.reduce(lambda block: rows(block).sum(axis=0), 1, norm, rows).tolist()

    assert total(lambda block: block.x**2) == [21.0]
    assert total(lambda block: np.ones((len(block.x), 1)) * block.x) == [7.0]
    assert total(lambda block: 1.0 / block.x) == [1.75]
    assert total(lambda block: (block.x > 1) * block.x) == [6.0]
    assert total(lambda block: np.where(block.x > 1, block.x, 0.0)) == [6.0]
    assert total(lambda block: block.x, norm=2.0**60) == [7.0]
    with pytest.raises(ZeroDivisionError):
        total(lambda block: block.x + 1 / 0)


def test_a_surrogate_or_a_nul_is_no_category_of_any_table(written):
    table = written("parquet", pa.table({"a": [1.0, 2.0], "s": ["x", "y"]}))
    for odd in ("\ud800", "y\0"):
        by_sql, streamed = plain(as_records(table, schema=Schema({"a": Number(0, 9), "s": Category(["x", odd])})))
        assert (by_sql, streamed.tolist()) == (None, [1.0])


def test_passwords_stay_where_they_are(server, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    place, secret = server.new_schema(), "s3cret"
    with server.connect(place) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1.5::float8 AS a")
    table = Table(server.url(place), "t")
    records = as_records(table, schema=numbers("a"))
    curator = dp.Curator(records, neighbors="add-remove", at_most=10)
    for thing in (table, records, curator, records._source._engine):
        assert secret not in repr(thing) + str(thing)
        assert secret.encode() not in pickle.dumps(thing)
    for again in (copy.copy(records), copy.deepcopy(records), as_records(copy.deepcopy(table), schema=numbers("a"))):
        assert summed(again).tolist() == [1.5]
    packed = pickle.loads(pickle.dumps(records))
    with pytest.raises(OSError, match="failed to answer"):
        plain(packed)
    monkeypatch.setenv("PGPASSWORD", server.password)
    assert [part.tolist() for part in plain(packed)] == [[1.5], [1.5]]
    assert summed(as_records(pickle.loads(pickle.dumps(table)), schema=numbers("a"))).tolist() == [1.5]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@127.0.0.1:1/c",
        "postgresql://ann:s3/cret@127.0.0.1:1/c",
        "postgresql://ann:s3%zzcret@127.0.0.1:1/c",
        "postgresql://ann:s3@cret@127.0.0.1:1/c",
        "postgresql://ann:s3?cret@127.0.0.1:1/c",
        "postgresql://ann:33?s3cret@127.0.0.1:1/c",
        "postgresql://ann:s3#cret@127.0.0.1:1/c",
        "postgresql://ann@127.0.0.1:1/c?password=s3cret",
        "postgresql://ann:s3cret@127.0.0.1:port/c",
        "postgresql://ann:s3cret@[::1/c",
        "postgresql+psycopg://ann:s3cret@127.0.0.1:1/c",
        "mysql://ann:s3cret@127.0.0.1/c",
    ],
)
def test_no_error_shows_a_password(url):
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    with pytest.raises((OSError, ValueError)) as caught:
        as_records(Table(url, "t"), schema=numbers("a"))
    assert "s3" not in str(caught.value)
    assert "cret" not in str(caught.value)
    assert caught.value.__context__ is None or "cret" not in str(caught.value.__context__)
    with suppress(ValueError):  # some are refused
        assert "cret" not in repr(Table(url, "t"))


def test_threads_share_a_table(tmp_path):
    pq.write_table(special_rows(2000, seed=4), tmp_path / "t.parquet", row_group_size=50)
    records = as_records(Table(tmp_path / "t.parquet"), schema=numbers("a", "b"), unit="person", max_rows=5)
    expected, result = plain(records), []
    threads = [threading.Thread(target=lambda: result.append(plain(records))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(result) == 4
    assert all(np.array_equal(one, other) for pair in result for one, other in zip(pair, expected, strict=True))


@pytest.mark.parametrize("kind", ["parquet", "arrow", "postgresql"])
def test_records_of_a_table_can_be_pickled(kind, written):
    records = as_records(written(kind, special_rows(50)), schema=numbers("a"), unit="person", max_rows=1)
    again = pickle.loads(pickle.dumps(records))
    for one, other in zip(plain(records), plain(again), strict=True):
        assert (one is None and other is None) or np.array_equal(one, other)
    assert repr(again) == repr(records)


def test_a_table_that_grows_raises_nothing(database):
    table = database.table(pa.table({"a": [1.0, 2.0], "u": [1, 2]}))
    records = as_records(table, schema=numbers("a"), unit="u", max_rows=1)
    curator = dp.Curator(records, neighbors="add-remove", at_most=3)
    assert records.rows == 2
    assert [part.tolist() for part in plain(records)] == [[3.0], [3.0]]
    database.run("INSERT INTO t SELECT 1.0, i FROM generate_series(10, 50) i")
    assert [part.tolist() for part in plain(records)] == [[44.0], [44.0]]
    with mock.patch.object(type(records._source), "read_declared", side_effect=AssertionError("rows were read")):
        result = Count().collect(records, curator.setting)
    assert result.tolist() == [pytest.approx(3.0, rel=1e-5)]
    database.run("DROP TABLE t")
    with pytest.raises(OSError, match="failed to answer") as caught:
        plain(records)
    assert caught.value.__context__ is None


def test_a_large_file_is_not_read_whole(tmp_path):
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of memory is read from /proc, which this system does not have")
    n, d = size(1_250_000, 2_000_000), 8
    for name, rows in (("small", 10_000), ("large", n)):
        columns = pa.table(dict.fromkeys([f"c{j}" for j in range(d)], np.random.default_rng(0).normal(size=rows)))
        how = {"row_group_size": n // 20, "use_dictionary": False, "compression": "none"}
        pq.write_table(columns, tmp_path / f"{name}.parquet", **how)
    code = f"""
import re
from pathlib import Path
from discreet.records import Box, as_records
from discreet.records.sources.engines import Table

peaks = []
for name in ("small", "large"):
    records = as_records(Table(Path({str(tmp_path)!r}) / f"{{name}}.parquet"), space=Box(-1, 1))
    records.reduce(lambda block: block.x.sum(axis=0), {d})
    peaks.append(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1)) / 1024)
print(peaks[1] - peaks[0])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert float(run.stdout) < 0.65 * n * d * 8 / 2**20


def test_a_release_through_the_database_is_one_like_any_other(written, seeded):
    rows = special_rows(500, seed=8)
    schema = Schema({"a": Number(-5, 5, missing="fill", fill=0), "b": Number(-5, 5, missing="fill", fill=0)})
    table = written("parquet", rows)
    values = []
    for data in (table, rows):
        curator = dp.Curator(data, schema=schema)
        release = curator.measure(Sum(curator.space), dp.GaussianLoss(0.5), bits=seeded(3))
        values.append(release.value)
    assert np.allclose(*values, rtol=0, atol=1e-9)
    decimals = pa.table({"a": [Decimal("1.5"), Decimal("2.25")]})
    by_sql, streamed = plain(as_records(Table(_parquet(decimals, table)), schema=numbers("a")))
    assert (by_sql, streamed.tolist()) == (None, [3.75])


def _parquet(rows, beside):
    path = Path(beside.location).parent / "decimals.parquet"
    pq.write_table(rows, path)
    return path


def test_a_type_that_arrow_cannot_hand_over_is_refused(tmp_path):
    with duckdb.connect(str(tmp_path / "odd.duckdb")) as connection:
        connection.execute("CREATE TABLE t (a UNION(n INTEGER, s VARCHAR))")
    with pytest.raises(ValueError, match=r"(a|the) type"):
        as_records(Table(tmp_path / "odd.duckdb"), schema=Schema({"a": Number(0, 1)}))
