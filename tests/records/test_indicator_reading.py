"""Categories as columns of 0 and 1: within their bounds, the same from every source, and dropped as declared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dp
from discreet.queries.functions.perturbations import NoisyRows
from discreet.records import open_records

SCHEMA = dp.Schema(
    {
        "age": dp.Number(10, 120),
        "pay": dp.Number(1, 1e6, log=True),
        "ward": dp.Category(["a", "b", "c"]),
        "sex": dp.Category(["F", "M"], missing="fill", fill="M"),
        "back": dp.Category(["no", "yes"]),
    }
)
ROWS = pd.DataFrame(
    {
        "age": [30.0, 20.0, 500.0, 40.0, 50.0],
        "pay": [100.0, 200.0, 300.0, 400.0, 500.0],
        "ward": ["a", "b", "c", None, "c"],
        "sex": ["F", "M", None, "F", "x"],
        "back": ["no", "yes", "no", "yes", "yes"],
    }
)
NAMES = ("age", "pay", "ward=b", "ward=c", "sex=M")


def block_of(records):
    (block,) = records.blocks()
    return block


def indicated(data=ROWS, **more):
    return open_records(data, schema=SCHEMA, **more).with_indicators(["ward", "sex"])


def test_a_row_has_a_single_one_or_zeros_for_the_first_value():
    records = indicated()
    assert records.columns == NAMES
    assert records.category_columns == ("back",)
    block = block_of(records)
    assert block.x[:, 2:].tolist() == [[0, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 1]]
    assert block.x[:, 0].tolist() == [30.0, 20.0, 120.0, 50.0]
    assert block.codes.tolist() == [[0], [1], [0], [1]]


def test_rows_lie_within_the_declared_space_and_its_unit_ball():
    records = indicated()
    x = block_of(records).x
    assert (records.space.clip(x) == x).all()
    assert (np.linalg.norm(records.space.to_unit(x), axis=1) <= 1.0).all()
    assert records.space.intervals()[2:] == [(0.0, 1.0)] * 3


def test_a_gap_drops_the_row_or_is_filled_as_declared():
    filled = dp.Schema({"age": dp.Number(0, 9, missing="fill", fill=0), "sex": SCHEMA["sex"]})
    assert indicated().required == ("age", "pay", "ward", "back")
    assert not indicated().complete
    assert open_records(ROWS, schema=filled).with_indicators(["sex"]).complete
    dropped = dp.Schema({"age": filled["age"], "ward": SCHEMA["ward"]})
    records = open_records(ROWS, schema=dropped).with_indicators(["ward"])
    assert not records.complete  # the number of rows that count is private
    assert records.required == ("ward",)


def test_every_source_reads_the_same(tmp_path):
    ROWS.to_parquet(tmp_path / "rows.parquet")
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    expected = block_of(indicated())
    for data in (pl.from_pandas(ROWS), tmp_path / "rows.parquet", tmp_path / "rows.csv"):
        records = indicated(data)
        np.testing.assert_array_equal(block_of(records).x, expected.x)
        assert records.reduce(lambda block: block.x.sum(axis=0), 5).tolist() == expected.x.sum(axis=0).tolist()


def test_conditions_are_about_the_category_and_come_before():
    records = open_records(ROWS, schema=SCHEMA).where("ward != 'c'").with_indicators(["ward"])
    assert block_of(records).x[:, 2:].tolist() == [[0, 0], [1, 0]]
    with pytest.raises(ValueError, match="write them before"):
        records.where("age > 3")
    schema = dp.Schema(dict(SCHEMA.columns), unit="who", max_rows=1)
    persons = open_records(ROWS.assign(who=["p", "p", "q", "q", "r"]), schema=schema).with_indicators(["ward"])
    assert len(block_of(persons).x) <= 3


def test_what_cannot_be_is_refused_and_nothing_changes_without_names():
    records = open_records(ROWS, schema=SCHEMA)
    assert records.with_indicators([]) is records
    ball = open_records(np.zeros((3, 2)), bounds=dp.Ball(2.0))
    assert ball.with_indicators([]) is ball
    taken = dp.Schema(dict(SCHEMA.columns) | {"ward=b": dp.Number(0, 1)})
    with pytest.raises(ValueError, match="names that no other column has"):
        open_records(ROWS.assign(**{"ward=b": 0.0}), schema=taken).with_indicators(["ward"])


@pytest.mark.parametrize("ward", [dp.Category(["a"]), dp.Category(["a"], other="a"), dp.Category(["a", "b"])])
def test_the_number_of_rows_is_public_only_where_no_gap_drops_a_row(ward):
    """Also where a category has a single value, and so no column of its own."""
    schema = dp.Schema({"x": dp.Number(-1, 1, missing="fill", fill=0.0), "ward": ward})
    rows = pd.DataFrame({"x": np.zeros(20), "ward": ["a"] * 19 + [None]})
    declared = open_records(rows, schema=schema)
    assert not declared.with_indicators(["ward"]).complete
    filled = dp.Schema(
        {"x": dp.Number(-1, 1, missing="fill", fill=0.0), "ward": dp.Category(["a"], missing="fill", fill="a")}
    )
    assert open_records(rows, schema=filled).with_indicators(["ward"]).complete
    for held in (rows, rows.fillna("a")):
        curator = dp.Curator(held, schema=schema).with_indicators(["ward"])
        with pytest.raises(ValueError, match="number must be public"):
            curator.measure(NoisyRows(curator.space, 20), dp.GaussianLoss(1.0))
