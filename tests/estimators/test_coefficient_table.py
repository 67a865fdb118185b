"""Standard errors, intervals and summaries of coefficients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import discreet as dp
from discreet.arguments import ArgumentError

REPEATS, LEAST = 50, 32  # a false alarm below 1e-9 where intervals hold with probability 0.93


def _rows(rng, logistic):
    X = rng.normal(size=(2000, 2))
    line = X @ [1.0, -0.5] + 0.5
    y = (rng.random(2000) < 1.0 / (1.0 + np.exp(-line))).astype(int) if logistic else line + rng.normal(size=2000)
    return X, y


def _model(logistic, **more):
    if logistic:
        return dp.LogisticRegression(bounds=dp.Box(-5, 5), classes=[0, 1], inference=True, **more)
    return dp.LinearRegression(bounds=dp.Box(-5, 5), target_bounds=(-8, 8), **more)


@pytest.mark.parametrize("logistic", [False, True])
def test_intervals_hold_the_coefficients_of_the_population(logistic):
    rng, held = np.random.default_rng(0), np.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(REPEATS):
            low, high = _model(logistic, random_state=seed).fit(*_rows(rng, logistic)).interval()
            held += (low <= [1.0, -0.5, 0.5]) & (high >= [1.0, -0.5, 0.5])
    assert held.min() >= LEAST


@pytest.mark.parametrize("logistic", [False, True])
def test_a_summary_is_shown_as_text_html_and_table(logistic):
    model = _model(logistic, epsilon=3.0).fit(*_rows(np.random.default_rng(1), logistic))
    summary = model.summary(0.9)
    assert [row["coefficient"] for row in summary.table()] == ["const", "x0", "x1"]
    text = str(summary)
    assert "P>|z|" in text
    assert "[0.05" in text
    assert "0.95]" in text
    assert "<table>" in summary._repr_html_()
    assert (model.standard_errors("rows") < model.standard_errors()).all()
    assert model.p_values()[0] < 0.01
    again = type(model).from_json(model.to_json())
    assert str(again.summary(0.9)) == text


def test_without_an_intercept_there_is_no_constant():
    X, y = _rows(np.random.default_rng(2), False)
    model = dp.LinearRegression(bounds=dp.Box(-5, 5), target_bounds=(-8, 8), fit_intercept=False).fit(X, y)
    assert model.summary().names == ("x0", "x1")


def test_what_cannot_be_inferred_is_refused():
    X, y = _rows(np.random.default_rng(3), True)
    plain = dp.LogisticRegression(bounds=dp.Box(-5, 5), classes=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="inference=True"):
        plain.summary()
    with pytest.raises(ArgumentError, match="expected method='objective'"):
        dp.LogisticRegression(bounds=dp.Box(-5, 5), classes=[0, 1], inference=True, method="output").fit(X, y)
    with pytest.raises(ArgumentError, match="two classes"):
        dp.LogisticRegression(bounds=dp.Box(-5, 5), classes=[0, 1, 2], inference=True).fit(X, y)
    with pytest.raises(ArgumentError, match="of='sample'"):
        plain.interval(of="sample")
