"""Schemas: what is declared, what counts as missing, and TOML both ways."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import pickle
import tomllib
import uuid
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.records import Box, Category, Date, Number, Schema, Unit
from discreet.records.cells import category_key, read_date, read_number, unit_name
from discreet.records.declared.schema import as_reading
from effort import size
from together import together

EXAMPLE = """
unit = "patient_id"
max_rows = 10
unit_type = "integer"
order = "admitted"

[columns.age]
low = 17
high = 90

[columns.admitted]
low = 2020-01-01
high = 2025-12-31
missing = "fill"
fill = 2020-06-30

[columns.income]
low = 1
high = 1e6
log = true

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
            "admitted": Date("2020-01-01", "2025-12-31", missing="fill", fill="2020-06-30"),
            "income": Number(1, 1e6, log=True),
            "blood pressure": Number(40.5, 250, missing="fill", fill=120),
            "sex": Category(["female", "male"], missing="fill", fill="female"),
            "grade": Category([1, 2, 3]),
        },
        unit="patient_id",
        max_rows=10,
        unit_type="integer",
        order="admitted",
    )


def test_toml_is_read_from_text_and_from_a_file(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    assert Schema.from_toml(EXAMPLE) == Schema.from_toml(path) == Schema.from_toml(str(path)) == example()


def test_a_schema_knows_its_columns():
    schema = example()
    assert schema.names == ("age", "admitted", "income", "blood pressure", "sex", "grade")
    assert list(schema.numbers) == ["age", "admitted", "income", "blood pressure"]
    assert schema.numbers["admitted"].ends == (18262.0, 20453.0)
    assert [column.scale for column in schema.numbers.values()] == ["linear", "date", "log", "linear"]
    assert list(schema.categories) == ["sex", "grade"]
    assert schema["age"] == Number(17, 90)
    with pytest.raises(KeyError):
        schema["weight"]
    assert (schema.unit, schema.max_rows, schema.unit_type, schema.order) == ("patient_id", 10, "integer", "admitted")
    plain = Schema({"sex": Category(["f", "m"])})
    assert plain.numbers == {}
    assert (plain.unit, plain.max_rows, plain.unit_type, plain.order) == (None, None, None, None)
    assert Schema({"a": Number(0, 1)}, unit="id", max_rows=1).unit_type == "text"
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(schema) == hash(example())


def test_a_reading_has_the_bounds_of_cells_and_the_space_of_values():
    schema = example()
    reading = replace(as_reading(schema, 64), unit=Unit.declared("patient_id", 10, "integer", "admitted"))
    assert reading.bounds == Box([17, 18262, 1, 40.5], [90, 20453, 1e6, 250])
    assert reading.space == Box([17, 18262, 0, 40.5], [90, 20453, math.log(1e6), 250])
    assert reading.scales == ("linear", "date", "log", "linear")
    assert reading.fills[1] == 18443.0
    assert reading.order == 1
    assert reading.only(["income"]).space == Box([0.0], [math.log(1e6)])
    assert Schema({"sex": Category(["f", "m"])}).space is None


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
NUMBERS = st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).filter(lambda p: p[1] / 2 - p[0] / 2 > 1e-300)
VALUES = st.lists(
    NAMES | st.integers(1 - 2**53, 2**53 - 1) | st.booleans(), min_size=1, max_size=5, unique_by=category_key
)
POSITIVE = st.tuples(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300)).filter(lambda p: p[1] > 1.001 * p[0])
DAYS = st.tuples(st.dates(), st.dates()).filter(lambda p: p[0] < p[1])
COLUMNS = st.one_of(
    POSITIVE.map(lambda p: Number(*p, log=True)),
    POSITIVE.map(lambda p: Number(*p, missing="fill", fill=p[1], log=True)),
    DAYS.map(lambda p: Date(*p)),
    DAYS.map(lambda p: Date(*p, missing="fill", fill=p[1])),
    NUMBERS.map(lambda p: Number(*p)),
    NUMBERS.map(lambda p: Number(*p, missing="fill", fill=p[0])),
    VALUES.map(Category),
    VALUES.map(lambda values: Category(values, missing="fill", fill=values[-1])),
)


@settings(max_examples=size(60, 200), deadline=None)
@given(
    st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=4),
    NAMES,
    st.integers(1, 99),
    st.sampled_from([None, "text", "integer"]),
    st.booleans(),
)
def test_toml_round_trip(columns, unit, max_rows, unit_type, ordered):
    numeric = [name for name, column in columns.items() if not isinstance(column, Category)]
    order = numeric[-1] if ordered and numeric else None
    whose = {"unit": unit, "max_rows": max_rows, "unit_type": unit_type, "order": order}
    schema = Schema(columns) if unit in columns else Schema(columns, **whose)
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


@together(
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
        (lambda: Number(0, 1, log=True), ["low=0.0 with log=True", "above 0", "Number(1, 1e6, log=True)"]),
        (lambda: Number(-1, 1, log=True), ["low=-1.0 with log=True"]),
        (lambda: Number(1, 2, log=1), ["log=1", "True or False"]),
        (lambda: Date(), ["low=None", "expected a day", "'2020-01-01'"]),
        (lambda: Date("2020-01-01"), ["high=None", "expected a day"]),
        (lambda: Date("2020-01-01", "2020-01-01"), ["low='2020-01-01' is not before high='2020-01-01'", "low < high"]),
        (
            lambda: Date("2021-01-01", "2020-01-01"),
            ["low='2021-01-01' is not before", "Date('2020-01-01', '2025-12-31')"],
        ),
        (lambda: Date("1.1.2020", "2021-01-01"), ["low='1.1.2020'", "datetime.date(2020, 1, 1)"]),
        (lambda: Date("2020-02-30", "2021-01-01"), ["low='2020-02-30'", "expected a day"]),
        (lambda: Date(18262, 20453), ["low=18262", "expected a day"]),
        (lambda: Date("2020-01-01", "2021-01-01T12:00"), ["high='2021-01-01T12:00'", "expected a day"]),
        (lambda: Date(datetime.datetime(2020, 1, 1, 1), "2021-01-01"), ["low=", "expected a day"]),
        (lambda: Date(math.nan, math.inf), ["low=nan", "expected a day"]),
        (lambda: Date("2020-01-01", "2021-01-01", missing="mean"), ["missing='mean'", "'drop', 'fill'"]),
        (lambda: Date("2020-01-01", "2021-01-01", missing="fill"), ["fill=None", "missing='fill', fill='2020-01-01'"]),
        (
            lambda: Date("2020-01-01", "2021-01-01", missing="fill", fill="2022-01-01"),
            ["fill='2022-01-01'", "from low='2020-01-01' to high='2021-01-01'"],
        ),
        (lambda: Date("2020-01-01", "2021-01-01", missing="fill", fill=7), ["fill=7", "expected a day"]),
        (lambda: Date("2020-01-01", "2021-01-01", fill="2020-02-01"), ["with missing='drop'", "missing='fill'"]),
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
        (lambda: Schema({"age": Box(0, 1)}), ["columns['age']", "a Number, a Date or a Category"]),
        (lambda: Schema({3: Number(0, 1)}), ["3 is not text"]),
        (lambda: Schema([("a", Number(0, 1)), ("a", Number(0, 2))]), ["'a' is there twice"]),
        (lambda: Schema({"a": Number(0, 1)}, unit="a", max_rows=1), ["unit='a' is also one of the columns"]),
        (lambda: Schema({"a": Number(0, 1)}, unit="id"), ["max_rows=None", "write for example max_rows="]),
        (lambda: Schema({"a": Number(0, 1)}, max_rows=3), ["max_rows=3 without a unit", "unit='patient_id'"]),
        (
            lambda: Schema({"a": Number(0, 1)}, unit_type="text"),
            ["unit_type='text' without a unit", "unit='patient_id'"],
        ),
        (lambda: Schema({"a": Number(0, 1)}, order="a"), ["order='a' without a unit", "unit='patient_id'"]),
        (
            lambda: Schema({"a": Number(0, 1)}, unit="id", max_rows=1, unit_type="float"),
            ["unit_type='float'", "'text', 'integer'"],
        ),
        (
            lambda: Schema({"a": Number(0, 1)}, unit="id", max_rows=1, unit_type=int),
            ["unit_type=", "'text', 'integer'"],
        ),
        (
            lambda: Schema({"a": Number(0, 1), "c": Category(["x"])}, unit="id", max_rows=1, order="c"),
            ["order='c'", "a declared column of numbers or dates, one of 'a'"],
        ),
        (lambda: Schema({"a": Number(0, 1)}, unit="id", max_rows=1, order="id"), ["order='id'", "one of 'a'"]),
        (lambda: Schema({"a": Number(0, 1)}, unit="id", max_rows=1, order=0), ["order=0", "one of 'a'"]),
        (lambda: Schema({"c": Category(["x"])}, unit="id", max_rows=1, order="c"), ["there are none"]),
        (lambda: Schema({"a": Number(0, 1)}, unit="id", max_rows=0), ["max_rows=0", "at least 1"]),
        (lambda: Schema({"a": Number(0, 1)}, unit=3, max_rows=1), ["unit=3", "name of a column"]),
        (lambda: Schema.from_toml("a = ["), ["not valid TOML"]),
        (lambda: Schema.from_toml("a = 1"), ["'a' is not known", "unit, max_rows, unit_type, order, columns"]),
        (lambda: Schema.from_toml("unit = 'a'"), ["no columns", "[columns.age]"]),
        (lambda: Schema.from_toml("[columns.a]\n"), ["[columns.a]", "low = … and high = …"]),
        (lambda: Schema.from_toml("[columns.a]\nlow = 1\nhigh = 0"), ["[columns.a]", "low < high"]),
        (lambda: Schema.from_toml("[columns.a]\nlow = 1"), ["[columns.a]", "high=None"]),
        (lambda: Schema.from_toml("[columns.a]\nlow=0\nhigh=1\nmising='drop'"), ["'mising' is not known", "missing"]),
        (lambda: Schema.from_toml("[columns.a]\nlow=2020-01-01\nhigh=1"), ["[columns.a]", "high=1", "expected a day"]),
        (lambda: Schema.from_toml("[columns.a]\nlow=2020-01-01\nhigh=2019-01-01"), ["[columns.a]", "low < high"]),
        (
            lambda: Schema.from_toml("[columns.a]\nlow=2020-01-01\nhigh=2021-01-01\nlog=true"),
            ["[columns.a]: the key 'log' is not known", "low, high, missing, fill"],
        ),
        (lambda: Schema.from_toml("[columns.a]\nlow=2020-01-01T07:00:00\nhigh=2021-01-01"), ["low=", "expected a day"]),
        (lambda: Schema.from_toml("[columns.a]\nlow=0\nhigh=1\nlog=true"), ["[columns.a]", "with log=True"]),
        (
            lambda: Schema.from_toml("[columns.a]\nvalues=[1]\nlow=0"),
            ["'low' is not known", "values, other, missing, fill"],
        ),
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


@pytest.mark.parametrize("cell", [*NOTHING, "1_23", "1_0.5"], ids=lambda cell: type(cell).__name__)
def test_what_is_no_number_is_missing(cell):
    assert not math.isfinite(read_number(cell))


@together(
    "cell",
    [
        *(cell for cell in NOTHING if not isinstance(cell, datetime.date)),
        18262,
        18262.0,
        True,
        "18262",
        "2020-1-1",
        "20200101",
        "2020-02-30",
        "2020-W01-1",
        "1.1.2020",
        "2020-01-01T25:00",
        "2020-01-01x",
        "٢٠٢٠-01-01",
        "0000-01-01",
        "10000-01-01",
        datetime.time(1),
        datetime.timedelta(1),
        np.datetime64(2**62, "s"),
        np.datetime64(-(2**62), "s"),
    ],
    ids=lambda cell: type(cell).__name__,
)
def test_what_is_no_date_is_missing(cell):
    assert not math.isfinite(read_date(cell))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2020-01-01", 18262.0),
        (" 2020-01-01 ", 18262.0),
        (b"2020-01-01", 18262.0),
        ("2020-01-01 06:00", 18262.25),
        ("2020-01-01T06:00:00Z", 18262.25),
        ("2020-01-01T06:00:00.000000+06:00", 18262.0),
        ("2020-01-01T00:00:00-0600", 18262.25),
        ("0001-01-01", -719162.0),
        ("9999-12-31", 2932896.0),
        (datetime.date(2020, 1, 1), 18262.0),
        (datetime.datetime(2020, 1, 1, 6), 18262.25),
        (datetime.datetime(2020, 1, 1, 6, tzinfo=datetime.timezone(datetime.timedelta(hours=6))), 18262.0),
        (np.datetime64("2020-01-01"), 18262.0),
        (np.datetime64("2020-01"), 18262.0),
        (np.datetime64("2020-01-01T06", "h"), 18262.25),
        (np.datetime64("2020-01-01T06:00:00.000000999", "ns"), 18262.25),
        (np.datetime64("1969-12-31T23:59:59.999999999", "ns"), -1 / 86_400_000_000),
    ],
)
def test_a_date_is_read_in_whatever_type_it_comes(cell, expected):
    assert read_date(cell) == expected


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
    assert read_number(cell) == expected


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
    assert np.maximum(Category(values).encode(cells), -1).tolist() == codes


@pytest.mark.parametrize("cell", NOTHING, ids=lambda cell: type(cell).__name__)
def test_what_is_no_category_is_missing(cell):
    assert Category(["a", "b"]).encode([cell])[0] < 0
    assert Category([1, 5]).encode([cell])[0] < 0


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


class Tree(str, enum.Enum):  # noqa: UP042
    OAK = "oak"


def test_names_are_told_apart():
    same = {
        "text": [
            [7, "7", np.int32(7), np.uint64(7), decimal.Decimal(7), np.str_("7")],
            ["ann", np.str_("ann")],
            ["oak", Tree.OAK],
            [uuid.UUID(int=5), str(uuid.UUID(int=5))],
            [2**60 + 1, str(2**60 + 1), decimal.Decimal(2**60 + 1)],
            [-(2**200), str(-(2**200))],
        ],
        "integer": [
            [7, "7", "007", " 7", "+7", "7 ", np.int32(7), np.uint64(7), decimal.Decimal(7), np.str_("7")],
            [0, "0", "-0", "+00"],
            [-7, "-7", "-07"],
            [2**60 + 1, str(2**60 + 1)],
            [2**64 - 1, str(2**64 - 1)],
            [-(2**63), str(-(2**63))],
        ],
    }
    apart = {
        "text": [
            "Ann",
            "007",
            "7.0",
            " 7",
            "+7",
            "7e0",
            "1_23",
            "123",
            "true",
            "nan",
            "None",
            " ",
            "é",
            "e\u0301",
            2**60,
        ],
        "integer": [1, 2**60, 2**63, -1],
    }
    for kind, groups in same.items():
        names = [{unit_name(cell, kind) for cell in group} for group in groups]
        assert [len(group) for group in names] == [1] * len(names)
        everything = [next(iter(group)) for group in names] + [unit_name(cell, kind) for cell in apart[kind]]
        assert None not in everything
        assert len(set(everything)) == len(everything)
        assert all(type(name) is str for name in everything)


NOBODY = [
    None,
    math.nan,
    7.5,
    2.0**53,
    0.1,
    True,
    False,
    np.bool_(True),
    np.float32(7),
    "",
    b"ann",
    np.bytes_(b"7"),
    [1],
    {},
    (1, 2),
]
NOBODY += [object(), Strange(), 1j, datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1)]
NOBODY += [np.datetime64("NaT"), np.datetime64(0, "ns"), np.timedelta64(5), "\ud800", 10**5000, math.inf]
NOBODY += [decimal.Decimal("sNaN"), decimal.Decimal("NaN"), decimal.Decimal("7.5"), decimal.Decimal("Infinity")]
NOBODY += [decimal.Decimal("1E+999999999"), decimal.Decimal("1E-999999999")]  # which nobody writes out


@together("cell", NOBODY, ids=lambda cell: type(cell).__name__)
@together("kind", ["text", "integer"])
def test_a_unit_without_a_name_is_missing(cell, kind):
    assert unit_name(cell, kind) is None


@pytest.mark.parametrize(
    "cell",
    [
        "ann",
        "7.0",
        "1e3",
        "1_23",
        "0x7",
        "٣",
        "\u00a07",
        "+",
        "- 7",
        "7 7",
        2**64,
        -(2**63) - 1,
        str(2**64),
        "9" * 5000,
    ],
    ids=lambda cell: str(cell)[:20],
)
def test_what_is_no_whole_number_is_no_name_of_that_type(cell):
    assert unit_name(cell, "integer") is None
    assert unit_name(cell, "text") == str(cell)
