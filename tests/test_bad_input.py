"""Every wrong argument gets a ValueError that names the argument, the value and what is accepted."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as dp
from discreet import noise, planning
from together import together

NOT_POSITIVE = [
    0, -1, 0.0, -1e-300, math.nan, math.inf, -math.inf, "1", None, True, [1.0], 1j,
    np.True_, np.complex128(1 + 2j), bytearray(b"1.5"), np.array(1.0),
]  # fmt: skip
NOT_PROBABILITIES = [-1e-9, 1, 1.5, math.nan, math.inf, "0.1", None, True]


def refuses(name, value, call):
    with pytest.raises(ValueError, match="expected") as caught:
        call(value)
    message = str(caught.value)
    assert message.startswith(name), message
    assert repr(value) in message, message


@together("value", NOT_POSITIVE, ids=repr)
@together(
    ("name", "call"),
    [
        ("epsilon", dp.Guarantee),
        ("mu", dp.GaussianLoss),
        ("epsilon", dp.LaplaceLoss),
        ("epsilon", dp.GeometricLoss),
        ("epsilon", dp.PureLoss),
        ("epsilon", dp.BoundedRangeLoss),
        ("rho", dp.ZcdpLoss),
        ("epsilon", lambda value: dp.ApproximateLoss(value, 1e-6)),
        ("epsilon", lambda value: dp.ClassicalGaussianLoss(value, 1e-6)),
        ("scale", noise.GaussianNoise),
        ("scale", noise.GeometricNoise),
        ("scale", noise.LaplaceNoise),
        ("scale", noise.DiscreteGaussianNoise),
        ("scale", lambda value: noise.EuclideanNoise(value, 2)),
        ("step", lambda value: noise.GeometricNoise(1.0, value)),
        ("mu", lambda value: noise.GaussianNoise.for_query(mu=value, sensitivity=1.0, largest=1.0)),
        ("sensitivity", lambda value: noise.LaplaceNoise.for_query(epsilon=1.0, sensitivity=value, largest=1.0)),
        ("largest", lambda value: noise.GaussianNoise.for_query(mu=1.0, sensitivity=1.0, largest=value)),
        ("scale", lambda value: noise.geometric(value, 1)),
        ("sensitivity", noise.GaussianNoise(1.0).loss),
        ("sensitivity", noise.GeometricNoise(1.0).loss),
        ("sensitivity", noise.LaplaceNoise(1.0).loss),
        ("sensitivity", noise.DiscreteGaussianNoise(1.0).loss),
        ("sensitivity", noise.EuclideanNoise(1.0, 2).loss),
    ],
)
def test_what_must_be_positive(name, value, call):
    refuses(name, value, call)


@together("value", NOT_PROBABILITIES, ids=repr)
@together(
    ("name", "call"),
    [
        ("delta", lambda value: dp.Guarantee(1.0, value)),
        ("delta", lambda value: dp.ApproximateLoss(1.0, value)),
        ("delta", dp.GaussianLoss(1.0).epsilon_at),
        ("delta", dp.compose(dp.GaussianLoss(1.0)).epsilon),
        ("delta", lambda value: dp.compare(dp.GaussianLoss(1.0), value)),
        ("level", noise.GaussianNoise(1.0).half_width),
        ("level", noise.GeometricNoise(1.0).half_width),
        ("level", noise.EuclideanNoise(1.0, 2).half_width),
    ],
)
def test_what_must_be_a_probability(name, value, call):
    refuses(name, value, call)


@pytest.mark.parametrize("value", ["replace", "", None, 1, "REPLACE-ONE"], ids=repr)
def test_an_unknown_relation(value):
    for call in [lambda v: dp.Guarantee(1.0, 0.0, v), lambda v: dp.GaussianLoss(1.0, v), dp.Neighbors.parse]:
        refuses("neighbors", value, call)


@pytest.mark.parametrize("value", ["exakt", None, 3], ids=repr)
def test_an_unknown_method(value):
    refuses("method", value, lambda v: dp.compose(dp.GaussianLoss(1.0), v))
    refuses("method", value, lambda v: dp.calibrate(dp.Guarantee(1.0, 1e-6), dp.GaussianLoss(1.0), v))


def test_an_unknown_scenario():
    refuses("scenario", "GLG", lambda v: planning.dpem_losses(v, steps=1, components=1, epsilon=0.1, delta=1e-6))


@pytest.mark.parametrize("value", [[], {}, (), 5, None], ids=repr)
def test_no_losses(value):
    for call in [dp.compose, lambda v: dp.compare(v, 1e-6), lambda v: dp.calibrate(dp.Guarantee(1.0, 1e-6), v)]:
        refuses("losses", value, call)


@pytest.mark.parametrize("value", [[1.0], ["gaussian"], [dp.GaussianLoss(1.0), dp.Guarantee(1.0)]], ids=repr)
def test_what_is_not_a_loss(value):
    with pytest.raises(ValueError, match=r"losses: .* is not a loss; expected"):
        dp.compose(value)


@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_counts_of_losses(count):
    with pytest.raises(ValueError, match="expected a whole number, at least 1"):
        dp.compose({dp.GaussianLoss(1.0): count})


@pytest.mark.parametrize("value", [(1.0, 1e-6), 1.0, None], ids=repr)
def test_what_is_not_a_guarantee(value):
    refuses("guarantee", value, lambda v: dp.calibrate(v, dp.GaussianLoss(1.0)))


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "1", True, None], ids=repr)
def test_the_epsilon_of_a_composition(value):
    refuses("epsilon", value, dp.compose(dp.GaussianLoss(1.0)).delta)


def test_integer_orders_belong_to_the_moments_accountant():
    with pytest.raises(ValueError, match="integer=True: expected False, or True with method='moments'"):
        dp.compose(dp.GaussianLoss(1.0), "zcdp", integer=True)


def test_zero_delta_where_a_mechanism_must_have_some():
    with pytest.raises(ValueError, match=r"delta=0.*expected a probability in \(0, 1\)"):
        dp.ApproximateLoss(1.0, 0.0)


@pytest.mark.parametrize("value", [0, -1, math.nan], ids=repr)
def test_a_factor_of_noise(value):
    refuses("factor", value, dp.GaussianLoss(1.0).with_noise)


def test_a_composition_that_promises_nothing():
    with pytest.raises(ValueError, match=r"delta=0\.0: expected a larger one"):
        dp.compose(dp.GaussianLoss(1.0)).guarantee(0.0)


@pytest.mark.parametrize("guarantee", [dp.Guarantee(1.0, 1e-6), (1.0, 1e-6)], ids=repr)
def test_a_guarantee_is_only_measured_against_losses_of_its_relation(guarantee):
    for method in ["linear", "exact"]:
        with pytest.raises(ValueError, match=r"guarantee=.*expected"):
            dp.compose(dp.GaussianLoss(0.5, "add-remove"), method).usage(guarantee)


def test_what_is_no_source_of_bits():
    refuses("bits", 7, lambda v: noise.GaussianNoise(1.0).sample(3, v))
    refuses("bits", 7, lambda v: noise.categorical([0.0], v))


@pytest.mark.parametrize("values", [["1", "2"], [None], "text"], ids=repr)
def test_what_is_no_statistic(values):
    for distribution in [noise.GaussianNoise(1.0), noise.EuclideanNoise(1.0, 2)]:
        with pytest.raises(ValueError, match="values: expected numbers"):
            distribution.add(values)


def test_the_culprit_in_a_list_of_deltas_is_named():
    with pytest.raises(ValueError, match="delta='a'"):
        dp.compare(dp.GaussianLoss(1.0), [1e-6, "a"])


def test_no_deltas():
    with pytest.raises(ValueError, match="delta"):
        dp.compare(dp.GaussianLoss(1.0), [])


@pytest.mark.parametrize("value", [-1, 53, 2.5, "40", True], ids=repr)
def test_fineness(value):
    refuses("fineness", value, lambda v: noise.GaussianNoise(1.0, v))
    refuses("fineness", value, lambda v: noise.LaplaceNoise(1.0, v))


@pytest.mark.parametrize("value", [0, 2.5, -3, "1"], ids=repr)
def test_whole_numbers(value):
    refuses("steps", value, lambda v: dp.GeometricLoss(1.0, v))
    refuses("dimension", value, lambda v: noise.EuclideanNoise(1.0, v))
    refuses("high", value, lambda v: noise.uniform_integers(v, 3))


@pytest.mark.parametrize("value", [-1, 0.5, "7", None], ids=repr)
def test_a_seed(value):
    refuses("seed", value, noise.SeededBits)


@pytest.mark.parametrize("scores", [[], [[1.0]], [math.nan, 1.0], [math.inf], [-math.inf]], ids=repr)
def test_scores(scores):
    with pytest.raises(ValueError, match="scores: expected"):
        noise.categorical(scores)


@pytest.mark.parametrize("size", [-1, 2.5, "3", [2, -1]], ids=repr)
def test_the_size_of_a_sample(size):
    with pytest.raises(ValueError, match=r"size=.*expected a whole number"):
        noise.GaussianNoise(1.0).sample(size)


def test_scores_that_are_text():
    with pytest.raises(ValueError, match="values: expected numbers"):
        noise.categorical(["1", "2"])


@pytest.mark.parametrize(("mu", "sensitivity", "largest"), [(1.0, 1e-300, 1e300), (1e300, 1e-300, 1.0)])
def test_queries_beyond_what_a_grid_can_hold(mu, sensitivity, largest):
    with pytest.raises(ValueError, match="expected"):
        noise.GaussianNoise.for_query(mu=mu, sensitivity=sensitivity, largest=largest)


def test_the_declared_bound_itself_always_fits_the_grid():
    largest = 4096 * (1 + 2e-15)
    noise.GaussianNoise.for_query(mu=2.0**20, sensitivity=2.0**20, largest=largest).add([largest])


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf], ids=repr)
def test_the_exponent_of_a_coin(value):
    refuses("x", value, noise.bernoulli_exp)


def test_a_grid_that_could_not_hold_the_statistic():
    with pytest.raises(ValueError, match="largest"):
        noise.GaussianNoise.for_query(mu=1.0, sensitivity=1.0, largest=1e15)
    with pytest.raises(ValueError, match="a hundredth of the budget"):
        noise.GaussianNoise.for_query(mu=1e-3, sensitivity=1.0, largest=1e15)
    with pytest.raises(OverflowError, match="nothing was released"):
        noise.GaussianNoise(1.0).add([1e10])
    with pytest.raises(OverflowError, match="nothing was released"):
        noise.GaussianNoise(1.0).add([1e308])
    for distribution in [noise.GaussianNoise(1.0), noise.EuclideanNoise(1.0, 1)]:
        with pytest.raises(OverflowError, match=r"finite numbers.*nothing was released"):
            distribution.add([math.nan])
    with pytest.raises(ValueError, match="scale"):
        noise.GaussianNoise(1e-300)


def test_scales_that_the_exact_laws_cannot_have():
    for call in [lambda: noise.GeometricNoise(1e-3), lambda: noise.GeometricNoise(0.3, 0.1)]:
        with pytest.raises(ValueError, match=r"scale=.*step=.*expected"):
            call()
    for value in [1e-9, 1e18]:
        refuses("scale", value, lambda v: noise.geometric(v, 1))


def test_the_shape_of_a_vector():
    with pytest.raises(ValueError, match="length 3"):
        noise.EuclideanNoise(1.0, 3).add([0.0, 0.0])


def test_a_guarantee_that_means_nothing_under_the_other_relation():
    with pytest.raises(ValueError, match=r"delta=0\.4"):
        dp.Guarantee(1.0, 0.4, "add-remove").under("replace-one")
    with pytest.raises(ValueError, match="delta"):
        dp.ApproximateLoss(1.0, 0.4, "add-remove").under("replace-one")
