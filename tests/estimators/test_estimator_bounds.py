"""Bounds as people write them, in every estimator; and columns by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.records import space_of

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.uniform(20, 80, 300),
        "pressure": RNG.normal(130, 10, 300),
        "note": ["free text"] * 300,
        "ill": [0, 1] * 150,
    }
)
NAMED = {"pressure": (60.0, 220.0), "age": (0.0, 110.0)}
PAIRS = [(60.0, 220.0), (0.0, 110.0)]
PROMISE = {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("estimator", [dp.GaussianMixture, dp.KMeans, dp.FactorAnalysis, dp.PCA])
def test_columns_are_chosen_by_name(estimator, tmp_path):
    model = estimator(1, bounds=NAMED, **PROMISE).fit(FRAME)
    assert model.feature_names_in_.tolist() == ["pressure", "age"]
    again = type(model).from_json(model.to_json())
    assert again.bounds == NAMED
    apply = again.predict if hasattr(again, "predict") else again.transform
    assert len(apply(FRAME)) == len(FRAME)  # other columns may stand beside them here too
    FRAME.to_parquet(tmp_path / "rows.parquet")
    stored = estimator(1, bounds=NAMED, **PROMISE).fit(tmp_path / "rows.parquet")
    assert stored.feature_names_in_.tolist() == ["pressure", "age"]


def test_labels_beside_named_columns():
    model = dp.LogisticRegression(bounds=NAMED, classes=[0, 1], **PROMISE).fit(FRAME, FRAME["ill"])
    assert model.predict_proba(FRAME).shape == (300, 2)


@pytest.mark.parametrize("bounds", [PAIRS, tuple(PAIRS), dp.Box([60, 0], [220, 110])])
def test_a_pair_for_each_column(bounds):
    model = dp.GaussianMixture(1, bounds=bounds, **PROMISE).fit(FRAME[["pressure", "age"]])
    assert space_of(type(model).from_json(model.to_json()).bounds) == dp.Box([60, 0], [220, 110])


def test_a_pair_for_all():
    assert space_of((0, 120)).for_columns(3) == dp.Box([0] * 3, [120] * 3)


@pytest.mark.parametrize("bounds", [None, {}, [], "age", {"age": 3}, [(0, 1), 2], (1, 2, 3)])
def test_what_is_none(bounds):
    with pytest.raises(ValueError, match="expected"):
        dp.GaussianMixture(1, bounds=bounds, **PROMISE).fit(FRAME[["age"]])


def test_names_that_are_not_there_and_rows_without_names():
    model = dp.GaussianMixture(1, bounds={"years": (0, 110)}, **PROMISE)
    with pytest.raises(ValueError, match="the column 'years' is not in the data: expected one of 'age'"):
        model.fit(FRAME)
    with pytest.raises(ValueError, match=r"write bounds=\[\(0\.0, 110\.0\)\]"):
        model.fit(FRAME[["age"]].to_numpy())


def test_names_beside_those_of_a_curator():
    curator = dp.Curator(FRAME, schema=dp.Schema({"age": dp.Number(0, 110)}))
    with pytest.raises(ValueError, match="expected None, or bounds of 'age'"):
        dp.GaussianMixture(1, bounds={"years": (0, 110)}, **PROMISE).fit(curator)
    assert dp.GaussianMixture(1, bounds={"age": (0, 110)}, **PROMISE).fit(curator).means_.shape == (1, 1)


@pytest.mark.parametrize("estimator", [dp.GaussianMixture, dp.KMeans, dp.FactorAnalysis, dp.PCA])
def test_columns_of_a_file_keep_names_that_look_like_places(estimator, tmp_path):
    frame = pd.DataFrame(RNG.normal(size=(300, 2)), columns=["x0", "x1"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    curator = dp.Curator(tmp_path / "rows.csv", schema=dp.Schema({"x0": dp.Number(-5, 5), "x1": dp.Number(-5, 5)}))
    for source in (frame, tmp_path / "rows.csv", curator):
        model = estimator(1, bounds=None if source is curator else (-5, 5), **PROMISE).fit(source)
        assert model.feature_names_in_.tolist() == ["x0", "x1"]
        assert type(model).from_json(model.to_json()).feature_names_in_.tolist() == ["x0", "x1"]
    for array in (frame.to_numpy(), dp.Curator(frame.to_numpy(), space=dp.Box(-5, 5))):
        model = estimator(1, bounds=None if isinstance(array, dp.Curator) else (-5, 5), **PROMISE).fit(array)
        assert not hasattr(model, "feature_names_in_")


def test_features_of_a_file_keep_names_that_look_like_places(tmp_path):
    frame = pd.DataFrame(RNG.uniform(-1, 1, (300, 2)), columns=["x0", "x1"]).assign(y=lambda rows: rows["x0"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    line = dp.LinearRegression(bounds={"x0": (-1, 1), "x1": (-1, 1)}, target_bounds=(-1, 1), epsilon=10.0)
    assert line.fit(str(tmp_path / "rows.csv"), "y").feature_names_in_.tolist() == ["x0", "x1"]
    assert not hasattr(
        line.set_params(bounds=(-1, 1)).fit(frame[["x0", "x1"]].to_numpy(), frame["y"]), "feature_names_in_"
    )


@pytest.mark.parametrize("estimator", [dp.GaussianMixture, dp.KMeans, dp.FactorAnalysis, dp.PCA])
def test_rows_to_predict_are_not_read_from_a_file(estimator, tmp_path):
    model = estimator(1, bounds=NAMED, **PROMISE).fit(FRAME)
    apply = model.predict if hasattr(model, "predict") else model.transform
    for hidden in ("rows.csv", tmp_path / "rows.csv", dp.Curator(FRAME[["age"]], space=dp.Box(0, 110))):
        with pytest.raises(ValueError, match=r"X: expected rows that you hold, .*; write pandas.read_csv\(path\)"):
            apply(hidden)
