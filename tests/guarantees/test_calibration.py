"""Calibration: it keeps the promise, wastes nothing, and gives the figures of the literature."""

from __future__ import annotations

import math

import pytest

from discreet import (
    ApproximateLoss,
    BoundedRangeLoss,
    GaussianLoss,
    GeometricLoss,
    Guarantee,
    LaplaceLoss,
    PureLoss,
    ZcdpLoss,
    calibrate,
    compose,
)
from discreet.planning import dpem_losses
from together import together

LISTS = {
    "gaussian": [GaussianLoss(1.0)],
    "gaussians": [GaussianLoss(2.0), *[GaussianLoss(1.0)] * 3],
    "laplace": [LaplaceLoss(1.0)] * 5,
    "mixed": [LaplaceLoss(1.0), GaussianLoss(1.0), GeometricLoss(1.0, 3)],
    "selection": [BoundedRangeLoss(1.0)] * 4 + [GaussianLoss(0.5)],
    "zcdp": [ZcdpLoss(0.5), PureLoss(1.0)],
    "approximate": [ApproximateLoss(1.0, 1e-8), GaussianLoss(1.0)],
}


@together("name", LISTS)
@together("method", ["linear", "advanced", "zcdp", "moments", "exact"])
@together("guarantee", [Guarantee(0.1, 1e-6), Guarantee(3.0, 1e-5)], ids=str)
def test_the_promise_is_kept_and_nothing_is_wasted(name, method, guarantee):
    answer = calibrate(guarantee, LISTS[name], method)
    assert len(answer.losses) == len(LISTS[name])
    assert compose(answer.losses, method).epsilon(guarantee.delta) <= guarantee.epsilon * (1.0 + 1e-9)
    less = [loss.with_noise(0.99 * answer.noise) for loss in LISTS[name]]
    assert compose(less, method).epsilon(guarantee.delta) > guarantee.epsilon


def test_known_values():
    assert calibrate(Guarantee(1.0, 1e-5), GaussianLoss(1.0)).noise == pytest.approx(3.7306, abs=5e-5)
    assert calibrate(Guarantee(0.1, 1e-4), GaussianLoss(1.0)).noise == pytest.approx(24.508, abs=5e-4)
    assert calibrate(Guarantee(1.0, 1e-4), ZcdpLoss(1.0), "zcdp").losses[0].rho == pytest.approx(0.025763, abs=5e-7)


def sigma(figure, method, delta, **options):
    steps, components = figure
    losses = dpem_losses("GGG", steps=steps, components=components, epsilon=0.1, delta=delta)
    return 1.0 / calibrate(Guarantee(1.0, 1e-4), losses, method, **options).losses[0].gaussian


def test_the_noise_of_the_dpem_figures():
    """FIGURE 2 is J = 20, K = 10; figure 3 is J = 10, K = 3; at ε = 1, δ = 1e-4."""
    two, three = (20, 10), (10, 3)
    assert sigma(two, "zcdp", 1e-6) == pytest.approx(90, abs=0.5)
    assert sigma(two, "exact", 1e-6) == pytest.approx(65, abs=0.5)
    assert sigma(two, "advanced", 1e-7) == pytest.approx(543, abs=0.5)
    assert sigma(three, "zcdp", 1e-8) == pytest.approx(37, abs=0.5)
    assert sigma(three, "advanced", 1e-8) == pytest.approx(231, abs=0.5)
    assert sigma(three, "linear", 1e-8) == pytest.approx(427, abs=0.5)
    assert sigma(three, "exact", 1e-8) == pytest.approx(27, abs=0.5)
    for method in ["linear", "advanced"]:  # 420 mechanisms of δ_i = 1e-6 are above δ = 1e-4 already
        with pytest.raises(ValueError, match="no noise is enough"):
            sigma(two, method, 1e-6)


def test_what_the_paper_saw_of_the_moments_accountant_at_small_epsilon_is_its_integer_search():
    losses = [GaussianLoss(1.0)] * 70
    with pytest.raises(ValueError, match="no noise is enough"):
        calibrate(Guarantee(0.01, 1e-4), losses, "moments", integer=True)
    exact = calibrate(Guarantee(0.1, 1e-4), losses).noise
    assert calibrate(Guarantee(0.1, 1e-4), losses, "moments", integer=True).noise == pytest.approx(
        3.3 * exact, rel=0.02
    )
    real, zcdp = (calibrate(Guarantee(0.01, 1e-4), losses, method).noise for method in ["moments", "zcdp"])
    assert real == pytest.approx(zcdp, rel=1e-6)
    integer = calibrate(Guarantee(0.2, 1e-4), losses, "moments", integer=True).noise
    assert integer == pytest.approx(calibrate(Guarantee(0.2, 1e-4), losses, "zcdp").noise, rel=0.01)


def test_the_loss_distribution_wins_for_laplace():
    """J = 40 at ε = 0.01, δ = 1e-4: per-step ε 0.00092 exactly, 0.00037 by zCDP, 0.00025 linearly."""
    forty = {LaplaceLoss(1.0): 40}
    step = {
        method: calibrate(Guarantee(0.01, 1e-4), forty, method).losses[0].epsilon
        for method in ["exact", "zcdp", "linear"]
    }
    assert step["exact"] == pytest.approx(0.00092, abs=5e-6)
    assert step["zcdp"] == pytest.approx(0.00037, abs=5e-6)
    assert step["linear"] == pytest.approx(0.00025, abs=1e-9)


def test_pure_guarantees():
    guarantee = Guarantee(1.0)
    assert calibrate(guarantee, [LaplaceLoss(1.0), PureLoss(3.0)]).noise == pytest.approx(4.0)
    with pytest.raises(ValueError, match="no noise is enough"):
        calibrate(guarantee, GaussianLoss(1.0))


def test_the_relations_must_agree():
    with pytest.raises(ValueError, match="expected one under add-remove"):
        calibrate(Guarantee(1.0, 1e-6), GaussianLoss(1.0, "add-remove"))
    assert calibrate(Guarantee(1.0, 1e-5, "add-remove"), GaussianLoss(1.0, "add-remove")).noise < 4.0


def test_the_range_of_scales_is_wide():
    for epsilon in [1e-6, 1e-3, 1.0, 1e3]:
        for delta in [1e-15, 1e-9, 0.5]:
            noise = calibrate(Guarantee(epsilon, delta), GaussianLoss(1.0)).noise
            assert 0.0 < noise < math.inf


@pytest.mark.parametrize("delta", [1e-300, 1e-310, 5e-324])
def test_the_smallest_floats_have_an_answer(delta):
    from discreet.guarantees.normal import normal_mu

    assert 0.0 < normal_mu(1.0, delta) < 0.1


@pytest.mark.parametrize("loss", [GaussianLoss(0.1), ZcdpLoss(0.1)])
def test_no_noise_gives_a_pure_promise_where_a_loss_has_none(loss):
    with pytest.raises(ValueError, match="no noise is enough"):
        calibrate(Guarantee(1.0), loss)
