"""The filters: their prices, their bounds, and the best adaptive analyst against each of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

import discreet as dp
from discreet.guarantees.normal import normal_delta, normal_mu
from discreet.ledger import Limit
from discreet.ledger.dataset_limits import Account
from discreet.ledger.privacy_filters import SLACK, GaussianFilter, mu_to_pure, pure_to_mu
from together import together

NODES = np.linspace(-12.0, 12.0, 400_001)  # the trapezoid rule; what is integrated has kinks
WEIGHTS = norm.pdf(NODES) * (NODES[1] - NODES[0])


def limit(epsilon=1.0, delta=1e-6, filter="gaussian", failures=None, neighbors="replace-one"):  # noqa: A002
    return Limit.from_arguments(dp.Guarantee(epsilon, delta, neighbors), filter, failures)


def admits(a_limit, spent, asked, reserve=False):
    return Account("d", a_limit, spent).admits(asked, reserve)


# Prices


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.01, 0.5, 0.999999, 1.0, 1.000001, 3.0, 20.0])
def test_a_pure_loss_costs_the_gaussian_with_the_same_total_variation(epsilon):
    """At ε' = 0 the curves of randomised response and of its Gaussian meet: tanh(ε/2) = Φ(μ/2) − Φ(−μ/2)."""
    assert math.erf(pure_to_mu(epsilon) / math.sqrt(8.0)) == pytest.approx(math.tanh(epsilon / 2.0), rel=1e-13)


@pytest.mark.parametrize("epsilon", [3.0, 20.0, 100.0, 700.0, 1e4, 1e6])
def test_a_large_pure_loss_keeps_its_digits(epsilon):
    assert log_ndtr(-pure_to_mu(epsilon) / 2.0) == pytest.approx(-np.logaddexp(0.0, epsilon), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 4.0])
def test_the_gaussian_dominates_the_pure_loss_everywhere_and_no_smaller_one_does(epsilon):
    grid = np.linspace(0.0, 1.5 * epsilon, 400)
    curve = dp.PureLoss(epsilon).delta_at(grid)
    assert np.all(normal_delta(pure_to_mu(epsilon), grid) >= curve * (1.0 - 1e-12))
    assert np.any(normal_delta(0.999 * pure_to_mu(epsilon), grid) < curve)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 4.0, 20.0])
def test_the_gaussian_dominates_every_mechanism_of_bounded_range_and_no_smaller_one_does(epsilon):
    """Each t has a mechanism with the log-ratios t and t − ε; the middle one needs the largest μ."""
    t = np.linspace(0.0, epsilon, 2001)[1:-1]
    p = np.expm1(epsilon - t) * np.exp(t - epsilon) / -np.expm1(-epsilon)  # of saying yes, on one side
    q = np.expm1(epsilon - t) / np.expm1(epsilon)  # and on the other
    needed = norm.ppf(p) - norm.ppf(q)
    mu = pure_to_mu(epsilon / 2.0)
    assert needed.max() == pytest.approx(mu, rel=1e-9)
    assert t[needed.argmax()] == pytest.approx(epsilon / 2.0, rel=1e-2)
    grid = np.linspace(0.0, 1.5 * epsilon, 400)
    curve = dp.BoundedRangeLoss(epsilon).delta_at(grid)
    assert np.all(normal_delta(mu, grid) >= curve * (1.0 - 1e-12))
    assert np.any(normal_delta(0.999 * mu, grid) < curve)


def test_a_choice_costs_a_quarter_of_what_is_only_known_to_be_pure():
    """For small ε; so twice the ε, or four times as many choices, fit beside Gaussian noise."""
    chosen = limit().filters()[0]
    assert chosen.price(dp.PureLoss(0.01)) / chosen.price(dp.BoundedRangeLoss(0.01)) == pytest.approx(4.0, rel=1e-4)
    assert not admits(limit(), {dp.PureLoss(0.01): 300}, {dp.GaussianLoss(0.1): 1})
    assert admits(limit(), {dp.BoundedRangeLoss(0.01): 300}, {dp.GaussianLoss(0.1): 1})


@pytest.mark.parametrize("epsilon", [1e-10, 1e-3, 0.5, 1.0, 2.0, 30.0, 1e3])
def test_the_way_back_from_the_gaussian_to_the_pure_loss(epsilon):
    assert mu_to_pure(pure_to_mu(epsilon)) == pytest.approx(epsilon, rel=1e-13)


def test_prices():
    gaussian, zcdp, pure = (limit(filter=name).filters()[0] for name in ("gaussian", "zcdp", "pure"))
    for loss, prices in [
        (dp.GaussianLoss(0.3), (0.09, 0.045, math.inf)),
        (dp.LaplaceLoss(0.3), (pure_to_mu(0.3) ** 2, 0.045, 0.3)),
        (dp.BoundedRangeLoss(0.4), (pure_to_mu(0.2) ** 2, 0.02, 0.4)),
        (dp.ApproximateLoss(0.3, 1e-8), (pure_to_mu(0.3) ** 2, 0.045, 0.3)),
        (dp.ZcdpLoss(0.01), (math.inf, 0.01, math.inf)),
    ]:
        assert [one.price(loss) for one in (gaussian, zcdp, pure)] == pytest.approx(prices, rel=1e-15)


# Bounds


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), [(1.0, 1e-5, 3.7306317), (0.1, 1e-4, 24.5080)])
def test_one_gaussian_of_the_known_size_fits_and_no_larger_one(epsilon, delta, sigma):
    fresh = limit(epsilon, delta)
    assert admits(fresh, {}, {dp.GaussianLoss(1.0 / sigma / 1.00001): 1})
    assert not admits(fresh, {}, {dp.GaussianLoss(1.0 / sigma * 1.00001): 1})


@together(("epsilon", "delta"), [(1.0, 1e-6), (0.05, 1e-9), (8.0, 1e-5), (1.0, 1e-300), (1000.0, 1e-6)])
@together("steps", [1, 3, 7, 40, 1000])
@together("name", ["gaussian", "zcdp"])
def test_equal_shares_of_a_budget_fit_and_one_more_does_not(epsilon, delta, steps, name):
    fresh = limit(epsilon, delta, name)
    whole = Account("d", fresh, {}).remaining()
    share = dp.GaussianLoss(whole.mu / math.sqrt(steps)) if name == "gaussian" else dp.ZcdpLoss(whole.rho / steps)
    assert admits(fresh, {share: steps - 1} if steps > 1 else {}, {share: 1})
    assert not admits(fresh, {share: steps}, {share.with_noise(1e4 / steps): 1})
    assert Account("d", fresh, {share: steps}).remaining().mu == 0.0
    share = dp.calibrate(dp.Guarantee(epsilon, delta), {dp.GaussianLoss(1.0): steps}).losses[0]
    assert admits(limit(epsilon, delta), {share: steps - 1} if steps > 1 else {}, {share: 1})
    assert not admits(limit(epsilon, delta), {share: steps}, {share.with_noise(1e3 / steps): 1})


@pytest.mark.parametrize("steps", [3, 7, 10, 49])
def test_equal_shares_of_a_pure_budget(steps):
    share = dp.LaplaceLoss(0.7 / steps)  # their float sum may be a digit above 0.7
    fresh = limit(0.7, 0.0)
    assert admits(fresh, {share: steps - 1}, {share: 1})
    assert not admits(fresh, {share: steps}, {dp.LaplaceLoss(1e-9): 1})


def test_the_slack_is_rounding_and_no_more():
    """The slope of ln δ in ln μ is μφ(ε/μ − μ/2)/δ; times the rounding of the shares it stays below the slack."""
    slopes = []
    for epsilon in [1e-4, 0.01, 1.0, 10.0, 100.0]:
        for delta in [1e-300, 1e-100, 1e-20, 1e-6, 0.1]:
            mu = normal_mu(epsilon, delta)
            slopes.append(mu * norm.pdf(epsilon / mu - mu / 2.0) / delta)
    assert max(slopes) < 1500.0
    assert SLACK <= 1e-12
    for name, loss in [("gaussian", dp.GaussianLoss), ("pure", dp.LaplaceLoss)]:
        fresh = limit(1.0, 1e-6, name)
        most = Account("d", fresh, {}).remaining()
        size = most.mu if name == "gaussian" else most.epsilon
        assert admits(fresh, {}, {loss(size): 1})
        assert not admits(fresh, {}, {loss(size * (1.0 + 1e-11)): 1})


@pytest.mark.parametrize("name", ["gaussian", "zcdp", "pure"])
@pytest.mark.parametrize("spent", [{}, {dp.LaplaceLoss(0.05): 3}, {dp.PureLoss(0.5): 1, dp.GeometricLoss(0.01, 4): 5}])
def test_what_remains_can_be_spent_and_not_a_hair_more(name, spent):
    fresh = limit(filter=name)
    left = Account("d", fresh, spent).remaining()
    for size, kind in [(left.mu, dp.GaussianLoss), (left.epsilon, dp.PureLoss), (left.rho, dp.ZcdpLoss)]:
        if size:
            assert admits(fresh, spent, {kind(size): 1})
        assert not admits(fresh, spent, {kind(max(size * 1.001, 1e-3)): 1})


def test_without_delta_only_pure_losses_are_admitted():
    fresh = limit(1.0, 0.0)
    assert admits(fresh, {}, {dp.LaplaceLoss(1.0): 1})
    assert not admits(fresh, {}, {dp.GaussianLoss(1e-12): 1})  # its δ at ε = 1 underflows to 0 and is not 0
    assert not admits(limit(1.0, 0.0, "zcdp"), {}, {dp.ZcdpLoss(1e-12): 1})
    assert Account("d", fresh, {}).remaining().mu == 0.0


# Either filter


def test_no_loss_is_free_however_small():
    """A price that underflows must not pass for nothing spent: no Gaussian is (1, 0)-private."""
    limit = Limit.from_arguments(dp.Guarantee(1.0, 0.0))
    assert not admits(limit, {}, {dp.GaussianLoss(1e-170): 1})
    assert admits(limit, {}, {dp.PureLoss(1e-320): 1})


def test_a_long_schedule_is_told_by_what_it_costs():
    asked = {dp.GaussianLoss(0.5): 30, dp.GaussianLoss(0.4): 2}
    told = str(Account("census", limit(), {}).preview(asked))
    assert re.search(r"ε=16\.\d+ at δ=1e-06 was asked for, in 32 releases, and is not admitted", told)
    assert "GaussianLoss" not in told


def test_a_count_that_is_no_count():
    with pytest.raises(ValueError, match="at most 9007199254740992"):
        dp.compose({dp.PureLoss(1e-3): 10**400})
    assert not admits(Limit.from_arguments(dp.Guarantee(1.0, 1e-6)), {}, {dp.GaussianLoss(1e150): 2**53})


def test_a_loss_that_means_nothing_under_the_limits_relation():
    with pytest.raises(ValueError, match="guarantees nothing under 'replace-one'"):
        dp.ApproximateLoss(5.0, 0.5, "add-remove").under("replace-one")


def test_a_spend_is_admitted_while_either_filter_holds():
    fresh = limit()
    many = {dp.LaplaceLoss(0.01): 250}  # Σε = 2.5, but Σμ² is small
    few = {dp.LaplaceLoss(0.5): 2}  # Σμ² is too large, but Σε = 1
    assert admits(fresh, {}, many)
    assert admits(fresh, {}, few)
    assert not admits(fresh, few, {dp.LaplaceLoss(0.01): 1})
    assert not admits(fresh, {dp.LaplaceLoss(0.5): 1}, {dp.GaussianLoss(0.01): 1})  # neither prices both within bounds
    assert not admits(fresh, many, few)


def test_a_loss_without_a_price_fails_its_filter_for_good():
    fresh = limit()
    assert not admits(fresh, {}, {dp.ZcdpLoss(1e-9): 1})
    assert not admits(fresh, {dp.ZcdpLoss(1e-9): 1}, {dp.GaussianLoss(1e-9): 1})


def test_failures_have_their_own_share():
    loss = dp.ApproximateLoss(0.01, 1e-8)
    assert not admits(limit(), {}, {loss: 1})
    shared = limit(failures=1e-7)
    assert admits(shared, {}, {loss: 10})
    assert not admits(shared, {loss: 10}, {loss: 1})
    assert admits(shared, {loss: 10}, {dp.GaussianLoss(0.1): 1})
    assert Account("d", shared, {loss: 4}).remaining().failure == pytest.approx(6e-8)
    assert Account("d", shared, {}).remaining().mu == pytest.approx(normal_mu(1.0, 9e-7), rel=1e-12)
    assert admits(limit(filter="pure"), {}, {dp.ApproximateLoss(0.1, 1e-7): 10})
    assert not admits(limit(filter="pure"), {}, {dp.ApproximateLoss(0.1, 1e-7): 11})
    assert not admits(limit(), {}, {dp.ApproximateLoss(0.5, 1e-9): 1})  # the pure filter beside has no share of δ


def test_losses_are_converted_to_the_relation_of_the_limit():
    fresh = limit()
    half = dp.GaussianLoss(normal_mu(1.0, 1e-6) / 2.0, "add-remove")
    assert admits(fresh, {}, {half: 1})
    assert not admits(fresh, {half: 1}, {dp.GaussianLoss(0.001): 1})
    with pytest.raises(ValueError, match="accounted under 'add-remove'"):
        admits(limit(neighbors="add-remove"), {}, {dp.GaussianLoss(0.1): 1})


# Reservations

SCHEDULES = {
    "gaussian": [dp.GaussianLoss(1.0)] * 10,
    "laplace": [dp.LaplaceLoss(1.0)] * 10,
    "one laplace": [dp.LaplaceLoss(1.0)],
    "mixed": [dp.GaussianLoss(1.0), dp.GaussianLoss(2.0), dp.LaplaceLoss(1.0), dp.GeometricLoss(2.0, 8)],
    "selection": [dp.BoundedRangeLoss(1.0)] * 5 + [dp.GaussianLoss(1.0)],
    "zcdp": [dp.ZcdpLoss(1.0)] * 3 + [dp.GaussianLoss(1.0)],
    "may fail": [dp.ApproximateLoss(1.0, 1e-7)] * 2 + [dp.GaussianLoss(1.0)],
}


@cache
def calibrated(schedule):
    return Counter(dp.calibrate(dp.Guarantee(1.0, 1e-6), SCHEDULES[schedule]).losses)


@pytest.mark.parametrize("name", ["gaussian", "zcdp", "pure"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_whatever_was_calibrated_to_a_limit_fits_into_it_and_nothing_after_it(schedule, name):
    guarantee = dp.Guarantee(1.0, 1e-6)
    losses = calibrated(schedule)
    fresh = Limit.from_arguments(guarantee, name)
    assert admits(fresh, {}, losses, reserve=True)
    assert not admits(fresh, losses, {dp.GaussianLoss(1e-3): 1})
    assert not admits(fresh, losses, losses, reserve=True)
    louder = Counter(loss.with_noise(0.99) for loss in losses.elements())
    assert not admits(fresh, {}, louder, reserve=True)


def test_a_reservation_within_the_filter_leaves_the_rest():
    fresh = limit()
    schedule = {dp.GaussianLoss(0.05): 10}
    assert admits(fresh, {}, schedule)
    assert admits(fresh, schedule, {dp.GaussianLoss(0.1): 1})


def test_a_preview_says_what_each_verb_would_do():
    zcdp = {dp.ZcdpLoss(0.01): 1}
    told = Account("d", limit(), {}).preview(zcdp)
    assert (told.admitted, told.reservable) == (False, True)
    assert told.left.mu == told.left.epsilon == 0.0
    assert told.remaining.epsilon == 1.0
    assert str(told.left) == "nothing"
    refused = Account("d", limit(), {dp.GaussianLoss(0.1): 1}).preview(zcdp)
    assert not refused.reservable
    assert refused.left == refused.remaining
    assert "no price for ZcdpLoss" in str(refused)
    refused = Account("d", limit(), {dp.GaussianLoss(0.1): 1}).preview({dp.ApproximateLoss(0.1, 1e-9): 1})
    assert "failures=" in str(refused)


# The best adaptive analyst


def call_price(b, x, gamma):
    """E[(x·exp(√b Z − b/2) − γ)₊], the F of ``gaussian_filter``."""
    root = math.sqrt(b)
    d = (np.log(x / gamma) + b / 2.0) / root
    return x * ndtr(d) - gamma * ndtr(d - root)


def second_choice(fresh, first, menu_failure):
    """Return the δ of an analyst who spends ``first``, sees the output, and takes the better of two second spends."""
    epsilon = fresh.guarantee.epsilon
    gamma = math.exp(epsilon)
    spent = {dp.GaussianLoss(first): 1}
    x = np.exp(first * NODES - first**2 / 2.0)
    left = Account("d", fresh, spent).remaining()
    go = call_price(left.mu**2, x, gamma)
    assert admits(fresh, spent, {dp.GaussianLoss(left.mu): 1})
    failure = menu_failure(left)
    fail = (1.0 - failure) * np.maximum(x - gamma, 0.0) + failure * x
    return float(WEIGHTS @ np.maximum(go, fail))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("failures", [0.0, 1e-7, 5e-7])
def test_choosing_between_noise_and_a_failure_gains_nothing(share, failures):
    fresh = limit(failures=failures)
    first = math.sqrt(share) * normal_mu(1.0, 1e-6 - failures)

    def largest_failure(left):
        if failures:
            assert admits(fresh, {dp.GaussianLoss(first): 1}, {dp.ApproximateLoss(1e-9, left.failure): 1})
        assert not admits(fresh, {dp.GaussianLoss(first): 1}, {dp.ApproximateLoss(1e-9, left.failure + 1e-12): 1})
        return left.failure

    assert second_choice(fresh, first, largest_failure) <= 1e-6 * (1.0 + 1e-9)


def test_taking_failures_off_delta_as_they_come_would_not_be_a_filter():
    """Why the share is fixed beforehand: δ_μ(ε) + Σδ_i ≤ δ on every path is broken by 94 % by a choice."""
    fresh = limit()
    first = math.sqrt(0.5) * normal_mu(1.0, 1e-6)
    result = second_choice(fresh, first, lambda left: 1e-6 - float(normal_delta(first, 1.0)))
    assert result == pytest.approx(1.936e-6, rel=1e-3)


def best_analyst(fresh, menu, depth, admitted=admits):
    """Return the largest δ that an adaptive analyst reaches with randomised responses, some of which may fail.

    Exactly, over all strategies: V(x, history) is the better of stopping, (x − γ)₊, and of every admitted loss, whose
    outputs multiply the likelihood ratio x by e^±ε_i. A failure tells the data sets apart: all of its probability
    under P counts.
    """
    gamma = math.exp(fresh.guarantee.epsilon)
    known = {}

    def value(x, history, steps):
        place = (round(math.log(x), 9), tuple(sorted(history.items(), key=repr)), steps)
        if place not in known:
            best = max(x - gamma, 0.0)
            for loss in menu if steps else ():
                if not admitted(fresh, history, {loss: 1}):
                    continue
                after = history + Counter([loss])
                ratio, fails = math.exp(loss.pure), loss.failure
                q = 1.0 / (1.0 + ratio)  # of the output that speaks for P, under Q
                best = max(
                    best,
                    fails * x
                    + (1.0 - fails) * q * value(x * ratio, after, steps - 1)
                    + (1.0 - fails) * (1.0 - q) * value(x / ratio, after, steps - 1),
                )
            known[place] = best
        return known[place]

    return value(1.0, Counter(), depth)


MENU = (dp.PureLoss(0.25), dp.PureLoss(0.5), dp.ApproximateLoss(0.25, 0.01))
LIMITS = [
    limit(0.8, 0.05),
    limit(0.8, 0.05, failures=0.02),
    limit(0.8, 0.05, "zcdp"),
    limit(0.8, 0.05, "zcdp", failures=0.02),
    limit(0.8, 0.05, "pure"),
    limit(1.5, 0.02, failures=0.01),
]


@pytest.mark.parametrize("fresh", LIMITS, ids=str)
def test_the_best_adaptive_analyst_stays_within_the_limit(fresh):
    result = best_analyst(fresh, MENU, 10)
    assert result <= fresh.guarantee.delta * (1.0 + 1e-9)
    assert result > 0.2 * fresh.guarantee.delta or fresh.failures == 0.0  # the analyst is not a weak one


def test_the_best_analyst_finds_broken_filters(monkeypatch):
    fresh = LIMITS[1]

    def forgets(the_limit, spent, asked):
        return admits(the_limit, {}, asked) and sum(spent.values()) < 10

    assert best_analyst(fresh, MENU, 10, forgets) > 0.05
    price = GaussianFilter.price
    monkeypatch.setattr(GaussianFilter, "price", lambda self, loss: price(self, loss) / 2.0)
    assert best_analyst(fresh, MENU, 10) > 0.05
