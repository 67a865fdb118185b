"""Each loss against the pair of distributions that it stands for, computed here in another way."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import FrozenInstanceError
from inspect import isabstract

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp

from discreet import (
    ApproximateLoss,
    BoundedRangeLoss,
    ClassicalGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    Guarantee,
    LaplaceLoss,
    Neighbors,
    PureLoss,
    ZcdpLoss,
    calibrate,
    compose,
)
from discreet.guarantees import Loss
from discreet.guarantees.arithmetic import find_least
from discreet.guarantees.normal import normal_delta, normal_epsilon, normal_mu
from effort import size
from together import together

LOSSES = [
    GaussianLoss(0.3),
    GaussianLoss(4.0),
    ClassicalGaussianLoss(0.5, 1e-6),
    LaplaceLoss(0.01),
    LaplaceLoss(2.0),
    GeometricLoss(0.7, 1),
    GeometricLoss(0.7, 2),
    GeometricLoss(3.0, 7),
    GeometricLoss(0.5, 2**40),
    PureLoss(0.2),
    PureLoss(6.0),
    BoundedRangeLoss(0.1),
    BoundedRangeLoss(5.0),
    ZcdpLoss(0.02),
    ApproximateLoss(1.0, 1e-5),
]
OWN_FILE = {"ObjectiveLoss"}  # in test_objective.py
CURVES = [loss for loss in LOSSES if not isinstance(loss, ZcdpLoss)]  # for zCDP only a bound on its curve is known
EPSILONS = np.array([-3.0, -1.0, -0.2, 0.0, 1e-3, 0.05, 0.2, 0.5, 1.0, 1.9, 2.9, 7.0])


def test_every_loss_of_the_library_is_listed():
    known = {name for name, kind in Loss._kinds.items() if kind.__module__.startswith("discreet.")}
    assert {name for name in known if not isabstract(Loss._kinds[name])} == {
        *(type(loss).__name__ for loss in LOSSES),
        *OWN_FILE,
    }


def two_points(p: float, q: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p, 1.0 - p]), np.array([q, 1.0 - q])


def geometric_pair(scale: float, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the two-sided geometric and its shift, over so many integers that the rest is below 1e-20."""
    reach = int(50 * scale) + shift + 50
    k = np.arange(-reach, reach + 1)
    q = math.exp(-1.0 / scale)
    mass = (1.0 - q) / (1.0 + q)
    return mass * q ** np.abs(k), mass * q ** np.abs(k - shift)


def hockey_stick(pair: tuple[np.ndarray, np.ndarray], epsilon: float) -> float:
    p, q = pair
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def divergence(pair: tuple[np.ndarray, np.ndarray], order: float) -> float:
    p, q = pair
    return float(logsumexp(order * np.log(p) + (1.0 - order) * np.log(q))) / (order - 1.0)


@pytest.mark.parametrize("loss", CURVES, ids=repr)
def test_the_curve_is_one_that_a_pair_of_distributions_can_have(loss):
    """It falls from 1, is convex in e^ε, and has the symmetry of a relation without direction."""
    epsilon = np.linspace(-8.0, 8.0, 4001)
    delta = loss.delta_at(epsilon)
    assert np.all((delta >= 0.0) & (delta <= 1.0))
    assert np.all(np.diff(delta) <= 1e-15)
    slope = np.diff(delta) / np.diff(np.exp(epsilon))
    assert np.all(np.diff(slope) >= -1e-9)
    assert np.all(delta >= -np.expm1(epsilon) - 1e-12)
    np.testing.assert_allclose(delta[::-1], -np.expm1(-epsilon) + np.exp(-epsilon) * delta, atol=1e-11)  # rounded up


@together("loss", LOSSES, ids=repr)
@together("delta", [0.3, 1e-3, 1e-4])
def test_epsilon_at_inverts_delta_at_on_the_safe_side(loss, delta):
    epsilon = loss.epsilon_at(delta)
    assert float(loss.delta_at(epsilon)) <= delta
    if epsilon > 0.0:
        assert float(loss.delta_at(epsilon * (1.0 - 1e-9))) >= delta * (1.0 - 1e-6)


@together("mu", [1e-8, 1e-3, 0.1, 0.4999, 0.5001, 1.0, 5.0, 40.0])
@together("t", [-4.0, -1.0, 0.0, 0.3, 2.0, 8.0, 25.0])
def test_the_gaussian_curve_keeps_its_digits(mu, t):
    with mpmath.workdps(60):
        epsilon = mpmath.mpf(t * mu + mu * mu / 2.0)
        m = mpmath.mpf(mu)
        truth = mpmath.ncdf(-epsilon / m + m / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / m - m / 2)
        assert float(normal_delta(mu, float(epsilon))) == pytest.approx(float(truth), rel=1e-11)


def exact_normal_delta(mu, epsilon):
    """Return δ_μ(ε) of two floats, to 40 digits or more."""
    with mpmath.workdps(60 + int(abs(epsilon)) + int(mu * mu)):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        a, b = (e / m - m / 2) / mpmath.sqrt(2), (e / m + m / 2) / mpmath.sqrt(2)
        return (mpmath.erfc(a) - mpmath.exp(e) * mpmath.erfc(b)) / 2


def test_the_gaussian_curve_is_never_below_the_truth():
    """Rounded to nearest it was below in half of the cases, by up to 2.4e-13 of itself."""
    rng = np.random.default_rng(0)
    for _ in range(size(200, 1500)):
        mu = float(10.0 ** rng.uniform(-6.0, 1.2))
        a = rng.uniform(-mu / 2.0, 36.0) if rng.random() < 0.8 else rng.uniform(-mu / 2.0, 0.5)
        epsilon = max(float(mu * (a + mu / 2.0)), 0.0)
        result, truth = mpmath.mpf(float(normal_delta(mu, epsilon))), exact_normal_delta(mu, epsilon)
        assert truth <= result <= truth * (1.0 + 3e-11), (mu, epsilon)
        if epsilon:
            with mpmath.workdps(60):
                below = 1 - mpmath.exp(-mpmath.mpf(epsilon)) * (1 - truth)
                assert below <= float(normal_delta(mu, -epsilon)) <= below * (1.0 + 3e-11), (mu, -epsilon)


def test_a_subnormal_delta_is_rounded_up_as_well():
    for epsilon in np.linspace(37.0, 39.0, 101):
        truth = exact_normal_delta(1.0, float(epsilon) - 0.5)
        assert truth <= mpmath.mpf(float(normal_delta(1.0, float(epsilon) - 0.5))) <= truth * (1.0 + 1e-10) + 4e-323


def test_the_noise_of_a_calibration_is_never_too_small():
    """σ, and the ε of a δ, checked with forty digits; half of them were too small by some digits."""
    rng = np.random.default_rng(1)
    for _ in range(size(60, 200)):
        epsilon, delta = float(10.0 ** rng.uniform(-2.0, 1.0)), float(10.0 ** rng.uniform(-12.0, -2.0))
        assert exact_normal_delta(normal_mu(epsilon, delta), epsilon) <= delta
        mus = rng.uniform(0.1, 1.0, 3)
        result = calibrate(Guarantee(epsilon, delta), [GaussianLoss(float(mu)) for mu in mus])
        with mpmath.workdps(60):
            together = mpmath.sqrt(mpmath.fsum(mpmath.mpf(loss.mu) ** 2 for loss in result.losses))
            assert exact_normal_delta(together, epsilon) <= delta
            assert exact_normal_delta(together, compose(result.losses).epsilon(delta)) <= delta


def test_known_values_of_the_gaussian_mechanism():
    assert 1.0 / normal_mu(1.0, 1e-5) == pytest.approx(3.7306, abs=5e-5)
    assert 1.0 / normal_mu(0.1, 1e-4) == pytest.approx(24.508, abs=5e-4)
    for epsilon, delta in [(0.01, 1e-9), (1.0, 1e-5), (30.0, 1e-100), (300.0, 0.5)]:
        mu = normal_mu(epsilon, delta)
        assert float(normal_delta(mu, epsilon)) <= delta
        assert normal_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("scale", [0.05, 1.0, 4.0])
def test_the_laplace_curve_and_divergence_are_those_of_two_laplace_densities(scale):
    loss = LaplaceLoss(scale)

    def p(x):
        return 0.5 * math.exp(-abs(x))

    def q(x):
        return 0.5 * math.exp(-abs(x - scale))

    for epsilon in EPSILONS:
        truth, _ = quad(lambda x, e=epsilon: max(p(x) - math.exp(e) * q(x), 0.0), -60, 60, points=[0, scale], limit=900)
        assert float(loss.delta_at(epsilon)) == pytest.approx(truth, abs=1e-7)
    for order in [1.1, 2.0, 7.5]:
        moment, _ = quad(lambda x, a=order: p(x) ** a * q(x) ** (1 - a), -60, 60, points=[0, scale], limit=900)
        assert loss.renyi(order) == pytest.approx(math.log(moment) / (order - 1.0), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("loss", [GeometricLoss(0.7, 1), GeometricLoss(0.7, 2), GeometricLoss(3.0, 7)], ids=repr)
def test_the_geometric_curve_and_divergence_are_those_of_two_geometrics(loss):
    pair = geometric_pair(loss.steps / loss.epsilon, loss.steps)
    for epsilon in EPSILONS:
        assert float(loss.delta_at(epsilon)) == pytest.approx(hockey_stick(pair, epsilon), abs=1e-13)
    for order in [1.05, 1.5, 3.0, 20.0]:
        assert loss.renyi(order) == pytest.approx(divergence(pair, order), rel=1e-9)


def test_the_geometric_comes_down_to_laplace_from_above():
    epsilon = np.linspace(0.0, 1.0, 201)
    laplace = LaplaceLoss(1.0).delta_at(epsilon)
    last = PureLoss(1.0).delta_at(epsilon)
    np.testing.assert_allclose(GeometricLoss(1.0, 1).delta_at(epsilon), last, atol=1e-15)
    for steps in [2, 4, 8, 64, 1024]:
        curve = GeometricLoss(1.0, steps).delta_at(epsilon)
        assert np.all(laplace <= curve + 1e-15)
        assert np.all(curve <= last + 1e-15)
        last = curve
    np.testing.assert_allclose(last, laplace, atol=1e-6)


@pytest.mark.parametrize(
    ("shifts", "scale"),
    [((1, 1), 0.8), ((1, 1), 5.0), ((1, 3), 0.8), ((1, 3), 5.0), ((2, 2, 1), 0.8), ((2, 2, 1), size(1.5, 5.0))],
)
def test_a_shift_spread_over_coordinates_is_dominated_by_the_same_l1_shift_in_one(shifts, scale):
    p, q = np.ones(1), np.ones(1)
    for shift in shifts:
        one, other = geometric_pair(scale, shift)
        middle = slice(len(one) // 2 - int(20 * scale) - shift, len(one) // 2 + int(20 * scale) + shift + 1)
        p, q = np.multiply.outer(p, one[middle]).ravel(), np.multiply.outer(q, other[middle]).ravel()
    loss = GeometricLoss(sum(shifts) / scale, sum(shifts))
    for epsilon in EPSILONS:
        assert hockey_stick((p, q), epsilon) <= float(loss.delta_at(epsilon)) + 1e-8


def test_randomised_response_is_the_pure_curve():
    for epsilon0 in [0.2, 6.0]:
        loss = PureLoss(epsilon0)
        p = 1.0 / (1.0 + math.exp(-epsilon0))
        pair = two_points(p, 1.0 - p)
        for epsilon in EPSILONS:
            assert float(loss.delta_at(epsilon)) == pytest.approx(hockey_stick(pair, epsilon), abs=1e-14)
        for order in [1.01, 1.5, 3.0, 9.0]:
            assert loss.renyi(order) == pytest.approx(divergence(pair, order), rel=1e-9)
    assert PureLoss(6.0).renyi(1e4) == pytest.approx(6.0, rel=1e-3)
    assert PureLoss(6.0).renyi(1e4) <= 6.0


@pytest.mark.parametrize("width", [0.1, 1.0, 5.0])
def test_the_bounded_range_curve_is_the_envelope_of_its_worst_cases(width):
    """Two log-ratios t and t − ε, and mixtures with a third in between: never above; at the best t, equal."""
    loss = BoundedRangeLoss(width)
    pairs = []
    for t in np.linspace(1e-6, width - 1e-6, size(401, 801)):
        p = (math.exp(width) - math.exp(t)) / math.expm1(width)
        pairs.append(two_points(p, p * math.exp(-t)))
    for epsilon in EPSILONS:
        worst = max(hockey_stick(pair, epsilon) for pair in pairs)
        bound = float(loss.delta_at(epsilon))
        assert worst <= bound + 1e-12
        if abs(epsilon) < 0.95 * width:
            assert worst == pytest.approx(bound, rel=1e-3)
    for order in [1.01, 2.0, 10.0, 100.0]:
        worst = max(divergence(pair, order) for pair in pairs)
        assert worst <= loss.renyi(order) * (1.0 + 1e-9)
        assert worst == pytest.approx(loss.renyi(order), rel=1e-3)


def test_zcdp_is_charged_more_than_the_gaussian_that_has_it():
    gaussian, zcdp = GaussianLoss(0.4), ZcdpLoss(0.08)
    for delta in [1e-3, 1e-6, 1e-12]:
        assert gaussian.epsilon_at(delta) < zcdp.epsilon_at(delta) < 0.08 + 2.0 * math.sqrt(0.08 * math.log(1 / delta))


def test_approximate_privacy_never_falls_below_its_own_delta():
    loss = ApproximateLoss(1.0, 1e-5)
    assert float(loss.delta_at(1.0)) == pytest.approx(1e-5, rel=1e-12)
    assert float(loss.delta_at(50.0)) == pytest.approx(1e-5, rel=1e-12)
    assert loss.epsilon_at(1e-5) == 1.0
    assert math.isinf(loss.epsilon_at(0.99e-5))


@pytest.mark.parametrize(
    ("loss", "twice"),
    [
        (GaussianLoss(0.5, "add-remove"), GaussianLoss(1.0)),
        (LaplaceLoss(0.5, "add-remove"), LaplaceLoss(1.0)),
        (GeometricLoss(0.5, 3, "add-remove"), GeometricLoss(1.0, 6)),
        (PureLoss(0.5, "add-remove"), PureLoss(1.0)),
        (BoundedRangeLoss(0.5, "add-remove"), BoundedRangeLoss(1.0)),
        (ZcdpLoss(0.5, "add-remove"), ZcdpLoss(2.0)),
        (ClassicalGaussianLoss(0.25, 1e-6, "add-remove"), ClassicalGaussianLoss(0.5, 1e-6)),
        (ApproximateLoss(0.5, 1e-6, "add-remove"), ApproximateLoss(1.0, (1.0 + math.exp(0.5)) * 1e-6)),
    ],
    ids=repr,
)
def test_only_add_remove_becomes_replace_one(loss, twice):
    assert loss.under("replace-one") == twice
    assert loss.under("add-remove") is loss
    assert twice.neighbors is Neighbors.REPLACE_ONE
    with pytest.raises(ValueError, match="accounted under 'add-remove'"):
        twice.under("add-remove")


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_loss_is_an_immutable_value(loss):
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert len({loss, pickle.loads(pickle.dumps(loss))}) == 1
    with pytest.raises(FrozenInstanceError):
        loss.neighbors = Neighbors.ADD_REMOVE


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_loss_goes_through_json(loss):
    assert Loss.from_dict(json.loads(json.dumps(loss.to_dict()))) == loss


def test_what_is_no_loss_in_json():
    with pytest.raises(ValueError, match="kind='Gauss': expected one of"):
        Loss.from_dict({"kind": "Gauss"})
    with pytest.raises(ValueError, match="expected the fields"):
        Loss.from_dict({"kind": "GaussianLoss", "sigma": 1.0, "neighbors": "replace-one"})
    with pytest.raises(ValueError, match="mu=-1"):
        Loss.from_dict({"kind": "GaussianLoss", "mu": -1, "neighbors": "replace-one"})


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_more_noise_costs_less(loss):
    epsilon = np.linspace(-1.0, 3.0, 50)
    assert np.all(loss.with_noise(2.0).delta_at(epsilon) <= loss.delta_at(epsilon) + 1e-12)
    assert loss.with_noise(2.0).renyi(3.0) <= loss.renyi(3.0)
    assert loss.with_noise(2.0).zcdp == pytest.approx(loss.zcdp / 4.0)


@together("loss", LOSSES, ids=repr)
@together("order", [1.0001, 1.5, 2.0, 30.0, 1e5])
def test_divergences_of_small_and_large_order_are_finite_and_below_the_zcdp_line(loss, order):
    assert 0.0 <= loss.renyi(order) <= order * loss.zcdp * (1.0 + 1e-6) + 1e-9


@pytest.mark.parametrize("mu", [0.01, 0.02, 0.03])
@pytest.mark.parametrize("digits", [15, 16, 17])
def test_the_epsilon_at_a_delta_next_to_that_of_zero_is_found(mu, digits):
    """There the logarithms of two different numbers are equal, and a bracket is none."""
    loss = GaussianLoss(mu)
    delta = float(f"{loss.delta_at(0.0):.{digits}g}")
    for below in (delta, math.nextafter(delta, 0.0), delta * (1.0 - 1e-15)):
        assert 0.0 <= loss.epsilon_at(below) <= 1e-9
        assert loss.delta_at(loss.epsilon_at(below)) <= below
    assert 0.0 <= PureLoss(0.5).epsilon_at(0.24491866240370908) <= 0.5


def test_curves_that_jump_or_are_no_numbers_end():
    for curve in (lambda x: 1.0 if x < 0.3 else 0.0, lambda x: math.nan if 0.2 < x < 0.7 else 1.0 - x, lambda x: 1.0):
        assert 0.0 <= find_least(curve, 0.4, 0.0, 1.0) <= 1.0
