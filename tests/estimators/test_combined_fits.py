"""``dp.combine``: its intervals have their level where those of other rules do not; what is no fit is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaincinv
from scipy.stats import binom

import discreet as dp
from conftest import FALSE_ALARM
from discreet.estimators.combined_fits import CombinedFits

COUNT = 1000


def simulate(tables, ratio, seed=0):
    """Return combined fits of ``COUNT`` quantities, and the truths: posteriors of variance ``ratio``, tables of 1."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.0, np.sqrt(ratio), COUNT)  # given the releases: E Q is 0
    estimates = rng.normal(0.0, np.sqrt(ratio), (tables, COUNT)) + rng.normal(size=(tables, COUNT))
    return dp.combine([(each, np.ones(COUNT)) for each in estimates]), truth


def share_inside(low, high, truth):
    return np.mean((low <= truth) & (truth <= high))


@pytest.mark.parametrize(("tables", "ratio"), [(20, 1.0), (20, 5.0), (10, 20.0), (50, 2.0)])
def test_intervals_hold_the_truth_as_often_as_they_say(tables, ratio):
    combined, truth = simulate(tables, ratio)
    share = share_inside(*combined.interval(0.95), truth)
    # The prior of V + U costs at most a percent here (by a simulation of 20,000 sets: 94.2 to 95.3 %).
    assert binom.ppf(FALSE_ALARM, COUNT, 0.94) / COUNT < share < binom.isf(FALSE_ALARM, COUNT, 0.96) / COUNT


def test_other_rules_do_not():
    combined, truth = simulate(20, 5.0)
    for variance, wrong in (
        (combined.between / 20 + combined.within, (0.0, 0.75)),  # of partially synthetic data: without the noise
        (combined.within, (0.0, 0.7)),  # of one table, as if it were data
    ):
        low, high = (combined.estimates + sign * 1.96 * np.sqrt(variance) for sign in (-1.0, 1.0))
        assert wrong[0] <= share_inside(low, high, truth) < wrong[1]
    combined, truth = simulate(20, 1.0)
    gaps = np.sqrt(1.05 * combined.between + combined.within)
    assert share_inside(combined.estimates - 1.96 * gaps, combined.estimates + 1.96 * gaps, truth) > 0.99


def test_many_tables_have_the_variance_of_raghunathan_reiter_and_rubin():
    combined, _ = simulate(500, 4.0)
    by_rule = np.sqrt((1.0 + 1.0 / 500) * combined.between - combined.within)
    np.testing.assert_allclose(combined.standard_errors, by_rule, rtol=0.01)


@pytest.mark.parametrize("between", [0.05, 0.8, 3.0])
def test_the_mixture_is_that_of_its_draws(between):
    """V + U is drawn as the module says, and Q given it; standard error and interval are those of the draws."""
    m, rng = 12, np.random.default_rng(1)
    combined = CombinedFits(("q",), np.zeros(1), np.array([between]), np.ones(1), m)
    variates = 2.0 * gammaincinv((m - 1) / 2.0, rng.uniform(size=10**5))
    variates = variates[variates <= (m - 1) * between] if between > 0.5 else None
    if variates is None:  # too rare to be drawn: far below W, the density of a χ² variate is a power of it
        variates = (m - 1) * between * rng.uniform(size=10**5) ** (2.0 / (m - 1))
    total = (m - 1) * between / variates
    draws = rng.normal(size=total.size) * np.sqrt((1.0 + 1.0 / m) * total - 1.0)
    np.testing.assert_allclose(combined.standard_errors[0], draws.std(), rtol=0.03)
    np.testing.assert_allclose(combined.interval(0.9)[1][0], np.quantile(np.abs(draws), 0.9), rtol=0.03)


def test_tables_that_agree_or_have_no_error_of_their_own():
    same = dp.combine([(1.0, 0.5)] * 20)
    assert 0.0 < same.standard_errors[0] < 0.5
    exact = dp.combine([(1.0, 0.0)] * 20)
    assert exact.standard_errors[0] == 0.0
    assert exact.interval(0.9) == (1.0, 1.0)
    assert exact.p_values()[0] == 0.0
    estimates = np.random.default_rng(0).normal(size=200)
    large = dp.combine([(one, 0.0) for one in estimates])  # tables so large that only the posterior is left
    assert large.standard_errors[0] == pytest.approx(estimates.std(ddof=1), rel=0.02)
    assert large.interval(0.95)[1][0] - large.estimates[0] == pytest.approx(1.96 * estimates.std(ddof=1), rel=0.02)


def test_p_values_and_intervals_agree():
    rng = np.random.default_rng(2)
    combined = dp.combine([(one, [0.2, 0.2, 0.2]) for one in rng.normal([0.5, 1.0, 2.0], 0.5, (20, 3))])
    for level in (0.5, 0.95, 0.999):
        low, high = combined.interval(level)
        np.testing.assert_array_equal((low <= 0.0) & (high >= 0.0), combined.p_values() >= 1.0 - level)


def test_every_kind_of_fit_is_read():
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(6, 2)), rng.uniform(0.1, 0.2, (6, 2))
    expected = dp.combine(list(zip(*pairs, strict=True)))
    names = ["age", "sex"]
    series = [tuple(pd.Series(part, index=names) for part in pair) for pair in zip(*pairs, strict=True)]
    kinds = {
        "arrays": np.stack(pairs, axis=1),
        "lists": [(one.tolist(), other.tolist()) for one, other in zip(*pairs, strict=True)],
        "statsmodels": [SimpleNamespace(params=one, bse=other) for one, other in series],
        "linearmodels": [SimpleNamespace(params=one, std_errors=other) for one, other in series],
        "lifelines": [SimpleNamespace(params_=one, standard_errors_=other) for one, other in series],
    }
    for kind, fits in kinds.items():
        combined = dp.combine(fits)
        np.testing.assert_array_equal(combined.estimates, expected.estimates)
        np.testing.assert_array_equal(combined.standard_errors, expected.standard_errors)
        assert combined.names == (("x0", "x1") if kind in ("arrays", "lists") else ("age", "sex"))
    assert dp.combine(kinds["arrays"], names=["a", "b"]).names == ("a", "b")
    rows = expected.table(0.9)
    assert [row["coefficient"] for row in rows] == ["x0", "x1"]
    assert "6 synthetic tables" in repr(expected)
    assert "<table>" in expected._repr_html_()


def test_statsmodels_results_are_read():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    fits = []
    for _ in range(5):
        x = pd.DataFrame({"const": 1.0, "age": rng.normal(size=50)})
        fits.append(sm.OLS(2.0 * x["age"] + rng.normal(size=50), x).fit())
    combined = dp.combine(fits)
    assert combined.names == ("const", "age")
    assert combined.estimates[1] == np.mean([fit.params["age"] for fit in fits])
    assert combined.within[1] == pytest.approx(np.mean([fit.bse["age"] ** 2 for fit in fits]))


GOOD = [(1.0, 0.1)] * 6


@pytest.mark.parametrize(
    ("fits", "says"),
    [
        (GOOD[:4], "at least 5"),
        ([*GOOD, (1.0, -0.1)], "fit 6"),
        ([*GOOD, (float("nan"), 0.1)], "converge"),
        ([*GOOD, ([1.0, 2.0], [0.1, 0.1])], "the same estimates"),
        ([*GOOD, ([1.0, 2.0], 0.1)], "as many standard errors"),
        ([*GOOD, ("a", "b")], "numbers"),
        ([*GOOD, 3.0], "a float"),
        ([dp.LinearRegression()] * 6, "a LinearRegression"),
        ("fits", "a list"),
        (None, "a list"),
    ],
)
def test_what_cannot_be_combined_is_refused(fits, says):
    with pytest.raises(dp.ArgumentError, match=says):
        dp.combine(fits)


def test_names_are_as_many_as_estimates():
    with pytest.raises(dp.ArgumentError, match="names"):
        dp.combine(GOOD, names=["a", "b"])
    with pytest.raises(dp.ArgumentError, match="names"):
        dp.combine(GOOD, names=True)
    with pytest.raises(dp.ArgumentError, match="level"):
        dp.combine(GOOD).interval(1.5)
