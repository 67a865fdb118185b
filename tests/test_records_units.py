"""The privacy unit: which rows of a unit are kept depends on that unit's rows alone."""

from __future__ import annotations

import datetime
import io
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.records import Box, Number, Schema, as_records
from discreet.records.units import Tally, count_units, offsets
from test_records_sources import ARRAYS, TABLES, gathered

UNITS = st.lists(st.sampled_from([0, 1, None, "0", "ann", 1.0]), min_size=5, max_size=40)


@settings(max_examples=200, deadline=None)
@given(UNITS, st.integers(1, 4), st.lists(st.integers(0, 40), max_size=4))
def test_the_first_rows_of_each_unit_are_kept_however_rows_are_cut(units, most, cuts):
    whole = Tally(most).keep(units)
    names = [None if unit is None else str(int(unit)) if unit != "ann" else unit for unit in units]
    ideal = [name is not None and names[:i].count(name) < most for i, name in enumerate(names)]
    assert whole.tolist() == ideal

    pieces = np.split(np.array([*units, None], dtype=object)[:-1], sorted(min(cut, len(units)) for cut in cuts))
    streamed = Tally(most)
    assert np.concatenate([streamed.keep(piece) for piece in pieces]).tolist() == ideal

    starts, distinct = offsets([count_units([piece]) for piece in pieces])
    parts = [Tally(most, start).keep(piece) for piece, start in zip(pieces, starts, strict=True)]
    assert np.concatenate(parts).tolist() == ideal
    assert distinct == len({name for name in names if name is not None})


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40), st.integers(1, 3))
def test_rows_of_others_change_nothing(rows, most):
    """Keep the rows of units 0 and 1, with and without the rows of 2 and 3 between them."""
    units = [unit for unit, _ in rows]
    both = Tally(most).keep(units)
    alone = Tally(most).keep([unit for unit in units if unit < 2])
    assert [kept for unit, kept in zip(units, both, strict=True) if unit < 2] == alone.tolist()


def rows_of(records) -> list[float]:
    return gathered(records)[0][:, 0].tolist()


@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
def test_the_limit_holds_across_blocks_batches_and_partitions(kind, tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    table = {"x": np.arange(n) / n, "id": rng.choice([0.0, 1.0, 2.0, 3.0, np.nan], n)}
    unit = "id" if kind in TABLES else 1
    for most in (1, 3, 40, 1000):
        data = {**ARRAYS, **TABLES}[kind](table, tmp_path)
        records = as_records(data, space=Box(0, 1), unit=unit, max_rows=most, block_rows=16)
        keep = np.zeros(n, dtype=bool)
        for person in range(4):
            keep[np.flatnonzero(table["id"] == person)[:most]] = True
        assert rows_of(records) == (np.arange(n)[keep] / n).tolist()
        assert (records.units, records.rows, records.max_rows, records.complete) == (4, n, most, False)
        assert records.reduce(
            lambda block: block.x[:, 0].sum().reshape(1) if kind != "array-api-strict" else _strict_sum(block), 1
        )[0] == pytest.approx(table["x"][keep].sum())


def _strict_sum(block):
    xp = block.x.__array_namespace__()
    return xp.reshape(xp.sum(block.x), (1,))


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    "names",
    [
        ["ann", "bob", None],
        [2**60, 2**60 + 1, None],
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None],
        [True, False, None],
        ["a7", "a07", None],
    ],
    ids=["text", "large numbers", "dates", "booleans", "text with numbers"],
)
def test_units_have_names_of_many_types(kind, names, tmp_path):
    if names[0] == 2**60 and kind in ("pandas", "dask data frame"):
        pytest.skip("pandas makes floats of whole numbers with a gap; see the test below")
    table = {"x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "id": [names[0], names[1], names[2], names[0], names[1], names[2]]}
    records = as_records(TABLES[kind](table, tmp_path), space=Box(0, 1), unit="id", max_rows=1)
    assert rows_of(records) == [0.1, 0.2]
    assert records.units == 2


def test_whole_numbers_with_a_gap_stay_apart():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    ids = pd.array([2**60, None, 2**60 + 1, 2**60], dtype="Int64")
    records = as_records(pd.DataFrame({"x": [0.1, 0.2, 0.3, 0.4], "id": ids}), space=Box(0, 1), unit="id", max_rows=1)
    assert rows_of(records) == [0.1, 0.3]


def test_a_number_in_one_part_of_a_file_and_text_in_another_are_one_unit():
    data = np.empty((4, 2), dtype=object)
    data[:] = [[0.1, 7], [0.2, "7"], [0.3, 7.0], [0.4, "8"]]
    assert rows_of(as_records(data, space=Box(0, 1), unit=1, max_rows=1)) == [0.1, 0.4]


@pytest.mark.parametrize("spelling", ["{:05d}", "{:.1f}", " {:d}", "{:d}"])
def test_one_odd_name_does_not_split_everybody_elses_unit(spelling):
    """Pandas types a column chunk by chunk: with one name in it, the others come as text in some chunks."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    names = [spelling.format(i % 500) for i in range(120_000)]
    kept = []
    for last in (names[-1], "odd"):
        text = "id,x\n" + "\n".join(f"{name},1.0" for name in [*names[:-1], last])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas' own, of mixed types
            frame = pd.read_csv(io.StringIO(text), low_memory=True)
        kept.append(len(rows_of(as_records(frame, space=Box(0, 2), unit="id", max_rows=1))))
    assert kept == [500, 501]


@pytest.mark.parametrize(
    "ids", [["a", "b", "a"], np.array([1, 2, 1]), np.array(["a", "b", "a"]), [7, "8", 7], (1, 2, (3, 4))], ids=str
)
def test_units_may_come_beside_an_array(ids):
    records = as_records(np.array([[0.1], [0.2], [0.3]]), space=Box(0, 1), unit=ids, max_rows=1)
    assert rows_of(records) == [0.1, 0.2]
    assert "unit='unit', max_rows=1" in repr(records)


def test_tensors_and_series_may_hold_the_units():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    data = torch.asarray([[0.5], [0.25], [1.0]])
    for ids in (torch.asarray([1, 1, 2]), pd.Series(["p", "p", None], index=[3, 4, 5])):
        records = as_records(data, space=Box(0, 1), unit=ids, max_rows=1)
        assert rows_of(records)[0] == 0.5
        assert 0.25 not in rows_of(records)


@pytest.mark.parametrize("kind", ["numpy", "dask array"])
@pytest.mark.parametrize("place", [0, 1])
def test_the_number_of_a_column_is_no_name_of_another(kind, place, tmp_path):
    """A schema may call its columns as the array's are called without one."""
    table = {"one": np.ones(100), "two": np.ones(100)}
    table["two" if place == 0 else "one"] = np.arange(100.0)
    for name in ("x0", "x1", "unit", "None"):
        data = ARRAYS[kind](table, tmp_path)
        records = as_records(data, schema=Schema({name: Number(0, 100)}), unit=place, max_rows=1)
        assert rows_of(records) == [0.0]
        assert records.units == 1
    ids = np.zeros(100)
    beside = as_records(np.arange(100.0).reshape(-1, 1), schema=Schema({"unit": Number(0, 100)}), unit=ids, max_rows=1)
    assert rows_of(beside) == [0.0]


def test_a_masked_unit_is_missing():
    data = np.array([[0.1], [0.2], [0.3], [0.4]])
    for names in ([7, 7, 8, 8], ["a", "a", "b", "b"], np.array([7, 7, 8, 8], dtype="M8[ns]")):
        ids = np.ma.array(names, mask=[True, True, False, False])
        records = as_records(data, space=Box(0, 1), unit=ids, max_rows=1)
        assert rows_of(records) == [0.3]
        assert records.units == 1
    rows = np.ma.array(
        [[1, 2**60], [2, 2**60 + 1], [3, 2**60], [4, 2**60 + 2]], mask=[[False, False]] * 3 + [[False, True]]
    )
    assert rows_of(as_records(rows, space=Box(0, 9), unit=1, max_rows=1)) == [1.0, 2.0]
    with pytest.raises(ValueError, match="one unit for each row"):
        as_records(data, space=Box(0, 1), unit=np.ma.array([[1], [2], [3], [4]]), max_rows=1)


def test_columns_of_tables_may_hold_the_units():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    data = np.array([[0.1], [0.2], [0.3]])
    for ids in (pa.array([7, 7, 8]), pa.chunked_array([[7], [7, 8]]), pl.Series([7, 7, 8])):
        assert rows_of(as_records(data, space=Box(0, 1), unit=ids, max_rows=1)) == [0.1, 0.3]
    with pytest.raises(ValueError, match="'unit' has the type List"):
        as_records(data, space=Box(0, 1), unit=pa.array([[7], [7], [8]]), max_rows=1)


def test_a_dropped_row_has_used_up_its_place():
    data = np.array([[math.nan, 1.0], [0.5, 1.0], [0.25, 1.0]])
    assert rows_of(as_records(data, space=Box(0, 1), unit=1, max_rows=2)) == [0.5]


def test_the_schema_may_name_the_unit():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    schema = Schema({"x": Number(0, 1)}, unit="id", max_rows=1)
    frame = pd.DataFrame({"id": [1, 1, 2], "x": [0.1, 0.2, 0.3]})
    assert rows_of(as_records(frame, schema=schema)) == [0.1, 0.3]
    assert rows_of(as_records(frame, schema=schema, unit="id", max_rows=1)) == [0.1, 0.3]
    assert rows_of(as_records(frame, schema=Schema({"x": Number(0, 1)}), unit="id", max_rows=2)) == [0.1, 0.2, 0.3]


def test_no_name_of_a_unit_leaves_dasks_workers():
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    import dask

    came_back = []

    def get(graph, keys, **options):
        found = dask.threaded.get(graph, keys, **options)
        came_back.append(repr(found))
        return found

    frame = pd.DataFrame({"x": np.linspace(0, 1, 60), "id": [f"person-{i % 7}" for i in range(60)]})
    records = as_records(dd.from_pandas(frame, npartitions=4), space=Box(0, 1), unit="id", max_rows=2)
    records._source._offsets  # noqa: B018  # stays with the workers; here they are threads of this process
    with dask.config.set(scheduler=get):
        records.reduce(lambda block: block.x.sum(axis=0), 1)
        assert records.units == 7
        assert records.rows == 60
    assert came_back
    assert "person" not in "".join(came_back)
