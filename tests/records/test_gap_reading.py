"""Gaps as values: no row is dropped, blocks are complete, and every source reads them alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dp
from discreet.records import open_records

SCHEMA = dp.Schema(
    {
        "age": dp.Number(10, 120),
        "pay": dp.Number(1, 1e6, log=True),
        "day": dp.Date("2020-01-01", "2020-12-31"),
        "sex": dp.Category(["F", "M"]),
        "filled": dp.Number(0, 9, missing="fill", fill=5),
        "ward": dp.Category(["a", "b"], missing="fill", fill="b"),
    }
)
ROWS = pd.DataFrame(
    {
        "age": [30.0, np.nan, 500.0, 40.0],
        "pay": [100.0, 200.0, np.nan, 400.0],
        "day": ["2020-02-01", None, "2020-03-01", "2020-04-01"],
        "sex": ["F", "M", None, "other"],
        "filled": [1.0, np.nan, 3.0, 4.0],
        "ward": ["a", None, "b", "x"],
    }
)


def block_of(records):
    (block,) = records.blocks()
    return block


def test_no_row_is_dropped_and_a_gap_is_a_category():
    records = open_records(ROWS, schema=SCHEMA).with_gaps()
    assert records.complete
    assert records.gaps == ("age", "pay", "day", "sex")
    assert records.category_columns == ("sex", "ward", "age is missing", "pay is missing", "day is missing")
    assert records.categories[0] == ("F", "M", "")
    block = block_of(records)
    assert np.isfinite(block.x).all()
    assert block.x[:, 0].tolist() == [30.0, 10.0, 120.0, 40.0]
    assert block.x[:, 3].tolist() == [1.0, 5.0, 3.0, 4.0]
    assert block.codes.tolist() == [[0, 0, 0, 0, 0], [1, 1, 1, 0, 1], [2, 1, 0, 1, 0], [2, 1, 0, 0, 0]]


def test_a_table_without_gaps_to_keep_is_read_as_it_is():
    records = open_records(ROWS, schema=dp.Schema({"filled": SCHEMA["filled"], "ward": SCHEMA["ward"]}))
    assert records.with_gaps() is records


def test_every_source_reads_the_same(tmp_path):
    ROWS.to_parquet(tmp_path / "rows.parquet")
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    expected = block_of(open_records(ROWS, schema=SCHEMA).with_gaps())
    for data in (pl.from_pandas(ROWS), tmp_path / "rows.parquet", tmp_path / "rows.csv"):
        block = block_of(open_records(data, schema=SCHEMA).with_gaps())
        np.testing.assert_array_equal(block.x, expected.x)
        np.testing.assert_array_equal(block.codes, expected.codes)


def test_columns_of_a_condition_drop_rows_as_before():
    records = open_records(ROWS, schema=SCHEMA).where("age >= 35").with_gaps()
    assert "age" not in records.gaps
    assert not records.complete
    assert block_of(records).x[:, 0].tolist() == [120.0, 40.0]


def test_rows_of_a_person_are_limited_as_before():
    schema = dp.Schema(dict(SCHEMA.columns), unit="who", max_rows=1)
    records = open_records(ROWS.assign(who=["p", "p", "q", "q"]), schema=schema).with_gaps()
    assert len(block_of(records).x) == 2


def test_a_view_with_gaps_has_no_further_views():
    records = open_records(ROWS, schema=SCHEMA).with_gaps()
    with pytest.raises(ValueError, match="with_gaps"):
        records.where("age > 3")


def test_names_that_are_taken_are_not_used_twice():
    rows = pd.DataFrame({"a": [1.0, np.nan], "a is missing": ["x", "y"], "b": ["", None]})
    schema = dp.Schema(
        {
            "a": dp.Number(0, 1),
            "a is missing": dp.Category(["x", "y"], missing="fill", fill="x"),
            "b": dp.Category(["", "z"]),
        }
    )
    records = open_records(rows, schema=schema).with_gaps()
    assert records.category_columns == ("a is missing", "b", "a is missing_")
    assert records.categories[1] == ("", "z", "(gap)")
