"""Attack: every public name and method with arguments nobody asked for. Refusals have few kinds and cost nothing."""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("polars", reason="polars is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

import polars as pl

import discreet as dp
from discreet.arguments import format_value
from discreet.database.questions import check_share
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.report.document import _posterior
from discreet.report.not_private import compare_without_privacy
from discreet.signals.filters import _coefficients
from effort import LONG, measured, size
from hostile import Boom, itself
from public_calls import (
    BOX,
    ROWS,
    Argument,
    Attempt,
    World,
    attempts,
    fitted,
    methods,
    parameters,
    public_names,
    quiet,
    released,
)

CALLS_OF_A_WORLD = 50


class Attack:
    """Calls one after the other, each of a fresh world now and then; it counts how they ended."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.numbers, self.ended = folder, count(), Counter[str]()
        self.world = World(folder / "first")

    def run(self, targets: dict[str, list[str | None]], calls: int) -> None:
        @settings(
            max_examples=calls,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(attempts(targets))
        def attacked(attempt: Attempt) -> None:
            number = next(self.numbers)
            if number % CALLS_OF_A_WORLD == CALLS_OF_A_WORLD - 1:
                self.world = World(self.folder / f"{number}")
                sys.modules["matplotlib.pyplot"].close("all") if "matplotlib.pyplot" in sys.modules else None
            kind, finding = attempt.ended(self.world)
            self.ended[kind] += 1
            assert finding is None, f"{attempt}: {finding}"

        attacked()


def raising(*_: Any, **__: Any) -> Any:
    raise Boom


@pytest.fixture
def attack(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a hostile path that can be written to is written there
    return Attack(tmp_path)


def test_whatever_is_handed_over_a_refusal_is_a_documented_error_and_costs_nothing(attack, monkeypatch):
    names: dict[str, list[str | None]] = {name: [None] for name in public_names() if name != "discreet.infer"}
    attack.run(names, size(80, 6200))
    of_names = attack.ended.total()
    with quiet():
        of_objects = methods(attack.world)
    for verbs in of_objects.values() if not LONG else ():
        verbs[:] = [verb for verb in verbs if verb != "report"]  # each takes a second
    attack.run(of_objects, size(50, 3800))
    of_methods = attack.ended.total() - of_names
    if LONG:
        room = import_module("discreet.inference.infer")
        for name in ("find_reference", "sample_augmented"):  # what comes after the checks compiles for half a minute
            monkeypatch.setattr(room, name, raising)
        attack.run({"discreet.infer": [None]}, 250)
    measured(
        "input",
        calls=attack.ended.total(),
        of_names=of_names,
        of_methods=of_methods,
        of_infer=attack.ended.total() - of_names - of_methods,
        names=len(names),
        methods=sum(map(len, of_objects.values())),
        ended=dict(attack.ended.most_common()),
    )


# Of these a sensible call needs more than one value a parameter, or a file: other tests have them.
NOT_AT_ONCE = {
    "discreet.statistics.log_rank",  # takes two columns of categories
    "discreet.Release",
    "discreet.Table",
    "discreet.fit_model",
    "discreet.infer",
    "discreet.load_model",
    "discreet.mechanisms.FactoredExponential",
    "discreet.mechanisms.propose_test_release",
    "discreet.signals.StateSpace",
    "discreet.statistics.count_persons",  # needs a unit, which the rows here have not
    "discreet.statistics.gross_error_sensitivity",
    "discreet.statistics.median",
}


def test_the_attack_gets_beyond_the_first_check(attack):
    """With sensible arguments nearly every call succeeds, so a hostile one is the only thing that is wrong with it."""
    refused = {}
    for name, call in public_names().items():
        if name.rpartition(".")[2] in ("from_dict", "from_json") or name in NOT_AT_ONCE:
            continue
        for profile in ("array", "curator"):
            attempt = Attempt(name, None, profile, tuple(Argument(one, None) for one in parameters(call)))
            try:
                with quiet():
                    attempt.called(attack.world, call)
            except (ValueError, TypeError) as error:
                refused[name] = error
            else:
                refused.pop(name, None)
                break
    assert not refused, "\n".join(f"{name}: {error}" for name, error in refused.items())


@pytest.mark.parametrize(
    "loss",
    [
        dp.GaussianLoss(1e308), dp.GaussianLoss(5e-324), dp.ClassicalGaussianLoss(1e308, 0.5), dp.PureLoss(5e-324),
        dp.PureLoss(1e308), dp.BoundedRangeLoss(5e-324), dp.LaplaceLoss(1e308),
        dp.GeometricLoss(1e308), dp.ApproximateLoss(1e308, 0.5),
    ],
    ids=repr,
)  # fmt: skip
def test_losses_at_the_edges_of_what_floats_hold_compose(loss):
    for method in ("linear", "zcdp", "exact"):
        for losses in (loss, [loss, dp.PureLoss(1.7e308)]):
            together = dp.compose(losses, method)
            assert together.epsilon(1e-6) >= 0.0
            assert 0.0 <= together.delta(1.0) <= 1.0
    assert dp.compose(dp.GaussianLoss(1e200)).epsilon(1e-6) == np.inf  # no promise, and not a small one
    assert dp.compose(dp.GaussianLoss(1e200)).delta(1e300) == 1.0


def test_a_value_is_shown_short_whatever_it_is():
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    for value in (10**5000, deep, "x" * 10**6, [[1.0] * 100] * 100):
        with pytest.raises(ValueError, match="epsilon=") as caught:
            dp.Guarantee(value)
        assert len(str(caught.value)) < 300
    assert format_value(0.5) == "0.5"


def test_what_is_no_axes_is_named():
    plots = [dp.compare(dp.GaussianLoss(1.0), 1e-6).plot, dp.plan("mean", 100, target=0.1).plot, fitted("PCA").plot]
    for plot in plots:
        with pytest.raises(ValueError, match="ax=3: expected the axes of a matplotlib figure"):
            plot(ax=3)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dp.Sum(None), "space=None: expected a Box or a Ball"),
        (lambda: dp.Moments("box"), "space='box': expected a Box or a Ball"),
        (lambda: dp.Box.holding(7), "ball=7: expected a Ball"),
        (lambda: BOX.from_unit(3.0), "rows: expected an array"),
        (lambda: BOX.to_unit([["a"]]), "rows of type list: expected numbers"),
        (lambda: dp.GaussianLoss.from_dict([]), r"values=\[\]: expected what to_dict wrote"),
        (lambda: dp.Release.from_json(7), "text of type int: expected JSON"),
        (lambda: dp.PCA.from_json("[" * 100_000), "text: expected JSON"),
        (lambda: dp.Curator(ROWS, space=BOX).only(None), "columns=None: expected a list of columns"),
        (lambda: dp.Curator(ROWS, space=BOX).only(pl.LazyFrame({"x0": [1]})), "columns=.*: expected a list of columns"),
        (lambda: dp.Curator(ROWS, space=BOX).paid_by(3), "schedule=3: expected what a curator's reserve"),
        (lambda: dp.explain(dp.Guarantee(1.0), 10**400), "expected a whole number, at least 1 and at most"),
        (lambda: dp.plan("mean", 10**400, target=0.1), "expected a whole number, at least 1 and at most"),
        (lambda: dp.plan("mean", 100, target=0.1, weights=1e-200), "one that some ε up to 10000 meets"),
        (lambda: dp.infer(itself()), "releases: expected a list that is not in itself"),
        (lambda: dp.mechanisms.median_distance(1.0, 0, 1, column=10**5000), "column=<int>: expected a whole number"),
        (lambda: dp.mechanisms.FactoredExponential(len, [0.5], high=np.complex128(1j)), "expected low < high"),
        (lambda: dp.noise.gibbs_bingham(np.eye(2), 1, 10**18), "sweeps=1.*: expected a whole number"),
        (lambda: dp.mechanisms.iqr_distance(1.0, (0, 1), 2), "low has 2 values: expected one for all"),
        (lambda: dp.mechanisms.smooth_sensitivity_of_median([None], 0, 1, 1.0), "values: expected numbers"),
        (lambda: dp.compose([dp.GaussianLoss(1.0)], integer=ROWS), "integer=.*: expected False, or True with"),
        (lambda: dp.plan("mean", 100, target=0.1).curve([1j]), "epsilons=.*: expected a number, or several"),
        (lambda: fitted("PCA").inverse_transform(10**5000), "X: expected numbers that a float holds"),
        (lambda: fitted("PCA").report(file=b"model"), "file=b'model': expected the name of a file"),
        (lambda: dp.signals.Picked(4, dp.Schema({"a": dp.Number(0, 1)})), "places: expected at least one step"),
        (lambda: check_share(10**5000), "share=<int>: expected a share"),
        (lambda: BOX.from_unit(np.array([[1j, 0.0]])), "rows of complex numbers: expected real ones"),
        (lambda: dp.load_model(b"model.json"), "path=b'model.json': expected the name of a file"),
        (lambda: dp.statistics.influence("mean", [1j], bounds=(0, 1), epsilon=1.0), "rows: expected numbers"),
        (lambda: _coefficients("a", [1.0, 1j], 2), r"a=\[1.0, 1j\]: expected finite coefficients"),
        (lambda: dp.plan("mean", 100, target=0.1).curve({}), "epsilons={}: expected a number, or several"),
        (lambda: dp.database.Draft("mean", 3), "arguments=3: expected a mapping"),
        (lambda: _posterior(fitted("PCA"), 3), "posterior=3: expected a Posterior of discreet.infer"),
        (lambda: fitted("KMeans").plot(columns=Path("a")), "columns=.*: expected two different columns"),
        (lambda: dp.PCA(bounds=BOX).fit(10**5000), "X holds numbers that no float holds"),
        (
            lambda: compare_without_privacy(fitted("GaussianMixture"), ROWS[:1], None),
            "expected at least 2 complete rows",
        ),
        (
            lambda: compare_without_privacy(fitted("LinearSVC"), (ROWS, np.zeros(60)), None),
            "at least two of the classes",
        ),
        (lambda: dp.mechanisms.exponential(len, ROWS, None, sensitivity=1.0, epsilon=1.0, bounds=BOX), "a list of at"),
    ],
)
def test_what_the_attack_found_is_refused_in_words(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("field", ["loss", "noise", "size", "declared", "parts"])
def test_a_release_is_made_of_what_releases_are_made_of(field):
    given = {name: getattr(released(), name) for name in released().__dataclass_fields__} | {"provenance": "simulated"}
    with pytest.raises(ValueError, match=f"{field}=7: expected"):
        dp.Release(**given | {field: 7})


def test_so_many_steps_that_their_shares_would_vanish_have_some_each():
    size_of = dp.PublicSize(500, True)
    method = Adaptive.for_data(20, BOX, dp.Guarantee(1.0, 1e-6), size_of, steps=3000)
    shares = np.array(method.shares)
    assert len(shares) == 3000
    assert shares.min() > 1e-12
    assert shares.sum() == pytest.approx(1.0)
