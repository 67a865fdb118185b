"""Mechanisms around a function of one's own: whatever it does, answers are finite and errors do not depend on rows.

Also what the other ``test_mechanisms_*`` files share: all small data sets, and all neighbours of each.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings

import array_api_strict
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet.mechanisms as dm
from discreet import Box, Category, Curator, Number, Schema
from discreet.door import Release, open_rows
from discreet.guarantees import Neighbors
from discreet.ledger import Ledger
from discreet.noise import NotPrivateWarning, SeededBits
from discreet.queries.functions.user_functions import UserFunction

REPLACE, ADD = Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE


def quiet_bits(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return SeededBits(seed)


def data_sets(values, sizes):
    """Return all data sets over some values, rows in order."""
    return [rows for size in sizes for rows in itertools.product(values, repeat=size)]


def neighbours(rows, values, relation):
    """Return all neighbours of a data set: one row replaced, or one gone (the other direction is that one's)."""
    if relation is ADD:
        return [rows[:i] + rows[i + 1 :] for i in range(len(rows))]
    return [(*rows[:i], v, *rows[i + 1 :]) for i in range(len(rows)) for v in values if v != rows[i]]


def pairs(values, sizes, relation):
    """Return all ordered pairs of neighbours."""
    result = {(a, b) for a in data_sets(values, sizes) for b in neighbours(a, values, relation)}
    return sorted(result | {(b, a) for a, b in result})


def as_rows(rows):
    return np.array(rows, dtype=np.float64).reshape(-1, 1)


def hockey_stick(p, q, epsilon):
    """Return the least δ at ε for two vectors of probabilities."""
    return float(np.clip(p - np.exp(epsilon) * q, 0.0, None).sum())


def test_the_pairs_are_neighbours():
    assert len(pairs((0, 1), (1,), REPLACE)) == 2
    assert ((), (1,)) in pairs((0, 1), (1, 2), ADD)
    assert ((1,), ()) in pairs((0, 1), (1, 2), ADD)
    assert all(len(a) == len(b) for a, b in pairs((0, 1, 2), (3,), REPLACE))


def raises(rows):
    if len(rows) != 100:  # the rehearsal has 100
        raise RuntimeError(f"the first row is {rows[:1]}")
    return 0.0


def leaves(rows):
    if len(rows) != 100:
        raise SystemExit(str(rows))
    return 0.0


def warns(rows):
    warnings.warn(f"rows {rows}", stacklevel=1)
    return float(np.log(-1.0 - rows.sum() ** 2))


def sorts(rows):
    rows.sort(axis=0)
    return rows[0, 0] if len(rows) else 0.0


FUNCTIONS = {
    "raises": raises,
    "leaves": leaves,
    "warns": warns,
    "sorts in place": sorts,
    "nan": lambda rows: float("nan"),
    "infinite": lambda rows: float("-inf"),
    "another shape": lambda rows: 1.0 if len(rows) == 100 else np.ones((2, 3)),
    "text": lambda rows: 1.0 if len(rows) == 100 else "secret",
    "none": lambda rows: 1.0 if len(rows) == 100 else None,
    "huge": lambda rows: 1e308 * (1.0 + rows.sum()),
}

MECHANISMS = {
    "output": lambda f, rows, **more: dm.output_perturbation(f, rows, sensitivity=1.0, output=(-2, 7), **more),
    "blocks, mean": lambda f, rows, **more: dm.sample_and_aggregate(f, rows, output=(-2, 7), blocks=3, **more),
    "blocks, median": lambda f, rows, **more: dm.sample_and_aggregate(
        f, rows, output=(-2, 7), blocks=3, aggregate="median", **more
    ),
    "smooth": lambda f, rows, **more: dm.smooth_sensitivity(
        f, lambda rows, beta: f(rows), rows, output=(-2, 7), **more
    ),
    "exponential": lambda f, rows, **more: dm.exponential(
        lambda rows, candidates: [f(rows), 0.0], rows, [1.0, 2.0], sensitivity=1.0, **more
    ),
    "interval": lambda f, rows, **more: dm.exponential_on_interval(
        lambda rows, points: np.full(8, f(rows)), rows, -2, 7, cells=8, sensitivity=1.0, **more
    ),
    "propose": lambda f, rows, **more: dm.propose_test_release(
        f, f, rows, proposal=1.0, output=(-2, 7), delta=1e-6, **more
    ),
}

DATA = {"empty": [], "one row": [0.5], "constant": [0.5] * 7, "some": [0.0, 0.1, 1.0, 0.3, 5.0]}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_whatever_a_function_does_the_answer_is_finite_and_silent(function, mechanism, relation, capsys):
    for rows in DATA.values():
        table = np.array(rows, dtype=np.float64).reshape(-1, 1)
        kept = table.copy()
        answer = MECHANISMS[mechanism](
            FUNCTIONS[function], table, bounds=(0, 1), epsilon=1.0, neighbors=relation, bits=quiet_bits(3)
        )
        assert answer.value is None or np.isfinite(answer.value)
        assert answer.guarantee is None  # the seed
        assert np.array_equal(table, kept)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_function_that_fails_on_made_up_rows_is_refused_before_anything_is_spent(mechanism, tmp_path):
    def wrong(rows):
        return rows["age"]

    ledger = Ledger(tmp_path / "ledger.sqlite")
    curator = Curator(np.zeros((5, 1)), space=Box(0, 1), name="rows", ledger=ledger)
    with pytest.raises(ValueError, match="made-up rows it raised IndexError"):
        MECHANISMS[mechanism](wrong, curator, epsilon=1.0)
    assert len(ledger.history("rows")) == 0
    answer = MECHANISMS[mechanism](lambda rows: rows.sum(), curator, epsilon=1.0)
    assert answer.release.recorded
    assert len(ledger.history("rows")) == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_arguments_raise_the_same_whatever_the_rows(mechanism):
    def message(rows, **more):
        with pytest.raises(ValueError, match=r"expected") as caught:
            MECHANISMS[mechanism](lambda rows: 0.0, rows, **{"bounds": (0, 1), "epsilon": 1.0, **more})
        return str(caught.value)

    for more in ({"epsilon": -1.0}, {"epsilon": float("nan")}, {"bounds": (1, 0)}, {"bits": 3}):
        assert message(np.zeros((4, 1)), **more) == message(np.array([[0.1], [9.0], [1.0], [-5.0]]), **more)


def test_functions_see_rows_inside_of_the_bounds_and_categories_as_numbers():
    seen = []

    def f(rows):
        seen.append(rows)
        return 0.0

    frame = pd.DataFrame({"x": [-5.0, 0.25, 9.0], "c": ["b", "a", "b"]})
    schema = Schema({"x": Number(0, 1, missing="fill", fill=0.5), "c": Category(["a", "b"])})
    dm.output_perturbation(f, frame, schema=schema, sensitivity=1.0, output=(0, 1), epsilon=1.0)
    assert seen[0].shape == (100, 2)  # made up
    assert 0.0 <= seen[0][:, 0].min() < seen[0][:, 0].max() <= 1.0
    assert seen[1].tolist() == [[0.0, 1.0], [0.25, 0.0], [1.0, 1.0]]


def test_a_default_takes_the_place_of_single_numbers_and_of_all():
    own = UserFunction.with_output(lambda rows: [np.nan, 50.0, 1.0], ([0, 0, 0], [2, 2, 2]), default=[0.5, 0.5, 9.0])
    assert own(as_rows([1])).tolist() == [0.5, 2.0, 1.0]
    assert UserFunction.with_output(lambda rows: 1 / 0, (0, 2))(as_rows([1])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"output": 3}, "output=3: expected"),
        ({"output": (2, 1)}, "expected low < high"),
        ({"size": 0}, "size=0"),
        ({"sensitivity": 0}, "sensitivity=0"),
        ({"norm": "l3"}, "norm='l3'"),
        ({"default": float("nan")}, "default=nan"),
        ({"default": "a"}, "default='a': expected a finite number"),
        ({"output": (0, 1e308)}, r"output=\(0, 1e\+308\): expected low < high"),
        ({"output": ([0, 0], [1, 1]), "size": 3}, r"output=.*one or 3 of each"),
        ({"f": 3}, "f=3: expected a function"),
        ({"f": lambda rows: [1.0, 2.0]}, "expected a function that returns one number"),
    ],
)
def test_output_perturbation_says_what_is_wrong(wrong, says):
    given = {"f": lambda rows: 0.0, "sensitivity": 1.0, "output": (0, 1), "epsilon": 1.0, **wrong}
    f = given.pop("f")
    with pytest.raises(ValueError, match=says):
        dm.output_perturbation(f, np.zeros((3, 1)), bounds=(0, 1), **given)


def test_what_rests_on_trust_is_named():
    documented = " ".join(dm.sample_and_aggregate.__doc__.split())
    assert "keeps no state between calls" in " ".join(dm.__doc__.split())
    assert "keeps no state between calls" in documented
    assert "generator that is created outside of f is such state" in documented
    assert "It must not fail" in dm.smooth_sensitivity.__doc__


def test_units_with_several_rows_are_refused_where_nothing_is_proved():
    curator = open_rows(np.zeros((6, 1)), bounds=(0, 1), unit=[0, 0, 1, 1, 2, 2], max_rows=2)
    with pytest.raises(ValueError, match="units of their own"):
        dm.input_perturbation(curator, epsilon=1.0)
    with pytest.raises(ValueError, match="units of their own"):
        dm.smooth_median(curator, epsilon=1.0)
    with pytest.raises(ValueError, match="max_rows=2"):
        dm.smooth_sensitivity(lambda rows: 0.0, lambda rows, beta: 1.0, curator, output=(0, 1), epsilon=1.0)
    with pytest.raises(ValueError, match="max_rows=2"):
        dm.propose_test_release(
            lambda rows: 0.0, lambda rows: 0, curator, proposal=1, output=(0, 1), epsilon=1.0, delta=1e-6
        )
    with pytest.raises(ValueError, match=r"add-remove.*reveal how many"):
        dm.input_perturbation(np.zeros((3, 1)), bounds=(0, 1), epsilon=1.0, neighbors="add-remove")
    with pytest.raises(ValueError, match=r"add-remove.*number of rows as public"):
        dm.smooth_median(np.zeros((3, 1)), bounds=(0, 1), epsilon=1.0, neighbors="add-remove")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_releases_go_through_files(mechanism):
    answer = MECHANISMS[mechanism](lambda rows: 0.5, [0.5, 0.25], bounds=(0, 1), epsilon=1.0)
    loaded = Release.from_json(answer.release.to_json())
    assert loaded.provenance == "loaded"
    assert np.array_equal(loaded.value, answer.release.value)
    assert answer.release.exact == (mechanism != "smooth")


def kinds_of_data(folder):
    frame = pd.DataFrame({"x": np.linspace(0, 1, 200), "y": np.linspace(1, 0, 200)})
    frame.to_parquet(folder / "rows.parquet")
    return [
        frame.to_numpy(),
        array_api_strict.asarray(frame.to_numpy()),
        frame,
        pl.from_pandas(frame),
        folder / "rows.parquet",
        dask.dataframe.from_pandas(frame, npartitions=3),
    ]


def test_all_kinds_of_data_give_the_same(tmp_path):
    bounds = {"x": (0, 1), "y": (0, 1)}
    result = []
    for data in kinds_of_data(tmp_path):
        named = hasattr(data, "columns") or hasattr(data, "exists")
        declared = {"bounds": bounds if named else (0, 1)}
        if hasattr(data, "exists") or hasattr(data, "npartitions"):  # where cells may be missing, it must be said
            declared = {"schema": Schema({name: Number(0, 1, missing="fill", fill=0.5) for name in bounds})}
        result.append(
            [
                dm.output_perturbation(
                    np.mean, data, sensitivity=0.01, output=(0, 1), epsilon=1.0, bits=quiet_bits(1), **declared
                ).value,
                dm.smooth_median(data, 1, epsilon=1.0, bits=quiet_bits(2), **declared).value,
                dm.sample_and_aggregate(np.max, data, output=(0, 1), epsilon=1.0, bits=quiet_bits(3), **declared).value,
                float(dm.input_perturbation(data, epsilon=1.0, bits=quiet_bits(4), **declared).value.sum()),
            ]
        )
    assert all(np.allclose(answers, result[0], rtol=1e-12) for answers in result)


def test_importing_pulls_in_nothing_heavy():
    code = "import sys, discreet.mechanisms; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not set(run.stdout.split()) & {"numba", "scipy.optimize", "scipy.stats", "sklearn", "dp_accounting", "dask"}
