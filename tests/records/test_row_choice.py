"""The privacy unit: which rows of a unit count depends on that unit's own declared rows alone, whatever the source."""

from __future__ import annotations

import datetime
import io
import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_records_sources import ARRAYS, TABLES, gathered, multiset, opened

from discreet.records import Box, Category, Number, Schema, as_records, row_choice
from discreet.records.cells import unit_name
from discreet.records.row_choice import DeclaredRows, UnitCells, Units, choose_rows, select_rows
from effort import LONG, size
from ideal_rows import ideal_rows

CELLS = st.sampled_from([0.0, -0.0, 1.0, 2.5, -1e300, 5e-324, math.nan, math.inf, -math.inf])
ROWS = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "7", "é", None]), st.tuples(CELLS, CELLS), st.integers(-1, 2)), max_size=40
)


def declared_rows(rows) -> DeclaredRows:
    """Return two numbers and a code for each row."""
    numbers = np.array([cells for _, cells, _ in rows], dtype=float).reshape(-1, 2)
    return DeclaredRows(numbers, np.array([[code] for *_, code in rows], dtype=np.int64).reshape(-1, 1))


def ideal(rows, most, order=None) -> list[bool]:
    listed = [(*cells, math.nan if code < 0 else float(code)) for _, cells, code in rows]
    return ideal_rows([name for name, *_ in rows], listed, most, order)


def counted(rows, most, order=None) -> list[bool]:
    """Return which rows count, by the package."""
    units, given = Units("text"), declared_rows(rows)
    codes = units.add([UnitCells([name for name, *_ in rows])])
    return select_rows(codes, most, given.take, units.names, order).tolist()


def kept(rows, chosen) -> list:
    """Return the rows that count without their places: equal ones cannot be told apart."""
    return sorted(
        (str(name), [*map(_plain, cells)], code) for (name, cells, code), one in zip(rows, chosen, strict=True) if one
    )


def _plain(cell: float) -> str:
    return str(cell + 0.0) if math.isfinite(cell) else "missing"


@settings(max_examples=size(60, 200), deadline=None)
@given(ROWS, st.integers(1, 4), st.sampled_from([None, 0, 1]), st.randoms(use_true_random=False))
def test_the_rows_that_count_are_those_of_the_reference_in_any_order(rows, most, order, random):
    expected = ideal(rows, most, order)
    result = counted(rows, most, order)
    assert kept(rows, result) == kept(rows, expected)
    for name in {name for name, *_ in rows}:
        own = [place for place, row in enumerate(rows) if row[0] == name]
        assert sum(result[place] for place in own) == (0 if name is None else min(most, len(own)))
    mixed = random.sample(rows, len(rows))
    assert kept(mixed, counted(mixed, most, order)) == kept(rows, expected)


@settings(max_examples=size(30, 100), deadline=None)
@given(ROWS, st.integers(1, 3), st.sampled_from([None, 0]))
def test_rows_of_others_change_nothing(rows, most, order):
    """Keep the rows of two persons, with and without the rows of others between them."""
    both = counted(rows, most, order)
    two = [place for place, (name, *_) in enumerate(rows) if name in ("ann", "7")]
    assert [both[place] for place in two] == counted([rows[place] for place in two], most, order)


def test_equal_hashes_are_told_apart_by_the_rows(monkeypatch):
    """Where all hashes are one the encodings decide, and no place does."""
    monkeypatch.setattr(row_choice, "_hashes", lambda persons, unit, *_: np.zeros(len(unit), dtype=np.uint64))
    rng = np.random.default_rng(0)
    for order in (None, 0):
        rows = [("ann", tuple(cells), int(code)) for *cells, code in rng.integers(0, 3, (30, 3)).tolist()]
        result = kept(rows, counted(rows, 7, order))
        for _ in range(5):
            mixed = [rows[place] for place in rng.permutation(30)]
            assert kept(mixed, counted(mixed, 7, order)) == result
    assert result == sorted(kept(rows, [True] * 30), key=lambda row: (row[1], row[2]))[:7]


def test_no_value_is_preferred():
    """Of 4,000 persons with the values 0, …, 9 each value counts about as often; equal rows count as often as they are.

    Chi-square of nine degrees of freedom: 80 is exceeded once in 10¹² times, and nothing here is random.
    """
    names = [f"person-{i}" for i in range(4000)]
    unit = np.repeat(np.arange(4000), 10)
    for values in (np.arange(10.0), np.array([5.0] * 9 + [6.0])):
        rows = DeclaredRows(np.tile(values, 4000)[:, None], np.zeros((40_000, 0), dtype=np.int64))
        chosen = choose_rows(unit, lambda codes: [names[j] for j in codes], rows, 3, None).reshape(4000, 10).sum(axis=0)
        if len(set(values)) == 10:
            assert ((chosen - 1200) ** 2 / 1200).sum() < 80
        else:
            assert abs(chosen[-1] - 1200) < 6 * math.sqrt(1200)
        assert chosen.sum() == 12_000


def rows_of(records) -> list[float]:
    return sorted(gathered(records)[0][:, 0].tolist())


def people(n: int = 400, seed: int = 0) -> dict[str, list]:
    """Return rows of a few persons, some of them equal, some without a person."""
    rng = np.random.default_rng(seed)
    who = [[0, 1, 2, 3, None][j] for j in rng.integers(0, 5, n)]
    x = np.round(rng.uniform(0, 1, n), 2)
    x[::19] = np.nan
    return {"x": x, "y": rng.integers(0, 3, n).astype(float), "id": who}


def expected_rows(table, most, order=None) -> np.ndarray:
    """Return the rows that count and lack nothing, by the reference."""
    names = [None if name is None else str(name) for name in table["id"]]
    listed = [*zip(table["x"], table["y"], strict=True)]
    chosen = ideal_rows(names, listed, most, order)
    x = np.array([row for row, one in zip(listed, chosen, strict=True) if one and math.isfinite(row[0])])
    return multiset(x, np.zeros((len(x), 0)))


LIMITS = [(1, None), (5, "x"), (3, None), (60, "y"), (40, None), (1000, None)]


@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
def test_the_limit_holds_across_blocks_batches_and_partitions(kind, tmp_path):
    """In a short run every second source has every second limit, the others the others."""
    table = people()
    names = {"x": "x0", "y": "x1"} if kind in ARRAYS else {"x": "x", "y": "y"}
    first = [*ARRAYS, *TABLES].index(kind) % 2
    for most, order in LIMITS[size(first, 0) :: size(2, 1)]:
        place = None if order is None else names[order]
        records = opened(kind, table, tmp_path, "id", space=Box(0, 2), max_rows=most, order=place, block_rows=16)
        expected = expected_rows(table, most, None if order is None else "xy".index(order))
        assert np.array_equal(multiset(*gathered(records)), expected)
        assert np.array_equal(records.gather(lambda block: block.x, 2), expected), "sorted"
        assert (records.units, records.rows, records.max_rows, records.complete) == (4, 400, most, False)
        assert (records.unit.max_rows, records.unit.unit_type, records.unit.order) == (most, "text", place)
        result = records.reduce(_sum, 2)
        assert result == pytest.approx(expected.sum(axis=0), rel=1e-12)


def _sum(block):
    return block.x.sum(axis=0) if hasattr(block.x, "sum") else block.x.__array_namespace__().sum(block.x, axis=0)


@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
def test_the_order_of_rows_and_where_they_are_cut_changes_nothing(kind, tmp_path):
    """Nor does the type of the names, where digits stay digits."""
    table, result = people(300, seed=1), []
    order = np.random.default_rng(2).permutation(300)
    mixed = {name: [column[place] for place in order] for name, column in table.items()}
    text = mixed | {"id": [None if name is None else str(name) for name in mixed["id"]]}
    for data, block_rows in ((table, 16), (mixed, 7), (text, 300)):
        records = opened(kind, data, tmp_path, "id", space=Box(0, 2), max_rows=4, block_rows=block_rows)
        result.append(multiset(*gathered(records)))
        assert records.units == 4
    assert np.array_equal(result[0], expected_rows(table, 4))
    for one, other in pairwise(result):
        assert np.array_equal(one, other)


def test_partitions_of_any_size_choose_the_same_rows():
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame({"x": np.arange(60.0), "id": ["a"] * 40 + ["b", "c"] * 5 + ["d"] * 10})
    for most in (1, 7, 10, 99):
        expected = expected_of(frame, most)
        for parts in (1, 2, 7, 60) if LONG or most == 7 else (7,):
            records = as_records(dd.from_pandas(frame, npartitions=parts), space=Box(0, 60), unit="id", max_rows=most)
            assert rows_of(records) == expected
            assert records.units == 4
        if LONG or most == 7:
            shuffled = dd.from_pandas(frame, npartitions=5).shuffle("x")
            assert rows_of(as_records(shuffled, space=Box(0, 60), unit="id", max_rows=most)) == expected


def expected_of(frame, most) -> list[float]:
    names = [str(name) for name in frame["id"]]
    chosen = ideal_rows(names, [[x] for x in frame["x"]], most)
    return sorted(float(x) for x, one in zip(frame["x"], chosen, strict=True) if one)


def test_a_view_of_some_columns_has_the_same_rows():
    """Which rows count is decided by all that is declared: also by columns that a question does not read."""
    rng = np.random.default_rng(3)
    data = np.column_stack([np.round(rng.uniform(0, 1, 50), 1), rng.integers(0, 2, 50)])
    schema = Schema({"x": Number(0, 1), "c": Category([0, 1])})
    names = [*"abcde"] * 10
    records = as_records(data, schema=schema, unit=names, max_rows=3)
    chosen = ideal_rows(names, data.tolist(), 3)
    assert rows_of(records) == rows_of(records.only(["x"])) == sorted(data[chosen, 0].tolist())
    assert sorted(gathered(records.only(["c"]))[1][:, 0].tolist()) == sorted(data[chosen, 1].tolist())


def test_the_sign_of_a_zero_tells_no_place():
    """Rows that differ by it alone are one row for the choice, so they must be one for all that follows."""
    data = np.array([[0.0], [-0.0], [1.0]])
    for unit in ({}, {"unit": ["p"] * 3, "max_rows": 1, "order": "x0"}):
        result = [
            as_records(rows, space=Box(-1, 1), **unit).gather(lambda block: block.x, 1) for rows in (data, data[::-1])
        ]
        assert result[0].tobytes() == result[1].tobytes()
        assert not np.signbit(result[0]).any()


@pytest.mark.parametrize("kind", [*TABLES, "numpy", "dask array"])
@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["ann", "bob", None], ("text",)),
        ([2**60, 2**60 + 1, None], ("text", "integer")),
        (["a7", "a07", None], ("text",)),
        (["7", "007", ""], ("text",)),
        (["1e3", "1000", None], ("text",)),
        (["1_23", "123", None], ("text",)),
        (["7.0", "7", None], ("text",)),
        (["+7", "-7", "x7"], ("integer",)),
        (["é", "e\u0301", None], ("text",)),
        ([" ", "  ", None], ("text",)),
    ],
    ids=str,
)
def test_units_have_names_of_many_kinds(kind, names, kinds, tmp_path):
    table = {"x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "id": [names[0], names[1], names[2], names[0], names[1], names[2]]}
    for unit_type in kinds:
        records = opened(kind, table, tmp_path, "id", space=Box(0, 1), max_rows=1, unit_type=unit_type)
        known = [unit_name(name, unit_type) for name in table["id"]]
        assert len({*known}) == 3
        chosen = ideal_rows(known, [[x] for x in table["x"]], 1)
        assert rows_of(records) == [x for x, one in zip(table["x"], chosen, strict=True) if one]
        assert records.units == 2


@pytest.mark.parametrize("kind", TABLES)
def test_whole_numbers_are_one_unit_however_they_are_written(kind, tmp_path):
    """As integers; as text each of these is another name."""
    table = {"x": [0.1, 0.2, 0.3, 0.4, 0.5], "id": ["7", "007", " 7", "1_23", "1e3"]}
    records = opened(kind, table, tmp_path, "id", space=Box(0, 1), max_rows=2, unit_type="integer")
    assert (records.units, len(rows_of(records))) == (1, 2)
    chosen = ideal_rows(["7", "7", "7"], [[0.1], [0.2], [0.3]], 2)
    assert rows_of(records) == [x for x, one in zip([0.1, 0.2, 0.3], chosen, strict=True) if one]
    assert opened(kind, table, tmp_path, "id", space=Box(0, 1), max_rows=2).units == 5


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    "names",
    [
        [1.0, 2.0],
        [True, False],
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)],
        [datetime.timedelta(1), datetime.timedelta(2)],
        [b"ann", b"bob"],
        [2**60, None],
    ],
    ids=lambda names: type(names[0]).__name__,
)
def test_what_is_no_name_is_refused_to_the_owner(kind, names, tmp_path):
    """Floats make one of several large numbers; the others are written in more than one way."""
    if names[1] is None and "pandas" in kind:  # of a list with a gap pandas makes floats
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        data = pd.DataFrame({"x": [0.1, 0.2], "id": names})
    elif names[1] is None or (kind == "dask data frame" and isinstance(names[0], datetime.timedelta)):
        pytest.skip("of pandas alone, or not for this kind")
    else:
        data = TABLES[kind]({"x": [0.1, 0.2], "id": names}, tmp_path)
    untyped = isinstance(names[0], bytes) or type(names[0]) is datetime.date
    if untyped and kind == "pandas":  # objects, of which no one is a name
        records = as_records(data, space=Box(0, 1), unit="id", max_rows=1)
        assert (rows_of(records), records.units, records.rows) == ([], 0, 2)
        return
    if untyped and kind == "dask data frame":
        pytest.skip("Dask may make text of objects")
    with pytest.raises(
        ValueError, match=r"'id' has the type .*: expected names of units, as text or whole numbers; "
    ) as e:
        as_records(data, space=Box(0, 1), unit="id", max_rows=1)
    assert "'Int64'" in str(e.value)
    assert "dtype=str" in str(e.value)


@pytest.mark.parametrize("dtype", [float, bool, "M8[s]", "m8[s]", "S3", "f4"])
def test_arrays_of_what_is_no_name_are_refused(dtype):
    ids = np.array([1, 2]).astype(dtype)
    with pytest.raises(ValueError, match=r"unit: expected names of units as whole numbers or text.*; write unit=ids"):
        as_records(np.zeros((2, 1)), space=Box(0, 1), unit=ids, max_rows=1)
    with pytest.raises(ValueError, match="unit: expected names of units as whole numbers or text"):
        as_records(np.zeros((2, 1)), space=Box(0, 1), unit=np.ma.array(ids), max_rows=1)
    if np.dtype(dtype).kind not in "mM":
        with pytest.raises(ValueError, match="unit: expected names of units as whole numbers or text"):
            as_records(np.column_stack([ids, ids]), space=Box(0, 1), unit=1, max_rows=1)
        da = pytest.importorskip("dask.array", reason="dask is not installed")
        with pytest.raises(ValueError, match="unit: expected names of units as whole numbers or text"):
            as_records(da.from_array(np.column_stack([ids, ids])), space=Box(0, 1), unit=1, max_rows=1)


def test_whole_numbers_with_a_gap_stay_apart():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    ids = pd.array([2**60, None, 2**60 + 1, 2**60], dtype="Int64")
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3, 0.4], "id": ids})
    records = as_records(frame, space=Box(0, 1), unit="id", max_rows=1, order="x")
    assert rows_of(records) == [0.1, 0.3]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "int64", "U3", "T", "O"])
def test_a_column_of_an_array_holds_the_units(dtype):
    if dtype == "T" and not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy has no such type")
    data = np.array([[1, 7], [2, 7], [3, 8]]).astype(np.dtypes.StringDType() if dtype == "T" else dtype)
    records = as_records(data, space=Box(0, 9), unit=1, max_rows=1, order="x0")
    assert rows_of(records) == [1.0, 3.0]
    assert records.units == 2


def test_large_unsigned_and_signed_numbers_stay_apart(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids = [pa.array([2**64 - 1, 2**63], pa.uint64()), pa.array([-1, -(2**63)], pa.int64()), pa.array([7], pa.int8())]
    for j, piece in enumerate(ids):
        pq.write_table(pa.table({"id": piece, "x": [float(j)] * len(piece)}), tmp_path / f"{j}.parquet")
    for unit_type in ("text", "integer"):
        records = as_records(tmp_path, space=Box(0, 9), unit="id", max_rows=1, unit_type=unit_type)
        assert records.units == 5
        assert rows_of(records) == [0.0, 0.0, 1.0, 1.0, 2.0]


@settings(max_examples=size(15, 50), deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=30), st.integers(0, 30))
def test_numbers_and_their_digits_are_one_unit(ids, cut):
    """Whole numbers are counted in a faster way than names; the result is that of names."""
    numbers, names = Units("text"), Units("text")
    whole = np.array(ids, dtype=np.int64)
    fast = numbers.add([UnitCells(whole[:cut]), UnitCells(whole[cut:])])
    slow = names.add([UnitCells([str(one) for one in ids])])
    assert len(numbers) == len(names) == len({*ids})
    assert numbers.names(fast.tolist()) == names.names(slow.tolist()) == [str(one) for one in ids]
    for piece in (UnitCells(whole), UnitCells(ids), UnitCells([str(one) for one in ids])):
        assert numbers.find(piece).tolist() == fast.tolist()
        assert names.find(piece).tolist() == slow.tolist()
    gone = np.arange(len(ids)) % 2 == 0
    assert Units("text").add([UnitCells(whole, gone)])[gone].tolist() == [-1] * gone.sum()


def test_a_number_in_one_part_of_a_file_and_text_in_another_are_one_unit(tmp_path):
    data = np.empty((4, 2), dtype=object)
    data[:] = [[0.1, 7], [0.2, "7"], [0.3, np.int8(7)], [0.4, "8"]]
    assert rows_of(as_records(data, space=Box(0, 1), unit=1, max_rows=1, order="x0")) == [0.1, 0.4]
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"id": [7, 8], "x": [0.1, 0.2]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": ["7", "9"], "x": [0.3, 0.4]}), tmp_path / "1.parquet")
    records = as_records(tmp_path, space=Box(0, 1), unit="id", max_rows=1, order="x")
    assert (rows_of(records), records.units) == ([0.1, 0.2, 0.4], 3)


@pytest.mark.parametrize("spelling", ["{:05d}", " {:d}", "{:d}", "n{:d}"])
def test_one_odd_name_does_not_split_everybody_elses_unit(spelling):
    """Pandas types a column chunk by chunk: with one name in it, the others come as text in some chunks.

    Digits are whole numbers there, so names with zeros before them need the type "integer", or a column of text.
    """
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    names = [spelling.format(i % 500) for i in range(10_000)]  # of which pandas types 8,192 at a time, of 64 columns
    others = [f"empty{i}" for i in range(62)]
    kept: dict[str, list[int]] = {"text": [], "integer": [], "as text": []}
    for last in (names[-1], "odd"):
        text = ",".join(["id", "x", *others]) + "\n"
        text += "\n".join(f"{name},1.0{',' * len(others)}" for name in [*names[:-1], last])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas' own, of mixed types
            frame = pd.read_csv(io.StringIO(text), low_memory=True)[["id", "x"]]
        if last == "odd" and spelling != "n{:d}":
            assert {*map(type, frame["id"])} == {int, str}
        whole = pd.read_csv(io.StringIO(text), dtype={"id": str})[["id", "x"]]
        for name, data, unit_type in (
            ("text", frame, "text"),
            ("integer", frame, "integer"),
            ("as text", whole, "text"),
        ):
            records = as_records(data, space=Box(0, 2), unit="id", max_rows=1, unit_type=unit_type)
            kept[name].append(len(rows_of(records)))
    if spelling in ("{:d}", "n{:d}"):
        assert kept["text"] == [500, 501]
    assert kept["integer"] == ([0, 0] if spelling == "n{:d}" else [500, 500])
    if spelling != " {:d}":  # pandas loses a space at the beginning of a line, where a piece of the file begins there
        assert kept["as text"] == [500, 501]


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "b", "a"],
        np.array([1, 2, 1]),
        np.array(["a", "b", "a"]),
        [7, "8", 7],
        ("1", 2, 1),
        np.array([1, 2, 1], "u1"),
    ],
    ids=str,
)
def test_units_may_come_beside_an_array(ids):
    records = as_records(np.array([[0.1], [0.2], [0.3]]), space=Box(0, 1), unit=ids, max_rows=1, order="x0")
    assert rows_of(records) == [0.1, 0.2]
    assert "unit='unit', max_rows=1" in repr(records)


def test_what_is_no_name_beside_an_array_is_nobodys():
    ids = [1.5, True, (3, 4), None, b"a", math.nan, "", [1], "a", datetime.date(2020, 1, 1)]
    records = as_records(np.arange(10.0)[:, None], space=Box(0, 10), unit=ids, max_rows=1)
    assert (rows_of(records), records.units, records.rows) == ([8.0], 1, 10)


def test_tensors_and_series_may_hold_the_units():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    data = torch.asarray([[0.25], [0.5], [1.0]])
    for ids in (torch.asarray([1, 1, 2]), pd.Series(["p", "p", None], index=[3, 4, 5])):
        records = as_records(data, space=Box(0, 1), unit=ids, max_rows=1, order="x0")
        assert rows_of(records)[0] == 0.25
        assert 0.5 not in rows_of(records)


@pytest.mark.parametrize("kind", ["numpy", "dask array"])
@pytest.mark.parametrize("place", [0, 1])
def test_the_number_of_a_column_is_no_name_of_another(kind, place, tmp_path):
    """A schema may call its columns as the array's are called without one."""
    table = {"one": np.ones(100, dtype=int), "two": np.ones(100, dtype=int)}
    table["two" if place == 0 else "one"] = np.arange(100)
    for name in ("x0", "x1", "unit", "None"):
        data = ARRAYS[kind](table, tmp_path)
        records = as_records(data, schema=Schema({name: Number(0, 100)}), unit=place, max_rows=1, order=name)
        assert rows_of(records) == [0.0]
        assert records.units == 1
    ids, schema = np.zeros(100, dtype=int), Schema({"unit": Number(0, 100)})
    beside = as_records(np.arange(100.0).reshape(-1, 1), schema=schema, unit=ids, max_rows=1, order="unit")
    assert rows_of(beside) == [0.0]


def test_a_masked_unit_is_missing():
    data = np.array([[0.1], [0.2], [0.3], [0.4]])
    for names in ([7, 7, 8, 8], ["a", "a", "b", "b"], np.array([7, 7, 8, 8], dtype="u1")):
        ids = np.ma.array(names, mask=[True, True, False, False])
        records = as_records(data, space=Box(0, 1), unit=ids, max_rows=1, order="x0")
        assert rows_of(records) == [0.3]
        assert records.units == 1
    rows = np.ma.array(
        [[1, 2**60], [2, 2**60 + 1], [3, 2**60], [4, 2**60 + 2]], mask=[[False, False]] * 3 + [[False, True]]
    )
    assert rows_of(as_records(rows, space=Box(0, 9), unit=1, max_rows=1, order="x0")) == [1.0, 2.0]
    small = np.ma.array([[1, 7], [2, 7], [3, 8]], mask=[[False, False]] * 2 + [[False, True]], dtype="i4")
    assert rows_of(as_records(small, space=Box(0, 9), unit=1, max_rows=1, order="x0")) == [1.0]
    with pytest.raises(ValueError, match="one unit for each row"):
        as_records(data, space=Box(0, 1), unit=np.ma.array([[1], [2], [3], [4]]), max_rows=1)


def test_columns_of_tables_may_hold_the_units():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    data = np.array([[0.1], [0.2], [0.3]])
    series = [pa.array([7, 7, 8]), pa.chunked_array([[7], [7, 8]]), pl.Series([7, 7, 8]), pd.Series([7, 7, 8])]
    series += [pd.Series(["a", "a", "b"], dtype="category"), pl.Series(["a", "a", "b"], dtype=pl.Categorical)]
    series += [pa.array(["a", "a", "b"]).dictionary_encode(), pa.array(["a", "a", "b"], pa.large_string())]
    for ids in series:
        assert rows_of(as_records(data, space=Box(0, 1), unit=ids, max_rows=1, order="x0")) == [0.1, 0.3]
    with pytest.raises(ValueError, match="'unit' has the type List"):
        as_records(data, space=Box(0, 1), unit=pa.array([[7], [7], [8]]), max_rows=1)
    for ids in (pd.Series([7.0, 7.0, 8.0]), pl.Series([True, False, True]), pa.array([b"a", b"a", b"b"])):
        with pytest.raises(ValueError, match=r"'unit' has the type .*: expected names of units"):
            as_records(data, space=Box(0, 1), unit=ids, max_rows=1)


def test_a_dropped_row_has_used_up_its_place():
    """A row that lacks a number is one of those that count, or not, like any other, and is left out after that."""
    data = np.array([[math.nan], [0.5], [0.25]])
    result = set()
    for name in map(str, range(50)):
        chosen = ideal_rows([name] * 3, data.tolist(), 2)
        left = [x for x, one in zip(data[:, 0].tolist(), chosen, strict=True) if one and x == x]
        assert rows_of(as_records(data, space=Box(0, 1), unit=[name] * 3, max_rows=2)) == sorted(left)
        result.add(len(left))
    assert result == {1, 2}


def test_rows_that_lack_the_order_are_last():
    data = np.array([[math.nan, 0.1], [0.5, 0.2], [math.inf, 0.3], [0.25, 0.4], [-3.0, 0.5]])
    schema = Schema({"when": Number(0, 1, missing="fill", fill=0), "x": Number(0, 1)})

    def result(most):
        records = as_records(data, schema=schema, unit=["p"] * 5, max_rows=most, order="when")
        return sorted(gathered(records)[0][:, 1].tolist())

    assert [result(most) for most in (1, 2, 3)] == [[0.5], [0.4, 0.5], [0.2, 0.4, 0.5]]  # before they are clipped
    chosen = ideal_rows(["p"] * 5, data.tolist(), 4, 0)
    assert result(4) == data[chosen, 1].tolist()
    assert result(5) == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_the_schema_may_name_the_unit():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    schema = Schema({"x": Number(0, 1)}, unit="id", max_rows=1, unit_type="integer", order="x")
    frame = pd.DataFrame({"id": ["1", "01", "2"], "x": [0.1, 0.2, 0.3]})
    assert rows_of(as_records(frame, schema=schema)) == [0.1, 0.3]
    same = {"unit": "id", "max_rows": 1, "unit_type": "integer", "order": "x"}
    assert rows_of(as_records(frame, schema=schema, **same)) == [0.1, 0.3]
    assert rows_of(as_records(frame, schema=Schema({"x": Number(0, 1)}), **same)) == [0.1, 0.3]
    assert rows_of(as_records(frame, schema=Schema({"x": Number(0, 1)}), unit="id", max_rows=2)) == [0.1, 0.2, 0.3]
    for name, other in (("max_rows", 2), ("unit_type", "text"), ("order", "y"), ("unit", "who")):
        with pytest.raises(ValueError, match=f"{name}=.*, and the schema has"):
            as_records(frame, schema=schema, **{name: other})


def test_no_name_of_a_unit_leaves_dasks_workers():
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    import dask

    came_back = []

    def get(graph, keys, **options):
        result = dask.threaded.get(graph, keys, **options)
        came_back.append(repr(result))
        return result

    frame = pd.DataFrame({"x": np.linspace(0, 1, 60), "id": [f"person-{i % 7}" for i in range(60)]})
    records = as_records(dd.from_pandas(frame, npartitions=4), space=Box(0, 1), unit="id", max_rows=2)
    records._source._choice  # noqa: B018  # stays with the workers; here they are threads of this process
    with dask.config.set(scheduler=get):
        records.reduce(lambda block: block.x.sum(axis=0), 1)
        records.gather(lambda block: block.x, 1)
        assert records.units == 7
        assert records.rows == 60
    assert came_back
    assert "person" not in "".join(came_back)
