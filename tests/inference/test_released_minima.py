"""Minima with noise in their objective, as noisy sums: the default logistic regression and support vectors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2

import discreet as dp
from conftest import FALSE_ALARM
from discreet.inference.clt.determinants import DRAWS, compute_determinant_slope
from discreet.inference.clt.reference import Problem, Reference, find_reference
from discreet.inference.default_models import default_model
from discreet.inference.measured_sums import StationaryPoint
from discreet.inference.measurements import read_measurements
from discreet.inference.rows.row_model import get_row_model
from discreet.noise import NotPrivateWarning
from discreet.records import Block

ROWS = 4000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 2)) @ [[1.0, 0.4], [0.0, 0.8]] + [0.3, -0.2]
TRUE, LEVEL = np.array([0.9, -0.6]), -0.3
Y = (RNG.uniform(size=ROWS) < expit(X @ TRUE + LEVEL)).astype(int)
THREE = Y + (X[:, 1] > 0.7)


def fit(kind=dp.LogisticRegression, labels=Y, epsilon=1.0, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return kind(epsilon=epsilon, bounds=(-5, 5), classes=sorted(set(labels.tolist())), random_state=1, **given).fit(
            X, labels
        )


@pytest.mark.parametrize(
    ("kind", "labels", "given"),
    [
        (dp.LogisticRegression, Y, {}),
        (dp.LogisticRegression, THREE, {}),
        (dp.LogisticRegression, Y, {"inference": True}),  # far rows have weights
        (dp.LinearSVC, Y, {}),
        (dp.LinearSVC, THREE, {}),
    ],
)
def test_the_gradients_at_a_minimum_are_a_noisy_sum(kind, labels, given):
    """Their sum over the private rows, less what was read as their noisy sum, is the noise of the objective."""
    measured = read_measurements(fit(kind, labels, epsilon=8.0, **given))
    minima = [(one, view) for one, view in zip(measured.sums, measured.views, strict=True) if "positive" in vars(one)]
    assert len(minima) == (1 if labels is Y else 3)
    for one, view in minima:
        assert isinstance(one, StationaryPoint)
        total = view.contributions(Block(X, labels[:, None])).sum(axis=0)
        b = one.value - total
        squares = float((b**2).sum()) / one.noise.variance
        assert chi2.ppf(FALSE_ALARM / 2, b.size) < squares < chi2.isf(FALSE_ALARM / 2, b.size)
        assert np.linalg.norm(total) > np.linalg.norm(b)  # it is as large as the gradient of the ridge, and not 0
    assert len(measured.releases) == len({id(one.release) for one in measured.sums})


def test_the_slope_of_the_determinant_is_that_of_differences():
    what = fit()
    measured = read_measurements(what)
    spec = default_model(what, measured)
    model = get_row_model(spec.model, measured.layout, spec.features, spec.expectations)
    problem = Problem(model, measured, float(ROWS), None)
    v = model.vector(spec.start)
    slope = compute_determinant_slope(problem, Reference(v, np.eye(v.size), None, None, None), 0)
    (point,) = (one for one in measured.sums if isinstance(one, StationaryPoint))
    view = measured.views[measured.sums.index(point)]

    def log_determinant(at):
        total, size = 0.0, point.question.features.size
        for seed in range(4):
            block = view.read(measured.layout.to_block(model.draw_evenly(at[None], DRAWS // 4, seed)))
            u = point.question.features.map_rows(block)
            chance = expit(u @ point.question.theta[0])
            total = total + (u * (chance * (1.0 - chance))[:, None]).T @ u / DRAWS
        return np.linalg.slogdet(ROWS * total + point.ridge * np.eye(size))[1]

    assert v.size == slope.size
    numeric = [(log_determinant(v + 0.05 * one) - log_determinant(v - 0.05 * one)) / 0.1 for one in np.eye(v.size)]
    np.testing.assert_allclose(slope, numeric, atol=0.05)
    assert np.abs(slope).max() > 0.3


def test_hidden_rows_are_for_sums_alone():
    what = fit()
    release = what.releases_[-1]
    with pytest.raises(dp.ArgumentError, match="exact"):
        dp.infer(what, likelihood="exact")
    assert [type(one) for one in read_measurements(release).sums] == [StationaryPoint]


def test_the_mode_has_no_effect_of_the_ridge():
    what = fit()
    measured = read_measurements(what)
    spec = default_model(what, measured)
    model = get_row_model(spec.model, measured.layout, spec.features, spec.expectations)
    reference = find_reference(Problem(model, measured, float(ROWS), None), model.vector(spec.start), 0)
    values = model.call("parameters", reference.w)
    result = spec.report({name: np.asarray(value)[None, None] for name, value in values.items()})
    error = np.sqrt(np.diag(reference.root @ reference.root.T))[model.sites["θ.slopes"]]  # near that of the weights
    assert np.all(np.abs(result["coef"][0, 0, 0] - TRUE) < 6.5 * error)
    assert np.linalg.norm(result["coef"] - TRUE) < np.linalg.norm(what.coef_ - TRUE)  # seeded: 0.04, and 0.2
    assert error.max() < 0.2


def test_a_loaded_model_has_the_same_measurements():
    what = fit(dp.LinearSVC)
    again = dp.LinearSVC.from_json(what.to_json())
    np.testing.assert_array_equal(read_measurements(again).values, read_measurements(what).values)
