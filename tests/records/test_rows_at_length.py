"""A person's rows are attacked like a query: the exact sums that enter the door, over neighbours, from every source.

Random tables of persons with odd cells and odd names go through every source, in another order and cut in another way
each time. Contributions are such that floats add them up exactly. So the sum of a table must be, to the last bit, what
the rows that count of each person add up to (``ideal_rows``), and with one person added, removed or replaced it must
move by that person's own rows and no others: at most ``max_rows`` of them, or twice as many.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace

from discreet.records import Category, Date, Number, Records, Schema, Table, as_records
from effort import measured, size
from ideal_rows import ideal_rows
from kept_connections import kept_connections
from spark_session import spark

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
feather = pytest.importorskip("pyarrow.feather", reason="pyarrow is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

Row = tuple[Any, ...]  # unit, x, y, day, ward

EPOCH = datetime.date(1970, 1, 1)
FIRST = 18262  # 2020-01-01
COLUMNS = {
    "x": Number(-2, 2),
    "y": Number(0, 4, missing="fill", fill=1),
    "day": Date("2020-01-01", "2020-12-31", missing="fill", fill="2020-06-01"),
    "ward": Category(["a", "b", "c"]),
}
OTHER = {**COLUMNS, "ward": Category(["a", "b"], other="c")}  # whoever is in neither is in c
TEXTS = ["1", "01", "1_0", "10", "1e1", "1E1", "1.0", "ann", "Ann", "ann ", "é", "e\u0301", "ß", "ss", "true", "nan"]
WHOLE = [0, 1, 7, -7, 2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**63 - 1, -(2**63)]
NUMBERS = [0.0, -0.0, 1.0, 1.0, 2.0, -1.5, 0.5, 9.0, -9.0, 1e308, math.nan, math.inf, -math.inf, None]
CALM = [0.0, 1.0, 2.0, -1.5, math.nan, math.nan]  # of whose NaN the statistics of a file do not know
DAYS = [
    datetime.date(2020, 1, 1),
    datetime.date(2020, 2, 29),
    datetime.date(2031, 1, 1),
    datetime.date(1900, 5, 5),
    None,
]
WARDS = ["a", "b", "b", "c", "A", " a", "7", "inf", "nan", "NA", "null", " ", "\u2003", "none", None]
GAPS = {None, "nan", "NA", "null", " ", "\u2003"}
WIDTH = 8


def contributions(block: Any) -> Any:
    """Return numbers of few bits, whose sums are exact."""
    xp = array_namespace(block.x)
    x, y, day, ward = block.x[:, 0], block.x[:, 1], block.x[:, 2], block.codes[:, 0]
    wards = [xp.astype(ward == j, xp.float64) for j in range(3)]
    return xp.stack([xp.zeros_like(x) + 1.0, x, y, x * y, day - float(FIRST), *wards], axis=1)


LARGEST = math.sqrt(1 + 4 + 16 + 64 + 365**2 + 1)


def total(records: Records) -> np.ndarray:
    return records.reduce(lambda block: contributions(block).sum(axis=0), WIDTH, 2.0**10, contributions)


def ideal(rows: list[Row], kind: str, most: int, order: str | None, positive: bool, other: bool) -> np.ndarray:
    """Return what the rows that count add up to, row by row."""

    def ward_of(ward: str | None) -> float:
        if ward in ("a", "b", "c"):
            return float("abc".index(ward))
        return 2.0 if other and ward not in GAPS else math.nan

    names = [name_of(row[0], kind) for row in rows]
    cells = [
        (
            math.nan if x is None else x,
            math.nan if y is None else y,
            math.nan if day is None else float((day - EPOCH).days),
            ward_of(ward),
        )
        for _, x, y, day, ward in rows
    ]
    place = None if order is None else ["x", "y", "day"].index(order)
    result = np.zeros(WIDTH)
    for kept, (x, y, day, ward) in zip(ideal_rows(names, cells, most, place), cells, strict=True):
        if kept and math.isfinite(x) and not math.isnan(ward) and (not positive or min(max(x, -2.0), 2.0) > 0.0):
            x, y = min(max(x, -2.0), 2.0), min(max(y, 0.0), 4.0) if math.isfinite(y) else 1.0
            day = FIRST + 152.0 if math.isnan(day) else min(max(day, FIRST), FIRST + 365.0)
            result += [1.0, x, y, x * y, day - FIRST, *(float(ward == j) for j in range(3))]
    return result


def name_of(unit: Any, kind: str) -> str | None:
    if unit is None or unit == "":
        return None
    if kind == "text":
        return str(unit)
    return str(int(unit)) if isinstance(unit, int) or unit.strip().lstrip("+-").isdigit() else None


def persons(rng: np.random.Generator, kind: str, count: int, numbers: list[Any]) -> dict[Any, list[Row]]:
    """Return people with their rows, of whom some have many and some many that are equal."""
    pool = TEXTS if kind == "text" else WHOLE
    places = rng.choice(len(pool), min(count, len(pool)), replace=False)
    return {pool[place]: rows_of(rng, pool[place], numbers) for place in places}


def rows_of(rng: np.random.Generator, unit: Any, numbers: list[Any]) -> list[Row]:
    def draw(cells: list[Any]) -> Any:
        return cells[rng.integers(len(cells))]

    rows = [
        (unit, draw(numbers), draw(numbers), draw(DAYS), draw(WARDS))
        for _ in range(rng.integers(1, rng.choice([3, 9])))
    ]
    return rows + [rows[0]] * int(rng.choice([0, 0, 4]))


def neighbours(rng: np.random.Generator, kind: str) -> tuple[list[Row], list[Row], int]:
    """Return two tables that differ in one person, and how many times ``max_rows`` rows may come or go."""
    numbers = [NUMBERS, CALM][rng.integers(2)]
    people = persons(rng, kind, 7, numbers)
    names = list(people)
    other = dict(people)
    what = rng.integers(3)
    if what == 0:
        del other[names[0]]
    elif what == 1:
        other[names[0]] = rows_of(rng, names[0], NUMBERS)  # one person may bring what nobody else has
    else:
        new = "zoe" if kind == "text" else 12345
        other[new] = rows_of(rng, new, NUMBERS)
        del other[names[0]]
    nobody = rows_of(rng, None, numbers)
    return (
        [row for rows in [*people.values(), nobody] for row in rows],
        [row for rows in [*other.values(), nobody] for row in rows],
        1 if what == 0 else 2,
    )


# Sources: each gets rows in a random order, and cuts them as it likes.


SPARK_TYPES = {
    kind: f"who {who}, x double, y double, day date, ward string"
    for kind, who in (("text", "string"), ("integer", "bigint"))
}


def columns_of(rows: list[Row]) -> dict[str, list[Any]]:
    names = ("who", "x", "y", "day", "ward")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if rows else {name: [] for name in names}


def arrow(rows: list[Row], kind: str) -> Any:
    columns = columns_of(rows)
    types = [pa.string() if kind == "text" else pa.int64(), pa.float64(), pa.float64(), pa.date32(), pa.string()]
    return pa.table({name: pa.array(columns[name], one) for name, one in zip(columns, types, strict=True)})


def pandas_frame(rng: np.random.Generator, rows: list[Row], kind: str) -> Any:
    columns = columns_of(rows)
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    if kind == "integer":
        frame["who"] = pd.array(columns["who"], dtype="Int64")
    if rng.integers(2):  # as columns of their own types
        frame["x"] = pd.Series([math.nan if x is None else x for x in columns["x"]], dtype="float64")
        frame["day"] = pd.to_datetime(pd.Series(columns["day"], dtype=object)).astype(
            ["datetime64[s]", "datetime64[us]", "datetime64[ns]"][rng.integers(3)]
        )
        frame["ward"] = frame["ward"].astype("category")
    return frame


def objects(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> tuple[Any, dict[str, Any]]:
    result = np.empty((len(rows), 4), dtype=object)
    for j, row in enumerate(rows):
        result[j] = row[1:]
    return result, {"unit": [row[0] for row in rows]}


def csv_file(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    def text(cell: Any) -> str:
        return "" if cell is None else str(cell)

    def who(cell: Any) -> str:
        if kind == "integer" and isinstance(cell, int) and rng.integers(2):
            return f" {cell:+d}" if rng.integers(2) else f"{cell:025d}"
        return text(cell)

    path = place.file("csv")
    lines = [",".join([who(row[0]), *map(text, row[1:])]) for row in rows]
    path.write_text("\n".join(["who,x,y,day,ward", *lines, ""]))
    return path


def parquet_folder(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    path, table = place.file("folder"), arrow(rows, kind)
    path.mkdir()
    cuts = sorted(rng.integers(0, len(rows) + 1, 2).tolist())
    for part, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        pq.write_table(table.slice(start, stop - start), path / f"{part}.parquet", row_group_size=5)
    return path


def arrow_file(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    path = place.file("arrow")
    feather.write_feather(arrow(rows, kind), str(path), chunksize=int(rng.integers(1, 20)))
    return path


def dask_frame(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    frame = pandas_frame(rng, rows, kind)
    result = dd.from_pandas(frame, npartitions=int(rng.integers(1, 5)), sort=False)
    return result.shuffle("y") if rng.integers(2) and len(rows) else result


def spark_frame(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    parts, table = int(rng.integers(1, 5)), arrow(rows, kind)
    whole = spark().createDataFrame(table.to_pylist(), schema=SPARK_TYPES[kind])
    return whole.repartition(parts) if rng.integers(2) else whole.repartition(parts, "y")


def duckdb_table(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    return Table(place.stored(arrow(rows, kind)), "t")


def duckdb_view(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    return Table(place.stored(arrow(rows, kind)), "v", per_unit=True)


def postgresql_table(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    return Table(place.url, place.postgresql(rows, kind))


def postgresql_view(rng: np.random.Generator, rows: list[Row], kind: str, place: Any) -> Any:
    return Table(place.url, place.postgresql(rows, kind) + "v", per_unit=True)


SOURCES: dict[str, tuple[Callable[..., Any], int, int]] = {  # with the number of pairs, in short and at length
    "array of objects": (objects, 4, 1500),
    "pandas": (lambda rng, rows, kind, place: pandas_frame(rng, rows, kind), 4, 1500),
    "polars": (lambda rng, rows, kind, place: pl.from_arrow(arrow(rows, kind)), 4, 1500),
    "arrow": (lambda rng, rows, kind, place: arrow(rows, kind), 12, 1500),
    "CSV file": (csv_file, 4, 1000),
    "Parquet folder": (parquet_folder, 4, 1000),
    "Parquet by DuckDB": (lambda *given: Table(parquet_folder(*given)), 3, 400),
    "Arrow file": (arrow_file, 3, 400),
    "Dask data frame": (dask_frame, 2, 300),
    "Spark data frame": (spark_frame, 2, 30),
    "DuckDB table": (duckdb_table, 3, 400),
    "DuckDB view": (duckdb_view, 3, 400),
    "PostgreSQL table": (postgresql_table, 3, 400),
    "PostgreSQL view": (postgresql_view, 3, 400),
}


class Place:
    """Where files and tables are written."""

    def __init__(self, folder: Any, server: Any) -> None:
        self._folder, self._count, self._server = folder, 0, server
        if server is not None:
            self.schema = server.new_schema()
            self.url = server.url(self.schema, password=False)

    def file(self, suffix: str) -> Any:
        self._count += 1
        return self._folder / f"{self._count}.{suffix}"

    def stored(self, table: Any) -> Any:
        path = self.file("duckdb")
        with duckdb.connect(str(path)) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
            connection.execute("CREATE TABLE k AS SELECT DISTINCT who AS w FROM t")  # a join whose order nobody knows
            connection.execute("CREATE VIEW v AS SELECT t.* FROM t JOIN k ON t.who IS NOT DISTINCT FROM k.w")
        return path

    def postgresql(self, rows: list[Row], kind: str) -> str:
        self._count += 1
        name = f"t{self._count}"
        who = "text" if kind == "text" else "int8"
        with self._server.connect(self.schema) as connection:
            connection.execute(f"CREATE TABLE {name} (who {who}, x float8, y float8, day date, ward text)")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as sink:
                for row in rows:
                    sink.write_row(row)
            connection.execute(f"CREATE TABLE {name}k AS SELECT DISTINCT who AS w FROM {name}")
            join = f"{name} t JOIN {name}k k ON t.who IS NOT DISTINCT FROM k.w"
            connection.execute(f"CREATE VIEW {name}v AS SELECT t.* FROM {join}")
        return name


@pytest.fixture
def place(request: Any, tmp_path: Any, monkeypatch: Any) -> Iterator[Place]:
    with kept_connections():
        if "PostgreSQL" not in request.node.name:
            yield Place(tmp_path, None)
            return
        running = request.getfixturevalue("server")
        monkeypatch.setenv("PGPASSWORD", running.password)
        yield Place(tmp_path, running)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # PySpark's connections to its JVM
@pytest.mark.parametrize("source", SOURCES)
def test_one_person_moves_a_sum_by_their_own_rows_and_no_others(source: str, place: Place) -> None:
    write, short, long = SOURCES[source]
    pairs = size(short, long)
    rng = np.random.default_rng([22, *source.encode()])
    largest = 0.0
    for _ in range(pairs):
        kind = ["text", "integer"][rng.integers(2)]
        most, order = int(rng.integers(1, 5)), [None, None, "x", "day"][rng.integers(4)]
        other = bool(rng.integers(2))
        schema = Schema(OTHER if other else COLUMNS, unit="who", max_rows=most, unit_type=kind, order=order)
        positive = bool(rng.integers(2))
        sums = []
        *tables, times = neighbours(rng, kind)
        for rows in tables:
            shuffled = [rows[j] for j in rng.permutation(len(rows))]
            data, more = write(rng, shuffled, kind, place), {}
            if isinstance(data, tuple):
                data, more = data
            records = as_records(data, schema=schema, block_rows=int(rng.choice([3, 600])), **more)
            assert records.units == len({name_of(row[0], kind) for row in rows} - {None})
            sums.append(total(records.where("x > 0") if positive else records))
            assert sums[-1].tolist() == ideal(rows, kind, most, order, positive, other).tolist()
        moved = float(np.linalg.norm(sums[0] - sums[1]))
        assert moved <= times * most * LARGEST
        largest = max(largest, moved / (times * most * LARGEST))
    measured(f"rows-{source}", pairs=pairs, largest=largest)


def test_the_test_would_see_a_rule_that_goes_by_arrival(place: Place, monkeypatch: Any) -> None:
    """As it was before: the first rows of a person, in the order in which they come."""

    def first(unit: Any, names: Any, rows: Any, max_rows: int, order: Any) -> Any:
        seen: dict[int, int] = {}
        return np.array([seen.setdefault(one, 0) < max_rows and not seen.update({one: seen[one] + 1}) for one in unit])

    monkeypatch.setattr("discreet.records.row_choice.choose_rows", first)
    with pytest.raises(AssertionError):
        test_one_person_moves_a_sum_by_their_own_rows_and_no_others("arrow", place)
