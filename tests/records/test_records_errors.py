"""What is refused when records are made: by names, types and shapes, never by a value."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from test_records_sources import MIXED, TABLES, moments

from discreet.records import Box, Category, Date, Number, Schema, as_records


@pytest.fixture(params=TABLES)
def table_source(request, tmp_path):
    """Make tables of every kind from named columns."""
    return lambda table: TABLES[request.param](table, tmp_path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: as_records(np.zeros((2, 2))), ["neither space nor schema", "write for example", "Box(", "Schema("]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), schema=MIXED), ["both space and schema"]),
        (lambda: as_records(np.zeros((2, 2)), space=(0, 1)), ["space=(0, 1)", "Box or a Ball"]),
        (lambda: as_records(np.zeros((2, 2)), schema={"a": 1}), ["schema={'a': 1}", "Schema.from_toml"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, [1, 2, 3])), ["high has 3 values", "2 columns"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), missing="mean"), ["missing='mean'", "'drop', 'fill'"]),
        (lambda: as_records(np.zeros((2, 3)), schema=MIXED, missing="fill"), ["missing='fill'", "Number("]),
        (lambda: as_records(np.zeros((2, 3)), schema=MIXED), ["unit='person'", "unit=0"]),
        (lambda: as_records(np.zeros((2, 3)), schema=MIXED, unit=1), ["2 columns to read, the schema 3"]),
        (lambda: as_records(np.zeros((2, 3)), schema=MIXED, unit="name"), ["unit='name'", "schema has 'person'"]),
        (lambda: as_records(np.zeros((2, 3)), schema=MIXED, max_rows=5), ["max_rows=5", "schema has 4"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), unit=0), ["max_rows=None", "max_rows=10"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), unit=0, max_rows=1), ["names of units", "unit=ids"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), order="x0"), ["order='x0' without a unit"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), unit_type="text"), ["unit_type='text' without a unit"]),
        (
            lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), unit=[1, 2], max_rows=1, order="x2"),
            ["order='x2'", "one of 'x0', 'x1'"],
        ),
        (
            lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), unit=[1, 2], max_rows=1, unit_type="float"),
            ["unit_type='float'", "'text', 'integer'"],
        ),
        (
            lambda: as_records(np.zeros((2, 3)), schema=MIXED, unit=[1, 2], order="grade"),
            ["order='grade'", "one of 'age', 'weight'"],
        ),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), max_rows=3), ["max_rows=3 without a unit"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), unit=2, max_rows=3), ["unit=2", "at most 1"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), unit=[1], max_rows=3), ["one unit for each row"]),
        (lambda: as_records(np.zeros((2, 1)), space=Box(0, 1), unit=0, max_rows=3), ["no column beside the unit's"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1), block_rows=0), ["block_rows=0", "at least 1"]),
        (lambda: as_records(np.zeros(2), space=Box(0, 1)), ["1 dimensions", "data.reshape(-1, 1)"]),
        (lambda: as_records(np.zeros((2, 0)), space=Box(0, 1)), ["0 columns"]),
        (lambda: as_records(np.zeros((2, 2), dtype=complex), space=Box(0, 1)), ["complex128", "astype('float64')"]),
        (lambda: Schema(np.array(1.0)), ["columns=array(1.)", "expected a mapping of names"]),
        (lambda: Number(0, np.complex64(1j)), ["high=", "finite numbers", "Number(0, 120)"]),
        (lambda: Number(0, 1, missing="fill", fill=np.complex64(0.5)), ["fill=", "expected a number from"]),
        (lambda: as_records(np.zeros((2, 2), dtype="M8[s]"), space=Box(0, 1)), ["datetime64", "expected numbers"]),
        (lambda: as_records([[0.0, 1.0]], space=Box(0, 1)), ["type list", "numpy.asarray(data)"]),
        (lambda: as_records(7, space=Box(0, 1)), ["type int", "expected an array"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1)).reduce(moments, 0), ["size=0"]),
        (lambda: as_records(np.zeros((2, 2)), space=Box(0, 1)).reduce(moments, 5), ["size=5", "shape (5,)"]),
        (lambda: as_records(np.zeros((2, 3)), schema=MIXED, max_rows=np.int64(5)), ["max_rows=5", "schema has 4"]),
        (lambda: as_records(np.zeros((2, 3)), schema=MIXED, unit=np.str_("name")), ["'name'", "schema has 'person'"]),
    ],
)
def test_an_error_says_what_to_write(make, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        make()
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("first", ["c11456,car,32215.0", "smith,anna,oslo"])
def test_a_file_without_names_shows_no_row(first, tmp_path):
    (tmp_path / "t.csv").write_text(f"{first}\nc2,car,1.0\n")
    schema = Schema({"age": Number(0, 1), "income": Number(0, 9)})
    with pytest.raises(ValueError, match="'age' is not in the data: its first line may be a row") as error:
        as_records(tmp_path / "t.csv", schema=schema)
    assert not any(cell in str(error.value) for cell in first.split(","))


def test_a_column_that_is_not_there_is_named(table_source):
    data = table_source({"age": [1.0], "sex": ["f"]})
    with pytest.raises(ValueError, match="'weight' is not in the data: expected one of 'age', 'sex'"):
        as_records(data, schema=Schema({"age": Number(0, 1), "weight": Number(0, 1)}))
    with pytest.raises(ValueError, match="'who' is not in the data"):
        as_records(data, schema=Schema({"age": Number(0, 1)}), unit="who", max_rows=1)
    with pytest.raises(ValueError, match="name of a column"):
        as_records(data, schema=Schema({"age": Number(0, 1)}), unit=0, max_rows=1)


def test_a_column_that_is_there_twice_is_named():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    data = pd.DataFrame([[1.0, 2.0]], columns=["age", "age"])
    with pytest.raises(ValueError, match="'age' is there twice"):
        as_records(data, schema=Schema({"age": Number(0, 1)}))
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(ValueError, match="'age' is there twice"):
        as_records(pa.table([[1.0], [2.0]], names=["age", "age"]), schema=Schema({"age": Number(0, 1)}))


def test_a_type_that_a_typed_table_states_is_checked_at_once(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"day": pa.array([0], type=pa.date32()), "list": [[1.0]], "one": [1]})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet"):
        with pytest.raises(ValueError, match="'day' has the type Date: expected numbers; declare it as Date\\("):
            as_records(data, schema=Schema({"day": Number(0, 1)}))
        with pytest.raises(ValueError, match=r"'one' has the type .*: expected dates; write it as dates"):
            as_records(data, schema=Schema({"one": Date("2020-01-01", "2021-01-01")}))
        with pytest.raises(ValueError, match=r"'list' has the type List.*expected text"):
            as_records(data, schema=Schema({"list": Category(["a"])}))


def test_an_error_about_a_kernel_does_not_tell_how_many_rows_contribute():
    with pytest.raises(ValueError, match="size=1") as error:
        as_records(np.array([[1.0], [2.0], [np.nan]] * 7), space=Box(0, 9)).reduce(lambda block: block.x[:, 0], 1)
    assert "14" not in str(error.value)


def _unreadable() -> dict[str, object]:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    return {
        "list": pa.array([[1.0]]),
        "list_view": pa.array([[1]], pa.list_view(pa.int64())),
        "struct": pa.array([{"q": 1}]),
        "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        "interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        "dictionary of lists": pa.DictionaryArray.from_arrays([0], pa.array([[1]])),
        "union": union,
    }


def _guessed() -> dict[str, object]:
    """Return types that hold no number and no name, though their cells are no lists."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return {
        "date64": pa.array([0], pa.date64()),
        "time32": pa.array([0], pa.time32("s")),
        "timestamp": pa.array([0], pa.timestamp("us")),
        "binary": pa.array([b"a"]),
        "large_binary": pa.array([b"a"], pa.large_binary()),
        "binary_view": pa.array([b"a"], pa.binary_view()),
        "fixed_size_binary": pa.array([b"0123456789abcdef"], pa.binary(16)),
    }


@pytest.mark.parametrize("kind", ["arrow", "parquet", "pandas", "dask data frame"])
def test_a_column_that_cannot_be_read_is_refused_at_opening(kind, tmp_path):
    """And not dropped row by row: the analyst would see an answer about nobody."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    roles = {
        "number": {"schema": Schema({"a": Number(0, 1)})},
        "category": {"schema": Schema({"a": Category(["a"])})},
        "unit": {"schema": Schema({"b": Number(0, 1)}), "unit": "a", "max_rows": 1},
    }
    for name, column in {**_unreadable(), **_guessed()}.items():
        data = pa.table({"a": column, "b": [1.0]})
        if kind == "parquet":
            if name in ("interval", "union", "dictionary of lists"):
                continue  # which Parquet does not have
            pq.write_table(data, tmp_path / "t.parquet")
            data = tmp_path / "t.parquet"
        elif kind != "arrow":
            pd = pytest.importorskip("pandas", reason="pandas is not installed")
            if name == "union":
                continue  # which pandas does not have
            data = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(column), "b": [1.0]})
            if kind == "dask data frame":
                if name in ("list_view", "interval", "binary_view"):
                    continue  # which Dask does not have
                dask = pytest.importorskip("dask", reason="dask is not installed")
                dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
                data = dd.from_delayed([dask.delayed(data)], meta=data[:0], verify_meta=False)
        for declared in roles.values():
            with pytest.raises(
                ValueError, match=r"'a' has the type .*: expected .*; (convert it first|write |declare it as Date)"
            ):
                as_records(data, **declared)


def test_a_uuid_and_a_whole_decimal_name_a_unit(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    names = {"decimal": pa.array([7, 7, 8], pa.decimal128(38, 0)), "null": pa.nulls(3)}
    if hasattr(pa, "uuid"):
        uuids = pa.array([b"0123456789abcdef"] * 2 + [b"fedcba9876543210"], pa.binary(16))
        names["uuid"] = pa.ExtensionArray.from_storage(pa.uuid(), uuids)
    for name, column in names.items():
        data = pa.table({"a": column, "b": [1.0, 2.0, 3.0]})
        records = as_records(data, schema=Schema({"b": Number(0, 9)}), unit="a", max_rows=1, order="b")
        assert records.units == (0 if name == "null" else 2)
        assert records.reduce(lambda block: block.x.sum(axis=0), 1).tolist() == [0.0 if name == "null" else 4.0]
    data = pa.table({"a": pa.array([7], pa.decimal128(38, 2)), "b": [1.0]})
    with pytest.raises(ValueError, match=r"'a' has the type Decimal.*: expected names of units"):
        as_records(data, schema=Schema({"b": Number(0, 9)}), unit="a", max_rows=1)


def test_complex_columns_of_pandas_are_refused():
    """And not read as what is left of them."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    data = pd.DataFrame({"a": [1j, 2.0], "b": [1.0, 2.0], "c": [1, 2]})
    for declared in (Number(0, 1), Date("2020-01-01", "2021-01-01"), Category(["a"])):
        with pytest.raises(
            ValueError, match=r"'a' has the type .*: expected .*; (convert it first|write |declare it as Date)"
        ):
            as_records(data, schema=Schema({"a": declared}))
    with pytest.raises(ValueError, match=r"'a' has the type .*: expected names of units"):
        as_records(data, schema=Schema({"b": Number(0, 1)}), unit="a", max_rows=1)
    assert as_records(data, schema=Schema({"b": Number(0, 1)}), unit="c", max_rows=1).units == 2


def test_a_nested_polars_column_names_no_unit():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    others = (
        pl.Float64,
        pl.Boolean,
        pl.Date,
        pl.Datetime("us"),
        pl.Duration("us"),
        pl.Time,
        pl.Binary,
        pl.Decimal(9, 2),
    )
    for dtype in (pl.List(pl.Int64), pl.Array(pl.Int64, 1), pl.Struct({"q": pl.Int64}), *others):
        frame = pl.DataFrame({"a": pl.Series([None], dtype=dtype), "b": [1.0]})
        with pytest.raises(ValueError, match=r"'a' has the type .*: expected names of units"):
            as_records(frame, schema=Schema({"b": Number(0, 1)}), unit="a", max_rows=1)


def test_files_that_type_the_unit_differently_are_one_table_of_names(tmp_path):
    """Text and whole numbers go together, since a name is read in one way; a file of anything else is refused."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    schema = Schema({"v": Number(0, 9)}, unit="p", max_rows=1)

    def opened(first: object, second: object) -> object:
        for j, ids in enumerate((first, second)):
            pq.write_table(pa.table({"p": ids, "v": [5.0]}), tmp_path / f"{j}.parquet")
        return as_records(tmp_path, schema=schema)

    for other in (pa.array([0.1]), pa.array([1], pa.timestamp("us")), pa.array([True]), pa.array([b"7"])):
        for pair in ((pa.array(["7"]), other), (other, pa.array([7]))):
            with pytest.raises(ValueError, match=r"'p' has the type .*: expected names of units"):
                opened(*pair)
    for other in (pa.array(["7"], pa.large_string()), pa.array(["7"]).dictionary_encode(), pa.array([7], pa.uint8())):
        for first in (pa.array(["7"]), pa.array([7])):
            records = opened(first, other)
            assert records.units == 1
            assert records.reduce(lambda block: block.x.sum(axis=0), 1).tolist() == [5.0]


def test_a_dask_array_of_sparse_matrices_is_refused():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    data = da.from_array(np.eye(3), chunks=2).map_blocks(sparse.csr_matrix)
    with pytest.raises(ValueError, match=r"chunks of type csr_matrix: expected arrays; .*toarray\(\)"):
        as_records(data, space=Box(0, 1))


def test_units_of_dask_beside_an_array_are_refused():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    with pytest.raises(ValueError, match=r"write unit\.compute\(\)"):
        as_records(np.zeros((2, 1)), space=Box(0, 1), unit=da.from_array(np.arange(2)), max_rows=1)


def test_a_lazy_frame_and_a_column_are_refused():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"a": [1.0]})
    for data in (frame.lazy(), frame["a"]):
        with pytest.raises(ValueError, match=r"data\.collect\(\)"):
            as_records(data, space=Box(0, 1))


def test_files_that_are_not_there_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        as_records(tmp_path / "none.parquet", space=Box(0, 1))
    with pytest.raises(ValueError, match=r"\*\.parquet"):
        as_records(tmp_path, space=Box(0, 1))
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"b": [1.0]}), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match="'a' is not in every file"):
        as_records(tmp_path, space=Box(0, 1))


def test_a_library_that_is_absent_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "a.parquet").touch()
    with pytest.raises(ImportError, match=r"pip install 'discreet\[sql\]'"):
        as_records(tmp_path, space=Box(0, 1))
