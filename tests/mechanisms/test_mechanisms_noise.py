"""Noise on rows and on results: for all neighbours of all small data sets the shift is what the noise was made for."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma, kstest, laplace, norm
from test_mechanisms import ADD, REPLACE, as_rows, pairs, quiet_bits

import discreet.mechanisms as dm
from conftest import FALSE_ALARM
from discreet import Ball, Box, Curator, Number, Schema
from discreet.door import open_rows
from discreet.guarantees import GaussianLoss, Guarantee, LaplaceLoss, PureLoss
from discreet.noise import LaplaceNoise
from discreet.queries.functions.perturbations import OutputPerturbation
from discreet.queries.functions.user_functions import UserFunction
from discreet.records import Block
from effort import size

VALUES = (-7.0, 0.0, 1.0, 9.0)  # some outside of [0, 1]


def cost(noise, a, b):
    """Return what telling a from b costs at most, with this noise on them: ε, or μ for Gaussian noise."""
    shift = np.abs(noise.steps(a) - noise.steps(b)) * noise.grid
    return float(shift.sum() if isinstance(noise, LaplaceNoise) else np.linalg.norm(shift)) / noise.scale


class TestRows:
    module = importlib.import_module("discreet.queries.functions.perturbations")

    def worst(self, space, loss):
        question = self.module.NoisyRows(space, 3)
        noise = question.mechanism.noise(loss, space.dimension)
        rng = np.random.default_rng(0)
        corners = [np.full(space.dimension, v) for v in VALUES] + list(rng.normal(0, 50, (20, space.dimension)))
        y = question.take(Block(np.array(corners), None))
        return max(cost(noise, a, b) for a in y for b in y)

    @pytest.mark.parametrize(
        ("space", "kind"),
        [
            (Box(0, 1).for_columns(1), LaplaceLoss),
            (Box(0, 1).for_columns(1), GaussianLoss),
            (Box([0, -3], [1, 5]), GaussianLoss),
            (Box([0, -3], [1, 5]), PureLoss),
            (Ball(2.0, center=[1.0, 1.0]), GaussianLoss),
            (Ball(2.0, center=[1.0, 1.0]), PureLoss),
        ],
    )
    def test_a_replaced_row_costs_what_was_asked_for(self, space, kind):
        assert 0.99 * 0.8 <= self.worst(space, kind(0.8)) <= 0.8 * (1 + 1e-12)

    def test_half_the_distance_is_caught(self, monkeypatch):
        monkeypatch.setattr(self.module, "APART", 1.0)
        assert self.worst(Box([0, -3], [1, 5]), PureLoss(0.8)) > 1.5

    @pytest.mark.parametrize("columns", [1, 3])
    @pytest.mark.parametrize("delta", [0.0, 1e-5])
    def test_the_noise_has_its_law(self, columns, delta):
        many, rows = 4000, 0.25
        data = np.full((many, columns), rows)
        answer = dm.input_perturbation(data, bounds=(0, 1), epsilon=2.0, delta=delta, bits=quiet_bits(1))
        z = (answer.value - rows) / (0.5 * math.sqrt(columns))
        if delta:
            noise = norm(0, answer.release.noise.scale)
        elif columns == 1:
            noise = laplace(0, 2.0 / 2.0)
        else:  # ‖z‖ is a gamma variate
            noise, z = gamma(columns, scale=2.0 / 2.0), np.linalg.norm(z, axis=1)
        assert kstest(z.ravel(), noise.cdf).pvalue > FALSE_ALARM
        assert answer.release.exact == (delta > 0.0 or columns == 1)
        assert answer.guarantee is None

    def test_rows_come_out_in_a_random_order(self):
        data = np.arange(5.0)[:, None] * 1e6
        seen = [
            tuple(np.argsort(dm.input_perturbation(data, bounds=(0, 4e6), epsilon=1e5).value[:, 0])) for _ in range(60)
        ]
        assert len(set(seen)) > 20  # of 120; fewer by chance: below 1e-12

    def test_a_real_release_has_its_guarantee(self):
        answer = dm.input_perturbation(np.zeros((3, 2)), bounds=(0, 1), epsilon=1.0)
        assert answer.guarantee == Guarantee(1.0)
        assert "ideal arithmetic" in repr(answer)

    def test_no_rows_are_refused(self):
        with pytest.raises(ValueError, match="at least one row"):
            dm.input_perturbation(np.zeros((0, 2)), bounds=(0, 1), epsilon=1.0)

    def test_rows_that_may_be_dropped_are_refused(self):
        frame = pd.DataFrame({"x": [0.5, float("nan")]})
        with pytest.raises(ValueError, match="missing='fill'"):
            dm.input_perturbation(frame, schema=Schema({"x": Number(0, 1)}), epsilon=1.0)

    def test_a_question_that_is_asked_by_hand_needs_rows_that_surely_count(self):
        frame = pd.DataFrame({"x": [0.5, 0.7]})
        whole = Curator(frame, schema=Schema({"x": Number(0, 1, missing="fill", fill=0.5)}))
        for wrong in (1, 3):
            with pytest.raises(ValueError, match=f"rows={wrong}: expected how many there are, 2"):
                whole.plan(self.module.NoisyRows(whole.space, wrong), Guarantee(1.0))
        gaps = Curator(frame, schema=Schema({"x": Number(0, 1)}))
        with pytest.raises(ValueError, match=r"query='noisy rows': expected .*all count"):
            gaps.plan(self.module.NoisyRows(gaps.space, 2), Guarantee(1.0))


class TestResults:
    """f = (sum, number of ones), over rows in {0, 1/2, 1}: it moves by (1, 1) at most: √2 in L2, 2 in L1."""

    values = (0.0, 0.5, 1.0)

    @staticmethod
    def f(rows):
        return [rows.sum(), (rows == 1.0).sum()]

    def worst(self, norm_, relation, loss, sensitivity, own=None):
        own = own or UserFunction.with_output(self.f, (-1, 4), 2, 0.0)
        way = OutputPerturbation(own, sensitivity, norm_)
        curator = open_rows(np.zeros((3, 1)), bounds=(0, 1), neighbors=relation)
        noise = way.noise(loss, curator.setting)
        sizes = (3,) if relation is REPLACE else (1, 2, 3)
        return max(cost(noise, own(as_rows(a)), own(as_rows(b))) for a, b in pairs(self.values, sizes, relation))

    @pytest.mark.parametrize("relation", [REPLACE, ADD])
    @pytest.mark.parametrize(
        ("norm_", "kind", "sensitivity"),
        [
            ("l2", GaussianLoss, math.sqrt(2)),
            ("l2", PureLoss, math.sqrt(2)),
            ("l1", LaplaceLoss, 2.0),
        ],
    )
    def test_neighbours_cost_what_was_asked_for(self, norm_, kind, sensitivity, relation):
        loss = kind(0.7, relation)
        assert 0.99 * 0.7 <= self.worst(norm_, relation, loss, sensitivity) <= 0.7 * (1 + 1e-12)
        # Broken on purpose: half the sensitivity is seen.
        assert self.worst(norm_, relation, loss, sensitivity / 2) > 1.9 * 0.7

    def test_leaving_out_the_clipping_is_caught(self):
        own = UserFunction.with_output(lambda rows: [10 * rows.sum(), 0.0], (0, 1), 2, 0.0)
        loss = LaplaceLoss(0.7)
        assert self.worst("l1", REPLACE, loss, 1.0, own) <= 0.7 * (1 + 1e-12)
        unclipped = UserFunction.with_output(lambda rows: [10 * rows.sum(), 0.0], (0, 50), 2, 0.0)
        assert self.worst("l1", REPLACE, loss, 1.0, unclipped) > 5.0

    def test_units_of_several_rows_multiply_the_sensitivity(self):
        curator = open_rows(np.zeros((6, 1)), bounds=(0, 1), unit=[0, 0, 0, 1, 1, 2], max_rows=3)
        way = OutputPerturbation(UserFunction.with_output(self.f, (-1, 4), 2, 0.0), 2.0, "l1")
        one = way.noise(LaplaceLoss(1.0), open_rows(np.zeros((6, 1)), bounds=(0, 1)).setting)
        assert way.noise(LaplaceLoss(1.0), curator.setting).scale == pytest.approx(3 * one.scale, rel=1e-8)

    @pytest.mark.parametrize(("norm_", "delta"), [("l2", 0.0), ("l1", 0.0), ("l2", 1e-5), ("l1", 1e-5)])
    def test_a_release_is_near_and_its_interval_holds_it(self, norm_, delta):
        inside, runs = 0, size(30, 60)
        for seed in range(runs):
            answer = dm.output_perturbation(
                lambda rows: rows.mean(axis=0),
                np.full((50, 2), 0.25),
                bounds=(0, 1),
                sensitivity=0.04,
                norm=norm_,
                size=2,
                output=(0, 1),
                epsilon=1.0,
                delta=delta,
                bits=quiet_bits(seed),
            )
            low, high = answer.interval(0.9)
            inside += ((low < 0.25) & (high > 0.25)).sum()
        assert abs(inside - 2 * runs * 0.9) < 6.2 * math.sqrt(2 * runs * 0.09)

    def test_the_question_is_named_for_the_ledger(self):
        answer = dm.output_perturbation(len, [0.5], bounds=(0, 1), sensitivity=1.0, output=(0, 9), epsilon=1.0)
        assert answer.release.query == "output perturbation"
        assert isinstance(answer.value, float)
