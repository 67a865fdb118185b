"""Composition against brute force, against dp-accounting, against the papers, and against itself."""

from __future__ import annotations

import math
from collections import Counter

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld.privacy_loss_distribution import from_discrete_laplace_mechanism
from scipy import fft
from scipy.special import gammaln

from discreet import (
    ApproximateLoss,
    BoundedRangeLoss,
    ClassicalGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    Guarantee,
    LaplaceLoss,
    PureLoss,
    ZcdpLoss,
    calibrate,
    compare,
    compose,
)
from discreet.guarantees.pld import LossDistribution
from discreet.planning import dpem_losses
from effort import size
from together import together

METHODS = ["linear", "advanced", "zcdp", "moments", "exact"]


def random_losses(rng: np.random.Generator, kinds: str) -> list:
    make = {
        "G": lambda: GaussianLoss(10 ** rng.uniform(-1.5, 0.0)),
        "L": lambda: LaplaceLoss(10 ** rng.uniform(-2.0, 0.0)),
        "D": lambda: GeometricLoss(10 ** rng.uniform(-2.0, 0.0), int(rng.integers(1, 9))),
        "P": lambda: PureLoss(10 ** rng.uniform(-2.0, 0.0)),
        "B": lambda: BoundedRangeLoss(10 ** rng.uniform(-2.0, 0.0)),
        "Z": lambda: ZcdpLoss(10 ** rng.uniform(-4.0, -1.0)),
        "A": lambda: ApproximateLoss(10 ** rng.uniform(-2.0, 0.0), 10 ** rng.uniform(-9.0, -7.0)),
    }
    losses = []
    for kind in kinds:
        losses += [make[kind]()] * int(rng.integers(1, 12))
    return losses


@pytest.mark.parametrize("seed", size([0, 1, 3], range(25)))
def test_exact_agrees_with_dp_accounting_on_random_compositions(seed):
    rng = np.random.default_rng(seed)
    losses = random_losses(rng, ["GL", "LL", "GLL", "GGL", "GG"][seed % 5])
    reference = PLDAccountant()
    for loss, count in Counter(losses).items():
        if loss.gaussian:
            reference.compose(dp_event.GaussianDpEvent(1.0 / loss.mu), count)
        else:
            reference.compose(dp_event.LaplaceDpEvent(1.0 / loss.epsilon), count)
    ours = compose(losses)
    for delta in [1e-3, 1e-6, 1e-9]:
        assert ours.epsilon(delta) == pytest.approx(reference.get_epsilon(delta), rel=1e-3)
    epsilon = ours.epsilon(1e-5)
    assert ours.delta(epsilon) == pytest.approx(1e-5, rel=1e-3)


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_exact_agrees_with_dp_accounting_on_geometrics(steps):
    reference = from_discrete_laplace_mechanism(0.2 / steps, sensitivity=steps).self_compose(20)
    ours = compose([GeometricLoss(0.2, steps)] * 20)
    for delta in [1e-3, 1e-6]:
        assert ours.epsilon(delta) == pytest.approx(reference.get_epsilon_for_delta(delta), rel=1e-3)


@pytest.mark.parametrize(("epsilon0", "count"), [(0.1, 1), (0.1, 50), (0.02, 1000), (2.0, 5)])
def test_exact_is_right_for_repeated_randomised_response(epsilon0, count):
    """The sum of the losses is binomial, so the truth is a finite sum; exact is above it, and hardly so."""
    heads = np.arange(count + 1)
    loss = epsilon0 * (2 * heads - count)
    log_p = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1)
    log_p += heads * epsilon0 - count * math.log1p(math.exp(epsilon0))
    ours = compose({PureLoss(epsilon0): count})
    for epsilon in epsilon0 * math.sqrt(count) * np.array([0.0, 0.5, 1.0, 2.0, 3.0]):
        truth = float((np.exp(log_p) * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum())
        assert truth <= ours.delta(epsilon) * (1.0 + 1e-12)
        if truth > 1e-9:
            assert ours.delta(epsilon) <= truth * 1.02 + 2e-12


@pytest.mark.parametrize(("epsilon0", "count"), [(1e-3, 10**6), (0.00577, 30_000), (0.003, 90_000)][: size(2, 3)])
def test_long_compositions_never_fall_below_the_truth(epsilon0, count):
    """The rounding of a k-fold convolution grows with k; once it was not charged, and δ came out negative."""
    heads = np.arange(count + 1)
    loss = epsilon0 * (2 * heads - count)
    log_p = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1)
    log_p += heads * epsilon0 - count * math.log1p(math.exp(epsilon0))
    ours = compose({PureLoss(epsilon0): count})
    for epsilon in epsilon0 * math.sqrt(count) * np.array([0.5, 2.0, 5.0, 6.5, 6.8, 9.0]):
        truth = float((np.exp(log_p) * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum())
        assert truth * (1.0 - 1e-7) <= ours.delta(epsilon)
    for delta in [1e-3, 1e-6, 1e-10]:
        assert ours.delta(ours.epsilon(delta)) <= delta * (1.0 + 1e-9)


@pytest.mark.parametrize(("epsilon0", "count"), [(0.05, 400), (0.02, 1000), (1.0, 25)])
def test_the_rounding_of_a_convolution_is_a_share_of_delta(epsilon0, count):
    """Randomised response with forty digits: never below it, and near it where δ is as small as 1e-25.

    Once 1e-12 and more was added, as measured.
    """
    with mpmath.workdps(40):
        e = mpmath.mpf(epsilon0)
        p = 1 / (1 + mpmath.exp(-e))
        noise = [mpmath.binomial(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]
        ours = compose({PureLoss(epsilon0): count})
        for heads in np.linspace(0.55, 0.95, 7) * count:
            epsilon = float(epsilon0 * (2 * math.floor(heads) - count))
            losses = [e * (2 * k - count) for k in range(count + 1)]
            truth = mpmath.fsum(
                one * -mpmath.expm1(epsilon - loss) for one, loss in zip(noise, losses, strict=True) if loss > epsilon
            )
            if truth > 1e-25:
                assert truth <= ours.delta(epsilon) <= truth * (1.0 + 1e-4)


def test_the_rounding_of_a_transform_is_within_its_bound():
    """Every tilted probability is at least that of a direct convolution of positive numbers, and hardly more."""
    wide = np.longdouble
    for order in (1.5, 8.0, 40.0):
        grid = LossDistribution(0.4, [(LaplaceLoss(0.2), 3), (PureLoss(0.1), 2)])
        result = grid._tilted(order)
        total = np.ones(1, dtype=wide)
        for part in grid._parts:
            q = part.probabilities * np.exp(result.theta * (part.losses * grid.width)) * (1.0 + 2.0**-43)
            for _ in range(part.folds):
                total = np.convolve(total, (q / float(q.sum())).astype(wide))
        first = sum(part.folds * part.first for part in grid._parts)
        truth = total[result.first - first :][: len(result.q)]
        assert np.all(result.q >= truth * (1.0 - 1e-12))
        assert np.all(result.q - truth <= 1e-11 * float(truth.max()))


@pytest.mark.skipif(np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps, reason="needs wider floats")
@pytest.mark.parametrize("layers", [4, 9, 14, 18])
def test_a_transform_is_as_exact_as_is_assumed(layers):
    rng = np.random.default_rng(layers)
    numbers = rng.random(2**layers) ** 8
    for given in (numbers, np.sort(numbers), np.exp(-np.arange(2.0**layers) / 50.0)):
        ideal = fft.rfft(given.astype(np.longdouble))
        bound = 8.0 * layers * 2.0**-53
        assert np.abs(fft.rfft(given) - ideal).max() <= bound * given.sum()
        rounded = ideal.astype(np.complex128)
        back = fft.irfft(rounded.astype(np.clongdouble))
        mean = (2.0 * np.abs(rounded).sum() - np.abs(rounded[[0, -1]]).sum()) / 2**layers
        assert np.abs(fft.irfft(rounded) - back).max() <= bound * mean


def test_gaussians_compose_to_one_gaussian():
    ours = compose([GaussianLoss(0.3)] * 4 + [GaussianLoss(0.8)])
    alone = GaussianLoss(1.0)
    for epsilon in [0.0, 0.5, 2.0, 20.0]:
        assert ours.delta(epsilon) == pytest.approx(float(alone.delta_at(epsilon)), rel=1e-12)
    assert ours.epsilon(1e-300) == pytest.approx(alone.epsilon_at(1e-300))
    assert math.isinf(ours.epsilon(0.0))


def test_the_grid_route_agrees_with_the_closed_form_for_a_gaussian():
    """The convolution of two halves of a Gaussian, by the route that mixtures take, at every δ that it may answer."""
    from discreet.guarantees.losses import PureLoss as Tiny

    grid = LossDistribution(1.0, [(Tiny(1e-9), 1)])
    for delta in [0.1, 1e-3, 1e-6, 1e-9, 1e-10]:
        truth = GaussianLoss(1.0).epsilon_at(delta)
        assert truth <= grid.epsilon(delta) * (1.0 + 1e-9)
        assert grid.epsilon(delta) <= truth * (1.0 + 1e-4)
    assert math.isinf(grid.epsilon(1e-19))


@pytest.mark.parametrize("seed", range(12))
def test_halving_the_grid_changes_nothing_that_matters(seed, monkeypatch):
    losses = random_losses(np.random.default_rng(100 + seed), ["GLD", "PL", "GPB", "DDDD"][seed % 4])
    coarse = compose(losses).epsilon(1e-6)
    monkeypatch.setattr("discreet.guarantees.pld.FINENESS", 2.0)
    fine = compose(losses).epsilon(1e-6)
    assert fine <= coarse * (1.0 + 1e-9)
    assert coarse == pytest.approx(fine, rel=1e-3)


@pytest.mark.parametrize("seed", range(30))
def test_exact_is_never_worse_than_another_method(seed):
    rng = np.random.default_rng(1000 + seed)
    kinds = "".join(rng.choice(list("GLDPBZA"), size=int(rng.integers(1, 5))))
    losses = random_losses(rng, kinds)
    for delta in [1e-2, 1e-5]:
        epsilons = {method: compose(losses, method).epsilon(delta) for method in METHODS}
        assert all(epsilons["exact"] <= value * (1.0 + 1e-6) for value in epsilons.values()), epsilons
        assert epsilons["moments"] <= epsilons["zcdp"] * (1.0 + 1e-6)
        assert epsilons["moments"] <= compose(losses, "moments", integer=True).epsilon(delta) * (1.0 + 1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", ["G", "L", "GL", "GLPA", "B", "Z", "ZG"])
def test_epsilon_and_delta_are_inverse_to_each_other(method, kinds):
    losses = random_losses(np.random.default_rng(7), kinds)
    ours = compose(losses, method)
    for delta in [1e-3, 1e-5]:
        epsilon = ours.epsilon(delta)
        assert ours.delta(epsilon * (1 + 1e-9)) <= delta * (1.0 + 1e-3)
        assert ours.delta(epsilon * 1.05) < delta or ours.delta(epsilon * 1.05) == pytest.approx(ours.delta(1e3))
    assert ours.delta(0.0) <= 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_mechanisms_own_failure_is_never_lost(method):
    losses = [ApproximateLoss(0.1, 1e-5)] * 10 + [LaplaceLoss(0.1)]
    ours = compose(losses, method)
    assert math.isinf(ours.epsilon(0.9e-4))
    assert ours.delta(100.0) >= 1.0 - (1.0 - 1e-5) ** 10 - 1e-18
    assert ours.epsilon(1.1e-4) < math.inf


def test_at_delta_zero_only_pure_losses_have_a_price():
    pure = [LaplaceLoss(0.5), PureLoss(0.25), BoundedRangeLoss(0.25), GeometricLoss(1.0, 4)]
    assert compose(pure).epsilon(0.0) == pytest.approx(2.0)
    assert compose(pure).delta(2.0) == 0.0
    assert compose(pure, "linear").epsilon(0.0) == pytest.approx(2.0)
    assert math.isinf(compose([*pure, GaussianLoss(0.1)]).epsilon(0.0))


def test_many_bounded_range_losses_take_the_better_of_two_routes():
    """Few are better on the grid, many by their divergences (variance ε²/4 instead of the envelope's ε²/3)."""
    few, many = {BoundedRangeLoss(0.5): 2}, {BoundedRangeLoss(0.05): 2000}
    as_zcdp = [{ZcdpLoss(loss.zcdp): count} for ((loss, count),) in (few.items(), many.items())]
    assert compose(few).epsilon(1e-5) < 0.8 * compose(as_zcdp[0]).epsilon(1e-5)
    assert compose(many).epsilon(1e-5) == pytest.approx(compose(as_zcdp[1]).epsilon(1e-5), rel=0.02)


class TestPaper:
    """The formulas of sections 4 and 5 of the DP-EM paper, written out."""

    J, K, STEP_EPSILON, STEP_DELTA = 10, 3, 0.02, 1e-8

    def losses(self, scenario):
        return dpem_losses(scenario, steps=self.J, components=self.K, epsilon=self.STEP_EPSILON, delta=self.STEP_DELTA)

    @pytest.mark.parametrize(("scenario", "gaussians"), [("LLG", 30), ("GGG", 70)])
    def test_linear(self, scenario, gaussians):
        spent = gaussians * self.STEP_DELTA
        ours = compose(self.losses(scenario), "linear")
        assert ours.epsilon(spent * (1 + 1e-9)) == pytest.approx(70 * self.STEP_EPSILON)
        assert math.isinf(ours.epsilon(0.99 * spent))

    @pytest.mark.parametrize(("scenario", "gaussians"), [("LLG", 30), ("GGG", 70)])
    def test_advanced(self, scenario, gaussians):
        slack = 1e-5
        e = self.STEP_EPSILON
        truth = 70 * e * (math.exp(e) - 1) + math.sqrt(2 * 70 * math.log(1 / slack)) * e
        ours = compose(self.losses(scenario), "advanced")
        assert ours.epsilon(slack + gaussians * self.STEP_DELTA) == pytest.approx(truth, rel=1e-9)

    def test_zcdp(self):
        sigma = math.sqrt(2 * math.log(1.25 / self.STEP_DELTA)) / self.STEP_EPSILON
        e2 = self.STEP_EPSILON**2
        rho = {"GGG": 70 / (2 * sigma**2), "LLG": 40 * e2 / 2 + 30 / (2 * sigma**2)}
        for scenario, value in rho.items():
            truth = value + 2 * math.sqrt(value * math.log(1e4))
            assert compose(self.losses(scenario), "zcdp").epsilon(1e-4) == pytest.approx(truth)

    def test_moments_with_integer_orders(self):
        sigma = math.sqrt(2 * math.log(1.25 / self.STEP_DELTA)) / self.STEP_EPSILON
        e = self.STEP_EPSILON

        def laplace(order):  # equation 20
            up = (order + 1) / (2 * order + 1) * math.exp(order * e)
            return math.log(up + order / (2 * order + 1) * math.exp(-e * (order + 1)))

        def gaussian(order):  # equation 21
            return (order**2 + order) / (2 * sigma**2)

        for scenario, (n_laplace, n_gaussian) in {"LLG": (40, 30), "GGG": (0, 70)}.items():
            moments = {o: n_laplace * laplace(o) + n_gaussian * gaussian(o) for o in range(1, 101)}
            truth = min((moment + math.log(1e4)) / order for order, moment in moments.items())
            ours = compose(self.losses(scenario), "moments", integer=True)
            assert ours.epsilon(1e-4) == pytest.approx(truth, rel=1e-9)

    def test_real_orders_make_the_moments_accountant_as_good_as_zcdp_for_gaussians(self):
        losses = self.losses("GGG")
        for delta in [1e-2, 1e-4, 1e-9]:
            zcdp = compose(losses, "zcdp").epsilon(delta)
            assert compose(losses, "moments").epsilon(delta) == pytest.approx(zcdp, rel=1e-9)

    def test_the_classical_price_is_refused_where_its_rule_is_not_proved(self):
        assert math.isinf(compose(ClassicalGaussianLoss(1.0, 1e-6), "linear").epsilon(1e-5))
        assert compose(ClassicalGaussianLoss(1.0, 1e-6), "exact").epsilon(1e-5) < 1.0


@pytest.fixture
def no_figures_left():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.mark.usefixtures("no_figures_left")
def test_compare_has_every_method_and_can_be_drawn():
    comparison = compare([GaussianLoss(0.1)] * 20, [1e-4, 1e-6])
    assert list(comparison.epsilon) == METHODS
    assert all(values.shape == (2,) for values in comparison.epsilon.values())
    assert "exact" in str(comparison)
    axes = comparison.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == METHODS
    assert list(axes.lines[0].get_xdata()) == [1e-6, 1e-4]
    assert len(compare(LaplaceLoss(1.0), 1e-6).plot().patches) == len(METHODS)


@pytest.mark.usefixtures("no_figures_left")
def test_a_method_that_promises_nothing_says_so_in_the_picture():
    comparison = compare([GaussianLoss(1.0)], 0.0)
    assert all(math.isinf(values[0]) for values in comparison.epsilon.values())
    assert [text.get_text() for text in comparison.plot().texts] == ["no guarantee"] * 5
    legend = compare([GaussianLoss(1.0)], [0.0, 0.0]).plot().get_legend()
    assert all("no guarantee" in text.get_text() for text in legend.get_texts())


def test_what_is_printed_is_never_better_than_what_is_promised():
    assert str(Guarantee(1.0000049, 1e-6)).startswith("(ε=1.00001,")
    assert "1.001" in str(compare(PureLoss(1.0000001), 0.0))


def test_a_composition_converts_as_its_losses_do():
    ours = compose([GaussianLoss(0.2, "add-remove")] * 3, "zcdp").under("replace-one")
    assert ours.method == "zcdp"
    assert ours.rho == pytest.approx(3 * 0.4**2 / 2)


def test_relations_do_not_mix():
    mixed = [LaplaceLoss(0.1), LaplaceLoss(0.1, "add-remove")]
    with pytest.raises(ValueError, match=r"under\('replace-one'\)"):
        compose(mixed)
    assert compose([loss.under("replace-one") for loss in mixed]).epsilon(0.0) == pytest.approx(0.3)
    assert compose(LaplaceLoss(0.1, "add-remove")).guarantee(1e-6).neighbors.value == "add-remove"


def test_counts_of_any_integer_type_are_counted_in_full():
    small = {GaussianLoss(1.0): np.uint8(200), GaussianLoss(2.0): np.uint8(100)}
    plain = {GaussianLoss(1.0): 200, GaussianLoss(2.0): 100}
    for method in METHODS:
        assert compose(small, method).epsilon(1e-5) == compose(plain, method).epsilon(1e-5)
    assert compose({LaplaceLoss(0.01): np.int16(1000)}).epsilon(1e-5) > 0.0


def test_what_was_composed_cannot_be_changed():
    with pytest.raises(TypeError):
        compose(GaussianLoss(1.0)).counts[GaussianLoss(2.0)] = 1


@together(
    "losses",
    [
        {ApproximateLoss(1.0, 1e-3): 10**6},
        {ApproximateLoss(1.0, 0.5): 100},
        [LaplaceLoss(1e9)],
        [PureLoss(1e12), GaussianLoss(1e5)],
        [GaussianLoss(1e-170), PureLoss(1.0)],
        [ClassicalGaussianLoss(0.5, 1e-309)] * 2,
        {PureLoss(50.0): 1, PureLoss(1e-5): 10**4},
        [BoundedRangeLoss(1e-9), BoundedRangeLoss(400.0)],
        [ZcdpLoss(1e-12), ZcdpLoss(1e6)],
        [GeometricLoss(1e-6, 2**62), GeometricLoss(30.0, 1)],
    ],
    ids=str,
)
@together("method", METHODS)
def test_extreme_losses_give_numbers_in_range(losses, method):
    ours = compose(losses, method)
    for delta in [0.0, 1e-300, 1e-12, 1e-5, 0.1, 0.9]:
        assert 0.0 <= ours.epsilon(delta) <= math.inf
    for epsilon in [0.0, 1e-9, 1.0, 1e3, 1e200]:
        assert 0.0 <= ours.delta(epsilon) <= 1.0


def test_gaussians_never_promise_delta_zero():
    assert math.isinf(compose([GaussianLoss(1e-170), PureLoss(1.0)]).epsilon(0.0))
    assert compose(GaussianLoss(1.0)).delta(60.0) > 0.0
    assert compose(ZcdpLoss(0.5)).delta(100.0) > 0.0
    assert compose([ClassicalGaussianLoss(0.5, 1e-309)] * 2).epsilon(1e-5) > 0.05


def test_a_failure_is_not_rounded_away():
    assert math.isinf(compose(ApproximateLoss(1.0, 1e-6), "linear").epsilon(1e-6 * (1 - 5e-13)))
    with pytest.raises(ValueError, match="delta="):
        Guarantee(800.0, 1e-305, "add-remove").under("replace-one")
    with pytest.raises(ValueError, match="delta="):
        ApproximateLoss(800.0, 1e-305, "add-remove").under("replace-one")


def test_a_promise_of_epsilon_zero_is_given_as_a_tiny_one():
    assert compose(PureLoss(1.0)).guarantee(0.9).epsilon <= 1e-12


def test_a_guarantee_comes_out_of_a_composition():
    guarantee = compose([GaussianLoss(0.2)] * 3).guarantee(1e-6)
    assert isinstance(guarantee, Guarantee)
    assert guarantee.delta == 1e-6


def test_losses_of_ones_own_that_are_equal_and_differ_have_noise_of_their_own():
    class Scaled(GaussianLoss):
        times = 1.0

        @property
        def gaussian(self):
            return self.mu * self.times

    guarantee = Guarantee(1.0, 1e-5)
    usual = calibrate(guarantee, [Scaled(1.0)]).noise
    Scaled.times = 10.0
    assert calibrate(guarantee, [Scaled(1.0)]).noise == pytest.approx(10.0 * usual)
