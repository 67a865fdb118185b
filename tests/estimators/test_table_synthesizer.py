"""Synthetic tables: what they keep, what cannot occur, gaps, files, and rows from every source."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dp
from discreet.estimators.plots import plot_model
from discreet.models.synthesis import pairwise_fit, table_rows
from discreet.models.synthesis.synthesis_method import TableSynthesis
from discreet.noise import NotPrivateWarning
from effort import size

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 120),
        "pressure": dp.Number(50, 250),
        "ward": dp.Category(["maternity", "surgery", "icu"]),
        "sex": dp.Category(["F", "M"]),
        "admitted": dp.Date("2020-01-01", "2023-12-31"),
        "cost": dp.Number(1, 1e6, log=True),
    }
)
ZEROS = ({"ward": "maternity", "sex": "M"}, "ward == 'icu' and age < 18")


@pytest.fixture(autouse=True)
def _shorter_fits(monkeypatch):
    """Make fits shorter: what is tested here does not need the last digit."""
    monkeypatch.setattr(pairwise_fit, "SWEEPS", 80)
    monkeypatch.setattr(pairwise_fit, "CHAINS", 1500)


@pytest.fixture
def shortest_fits(monkeypatch):
    """Make them shorter still, where only releases and their noise are looked at; not around ``fitted``."""
    monkeypatch.setattr(pairwise_fit, "SWEEPS", 10)
    monkeypatch.setattr(pairwise_fit, "CHAINS", 200)


@cache
def people(rows: int = 8000) -> pd.DataFrame:
    """Return made-up patients: a number that follows another, an impossible pair, gaps, dates and a long tail."""
    rng = np.random.default_rng(0)
    ward = rng.integers(0, 3, rows)
    age = np.clip(rng.normal(35.0 + 12.0 * ward, 8.0), 18.0, 100.0).round()
    pressure = 80.0 + age + rng.normal(0.0, 4.0, rows)
    pressure[rng.random(rows) < np.where(ward == 2, 0.4, 0.0)] = np.nan
    sex = np.where((ward == 0) | (rng.random(rows) < 0.5), "F", "M").astype(object)
    return pd.DataFrame(
        {
            "age": age,
            "pressure": pressure,
            "ward": np.array(["maternity", "surgery", "icu"])[ward],
            "sex": sex,
            "admitted": np.datetime64("2020-01-01") + rng.integers(0, 900, rows),
            "cost": np.exp(rng.normal(6.0 + ward, 1.0)),
        }
    )


@cache
def fitted(neighbors: str = "add-remove") -> dp.TableSynthesizer:
    """Return a synthesizer at a large ε, so that what the model itself loses shows; nobody changes it."""
    model = dp.TableSynthesizer(
        epsilon=5.0, schema=SCHEMA, whole=["age"], zeros=ZEROS, neighbors=neighbors, random_state=0
    )
    return model.fit(people())


@cache
def drawn() -> pd.DataFrame:
    return fitted().sample(8000, random_state=0)


def test_columns_have_the_declared_types_and_bounds():
    table = drawn()
    assert list(table.columns) == list(SCHEMA.names)
    assert table["age"].dtype == np.int64
    assert table["cost"].dtype == np.float64
    assert table["admitted"].dtype.kind == "M"
    assert table["age"].between(0, 120).all()
    assert table["cost"].between(1, 1e6).all()
    assert set(table["ward"]) == {"maternity", "surgery", "icu"}


def test_histograms_and_pairs_are_kept():
    real, table = people(), drawn()
    shares = real["ward"].value_counts(normalize=True)
    assert abs(shares - table["ward"].value_counts(normalize=True)).max() < 0.01
    means = real.groupby("ward")["age"].mean() - table.groupby("ward")["age"].mean()
    assert abs(means).max() < 1.0
    assert abs(np.log(real["cost"]).std() - np.log(table["cost"]).std()) < 0.1
    both = real[["age", "pressure"]].corr().iloc[0, 1] - table[["age", "pressure"]].corr().iloc[0, 1]
    assert abs(both) < 0.04


def test_what_was_declared_impossible_never_occurs():
    table = drawn()
    assert not ((table["ward"] == "maternity") & (table["sex"] == "M")).any()
    assert not ((table["ward"] == "icu") & (table["age"] < 18)).any()


def test_a_zero_about_a_number_leaves_its_category_as_frequent():
    """Students of at most 30 years, 3 % of the rows: drawing whole rows again made them 1 %."""
    rng = np.random.default_rng(0)
    student = rng.random(6000) < 0.03
    age = np.where(student, rng.integers(18, 31, 6000), rng.integers(18, 91, 6000))
    rows = pd.DataFrame({"age": age, "job": np.where(student, "student", rng.choice(["office", "retired"], 6000))})
    rows["sex"] = rng.choice(["F", "M"], 6000)
    schema = dp.Schema(
        {
            "age": dp.Number(16, 100),
            "job": dp.Category(["office", "retired", "student"]),
            "sex": dp.Category(["F", "M"]),
        }
    )
    zeros = ["job == 'student' and age > 30"]
    model = dp.TableSynthesizer(epsilon=1.0, schema=schema, whole=["age"], zeros=zeros, random_state=0).fit(rows)
    released = model._prepared[0][1].shares[2]
    table = model.sample(20_000, random_state=0)
    assert table.loc[table["job"] == "student", "age"].max() <= 30
    assert (table["job"] == "student").mean() == pytest.approx(released, abs=0.005)
    assert (table["age"] > 60).mean() == pytest.approx((age > 60).mean(), abs=0.03)


def test_zeros_between_numbers_and_of_three_categories_hold():
    rng = np.random.default_rng(0)
    low = rng.uniform(50.0, 90.0, 3000)
    rows = pd.DataFrame({"low": low, "high": low + rng.uniform(1.0, 40.0, 3000)})
    for name in "abc":
        rows[name] = rng.choice(["x", "y"], 3000)
    columns = {"low": dp.Number(40, 150), "high": dp.Number(40, 150)} | {
        name: dp.Category(["x", "y"]) for name in "abc"
    }
    zeros = ["low >= high", {"a": "x", "b": "x", "c": "x"}]
    model = dp.TableSynthesizer(epsilon=1.0, schema=dp.Schema(columns), zeros=zeros, random_state=0).fit(rows)
    table = model.sample(3000, random_state=0)
    assert (table["low"] < table["high"]).all()
    assert not (table[["a", "b", "c"]] == "x").all(axis=1).any()


@pytest.mark.parametrize(
    ("zeros", "text"),
    [
        (["age >= 0"], "allow some rows"),
        (["age < 50", "age >= 50"], "allow some rows"),
        (["age < 50 and pressure < 100", "age >= 50", "age < 50 and pressure >= 100"], "allow some rows"),
        (["pressure <= age", "pressure > age"], "allow some rows"),
        ([{"sex": ["F", "M"]}], "allow some rows"),
        ([{"ward": "icu"}], "ward == 'icu'.*leave that category out"),
        (["ward == 'icu' and filled >= 20", "ward == 'icu' and filled < 30"], "ward == 'icu'"),
    ],
)
def test_zeros_that_leave_nothing_are_refused_before_anything_is_spent(zeros, text, tmp_path):
    schema = dp.Schema(dict(SCHEMA.columns) | {"filled": dp.Number(0, 40, missing="fill", fill=0)})
    rows = people().assign(filled=1.0)
    curator = dp.Curator(rows, schema=schema, name="people", ledger=tmp_path / "ledger.db", neighbors="add-remove")
    with pytest.raises(ValueError, match=text):
        dp.TableSynthesizer(schema=schema, whole=["age"], zeros=zeros).fit(curator)
    assert not curator.ledger.history("people")


@cache
def exclusive_or(target: str | None, rows: int = 6000) -> tuple[dp.TableSynthesizer, pd.DataFrame]:
    """Return a synthesizer of rows in which one column is the exclusive or of two others, but for 5 %."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, rows))
    frame = pd.DataFrame({"a": a, "b": b, "c": a ^ b ^ (rng.random(rows) < 0.05), "x": rng.normal(size=rows) + a})
    schema = dp.Schema({name: dp.Category([0, 1]) for name in "abc"} | {"x": dp.Number(-4, 6)})
    model = dp.TableSynthesizer(epsilon=1.0, schema=schema, target=target, neighbors="add-remove", random_state=0)
    return model.fit(frame), frame


@pytest.mark.parametrize("target", [None, "c"])
def test_an_exclusive_or_is_seen(target):
    """Pairs alone agree in 50 % of the rows."""
    model, _ = exclusive_or(target)
    table = model.sample(2000, random_state=0)
    assert [0, 1, 2] in model.triples_.tolist()
    assert ((table["a"] ^ table["b"]) == table["c"]).mean() > 0.88
    read = dp.TableSynthesizer.from_json(model.to_json())
    assert read.sample(200, random_state=1).equals(model.sample(200, random_state=1))
    tables = model.releases_[-3].question.tables
    assert set(map(len, tables)) == {3}
    assert target is None or all(2 in triple for triple in tables)


def test_triples_have_the_density_of_the_rows():
    model, frame = exclusive_or(None)
    turned = frame.assign(c=1 - frame["c"])
    assert model.score_samples(frame).mean() > model.score_samples(turned).mean() + 1.0


def test_with_too_few_rows_for_triples_pairs_are_counted_twice():
    model, _ = exclusive_or(None, rows=150)
    assert model.releases_[-3].question == model.releases_[-2].question
    assert not len(model.triples_)
    again = (0, 1) in model.releases_[-1].question.tables
    noise = [release.noise.scale**-2 for release in model.releases_[-3 : None if again else -1]]
    assert model._prepared[1].noise[0, 1] == pytest.approx(1.0 / sum(noise), rel=1e-3)


@pytest.mark.parametrize("change", ["triples_", "triple_interactions_"])
def test_a_file_with_other_triples_is_refused(change):
    values = exclusive_or(None)[0].to_dict()
    values["fitted"][change] = [[0, 1, 9]] if change == "triples_" else [0.0]
    with pytest.raises(ValueError, match=change):
        dp.TableSynthesizer.from_dict(values)


@pytest.mark.parametrize("three", [True, False])
def test_files_from_before_there_was_a_second_look_and_before_triples_are_read(three, monkeypatch):
    first = TableSynthesis.__init__
    monkeypatch.setattr(
        TableSynthesis, "__init__", lambda self, *given, **more: first(self, *given, three=three, again=False, **more)
    )
    model = dp.TableSynthesizer(schema=SCHEMA, target="sex", random_state=0).fit(people()[:1000])
    monkeypatch.undo()
    values = model.to_dict()
    if not three:
        for name in ("triples_", "triple_interactions_"):
            del values["fitted"][name]
        for name in ("relations", "known"):
            del values["parameters"][name]
        values["fitted"]["log_partition_"] = 3.0  # which is no longer written
    read = dp.TableSynthesizer.from_dict(values)
    assert read.sample(50, random_state=0).equals(model.sample(50, random_state=0))
    assert (read._prepared[1].mixed, fitted()._prepared[1].mixed) == (False, True)


RELATED = dp.Schema(
    {
        "a": dp.Number(0, 10),
        "total": dp.Number(0, 25),
        "b": dp.Number(0, 15),
        "band": dp.Category(["low", "high"]),
        "start": dp.Date("2020-01-01", "2020-12-31"),
        "end": dp.Date("2020-01-01", "2021-01-31"),
        "days": dp.Number(0, 31),
        "sex": dp.Category(["F", "M"]),
    }
)
RELATIONS = {"total": "a + b", "band": ("a", [0, 4, 10]), "end": "start + days"}


@cache
def related() -> tuple[dp.TableSynthesizer, pd.DataFrame]:
    """Return a synthesizer of columns of which three follow from others."""
    rng = np.random.default_rng(0)
    a, b, days = rng.integers(0, 11, 2000).astype(float), rng.integers(0, 16, 2000), rng.integers(0, 32, 2000)
    start = np.datetime64("2020-01-01") + rng.integers(0, 366, 2000)
    a[:200] = np.nan
    columns = {"a": a, "b": b, "total": a + b, "band": np.where(a < 4, "low", "high"), "start": start, "days": days}
    rows = pd.DataFrame(columns | {"end": start + days, "sex": rng.choice(["F", "M"], 2000)})
    model = dp.TableSynthesizer(
        epsilon=2.0,
        schema=RELATED,
        whole=["a", "b", "total", "days"],
        relations=RELATIONS,
        zeros=["total > 20", {"band": "low", "sex": "M"}],
        random_state=0,
    )
    return model.fit(rows), rows


def test_declared_relations_hold_and_cost_nothing():
    model, rows = related()
    table = model.sample(2000, random_state=0)
    assert list(table.columns) == list(RELATED.names)
    assert table["a"].isna().mean() == pytest.approx(0.1, abs=0.04)
    assert table["total"].isna().equals(table["a"].isna())
    assert table["band"].isna().equals(table["a"].isna())
    there = table.dropna()
    assert (there["total"] == there["a"] + there["b"]).all()
    assert ((there["a"] < 4) == (there["band"] == "low")).all()
    assert (table["end"] == table["start"] + pd.to_timedelta(table["days"], unit="D")).all()
    assert table["end"].dtype.kind == "M"
    assert not (there["total"] > 20).any()  # zeros may be about such columns
    assert not ((there["band"] == "low") & (there["sex"] == "M")).any()
    assert len(model.releases_[-2].question.tables) == 10  # pairs of the five others
    assert model.quality().columns == ("a", "b", "start", "days", "sex")
    assert np.isfinite(model.score_samples(rows)).all()
    read = dp.TableSynthesizer.from_json(model.to_json())
    assert read.sample(100, random_state=1).equals(model.sample(100, random_state=1))


def test_plots_of_a_table_with_relations_are_of_the_columns_that_were_counted():
    model, _ = related()
    for what in ("associations", "errors"):
        rows = plot_model(model, what, None).facts
        assert "total" not in str(rows)
        assert "days" in str(rows)
    assert plot_model(model, "sample", None).facts


@pytest.mark.parametrize(
    ("relations", "text"),
    [
        ("total", "mapping"),
        ({"elsewhere": "a + b"}, "columns of"),
        ({"total": "a +"}, "sum of columns"),
        ({"total": "a * b"}, "sum of columns"),
        ({"total": "3"}, "sum of columns"),
        ({"total": "a + elsewhere"}, "numbers of"),
        ({"total": "a + total"}, "numbers of"),
        ({"total": "a + sex"}, "numbers of"),
        ({"total": "a + 2 * b"}, "declare 0.0 to 40.0"),
        ({"total": "a - b"}, "declare -15.0 to 10.0"),
        ({"total": "0.5 * a"}, "whole"),
        ({"end": "days"}, "date"),
        ({"days": "end"}, "date"),
        ({"total": "a + b", "b": "a"}, "follow from no other"),
        ({"band": "a"}, "edges"),
        ({"band": ("sex", [0, 4, 10])}, "edges"),
        ({"band": ("a", [0, 10])}, "3 increasing edges"),
        ({"band": ("a", [0, 12, 10])}, "3 increasing edges"),
        ({"band": ("a", [1, 4, 10])}, "bounds of 'a'"),
    ],
)
def test_relations_that_cannot_hold_are_refused_before_anything_is_spent(relations, text, tmp_path):
    rows = related()[1]
    curator = dp.Curator(rows, schema=RELATED, name="rows", ledger=tmp_path / "ledger.db", neighbors="add-remove")
    model = dp.TableSynthesizer(schema=RELATED, whole=["a", "b", "total", "days"], relations=relations)
    with pytest.raises(ValueError, match=text):
        model.fit(curator)
    assert not curator.ledger.history("rows")


def test_a_target_that_follows_from_others_is_refused():
    with pytest.raises(ValueError, match="target"):
        dp.TableSynthesizer(schema=RELATED, relations={"band": ("a", [0, 4, 10])}, target="band").fit(related()[1])


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_known_shares_take_the_place_of_released_ones(gaps):
    rows = people().copy()
    rows.loc[np.random.default_rng(0).random(len(rows)) < gaps, "sex"] = None
    known = {"sex": {"M": 0.25, "F": 0.75}, "ward": {"maternity": 0.31, "surgery": 0.349, "icu": 0.341}}
    model = dp.TableSynthesizer(epsilon=0.2, schema=SCHEMA, known=known, neighbors="add-remove", random_state=0)
    model.fit(rows)
    assert model._prepared[0][2].shares[:3] == pytest.approx([0.31, 0.349, 0.341], abs=1e-9)
    one = model._prepared[1].one[model._prepared[1].columns.places(3)]
    assert one[1] / one[:2].sum() == pytest.approx(0.25, abs=1e-4)
    n = size(5_000, 20_000)
    table, near = model.sample(n, random_state=0), 6.2 * np.sqrt(0.25 / n)  # a false alarm of 1e-9
    assert (table["ward"] == "icu").mean() == pytest.approx(0.341, abs=near)
    assert table["sex"].isna().mean() == pytest.approx(gaps, abs=0.06)
    assert (table["sex"].dropna() == "M").mean() == pytest.approx(0.25, abs=near)
    read = dp.TableSynthesizer.from_json(model.to_json())
    assert read.sample(100, random_state=1).equals(model.sample(100, random_state=1))


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ("sex", "mapping"),
        ({"sex": [0.5, 0.5]}, "mapping"),
        ({"age": {3: 1.0}}, "column of categories"),
        ({"sex": {"F": 1.0}}, "a share for each"),
        ({"sex": {"F": 0.5, "M": 0.4}}, "sum to 1"),
        ({"sex": {"F": 1.5, "M": -0.5}}, "known"),
        ({"sex": {"F": float("nan"), "M": 0.5}}, "known"),
    ],
)
def test_known_shares_that_are_none_are_refused(known, text):
    with pytest.raises(ValueError, match=text):
        dp.TableSynthesizer(schema=SCHEMA, known=known).fit(people())


def test_gaps_are_as_frequent_as_the_real_ones_and_with_the_same_values():
    real, table = people(), drawn()
    gaps = real["pressure"].isna().groupby(real["ward"]).mean() - table["pressure"].isna().groupby(table["ward"]).mean()
    assert abs(gaps).max() < 0.03
    assert not table.drop(columns="pressure").isna().any(axis=None)  # of which there are none in the rows


def test_a_seed_gives_the_same_rows_and_another_does_not():
    model = fitted()
    assert model.sample(500, random_state=3).equals(model.sample(500, random_state=3))
    assert not model.sample(500, random_state=3).equals(model.sample(500, random_state=4))


@pytest.mark.parametrize("number", [1, 2, size(700, 33_000)])
def test_any_number_of_rows_can_be_drawn(number, monkeypatch):
    monkeypatch.setattr(table_rows, "AT_ONCE", size(500, table_rows.AT_ONCE))
    assert len(fitted().sample(number, random_state=0)) == number


def test_a_file_gives_the_same_model(tmp_path):
    model = fitted()
    path = tmp_path / "model.json"
    path.write_text(model.to_json(), encoding="utf-8")
    with pytest.raises(ValueError, match="from_json"):
        dp.load_model(model.to_json())
    read = dp.load_model(path)
    assert isinstance(read, dp.TableSynthesizer)
    assert read.sample(300, random_state=1).equals(model.sample(300, random_state=1))
    np.testing.assert_array_equal(read.score_samples(people(8000)[:50]), model.score_samples(people()[:50]))


@pytest.mark.parametrize("change", ["fields", "loss", "categories", "zeros"])
def test_a_file_that_contradicts_itself_is_refused(change):
    values = json.loads(fitted().to_json())
    if change == "fields":
        values["fitted"]["fields_"].append(0.0)
    elif change == "loss":
        values["parameters"]["epsilon"] = 0.1
    elif change == "categories":
        values["fitted"]["categories_"]["sex"] = ["F", "X"]
    else:
        values["parameters"]["zeros"] = [{"ward": "elsewhere"}]
    with pytest.raises(ValueError, match=r"fields_|epsilon|losses_|categories_|elsewhere"):
        dp.TableSynthesizer.from_dict(values)


def test_a_file_whose_releases_are_of_questions_with_smaller_bounds_is_refused():
    """Many tables with the noise of one: each release says what was asked, and must say what the method asks."""
    values = json.loads(fitted().to_json())
    last = values["fitted"]["releases_"][-1]
    assert len(last["asked"]["tables"]) > 1
    size = last["parts"]["counts"]["shape"][0]
    number = next(one for one in last["asked"]["columns"] if one["kind"] == "NumberCells")
    last["asked"]["columns"] = [number | {"edges": [place / size for place in range(1, size)]}]
    last["asked"]["tables"] = [[0]]
    with pytest.raises(ValueError, match="that follow from the histograms"):
        dp.TableSynthesizer.from_dict(values)


def test_rules_about_columns_that_follow_from_others_are_tried_before_anything_is_spent():
    schema = dp.Schema({"a": dp.Number(0, 5), "b": dp.Number(0, 5), "total": dp.Number(0, 10)})
    model = dp.TableSynthesizer(
        epsilon=1.0, schema=schema, relations={"total": "a + b"}, zeros=["total >= 0"], random_state=0
    )
    with pytest.raises(ValueError, match="rules that allow some rows"):
        model.fit(pd.DataFrame(np.ones((50, 3)), columns=["a", "b", "total"]))


def test_densities_prefer_real_rows_to_shuffled_ones():
    model, rng = fitted(), np.random.default_rng(0)
    rows = people()[:1000]
    shuffled = pd.DataFrame({name: rng.permutation(rows[name].to_numpy()) for name in rows})
    real = model.score_samples(rows)
    assert np.isfinite(real).all()
    assert real.mean() > np.mean(model.score_samples(shuffled)) + 0.5
    assert model.score(rows) == pytest.approx(real.mean())


def test_probabilities_of_categories_sum_to_one():
    schema = dp.Schema({"a": dp.Category(["x", "y"]), "b": dp.Category(["u", "v", "w"])})
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 3000)
    frame = pd.DataFrame(
        {"a": np.array(["x", "y"])[a], "b": np.array(["u", "v", "w"])[(a + (rng.random(3000) < 0.3)) % 3]}
    )
    model = dp.TableSynthesizer(epsilon=2.0, schema=schema, random_state=0).fit(frame)
    cells = pd.DataFrame([(a, b) for a in ["x", "y"] for b in ["u", "v", "w"]], columns=["a", "b"])
    assert np.exp(model.score_samples(cells)).sum() == pytest.approx(1.0, abs=0.02)


@pytest.mark.usefixtures("shortest_fits")
def test_rows_of_every_source_give_the_same_releases(tmp_path):
    rows = people(8000)[:600]
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model = dp.TableSynthesizer(epsilon=1.0, schema=SCHEMA, whole=["age"], random_state=0)
    expected = model.fit(rows).releases_[-1]["counts"]
    for source in (
        pl.from_pandas(rows),
        tmp_path / "rows.parquet",
        tmp_path / "rows.csv",
        dp.Curator(rows, schema=SCHEMA),
    ):
        np.testing.assert_array_equal(model.fit(source).releases_[-1]["counts"], expected)
    assert isinstance(model.fit(pl.from_pandas(rows)).sample(5), pl.DataFrame)


def test_losses_keep_the_guarantee_and_noise_is_that_of_all_pairs():
    for neighbors, factor in (("add-remove", 1.0), ("replace-one", np.sqrt(2.0))):
        model = fitted(neighbors)
        losses = model.losses_
        assert dp.compose(losses).delta(5.0) <= 1e-6 * (1.0 + 1e-6)
        release = model.releases_[-2]
        expected = factor * np.sqrt(15.0) / losses[-2].gaussian
        assert release.noise.scale == pytest.approx(expected, rel=1e-3)


@pytest.mark.usefixtures("shortest_fits")
def test_persons_of_several_rows_have_more_noise():
    rows = people()[:900].assign(person=np.arange(900) // 3)
    schema = dp.Schema(dict(SCHEMA.columns), unit="person", max_rows=3, unit_type="integer")
    model = dp.TableSynthesizer(epsilon=1.0, schema=schema, whole=["age"], random_state=0).fit(rows)
    alone = dp.TableSynthesizer(epsilon=1.0, schema=SCHEMA, whole=["age"], random_state=0).fit(rows)
    assert model.releases_[-1].noise.scale == pytest.approx(3.0 * alone.releases_[-1].noise.scale, rel=1e-3)
    assert model.unit_ == "each person"
    assert len(model.sample(10)) == 10


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"schema": None}, "schema"),
        ({"schema": {"age": (0, 1)}}, "schema"),
        ({"whole": ["sex"]}, "whole"),
        ({"zeros": {"sex": "M"}}, "zeros"),
        ({"zeros": [3]}, "zeros"),
        ({"zeros": [{"age": 3}]}, "zeros"),
        ({"zeros": ["age <"]}, "condition|expected"),
        ({"zeros": [{"sex": "X"}]}, "X"),
        ({"delta": 0.0}, "delta"),
        ({"epsilon": -1.0}, "epsilon"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_spent(change, text, tmp_path):
    curator = dp.Curator(people(), schema=SCHEMA, name="people", ledger=tmp_path / "ledger.db", neighbors="add-remove")
    source = people() if "schema" in change else curator
    model = dp.TableSynthesizer(**{"schema": SCHEMA} | change)
    with pytest.raises(ValueError, match=text):
        model.fit(source)
    assert not curator.ledger.history("people")


@pytest.mark.usefixtures("shortest_fits")
def test_tables_of_one_kind_of_column_and_of_one_column_are_fitted():
    rows = people()[:2000]
    for names in (["ward", "sex"], ["age", "pressure"], ["age"], ["ward"]):
        schema = dp.Schema({name: SCHEMA[name] for name in names})
        table = dp.TableSynthesizer(schema=schema, random_state=0).fit(rows[names]).sample(50, random_state=0)
        assert list(table.columns) == names
        assert len(table) == 50


@pytest.mark.usefixtures("shortest_fits")
def test_a_seeded_fit_warns_and_claims_no_guarantee():
    with pytest.warns(NotPrivateWarning):
        model = dp.TableSynthesizer(schema=SCHEMA, random_state=0).fit(people()[:100])
    assert model.guarantee_ is None


def test_quality_says_which_pairs_are_below_the_noise_and_how_far_off_tables_are():
    quality = fitted().quality()
    assert quality.columns == SCHEMA.names
    assert quality.seen[0, 1]  # pressure follows age
    assert not quality.seen[0, 4]  # the day of admission follows nothing
    assert np.array_equal(quality.pair_errors, quality.pair_errors.T, equal_nan=True)
    real, table = people(), drawn()
    both = [pd.crosstab(one["ward"], one["sex"], normalize="all").to_numpy() for one in (real, table)]
    off = 0.5 * abs(both[0] - both[1]).sum()
    assert off < 8.0 * quality.pair_errors[2, 3] + 0.01  # sampling of 8,000 rows beside the noise
    assert 0.0 < quality.correlation_errors[0, 1] < 0.05
    assert np.isnan(quality.correlation_errors[0, 2])
    assert "pair" in repr(quality)
    assert "<table" in quality._repr_html_()


def test_a_target_has_less_noise_on_its_pairs():
    model = dp.TableSynthesizer(epsilon=1.0, schema=SCHEMA, target="sex", random_state=0).fit(people()[:2000])
    noise = model._prepared[1].noise
    assert len(model.releases_) == len(fitted().releases_) + 1
    again = {*model.releases_[-1].question.tables}
    own, others = ([pair for pair in combinations(range(6), 2) if (3 in pair) == has] for has in (True, False))
    assert {*own} <= again
    assert max(noise[pair] for pair in own) < min(noise[pair] for pair in others)
    assert max(noise[pair] for pair in own) < 0.6 * min(noise[pair] for pair in {*others} - again)
    with pytest.raises(ValueError, match="target"):
        dp.TableSynthesizer(schema=SCHEMA, target="elsewhere").fit(people())


def test_strongly_correlated_numbers_stay_so():
    """With r = 0.95 at ε = 1: without its own start and steps of the trend it came out as 0.88 to 0.91."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    y = 0.95 * x + np.sqrt(1.0 - 0.95**2) * rng.normal(size=20_000)
    label = np.where(x + rng.normal(size=20_000) > 0.0, "a", "b")
    schema = dp.Schema({"x": dp.Number(-6, 6), "y": dp.Number(-6, 6), "label": dp.Category(["a", "b"])})
    rows = pd.DataFrame({"x": x, "y": y, "label": label})
    model = dp.TableSynthesizer(epsilon=1.0, schema=schema, neighbors="add-remove", random_state=0).fit(rows)
    assert 0.93 < model.sample(size(5_000, 20_000), random_state=0)[["x", "y"]].corr().iloc[0, 1] < 0.97


def test_numbers_follow_a_parabola_within_bins():
    """Where x is large, y grows with it, and where it is small, y falls: also among the rows of the outermost bins."""
    rng = np.random.default_rng(5)
    x = rng.normal(0.0, 1.0, 20_000).clip(-5, 5)
    rows = pd.DataFrame({"x": x, "y": (x**2 + rng.normal(0.0, 0.5, 20_000)).clip(-3, 27)})
    schema = dp.Schema({"x": dp.Number(-5, 5), "y": dp.Number(-3, 27)})
    made = dp.TableSynthesizer(epsilon=1.0, delta=1e-6, schema=schema, random_state=0).fit(rows).sample(20_000)
    for side in (-1.0, 1.0):
        real, ours = ((side * t["x"] > 1.5, t) for t in (rows, made))
        slopes = [float(np.polyfit(t.loc[some, "x"], t.loc[some, "y"], 1)[0]) for some, t in (real, ours)]
        assert 0.5 < slopes[1] / slopes[0] < 1.5, slopes


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_a_number_of_a_single_bin_is_beside_numbers_of_several(epsilon, shortest_fits):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.normal(50.0, 15.0, 2000).clip(0, 120), "gains": np.zeros(2000)})
    schema = dp.Schema({"age": dp.Number(0, 120), "gains": dp.Number(0, 1e5)})
    fitted = dp.TableSynthesizer(epsilon=epsilon, delta=1e-6, schema=schema, random_state=0).fit(rows)
    ages, gains = fitted._prepared[1].columns.sizes
    assert (ages > 1, gains) == (True, 1)
    assert np.isfinite(fitted.score_samples(rows)).all()
    assert fitted.sample(50, random_state=0)["age"].between(0, 120).all()
