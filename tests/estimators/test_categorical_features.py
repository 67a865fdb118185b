"""Categories as features of regressions: in fit, summary, predict, files and private scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.arguments import ArgumentError

RNG = np.random.default_rng(5)
N = 20_000
WARD = dp.Category(["medicine", "surgery"], other="other")
COLUMNS = {
    "age": dp.Number(0, 100),
    "ward": WARD,
    "stay": dp.Number(0, 30),
    "back": dp.Category(["no", "yes"]),
}
ROWS = pd.DataFrame({"age": RNG.uniform(0, 100, N), "ward": RNG.choice(["medicine", "surgery", "spa"], N)})
EFFECT = ROWS["ward"].map({"medicine": 0.0, "surgery": 4.0, "spa": -2.0})
ROWS["stay"] = 10.0 + 0.05 * ROWS["age"] + EFFECT + RNG.normal(size=N)
ODDS = np.exp(-1.0 + 0.5 * EFFECT)
ROWS["back"] = np.where(RNG.random(N) < ODDS / (1.0 + ODDS), "yes", "no")
CURATOR = dp.Curator(ROWS, schema=dp.Schema(COLUMNS))
NAMES = ["age", "ward=surgery", "ward=other"]
BOUNDS = {"ward": WARD, "age": (0, 100)}
LINE = CURATOR.only(["ward", "age", "stay"])


def linear(**more):
    return dp.LinearRegression(epsilon=3.0, **more)


def test_coefficients_are_those_beside_the_first_value():
    model = linear().fit(LINE, "stay")
    assert model.feature_names_in_.tolist() == NAMES
    assert model.coef_ == pytest.approx([0.05, 4.0, -2.0], abs=0.3)
    table = model.summary()
    assert table.names == ("const", *NAMES)
    assert ("Reference", "ward=medicine") in table.facts
    low, high = model.interval(1 - 1e-9)
    assert (low[1] < 4.0 < high[1], low[2] < -2.0 < high[2]) == (True, True)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (dp.LogisticRegression(epsilon=3.0, inference=True), "back"),
        (dp.LinearSVC(epsilon=3.0), "back"),
        (linear(), "stay"),
    ],
)
def test_rows_are_predicted_by_their_categories_also_after_a_file(model, target, tmp_path):
    model = model.fit(CURATOR.only(["ward", "age", target]), target)
    head = ROWS[["back", "ward", "age"]].head(50)  # in another order, with a column beside
    own = np.column_stack([head["age"], head["ward"] == "surgery", head["ward"] == "spa"]).astype(float)
    expected = model.predict(pd.DataFrame(own, columns=NAMES))
    assert model.predict(head).tolist() == expected.tolist()
    assert type(model).from_json(model.to_json()).predict(head).tolist() == expected.tolist()


def test_a_frame_with_categories_among_the_bounds_is_fitted(tmp_path):
    given = {"bounds": BOUNDS, "target_bounds": (0, 30)}
    ROWS.to_parquet(tmp_path / "rows.parquet")
    models = [
        linear(**given).fit(ROWS[["age", "ward"]], ROWS["stay"]),
        linear(**given).fit(ROWS, "stay"),
        linear(**given).fit(tmp_path / "rows.parquet", "stay"),
    ]
    for model in models:
        assert model.coef_ == pytest.approx([0.05, 4.0, -2.0], abs=0.3)
        again = dp.LinearRegression.from_json(model.to_json())
        assert again.predict(ROWS.head(9)).tolist() == model.predict(ROWS.head(9)).tolist()
    logistic = dp.LogisticRegression(epsilon=3.0, inference=True, bounds=BOUNDS, classes=["no", "yes"])
    assert logistic.fit(ROWS[["age", "ward"]], ROWS["back"]).coef_[0, 1:] == pytest.approx([2.0, -1.0], abs=0.5)
    assert logistic.summary().names == ("const", *NAMES)
    with pytest.raises(ArgumentError, match="a data frame"):
        linear(**given).fit(np.zeros((10, 2)), np.zeros(10))


def test_values_that_are_not_declared_are_refused_where_rows_are_predicted():
    strict = {"ward": dp.Category(["medicine", "surgery", "spa"]), "age": (0, 100)}
    model = linear(bounds=strict, target_bounds=(0, 30)).fit(ROWS, "stay")
    with pytest.raises(ArgumentError, match=r"'ward'.*declared values"):
        model.predict(ROWS.head(3).assign(ward="gym"))


@pytest.mark.parametrize("changed", [{"values": ["x", "y", "z"]}, {"missing": "fill", "fill": "medicine"}])
def test_a_file_whose_categories_are_not_those_of_its_rows_is_refused(changed):
    values = linear().fit(LINE, "stay").to_dict()
    for release in values["fitted"]["releases_"]:
        release["declared"]["indicators"]["ward"] |= changed
    with pytest.raises(ValueError, match="indicators"):
        dp.LinearRegression.from_dict(values)


@pytest.mark.parametrize("rows", [CURATOR, ROWS[["age", "ward"]]])
def test_a_private_score_reads_rows_as_the_fit_did(rows):
    curated = rows is CURATOR
    line = linear().fit(LINE, "stay")
    r2 = dp.private_score(line, rows, "stay" if curated else ROWS["stay"], metric="r2", epsilon=3.0)
    assert r2.value == pytest.approx(line.score(ROWS[["age", "ward"]], ROWS["stay"].clip(0, 30)), abs=0.03)
    model = dp.LogisticRegression(epsilon=3.0).fit(CURATOR.only(["ward", "age", "back"]), "back")
    labels = "back" if curated else ROWS["back"]
    accuracy = dp.private_score(model, rows, labels, metric="accuracy", epsilon=3.0)
    assert accuracy.value == pytest.approx(model.score(ROWS[["age", "ward"]], ROWS["back"]), abs=0.03)


def test_a_private_score_refuses_another_reference():
    line = linear().fit(LINE, "stay")
    turned = COLUMNS | {"ward": dp.Category(["surgery", "medicine", "other"])}
    with pytest.raises(ArgumentError):
        dp.private_score(line, dp.Curator(ROWS, schema=dp.Schema(turned)), "stay", metric="r2", epsilon=1.0)
    same_names = COLUMNS | {"ward": dp.Category(["spa", "surgery", "other"])}
    with pytest.raises(ArgumentError, match="the categories of the model"):
        dp.private_score(line, dp.Curator(ROWS, schema=dp.Schema(same_names)), "stay", metric="r2", epsilon=1.0)


def test_rows_of_persons_need_a_curator_to_be_scored():
    rows = ROWS.assign(who=np.arange(N) // 2)
    model = linear().fit(
        dp.Curator(rows, schema=dp.Schema(COLUMNS, unit="who", max_rows=2)).only(["age", "stay"]), "stay"
    )
    with pytest.raises(ArgumentError, match="do not say whose they are"):
        dp.private_score(model, rows[["age"]], rows["stay"], metric="r2", epsilon=1.0)


def test_a_model_of_chosen_rows_scores_those_that_a_curator_chooses():
    """A frame does not say which of its rows count, so it is refused; a curator's own condition is what applies."""
    chosen = CURATOR.where("ward == 'surgery'")
    line = linear().fit(chosen.only(["age", "stay"]), "stay")
    with pytest.raises(ArgumentError, match=r"not “ward == 'surgery'”.*where\(\"ward == 'surgery'\"\)"):
        dp.private_score(line, ROWS[["age"]], ROWS["stay"], metric="r2", epsilon=1.0)
    own, every = (dp.private_score(line, one, "stay", metric="r2", epsilon=9.0).value for one in (chosen, CURATOR))
    assert own > 0.5 > every  # other wards stay less long
    mixture = dp.GaussianMixture(1).fit(chosen.only(["age", "stay"]))
    with pytest.raises(ArgumentError, match="fitted to such rows alone"):
        dp.private_score(mixture, ROWS[["age", "stay"]], epsilon=1.0)


def test_a_rare_category_is_not_pulled():
    """Rows of a rare value are far out. Where they were moved closer, the interval missed by twice its own width."""
    rng = np.random.default_rng(8)
    ward = rng.choice(3, 60_000, p=[0.66, 0.3, 0.04])
    odds = np.exp(np.array([-0.3, 0.2, -1.3])[ward])
    rows = pd.DataFrame({"ward": np.array(["medicine", "spa", "surgery"])[ward]})
    rows["back"] = np.where(rng.random(len(rows)) < odds / (1.0 + odds), "yes", "no")
    bounds = {"ward": dp.Category(["medicine", "spa", "surgery"])}
    model = dp.LogisticRegression(
        epsilon=5.0, inference=True, bounds=bounds, classes=["no", "yes"], coordinates="private"
    )
    low, high = model.fit(rows, "back").interval(1.0 - 1e-9)
    assert low[1] < -1.0 < high[1]
    assert high[1] - low[1] < 1.2
