"""A plan says what would be asked and what it costs: from public numbers, without a spend and without a row."""

from __future__ import annotations

import ast
import inspect
import pickle
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

import discreet as dp
from discreet import mechanisms, signals, statistics
from discreet.cli.query_command import NAMES
from discreet.database import Drafting, questions
from discreet.database.questions import QUESTIONS, Questions
from discreet.records import Condition, Records, open_records
from discreet.statistics.request import STATISTICS
from effort import LONG, crossed, size
from pairwise import pairwise
from papers.audit.subjects.every_statistic import ASKED, OTHERS
from short_fits import shorter_synthesis

cli_query = import_module("discreet.cli.query_command")  # the module, not the command
RELATIONS = ("replace-one", "add-remove")
COLUMNS = {"age": dp.Number(0, 120), "bmi": dp.Number(10, 60), "stay": dp.Number(0, 9), "ward": dp.Category(["n", "s"])}
COLUMNS |= {"sex": dp.Category(["f", "m"]), "died": dp.Category([0, 1])}
SCHEMA = dp.Schema(COLUMNS, unit="person", max_rows=3)
WAYS = {"mean": ("loose", [True]), "variance": ("method", ["adaptive"]), "covariance": ("method", ["adaptive"])}
WAYS |= {"std": ("method", ["adaptive"]), "correlation": ("method", ["adaptive"]), "min": ("interval", [None])}
WAYS |= {"density": ("method", ["histogram", "functional"]), "median": ("interval", [None]), "histogram": ("bins", [3])}


def table(rows=600):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "person": np.repeat(np.arange(rows // 2), 2),
            "age": rng.uniform(0, 100, rows),
            "bmi": rng.normal(27, 5, rows),
            "stay": rng.integers(0, 9, rows),
            "ward": rng.choice(["n", "s"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "died": rng.integers(0, 2, rows),
        }
    )


def variants(name):
    """Return arguments for a statistic: plain, in groups, with weights, with a condition, and by other methods."""
    taken = {one.name for one in STATISTICS[name].parameters}
    others = {"mode": "ward", "proportion": "age >= 65", "geometric_mean": "bmi"}
    columns = ["age", "bmi"] if name in ("covariance", "correlation") else others.get(name, "age")
    plain = dict.fromkeys(taken & {"column", "columns"}, columns) | dict(STATISTICS[name].example)
    result = [("plain", None, plain)]
    groups = "sex" if name == "mode" or "between" in plain else "ward"
    result += [("by", None, plain | {"by": groups})] if "by" in taken else []
    result += [("weights", None, plain | {"weights": "stay"})] if "weights" in taken else []
    result += [("where", "bmi > 20 and ward == 'n'", plain)] if taken else []
    argument, values = WAYS.get(name, ("", []))
    return [*result, *((f"{argument}={value}", None, plain | {argument: value}) for value in values)]


VARIANTS = [(name, *rest) for name in STATISTICS for rest in variants(name)]
CASES = [
    pytest.param(name, *rest, delta, neighbors, id=f"{name}-{label}-{delta}-{neighbors}")
    for (name, label, *rest), delta, neighbors in pairwise(VARIANTS, [0.0, 1e-6], RELATIONS)
]


def recorded(ledger, name, before):
    """Return what a ledger holds more than before, one by one."""
    new = {loss: count - before.get(loss, 0) for loss, count in ledger.spent(name).items()}
    return sorted(repr(loss) for loss, count in new.items() for _ in range(count))


@pytest.fixture
def opened(tmp_path):
    def made(neighbors="replace-one", **more):
        ledger = dp.Ledger(tmp_path / "clinic.ledger")
        return dp.Curator(table(), schema=SCHEMA, name="clinic", ledger=ledger, neighbors=neighbors, **more)

    return made


@pytest.mark.parametrize(("name", "where", "arguments", "delta", "neighbors"), CASES)
def test_a_plan_has_the_losses_that_the_ledger_then_records(name, where, arguments, delta, neighbors, opened):
    curator = opened(neighbors)
    view = curator if where is None else curator.where(where)
    function = STATISTICS[name].function
    if not delta and arguments.get("method") in ("adaptive", "functional"):
        for ask in (function.plan, function):
            with pytest.raises(ValueError, match="delta"):
                ask(view, **arguments, epsilon=1.0)
        assert not curator.ledger.spent("clinic")
        return
    plan = function.plan(view, **arguments, epsilon=1.0, delta=delta)
    assert not curator.ledger.spent("clinic")
    result = function(view, **arguments, epsilon=1.0, delta=delta)
    assert recorded(curator.ledger, "clinic", {}) == sorted(map(repr, plan.losses))
    assert [release.loss for release in sorted(result.releases, key=lambda one: repr(one.loss))] == sorted(
        plan.losses, key=repr
    )
    assert plan.guarantee == result.guarantee


@pytest.mark.parametrize(("name", "delta", "neighbors"), crossed(QUESTIONS, [0.0, 1e-6], RELATIONS))
def test_a_price_is_what_the_ledger_then_records_and_fills_its_share(name, delta, neighbors, tmp_path):
    db = dp.StatisticalDatabase(
        table(), schema=SCHEMA, budget=dp.Guarantee(20.0, delta, neighbors), ledger=tmp_path / "l", name="clinic"
    )
    """In a short run with one δ each variant, and with one cost in turn."""
    for place, (label, where, arguments) in enumerate(variants(name)):
        if "adaptive" in label:
            if not delta:
                continue
        elif (place + bool(delta)) % 2 and not LONG:
            continue
        condition = {} if where is None else {"where": where}
        first = place // 2 % 2
        for cost in ({"share": 0.05}, {"epsilon": 0.3})[size(first, 0) : size(first + 1, 2)]:
            draft = getattr(db.draft, name)(**arguments, **condition, **cost)
            before, left = db.ledger.spent(db.name), db.remaining
            (priced,) = db.preview(draft).questions
            assert db.remaining == left
            (reply,) = db.answer(draft)
            assert recorded(db.ledger, db.name, before) == sorted(map(repr, priced.losses))
            assert reply.share == pytest.approx(left - db.remaining, rel=1e-6)
            assert pickle.loads(pickle.dumps(reply)).cost == reply.cost
            if "share" in cost:
                assert 0.989 * 0.05 <= priced.share <= 0.05 * (1 + 1e-9)
            else:
                assert reply.guarantee.epsilon == 0.3


def test_a_condition_is_parsed_once_for_a_question(tmp_path, monkeypatch):
    db = dp.StatisticalDatabase(
        table(), schema=SCHEMA, budget=dp.Guarantee(1.0, 1e-6), ledger=tmp_path / "l", name="clinic"
    )
    parsed, real = [], Condition.parse

    def parse(text, *more):
        parsed.append(text)
        return real(text, *more)

    monkeypatch.setattr(Condition, "parse", parse)
    db.median("age", by="ward", where="bmi > 20")
    assert parsed == ["bmi > 20"]


class RowReadError(Exception):
    """A row was read."""


def test_previews_and_plans_read_no_row(tmp_path, monkeypatch):
    path = tmp_path / "clinic.parquet"
    table().to_parquet(path)
    db = dp.StatisticalDatabase(path, schema=SCHEMA, budget=dp.Guarantee(50.0, 1e-6), ledger=tmp_path / "l")
    db.curator.size  # noqa: B018  # how many persons there are is public under replace-one, and read once

    def read(*_, **__):
        raise RowReadError

    for name in ("blocks", "reduce", "gather"):
        monkeypatch.setattr(Records, name, read)
    for name in ("blocks", "reduce", "gather", "declared_rows"):
        monkeypatch.setattr(type(db.curator._records._source), name, read)
    drafts = []
    for name in QUESTIONS:
        for _, where, arguments in variants(name):
            condition = {} if where is None else {"where": where}
            drafts.append(getattr(db.draft, name)(**arguments, **condition, share=1e-3))
    assert len(db.preview(drafts).questions) == len(drafts)
    rows = db.curator
    for name in STATISTICS:
        for _, where, arguments in variants(name):
            view = rows if where is None else rows.where(where)
            assert STATISTICS[name].function.plan(view, **arguments, epsilon=1.0, delta=1e-6).losses
    assert dp.GaussianMixture(2, epsilon=1.0).plan(rows).losses
    assert dp.GaussianClassifier(epsilon=1.0).plan(rows, "ward").losses
    assert not hasattr(dp.PCA(1).plan(rows), "components_")
    with pytest.raises(RowReadError):
        db.mean("age")


# The registry


def test_the_registry_is_what_statistics_exports():
    assert set(STATISTICS) <= set(statistics.__all__)
    for name, one in STATISTICS.items():
        assert getattr(statistics, name) is one.function
        said = inspect.signature(one.function)
        assert next(iter(said.parameters)) == "data"
        assert said.return_annotation == one.result.__name__
        assert one.function.__doc__


def test_the_registry_feeds_the_database_its_drafts_the_command_line_and_the_audit():
    asked = {name for name, one in STATISTICS.items() if issubclass(one.result, statistics.Statistic)}
    assert {name.replace("-", "_") for name in NAMES} == set(QUESTIONS) == asked
    for place in (dp.StatisticalDatabase, Drafting):
        assert all(callable(getattr(place, name)) for name in asked)
    assert ASKED | {name.replace(" ", "_") for name in OTHERS} == set(STATISTICS)


def test_what_type_checkers_read_of_the_questions_is_what_they_take():
    tree = ast.parse(Path(questions.__file__).read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    said = {node.name: node for node in ast.walk(classes["Questions"]) if isinstance(node, ast.FunctionDef)}
    assert set(said) - {"_ask", "__getattr__"} == set(QUESTIONS)
    for name in QUESTIONS:
        given, rest = said[name].args, said[name].args.kwarg.annotation.slice.id
        keywords = [one.arg for one in given.kwonlyargs] + list(getattr(questions, rest).__annotations__)
        parameters = inspect.signature(getattr(Questions, name)).parameters.values()
        positional = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        assert [one.arg for one in given.args] == positional, name
        assert sorted(keywords) == sorted(one.name for one in parameters if one.kind is one.KEYWORD_ONLY), name
        written = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        none = inspect.Parameter.empty  # of an argument that must be given
        defaults = {one.arg: none if value is None else ast.literal_eval(value) for one, value in written}
        for one in parameters:
            assert one.name not in defaults or one.default == defaults[one.name], name


def test_a_question_takes_no_other_argument(opened):
    with pytest.raises(TypeError, match="wher"):
        Drafting().mean("age", wher="bmi > 20")
    with pytest.raises(TypeError, match="missing a required argument: 'column'"):
        Drafting().median()
    with pytest.raises(TypeError, match="where"):
        Drafting().check_schema(where="bmi > 20")


# Mechanisms, signals and estimators


def middle(rows):
    return float(np.median(rows[:, 0]))


def far(rows, candidates):
    return [-abs(float(np.sum(rows[:, 0] > one)) - len(rows) / 2) for one in candidates]


def near(rows, candidates):
    return -np.abs(rows[:, :1] - np.array(candidates))


ROWS = np.random.default_rng(0).uniform(0, 100, (400, 1))
EVENTS = {"time": 0, "steps": 8}
PLANNED = {
    "output": (mechanisms.output_perturbation, (middle,), {"sensitivity": 1.0, "output": (0, 100)}),
    "exponential": (mechanisms.exponential, (far,), {"candidates": [10.0, 50.0], "sensitivity": 1.0}),
    "input": (mechanisms.input_perturbation, (), {}),
    "median": (mechanisms.smooth_median, (), {}),
    "aggregate": (mechanisms.sample_and_aggregate, (middle,), {"output": (0, 100), "blocks": 5}),
    "running sum": (signals.running_sum, (), EVENTS),
    "filter": (signals.lti_filter, (), EVENTS | {"b": [0.5], "a": [1.0, -0.5]}),
    "fourier": (signals.fourier, (), EVENTS),
    "kalman": (signals.kalman, (), EVENTS),
    "fast": (signals.fast, (), EVENTS),
}


@pytest.mark.parametrize("name", PLANNED)
def test_mechanisms_and_signals_say_what_they_cost(name, tmp_path):
    function, first, arguments = PLANNED[name]
    ledger = dp.Ledger(tmp_path / "l")
    rows = dp.Curator(open_records(ROWS, bounds=(0, 100), complete=True), name="rows", ledger=ledger)
    plan = function.plan(*first, rows, epsilon=1.0, **arguments)
    assert not ledger.spent("rows")
    result = function(*first, rows, epsilon=1.0, **arguments)
    assert recorded(ledger, "rows", {}) == sorted(map(repr, plan.losses))
    assert plan.guarantee == result.guarantee
    assert plan.run().guarantee == result.guarantee  # a plan can be run, and is paid for
    assert len(recorded(ledger, "rows", {})) == 2 * len(plan.losses)


def test_fast_looks_and_a_factored_choice_say_what_they_cost(tmp_path):
    ledger = dp.Ledger(tmp_path / "l")
    people = dp.Curator(np.full((100, 6), 0.5), space=dp.Box(0.0, 1.0), name="people", ledger=ledger)
    plan = signals.fast.plan(people, epsilon=1.0, delta=0.0, samples=3)
    assert len(plan.losses) == 3
    signals.fast(people, epsilon=1.0, delta=0.0, samples=3)
    assert recorded(ledger, "people", {}) == sorted(map(repr, plan.losses))
    choice = mechanisms.FactoredExponential(near, [0, 1], low=-1.0, high=0.0)
    before, plan = ledger.spent("people"), choice.plan(people, epsilon=1.0)
    choice.draw(people, epsilon=1.0)
    assert recorded(ledger, "people", before) == sorted(map(repr, plan.losses))


ESTIMATORS = {
    "mixture": (dp.GaussianMixture(2, epsilon=1.0, n_steps=2), None),
    "selection": (dp.GaussianMixture([1, 2], epsilon=1.0, n_steps=2), None),
    "paper": (dp.GaussianMixture(2, epsilon=1.0, n_steps=2, method="paper"), None),
    "k-means": (dp.KMeans(2, epsilon=1.0), None),
    "factors": (dp.FactorAnalysis(1, epsilon=1.0), None),
    "pca": (dp.PCA(1, epsilon=1.0, method="exponential"), None),
    "classifier": (dp.GaussianClassifier(epsilon=1.0), "ward"),
    "xi": (dp.GaussianClassifier(epsilon=1.0, method="xi2011"), "ward"),
    "logistic": (dp.LogisticRegression(epsilon=1.0), "ward"),
    "gradient": (dp.LogisticRegression(epsilon=1.0, method="gradient"), "ward"),
    "svc": (dp.LinearSVC(epsilon=1.0), "ward"),
    "regression": (dp.LinearRegression(epsilon=1.0), "bmi"),
    "table": (dp.TableMixture(2, epsilon=1.0), None),
    "synthesizer": (dp.TableSynthesizer(epsilon=1.0), None),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimators_say_what_a_fit_would_cost(name, opened):
    model, target = ESTIMATORS[name]
    curator = opened()
    plan = model.plan(curator, target)
    assert not curator.ledger.spent("clinic")
    assert not hasattr(model, "n_features_in_")
    with shorter_synthesis():
        model.fit(curator, target)
    assert recorded(curator.ledger, "clinic", {}) == sorted(map(repr, plan.losses))
    assert model.losses_ == plan.losses


def test_a_plan_says_what_it_is():
    curator = dp.Curator(table(), schema=SCHEMA, name="clinic")
    one = dp.statistics.mean.plan(curator, "age", epsilon=0.5)
    assert repr(one) == (
        "<Inquiry: mean, 1 release of clinic, at (ε=0.5, δ=0) replace-one for each person; nothing is spent yet>"
    )
    assert "3 releases" in repr(dp.statistics.mean.plan(curator, "age", epsilon=0.5, loose=True))
    assert inspect.getdoc(dp.statistics.mean.plan).startswith("Return the questions and losses of ``mean``")
    assert inspect.signature(dp.statistics.mean.plan).return_annotation == "Inquiry[Mean]"
    assert inspect.signature(dp.statistics.mean).return_annotation == "Mean"


def test_a_new_statistic_has_its_own_arguments_on_the_command_line(monkeypatch):
    monkeypatch.setitem(cli_query.TAKEN, "mean", cli_query.TAKEN["mean"] | {"above"})
    assert cli_query._parse_own("mean", ["above=65"]) == {"above": 65}
    assert cli_query._parse_own("mean", ["above=[1, 2]"]) == {"above": [1, 2]}
    assert cli_query._parse_own("mean", ["above=much"]) == {"above": "much"}
    for wrong in ("above", "below=3", "by=ward"):  # which has a flag
        with pytest.raises(typer.BadParameter, match="expected NAME=VALUE, with a NAME of above"):
            cli_query._parse_own("mean", [wrong])
    with pytest.raises(typer.BadParameter, match="expected nothing, for count"):
        cli_query._parse_own("count", ["above=1"])
    with pytest.raises(typer.BadParameter, match="quantile needs q; write --q "):
        cli_query._check_given("quantile", {"column": "age"})
