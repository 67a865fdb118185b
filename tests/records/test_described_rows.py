"""Whatever is about some of the rows says which: answers, tables, files, reports, the command line."""

from __future__ import annotations

import json
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import discreet as dp
from cli_folder import discreet
from discreet import mechanisms, signals
from discreet import statistics as st
from discreet.door.release import describe_rows
from still_chains import still_chains

mpl.use("Agg")

ROWS = 3000
LIMIT = "at most 4 rows of each patient"


def visits() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "patient_id": rng.integers(0, 500, ROWS),
            "age": rng.uniform(20.0, 90.0, ROWS),
            "day": rng.uniform(0.0, 30.0, ROWS),
            "ward": rng.choice(["a", "b"], ROWS),
        }
    )


def schema() -> dp.Schema:
    filled = {"missing": "fill", "fill": 40.0}
    return dp.Schema(
        {"age": dp.Number(0, 120, **filled), "day": dp.Number(0, 40), "ward": dp.Category(["a", "b"])},
        unit="patient_id", max_rows=4,
    )  # fmt: skip


@pytest.fixture
def curator() -> dp.Curator:
    return dp.Curator(visits(), schema=schema(), unit_name="patient")


@pytest.fixture
def database(tmp_path) -> dp.StatisticalDatabase:
    budget, ledger = dp.Guarantee(1.0, 1e-6), tmp_path / "visits.ledger"
    return dp.StatisticalDatabase(
        visits(), schema=schema(), unit_name="patient", budget=budget, ledger=ledger, name="visits"
    )


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({}, None),
        ({"unit": None, "max_rows": 1, "unit_name": None, "required": []}, None),
        ({"unit": "patient_id", "max_rows": 4}, "at most 4 rows of each patient_id"),  # a file without the name
        ({"unit": "id", "max_rows": 1, "unit_name": "patient"}, "at most 1 row of each patient"),
        ({"where": "age >= 18"}, "rows where age >= 18"),
        ({"required": ["a", "b", "c"]}, "rows without gaps in a, b and c"),
        ({"where": "a > 1", "required": ["a", "b", "c", "d"]}, "rows where a > 1, without gaps in any of 4 columns"),
        ({"unit": "\x1b[2J", "max_rows": 2}, "at most 2 rows of each �[2J"),
    ],
)
def test_one_phrase_says_which_rows_count(declared, said):
    assert describe_rows(declared) == said


def with_interval(answer) -> str:
    low, high = answer.interval(0.95)
    return f"{answer.value:.6g} ({low:.6g} to {high:.6g} at 95 %, noise alone)"


def test_a_count_and_a_sum_do_not_read_like_totals(curator):
    count, total = st.count(curator.only(["age"]), epsilon=1.0), st.sum(curator, "age", epsilon=1.0)
    assert repr(count).startswith(f"<{with_interval(count)} rows, at most 4 of each patient: at (ε=1, δ=0)")
    assert repr(total).startswith(f"<{with_interval(total)}, summed over {LIMIT}: at (ε=1, δ=0)")
    assert count.which_rows == total.which_rows == LIMIT


@pytest.mark.parametrize(
    "ask",
    [
        lambda rows: st.mean(rows, "age", epsilon=1.0),
        lambda rows: st.median(rows, "age", epsilon=1.0),
        lambda rows: st.variance(rows, "age", epsilon=1.0),
        lambda rows: st.density(rows, "age", epsilon=1.0),
        lambda rows: st.histogram(rows, "age", epsilon=1.0),
        lambda rows: signals.running_sum(rows, time="age", steps=4, epsilon=1.0),
        lambda rows: mechanisms.sample_and_aggregate(
            lambda some: float(some[:, 0].mean()), rows.only(["age"]), output=(0, 120), epsilon=1.0
        ),
    ],
)
def test_every_answer_says_it(curator, ask):
    result = ask(curator)
    assert result.which_rows == LIMIT
    assert "at most 4" in repr(result).split(": at")[0]
    assert "of each patient" in repr(result).split(": at")[0]


def test_a_condition_and_gaps_are_said_for_the_columns_asked(curator):
    adults = curator.where("age >= 18")
    assert st.mean(adults, "age", epsilon=1.0).which_rows == f"{LIMIT}, where age >= 18"
    assert st.mean(curator, "day", epsilon=1.0).which_rows == f"{LIMIT}, without gaps in day"
    assert "rows, at most 4 of each patient, where age >= 18: at" in repr(st.count(adults.counting(), epsilon=1.0))
    rows = dp.Curator(visits(), schema=dp.Schema({"day": dp.Number(0, 40)})).where("day < 20")
    assert repr(st.count(rows, epsilon=1.0)).split(": ")[0].endswith("rows where day < 20, without gaps in day")


def test_nothing_is_said_where_it_is_about_all_rows():
    result = st.mean([0.5, 0.25] * 100, epsilon=1.0, bounds=(0, 1))
    assert result.which_rows is None
    assert repr(result).startswith(f"<{with_interval(result)}: at")
    assert "which_rows" not in result.table()[0]
    assert "which_rows" not in result.release.to_dict()


def test_tables_say_it(curator):
    assert {row["which_rows"] for row in st.histogram(curator, "age", epsilon=1.0).table()} == {LIMIT}
    free = st.median(curator, "age", epsilon=1.0, interval=None)
    assert free.table()[0]["which_rows"] == LIMIT
    series = pd.DataFrame(signals.running_sum(curator, time="age", steps=4, epsilon=1.0).table())
    assert series["which_rows"].tolist() == [LIMIT] * 4


def test_the_plot_of_a_series_says_it(curator):
    axes = signals.running_sum(curator, time="age", steps=4, epsilon=1.0).plot()
    assert LIMIT in axes.get_title()


def test_a_release_says_it_also_in_a_file(curator):
    release = st.sum(curator, "day", epsilon=1.0).release
    facts = json.loads(release.to_json())
    assert facts["which_rows"] == f"{LIMIT}, without gaps in day"
    assert f", {LIMIT}, without gaps in day: " in repr(dp.Release.from_dict(facts))


def test_a_file_of_an_earlier_version_is_read(curator):
    facts = st.sum(curator, "day", epsilon=1.0).release.to_dict()
    del facts["which_rows"], facts["declared"]["unit_name"], facts["declared"]["required"]
    assert dp.Release.from_dict(facts).which_rows == "at most 4 rows of each patient_id"


@pytest.mark.parametrize(
    "wrong", [{"required": "day"}, {"required": [3]}, {"unit": 3}, {"unit_name": []}, {"max_rows": 0}]
)
def test_a_file_that_says_nonsense_is_refused(curator, wrong):
    facts = st.sum(curator, "day", epsilon=1.0).release.to_dict()
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}.*: expected"):
        dp.Release.from_dict(facts | {"declared": facts["declared"] | wrong})
    with pytest.raises(ValueError, match="which_rows"):
        dp.Release.from_dict(facts | {"which_rows": 3})


def test_a_database_says_it(database):
    assert repr(database).endswith(f"; answers are from {LIMIT}>")
    drafted = database.preview([database.draft.count(where="age > 65"), database.draft.sum("day")])
    assert str(drafted).splitlines()[0] == f"all from {LIMIT}:"
    reply = database.count(where="age > 65")
    shown = with_interval(reply)
    assert repr(reply).startswith(f"<{shown} rows, at most 4 of each patient, where age > 65; count: (ε=")
    assert reply.cost.startswith("count where age > 65: (ε=")
    assert reply.which_rows == reply.table()[0]["which_rows"] == f"{LIMIT}, where age > 65"
    assert f", summed over {LIMIT}, without gaps in day; sum of day: (ε=" in repr(database.sum("day"))


def test_a_fitted_model_says_it_and_so_does_its_file(curator):
    model = dp.KMeans(2, epsilon=1.0, delta=1e-6).fit(curator.only(["age", "day"]))
    said = f"{LIMIT}, without gaps in day"
    assert f"fitted to {said}, at (ε=1, δ=1e-06) replace-one for each patient" in repr(model)
    assert f"Fitted to {said}, at" in model._repr_mimebundle_()["text/html"]
    again = dp.KMeans.from_json(model.to_json())
    assert model.which_rows_ == again.which_rows_ == said
    assert repr(again).endswith(repr(model).split("fitted")[1])
    assert not hasattr(dp.KMeans(2), "which_rows_")


def test_a_report_says_it_first_and_where_it_is_cited(curator):
    text = dp.KMeans(2, epsilon=1.0, delta=1e-6).fit(curator.only(["age", "day"])).report().html
    said = f"{LIMIT}, without gaps in day"
    assert f"Fitted to {said}." in text.split("<nav")[0]
    assert f"<dt>Fitted to</dt><dd>{said}</dd>" in text
    assert f"for each patient, fitted to {said}, with discreet" in text


def test_a_model_of_ones_own_and_a_private_score_say_it(curator):
    from discreet.models.mixture.joint_release import JointMixture

    rows = curator.only(["age", "day"])
    fit = dp.fit_model(JointMixture(1), rows, epsilon=1.0, delta=1e-6, n_steps=2)
    assert fit.which_rows == f"{LIMIT}, without gaps in day"
    assert f"fitted to {LIMIT}, without gaps in day, at" in repr(fit)
    score = dp.private_score(dp.GaussianMixture(1, epsilon=1.0).fit(rows), rows, epsilon=1.0)
    assert score.which_rows == f"{LIMIT}, without gaps in day"


def test_a_posterior_says_it(curator, monkeypatch):
    """Of a coin, which is compiled at once: what is said does not depend on the model of a row."""
    import numpyro
    import numpyro.distributions as dist

    def coin():
        numpyro.sample("age", dist.Bernoulli(numpyro.sample("chance", dist.Uniform())))

    still_chains(monkeypatch)
    mean = st.mean(curator, "age", epsilon=1.0, delta=1e-6)
    model = dp.GaussianMixture(1, epsilon=1.0, delta=1e-6).fit(curator.only(["age"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few draws
        posterior = dp.infer(model, coin, chains=1, draws=10, warmup=10, rows=2000, seed=0)
    assert posterior.which_rows == posterior.data.attrs["which_rows"] == mean.which_rows == LIMIT
    assert f", from {LIMIT}: 10 draws" in repr(posterior)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits().to_csv("visits.csv", index=False)
    (tmp_path / "visits.toml").write_text(schema().to_toml())


DECLARED = "--schema visits.toml --ledger visits.ledger --limit 1:1e-6"


@pytest.mark.usefixtures("folder")
def test_the_command_line_says_it_of_an_answer():
    said = "at most 4 rows of each patient_id"
    priced = discreet(f"query visits.csv count {DECLARED} --preview")
    assert f"from           {said}" in priced.out
    text = discreet(f"query visits.csv count --where 'age >= 30' {DECLARED}").out
    assert text.splitlines()[0] == f"count, from {said}, where age >= 30"
    result = discreet(f"query visits.csv sum day {DECLARED} --json").data
    assert result["which_rows"] == result["answer"][0]["which_rows"] == f"{said}, without gaps in day"


@pytest.mark.usefixtures("folder")
def test_the_command_line_says_it_of_a_model():
    said = "at most 4 rows of each patient_id, without gaps in day"
    ran = discreet(f"fit kmeans visits.csv {DECLARED} --clusters 2 --epsilon 0.3 --out one.json")
    assert f"fitted to    {said}" in ran.out
    ran = discreet(f"fit kmeans visits.csv {DECLARED} --clusters 2 --epsilon 0.3 --out two.json --json")
    assert ran.data["which_rows"] == said
