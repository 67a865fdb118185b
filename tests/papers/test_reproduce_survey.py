"""Figure 2 of the survey: a small part of it, and a verdict that can come out either way."""

from __future__ import annotations

import math

import pytest

from papers.survey.figure_2_mean_and_median import EXPERIMENT, KINDS, PRINTED, density, expected
from reproduced import drawn

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")


def test_means_and_medians_and_which_is_better():
    laws = [("uniform", None), ("normal", None), ("beta", 0.5), ("beta", 20.0)]
    parts = [{"law": law, "shape": shape, "runs": 60} for law, shape in laws]
    numbers = EXPERIMENT.numbers([(part, EXPERIMENT.measure(**part)) for part in parts])
    spread = {law: {kind: one[kind]["rmse"] for kind in KINDS} for law, one in numbers["sets"].items()}
    assert spread["normal"]["median"] < spread["normal"]["mean"] < spread["uniform"]["median"]
    assert spread["uniform"]["mean"] == pytest.approx(math.sqrt(2.0) * PRINTED, rel=0.5)
    assert all(numbers["curves"]["median"][i] == pytest.approx(numbers["law"][i], rel=0.5) for i in (0, 1))
    assert sum(numbers["sets"]["uniform"]["mean"]["counts"]) == 60
    found = EXPERIMENT.verdict(numbers)
    assert found.holds is True
    assert "2 of 2 laws" in found.honest
    assert len(EXPERIMENT.table(numbers).rows) == 4
    assert drawn(EXPERIMENT, numbers)
    numbers["sets"]["uniform"]["median"]["rmse"] = 0.2
    assert EXPERIMENT.verdict(numbers).holds is False


def test_the_density_at_the_median():
    assert density(1.0) == pytest.approx(1.0)
    assert density(2.0) == pytest.approx(1.5)
    assert expected(2.0) == pytest.approx(math.sqrt(2.0) * PRINTED)


def test_parts_cover_both_sets():
    for quick in (True, False):
        assert [part["law"] for part in EXPERIMENT.parts(quick)][:2] == ["uniform", "normal"]
