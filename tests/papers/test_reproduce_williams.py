"""Experiments of Williams and McSherry: small parts of them, and verdicts that can come out either way."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from effort import LONG
from papers.entries import experiment
from papers.williams import figure_2a, figure_2b, figure_3a, figure_3b, figure_4_direction, logistic
from reproduced import drawn, kept_numbers, numbers_of

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")


@pytest.mark.parametrize("name", ["williams/table-2", "williams/table-3"])
def test_the_tables_have_fifty_runs(name):
    runs = [range(part["start"], part["stop"]) for part in experiment(name).parts(False) if part["name"] == "pima"]
    assert [run for each in runs for run in each] == list(range(50))


def test_bounds_are_near_zero_for_small_epsilon_only_with_epsilon_in_q():
    entry = figure_2a.EXPERIMENT
    numbers = numbers_of(entry, [{"rows": 100, "epsilon": epsilon} for epsilon in (0.01, 1.0)])
    errors = numbers["errors"]["100"]
    assert errors["upper, q with ε"][0] < 1e-3 < 0.5 < errors["upper, printed q"][0]
    assert all(errors["upper, best q"][i] <= errors["upper, q with ε"][i] + 1e-12 for i in (0, 1))
    result = entry.verdict(numbers)
    assert result.holds is True
    assert f"{errors['upper, printed q'][0]:.2g}" in result.honest
    assert drawn(entry, numbers)
    errors["lower"][0] = 0.3
    assert entry.verdict(numbers).holds is False


def test_the_likelihood_lies_between_its_bounds():
    entry = figure_2b.EXPERIMENT
    numbers = numbers_of(entry, entry.parts(True))
    assert entry.verdict(numbers).holds is True
    assert numbers["off"]["normal"] < numbers["off"]["lower"]
    assert drawn(entry, numbers)
    numbers["between"]["lower"] = False
    result = entry.verdict(numbers)
    assert result.holds is False
    assert "do not enclose" in result.honest


def test_posteriors_of_a_direction_concentrate():
    entry = figure_4_direction.EXPERIMENT
    numbers = numbers_of(entry, [{"epsilon": e, "runs": 6, "angles": 16, "lengths": 2} for e in (0.003, 0.1)])
    vague, sharp = (numbers["found"][str(epsilon)] for epsilon in (0.003, 0.1))
    assert vague["shown"]["lower"]["concentration"] < sharp["shown"]["lower"]["concentration"]
    assert drawn(entry, numbers)
    vague["off"], sharp["off"] = 0.5, 0.1
    assert entry.verdict(numbers).holds is True
    vague["off"] = 0.05
    assert entry.verdict(numbers).holds is False
    assert figure_4_direction.off_axis(0.1, np.pi + 0.1) == pytest.approx(0.0, abs=1e-12)


def test_an_error_table_from_real_runs():
    """Of the runs that the page shows; ``make audit`` runs two anew."""
    entry = experiment("williams/table-2")
    if LONG:
        numbers = numbers_of(entry, [{"name": "synth", "epsilon": 0.1, "start": 0, "stop": 2}])
        assert entry.verdict(numbers).holds is None  # of two runs
        numbers["sets"]["synth"]["runs"] = 50
    else:
        numbers = kept_numbers("williams/table-2")
        numbers["sets"] = {"synth": numbers["sets"]["synth"]}
    cells = numbers["sets"]["synth"]["cells"]
    assert 10.0 < cells["benchmark"][0] < 22.0
    assert all(5.0 < mean < 75.0 and std >= 0.0 for mean, std in cells.values())
    assert numbers["sets"]["synth"]["paper"]["inference"] == [29.14, 5.54]
    assert drawn(entry, numbers)
    for heuristic, holds in (([90.0, 30.0], True), ([1.0, 30.0], False), ([90.0, 0.0], False)):
        other = copy.deepcopy(numbers)
        other["sets"]["synth"]["cells"]["heuristic"] = heuristic
        assert entry.verdict(other).holds is holds


def test_gradients_are_seeded_and_lead_to_the_benchmark():
    data = logistic.split("synth", 0)

    def path(epsilon, seed):
        return list(logistic.gradients("synth", data, logistic.loss_a_step(epsilon), 8, seed))

    same, again, other = (path(1.0, seed)[-1][0]["gradient"] for seed in (1, 1, 2))
    assert np.array_equal(same, again)
    assert not np.array_equal(same, other)
    assert path(50.0, 1)[-1][1] < logistic.without_privacy(data) + 3.0
    assert logistic.private_fits(data, 50.0, 1)["ours"] < logistic.without_privacy(data) + 3.0


def test_paths_that_spent_the_same_are_compared():
    entry = figure_3a.EXPERIMENT
    assert figure_3a.spent(0.04, 4) == pytest.approx(figure_3a.spent(0.08, 1), rel=1e-12)
    errors = {kind: [9.0, 7.0] for kind in figure_3a.KINDS}
    higher = {kind: [7.7, 6.0] for kind in figure_3a.KINDS}
    numbers = entry.numbers(list(zip(entry.parts(True), ([errors], [higher]), strict=True)))
    assert numbers["ratios"]["inference"] == [[pytest.approx(figure_3a.spent(0.08, 1), abs=1e-6), pytest.approx(1.1)]]
    assert entry.verdict(numbers).holds is True
    assert drawn(entry, numbers)
    higher["inference"] = [10.0, 6.0]
    numbers = entry.numbers(list(zip(entry.parts(True), ([errors], [higher]), strict=True)))
    assert entry.verdict(numbers).holds is False


def test_public_rows_are_judged_beside_what_they_give_alone():
    entry = figure_3b.EXPERIMENT
    part = entry.parts(True)[0]
    without = {"heuristic": 30.0, "benchmark": 16.0, "ours": 26.0, "tied": 40.0}
    run = {"inference": [32.0, 25.0, 18.0], "averaged": [27.0, 21.0, 17.0], "alone": [50.0, 41.0, 18.0]}
    numbers = entry.numbers([(part, [run | {"without": without}, run | {"without": without}])])
    assert numbers["runs"] == 2
    assert entry.verdict(numbers).holds is True
    assert drawn(entry, numbers)
    numbers["means"]["alone"][1] = 20.0
    assert entry.verdict(numbers).holds is False
