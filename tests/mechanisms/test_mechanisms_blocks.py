"""Sample and aggregate: exact output laws over all ways to part the rows, for all neighbours, whatever the function."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import laplace, norm
from test_mechanisms import ADD, REPLACE, as_rows, data_sets, hockey_stick, pairs, quiet_bits

import discreet.mechanisms as dm
from discreet import Guarantee
from discreet.door import open_rows
from discreet.guarantees import BoundedRangeLoss, GaussianLoss, LaplaceLoss
from discreet.queries.functions.blocks import BlockMean, BlockMedian
from discreet.queries.functions.user_functions import UserFunction

VALUES = (0.0, 1.0)
BLOCKS = 2


def jumpy(rows):
    """Jump between the ends of its box with every row, and fails on some."""
    code = int(rows[:, 0] @ 3.0 ** np.arange(len(rows))) + len(rows)
    if code % 5 == 4:
        raise ArithmeticError(str(rows))
    return [-1e9, 1e9, float("nan"), 0.3][code % 4] if len(rows) else 1e9


FUNCTIONS = {"jumpy": jumpy, "any one": lambda rows: 1e9 if rows.any() else -1e9, "count": len, "sum": np.sum}
BOX = (0.0, 2.0)


def setting(relation, max_rows=1):
    if max_rows == 1:
        return open_rows(np.zeros((3, 1)), bounds=(0, 1), neighbors=relation).setting
    return open_rows(np.zeros((3, 1)), bounds=(0, 1), neighbors=relation, unit=[0, 0, 1], max_rows=max_rows).setting


def all_results(way, rows):
    """Return the results for each of the k^n ways to part the rows, all of them equally probable."""
    values = as_rows(rows)
    return [
        way.results(values, np.array(places, dtype=np.int64))
        for places in itertools.product(range(way.blocks), repeat=len(rows))
    ]


class Laws:
    """The output law of a data set on a grid, averaged over the ways to part it; remembered."""

    def __init__(self, way, of):
        self.way, self.of, self.known = way, of, {}

    def __call__(self, rows):
        if rows not in self.known:
            self.known[rows] = np.mean([self.of(results) for results in all_results(self.way, rows)], axis=0)
        return self.known[rows]


def sizes(relation):
    return (3,) if relation is REPLACE else (1, 2, 3)


class TestMean:
    grid = np.linspace(-3.0, 3.0, 601)

    def worst(self, function, relation, loss, halved=1.0):
        way = BlockMean(UserFunction.with_output(FUNCTIONS[function], BOX), BLOCKS, 0)
        noise = way.plan_rows(loss, setting(relation)).noise
        scale = noise.scale * halved
        distributions = Laws(way, lambda results: laplace.pdf(self.grid, way.mean(results)[0], scale))
        return max(
            float(np.log(distributions(a) / distributions(b)).max())
            for a, b in pairs(VALUES, sizes(relation), relation)
        )

    @pytest.mark.parametrize("relation", [REPLACE, ADD])
    @pytest.mark.parametrize("function", FUNCTIONS)
    def test_laplace_noise_is_private(self, function, relation):
        assert self.worst(function, relation, LaplaceLoss(0.8, relation)) <= 0.8 * (1 + 1e-9)

    def test_some_function_takes_all_of_it(self):
        """With one row and one block a function can say which: the averaging over blocks hides nothing."""
        own = UserFunction.with_output(FUNCTIONS["any one"], BOX)
        way = BlockMean(own, 1, 0)
        noise = way.plan_rows(LaplaceLoss(0.8), setting(REPLACE)).noise
        means = [way.mean(all_results(way, (v,))[0])[0] for v in VALUES]
        assert 0.99 * 0.8 <= (means[1] - means[0]) / noise.scale <= 0.8

    def test_broken_copies_are_caught(self):
        loss = LaplaceLoss(0.8)
        assert self.worst("any one", REPLACE, loss, halved=0.25) > 0.8 * 1.3
        # Without the clipping one block moves the mean by 1e9.
        way = BlockMean(UserFunction.with_output(FUNCTIONS["any one"], (-1e9, 1e9)), BLOCKS, 0)
        noise = (
            BlockMean(UserFunction.with_output(FUNCTIONS["any one"], BOX), BLOCKS, 0)
            .plan_rows(loss, setting(REPLACE))
            .noise
        )
        raw = [r.mean() for r in (all_results(way, (0.0,))[0], all_results(way, (1.0,))[0])]
        assert abs(raw[1] - raw[0]) / noise.scale > 1e6

    @pytest.mark.parametrize("relation", [REPLACE, ADD])
    def test_gaussian_noise_keeps_its_delta(self, relation):
        loss = GaussianLoss(1.0, relation)
        way = BlockMean(UserFunction.with_output(jumpy, BOX), BLOCKS, 0)
        scale = way.plan_rows(loss, setting(relation)).noise.scale
        cells = np.linspace(-9.0, 9.0, 4001)
        distributions = Laws(way, lambda results: np.diff(norm.cdf(cells, way.mean(results)[0], scale)))
        for e in (0.0, 0.5, 1.5):
            worst = max(
                hockey_stick(distributions(a), distributions(b), e) for a, b in pairs(VALUES, sizes(relation), relation)
            )
            assert worst <= float(loss.delta_at(e))

    def test_a_person_of_two_rows(self):
        """All persons of one or two rows beside all others: two blocks may change."""
        persons = data_sets(VALUES, (1, 2))
        near = [(a + c, b + c) for a in persons for b in persons for c in persons[:3]]
        way = BlockMean(UserFunction.with_output(FUNCTIONS["any one"], BOX), 3, 0)
        wide = way.plan_rows(LaplaceLoss(0.8), setting(REPLACE, 2)).noise.scale
        narrow = way.plan_rows(LaplaceLoss(0.8), setting(REPLACE, 1)).noise.scale
        assert wide == pytest.approx(2 * narrow)
        for scale in (wide, narrow):
            distributions = Laws(way, lambda results, scale=scale: laplace.pdf(self.grid, way.mean(results)[0], scale))
            worst = max(float(np.log(distributions(a) / distributions(b)).max()) for a, b in near)
            assert (worst <= 0.8) == (scale == wide)  # the narrow one is broken on purpose

    def test_several_numbers_share_the_budget(self):
        own = UserFunction.with_output(lambda rows: [1.0, 2.0, 3.0], ([0, 0, 0], [4, 4, 4]))
        way = BlockMean(own, 5, 0)
        one = BlockMean(UserFunction.with_output(lambda rows: 1.0, (0, 4)), 5, 0)
        for loss, factor in ((LaplaceLoss(1.0), 3.0), (GaussianLoss(1.0), math.sqrt(3.0))):
            ratio = (
                way.plan_rows(loss, setting(REPLACE)).noise.scale / one.plan_rows(loss, setting(REPLACE)).noise.scale
            )
            assert ratio == pytest.approx(factor, rel=1e-6)


class TestMedian:
    def distributions(self, function, epsilon, relation, cells=6, blocks=BLOCKS, max_rows=1):
        way = BlockMedian(UserFunction.with_output(FUNCTIONS[function], BOX), blocks, 0, cells)
        exponents = way.exponents(BoundedRangeLoss(epsilon, relation), setting(relation, max_rows))

        def probabilities(results):
            weights = np.exp(exponents(results)[0])
            return weights / weights.sum()

        return Laws(way, probabilities)

    @pytest.mark.parametrize("relation", [REPLACE, ADD])
    @pytest.mark.parametrize("function", FUNCTIONS)
    def test_it_is_within_the_curve_of_bounded_range(self, function, relation):
        loss = BoundedRangeLoss(0.8, relation)
        distributions = self.distributions(function, 0.8, relation)
        for a, b in pairs(VALUES, sizes(relation), relation):
            assert np.log(distributions(a) / distributions(b)).max() <= 0.8
            for e in (0.0, 0.2, 0.5):
                assert hockey_stick(distributions(a), distributions(b), e) <= float(loss.delta_at(e)) + 1e-12

    def test_a_changed_result_can_take_all_of_the_range(self):
        """One of 4 results changes: scores between its places rise on one side of the median and fall on the other."""
        way = BlockMedian(UserFunction.with_output(FUNCTIONS["sum"], BOX), 4, 0, 6)
        box_ends = [np.array(results)[:, None] for results in itertools.product((0.0, 0.9, 1.1, 2.0), repeat=4)]
        moves = []
        for results in box_ends:
            for z in (0.0, 0.9, 1.1, 2.0):
                other = results.copy()
                other[0] = z
                moves.append(way.scores(results)[0] - way.scores(other)[0])
        spans = [move.max() - move.min() for move in moves]
        assert max(spans) == 2.0
        assert max(np.abs(move).max() for move in moves) == 1.0

    def test_two_numbers_and_two_rows_share_the_range(self):
        own = UserFunction.with_output(lambda rows: [0.0, 0.0], ([0, 0], [2, 2]))
        way = BlockMedian(own, 5, 0, 6)
        exponents = way.exponents(BoundedRangeLoss(0.8), setting(REPLACE, 2))
        ends = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [2.0, 2.0]])
        other = ends.copy()
        other[0], other[1] = 2.0, 2.0  # two blocks change, in both numbers
        spans = []
        for a, b in itertools.product([ends, ends[::-1], other, np.full((5, 2), 1.0)], repeat=2):
            if (a != b).any(axis=1).sum() <= 2:
                move = exponents(a) - exponents(b)
                spans.append(sum(row.max() - row.min() for row in move))
        assert 0.49 * 0.8 <= max(spans) <= 0.8 * (1 + 1e-12)

    def test_twice_the_rate_is_caught(self):
        near = pairs(VALUES, (3,), REPLACE)
        right, wrong = (self.distributions("any one", e, REPLACE, blocks=1) for e in (0.8, 8.0))
        assert max(np.log(right(a) / right(b)).max() for a, b in near) <= 0.8
        assert max(np.log(wrong(a) / wrong(b)).max() for a, b in near) > 0.8

    def test_it_finds_the_middle_in_a_wide_box(self):
        rows = np.random.default_rng(0).normal(0.5, 0.1, 40_000)
        result = dm.sample_and_aggregate(
            np.mean, rows, bounds=(0, 1), output=(-50, 50), aggregate="median", epsilon=2.0, bits=quiet_bits(1)
        )
        assert abs(result.value - 0.5) < 0.3
        with pytest.raises(ValueError, match="expected 'mean' for an interval"):
            result.interval()


class TestTheWhole:
    def test_parts_are_uniform_and_independent_of_what_is_in_them(self):
        way = BlockMean(UserFunction.with_output(len, (0, 1000)), 10, 0)
        rows, ((blocks, size),) = np.zeros((1000, 1)), way.random_blocks
        counts = way.results(rows, blocks.sample(size(rows), quiet_bits(2)))[:, 0]
        assert counts.sum() == 1000
        assert counts.min() > 40
        assert counts.max() < 170

    def test_the_mean_and_its_interval(self):
        inside = 0
        for seed in range(40):
            result = dm.sample_and_aggregate(
                lambda rows: [0.25, 30.0],
                np.zeros((100, 1)),
                bounds=(0, 1),
                output=([0, 20], [1, 40]),
                epsilon=1.0,
                bits=quiet_bits(seed),
            )
            low, high = result.interval(0.9)
            inside += int(((low < [0.25, 30.0]) & (high > [0.25, 30.0])).sum())
        assert abs(inside - 72) < 6.2 * math.sqrt(80 * 0.09)
        assert result.blocks == 10
        assert result.value.shape == (2,)

    def test_one_number_is_a_float_and_the_guarantee_is_the_medians_own(self):
        result = dm.sample_and_aggregate(np.mean, [0.5] * 9, bounds=(0, 1), output=(0, 1), epsilon=1.0, delta=1e-6)
        assert isinstance(result.value, float)
        assert all(isinstance(end, float) for end in result.interval())
        assert result.guarantee == Guarantee(1.0, 1e-6)
        median = dm.sample_and_aggregate(
            np.mean, [0.5] * 9, bounds=(0, 1), output=(0, 1), epsilon=1.0, delta=1e-6, aggregate="median"
        )
        assert median.guarantee == Guarantee(1.0)

    @pytest.mark.parametrize("aggregate", ["mean", "median"])
    def test_a_wrong_delta_is_refused_for_either_centre(self, aggregate):
        for delta in (-1, float("nan"), 1.0, "small"):
            with pytest.raises(ValueError, match=f"delta={delta!r}: expected a probability"):
                dm.sample_and_aggregate(
                    np.mean, [0.5] * 9, bounds=(0, 1), output=(0, 1), epsilon=1.0, delta=delta, aggregate=aggregate
                )

    def test_blocks_must_be_said_where_the_number_of_rows_is_secret(self):
        with pytest.raises(ValueError, match="blocks=None"):
            dm.sample_and_aggregate(np.mean, [0.5], bounds=(0, 1), output=(0, 1), epsilon=1.0, neighbors="add-remove")

    def test_small_blocks_count_as_failures(self):
        way = BlockMean(UserFunction.with_output(lambda rows: 9.0, (0, 10)), 2, 3)
        assert way.results(np.zeros((4, 1)), np.array([0, 0, 0, 1])).ravel().tolist() == [9.0, 5.0]
