"""Standard errors, intervals and summaries of coefficients."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.arguments import ArgumentError
from effort import size
from goodness import least_successes

REPEATS = size(30, 50)
LEAST = least_successes(REPEATS, 0.93)  # intervals at 0.95 hold with this probability or more


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


@pytest.mark.filterwarnings("ignore:random_state")
def test_coefficients_that_noise_has_drowned_have_infinite_errors():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    model = dp.LinearRegression(epsilon=0.05, bounds=dp.Box(-8, 8), target_bounds=(-40, 40), random_state=0)
    with pytest.warns(UserWarning, match="dominated by noise"):
        model.fit(X, X @ [3.0, -2.0] + 5.0)
    assert not model.identified_.any()
    assert np.isinf(model.standard_errors()).all()
    assert (model.p_values() == 1.0).all()
    assert (model.interval()[0] == -np.inf).all()
    assert str(model.summary()).count("not identified") == 3
    assert "1.000" not in str(model.summary())
    assert model.summary().notes[1].endswith("say about them: const, x0, x1.")
    assert [row["identified"] for row in model.summary().table()] == [False] * 3
    again = type(model).from_json(model.to_json())
    assert np.isinf(again.standard_errors()).all()


@pytest.mark.filterwarnings("ignore:random_state")
def test_of_equal_columns_only_the_others_have_finite_errors():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(20_000, 2))
    X = np.stack([x[:, 0], x[:, 0], x[:, 1]], axis=1)
    model = dp.LinearRegression(epsilon=2.0, bounds=dp.Box(-6, 6), target_bounds=(-30, 30), random_state=0)
    model.fit(X, X @ [1.0, 1.0, -2.0] + rng.normal(size=20_000))
    assert np.isinf(model.standard_errors()[:2]).all()
    assert model.standard_errors()[2] < 0.2
    low, high = model.interval(0.999999)
    assert low[2] < -2.0 < high[2]


@pytest.mark.filterwarnings("ignore:random_state")
def test_a_logistic_fit_that_noise_has_drowned_says_nothing():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < 1.0 / (1.0 + np.exp(-X @ [1.0, -0.5]))).astype(int)
    model = dp.LogisticRegression(
        epsilon=0.05, bounds=dp.Box(-8, 8), classes=[0, 1], inference=True, random_state=0
    ).fit(X, y)
    assert np.isinf(model.standard_errors()[:2]).all()
    assert (model.p_values()[:2] == 1.0).all()


@pytest.mark.filterwarnings("ignore:the fit is dominated by noise")
@pytest.mark.parametrize("logistic", [False, True])
def test_a_summary_names_what_is_modelled_and_the_scales(logistic):
    rng = np.random.default_rng(7)
    declared = {
        "crp": dp.Number(0.1, 100, log=True),
        "age": dp.Number(0, 100),
        "admitted": dp.Date("2022-01-01", "2023-12-31"),
        "back": dp.Category(["no", "yes"]),
    }
    rows = pd.DataFrame(
        {
            "crp": rng.lognormal(1.0, 1.0, 4000),
            "age": rng.uniform(0.0, 100.0, 4000),
            "admitted": np.datetime64("2022-01-01") + rng.integers(0, 700, 4000),
            "back": rng.choice(["no", "yes"], 4000),
        }
    )
    curator = dp.Curator(rows, schema=dp.Schema(declared))
    if logistic:
        table = dp.LogisticRegression(inference=True).fit(curator, "back").summary()
        assert table.facts[:2] == (("Dep. variable", "back"), ("Class modelled", "yes"))
        assert table.names == ("const", "log(crp)", "age", "admitted (days)")
    else:
        table = dp.LinearRegression().fit(curator, "crp").summary()
        assert table.facts[0] == ("Dep. variable", "log(crp)")
        assert table.names == ("const", "age", "admitted (days)")
    assert "Dep. variable:" in str(table)


def test_a_category_that_is_chosen_as_a_feature_is_refused_before_anything_is_spent(tmp_path):
    rng = np.random.default_rng(8)
    wards, back = rng.choice(["a", "b"], 2000), rng.choice(["no", "yes"], 2000)
    rows = pd.DataFrame({"age": rng.uniform(0, 100, 2000), "ward": wards, "back": back})
    declared = {"age": dp.Number(0, 100), "ward": dp.Category(["a", "b"]), "back": dp.Category(["no", "yes"])}
    curator = dp.Curator(rows, schema=dp.Schema(declared), name="visits", ledger=str(tmp_path / "book"))
    model = dp.GaussianClassifier()
    with pytest.raises(ArgumentError, match=r"'ward'.*write only\(\['age', 'back'\]\)"):
        model.fit(curator.only(["age", "ward", "back"]).where("age >= 18"), "back")
    assert not [one for one in curator.ledger.history("visits") if one.losses]
    assert model.fit(curator.only(["age", "back"]), "back").n_features_in_ == 1
