"""The factored exponential mechanism: output laws of all neighbours of all small data sets, failures, broken copies."""

from __future__ import annotations

import dataclasses
import math
import signal
import time
import warnings

import numpy as np
import pytest
from test_mechanisms import ADD, REPLACE, as_rows, data_sets, pairs

from conftest import FALSE_ALARM
from discreet import Category, Curator, Guarantee, Number, Schema, Sum
from discreet.door import open_rows
from discreet.guarantees import BoundedRangeLoss
from discreet.mechanisms import FactoredExponential
from discreet.queries.bound import Bound
from discreet.queries.functions.factored_scores import FactoredSum
from discreet.queries.search import worst_neighbours
from discreet.records import Block
from effort import size
from goodness import chi_square_p

CANDIDATES = np.arange(1, 10) / 10
LOW, HIGH = math.log(0.1), math.log(0.9)
EPSILON = 0.9


def log_likelihood(rows, chances):
    return np.log(np.where(rows == 1, chances, 1 - np.asarray(chances)))


def coin(score=log_likelihood, low=LOW, high=HIGH):
    return FactoredExponential(score, CANDIDATES, low, high)


def block(rows):
    return Block(rows, np.empty((len(rows), 0), dtype=np.int64))


def softmax_logs(exponents):
    return exponents - np.logaddexp.reduce(exponents)


def log_law(mechanism, relation, *, max_rows=1, scale=1.0, query=FactoredSum):
    """Return the function from a data set to the logarithms of the output probabilities."""
    asked = query(mechanism, 1)
    setting = open_rows(np.zeros((3, 1)), bounds=(0, 1), neighbors=relation).setting
    setting = dataclasses.replace(setting, max_rows=max_rows)
    eta = asked.rate(BoundedRangeLoss(EPSILON * scale, relation), setting)
    return lambda rows: softmax_logs(eta * np.asarray(asked.sum(block(as_rows(rows)))))


def worst_range(logs, neighbours):
    moves = [logs(a) - logs(b) for a, b in neighbours]
    return max(float(np.ptp(move)) for move in moves)


class Unclamped(FactoredSum):
    def _pieces(self, block):
        yield self.scored.score(block.x, self.scored.candidates)


class TestPrivacy:
    @pytest.mark.parametrize("relation", [REPLACE, ADD], ids=str)
    def test_the_range_of_the_log_ratio_is_at_most_epsilon_and_attained(self, relation):
        near = pairs((0.0, 1.0), (3,) if relation is REPLACE else (1, 2, 3), relation)
        logs = log_law(coin(), relation)
        assert 0.99 * EPSILON <= worst_range(logs, near) <= EPSILON
        assert max(float((logs(a) - logs(b)).max()) for a, b in near) <= EPSILON
        # Broken on purpose: the factor 2 of a replaced row left out (and √2), or the clamp.
        assert worst_range(log_law(coin(), relation, scale=math.sqrt(2.0)), near) > 1.4 * EPSILON
        if relation is REPLACE:
            half = dataclasses.replace(open_rows(np.zeros((3, 1)), bounds=(0, 1)).setting, neighbors=ADD)
            eta = FactoredSum(coin(), 1).rate(BoundedRangeLoss(EPSILON, ADD), half)
            asked = FactoredSum(coin(), 1)
            wrong = worst_range(lambda rows: softmax_logs(eta * asked.sum(block(as_rows(rows)))), near)
            assert wrong > 1.9 * EPSILON
        tight = coin(low=math.log(0.3), high=math.log(0.7))
        assert worst_range(log_law(tight, relation), near) <= EPSILON
        assert worst_range(log_law(tight, relation, query=Unclamped), near) > 1.5 * EPSILON

    def test_units_of_two_rows(self):
        persons = data_sets((0.0, 1.0), (1, 2))
        near = [(a + c, b + c) for a in persons for b in persons for c in persons[:3]]
        assert 0.99 * EPSILON <= worst_range(log_law(coin(), REPLACE, max_rows=2), near) <= EPSILON
        assert worst_range(log_law(coin(), REPLACE, max_rows=1), near) > 1.9 * EPSILON

    def test_random_scores_and_bounds_keep_the_promise(self):
        rng = np.random.default_rng(0)
        for _ in range(20):
            table = rng.standard_cauchy((3, 4)) * 10.0 ** rng.integers(-3, 4)
            low, high = np.sort(rng.normal(size=2) * 10.0 ** rng.integers(-3, 4))
            mechanism = FactoredExponential(lambda rows, _, t=table: t[rows[:, 0].astype(int)], range(4), low, high)
            for relation in (REPLACE, ADD):
                sizes = (2,) if relation is REPLACE else (1, 2)
                assert worst_range(log_law(mechanism, relation), pairs((0.0, 1.0, 2.0), sizes, relation)) <= EPSILON

    @pytest.mark.parametrize("fault", ["sqrt 2", "no clamp", "company"])
    def test_broken_copies_are_caught_by_the_search(self, fault):
        class Broken(FactoredSum):
            @property
            def bound(self):
                right = super().bound
                return Bound(l2=right.l2 / math.sqrt(2), l1=right.l1) if fault == "sqrt 2" else right

            def _pieces(self, block):
                if fault == "no clamp":
                    yield self.scored.score(block.x, self.scored.candidates)
                elif fault == "company":
                    middle = block.x.mean(axis=0) if len(block.x) > 1 else 0.0
                    yield from super()._pieces(Block(3.0 * (block.x - middle), block.codes))
                else:
                    yield from super()._pieces(block)

        def steep(rows, candidates):
            return rows[:, :1] * np.asarray(candidates)

        mechanism = FactoredExponential(steep, (-1.0, 1.0))
        assert all(one.holds and one.tight for one in worst_neighbours(FactoredSum(mechanism, 2), _rng()))
        assert not all(one.holds for one in worst_neighbours(Broken(mechanism, 2), _rng()))


def _rng():
    return np.random.default_rng(0)


class TestDraws:
    def test_draws_have_the_law(self, seeded):
        rows, bits = [0.0, 1.0, 1.0, 1.0], seeded(5)
        mechanism = coin()
        drawn = [mechanism.draw(rows, bounds=(0, 1), epsilon=4.0, bits=bits) for _ in range(size(300, 1000))]
        sums = log_likelihood(as_rows(rows), CANDIDATES).sum(axis=0)
        noise = np.exp(softmax_logs(drawn[0].rate * sums))
        counts = np.bincount([one.index for one in drawn], minlength=9)
        assert chi_square_p(counts, noise) > FALSE_ALARM
        assert chi_square_p(counts, np.full(9, 1 / 9)) < FALSE_ALARM
        assert drawn[0].rate == pytest.approx(4.0 / (2.0 * math.log(9.0)), rel=1e-9)
        assert drawn[0].guarantee is None  # seeded
        assert drawn[0].value == CANDIDATES[drawn[0].index]

    def test_what_an_answer_says(self):
        result = coin().draw([0.0, 1.0] * 50, bounds=(0, 1), epsilon=1.0, neighbors="add-remove")
        assert result.guarantee == Guarantee(1.0, 0.0, ADD)
        assert result.rate == pytest.approx(1.0 / math.log(9.0), rel=2e-3)  # the float error of 2²⁷ rows is taken off
        assert result.release.exact
        assert result.release.mechanism == "selection"

    def test_several_draws_are_recorded_and_compose(self, tmp_path):
        curator = Curator(
            np.zeros((20, 1)), schema=Schema({"x": Number(0, 1)}), name="coin", ledger=str(tmp_path / "ledger.db"),
            budget=Guarantee(1.0),
        )  # fmt: skip
        mechanism = coin()
        for _ in range(2):
            assert mechanism.draw(curator, epsilon=0.4).release.recorded
        with pytest.raises(Exception, match="coin"):
            mechanism.draw(curator, epsilon=0.4)

    def test_categories_come_after_numbers(self):
        def score(rows, candidates):
            return (rows[:, 1:] == np.asarray(candidates)) * 1.0

        schema = Schema({"ward": Category(["a", "b", "c"]), "x": Number(0, 1)})
        rows = np.array([["b", "0.5"]] * 400, dtype=object)
        result = FactoredExponential(score, [0, 1, 2], 0.0, 1.0).draw(rows, schema=schema, epsilon=1.0)
        assert result.value == 1

    def test_many_candidates_are_summed_in_pieces(self):
        points = np.linspace(0, 1, 5001)
        mechanism = FactoredExponential(lambda rows, z: -np.abs(rows - z), points, -1.0, 0.0)
        rows = np.random.default_rng(0).uniform(size=(1000, 1))
        asked = FactoredSum(mechanism, 1)
        expected = (0.5 - np.abs(rows - points)).sum(axis=0)
        np.testing.assert_allclose(asked.sum(block(rows)), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(asked.contributions(block(rows)).sum(axis=0), expected, rtol=0, atol=1e-10)


class TestScoresThatFail:
    @staticmethod
    def fails(rows, candidates):
        """Raise for a row of 1, be silent about 2 (NaN), and infinite at 3; write into the rows in any case."""
        x = rows[:, :1].copy()
        rows[:] = 7.0
        if (x == 1).any():
            raise RuntimeError(f"secret {x}")
        result = x * np.asarray(candidates, dtype=float)
        result[x[:, 0] == 2] = np.nan
        result[x[:, 0] == 3] = [np.inf, -np.inf]
        return result

    def test_a_row_that_fails_scores_low_whoever_stands_beside_it(self):
        mechanism = FactoredExponential(self.fails, (0.25, -0.25), -2.0, 2.0)
        rows = as_rows([0.0, 1.0, 2.0, 4.0, 1.0, 3.0, 1.0, 5.0])
        expected = [[0, 0], [-2, -2], [-2, -2], [1, -1], [-2, -2], [2, -2], [-2, -2], [1.25, -1.25]]
        before = rows.copy()
        np.testing.assert_array_equal(mechanism.log_scores(rows), expected)
        np.testing.assert_array_equal(rows, before)
        for i in range(len(rows)):
            np.testing.assert_array_equal(mechanism.log_scores(rows[i : i + 1])[0], expected[i])
        assert mechanism.log_scores(rows[:0]).shape == (0, 2)

    def test_an_interruption_comes_bare(self):
        def stop(rows, candidates):
            signal.raise_signal(signal.SIGINT)
            raise RuntimeError("secret")

        with pytest.raises(KeyboardInterrupt) as caught:
            FactoredExponential(stop, [1]).log_scores(as_rows([0.0]))
        assert caught.value.args == ()
        assert caught.value.__context__ is None

    def test_one_that_a_score_raises_itself_is_a_failure(self):
        def stop(rows, candidates):
            raise KeyboardInterrupt("secret")

        assert FactoredExponential(stop, [1]).log_scores(as_rows([0.0])).tolist() == [[-1.0]]

    @pytest.mark.parametrize(
        ("score", "says"),
        [
            (lambda rows, z: (rows - rows.mean()) * np.ones(2), "a function of each row by itself"),
            (lambda rows, z: np.arange(len(rows))[:, None] * np.ones(2) / 200, "a function of each row by itself"),
            (lambda rows, z: np.zeros((2, len(rows))), r"numbers of shape \(100, 2\)"),
            (lambda rows, z: 1 / 0, "ZeroDivisionError"),
        ],
    )
    def test_made_up_rows_show_it_before_anything_is_spent(self, score, says, tmp_path):
        curator = Curator(
            np.zeros((5, 1)), schema=Schema({"x": Number(0, 1)}), name="d", ledger=str(tmp_path / "ledger.db")
        )
        with pytest.raises(ValueError, match=rf"score: expected .*{says}"):
            FactoredExponential(score, [1, 2]).draw(curator, epsilon=1.0)
        assert not curator.ledger.datasets()

    def test_a_choice_that_would_be_blind_is_told(self):
        with pytest.warns(UserWarning, match="score: on made-up rows all candidates have equal scores"):
            FactoredExponential(lambda rows, z: rows * 0 - [5.0, 9.0], [1, 2]).draw([0.5], bounds=(0, 1), epsilon=1.0)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"score": 3}, "score=3: expected"),
        ({"candidates": []}, r"candidates=\[\]: expected"),
        ({"low": 1.0, "high": 1.0}, "low=1.0, high=1.0: expected low < high"),
        ({"low": math.nan}, "low=nan"),
        ({"high": math.inf}, "high=inf"),
        ({"low": "a"}, "low='a'"),
    ],
)
def test_arguments_that_are_none(given, says):
    with pytest.raises(ValueError, match=says):
        FactoredExponential(**{"score": log_likelihood, "candidates": [0.5]} | given)


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, "1", None])
def test_epsilon_is_named(epsilon):
    with pytest.raises(ValueError, match="epsilon="):
        coin().draw([0.0], bounds=(0, 1), epsilon=epsilon)


def test_a_mechanism_of_another_question_is_refused():
    curator = open_rows([0.0], bounds=(0, 1))
    with pytest.raises(ValueError, match="expected the sum of a factored exponential"):
        curator.measure(Sum(curator.space), Guarantee(1.0), mechanism=FactoredSum(coin(), 1).mechanism)


class TestCandidates:
    def test_they_are_kept_as_they_were(self):
        import pandas as pd

        def score(rows, candidates):
            return np.tile([-1.0, 1.0, -1.0], (len(rows), 1))

        mechanism = FactoredExponential(score, pd.Series([0.0, 0.5, 1.0], index=[2, 0, 1]))
        result = mechanism.draw(np.zeros((2000, 1)), bounds=(0, 1), epsilon=500.0)
        assert (result.index, result.value) == (1, 0.5)

    def test_a_score_cannot_write_into_them(self):
        def score(rows, candidates):
            candidates[0][0] = float(rows[0, 0])
            return np.tile([1.0, -1.0], (len(rows), 1))

        mechanism = FactoredExponential(score, [[7.0], [8.0]])
        result = mechanism.draw(np.full((2000, 1), 0.25), bounds=(0, 1), epsilon=500.0)
        assert result.value == [7.0]

    @pytest.mark.parametrize("wrong", [{1, 2}, {1: 2}, "ab", 3, None, np.array(3.0), []])
    def test_what_has_no_order_is_refused(self, wrong):
        with pytest.raises(ValueError, match="candidates"):
            FactoredExponential(lambda rows, candidates: rows, wrong)

    def test_warnings_of_a_score_stay_inside_when_blocks_come_from_threads(self):
        """Nothing was shown, and warnings of the process are errors as before."""

        def score(rows, candidates):
            time.sleep(0.0002)
            if (rows[:, 0] == 0.25).any():
                warnings.warn("a row is 0.25", stacklevel=1)
            return np.tile([1.0, -1.0], (len(rows), 1))

        rows = np.zeros((300_000, 1))
        rows[::50_000] = 0.25
        FactoredExponential(score, [0.0, 1.0]).draw(rows, bounds=(0, 1), epsilon=1.0)
        with pytest.raises(UserWarning, match="public"):
            warnings.warn("public", UserWarning, stacklevel=1)
