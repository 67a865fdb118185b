"""The audit room: its statistics are right, honest mechanisms hold, and broken copies of real ones are caught."""

from __future__ import annotations

import json
import math
import warnings
from functools import partial

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import beta, binom

import discreet as dp
from discreet.audit import Attack, Pair, attack, neighbours, one_run
from discreet.audit.attacking import _admitted_pairs, _without_warnings
from discreet.audit.claim import Claim
from discreet.audit.confidence import (
    epsilon_lower_bound,
    mu_lower_bound,
    one_run_epsilon,
    one_run_tail_bound,
    upper_bound,
)
from discreet.audit.output import MISSING, read_claim, read_output
from discreet.audit.scores import Sums
from discreet.audit.targets import prepare_attack
from discreet.estimators.loading import KINDS
from discreet.noise import GaussianNoise, LaplaceNoise
from discreet.planning.tradeoff import CurveTradeoff
from discreet.queries.bound import Bound
from effort import LONG, measured, size
from papers.audit.subjects import subjects
from papers.audit.suite import CONFIDENCE, attack_subject, confidence_of_each
from short_fits import shorter_synthesis

mpl.use("Agg")

SURE = 1.0 - 1e-9  # where a promise is expected to stand
LINE = dp.Schema({"x": dp.Number(0, 10)})


# Statistics.


@pytest.mark.parametrize("runs", [1, 7, 200])
@pytest.mark.parametrize("chance", [0.1, 1e-6])
def test_the_limit_of_clopper_and_pearson_fails_no_more_often_than_it_says(runs, chance):
    limits = upper_bound(np.arange(runs + 1), runs, chance)
    assert np.allclose(limits[:-1], beta.ppf(1 - chance, np.arange(1, runs + 1), runs - np.arange(runs)))
    assert limits[-1] == 1.0
    for truth in np.linspace(0.001, 0.999, 97):
        fails = binom.pmf(np.arange(runs + 1), runs, truth)[limits < truth].sum()
        assert fails <= chance * (1 + 1e-9)


def test_a_gaussian_pair_gives_its_mu_and_an_epsilon_that_it_has():
    for mu in (0.3, 1.0, 3.0):
        for threshold in (-1.0, 0.5, 2.0):
            alarms, missed = ndtr(-threshold), ndtr(threshold - mu)
            assert mu_lower_bound(alarms, missed) == pytest.approx(mu)
            bound = float(epsilon_lower_bound(alarms, missed, 1e-3))
            assert dp.GaussianLoss(mu).delta_at(bound) >= 1e-3 * (1 - 1e-9) or bound == 0.0


def test_one_run_is_exact_for_randomised_response():
    """Coins, each told truly with probability e^ε/(1 + e^ε): the bound on the chance is attained."""
    for epsilon in (0.5, 2.0):
        p = math.exp(epsilon) / (1 + math.exp(epsilon))
        for right in (0, 31, 50):
            assert one_run_tail_bound(epsilon, 0.0, 50, 50, right) == pytest.approx(
                binom.sf(right - 1, 50, p), abs=1e-12
            )
    # With δ: each mechanism that keeps (0, δ) may let one coin out with probability δ.
    assert one_run_tail_bound(0.0, 1e-3, 10, 10, 10) >= 2.0**-10 + 10 * 1e-3 * 2.0**-10
    assert one_run_epsilon(0.0, 1000, 1000, 500, 0.99) == 0.0
    result = one_run_epsilon(1e-12, 1000, 1000, 990, 0.99)
    assert (
        one_run_tail_bound(result, 1e-12, 1000, 1000, 990)
        <= 0.01
        < one_run_tail_bound(result + 1e-3, 1e-12, 1000, 1000, 990)
    )


def test_what_would_have_been_noticed_in_closed_form_and_by_search(monkeypatch):
    claim = Claim.from_losses((dp.GaussianLoss(1.0), dp.GaussianLoss(1.0)))
    assert claim.mu == pytest.approx(math.sqrt(2.0))
    closed = claim.noticed(0.2, 0.3)
    assert closed == pytest.approx(math.sqrt(2.0) / float(mu_lower_bound(0.2, 0.3)))
    monkeypatch.setattr("discreet.audit.claim.Claim.mu", None)
    assert claim.noticed(0.2, 0.3) == pytest.approx(closed, rel=0.005)


@pytest.mark.parametrize(
    "losses",
    [(dp.LaplaceLoss(1.0),), (dp.PureLoss(2.0),), (dp.GaussianLoss(1.0),), (dp.BoundedRangeLoss(1.0),)],
)
def test_a_claim_is_refuted_just_above_its_own_curve(losses):
    claim = Claim.from_losses(losses)
    for alarms in (0.01, 0.2, 0.5):
        power = claim.tradeoff().power(alarms)
        assert not claim.is_refuted_by(alarms, 1.0 - power + 1e-6)
        assert claim.is_refuted_by(alarms, 1.0 - power - 0.01)
        assert claim.noticed(alarms, 1.0 - power - 0.01) < 1.0
    assert claim.noticed(0.6, 0.6) == math.inf


def test_a_claim_of_several_kinds():
    claim = Claim.from_losses((dp.LaplaceLoss(0.5), dp.GaussianLoss(0.5)))
    assert not claim.is_refuted_by(0.1, 0.8)
    assert claim.is_refuted_by(0.1, 0.5)


# Attacks on functions whose truth is known.


def gaussian(rng, std=1.0):
    """Return a mechanism on numbers, and neighbours one apart."""
    return (lambda value: rng.normal(value, std)), Pair("one apart", 0.0, 1.0)


def test_an_honest_mechanism_holds_and_most_of_its_loss_is_found():
    ask, pair = gaussian(np.random.default_rng(0))
    result = attack(ask, pair, claimed=dp.GaussianLoss(1.0), runs=size(12_000, 20_000), confidence=SURE, progress=False)
    assert result.holds
    assert 0.8 < result.mu < 1.0
    assert result.noticed == pytest.approx(1.0 / result.mu)
    assert result.epsilon == pytest.approx(dp.GaussianLoss(result.mu).epsilon_at(1e-6), rel=1e-3)


@pytest.mark.parametrize(("runs", "caught_at_least"), [(2_000, 0), (20_000, 1)])
def test_noise_that_is_too_small_by_the_root_of_two_is_caught(runs, caught_at_least):
    """FORMULAS: at μ = 1, in 70 % with 2,000 runs a side at 95 %, and always with 20,000."""
    repeats = size(1, 20) if runs > 2_000 else size(0, 40)
    caught = 0
    for seed in range(repeats):
        ask, pair = gaussian(np.random.default_rng(seed), math.sqrt(0.5))
        result = attack(ask, pair, claimed=dp.GaussianLoss(1.0), runs=runs, confidence=0.95, progress=False)
        caught += not result.holds
    assert caught >= caught_at_least * repeats
    if runs == 2_000 and repeats:
        assert caught >= 0.4 * repeats
    measured(f"power-{runs}", runs=runs, repeats=repeats, caught=caught, factor=math.sqrt(2.0), confidence=0.95)


def test_only_fresh_runs_count():
    """A score that was overfitted to pure noise finds nothing."""
    rng = np.random.default_rng(1)
    result = attack(
        lambda _: rng.normal(size=200), Pair("none", 0, 1), claimed=dp.PureLoss(0.1), runs=300, confidence=SURE,
        progress=False,
    )  # fmt: skip
    assert result.holds
    assert result.epsilon == 0.0


def test_a_leak_beside_the_noise_is_found():
    """Noise is right, but the result holds a number that tells."""
    rng = np.random.default_rng(2)

    def leaky(rows):
        return {"mean": rows.mean() + rng.laplace(0.0, 10.0), "largest": rows.max()}

    pair = Pair("one row", np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    result = attack(leaky, pair, claimed=dp.Guarantee(1.0), runs=100, confidence=0.999, progress=False)
    assert not result.holds
    assert result.score != "known noise"


def test_a_leak_that_is_no_number_is_found():
    """Text, tables, keys, complex numbers, whole numbers beyond floats: whatever a result holds is looked at."""
    pair = Pair("one row", np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    leaks = {
        "text": lambda rows: "a" if rows.max() > 1 else "b",
        "frame": lambda rows: pd.DataFrame({"largest": [rows.max()]}),
        "key": lambda rows: {f"{rows.max()}": 0.0},
        "set": lambda rows: {rows.max()},
        "complex": lambda rows: complex(0.0, rows.max()),
        "whole": lambda rows: int(rows.max()) * 10**400,
        "nothing": lambda rows: None if rows.max() > 1 else 0.0,
    }
    for name, leak in leaks.items():
        result = attack(leak, pair, claimed=dp.Guarantee(1.0), runs=100, confidence=0.999, progress=False)
        assert not result.holds, name


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_an_error_that_tells_is_found(share):
    rng = np.random.default_rng(4)

    def refuses(rows):
        if rows.max() > 5 and rng.random() < share:
            raise ValueError("rows: expected small ones")
        return 0.0

    pair = Pair("one row", np.zeros(1), np.full(1, 9.0))
    result = attack(refuses, pair, claimed=dp.Guarantee(0.2), runs=300, confidence=0.999, progress=False)
    assert not result.holds
    if share == 1.0:
        with pytest.raises(ValueError, match="rows: expected small ones"):
            _admitted_pairs(refuses, (Pair("both", np.full(1, 8.0), np.full(1, 9.0)),))


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        (Pair("more", np.zeros(3), np.zeros(4)), "'more' has 3 and 4 rows"),
        (Pair("two", np.zeros((3, 2)), np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])), "'two' differs in 2 rows"),
    ],
)
def test_what_are_no_neighbours(pair, says):
    with pytest.raises(ValueError, match=says):
        attack(np.sum, pair, claimed=dp.Guarantee(1.0), progress=False)
    if "more" in says:
        added = dp.Guarantee(1.0, 0.0, "add-remove")
        assert attack(lambda rows: 0.0, pair, claimed=added, runs=20, progress=False).holds


# Broken copies of the real thing.


def without_noise(self, values, bits=None):
    return np.asarray(values, dtype=np.float64)


def too_small(original, factor):
    def for_query(cls, *, sensitivity, **more):
        return original.__func__(cls, sensitivity=sensitivity / factor, **more)

    return classmethod(for_query)


def replaced_as_added(self, norm, relation, *, max_rows=1):
    return max_rows * self.norm(norm)


def of_one_row(original):
    def sensitivity(self, norm, relation, *, max_rows=1):
        return original(self, norm, relation, max_rows=1)

    return sensitivity


def break_it(monkeypatch, fault):
    if fault == "noise too small by 2":
        for noise in (GaussianNoise, LaplaceNoise):
            monkeypatch.setattr(noise, "for_query", too_small(noise.for_query, 2.0))
    elif fault == "replacing priced as adding":
        monkeypatch.setattr(Bound, "sensitivity", replaced_as_added)
    elif fault == "persons priced as rows":
        monkeypatch.setattr(Bound, "sensitivity", of_one_row(Bound.sensitivity))
    elif fault == "no clipping":
        monkeypatch.setattr(dp.Box, "clip", lambda self, x: x)
        monkeypatch.setattr("discreet.queries.moments.moments.Sum.contributions", unclipped)


def unclipped(self, block):
    centre, scale = np.asarray(self.space.center), np.asarray(self.space.scale)
    return (np.asarray(block.x) - centre) / scale


BROKEN = [
    ("door: sum, Gaussian noise, replace-one", "noise too small by 2", 1.0),
    ("door: sum, Laplace noise, add-remove", "noise too small by 2", 1.0),
    ("door: sum, Gaussian noise, replace-one", "replacing priced as adding", 1.0),
    ("door: sum, persons of three rows, add-remove", "persons priced as rows", 1.0),
    ("statistics: mean, replace-one", "noise too small by 2", 0.8),
    ("estimators: GaussianMixture, joint, add-remove", "noise too small by 2", 0.8),
    ("estimators: LinearRegression, adassp", "replacing priced as adding", 0.0),
    ("signals: running sum, replace-one", "noise too small by 2", 0.8),
]


@pytest.mark.parametrize(("name", "fault", "power"), BROKEN)
def test_broken_copies_are_caught(name, fault, power, monkeypatch):
    """The real code with one fault; and the share of attacks that catch it, in the long size."""
    short = int(name.startswith("door") and "Laplace" not in name)  # at 300 runs all of these are caught
    repeats, runs = size(short, 5), size(300, 600)
    if not repeats:
        pytest.skip("it takes too long for the short size; make audit runs it")
    break_it(monkeypatch, fault)
    result = [attack_subject(name, confidence=0.99, runs=runs, few=not LONG) for _ in range(repeats)]
    caught = sum(not each.holds for each in result)
    slug = f"broken-{name} {fault}".replace(": ", "-").replace(", ", "-").replace(" ", "-").lower()
    measured(slug, subject=name, fault=fault, caught=caught, repeats=repeats, runs=runs, confidence=0.99)
    assert caught >= min(power, 0.6) * repeats


# Every subject, exactly.

NAMES = list(subjects())


def exact_distances(subject, epsilon=1.0, step=1):
    """Yield how far the sums on both data sets of a pair are apart, over what they were charged for; by known noise."""
    with subject.pairs() as pairs:
        for pair in pairs[::step]:
            try:
                result = subject.ask(pair.other, epsilon)
            except ValueError:
                continue  # refused by public facts
            sums, releases = Sums(pair), read_output(result).releases
            for release in releases:
                both = sums._sums(release)
                if both is None or release.noise is None:
                    continue
                if isinstance(release.noise, GaussianNoise):
                    yield float(np.linalg.norm(both[1] - both[0])) / release.noise.scale / release.loss.gaussian
                else:
                    yield float(np.abs(both[1] - both[0]).sum()) / release.noise.scale / release.loss.epsilon


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_release_of_a_subject_moves_further_than_it_was_charged_for(name):
    if "one's own" in name and not LONG:
        pytest.skip("it attacks its own bound in every step, which takes seconds; make audit runs it")
    step = size(3, 1)  # every third pair has each kind of change, and each kind of rows beside it, at least once
    with shorter_synthesis(10, 200):  # what is released does not depend on how well the model is fitted to it
        distances = list(exact_distances(subjects()[name], step=step))
    assert all(distance <= 1.0 + 1e-9 for distance in distances), max(distances)


def test_the_exact_distances_are_attained_and_a_broken_bound_shows(monkeypatch):
    subject = subjects()["door: moments, replace-one"]
    assert max(exact_distances(subject)) > 0.9
    monkeypatch.setattr(Bound, "sensitivity", replaced_as_added)
    assert max(exact_distances(subject)) > 1.1


COUNTED = [
    "door: sum, Gaussian noise, add-remove", "door: mode, exponential, replace-one", "statistics: median, replace-one",
    "mechanisms: smooth median", "signals: stream", "estimators: PCA, exponential",
    "estimators: LogisticRegression, objective",
]  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_counting_does_not_refute_a_subject(name, monkeypatch):
    """A short attack on each kind; a mechanism that drew no noise at all would be refuted."""
    monkeypatch.setattr("papers.audit.suite.FEW", size(1, 3))
    result = attack_subject(name, confidence=SURE, runs=size(40, 60), epsilon=0.25, few=True)
    assert result.holds, result


def test_a_mechanism_without_noise_is_refuted_by_a_short_attack(monkeypatch):
    monkeypatch.setattr("papers.audit.suite.FEW", size(1, 3))
    monkeypatch.setattr(GaussianNoise, "add", without_noise)
    name, runs = "door: sum, Gaussian noise, add-remove", size(40, 60)
    result = attack_subject(name, confidence=SURE, runs=runs, epsilon=0.25, few=True)
    assert not result.holds


def test_the_suite_has_every_estimator_every_statistic_and_every_mechanism():
    listed = " ".join(NAMES)
    for kind in KINDS:
        assert kind in listed
        assert kind in dp.__all__
    assert (1.0 - confidence_of_each()) * len(NAMES) < 1.0 - CONFIDENCE


# What a user calls.


def test_an_estimator_is_attacked_within_its_own_declarations(capsys, monkeypatch):
    model = dp.GaussianClassifier(classes=["a", "b"], bounds={"age": (0, 120), "dose": (0, 5)}, method="joint")
    monkeypatch.setattr("discreet.audit.targets.neighbours", lambda *given: neighbours(*given)[1:3])
    result = attack(model, runs=20, confidence=SURE, progress=True)
    assert isinstance(result, Attack)
    assert result.holds
    assert result.name == "GaussianClassifier"
    assert "GaussianClassifier" in capsys.readouterr().err
    assert "is not refuted" in repr(result)
    assert not hasattr(model, "releases_")  # it was cloned
    assert json.loads(json.dumps(result.to_dict()))["runs"] == 20


@pytest.mark.parametrize(
    "model",
    [
        partial(dp.PCA, 1, bounds=dp.Ball(2.0), method="analyze-gauss"),
        partial(dp.PCA, 1, bounds=dp.Ball(2.0, center=[1.0, 0.0, 0.0]), method="sulq", neighbors="add-remove"),
        partial(dp.LinearRegression, bounds=(0, 1), target_bounds=(0, 1), method="adassp"),
        partial(dp.LogisticRegression, bounds=dp.Ball(2.0), classes=[0, 1], method="output"),
        partial(dp.TableMixture, 2, n_steps=1, schema=dp.Schema({"x": dp.Number(0, 1), "g": dp.Category(["a", "b"])})),
    ],
)
def test_declarations_of_every_kind(model):
    ask, pairs, _ = prepare_attack(model(), None, None)
    taken, _ = _admitted_pairs(_without_warnings(ask), pairs[1 : size(2, 6) : 4])
    assert attack(ask, taken[0], runs=20, confidence=SURE, progress=False).holds


def fitted_behind_a_curator(kind):
    rng = np.random.default_rng(0)
    rows = [(*rng.uniform(0, 1, 2), str(rng.choice(["a", "b"]))) for _ in range(60)]
    table = np.empty((60, 3), dtype=object)
    table[:] = rows
    columns = {"x": dp.Number(0, 1), "y": dp.Number(0, 1), "g": dp.Category(["a", "b"])}
    curator = dp.Curator(table, schema=dp.Schema(columns))
    if kind == "regression":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dp.LinearRegression(method="adassp").fit(curator.only(["x", "y"]), "y")
    if kind == "classifier":
        return dp.GaussianClassifier(method="joint").fit(curator, "g")
    people = dp.Curator(table[:, :2], space=dp.Box(0, 1), unit=np.repeat(np.arange(20), 3), max_rows=2)
    return dp.PCA(1, method="analyze-gauss").fit(people)


@pytest.mark.parametrize(("kind", "target"), [("regression", "y"), ("classifier", "g"), ("persons", None)])
def test_a_fitted_estimator_is_attacked_as_its_rows_were_declared(kind, target):
    model = fitted_behind_a_curator(kind)
    ask, pairs, _ = prepare_attack(model, None, None)
    again = _without_warnings(ask)(pairs[2].other)
    assert again.losses_ == model.losses_
    assert dict(again.releases_[0].declared) == dict(model.releases_[0].declared) | (
        {"unit": again.releases_[0].declared["unit"]} if target is None else {}
    )


def test_what_promises_nothing_is_not_attacked():
    with pytest.raises(ValueError, match="claimed=None"):
        attack(dp.PCA(1, bounds=(0, 1), method="gibbs"), runs=20, progress=False)


def test_a_picture_of_an_attack():
    ask, pair = gaussian(np.random.default_rng(3))
    result = attack(ask, pair, claimed=dp.GaussianLoss(1.0), runs=500, progress=False)
    picture = result.as_plot()
    assert "Attack on" in picture.title
    assert "ε ≥" in picture.description
    assert len(picture.facts.rows) == 10
    ax = result.plot()
    words = " ".join(text.get_text() for text in ax.texts)
    assert "claimed" in words
    assert "Attack on" in ax.get_title()
    assert "attacked" in words


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"subject": 7}, "expected an estimator of discreet, or a function"),
        ({"subject": len}, "pairs=None: expected neighbouring data sets"),
        ({"subject": len, "pairs": [1]}, "pairs=.*expected a discreet.audit.Pair"),
        ({"subject": len, "pairs": Pair("p", [1], [2])}, "claimed=None: expected the guarantee to test"),
        ({"subject": len, "pairs": Pair("p", [1], [2]), "claimed": 1.0}, "claimed=1.0: expected a Guarantee"),
        ({"subject": len, "pairs": Pair("p", [1], [2]), "target": "y"}, "target='y': expected None"),
        ({"subject": dp.PCA(1, bounds=(0, 1), random_state=0)}, "random_state=0: expected None"),
        ({"subject": dp.PCA}, "expected an estimator of discreet, or a function"),
        ({"subject": dp.PCA(1, bounds=(0, 1)), "target": "y"}, "target='y': expected None"),
        ({"subject": dp.PCA(1)}, "expected neighbouring data sets, or an estimator with bounds"),
        ({"subject": dp.PCA(1, bounds=(0, 1)), "runs": 3}, "runs=3: expected"),
        ({"subject": dp.PCA(1, bounds=(0, 1)), "confidence": 1.5}, "confidence=1.5: expected"),
        ({"subject": dp.PCA(1, bounds=(1, 0))}, "low"),
    ],
)
def test_wrong_arguments(arguments, says):
    with pytest.raises(ValueError, match=says):
        attack(**{"progress": False, **arguments})


def test_an_attack_spends_nothing(tmp_path):
    curator = dp.Curator(np.zeros((3, 1)), space=dp.Box(0, 1), name="rows", ledger=str(tmp_path / "a.ledger"))
    for held in (curator, (curator, 1), {"rows": curator}):
        with pytest.raises(ValueError, match="without a ledger"):
            attack(len, Pair("spent", held, held), claimed=dp.Guarantee(1.0))
    for pair in neighbours(LINE):
        assert pair.one.ledger is None
        assert pair.other.ledger is None
    assert len({pair.name for pair in neighbours(LINE)}) == len(neighbours(LINE))


def test_neighbours_differ_in_one_unit():
    schema = dp.Schema({"x": dp.Number(0, 10)}, unit="person", max_rows=3)
    for relation in ("replace-one", "add-remove"):
        for pair in neighbours(schema, relation):
            one, other = (side._records.rows for side in (pair.one, pair.other))
            assert other - one == (0 if relation == "replace-one" else 3)
            assert pair.one._records.max_rows == 3


# In one run.


def test_one_run_of_a_mixture_holds_and_finds_something():
    model = dp.GaussianMixture(
        2, bounds=[(0, 1)] * 30, epsilon=20.0, delta=1e-10, neighbors="add-remove", method="joint", n_steps=1
    )
    result = one_run(model, canaries=400, confidence=SURE)
    assert result.holds
    assert result.right > 0.7 * result.guesses  # some 37 of 40; 28 is 8 deviations below
    assert json.loads(json.dumps(result.to_dict()))["canaries"] == 400


def test_one_run_refutes_a_mixture_with_too_little_noise(monkeypatch):
    monkeypatch.setattr(GaussianNoise, "for_query", too_small(GaussianNoise.for_query, 100.0))
    model = dp.GaussianMixture(
        1, bounds=[(0, 1)] * 30, epsilon=1.0, delta=1e-10, neighbors="add-remove", method="joint", n_steps=1
    )
    result = one_run(model, canaries=400, share=0.5, confidence=1 - 1e-6)
    assert not result.holds
    assert "IS REFUTED" in repr(result)


def test_claims_that_depend_on_the_noise_are_not_taken():
    """Two results with different claims: which of them is promised is for the user to say."""
    rng = np.random.default_rng(5)

    def adaptive(curator):
        losses = [dp.GaussianLoss(0.5)] * int(rng.integers(1, 3))
        return [curator.measure(dp.Sum(curator.space), loss) for loss in losses]

    with pytest.raises(ValueError, match="the results state different claims"):
        attack(adaptive, neighbours(LINE), runs=20, progress=False)


def test_the_relation_of_pairs_and_of_the_claim_is_one():
    def measured_sum(curator):
        return curator.measure(dp.Sum(curator.space), dp.LaplaceLoss(2.0))

    with pytest.raises(ValueError, match="expected curators under add-remove"):
        attack(measured_sum, neighbours(LINE), claimed=dp.LaplaceLoss(1.0, "add-remove"), runs=20, progress=False)


@pytest.mark.parametrize(
    "leak",
    [lambda v: np.nan if v else 0.0, lambda v: np.append(np.zeros(600), v), lambda v: np.zeros(1 + int(v))],
    ids=["nan", "far back", "length"],
)
def test_leaks_in_odd_places(leak):
    result = attack(leak, Pair("one", 0.0, 1.0), claimed=dp.Guarantee(0.1), runs=100, progress=False)
    assert not result.holds


def test_results_of_any_length():
    rng = np.random.default_rng(6)
    result = attack(
        lambda v: rng.normal(size=rng.integers(1, 9)), Pair("none", 0.0, 1.0), claimed=dp.Guarantee(0.5), runs=60,
        confidence=SURE, progress=False,
    )  # fmt: skip
    assert result.holds


def test_a_loss_that_may_fail_has_a_claim():
    assert Claim.from_losses((dp.ApproximateLoss(1.0, 0.01),)).guarantee.delta >= 0.01


def test_one_run_takes_bounds_by_name():
    model = dp.PCA(1, bounds={"age": (0, 120), "dose": (0, 5)}, method="analyze-gauss", neighbors="add-remove")
    assert one_run(model, canaries=50, share=1.0, confidence=SURE).guesses == 50


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 2.0}, {"confidence": 0.0}, {"canaries": 1}])
def test_wrong_numbers_of_one_run(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        one_run(dp.PCA(1, bounds=(0, 1), neighbors="add-remove"), **wrong)


@pytest.mark.parametrize(("schema", "relation"), [({"age": (0, 120)}, "replace-one"), (LINE, "substitute")])
def test_what_neighbours_are_not_made_of(schema, relation):
    with pytest.raises(ValueError, match=r"schema of type dict|relation='substitute'"):
        neighbours(schema, relation)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (7, "expected a mixture"),
        (dp.LinearRegression(bounds=(0, 1), neighbors="add-remove"), "expected a mixture"),
        (dp.PCA(1, bounds=(0, 1)), "neighbors=None: expected 'add-remove'"),
        (dp.PCA(1, neighbors="add-remove"), "bounds=None"),
        (dp.PCA(1, bounds=(0, 1), neighbors="add-remove", random_state=1), "random_state=1"),
    ],
)
def test_wrong_subjects_of_one_run(model, says):
    with pytest.raises(ValueError, match=says):
        one_run(model)


def test_what_a_result_claims_and_shows():
    curator = dp.Curator(np.zeros((5, 1)), space=dp.Box(0, 1))
    release = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.5))
    assert read_claim(release).mu == 0.5
    assert read_claim([release, release]).mu == pytest.approx(math.sqrt(0.5))
    assert read_claim(3.0) is None
    assert read_output((3.0, [1, np.array([2.0, np.nan])])).numbers.tolist() == [3.0, 1.0, 2.0, MISSING]
    assert read_claim({"one": release}).mu == 0.5
    assert isinstance(Claim.from_losses((dp.LaplaceLoss(1.0), dp.GaussianLoss(1.0))).tradeoff(), CurveTradeoff)
