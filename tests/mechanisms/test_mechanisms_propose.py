"""Propose, test, release: distances against all small data sets, and exact output laws of all neighbours."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import laplace
from test_mechanisms import REPLACE, as_rows, data_sets, neighbours, pairs, quiet_bits

import discreet.mechanisms as dm
from discreet.door import open_rows
from discreet.door.exit import draw_plan
from discreet.guarantees import ApproximateLoss
from discreet.mechanisms.propose_test_release import FARTHEST
from discreet.queries.functions.proposals import ProposeTestRelease
from discreet.queries.functions.user_functions import UserFunction
from goodness import binomial_p

VALUES = (0.0, 1.0, 2.0, 4.0)
LOW, HIGH = 0.0, 4.0
KINDS = {"median": dm.median_distance, "iqr": dm.iqr_distance}


def brute_distances(statistic, n, proposal):
    """Return for every data set in order how many rows must be replaced until one more moves the statistic by more."""
    sets = data_sets(VALUES, (n,))
    ordered = [rows for rows in sets if list(rows) == sorted(rows)]
    of_ordered = {rows: statistic(as_rows(rows)) for rows in ordered}
    value = {rows: of_ordered[tuple(sorted(rows))] for rows in sets}
    bad = np.array(
        [
            rows
            for rows in sets
            if max(abs(value[rows] - value[other]) for other in neighbours(rows, VALUES, REPLACE)) > proposal
        ]
    )
    if not len(bad):
        return dict.fromkeys(ordered, math.inf)
    return {rows: float((bad != np.array(rows)).sum(axis=1).min()) for rows in ordered}


class TestDistances:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_order_of_rows_does_not_matter(self, kind):
        distance = KINDS[kind](1.5, LOW, HIGH)
        for rows in data_sets(VALUES, (4,)):
            here, ordered = as_rows(rows), as_rows(sorted(rows))
            assert (distance(here), distance.statistic(here)) == (distance(ordered), distance.statistic(ordered))

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("proposal", [0.5, 1.5, 2.5, 3.5, 9.0])
    def test_the_medians_is_exact(self, n, proposal):
        distance = dm.median_distance(proposal, LOW, HIGH)
        exact = brute_distances(distance.statistic, n, proposal)
        assert all(distance(as_rows(rows)) == result for rows, result in exact.items())

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("proposal", [0.5, 1.5, 3.5])
    def test_the_interquartile_ranges_is_a_lower_bound_that_moves_by_one(self, n, proposal):
        distance = dm.iqr_distance(proposal, LOW, HIGH)
        exact = brute_distances(distance.statistic, n, proposal)
        assert all(distance(as_rows(rows)) <= result for rows, result in exact.items())

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("proposal", [0.5, 1.0, 1.5, 2.0])
    def test_they_move_by_at_most_one(self, kind, proposal):
        distance = KINDS[kind](proposal, LOW, HIGH)
        far = cache(lambda rows: distance(as_rows(rows)))
        assert all(abs(far(a) - far(b)) <= 1.0 for a, b in pairs(VALUES, (1, 4), REPLACE))

    def test_the_rounding_of_a_difference_is_charged(self):
        """While the distance is above 0, no computed difference moves by more than the proposal, in exact fractions."""
        rng, beyond = np.random.default_rng(0), 0
        for _ in range(200):
            x1, x3, x4 = rng.uniform([1e-4, 0.26, 0.62], [1e-3, 0.3, 0.64])  # x1 has digits that a difference loses
            here, there = as_rows((x1, 0.25, x3, x4)), as_rows((x1, x4, x3, x4))  # the upper quartile: x3, then x4
            distance = dm.iqr_distance(x4 - x3, 0.0, 1.0)
            moved = Fraction(distance.statistic(there)) - Fraction(distance.statistic(here))
            if moved > Fraction(distance.proposal):
                beyond += 1
                assert distance(here) == distance(there) == 0.0
            safe = dm.iqr_distance((x4 - x3) * (1.0 + 1e-14), 0.0, 1.0)
            assert safe(here) > 0.0  # it takes no more than that
        assert beyond > 20
        with pytest.raises(ValueError, match=r"proposal=1e-16: expected more than the roundings"):
            dm.iqr_distance(1e-16, 0.0, 1.0)
        assert dm.median_distance(1e-16, 0.0, 1.0)(as_rows((0.5,))) == 0.0

    def test_values_outside_are_moved_in(self):
        distance = dm.median_distance(1.5, LOW, HIGH)
        assert distance(as_rows((-9.0, 2.0, 99.0))) == distance(as_rows((0.0, 2.0, 4.0)))
        assert distance.statistic(as_rows((99.0,))) == HIGH


EPSILON, DELTA, PROPOSAL = 3.0, 0.02, 1.5
FAR = (0.0, 1.0, 2.0, 40.0)  # so far apart that noise of the proposal does not hide it


class TestPrivacy:
    def distributions(self, share=0.5, distance=None):
        away = distance or dm.median_distance(PROPOSAL, 0.0, 40.0)
        statistic = dm.median_distance(PROPOSAL, 0.0, 40.0).statistic
        way = ProposeTestRelease(
            UserFunction.with_output(statistic, (0.0, 40.0)),
            UserFunction.with_output(lambda rows: min(away(rows), FARTHEST), (0.0, FARTHEST), None, 0.0),
            PROPOSAL,
            share,
        )
        return way, *way.distributions(ApproximateLoss(EPSILON, DELTA))

    def worst(self, way, test, least, noise, sizes=(1, 2, 3, 4)):
        """Return the largest hockey stick at ε over all neighbours."""
        q = math.exp(-1.0 / test.scale)
        cells = np.concatenate([[-np.inf], np.linspace(-8.0, 48.0, 2001), [np.inf]])

        def passing(rows):
            beyond = least - math.floor(float(way.away(as_rows(rows))[0]))
            return q**beyond / (1 + q) if beyond > 0 else 1.0 - q ** (1 - beyond) / (1 + q)

        known = {}

        def output(rows):
            if rows not in known:
                p = passing(rows)
                noisy = np.diff(laplace.cdf(cells, float(way.function(as_rows(rows))[0]), noise.scale))
                known[rows] = np.append(p * noisy, 1.0 - p)
            return known[rows]

        factor = math.exp(EPSILON)
        return max(
            float(np.clip(output(a) - factor * output(b), 0.0, None).sum()) for a, b in pairs(FAR, sizes, REPLACE)
        )

    @pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
    def test_it_keeps_epsilon_and_delta(self, share):
        assert self.worst(*self.distributions(share)) <= DELTA

    def test_delta_is_used(self):
        _, test, least, _ = self.distributions()
        q = math.exp(-1.0 / test.scale)
        assert q**least / (1 + q) <= DELTA < q ** (least - 1) / (1 + q)

    def test_broken_copies_are_caught(self):
        way, test, least, noise = self.distributions()
        assert self.worst(way, test, least - 1, noise) > DELTA  # the test passes too soon

        class Eager:
            def __call__(self, rows):
                return dm.median_distance(PROPOSAL, 0.0, 40.0)(rows) + 1.0  # one too far

        assert self.worst(*self.distributions(distance=Eager())) > DELTA
        assert self.worst(way, test, least, replace(noise, scale=noise.scale / 3)) > DELTA  # a third of the noise

    def test_the_test_passes_as_often_as_it_should(self):
        way, test, least, _ = self.distributions()
        rows, bits = as_rows((2.0, 2.0, 2.0, 2.0)), quiet_bits(4)
        plan = way.plan_rows(ApproximateLoss(EPSILON, DELTA), _setting())
        drawn = np.array([draw_plan(plan, rows, bits) for _ in range(1500)])
        q = math.exp(-1.0 / test.scale)
        beyond = least - int(way.away(rows)[0])
        expected = q**beyond / (1 + q) if beyond > 0 else 1.0 - q ** (1 - beyond) / (1 + q)
        assert binomial_p(int(drawn[:, 0].sum()), 1500, expected) > 1e-9
        assert np.all(drawn[drawn[:, 0] == 0.0] == 0.0)


def _setting():
    return open_rows(np.zeros((4, 1)), bounds=(0, 40)).setting


class TestTheWhole:
    away = dm.median_distance(0.5, 0, 100)

    @pytest.mark.parametrize("epsilon", [5e-324, 1e-200, 1e6])
    def test_an_epsilon_that_leaves_no_test(self, epsilon):
        with pytest.raises(ValueError, match="expected from 1e-12 to 256 for the test"):
            dm.propose_test_release(
                None,
                self.away,
                np.zeros(9),
                proposal=0.5,
                output=(0, 100),
                bounds=(0, 100),
                epsilon=epsilon,
                delta=1e-6,
            )

    def release(self, rows, **more):
        given = {"proposal": 0.5, "output": (0, 100), "bounds": (0, 100), "epsilon": 2.0, "delta": 1e-6, **more}
        return dm.propose_test_release(self.away.statistic, self.away, rows, **given)

    def test_spread_out_rows_fail_and_that_is_all(self):
        answer = self.release(np.linspace(0, 100, 21), bits=quiet_bits(1))
        assert (answer.value, answer.passed) == (None, False)
        assert answer.release.value.tolist() == [0.0, 0.0]
        with pytest.raises(ValueError, match="value=None"):
            answer.interval()

    def test_close_rows_pass(self):
        answer = self.release(np.random.default_rng(0).normal(50, 2, 4000), bits=quiet_bits(2))
        low, high = answer.interval(0.999999)
        assert answer.passed
        assert low < 50 < high
        assert answer.release.exact

    def test_a_distance_for_another_relation_or_proposal_is_refused(self):
        with pytest.raises(ValueError, match="expected a data set under replace-one"):
            self.release([50.0], neighbors="add-remove")
        with pytest.raises(ValueError, match="expected at least the distance's own"):
            self.release([50.0], proposal=0.1)
        with pytest.raises(ValueError, match="delta=0"):
            self.release([50.0], delta=0.0)
        with pytest.raises(ValueError, match="for the test"):
            self.release([50.0], epsilon=1000.0)

    def ask(self, f, distance, **more):
        given = {"proposal": 0.5, "output": (0, 100), "bounds": (0, 100), "epsilon": 2.0, "delta": 1e-6, **more}
        return dm.propose_test_release(f, distance, [50.0] * 4001, **given)

    @pytest.mark.parametrize("make", KINDS.values())
    def test_another_statistic_than_the_distances_own_is_refused(self, make):
        away = make(0.5, 0, 100)

        def mostly(rows):  # right on a hundred rows, and on all odd numbers of them
            return away.statistic(rows) if len(rows) % 2 or len(rows) > 50 else np.median(rows)

        for f in (np.median, np.mean, mostly, lambda rows: 50.0, lambda rows: away.statistic(rows) + 1e-9):
            with pytest.raises(ValueError, match=r"expected the statistic of the distance"):
                self.ask(f, away)

    def test_the_distances_own_statistic_may_be_left_out_or_written_otherwise(self):
        def lower(rows):
            return np.percentile(rows[:, 0], 50, method="inverted_cdf")

        for f in (None, self.away.statistic, lower):
            assert self.ask(f, self.away).passed
        with pytest.raises(ValueError, match="f=None: expected a function of rows"):
            self.ask(None, lambda rows: 5)

    def test_what_is_released_is_the_distances_own_statistic(self):
        def changes(rows):  # what no rehearsal can see
            return self.away.statistic(rows) if len(rows) <= 100 else 0.0

        assert abs(self.ask(changes, self.away, bits=quiet_bits(1)).value - 50.0) < 20.0

    def test_output_for_several_numbers_is_refused(self):
        for output in (([0, 0], [1, 1]), ([0], [1])):
            size = len(output[0])
            with pytest.raises(ValueError, match=r"output=.*one number each"):
                self.ask(lambda rows, size=size: np.zeros(size), lambda rows: 5, output=output)
            with pytest.raises(ValueError, match=r"output=.*one number each"):
                self.ask(None, self.away, output=output)

    def test_a_distance_without_a_number_as_its_proposal_is_refused(self):
        def distance(rows):
            return 5.0

        for wrong in (None, "a", float("nan")):
            distance.proposal = wrong
            with pytest.raises(ValueError, match=rf"distance.proposal={wrong!r}: expected a finite number above 0"):
                self.ask(lambda rows: 50.0, distance)

    def test_a_distance_that_fails_counts_as_nothing(self):
        answer = dm.propose_test_release(
            lambda rows: 50.0,
            lambda rows: 0 if len(rows) == 100 else 1 / 0,
            [50.0] * 500,
            proposal=0.5,
            output=(0, 100),
            bounds=(0, 100),
            epsilon=2.0,
            delta=1e-15,
        )
        assert not answer.passed
