"""Odd values change nothing but their own row: no error, no warning, no log line, the same bits everywhere else."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest
from test_records_sources import ARRAYS, TABLES, gathered, moments

from discreet.records import Ball, Box, Category, Date, Number, Schema, as_records

N = 240
POISONED = {5: 0, 17: 1, 18: 2, 100: 0, 101: 1, 102: 2, 239: 0}  # row: which of the three columns
SCHEMAS = {
    "drop": Schema({"a": Number(-2, 2), "b": Number(-2, 2), "c": Category(["u", "v"])}),
    "fill": Schema(
        {
            "a": Number(-2, 2, missing="fill", fill=0.25),
            "b": Number(-2, 2, missing="fill", fill=-1.5),
            "c": Category(["u", "v"], missing="fill", fill="v"),
        }
    ),
}
CHOICES = np.array(["u", "v"])


def clean() -> dict[str, list]:
    rng = np.random.default_rng(0)
    return {
        "a": rng.normal(size=N).tolist(),
        "b": rng.normal(size=N).tolist(),
        "c": CHOICES[rng.integers(0, 2, N)].tolist(),
    }


def expected(missing: str) -> tuple[np.ndarray, np.ndarray]:
    table = clean()
    x = np.clip(np.column_stack([table["a"], table["b"]]), -2, 2)
    codes = np.array([[0 if value == "u" else 1] for value in table["c"]])
    for row, column in POISONED.items():
        if column < 2:
            x[row, column] = (0.25, -1.5)[column]
        else:
            codes[row] = 1
    keep = np.ones(N, dtype=bool)
    if missing == "drop":
        keep[list(POISONED)] = False
    return x[keep], codes[keep]


def poisoned(number: object, label: object, *, as_text: bool) -> dict[str, list]:
    table = clean()
    if as_text:
        table = {name: [str(value) for value in column] for name, column in table.items()}
    for row, column in POISONED.items():
        table["abc"[column]][row] = label if column == 2 else number
    return table


class Strange:
    def __fail(self, *_):
        raise RuntimeError("secret")

    __eq__ = __ne__ = __float__ = __hash__ = __bool__ = __str__ = __repr__ = __int__ = __fail


# What a column may hold; text is for typed tables, where one odd row has made the reader take all for text.
ODD = {
    "null": (None, None, False),
    "nan": (math.nan, None, False),
    "infinity": (math.inf, "w", False),
    "minus infinity": (-math.inf, "", False),
    "text": ("what?", "U", True),
    "empty text": ("", " u", True),
    "nan as text": ("NaN", "nan", True),
    "infinity as text": ("-inf", "inf", True),
    "huge as text": ("1e999", "1e999", True),
}
ODD_OBJECTS = {
    "text": ("what?", 3.5),
    "date": (datetime.datetime(2020, 1, 1), datetime.date(2020, 1, 1)),
    "not a time": (np.datetime64("NaT"), np.datetime64("NaT")),
    "list": ([1.0], ["u"]),
    "strange": (Strange(), Strange()),
    "huge": (10**400, 10**400),
    "complex": (1j, 1j),
}


@pytest.fixture
def silent(caplog, capfd):
    """Fail if anything was printed or logged; warnings are errors already."""
    caplog.set_level(0)
    yield
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("missing", SCHEMAS)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", TABLES)
def test_an_odd_value_changes_its_own_row_only(kind, odd, missing, tmp_path, silent):
    number, label, as_text = ODD[odd]
    data = TABLES[kind](poisoned(number, label, as_text=as_text), tmp_path)
    records = as_records(data, schema=SCHEMAS[missing], block_rows=32)
    x, codes = gathered(records)
    assert np.array_equal(x, expected(missing)[0])
    assert np.array_equal(codes, expected(missing)[1])
    assert records.rows == N
    assert records.complete == (missing == "fill")
    assert records.reduce(moments, 6).shape == (6,)


@pytest.mark.parametrize("missing", SCHEMAS)
@pytest.mark.parametrize("odd", ODD_OBJECTS)
@pytest.mark.parametrize("kind", ["pandas", "numpy", "dask data frame"])
def test_an_odd_object_changes_its_own_row_only(kind, odd, missing, silent):
    number, label = ODD_OBJECTS[odd]
    table = poisoned(number, label, as_text=False)
    if kind == "numpy":
        data = np.empty((N, 3), dtype=object)
        for j, column in enumerate(table.values()):
            for i, value in enumerate(column):
                data[i, j] = value
    else:
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        data = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in table.items()})
        if kind == "dask data frame":
            dask = pytest.importorskip("dask", reason="dask is not installed")
            dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
            with dask.config.set({"dataframe.convert-string": False}):
                data = dd.from_delayed(
                    [dask.delayed(data[:100]), dask.delayed(data[100:])], meta=data[:0], verify_meta=False
                )
    records = as_records(data, schema=SCHEMAS[missing], block_rows=32)
    x, codes = gathered(records)
    assert np.array_equal(x, expected(missing)[0])
    assert np.array_equal(codes, expected(missing)[1])


@pytest.mark.parametrize("space", [Box(-2, 2), Ball(2)], ids=["box", "ball"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
def test_a_number_that_is_none_changes_its_own_row_only(kind, value, space, tmp_path, silent):
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=N) for name in "abc"}
    whole = as_records({**ARRAYS, **TABLES}[kind](table, tmp_path), space=space, block_rows=32)
    rows = gathered(whole)[0]
    for row, column in POISONED.items():
        table["abc"[column]][row] = value
    records = as_records({**ARRAYS, **TABLES}[kind](table, tmp_path), space=space, block_rows=32)
    assert np.array_equal(gathered(records)[0], np.delete(rows, list(POISONED), axis=0))
    assert records.rows == whole.rows == N


@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
def test_huge_and_tiny_numbers_are_clipped_in_silence(kind, tmp_path, silent):
    values = [1e308, -1e308, 1.7976931348623157e308, 5e-324, -5e-324, 0.0]
    table = {"a": np.array(values), "b": np.array(values[::-1])}
    data = {**ARRAYS, **TABLES}[kind](table, tmp_path)
    box = gathered(as_records(data, space=Box([-1, -1], [1, 2])))[0]
    assert box[:, 0].tolist() == [1.0, -1.0, 1.0, 5e-324, -5e-324, 0.0]
    ball = gathered(as_records(data, space=Ball(1e300)))[0]
    assert np.isfinite(ball).all()
    assert (np.hypot(*(ball / 1e300).T) <= 1.0).all()


def test_an_overflow_in_a_kernel_makes_no_warning(silent):
    records = as_records(np.full((5, 1), 1e200), space=Box(-1e300, 1e300))
    assert records.reduce(lambda block: (block.x**2).sum(axis=0), 1).tolist() == [2.0**33]  # the largest that fits


def test_a_pandas_type_that_holds_no_number_is_refused_to_the_owner(silent):
    """Once, when the table is opened; as objects the same cells are missing, one by one."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    days = pd.DataFrame({"a": [datetime.datetime(2020, 1, 1)] * 3})
    with pytest.raises(ValueError, match=r"'a' has the type Datetime.*: expected numbers; declare it as Date"):
        as_records(days, schema=Schema({"a": Number(0, 1)}))
    records = as_records(days.astype(object), schema=Schema({"a": Number(0, 1)}))
    assert list(records.blocks()) == []
    assert records.rows == 3


def _not_utf8() -> object:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    buffers = pa.py_buffer(np.array([0, 1, 6, 7, 8], np.int32)), pa.py_buffer(b"1Jos\xe9X22")
    return pa.StringArray.from_buffers(4, *buffers)


@pytest.mark.parametrize("kind", ["arrow", "parquet", "pandas", "dictionary"])
def test_text_that_is_not_utf8_is_missing_and_changes_its_own_row_only(kind, tmp_path, silent):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    column = _not_utf8()
    if kind == "dictionary":
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 2]), column)
    data = pa.table({"a": column, "b": [0.1, 0.2, 0.3, 0.4]})
    if kind == "parquet":
        pq.write_table(data, tmp_path / "t.parquet")
        data = tmp_path / "t.parquet"
    elif kind == "pandas":
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        data = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(column), "b": [0.1, 0.2, 0.3, 0.4]})
    assert gathered(as_records(data, schema=Schema({"a": Number(0, 9)})))[0].ravel().tolist() == [1.0, 2.0, 2.0]
    assert gathered(as_records(data, schema=Schema({"a": Category([1, 2])})))[1].ravel().tolist() == [0, 1, 1]
    units = as_records(data, schema=Schema({"b": Number(0, 1)}), unit="a", max_rows=1, order="b")
    assert sorted(gathered(units)[0].ravel().tolist()) == [0.1, 0.3]


def _moments_far_away(kind: str, name: str) -> object:
    """Return a column of five moments: one, a gap, one that Python does not have twice, and the first again."""
    far = {"date32": 2**30, "date64": 2**30, "timestamp[us]": 2**60}.get(name, 2**58 if "us" in name else 2**52)
    counts = [None if n is None else n * (86_400_000 if name == "date64" else 1) for n in (1, None, far, far, 1)]
    if kind == "polars":
        pl = pytest.importorskip("polars", reason="polars is not installed")
        dtype = {"date32": pl.Date, "timestamp[us]": pl.Datetime("us"), "timestamp[ms]": pl.Datetime("ms")}
        dtype |= {"duration[ms]": pl.Duration("ms"), "timestamp[us, tz=UTC]": pl.Datetime("us", "Europe/Paris")}
        if name not in dtype:
            pytest.skip("Polars has no such type")
        return pl.Series(counts, dtype=pl.Int32 if name == "date32" else pl.Int64).cast(dtype[name])
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    kinds = {"date32": pa.date32(), "date64": pa.date64(), "timestamp[us]": pa.timestamp("us")}
    kinds |= {"timestamp[s]": pa.timestamp("s"), "timestamp[ms]": pa.timestamp("ms"), "duration[s]": pa.duration("s")}
    kinds |= {"duration[ms]": pa.duration("ms"), "timestamp[us, tz=UTC]": pa.timestamp("us", "Europe/Paris")}
    if kind == "pandas":
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        if not name.startswith(("timestamp", "duration")):
            pytest.skip("pandas has no such type")
        dtype = name.replace("timestamp", "M8").replace("duration", "m8").replace(", tz=UTC", "")
        result = pd.Series(np.array([np.iinfo(np.int64).min if n is None else n for n in counts]).view(dtype))
        return result.dt.tz_localize("UTC").dt.tz_convert("Europe/Paris") if "tz" in name else result
    column = pa.array(counts, pa.int32() if name == "date32" else pa.int64()).cast(kinds[name])
    if kind == "dictionary":
        return column.dictionary_encode()
    if kind == "pandas with Arrow":
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        return pd.arrays.ArrowExtensionArray(column)
    return column


MOMENTS = ["date32", "date64", "timestamp[us]", "timestamp[ms]", "timestamp[s]", "timestamp[us, tz=UTC]"]
MOMENTS += ["duration[s]", "duration[ms]"]


@pytest.mark.parametrize("kind", ["arrow", "dictionary", "polars", "pandas", "pandas with Arrow"])
@pytest.mark.parametrize("name", MOMENTS)
def test_a_moment_that_python_does_not_have_is_missing_as_a_date_and_changes_its_own_row_only(kind, name, silent):
    column, rows = _moments_far_away(kind, name), [0.1, 0.2, 0.3, 0.4, 0.5]
    if kind == "polars":
        data = pytest.importorskip("polars").DataFrame({"a": column, "b": rows})
    elif kind.startswith("pandas"):
        data = pytest.importorskip("pandas").DataFrame({"a": column, "b": rows})
    else:
        data = pytest.importorskip("pyarrow").table({"a": column, "b": rows})
    schema = Schema({"a": Date("1969-01-01", "2100-01-01"), "b": Number(0, 1)})
    if name.startswith("duration"):
        with pytest.raises(ValueError, match=r"'a' has the type .*: expected dates"):
            as_records(data, schema=schema)
    else:
        day = 1.0 if name.startswith("date") else 0.0
        assert gathered(as_records(data, schema=schema))[0].tolist() == [[day, 0.1], [day, 0.5]]
    with pytest.raises(ValueError, match=r"'a' has the type .*: expected names of units"):
        as_records(data, schema=Schema({"b": Number(0, 1)}), unit="a", max_rows=1)
    for column in (Number(0, 9), Category([1, 86_400_000])):
        with pytest.raises(ValueError, match=r"'a' has the type .*: expected"):
            as_records(data, schema=Schema({"a": column}))


@pytest.mark.parametrize("dtype", ["Int128", "UInt128"])
def test_integers_of_128_bits_are_numbers(dtype, silent):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    data = pl.DataFrame({"a": pl.Series([1, 2, None, 2**100], dtype=getattr(pl, dtype))})
    assert gathered(as_records(data, schema=Schema({"a": Number(0, 9)})))[0].ravel().tolist() == [1.0, 2.0, 9.0]


def test_one_odd_line_of_a_csv_file_changes_its_own_row_only(tmp_path):
    """The reader turns whole columns into text for its sake; all other rows must stay as they are."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    rng = np.random.default_rng(0)
    lines = [f"{a:.6f},{i},{str(bool(i % 2)).lower()},{i % 7}" for i, a in enumerate(rng.normal(size=50))]
    schema = Schema(
        {"a": Number(-3, 3), "grade": Category(range(50)), "flag": Category([False, True])}, unit="who", max_rows=5
    )
    for read in (pd.read_csv, pl.read_csv):
        result = []
        for last in ("0.5,7,true,90", "oops,oops,oops,oops"):
            path = tmp_path / "t.csv"
            path.write_text("\n".join(["a,grade,flag,who", *lines, last]) + "\n")
            result.append(gathered(as_records(read(path), schema=schema)))
        assert np.array_equal(result[0][0][:-1], result[1][0])
        assert np.array_equal(result[0][1][:-1], result[1][1])
        assert len(result[1][0]) == 35
