"""Experiments of the DP-EM paper: small parts of them, and verdicts that can come out either way."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import discreet as dp
from effort import LONG, size
from papers.dpem import faces, figure_1_one_person, likelihoods
from papers.dpem.published_kmeans import PublishedKMeans, as_published
from papers.entries import experiment
from reproduced import drawn, needs_published_rows, numbers_of

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")


def test_one_person_is_given_away_by_exact_means_only():
    entry = figure_1_one_person.EXPERIMENT
    rows, other = figure_1_one_person.people(1), figure_1_one_person.neighbour(figure_1_one_person.people(1))
    assert len(rows) == 104
    assert (rows != other).any(axis=1).sum() == 1  # one row is replaced
    assert len(figure_1_one_person.people(50)) == 5_200
    parts = [{"method": method, "times": 1, "start": 0, "stop": 1} for method in ("exact", "paper", "ours")]
    measured = [(part, json.loads(json.dumps(entry.measure(**part)))) for part in parts]
    larger = [({**part, "times": 50}, result) for part, result in measured]  # as if: what follows is looked at
    numbers = json.loads(json.dumps(entry.numbers([*measured, *larger]), allow_nan=False))
    fits = numbers["fits"]
    assert fits["exact 104"]["with"] < 1.0
    assert fits["exact 104"]["without"] > 100.0
    assert numbers["bound"] == pytest.approx(np.e / (1.0 + np.e), abs=1e-4)
    assert drawn(entry, numbers)
    fits["paper 104"] |= {"right": 0.5, "runs": 100, "off": 300.0}
    fits["paper 5200"]["off"] = 100.0
    assert entry.verdict(numbers).holds is True
    for broken in ({"right": 0.99}, {"off": 50.0}):
        altered = copy.deepcopy(numbers)
        altered["fits"]["paper 104"] |= broken
        assert entry.verdict(altered).holds is False


def test_guesses_from_samples_that_are_apart_are_right():
    near, far = np.arange(10.0), np.arange(20.0, 30.0)
    assert figure_1_one_person._guessed(near, far) == 1.0
    assert figure_1_one_person._guessed(near, near) == 0.5


def test_whole_orders_ask_for_more_noise_only_at_a_small_epsilon():
    guarantee, losses = dp.Guarantee(0.1, 1e-4), [dp.GaussianLoss(1.0)] * 70
    exact, zcdp = (1.0 / dp.calibrate(guarantee, losses, method).losses[0].gaussian for method in ("exact", "zcdp"))
    assert likelihoods.whole_orders(0.1, 70) == pytest.approx(3.26 * exact, rel=0.01)
    assert likelihoods.whole_orders(0.1, 70) > 1.8 * zcdp
    assert likelihoods.whole_orders(1.0, 70) == pytest.approx(36.87, rel=1e-3)
    assert likelihoods.whole_orders(0.05, 70) is None


@pytest.mark.parametrize("name", ["dp-em/figure-2", "dp-em/figure-3"])
def test_curves_of_likelihoods(name):
    X = dp.datasets.make_stroke(3_000, 4, 2, random_state=0).X
    epsilons = (0.1, 1.0, 4.0)
    entry = experiment(name)
    fits = [(method, epsilon) for method in likelihoods.METHODS for epsilon in epsilons]
    measured = []
    for method, epsilon in [*fits, ("none", None)]:
        part = {"method": method, "epsilon": epsilon, "fold": 0, "rows": 3_000, "columns": 4}
        measured.append((part, likelihoods.fitted(X, dp.Ball(1.0), 2, 2, method, epsilon, 0)))
    numbers = json.loads(json.dumps(entry.numbers(measured), allow_nan=False))
    curves = numbers["curves"]
    assert numbers["plain"] > curves["zcdp"]["mean"][-1] > curves["linear"]["mean"][-1]
    noise = {method: curves[method]["noise"] for method in ("exact", "zcdp", "moments", "advanced", "linear")}
    assert noise["exact"][0] < noise["zcdp"][0] < noise["moments"][0]
    assert noise["moments"][0] == pytest.approx(likelihoods.whole_orders(0.1, 10), rel=1e-6)  # the same, by zCDP's ε
    assert drawn(entry, numbers)
    for method, score in {"ours": 9.0, "exact": 8.0, "zcdp": 7.0, "moments": 6.0, "LLG": 5.0, "advanced": 4.0}.items():
        curves[method]["mean"] = [score] * 3
    curves["linear"]["mean"] = [3.0] * 3
    assert entry.verdict(numbers).holds is True
    assert "below ε = 0.1" in entry.verdict(numbers).ours
    curves["advanced"]["mean"][1] = 7.5
    assert entry.verdict(numbers).holds is False


def test_what_no_order_reaches_is_left_out():
    X = dp.datasets.make_stroke(300, 3, 2, random_state=0).X
    assert likelihoods.fitted(X, dp.Ball(1.0), 2, 2, "moments", 0.01, 0) == {"score": None, "noise": None}


def test_the_papers_centres_keep_their_promise():
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (2_000, 2))
    model = PublishedKMeans(3, n_steps=10, epsilon=0.5, delta=1e-4, bounds=dp.Box(-1.0, 1.0), random_state=0).fit(rows)
    assert len(model.losses_) == len(model.releases_) == 20
    assert dp.compose(model.losses_).epsilon(1e-4) <= 0.5
    # Counts of a replaced row differ by 2 in L1, sums in the unit ball's coordinates by 2√d.
    scales = [release.noise.scale for release in model.releases_[:2]]
    assert scales[1] / scales[0] == pytest.approx(np.sqrt(2.0), rel=1e-3)
    assert np.abs(model.cluster_centers_).max() <= 1.0


def test_the_papers_code_starts_empty_clusters_at_rows():
    rows = np.tile([[0.9, 0.9], [0.9, -0.9]], (500, 1))
    centers = as_published(rows, 6, 4, dp.Guarantee(1e4, 1e-4), 0)
    far = np.abs(rows[:, None] - centers).max(axis=2).min(axis=0)
    assert (far < 0.05).all()  # with next to no noise every centre is at a row


@needs_published_rows
def test_centres_of_s1():
    entry = experiment("dp-em/figure-4")
    result = json.loads(json.dumps(entry.measure(name="s1", fold=0)))
    numbers = entry.numbers([({"name": name, "fold": 0}, copy.deepcopy(result)) for name in ("gowalla", "s1")])
    values = numbers["s1"]["nicv"]
    assert values["none"][0] < values["ours"][0] < values["honest"][0]
    assert drawn(entry, numbers)
    numbers["gowalla"]["nicv"] |= {"linear": [0.03] * 3, "zcdp": [0.02] * 3, "honest": [0.01] * 3}
    assert entry.verdict(numbers).holds is True
    numbers["gowalla"]["nicv"]["honest"] = [0.04] * 3
    assert entry.verdict(numbers).holds is False


@needs_published_rows
@pytest.mark.skipif(not LONG, reason="part of make audit; make papers ARGS=--quick draws the figure")
def test_faces_are_noise_at_400_pictures(monkeypatch):
    monkeypatch.setattr(faces, "STEPS", size(20, faces.STEPS))
    entry = experiment("dp-em/figure-5")
    small = faces.pictures(32)
    assert (small.shape, small.min() >= 0.0, small.max() <= 255.0) == ((400, 1024), True, True)
    runs = [("none", None, 1), ("published", 0.3, 1), ("honest", 0.3, 1), ("honest", 0.3, 10), ("ours", 0.3, 1)]
    parts = [{"method": method, "epsilon": epsilon, "times": times, "side": 32} for method, epsilon, times in runs]
    numbers = numbers_of(entry, parts)
    none, published, honest, more, ours = numbers["runs"]
    assert none["overlap"] == pytest.approx(1.0)
    assert honest["overlap"] < 0.1 < published["overlap"]
    assert honest["largest"] < 0.5 < 0.9 < more["largest"]
    assert ours["overlap"] < 0.1
    assert 700 < numbers["visible"] < 2_000  # a quarter of the pixels: half of the noise
    assert drawn(entry, numbers)
    result = entry.verdict(numbers)
    assert result.holds is False
    assert f"{numbers['visible']:,}" in result.honest
    honest["overlap"] = 0.8
    assert entry.verdict(numbers).holds is True
