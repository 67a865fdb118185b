"""An argument's error is a value: its fields, its text, and copies of it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.arguments import UNSHOWN, ArgumentError, choice, suggest_name

ERRORS = {
    "epsilon=-1: expected a finite number above 0; write epsilon=1.0": ArgumentError(
        "epsilon", -1, "a finite number above 0", write="epsilon=1.0"
    ),
    "where='age > 1': expected text": ArgumentError("where", "age > 1", "text"),
    "ledger: expected a path": ArgumentError("ledger", UNSHOWN, "a path"),
    "gap=None: expected a number": ArgumentError("gap", None, "a number"),
    "epsilon=1.0, share='a': expected one of them": ArgumentError(("epsilon", "share"), (1.0, "a"), "one of them"),
    "coef_, noise_: expected 2 numbers each": ArgumentError("coef_, noise_", UNSHOWN, "2 numbers each"),
    "losses[(1, 2)]=(3, 4): expected a count": ArgumentError("losses[(1, 2)]", (3, 4), "a count"),
    "question 2 (mean of x): epsilon=1.0, share='a': expected one of them": ArgumentError(
        ("epsilon", "share"), (1.0, "a"), "one of them"
    ).in_question(2, "mean of x"),
}


@pytest.mark.parametrize("text", ERRORS)
@pytest.mark.parametrize(
    "copied", [lambda error: error, copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_the_text_follows_from_the_fields_and_both_survive_copies(text, copied):
    error, again = ERRORS[text], copied(ERRORS[text])
    assert (type(again), str(again), again.args) == (ArgumentError, text, (text,))
    for field in ("argument", "value", "given", "expected", "write", "question"):
        assert getattr(again, field) == getattr(error, field)
    head = again.argument if again.value is None or len(again.given) > 1 else f"{again.argument}={again.value}"
    write = "" if again.write is None else f"; write {again.write}"
    assert len(again.given) > 1 or str(again) == f"{head}: expected {again.expected}{write}"


def test_fields_of_one_and_of_several_arguments():
    one, _, _, _, several, *_ = ERRORS.values()
    assert (one.argument, one.value, one.expected, one.write) == (
        "epsilon",
        "-1",
        "a finite number above 0",
        "epsilon=1.0",
    )
    assert (several.argument, several.given) == ("epsilon, share", {"epsilon": "1.0", "share": "'a'"})
    with pytest.raises(ValueError, match="shorter"):
        ArgumentError(("epsilon", "share"), (1.0,), "one of them")


def test_no_value_is_held_whatever_it_is():
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    rows = np.arange(10.0**5)
    assert len(ArgumentError("X", rows, "few").value) < 300
    assert ArgumentError("X", Silent(), "few").value == "<Silent>"
    assert pickle.loads(pickle.dumps(ArgumentError("X", Silent(), "few"))).value == "<Silent>"
    assert not any(value is rows for value in vars(ArgumentError("X", rows, "few")).values())


def test_users_catch_it_as_a_value_error_of_the_library():
    with pytest.raises(dp.ArgumentError) as caught:
        dp.Guarantee(-1.0, 1e-6)
    assert (caught.value.argument, caught.value.value) == ("epsilon", "-1.0")
    assert isinstance(caught.value, ValueError)


def test_a_name_that_is_nearly_right_is_asked_after():
    with pytest.raises(
        ArgumentError, match=r"method='Exakt': expected one of 'linear', 'exact'; did you mean 'exact'\?"
    ):
        choice("method", "Exakt", ["linear", "exact"])
    assert [suggest_name(name, ["age", "hours"]) for name in (3, None, "", "x", "age")] == [""] * 5


def test_rows_in_the_wrong_place_are_not_shown():
    for rows in (np.full((3, 2), 1234.5), pd.DataFrame({"a": [1234.5]})):
        assert "1234" not in str(ArgumentError("loss", rows, "a loss"))
    assert "0.5" in str(ArgumentError("loss", np.float64(0.5), "a loss"))
