"""Quantiles by the exponential mechanism: every data set of a small world, every neighbour, the exact laws."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet.door.exit import draw_plan
from discreet.guarantees import BoundedRangeLoss, Neighbors, PureLoss
from discreet.noise.draws import ChooseInRuns, PermuteAndFlip
from discreet.queries.bound import Setting
from discreet.queries.ranks import quantile_queries as order
from discreet.queries.ranks.column_steps import Scale
from discreet.queries.ranks.quantile_queries import (
    TIE_BITS,
    WEIGHT_STEPS,
    QuantileMechanism,
    Quantiles,
    RankDistribution,
    RankTarget,
    quantile_levels,
)
from effort import crossed, size

SPACE = dp.Box([0.0], [3.0])
SCALE = Scale(0.0, 3.0, 1.0)
EPSILON = 1.0
ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE


def log_law(query, eta, rows):
    """Return the log-probabilities of all outputs of a small query, exactly, for rows of (number, group, weight)."""
    joint = np.zeros(1)
    for target in query.targets:
        own = sorted(row for row in rows if target.first <= row[0] <= target.last and row[1] == target.group)
        numbers = np.array([row[0] for row in own], dtype=np.int64)
        weights = None if query.weights is None else np.array([row[2] for row in own], dtype=np.int64)
        starts, counts, scores, *_ = RankDistribution(numbers, weights, target, eta).runs()
        assert starts[0] == target.first
        assert counts.sum() == target.last - target.first + 1
        each = np.repeat(scores, counts)
        joint = (joint[:, None] + (each - np.logaddexp.reduce(each))[None, :]).ravel()
    return joint


def eta_of(query, relation, max_rows=1):
    setting = Setting(relation, max_rows, 10, 1)
    return EPSILON / query.mechanism.spread(query, setting)


def neighbours(world, relation, most):
    """Yield all pairs of data sets of at most ``most`` rows that are neighbours."""
    for count in range(most + 1):
        for rows in itertools.combinations_with_replacement(world, count):
            if relation is ADD:
                for row in world:
                    yield rows, (*rows, row)
            elif count:
                for place in sorted({rows.index(row) for row in rows}):
                    rest = rows[:place] + rows[place + 1 :]
                    yield rows, rest  # a row that is dropped for a missing value
                    yield from ((rows, (*rest, row)) for row in world)


def worst(query, relation, world, most=3):
    """Return the largest range of a log-ratio over all outputs, in units of ε.

    Over all data sets of a few rows and, as for a quantile near an end it takes many, over some of up to 40 of a kind.
    """
    eta, rng, result = eta_of(query, relation), np.random.default_rng(0), 0.0
    noise = functools.cache(lambda rows: log_law(query, eta, rows))  # most data sets have many neighbours
    pairs = neighbours(world, relation, most)
    for _ in range(400):
        counts = rng.integers(0, 40, len(world))
        rows = tuple(row for row, count in zip(world, counts, strict=True) for _ in range(count))
        first, second = (world[place] for place in rng.integers(0, len(world), 2))
        pairs = itertools.chain(pairs, [((*rows, first), rows if relation is ADD else (*rows, second))])
    for one, other in pairs:
        ratio = noise(tuple(sorted(one))) - noise(tuple(sorted(other)))
        result = max(result, float(ratio.max() - ratio.min()))
    return result / EPSILON


def ones(values, groups=(0,)):
    return [(value, group, WEIGHT_STEPS) for value in values for group in groups]


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.75, 1.0])
def test_one_quantile_costs_what_it_says_and_not_less(q, relation):
    query = Quantiles(SPACE, 0, SCALE, (RankTarget(q, 0, 0, 3),))
    result = worst(query, relation, ones(range(4)))
    assert result <= 1.0 + 1e-9
    assert result >= 0.99


@pytest.mark.parametrize(
    ("q", "made_up", "relation"), crossed([0.0, 0.3, 0.5, 1.0], [{"below": 3.3}, {"above": 3.3}], [ADD, REPLACE])
)
def test_limits_cost_what_they_say(q, made_up, relation):
    query = Quantiles(SPACE, 0, SCALE, (RankTarget(q, 0, 0, 3, **made_up),))
    result = worst(query, relation, ones(range(4)))
    assert result <= 1.0 + 1e-9
    assert result >= (0.99 if (q, *made_up) not in ((0.0, "below"), (1.0, "above")) else 0.49)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("levels", [(0.5, 0.5), (0.2, 0.9)])
def test_groups_share_the_cost(levels, relation):
    targets = tuple(RankTarget(q, group, 0, 2) for group, q in enumerate(levels))
    query = Quantiles(dp.Box([0.0], [2.0]), 0, Scale(0.0, 2.0, 1.0), targets, by=((0, len(levels)),))
    result = worst(query, relation, ones(range(3), (0, 1)))
    assert 0.95 <= result <= 1.0 + 1e-9


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_intervals_share_the_cost(relation):
    space, scale = dp.Box([0.0], [5.0]), Scale(0.0, 5.0, 1.0)
    query = Quantiles(space, 0, scale, (RankTarget(0.5, 0, 0, 2), RankTarget(0.25, 0, 3, 5)))
    result = worst(query, relation, ones(range(6)), most=2)
    assert 0.9 <= result <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("q", "relation"),
    size(
        [(0.0, ADD), (0.5, REPLACE), (0.8, ADD), (1.0, REPLACE)],
        [*itertools.product([0.0, 0.5, 0.8, 1.0], [ADD, REPLACE])],
    ),
)
def test_weights(q, relation):
    query = Quantiles(
        dp.Box([0.0] * 2, [2.0] * 2), 0, Scale(0.0, 2.0, 1.0), (RankTarget(q, 0, 0, 2),), weights=(1, 2.0)
    )
    world = [(value, 0, weight * WEIGHT_STEPS // 2) for value in range(3) for weight in (0, 1, 2)]
    result = worst(query, relation, world)
    assert 0.9 <= result <= 1.0 + 1e-9


def test_broken_ties_keep_pure_privacy(monkeypatch):
    """With one random bit below each step, all of its outcomes summed up."""
    monkeypatch.setattr(order, "TIE_BITS", 1)
    query = Quantiles(dp.Box([0.0], [1.0]), 0, Scale(0.0, 1.0, 1.0), (RankTarget(0.3, 0, 0, 3),), break_ties=True)

    def noise(rows, eta):
        outcomes = itertools.product(*[[2 * row[0], 2 * row[0] + 1] for row in rows])
        each = [np.exp(log_law(query, eta, [(number, 0, 1) for number in jittered])) for jittered in outcomes]
        return np.mean(each, axis=0)

    for relation in (ADD, REPLACE):
        eta, result = eta_of(query, relation), 0.0
        for one, other in neighbours(ones(range(2)), relation, 4):
            result = max(result, float(np.abs(np.log(noise(one, eta) / noise(other, eta))).max()))
        assert 0.3 <= result <= EPSILON + 1e-9


def flipping_law(scores):
    """Return P(y) = p_y·∫₀¹ Π_{z≠y}(1 − p_z·t) dt, permute-and-flip's law: the order as uniform times of arrival."""
    chances = np.exp(scores - scores.max())
    noise = []
    for place in range(len(chances)):
        product = np.polynomial.Polynomial([1.0])
        for other in np.delete(chances, place):
            product *= np.polynomial.Polynomial([1.0, -other])
        noise.append(chances[place] * product.integ()(1.0))
    return np.array(noise)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("q", [0.2, 0.5])
@pytest.mark.parametrize("groups", [1, 2])
def test_permute_and_flip_keeps_pure_privacy(q, relation, groups):
    last = 5 - 2 * groups
    targets = tuple(RankTarget(q, group, 0, last) for group in range(groups))
    query = Quantiles(
        SPACE, 0, Scale(0.0, float(last), 1.0), targets, by=((0, groups),) if groups > 1 else (), flips=True
    )
    eta, world, result = eta_of(query, relation), ones(range(last + 1), range(groups)), 0.0

    @functools.cache
    def noise(target, numbers):
        _, counts, scores, *_ = RankDistribution(np.array(numbers, dtype=np.int64), None, target, eta).runs()
        each = flipping_law(np.repeat(scores, counts))
        assert each.sum() == pytest.approx(1.0)
        return each

    for one, other in neighbours(world, relation, 4 if groups == 1 else 2):
        worst = 0.0
        for target in targets:
            own = (tuple(sorted(row[0] for row in rows if row[1] == target.group)) for rows in (one, other))
            first, second = (noise(target, numbers) for numbers in own)
            worst += np.abs(np.log(first / second)).max()
        result = max(result, worst)
    assert 0.3 <= result <= EPSILON + 1e-9


@pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")
def test_flips_follow_their_law():
    """Chi-square; at 5 degrees of freedom 60 is exceeded once in 10¹⁰ times."""
    ranks, bits = RankDistribution(np.array([0, 1, 1, 3]), None, RankTarget(0.5, 0, 0, 5), 0.7), dp.noise.SeededBits(4)
    _, counts, scores, *_ = ranks.runs()
    expected = 3_000 * flipping_law(np.repeat(scores, counts))
    result = np.bincount(PermuteAndFlip().draw([ranks.runs()] * 3_000, bits), minlength=6)
    assert ((result - expected) ** 2 / expected).sum() < 60.0


@pytest.mark.parametrize("fault", ["half the spread", "one for replace", "groups as one"])
def test_broken_copies_are_caught(fault):
    class Broken(QuantileMechanism):
        def spread(self, query, setting):
            right = super().spread(query, setting)
            if fault == "half the spread":
                return right / 2.0
            if fault == "one for replace":
                return super().spread(query, replace(setting, neighbors=ADD))
            return super().spread(replace(query, targets=query.targets[:1]), setting)

    targets = (RankTarget(0.2, 0, 0, 2), RankTarget(0.9, 1, 0, 2))
    query = Quantiles(dp.Box([0.0], [2.0]), 0, Scale(0.0, 2.0, 1.0), targets, by=((0, 2),), way=Broken())
    assert worst(query, REPLACE, ones(range(3), (0, 1)), most=2) > 1.05


def test_units_multiply_the_spread():
    query = Quantiles(SPACE, 0, SCALE, (RankTarget(0.5, 0, 0, 3),))
    for relation in (ADD, REPLACE):
        assert eta_of(query, relation, 3) == pytest.approx(eta_of(query, relation) / 3)


@pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")
def test_draws_follow_the_law():
    """Chi-square against the exact law; at 5 degrees of freedom 60 is exceeded once in 10¹⁰ times."""
    rows = [0, 1, 1, 3]
    query = Quantiles(dp.Box([0.0], [5.0]), 0, Scale(0.0, 5.0, 1.0), (RankTarget(0.5, 0, 0, 5),))
    noise = np.exp(log_law(query, 0.7, [(row, 0, 1) for row in rows]))
    bits, many = dp.noise.SeededBits(3), size(1_500, 4_000)
    setting = Setting(ADD, 1, 10, 1)
    plan = query.mechanism.plan(query, dp.BoundedRangeLoss(0.7, ADD), setting)
    draws = [draw_plan(plan, np.array(rows, dtype=float)[:, None], bits)[0] for _ in range(many)]
    result = np.bincount(np.array(draws, dtype=int), minlength=6)
    assert ((result - many * noise) ** 2 / (many * noise)).sum() < 60.0


@pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")
@pytest.mark.parametrize(
    ("q", "made_up", "weighted"),
    crossed([0.0, 0.4, 1.0], [{}, {"below": 1.5}, {"above": 2.5}], [False, True]),
)
def test_bundles_do_not_change_the_law(q, made_up, weighted):
    """Chi-square against the law without bundles; at 11 degrees of freedom 80 is exceeded once in 10¹² times."""
    target, bits = RankTarget(q, 0, 0, 11, **made_up), dp.noise.SeededBits(5)
    numbers = np.array([0, 1, 1, 2, 4, 4, 4, 7, 9, 9, 11])
    weights = np.arange(11) * WEIGHT_STEPS // 11 if weighted else None
    ranks = RankDistribution(numbers, weights, target, 0.4)
    _, counts, scores, bundles, _ = ranks.runs()
    noise = np.repeat(np.exp(scores), counts)
    assert not any(bundles)
    assert q != 0.4 or any(ranks.runs(0.7).bundles)
    result = np.bincount(ChooseInRuns().draw([ranks.runs(0.7)] * 400, bits), minlength=12)
    expected = 400 * noise / noise.sum()
    assert ((result - expected) ** 2 / expected).sum() < 80.0


@pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")
def test_candidates_beyond_what_floats_hold_keep_every_bit():
    """With ties broken there are 2⁶⁰ candidates; a float would round the bits below a step, or on to the next step."""
    query = Quantiles(
        SPACE, 0, Scale(0.0, 3.0), (RankTarget(0.5, 0, 0, ((2**40 + 1) << TIE_BITS) - 1),), break_ties=True
    )
    plan = query.mechanism.plan(query, PureLoss(1.0, ADD), Setting(ADD, 1, 10, 1))
    bits, none = dp.noise.SeededBits(6), np.empty((0, 1))
    steps, below = np.array([draw_plan(plan, none, bits) for _ in range(200)]).T.astype(np.int64)
    assert steps.max() <= 2**40
    assert 50 < (below & 1).sum() < 150
    last = np.array([query.last])
    assert query.split(last).tolist() == [2**40, 2**TIE_BITS - 1]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10])
def test_levels_name_each_quantile_once_between_its_neighbours(n):
    seen: set[int] = {-1, n}
    for level in quantile_levels(n):
        assert all(left in seen and right in seen and left < place < right for place, left, right in level)
        seen |= {place for place, _, _ in level}
    assert seen == set(range(-1, n + 1))


@pytest.mark.parametrize(
    ("targets", "by"),
    [
        ((), None),
        ((RankTarget(0.5, 0, 0, 2), RankTarget(0.5, 0, 2, 3)), None),
        ((RankTarget(1.5, 0, 0, 2),), None),
        ((RankTarget(0.5, 1, 0, 2),), None),
        ((RankTarget(0.5, 0, 0, 4),), None),
    ],
)
def test_parts_that_are_none(targets, by):
    with pytest.raises(ValueError, match="targets="):
        Quantiles(SPACE, 0, SCALE, targets, by)


@pytest.mark.parametrize("step", [0.0, -1.0, 0.7, 10.0, float("nan"), 1e-20])
def test_steps_that_do_not_fit(step):
    with pytest.raises(ValueError, match="step="):
        Scale(0.0, 3.0, step)


def test_the_loss_says_what_holds():
    curator = dp.Curator(np.arange(4.0)[:, None], space=SPACE)
    plain = Quantiles(curator.space, 0, SCALE, (RankTarget(0.5, 0, 0, 3),))
    broken = replace(plain, break_ties=True)
    with pytest.raises(ValueError, match="BoundedRangeLoss"):
        curator.measure(plain, PureLoss(1.0))
    with pytest.raises(ValueError, match="PureLoss"):
        curator.measure(broken, BoundedRangeLoss(1.0))
    assert curator.measure(plain, dp.Guarantee(1.0)).exact
    with pytest.raises(ValueError, match="by="):
        curator.measure(replace(plain, by=((0, 2),)), dp.Guarantee(1.0))


@pytest.mark.parametrize("value", [0.0, 2.0, 3.0])
def test_constant_rows_give_the_constant(value):
    """The other candidates have e^(−500) of the weight."""
    curator = dp.Curator(np.full((2000, 1), value), space=SPACE)
    release = curator.measure(Quantiles(curator.space, 0, SCALE, (RankTarget(0.5, 0, 0, 3),)), dp.Guarantee(1.0))
    assert SCALE.value(release["numbers"][0, 0]) == value


def test_the_finest_scale_is_monotone_and_near():
    x = np.sort(np.random.default_rng(0).normal(50.0, 40.0, 10_000))
    scale = Scale(0.0, 120.0)
    numbers = scale.number(x)
    assert (np.diff(numbers) >= 0).all()
    assert numbers.min() == 0
    assert numbers.max() == scale.count
    values = np.array([scale.value(number) for number in numbers])
    assert np.abs(values - np.clip(x, 0.0, 120.0)).max() <= 120.0 * 2.0**-40
