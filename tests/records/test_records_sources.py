"""One kernel, every source: the same rows, the same sum, on arrays, tables, Parquet files and Dask collections."""

from __future__ import annotations

import datetime
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace, device

from discreet.records import Ball, Block, Box, Category, Date, Number, Records, Schema, as_records
from discreet.records import Table as Stored
from effort import size
from ideal_rows import ideal_rows

Table = dict[str, Any]


def _matrix(table: Table) -> np.ndarray:
    return np.column_stack([np.asarray(column) for column in table.values()])


def _arrow(table: Table) -> Any:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return pa.table({name: pa.array(list(column), from_pandas=True) for name, column in table.items()})


def _parquet(table: Table, tmp_path: Path, rows: int | None = None) -> str:
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    whole = _arrow(table)
    rows = rows or max(len(whole), 1)
    path = Path(tempfile.mkdtemp(dir=tmp_path))
    for part, start in enumerate(range(0, max(len(whole), 1), rows)):
        pq.write_table(whole.slice(start, rows), path / f"part-{part:03}.parquet", row_group_size=max(1, rows // 3))
    return str(path)


def _pandas(table: Table) -> Any:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    columns = {}
    for name, column in table.items():
        cells = list(column)
        gaps = None in cells and all(cell is None or type(cell) is int for cell in cells)
        columns[name] = pd.array(cells, dtype="Int64") if gaps else cells  # of a list pandas would make floats
    return pd.DataFrame(columns, index=range(5, 5 + len(next(iter(table.values())))))


def _polars(table: Table) -> Any:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    return pl.DataFrame({name: pl.Series(list(column), strict=True) for name, column in table.items()})


def _dask_frame(table: Table) -> Any:
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    return dd.from_pandas(_pandas(table).reset_index(drop=True), npartitions=5)


def _dask_array(table: Table) -> Any:
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    matrix = _matrix(table)
    return da.from_array(matrix, chunks=(max(1, len(matrix) // 4), max(1, matrix.shape[1] // 2)))


def _torch(table: Table) -> Any:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.set_num_threads(1)  # small blocks: threads would only wait for each other
    return torch.asarray(_matrix(table))


def _strict(table: Table) -> Any:
    return pytest.importorskip("array_api_strict", reason="array-api-strict is not installed").asarray(_matrix(table))


ARRAYS: dict[str, Callable[..., Any]] = {
    "numpy": lambda table, tmp_path: _matrix(table),
    "numpy, by columns": lambda table, tmp_path: np.asfortranarray(_matrix(table)),
    "torch": lambda table, tmp_path: _torch(table),
    "array-api-strict": lambda table, tmp_path: _strict(table),
    "dask array": lambda table, tmp_path: _dask_array(table),
}
TABLES: dict[str, Callable[..., Any]] = {
    "pandas": lambda table, tmp_path: _pandas(table),
    "polars": lambda table, tmp_path: _polars(table),
    "arrow": lambda table, tmp_path: _arrow(table),
    "parquet file": lambda table, tmp_path: _parquet(table, tmp_path) + "/part-000.parquet",
    "parquet folder": lambda table, tmp_path: _parquet(table, tmp_path, 97),
    "dask data frame": lambda table, tmp_path: _dask_frame(table),
}


def opened(kind: str, table: Table, tmp_path: Path, unit: str, **declared: Any) -> Records:
    """Open a table with a column of units as any kind of data: an array of floats has the units beside it."""
    if kind in TABLES:
        return as_records(TABLES[kind](table, tmp_path), unit=unit, **declared)
    if kind == "dask array":
        da = pytest.importorskip("dask.array", reason="dask is not installed")
        matrix = np.empty((len(table[unit]), len(table)), dtype=object)
        for j, column in enumerate(table.values()):
            matrix[:, j] = list(column)
        return as_records(
            da.from_array(matrix, chunks=(max(1, len(matrix) // 4), 1)), unit=[*table].index(unit), **declared
        )
    rows = {name: column for name, column in table.items() if name != unit}
    return as_records(ARRAYS[kind](rows, tmp_path), unit=list(table[unit]), **declared)


@pytest.fixture(params=[*ARRAYS, *TABLES])
def source(request, tmp_path):
    """Make data of every kind from named columns."""
    return lambda table: {**ARRAYS, **TABLES}[request.param](table, tmp_path)


@pytest.fixture(params=TABLES)
def table_source(request, tmp_path):
    """Make tables of every kind from named columns."""
    return lambda table: TABLES[request.param](table, tmp_path)


def moments(block: Block) -> Any:
    """Return the number of rows, their sum, and the upper triangle of their products."""
    xp = array_namespace(block.x)
    n, d = block.x.shape
    gram = xp.matmul(xp.matrix_transpose(block.x), block.x)
    upper = [j * d + k for j in range(d) for k in range(j, d)]
    place = xp.asarray(upper, dtype=xp.int64, device=device(block.x))
    count = xp.asarray([float(n)], dtype=xp.float64, device=device(block.x))
    return xp.concat([count, xp.sum(block.x, axis=0), xp.take(xp.reshape(gram, (-1,)), place)])


def size_of_moments(d: int) -> int:
    return 1 + d + d * (d + 1) // 2


def gathered(records: Records) -> tuple[np.ndarray, np.ndarray]:
    """Return all rows that contribute, as NumPy arrays."""
    blocks = [(np.asarray(block.x), np.asarray(block.codes)) for block in records.blocks()]
    d, k = records.dimension, len(records.categories)
    x = np.concatenate([np.zeros((0, d))] + [x for x, _ in blocks])
    return x, np.concatenate([np.zeros((0, k), dtype=np.int64)] + [codes for _, codes in blocks])


def multiset(x: Any, codes: Any) -> np.ndarray:
    """Return rows without their order."""
    rows = np.column_stack([np.asarray(x, dtype=float), np.asarray(codes, dtype=float)])
    return rows[np.lexsort(rows.T[::-1])]


def numbers(n: int = 1000, d: int = 4, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return {f"c{j}": rng.normal(size=n) * 10.0 ** (j - 1) for j in range(d)}


@pytest.mark.parametrize("space", [Box(-1, [0.2, 1, 5, 100]), Ball(30.0, center=[0, 1, 2, 3])], ids=["box", "ball"])
def test_the_same_kernel_gives_the_same_sum_everywhere(source, space):
    table = numbers()
    records = as_records(source(table), space=space, block_rows=64)
    expected = moments(Block(space.clip(_matrix(table)), None))
    result = records.reduce(moments, size_of_moments(4))
    assert result.dtype == np.float64
    assert np.allclose(result, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    rows, ideal = gathered(records)[0], space.clip(_matrix(table))
    if records.kind == "torch array":  # its square root may be off by one rounding more
        assert np.allclose(rows, ideal, rtol=1e-14, atol=1e-14)
    else:
        assert np.array_equal(rows, ideal)
    other_cuts = as_records(source(table), space=space, block_rows=7)
    assert np.array_equal(gathered(other_cuts)[0], rows), "a row is the same floats whatever stands beside it"
    assert records.rows == 1000
    assert records.dimension == 4
    assert records.space == space.for_columns(4)
    assert (records.units, records.max_rows, records.complete) == (None, 1, False)
    assert records.columns == (tuple(table) if records.columns[0] == "c0" else ("x0", "x1", "x2", "x3"))


@pytest.mark.parametrize("block_rows", size([1, 7, 4096], [1, 7, 1000, 4096]))
def test_blocks_are_cut_as_asked_and_can_be_read_again(source, block_rows):
    records = as_records(source(numbers(200)), space=Box(-1, 1), block_rows=block_rows)
    sizes = [block.x.shape[0] for block in records.blocks()]
    assert max(sizes) <= block_rows
    assert sum(sizes) == 200
    assert [block.x.shape[0] for block in records.blocks()] == sizes
    assert np.array_equal(records.reduce(moments, 15), records.reduce(moments, 15))


def mixed(n: int = 500, seed: int = 3) -> Table:
    rng = np.random.default_rng(seed)
    return {
        "age": rng.normal(40, 20, n),
        "grade": rng.integers(1, 5, n).astype(float),
        "person": rng.integers(0, 60, n).tolist(),
        "weight": rng.normal(70, 20, n),
    }


MIXED = Schema(
    {"age": Number(17, 90), "grade": Category([3, 2, 1]), "weight": Number(30, 120, missing="fill", fill=70)},
    unit="person",
    max_rows=4,
)


@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
def test_numbers_categories_and_units_are_read_alike_everywhere(kind, tmp_path):
    table = mixed()
    table["weight"][::17] = np.nan
    table["age"][5::23] = np.inf
    unit = "person"
    records = opened(kind, table, tmp_path, unit, schema=MIXED, block_rows=50)

    declared = [
        (age, weight, math.nan if grade > 3 else 3 - grade)  # the numbers first, then the codes
        for age, grade, _, weight in zip(*table.values(), strict=True)
    ]
    x, codes = [], []
    for kept, (age, weight, code) in zip(ideal_rows([*map(str, table[unit])], declared, 4), declared, strict=True):
        if kept and math.isfinite(age) and code == code:
            x.append([min(max(age, 17), 90), 70.0 if math.isnan(weight) else min(max(weight, 30), 120)])
            codes.append([code])
    result = gathered(records)
    assert np.array_equal(multiset(*result), multiset(x, codes))
    assert result[1].dtype == np.int64
    assert (records.rows, records.units, records.max_rows) == (500, 60, 4)
    assert records.columns == ("age", "weight")
    assert records.category_columns == ("grade",)
    assert records.categories == ((3, 2, 1),)
    assert records.space == Box([17, 30], [90, 120])
    assert np.allclose(records.reduce(moments, 6), moments(Block(np.array(x), None)), rtol=1e-12)


def test_categories_alone_are_rows_too(source):
    records = as_records(
        source({"a": [1.0, 2.0, 5.0], "b": [0.0, 1.0, 1.0]}),
        schema=Schema({"a": Category([1, 2]), "b": Category([False, True])}),
    )
    assert records.dimension == 0
    assert records.space is None
    x, codes = gathered(records)
    assert x.shape == (2, 0)
    assert codes.tolist() == [[0, 0], [1, 1]]


def test_no_rows_sum_to_zero(source):
    records = as_records(source({"a": np.zeros(0), "b": np.zeros(0)}), space=Box(0, 1))
    assert list(records.blocks()) == []
    assert records.reduce(moments, 6).tolist() == [0.0] * 6
    assert records.rows == 0


def test_nobody_contributes_zero(source):
    table = {"a": np.full(30, np.nan), "b": np.ones(30)}
    records = as_records(source(table), space=Box(0, 1), block_rows=8)
    assert list(records.blocks()) == []
    assert records.reduce(moments, 6).tolist() == [0.0] * 6
    assert records.rows == 30


def test_missing_numbers_are_filled_with_the_centre(source):
    table = {"a": np.array([0.0, np.nan, np.inf]), "b": np.array([8.0, 7.0, -np.inf])}
    for space, center in ((Box([0, 2], [4, 8]), [2.0, 5.0]), (Ball(100, center=[1, 5]), [1.0, 5.0])):
        records = as_records(source(table), space=space, missing="fill")
        assert records.complete
        assert gathered(records)[0].tolist() == [[0.0, 8.0], [center[0], 7.0], center]


def test_complete_means_that_nothing_can_be_dropped():
    x = np.zeros((3, 2))
    filling = {"a": Number(0, 1, missing="fill", fill=0), "b": Category([0, 1], missing="fill", fill=0)}
    assert as_records(x, schema=Schema(filling)).complete
    assert not as_records(x, schema=Schema({**filling, "a": Number(0, 1)})).complete
    assert not as_records(x, schema=Schema({**filling, "b": Category([0, 1])})).complete
    assert not as_records(x, schema=Schema(filling), unit=[1, 2, 3], max_rows=9).complete
    assert as_records(x, space=Box(0, 1), missing="fill").complete
    assert not as_records(x, space=Box(0, 1)).complete


def test_the_representation_tells_no_number_of_rows(source):
    shown = [repr(as_records(source(numbers(n)), space=Box(0, 1))) for n in (123, 45)]
    assert shown[0] == shown[1]
    assert "space=Box(low=(0.0, 0.0, 0.0, 0.0)" in shown[0]
    assert "columns=(" in shown[0]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "float32", "longdouble", "object", "U32", "S32"]
)
def test_an_array_of_any_type_of_number_is_read(dtype):
    values = np.array([[0, 1], [1, 1], [1, 0]])
    x = gathered(as_records(values.astype(dtype), space=Box(-9, 9)))[0]
    assert np.array_equal(x, values)


def test_a_masked_cell_is_missing():
    for dtype in (float, int, object):
        data = np.ma.masked_array(np.array([[1, 2], [3, 4]], dtype=dtype), mask=[[False, True], [False, False]])
        assert gathered(as_records(data, space=Box(0, 9)))[0].tolist() == [[3.0, 4.0]]


def test_a_tensor_with_a_gradient_is_read():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    data = torch.ones((3, 2), dtype=torch.float32, requires_grad=True)
    assert as_records(data, space=Box(0, 2)).reduce(moments, 6).tolist() == [3.0] * 6


def test_columns_that_are_not_declared_are_not_read(table_source):
    table = {"text": ["x", "y"], "b": [1.0, 2.0], "a": [3.0, 4.0]}
    x, _ = gathered(as_records(table_source(table), schema=Schema({"a": Number(0, 9), "b": Number(0, 9)})))
    assert x.tolist() == [[3.0, 1.0], [4.0, 2.0]]


def test_a_space_is_for_all_columns_but_the_units(table_source):
    table = {"a": [3.0, 2.0, 1.0], "id": ["p", "q", "p"], "b": [6.0, 5.0, 4.0]}
    records = as_records(table_source(table), space=Box(0, 9), unit="id", max_rows=1, order="b")
    assert records.columns == ("a", "b")
    assert multiset(*gathered(records)).tolist() == [[1.0, 4.0], [2.0, 5.0]]
    assert records.units == 2


def test_records_are_records_already():
    records = as_records(np.zeros((2, 2)), space=Box(0, 1))
    assert as_records(records) is records
    with pytest.raises(ValueError, match="leave the other arguments out"):
        as_records(records, space=Box(0, 1))


def test_files_with_other_types_or_orders_of_columns_are_one_table(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "below").mkdir()
    pq.write_table(pa.table({"a": [1, 2], "s": ["x", "y"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"s": ["y"], "a": [2.5]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["3", "what?"], "s": ["y", "x"]}), tmp_path / "below" / "2.parquet")
    records = as_records(tmp_path, schema=Schema({"a": Number(0, 9), "s": Category(["x", "y"])}))
    x, codes = gathered(records)
    assert x[:, 0].tolist() == [1.0, 2.0, 2.5, 3.0]
    assert codes[:, 0].tolist() == [0, 1, 1, 1]
    assert records.rows == 5


def test_parquet_is_not_read_whole(tmp_path):
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of memory is read from /proc, which this system does not have")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n, d = size(1_250_000, 2_000_000), 8
    for name, rows in (("small", 10_000), ("large", n)):
        table = pa.table(dict.fromkeys([f"c{j}" for j in range(d)], np.random.default_rng(0).normal(size=rows)))
        # One row group: the worst case.
        pq.write_table(table, tmp_path / name, row_group_size=n, compression="none", use_dictionary=False)
    code = f"""
import re
from pathlib import Path
from discreet.records import Box, as_records

peaks = []
for name in ("small", "large"):
    records = as_records(Path({str(tmp_path)!r}) / name, space=Box(-1, 1))
    records.reduce(lambda block: block.x.sum(axis=0), {d})
    peaks.append(int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]))
print(peaks[1] - peaks[0])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(result.stdout) * 1024 < (tmp_path / "large").stat().st_size / 2


def test_a_worker_that_fails_tells_no_row(caplog, capfd):
    da = pytest.importorskip("dask.array")
    secret = 123456.789

    def kernel(block: Block) -> Any:
        raise ValueError(f"this shows {float(block.x[0, 0])}")

    cells = np.full((8, 2), secret, dtype=object)
    cells[:, 1] = "p"
    for data, unit in (
        (da.from_array(np.full((8, 2), secret), chunks=(4, 2)), {}),
        (da.from_array(cells, chunks=(4, 2)), {"unit": 1, "max_rows": 2}),
    ):
        with pytest.raises(RuntimeError, match="Dask failed with the error ValueError") as error:
            as_records(data, space=Box(0, 1e6), **unit).reduce(kernel, 1)
        assert "123456" not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.__context__ is None
    assert "123456" not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.parametrize("unit", [{}, {"unit": "id", "max_rows": 1}], ids=["rows", "units"])
def test_a_collection_that_fails_tells_no_row(unit, caplog, capfd):
    """Its own tasks, a cast for example, raise with the cell in the text."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": ["1", "2", "secret-name"], "id": ["p", "q", "r"]})
    cast = dd.from_pandas(frame, npartitions=2).astype({"a": "float64"})

    def broken(part: Any) -> Any:
        raise KeyError(part["a"].iloc[-1])

    mapped = dd.from_pandas(frame, npartitions=2).map_partitions(broken, meta=cast._meta)
    for data, name in ((cast, "ValueError"), (mapped, "KeyError")):
        records = as_records(data, schema=Schema({"a": Number(0, 9)}), **unit)
        passes: list[Callable[[], Any]] = [lambda: records.reduce(moments, 3), lambda: list(records.blocks())]  # noqa: B023
        if unit:
            passes.append(lambda: records.units)  # noqa: B023
        if data is mapped:
            passes.append(lambda: records.rows)  # noqa: B023
        for run in passes:
            with pytest.raises(RuntimeError, match=f"Dask failed with the error {name}") as error:
                run()
            assert "secret" not in str(error.value)
            assert error.value.__cause__ is None
            assert error.value.__context__ is None
    array = dd.from_pandas(frame[["a"]], npartitions=2).map_partitions(broken, meta=cast._meta[["a"]]).to_dask_array()
    with pytest.raises(RuntimeError, match="Dask failed with the error KeyError"):
        as_records(array, space=Box(0, 9)).rows  # noqa: B018
    assert "secret" not in caplog.text + "".join(capfd.readouterr())


# Dates and logarithms.

DAYS = ["2023-01-31", "2020-02-29", None, "1969-12-31", "1960-01-01", "2199-12-31", "2023-01-31", "2025-06-01"]
DATED = Schema({"when": Date("1965-01-01", "2169-11-13"), "a": Number(0, 99)})
DAY_NUMBERS = [19388.0, 18321.0, -1.0, -1826.0, 73000.0, 19388.0, 20240.0]  # two of them are clipped


def as_dates() -> list[Any]:
    return [None if day is None else datetime.date.fromisoformat(day) for day in DAYS]


def as_moments(hour: int = 23, zone: Any = None) -> list[Any]:
    """Return late hours of these days, with a gap, in UTC or, with a zone, as that zone's clocks show them."""
    late = [None if day is None else datetime.datetime.fromisoformat(day) for day in DAYS]
    moments = [
        None if one is None else one.replace(hour=hour, minute=59, second=59, microsecond=999_999) for one in late
    ]
    if zone is None:
        return moments
    return [None if one is None else one.replace(tzinfo=datetime.UTC).astimezone(zone) for one in moments]


def _dated() -> dict[str, Callable[[Path], Any]]:
    """Return ways to hold the same days."""
    east = datetime.timezone(datetime.timedelta(hours=9))
    beside = {"a": [float(j) for j in range(len(DAYS))], "who": ["p"] * len(DAYS)}

    def pandas(column: Callable[[Any], Any]) -> Callable[[Path], Any]:
        def make(tmp_path: Path) -> Any:
            pd = pytest.importorskip("pandas", reason="pandas is not installed")
            return pd.DataFrame({"when": column(pd), **beside})

        return make

    def polars(column: Callable[[Any], Any]) -> Callable[[Path], Any]:
        def make(tmp_path: Path) -> Any:
            pl = pytest.importorskip("polars", reason="polars is not installed")
            return pl.DataFrame({"when": column(pl), **beside})

        return make

    def arrow(column: Callable[[Any], Any]) -> Callable[[Path], Any]:
        def make(tmp_path: Path) -> Any:
            pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
            return pa.table({"when": column(pa), **beside})

        return make

    def parquet(column: Callable[[Any], Any]) -> Callable[[Path], Any]:
        def make(tmp_path: Path) -> Any:
            pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
            pq.write_table(arrow(column)(tmp_path), tmp_path / "t.parquet", row_group_size=3)
            return tmp_path / "t.parquet"

        return make

    def text(cells: list[Any]) -> list[Any]:
        return [None if cell is None else cell.isoformat(sep=" ") for cell in cells]

    def csv(cells: list[Any]) -> Callable[[Path], Any]:
        def make(tmp_path: Path) -> Any:
            pytest.importorskip("pyarrow", reason="pyarrow is not installed")
            lines = [f"{'' if cell is None else cell},{a},p" for cell, a in zip(cells, beside["a"], strict=True)]
            (tmp_path / "t.csv").write_text("\n".join(["when,a,who", *lines, ""]))
            return tmp_path / "t.csv"

        return make

    def dask(tmp_path: Path) -> Any:
        dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
        frame = pandas(lambda pd: pd.Series(as_moments()).astype("M8[us]"))(tmp_path)
        return dd.from_pandas(frame, npartitions=3)

    def objects(tmp_path: Path) -> Any:
        return np.array([[*row] for row in zip(as_moments(0, east), *beside.values(), strict=True)], dtype=object)

    return {
        "pandas, ns": pandas(lambda pd: pd.Series(as_moments()).astype("M8[ns]")),
        "pandas, us": pandas(lambda pd: pd.Series(as_moments()).astype("M8[us]")),
        "pandas, s": pandas(lambda pd: pd.Series(as_moments()).astype("M8[s]")),
        "pandas, zone": pandas(lambda pd: pd.Series(as_moments()).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        "pandas, west": pandas(
            lambda pd: pd.Series(as_moments(0)).dt.tz_localize("UTC").dt.tz_convert("America/New_York")
        ),
        "pandas, dates": pandas(lambda pd: pd.Series(as_dates(), dtype=object)),
        "pandas, moments with a zone": pandas(lambda pd: pd.Series(as_moments(23, east), dtype=object)),
        "pandas, stamps": pandas(lambda pd: pd.Series([pd.Timestamp(one) for one in as_moments()], dtype=object)),
        "pandas, text": pandas(lambda pd: pd.Series(DAYS)),
        "pandas, text of moments": pandas(lambda pd: pd.Series(text(as_moments(23, east)), dtype=object)),
        "pandas, categories": pandas(lambda pd: pd.Series(DAYS).astype("category")),
        "polars, dates": polars(lambda pl: pl.Series(as_dates())),
        "polars, us": polars(lambda pl: pl.Series(as_moments())),
        "polars, ms": polars(lambda pl: pl.Series(as_moments()).cast(pl.Datetime("ms"))),
        "polars, zone": polars(
            lambda pl: pl.Series(as_moments()).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
        ),
        "polars, text": polars(lambda pl: pl.Series(DAYS)),
        "arrow, date32": arrow(lambda pa: pa.array(as_dates(), pa.date32())),
        "arrow, date64": arrow(lambda pa: pa.array(as_dates(), pa.date64())),
        "arrow, ns": arrow(lambda pa: pa.array(as_moments(), pa.timestamp("ns"))),
        "arrow, zone": arrow(lambda pa: pa.array(as_moments(23, east), pa.timestamp("us", "Asia/Tokyo"))),
        "arrow, dictionary": arrow(lambda pa: pa.array(DAYS).dictionary_encode()),
        "parquet, date32": parquet(lambda pa: pa.array(as_dates(), pa.date32())),
        "parquet, us": parquet(lambda pa: pa.array(as_moments(), pa.timestamp("us"))),
        "parquet, zone": parquet(lambda pa: pa.array(as_moments(23, east), pa.timestamp("us", "Asia/Tokyo"))),
        "parquet, text": parquet(lambda pa: pa.array(DAYS)),
        "parquet, by DuckDB": lambda tmp_path: Stored(
            parquet(lambda pa: pa.array(as_moments(), pa.timestamp("us")))(tmp_path)
        ),
        "csv": csv(DAYS),
        "csv of moments": csv(text(as_moments(0, east))),
        "dask data frame": dask,
        "numpy, objects": objects,
        "numpy, text": lambda tmp_path: np.array(
            [[*map(str, row)] for row in zip(DAYS, *beside.values(), strict=True)]
        ),
    }


DATES = _dated()


@pytest.mark.parametrize("kind", DATES)
def test_a_day_is_the_same_number_everywhere(kind, tmp_path):
    if kind == "parquet, by DuckDB":
        pytest.importorskip("duckdb", reason="duckdb is not installed")
    data = DATES[kind](tmp_path)
    whole = data[:, :2] if isinstance(data, np.ndarray) else data
    records = as_records(whole, schema=DATED)
    assert records.scales == ("date", "linear")
    assert records.space == Box([-1826, 0], [73000, 99])
    x, _ = gathered(records)
    assert x[:, 0].tolist() == DAY_NUMBERS
    assert x[:, 1].tolist() == [0.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    filling = Schema({"when": Date("1965-01-01", "2169-11-13", missing="fill", fill="1970-01-03"), "a": Number(0, 99)})
    filled = as_records(whole, schema=filling)
    assert gathered(filled)[0][:, 0].tolist() == [*DAY_NUMBERS[:2], 2.0, *DAY_NUMBERS[2:]]
    assert records.where("when >= '2023-01-31'").reduce(moments, 6)[0] == 4.0

    unit = 2 if isinstance(data, np.ndarray) else "who"
    for most, first in ((3, [1.0, 3.0, 4.0]), (7, [0.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0])):
        early = as_records(data, schema=filling, unit=unit, max_rows=most, order="when")  # the gap is the last one
        assert sorted(gathered(early)[0][:, 1].tolist()) == first


INCOMES = [1.0, 2.5, 1000.0, 1e6, 0.5, 1e9, -3.0, 0.0, math.nan, 123.456]


@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
def test_a_logarithm_is_the_same_number_everywhere(kind, tmp_path):
    table = {"income": np.array(INCOMES), "age": np.arange(10.0)}
    schema = Schema({"income": Number(1, 1e6, log=True), "age": Number(0, 99)})
    records = as_records({**ARRAYS, **TABLES}[kind](table, tmp_path), schema=schema, block_rows=4)
    assert records.scales == ("log", "linear")
    assert records.space == Box([0.0, 0.0], [math.log(1e6), 99.0])
    x, _ = gathered(records)
    clipped = [min(max(one, 1.0), 1e6) for one in INCOMES if not math.isnan(one)]
    expected = np.column_stack([np.log(clipped), [age for age in range(10) if age != 8]])
    assert np.array_equal(x, expected) if "torch" not in kind else np.allclose(x, expected, rtol=1e-15)
    assert (x[:, 0] <= records.space.high[0]).all()
    assert (x[:, 0] >= 0.0).all()
    # A condition is in the data's own units.
    assert records.where("income > 999 and income <= 1000000").reduce(moments, 6)[0] == 3.0
    filling = Schema({"income": Number(1, 1e6, missing="fill", fill=1000, log=True), "age": Number(0, 99)})
    filled = gathered(as_records({**ARRAYS, **TABLES}[kind](table, tmp_path), schema=filling))[0]
    assert filled[8, 0] == pytest.approx(math.log(1000.0), rel=1e-15)


def test_importing_the_room_is_light():
    code = "import sys, discreet.records; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    heavy = {"pandas", "polars", "pyarrow", "dask", "distributed", "torch", "sklearn", "scipy.optimize", "jax"}
    assert not heavy & set(loaded)


@pytest.mark.parametrize("name", ["max_rows", "space", "complete", "float_error", "unit", "_source"])
def test_what_was_declared_cannot_be_set_afterwards(name):
    records = as_records(np.zeros((3, 2)), space=Box(0, 1))
    with pytest.raises(AttributeError, match="do not change"):
        setattr(records, name, None)
