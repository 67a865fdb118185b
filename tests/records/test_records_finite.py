"""The owner's check: the first column with a NaN, an infinity or text is named, and no value is shown."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_records_sources import TABLES

from discreet.records import check_finite

BAD = [(math.nan, "NaN"), (math.inf, "infinity"), (-math.inf, "infinity")]


@pytest.mark.parametrize(("value", "word"), BAD)
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_the_column_of_a_table_is_named(kind, value, word, tmp_path):
    check_finite(TABLES[kind]({"age": [1.0, 2.0], "n": [1, 2], "ok": [True, False]}, tmp_path))
    with pytest.raises(ValueError, match=f"the column 'weight' holds .*{word}"):
        check_finite(TABLES[kind]({"age": [1.0, 2.0], "weight": [3.0, value]}, tmp_path))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_text_and_nulls_are_named_and_not_shown(kind, tmp_path):
    with pytest.raises(ValueError, match="the column 'name' holds text") as error:
        check_finite(TABLES[kind]({"age": [1.0], "name": ["secret"]}, tmp_path))
    assert "secret" not in str(error.value)
    with pytest.raises(ValueError, match="the column 'n' holds NaN or missing"):
        check_finite(TABLES[kind]({"age": [1.0, 2.0], "n": [1, None]}, tmp_path))
    check_finite(TABLES[kind]({"age": [1.0], "name": ["secret"]}, tmp_path), columns=["age"])
    with pytest.raises(ValueError, match="'height' is not in the data: expected one of 'age'"):
        check_finite(TABLES[kind]({"age": [1.0]}, tmp_path), columns=["height"])


@pytest.mark.parametrize(("value", "word"), BAD)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_the_column_of_an_array_is_named(value, word, dtype):
    data = np.array([[1.0, 2.0], [3.0, value]], dtype=dtype)
    with pytest.raises(ValueError, match=f"'x1' holds .*{word}"):
        check_finite(data)
    with pytest.raises(ValueError, match="'weight' holds"):
        check_finite(data, columns=["age", "weight"])
    check_finite(data[:1])


def test_objects_that_are_no_numbers_are_named():
    for value, word in (("secret", "text"), (None, "missing"), ([1], "not numbers"), (True, None), (3, None)):
        data = np.empty((1, 2), dtype=object)
        data[0, 0], data[0, 1] = 1.0, value
        if word is None:
            check_finite(data)
        else:
            with pytest.raises(ValueError, match=f"'x1' holds .*{word}"):
                check_finite(data)
    with pytest.raises(ValueError, match="not numbers"):
        check_finite(np.array([[1j]]))


def test_tensors_are_checked_where_they_are():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    check_finite(torch.ones((2, 2), dtype=torch.int32))
    with pytest.raises(ValueError, match="'x0' holds infinity"):
        check_finite(torch.asarray([[math.inf, 1.0]]))


def test_shapes_and_names_must_fit():
    with pytest.raises(ValueError, match="reshape"):
        check_finite(np.zeros(3))
    with pytest.raises(ValueError, match="columns has 1 names: expected 2"):
        check_finite(np.zeros((3, 2)), columns=["a"])
