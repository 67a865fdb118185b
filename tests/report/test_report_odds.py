"""The odds that a report tells: those of the losses, as ``explain`` has them, and never better than is proved."""

from __future__ import annotations

import re

import pytest

import discreet as dp
from discreet.report.guarantee_text import explain_guarantee
from shown_models import BOX, KINDS, fitted, numbers, target


@pytest.mark.parametrize("kind", ["mixture", "drawn", "table", "regression"])
def test_odds_are_those_of_the_losses_as_explain_has_them(kind):
    model = fitted(kind)
    told = dp.explain(model.losses_, unit="row")
    said = " ".join(explain_guarantee(model)).replace("\N{NO-BREAK SPACE}", " ")
    assert all(line in said for line in str(told).splitlines()[2:5])
    assert "follow from the composed losses of all releases" in said


@pytest.mark.parametrize("kind", KINDS)
def test_odds_are_never_better_than_the_composition_nor_worse_than_the_promise(kind):
    model = fitted(kind)
    (guess,) = re.findall(r"right in at most ([\d.]+)\s%", " ".join(explain_guarantee(model)))
    least, most = (1.0 + dp.compose(model.losses_).delta(0.0)) / 2.0, dp.explain(model.guarantee_).accuracy
    assert 100.0 * least <= float(guess) <= 100.0 * most * (1.0 + 1e-2)


def test_the_loss_of_a_noisy_minimum_is_part_of_the_odds_with_gaussians_beside_it_or_without():
    model = dp.LogisticRegression(bounds=BOX, classes=["a", "b"], coordinates="declared")
    model.fit(numbers(), target("logistic"))
    (loss,) = model.losses_
    (guess,) = re.findall(r"right in at most ([\d.]+)\s%", " ".join(explain_guarantee(model)))
    assert float(guess) >= 50.0 * (1.0 + loss.delta_at(0.0))


def test_where_losses_are_not_all_known_the_odds_are_those_of_the_promise():
    model = dp.KMeans.from_json(fitted("kmeans").to_json())
    model.losses_ = model.losses_[:-1]
    assert explain_guarantee(model)[-1] == "These bounds follow from (ε, δ) alone."
    assert str(dp.explain(model.guarantee_, unit="row")).splitlines()[3].split(",")[0] in " ".join(
        explain_guarantee(model)
    ).replace("\N{NO-BREAK SPACE}", " ")
