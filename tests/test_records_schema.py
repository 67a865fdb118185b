"""Schemas: what is declared, what counts as missing, and TOML both ways."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import pickle
import tomllib
import uuid

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.records import Box, Category, Number, Schema
from discreet.records.cells import category_key, number, unit_key

EXAMPLE = """
unit = "patient_id"
max_rows = 10

[columns.age]
low = 17
high = 90

[columns."blood pressure"]
low = 40.5
high = 250
missing = "fill"
fill = 120

[columns.sex]
values = ["female", "male"]
missing = "fill"
fill = "female"

[columns.grade]
values = [1, 2, 3]
"""


def example() -> Schema:
    return Schema(
        {
            "age": Number(17, 90),
            "blood pressure": Number(40.5, 250, missing="fill", fill=120),
            "sex": Category(["female", "male"], missing="fill", fill="female"),
            "grade": Category([1, 2, 3]),
        },
        unit="patient_id",
        max_rows=10,
    )


def test_toml_is_read_from_text_and_from_a_file(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    assert Schema.from_toml(EXAMPLE) == Schema.from_toml(path) == Schema.from_toml(str(path)) == example()


def test_a_schema_knows_its_columns():
    schema = example()
    assert schema.names == ("age", "blood pressure", "sex", "grade")
    assert schema.space == Box([17, 40.5], [90, 250])
    assert list(schema.categories) == ["sex", "grade"]
    assert schema["age"] == Number(17, 90)
    with pytest.raises(KeyError):
        schema["weight"]
    assert Schema({"sex": Category(["f", "m"])}).space is None
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(schema) == hash(example())


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
NUMBERS = st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).filter(lambda p: p[1] / 2 - p[0] / 2 > 1e-300)
VALUES = st.lists(
    NAMES | st.integers(1 - 2**53, 2**53 - 1) | st.booleans(), min_size=1, max_size=5, unique_by=category_key
)
COLUMNS = st.one_of(
    NUMBERS.map(lambda p: Number(*p)),
    NUMBERS.map(lambda p: Number(*p, missing="fill", fill=p[0])),
    VALUES.map(Category),
    VALUES.map(lambda values: Category(values, missing="fill", fill=values[-1])),
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=4), NAMES, st.integers(1, 99))
def test_toml_round_trip(columns, unit, max_rows):
    schema = Schema(columns) if unit in columns else Schema(columns, unit=unit, max_rows=max_rows)
    text = schema.to_toml()
    again = Schema.from_toml(text)
    assert again == schema
    assert again.to_toml() == text
    assert list(tomllib.loads(text)["columns"]) == list(schema.names)
    for name in schema.names:  # 1 and True are equal in Python, not in a file
        assert repr(again[name]) == repr(schema[name])


def test_a_name_that_toml_cannot_hold_is_an_error():
    with pytest.raises(ValueError, match="surrogate"):
        Schema({"\ud800": Number(0, 1)}).to_toml()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Number(), ["low=None", "never taken from the rows"]),
        (lambda: Number(5, 1), ["low=5.0 is not below high=1.0"]),
        (lambda: Number([0, 1], 2), ["one number each", "Number(0, 120)"]),
        (lambda: Number(0, 1, missing="mean"), ["missing='mean'", "'drop', 'fill'"]),
        (lambda: Number(0, 1, missing="fill"), ["fill=None", "missing='fill', fill=40"]),
        (lambda: Number(0, 1, missing="fill", fill=math.nan), ["fill=nan"]),
        (lambda: Number(0, 1, missing="fill", fill=2), ["fill=2", "from low=0.0 to high=1.0"]),
        (lambda: Number(0, 1, missing="fill", fill="0.5"), ["fill='0.5'", "expected a number"]),
        (lambda: Number(0, 1, fill=0.5), ["fill=0.5 with missing='drop'", "missing='fill'"]),
        (lambda: Category(), ["values=None", "public categories", "Category(['female', 'male'])"]),
        (lambda: Category("abc"), ["values='abc'", "Category(["]),
        (lambda: Category([]), ["values=()", "at least one"]),
        (lambda: Category([1.5]), ["values=(1.5,)", "whole number"]),
        (lambda: Category([None]), ["values=(None,)"]),
        (lambda: Category(["a", "b", "a"]), ["'a' and 'a' are one category"]),
        (lambda: Category([1, "1"]), ["1 and '1' are one category"]),
        (lambda: Category([True, 1]), ["True and 1 are one category"]),
        (lambda: Category([1, 2**53]), ["values: 9007199254740992 is too large", "2**53", "write text"]),
        (lambda: Category([-(2**60)]), ["is too large", "write text"]),
        (lambda: Category(["a"], missing="fill"), ["fill=None", "missing='fill', fill='a'"]),
        (lambda: Category(["a"], missing="fill", fill="b"), ["fill='b'", "['a']"]),
        (lambda: Schema(), ["columns=None", "Schema({"]),
        (lambda: Schema({}), ["columns={}", "Schema({"]),
        (lambda: Schema("age"), ["columns='age'", "Schema({"]),
        (lambda: Schema({"age": Box(0, 1)}), ["columns['age']", "Number or a Category"]),
        (lambda: Schema({3: Number(0, 1)}), ["3 is not text"]),
        (lambda: Schema([("a", Number(0, 1)), ("a", Number(0, 2))]), ["'a' is there twice"]),
        (lambda: Schema({"a": Number(0, 1)}, unit="a", max_rows=1), ["unit='a' is also one of the columns"]),
        (lambda: Schema({"a": Number(0, 1)}, unit="id"), ["max_rows=None", "write for example max_rows="]),
        (lambda: Schema({"a": Number(0, 1)}, max_rows=3), ["max_rows=3 without a unit", "unit='patient_id'"]),
        (lambda: Schema({"a": Number(0, 1)}, unit="id", max_rows=0), ["max_rows=0", "at least 1"]),
        (lambda: Schema({"a": Number(0, 1)}, unit=3, max_rows=1), ["unit=3", "name of a column"]),
        (lambda: Schema.from_toml("a = ["), ["not valid TOML"]),
        (lambda: Schema.from_toml("a = 1"), ["'a' is not known", "unit, max_rows, columns"]),
        (lambda: Schema.from_toml("unit = 'a'"), ["no columns", "[columns.age]"]),
        (lambda: Schema.from_toml("[columns.a]\n"), ["[columns.a]", "low = … and high = …"]),
        (lambda: Schema.from_toml("[columns.a]\nlow = 1\nhigh = 0"), ["[columns.a]", "low < high"]),
        (lambda: Schema.from_toml("[columns.a]\nlow = 1"), ["[columns.a]", "high=None"]),
        (lambda: Schema.from_toml("[columns.a]\nlow=0\nhigh=1\nmising='drop'"), ["'mising' is not known", "missing"]),
        (lambda: Schema.from_toml("[columns.a]\nvalues=[1]\nlow=0"), ["'low' is not known", "values, missing, fill"]),
    ],
)
def test_an_error_says_what_to_write(make, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        make()
    for word in words:
        assert word in str(error.value)


class Strange:
    """A cell that fails at whatever is asked of it."""

    def __fail(self, *_):
        raise RuntimeError("secret")

    __eq__ = __ne__ = __float__ = __hash__ = __bool__ = __str__ = __repr__ = __int__ = __index__ = __fail


NOTHING = [None, math.nan, math.inf, -math.inf, "", "n/a", "nan", "inf", "1e999", b"\xff", [1], {}, object(), Strange()]
NOTHING += [datetime.date(2020, 1, 1), np.datetime64("NaT"), np.timedelta64(5), np.timedelta64("NaT"), 10**400, 1j]
NOTHING += [decimal.Decimal("sNaN"), decimal.Decimal("Infinity"), np.array([1.0, 2.0]), np.float32("nan")]


@pytest.mark.parametrize("cell", NOTHING, ids=lambda cell: type(cell).__name__)
def test_what_is_no_number_is_missing(cell):
    assert math.isnan(number(cell))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (3, 3.0),
        (True, 1.0),
        (np.bool_(False), 0.0),
        ("3.5", 3.5),
        (" 4 ", 4.0),
        (b"2", 2.0),
        ("TRUE", 1.0),
        ("1e3", 1e3),
        (np.float32(0.5), 0.5),
        (np.int8(-3), -3.0),
        (decimal.Decimal("1.25"), 1.25),
        (2**70, 2.0**70),
    ],
)
def test_a_number_is_read_in_whatever_type_it_comes(cell, expected):
    assert number(cell) == expected


@pytest.mark.parametrize(
    ("values", "cells", "codes"),
    [
        (["oak", "elm"], ["elm", "oak", "ash", None, math.nan, "", b"oak", 1], [1, 0, -1, -1, -1, -1, 0, -1]),
        ([1, 2, 3], [1, 2.0, "3", "3.0", "03", np.int8(2), 2.5, "x", None], [0, 1, 2, 2, 2, 1, -1, -1, -1]),
        (["1", "2"], [1, 2.0, "1", "1.0", 3], [0, 1, 0, 0, -1]),
        ([False, True], [True, False, 1, 0.0, "true", "False", np.bool_(True), "yes"], [1, 0, 1, 0, 1, 0, 1, -1]),
        ([2**53 - 2, 2**53 - 1], [2**53 - 2, 2.0**53 - 1, f"{2**53 - 1}.0", decimal.Decimal(2**53 - 1)], [0, 1, 1, 1]),
        ([str(2**60), str(2**60 + 1)], [str(2**60), str(2**60 + 1), 2**60, 2.0**60, f"{2**60}.0"], [0, 1, -1, -1, -1]),
        (["9" * 5000], ["9" * 5000, None, math.nan, "x", 10**400], [0, -1, -1, -1, -1]),
        (["nan", "inf"], ["nan", "inf", math.nan, math.inf], [0, 1, -1, -1]),
    ],
)
def test_a_category_is_found_in_whatever_type_it_comes(values, cells, codes):
    assert Category(values).encode(cells).tolist() == codes


@pytest.mark.parametrize("cell", NOTHING, ids=lambda cell: type(cell).__name__)
def test_what_is_no_category_is_missing(cell):
    assert Category(["a", "b"]).encode([cell]).tolist() == [-1]
    assert Category([1, 5]).encode([cell]).tolist() == [-1]


def test_members_of_enumerations_are_declared_as_what_they_are():
    class Grade(enum.IntEnum):
        LOW = 1
        HIGH = 2

    class Tree(str, enum.Enum):  # noqa: UP042
        OAK = "oak"

    category = Category([Grade.LOW, Grade.HIGH, Tree.OAK, np.str_("elm")], missing="fill", fill=Grade.HIGH)
    assert list(map(type, category.values)) == [int, int, str, str]
    schema = Schema({"c": category})
    assert Schema.from_toml(schema.to_toml()) == schema
    assert category.encode([2, "oak", None]).tolist() == [1, 2, -1]


INSTANT = datetime.datetime(2020, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))


def test_units_are_told_apart():
    same = [
        [7, 7.0, "7", "007", "7.0", " 7", "+7", "7e0", np.int32(7), np.float32(7), decimal.Decimal(7)],
        [7.25, "7.25", "07.250", b"7.25", decimal.Decimal("7.250")],
        ["ann", b"ann", np.str_("ann"), np.bytes_(b"ann")],
        [0.1, "0.1", decimal.Decimal("0.1")],
        [uuid.UUID(int=5), str(uuid.UUID(int=5))],
        [1, True, "True", "true", "1"],
        [2**60 + 1, str(2**60 + 1), f"{2**60 + 1}.0", decimal.Decimal(2**60 + 1)],
        [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), np.datetime64("2020-01-01"), INSTANT],
        [datetime.timedelta(hours=1), np.timedelta64(60, "m"), np.timedelta64(3600 * 10**9, "ns"), datetime.time(1)],
        [datetime.timedelta.max, datetime.timedelta.max - datetime.timedelta()],
        [0, False, -0.0],
    ]
    apart = ["Ann", b"\xff", 2**60, 7.5, datetime.date(2020, 1, 2), math.inf, "", np.datetime64(2**62, "s")]
    apart += [np.datetime64(2**62, "ms"), np.datetime64(0, "ns"), np.timedelta64(0, "ns"), np.datetime64(1, "ns")]
    keys = [{unit_key(cell) for cell in group} for group in same]
    assert [len(group) for group in keys] == [1] * len(same)
    everything = [next(iter(group)) for group in keys] + [unit_key(cell) for cell in apart]
    assert None not in everything
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize(
    "cell",
    [
        None,
        math.nan,
        np.datetime64("NaT"),
        decimal.Decimal("sNaN"),
        decimal.Decimal("NaN"),
        [1],
        {},
        object(),
        Strange(),
    ],
    ids=lambda cell: type(cell).__name__,
)
def test_a_unit_without_a_name_is_missing(cell):
    assert unit_key(cell) is None
