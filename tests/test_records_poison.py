"""Odd values change nothing but their own row: no error, no warning, no log line, the same bits everywhere else."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest

from discreet.records import Ball, Box, Category, Number, Schema, as_records
from test_records_sources import ARRAYS, TABLES, gathered, moments

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
    assert not np.isfinite(records.reduce(lambda block: (block.x**2).sum(axis=0), 1)).any()


def test_a_pandas_type_guessed_from_the_rows_makes_no_error(silent):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    days = pd.DataFrame({"a": [datetime.datetime(2020, 1, 1)] * 3})
    records = as_records(days, schema=Schema({"a": Number(0, 1)}))
    assert list(records.blocks()) == []
    assert records.rows == 3


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
        found = []
        for last in ("0.5,7,true,90", "oops,oops,oops,oops"):
            path = tmp_path / "t.csv"
            path.write_text("\n".join(["a,grade,flag,who", *lines, last]) + "\n")
            found.append(gathered(as_records(read(path), schema=schema)))
        assert np.array_equal(found[0][0][:-1], found[1][0])
        assert np.array_equal(found[0][1][:-1], found[1][1])
        assert len(found[1][0]) == 35
