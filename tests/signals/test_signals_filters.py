"""Public filters of private series: where the noise is put, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import signal
from scipy.stats import chi2

import discreet as dp
from conftest import FALSE_ALARM
from discreet.door import Curator
from discreet.signals import lti_filter
from discreet.signals.filters import METHODS, _is_stable, factor_filter, impulse_response, place_noise

FILTERS = {
    "moving average": (np.ones(8) / 8.0, [1.0]),
    "exponential smoother": ([0.1], [1.0, -0.9]),
    "resonator": ([1.0], [1.0, -2.0 * 0.97 * np.cos(0.3), 0.97**2]),
    "difference": ([1.0, -1.0], [1.0]),
    "delay": ([0.0, 0.0, 1.0], [1.0]),
    "zeros outside": ([1.0, -2.0, 3.0], [1.0, 0.5]),
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("count", [8, 200])
def testplaced_multiply_to_the_filter(name, count):
    top, bottom = FILTERS[name]
    response = impulse_response(top, bottom, None, count)
    for method in METHODS:
        factors = place_noise(response, method)
        product = np.convolve(factors.operator.coefficients, factors.decoder)[:count]
        np.testing.assert_allclose(product, response, atol=1e-10 * np.abs(response).max())
        noise = np.array([np.linalg.norm(factors.decoder[: t + 1]) for t in range(count)])
        np.testing.assert_allclose(factors.weights, noise, rtol=1e-12)


@pytest.mark.parametrize(("name", "gain"), [("moving average", 1.5), ("exponential smoother", 1.5), ("resonator", 2.2)])
def test_factoring_is_better_by_as_much_as_computed(name, gain):
    response = impulse_response(*FILTERS[name], None, 500)
    means = {method: np.sqrt(np.mean(place_noise(response, method).errors() ** 2)) for method in METHODS}
    assert min(means["input"], means["output"]) > gain * means["factored"]


def test_the_factor_of_a_smoother_is_its_square_root():
    """(1 − az)^(−1/2) has the coefficients a^k·f_k."""
    from discreet.queries.series.factorization import square_root_terms

    result = factor_filter(0.9 ** np.arange(60.0))
    np.testing.assert_allclose(result.operator.coefficients, 0.9 ** np.arange(60.0) * square_root_terms(60), atol=1e-6)
    np.testing.assert_allclose(result.decoder, result.operator.coefficients, atol=1e-5)


def test_the_best_method_is_found_from_public_numbers(monkeypatch):
    times = [0.5, 1.5, 7.5]
    declared = {"time": 0, "steps": 64, "epsilon": 1.0, "bounds": (0, 64)}
    best = {}
    for delta in (1e-6, 0.0):
        rms = {
            method: np.sqrt(np.mean(lti_filter(times, [0.1], [1.0, -0.9], method=method, delta=delta, **declared)
                                    .std ** 2))
            for method in ("best", *METHODS)
        }  # fmt: skip
        assert rms["best"] == min(rms.values())
        best[delta] = min(METHODS, key=rms.__getitem__)
    assert best == {1e-6: "factored", 0.0: "input"}  # in L1 spreading a row over steps costs more


def test_the_noise_at_every_step_has_the_stated_deviation(seeded):
    times = np.repeat(np.arange(5.0) + 0.5, [4, 0, 7, 1, 2])
    truth = signal.lfilter(*FILTERS["zeros outside"], [4.0, 0.0, 7.0, 1.0, 2.0])
    bits, runs, errors = seeded(4), 120, []
    for _ in range(runs):
        result = lti_filter(
            times, *FILTERS["zeros outside"], time=0, steps=5, epsilon=1.0, bounds=(0, 5), bits=bits, method="factored"
        )
        errors.append((result.value - truth) / result.std)
    squares = (np.array(errors) ** 2).sum(axis=0)
    # Five chi-squares of 120 degrees of freedom, two-sided: a false alarm of at most 1e-9 together.
    assert np.all(chi2.ppf(FALSE_ALARM / 10, runs) < squares)
    assert np.all(squares < chi2.isf(FALSE_ALARM / 10, runs))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_persons_with_a_number_in_every_step_are_filtered(method, relation):
    rows = np.random.default_rng(0).uniform(2.0, 3.0, (4000, 20))
    result = lti_filter(rows, *FILTERS["resonator"], epsilon=1.0, bounds=(1, 4), neighbors=relation, method=method)
    truth = signal.lfilter(*FILTERS["resonator"], rows.sum(axis=0))
    assert result.level == "user"
    assert np.all(np.abs(result.value - truth) < 8.0 * result.std)


def test_sections_are_the_same_filter():
    sections = signal.butter(4, 0.2, output="sos")
    result = impulse_response(None, (1.0,), sections, 50)
    np.testing.assert_allclose(result, impulse_response(*signal.butter(4, 0.2), None, 50), atol=1e-12)


def test_stability_is_that_of_the_roots_and_quickly_found():
    rng = np.random.default_rng(0)
    for order in (1, 2, 3, 8, 8, 8, 8, 8):
        roots = rng.uniform(0.1, 0.99, order) * np.exp(1j * rng.uniform(0.0, np.pi, order))
        for largest in (0.9, 0.999, 1.0, 1.001, 3.0):
            roots[0] = largest * np.exp(0.7j)
            bottom = np.poly(np.concatenate([roots, roots.conj()])).real * -3.0
            assert _is_stable(bottom) == (largest < 1.0)
    assert _is_stable(np.append([1.0], 0.5 * np.eye(1, 999, 998)))


def test_a_filter_too_large_for_floats_is_refused(monkeypatch):
    monkeypatch.setattr(Curator, "_charge", lambda *_: pytest.fail("something was spent"))
    for method in ("best", *METHODS):
        with pytest.raises(ValueError, match="in another unit"):
            lti_filter(
                np.ones((3, 2)), [1e99], time=0, value=1, steps=4, epsilon=1.0, bounds=dp.Box([0, 0], [2, 1e99]),
                method=method,
            )  # fmt: skip


FRAME = pd.DataFrame({"day": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "b, sos: expected one of them"),
        ({"b": [1.0], "sos": np.ones((1, 6))}, "b, sos: expected one of them"),
        ({"b": [1.0], "a": [1.0, -1.0]}, "write running_sum"),
        ({"b": [1.0], "a": [1.0, -1.1]}, "expected a stable filter"),
        ({"b": [1.0], "a": [1.0, 0.0, 1.0]}, "expected a stable filter"),
        ({"b": [1.0], "a": [0.0, 1.0]}, r"a\[0\]=0: expected"),
        ({"b": np.ones(8)}, "b: expected at most 7 coefficients"),
        ({"b": [1.0], "a": 0.1 ** np.arange(8)}, "a: expected at most 7 coefficients"),
        ({"b": [np.nan]}, "expected finite coefficients"),
        ({"b": [1.0], "a": [1.0, np.inf]}, "expected finite coefficients"),
        ({"b": "low pass"}, "expected finite coefficients"),
        ({"b": []}, "expected finite coefficients"),
        ({"b": [0.0]}, "impulse response is finite"),
        ({"sos": np.ones((2, 5))}, "sos: expected numbers of shape"),
        ({"sos": "butter"}, "sos: expected numbers of shape"),
        ({"sos": [[1.0, 0.0, 0.0, 1.0, -2.0, 1.0]]}, "expected a stable filter"),
        ({"b": [1.0], "method": "input-output"}, "method='input-output'"),
        ({"b": [1.0], "steps": 0}, "steps=0"),
        ({"b": [1.0], "time": "hour"}, "time='hour'"),
    ],
)
def test_what_cannot_be_filtered_is_refused_before_anything_is_spent(arguments, message, monkeypatch):
    monkeypatch.setattr(Curator, "_charge", lambda *_: pytest.fail("something was spent"))
    given = {"time": "day", "steps": 7, "epsilon": 1.0, "bounds": {"day": (0, 7)}} | arguments
    with pytest.raises(ValueError, match=message):
        lti_filter(FRAME, **given)


def test_long_denominators_are_refused():
    with pytest.raises(ValueError, match="a: expected at most 1000 coefficients, got 1001"):
        impulse_response([1.0], np.append([1.0], np.zeros(1000)), None, 2000)


def test_the_signals_are_found_from_the_front():
    assert dp.signals.lti_filter is lti_filter
