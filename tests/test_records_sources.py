"""One kernel, every source: the same rows, the same sum, on arrays, tables, Parquet files and Dask collections."""

from __future__ import annotations

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

from discreet.records import Ball, Block, Box, Category, Number, Records, Schema, as_records

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
    return pd.DataFrame(
        {name: list(column) for name, column in table.items()}, index=range(5, 5 + len(next(iter(table.values()))))
    )


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


def numbers(n: int = 1000, d: int = 4, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return {f"c{j}": rng.normal(size=n) * 10.0 ** (j - 1) for j in range(d)}


@pytest.mark.parametrize("space", [Box(-1, [0.2, 1, 5, 100]), Ball(30.0, center=[0, 1, 2, 3])], ids=["box", "ball"])
def test_the_same_kernel_gives_the_same_sum_everywhere(source, space):
    table = numbers()
    records = as_records(source(table), space=space, block_rows=64)
    expected = moments(Block(space.clip(_matrix(table)), None))
    found = records.reduce(moments, size_of_moments(4))
    assert found.dtype == np.float64
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
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


@pytest.mark.parametrize("block_rows", [1, 7, 1000, 4096])
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
        "person": rng.integers(0, 60, n).astype(float),
        "weight": rng.normal(70, 20, n),
    }


MIXED = Schema(
    {"age": Number(17, 90), "grade": Category([3, 2, 1]), "weight": Number(30, 120, missing="fill", fill=70)},
    unit="person",
    max_rows=4,
)


def test_numbers_categories_and_units_are_read_alike_everywhere(source):
    table = mixed()
    table["weight"][::17] = np.nan
    table["age"][5::23] = np.inf
    data = source(table)
    unit = {} if hasattr(data, "columns") or hasattr(data, "column_names") or isinstance(data, str) else {"unit": 2}
    records = as_records(data, schema=MIXED, block_rows=50, **unit)

    seen: dict[float, int] = {}
    x, codes = [], []
    for age, grade, person, weight in _matrix(table):
        seen[person] = seen.get(person, 0) + 1
        if seen[person] <= 4 and math.isfinite(age) and grade <= 3:
            x.append([min(max(age, 17), 90), 70.0 if math.isnan(weight) else min(max(weight, 30), 120)])
            codes.append([3 - grade])
    found = gathered(records)
    assert np.array_equal(found[0], np.array(x))
    assert np.array_equal(found[1], np.array(codes))
    assert found[1].dtype == np.int64
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
    assert not as_records(np.zeros((3, 3)), schema=Schema(filling), unit=0, max_rows=9).complete
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
    table = {"a": [1.0, 2.0, 3.0], "id": ["p", "q", "p"], "b": [4.0, 5.0, 6.0]}
    records = as_records(table_source(table), space=Box(0, 9), unit="id", max_rows=1)
    assert records.columns == ("a", "b")
    assert gathered(records)[0].tolist() == [[1.0, 4.0], [2.0, 5.0]]
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
    n, d = 2_000_000, 8
    for name, rows in (("small", 10_000), ("large", n)):
        table = pa.table({f"c{j}": np.random.default_rng(j).normal(size=rows) for j in range(d)})
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

    data = da.from_array(np.full((8, 2), secret), chunks=(4, 2))
    for unit in ({}, {"unit": 1, "max_rows": 2}):
        with pytest.raises(RuntimeError, match="ValueError on a Dask worker") as error:
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
            with pytest.raises(RuntimeError, match=f"{name} on a Dask worker") as error:
                run()
            assert "secret" not in str(error.value)
            assert error.value.__cause__ is None
            assert error.value.__context__ is None
    array = dd.from_pandas(frame[["a"]], npartitions=2).map_partitions(broken, meta=cast._meta[["a"]]).to_dask_array()
    with pytest.raises(RuntimeError, match="KeyError on a Dask worker"):
        as_records(array, space=Box(0, 9)).rows  # noqa: B018
    assert "secret" not in caplog.text + "".join(capfd.readouterr())


def test_other_processes_can_be_the_workers():
    pytest.importorskip("distributed", reason="distributed is not installed")
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    # In a process of its own: a cluster leaves threads and sockets behind that would warn in some later test.
    code = """
import logging, numpy as np, pandas as pd, dask.dataframe as dd
from distributed import Client
from discreet.records import Box, as_records

def main():
    with Client(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        frame = pd.DataFrame({"a": np.arange(100.0), "id": np.arange(100) % 7})
        data = dd.from_pandas(frame, npartitions=6)
        records = as_records(data, space=Box(0, 50), unit="id", max_rows=3, block_rows=5)
        print(records.reduce(lambda block: block.x.sum(axis=0), 1).tolist(), records.units, records.rows)
        def bad(block):
            raise ValueError(str(block.x))
        try:
            records.reduce(bad, 1)
        except RuntimeError as error:
            print(type(error).__name__)

if __name__ == "__main__":
    main()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.split("\n")[:2] == ["[210.0] 7 100", "RuntimeError"]
    assert "Compute Failed" not in result.stderr
    assert "args:" not in result.stderr  # as Dask logs a task that raises


def test_importing_the_room_is_light():
    code = "import sys, discreet.records; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    heavy = {"pandas", "polars", "pyarrow", "dask", "distributed", "torch", "sklearn", "scipy.optimize", "jax"}
    assert not heavy & set(loaded)
