"""Values that no function asked for: what callers hand over by mistake, and what an attacker would."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import discreet as dp

__all__ = ["Boom", "Value", "hostile", "itself", "json_values"]


class Boom(Exception):  # noqa: N818  # what a caller's own object raises; it may pass through, for it is the caller's
    """What a hostile object raises when somebody looks at it."""


def _boom(*_: Any, **__: Any) -> Any:
    raise Boom


class RaisesWhenCompared:
    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = _boom
    __hash__ = object.__hash__


class RaisesWhenRead:
    __array__ = __len__ = __iter__ = __getitem__ = __float__ = __index__ = _boom


class SaysAnything:
    """An object with every attribute, none of them what it should be."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return 7


@dataclass(frozen=True)
class Value:
    """A value to hand over, made anew each time; its label is what a failure shows."""

    label: str
    make: Callable[[], Any]

    def __repr__(self) -> str:
        return self.label


def _values(**makers: Callable[[], Any]) -> list[Value]:
    return [Value(label, make) for label, make in makers.items()]


def _nested(depth: int) -> Any:
    result: Any = [1.0]
    for _ in range(depth):
        result = [result]
    return result


def itself() -> list[Any]:
    result: list[Any] = []
    result.append(result)
    return result


def _pandas(make: Callable[[Any], Any]) -> Callable[[], Any]:
    def made() -> Any:
        import pandas as pd

        return make(pd)

    return made


def _polars(make: Callable[[Any], Any]) -> Callable[[], Any]:
    def made() -> Any:
        import polars as pl

        return make(pl)

    return made


SCALARS = _values(
    none=lambda: None,
    true=lambda: True,
    false=lambda: False,
    nan=lambda: math.nan,
    inf=lambda: math.inf,
    minus_inf=lambda: -math.inf,
    huge=lambda: 1e308,
    tiny=lambda: 5e-324,
    small=lambda: 1e-300,
    minus_zero=lambda: -0.0,
    zero=lambda: 0,
    minus_one=lambda: -1,
    half=lambda: 0.5,
    one=lambda: 1,
    two=lambda: 2,
    beyond_64_bits=lambda: 2**70,
    largest_int64=lambda: 2**63 - 1,
    five_thousand_digits=lambda: 10**5000,
    minus_five_thousand_digits=lambda: -(10**5000),
    complex_number=lambda: 1 + 2j,
    numpy_nan=lambda: np.float32("nan"),
    numpy_int=lambda: np.int8(-3),
    numpy_bool=lambda: np.True_,
    numpy_complex=lambda: np.complex64(1j),
    decimal=lambda: Decimal("NaN"),
    fraction=lambda: Fraction(1, 3),
    date=lambda: date(2020, 2, 29),
    datetime64=lambda: np.datetime64("NaT"),
)
TEXTS = _values(
    empty_text=lambda: "",
    blank=lambda: " \t\n",
    nul="a\0b".__str__,
    lone_surrogate=lambda: "\ud800",
    right_to_left=lambda: "\u202eegA",
    combining=lambda: "a" + "\u0301" * 50,
    long_text=lambda: "x" * 100_000,
    many_brackets=lambda: "(" * 5000,
    digits=lambda: "9" * 5000,
    quotes=lambda: "'; DROP TABLE people; --",
    markup=lambda: "<script>alert(1)</script>{{7*7}}%s%n{0}",
    number_text=lambda: "1.5",
    bytes_=lambda: b"\xff\x00",
    bytearray_=lambda: bytearray(b"1.5"),
    no_such_path=lambda: Path("no/such/file.parquet"),
    folder=lambda: Path("."),
    json_text=lambda: '{"kind": "Popen"}',
)
CONTAINERS = _values(
    empty_list=list,
    empty_tuple=tuple,
    empty_dict=dict,
    a_set=lambda: {1, 2},
    generator=lambda: (number for number in range(3)),
    iterator=lambda: iter([1.0, 2.0]),
    ragged=lambda: [[1.0, 2.0], [3.0]],
    mixed=lambda: [1.0, "a", None],
    pair_backwards=lambda: (5.0, 1.0),
    pair=lambda: (0.0, 1.0),
    pair_of_nan=lambda: (math.nan, math.nan),
    pair_of_text=lambda: ("a", "b"),
    triple=lambda: (1.0, 2.0, 3.0),
    wide_pair=lambda: (-1e308, 1e308),
    deep_list=lambda: _nested(3000),
    list_of_itself=itself,
    odd_mapping=lambda: {None: 1, 1: None, (2,): "x"},
    mapping_of_mappings=lambda: {"age": {"low": 0}},
    mapping_of_nan=lambda: {"age": (math.nan, 1.0)},
    a_range=lambda: range(0),
    endless_mapping=lambda: {"kind": {"kind": {"kind": []}}},
)
ARRAYS = _values(
    scalar_array=lambda: np.array(1.0),
    empty_array=lambda: np.empty((0,)),
    no_rows=lambda: np.empty((0, 2)),
    no_columns=lambda: np.empty((5, 0)),
    one_row=lambda: np.zeros((1, 2)),
    three_dimensions=lambda: np.zeros((2, 2, 2)),
    many_columns=lambda: np.zeros((3, 7)),
    text_array=lambda: np.array([["a", "b"], ["c", "d"]]),
    object_array=lambda: np.array([[None, {}], ["x", 1.0]], dtype=object),
    complex_array=lambda: np.zeros((3, 2), dtype=complex),
    bool_array=lambda: np.zeros((3, 2), dtype=bool),
    date_array=lambda: np.zeros((3, 2), dtype="M8[s]"),
    nan_array=lambda: np.full((3, 2), np.nan),
    inf_array=lambda: np.full((3, 2), np.inf),
    huge_array=lambda: np.full((3, 2), 1e308),
    float16=lambda: np.ones((3, 2), dtype=np.float16),
    int_array=lambda: np.arange(6).reshape(3, 2),
    record_array=lambda: np.zeros(3, dtype=[("a", float)]),
    masked=lambda: np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]),
    matrix_not_square=lambda: np.ones((2, 3)),
    strided=lambda: np.zeros((6, 4))[::2, ::2],
    read_only=lambda: np.frombuffer(b"\0" * 32).reshape(2, 2),
    duplicated_names=_pandas(lambda pd: pd.DataFrame([[1.0, 2.0]], columns=["age", "age"])),
    odd_names=_pandas(lambda pd: pd.DataFrame([[1.0, 2.0]], columns=["", None])),
    names_of_two_levels=_pandas(lambda pd: pd.DataFrame([[1.0]], columns=pd.MultiIndex.from_tuples([("a", "b")]))),
    empty_frame=_pandas(lambda pd: pd.DataFrame()),
    text_frame=_pandas(lambda pd: pd.DataFrame({"age": ["x", "y"], "hours": ["1", "2"]})),
    frame=_pandas(lambda pd: pd.DataFrame({"age": [30.0, 40.0], "hours": [20.0, 30.0]})),
    frame_with_gaps=_pandas(lambda pd: pd.DataFrame({"age": [30.0, None], "hours": [None, 30.0]})),
    series=_pandas(lambda pd: pd.Series([1.0, None])),
    polars_frame=_polars(lambda pl: pl.DataFrame({"age": [1, None], "hours": ["a", "b"]})),
    lazy_frame=_polars(lambda pl: pl.LazyFrame({"age": [1.0]})),
)
OBJECTS = _values(
    plain_object=object,
    a_class=lambda: dict,
    a_function=lambda: len,
    raises_when_compared=RaisesWhenCompared,
    raises_when_read=RaisesWhenRead,
    says_anything=SaysAnything,
    not_implemented=lambda: NotImplemented,
    dots=lambda: ...,
    box=lambda: dp.Box(0, 1),
    three_columns=lambda: dp.Box([0, 0, 0], [1, 1, 1]),
    ball=lambda: dp.Ball(1.0),
    guarantee=lambda: dp.Guarantee(1.0, 1e-6),
    other_relation=lambda: dp.Guarantee(0.1, 1e-6, "add-remove"),
    large_promise=lambda: dp.Guarantee(1e308, 0.0),
    loss=lambda: dp.GaussianLoss(0.1),
    large_loss=lambda: dp.GaussianLoss(1e308),
    small_loss=lambda: dp.PureLoss(5e-324),
    other_loss=lambda: dp.ZcdpLoss(0.1, "add-remove"),
    unfitted=lambda: dp.GaussianMixture(),
    an_estimator_class=lambda: dp.KMeans,
    schema=lambda: dp.Schema({"age": dp.Number(0, 1)}),
    noise=lambda: dp.noise.GaussianNoise(1.0),
)
ALL = [*SCALARS, *TEXTS, *CONTAINERS, *ARRAYS, *OBJECTS]


@cache
def json_values() -> st.SearchStrategy[Any]:
    """Return whatever JSON can hold, and a little more."""
    numbers = st.integers(-(2**20), 2**12) | st.integers(2**62, 2**80)  # none between: so many draws take their time
    leaves = st.none() | st.booleans() | numbers | st.floats() | st.text(max_size=8)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
        max_leaves=8,
    )


@cache
def hostile() -> st.SearchStrategy[Value]:
    """Return hostile values: mostly the listed ones, some made up."""
    made_up = st.one_of(st.floats(), st.integers(-(2**20), 2**12), st.text(max_size=20), json_values())
    listed = st.sampled_from(ALL)
    return st.one_of(listed, listed, listed, listed, made_up.map(lambda result: Value(f"<{result!a}>", lambda: result)))
