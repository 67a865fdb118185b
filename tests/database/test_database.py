"""The statistical database: answers, prices, refusals, and what the ledger notes."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import statistics
from discreet.arguments import ArgumentError
from discreet.database import Draft, Reply
from discreet.database.budget_shares import BudgetShares
from discreet.door.inquiry import Inquiry

N = 20_000
BOUNDS = {"age": (0, 120), "bmi": (10, 80)}
CLASSES = {"diabetic": [0, 1], "ward": ["north", "south", "west"]}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(50.0, 15.0, N),
            "bmi": rng.normal(27.0, 5.0, N),
            "diabetic": rng.integers(0, 2, N),
            "ward": np.array(["north", "south"])[rng.integers(0, 2, N)],  # nobody is in the west
            "patient": rng.integers(0, 5000, N),
        }
    )
    path = tmp_path_factory.mktemp("clinic") / "clinic.parquet"
    table.to_parquet(path)
    return path, table


@pytest.fixture
def opened(clinic, tmp_path):
    def make(**more):
        given = {"bounds": BOUNDS, "classes": CLASSES, "budget": dp.Guarantee(100.0, 1e-6)} | more
        return dp.StatisticalDatabase(clinic[0], ledger=tmp_path / "clinic.ledger", **given)

    return make


def test_the_example_of_the_documentation(clinic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    db = dp.StatisticalDatabase(
        str(clinic[0]), bounds={"age": (0, 120), "bmi": (10, 80)}, classes={"diabetic": [0, 1]},
        budget=dp.Guarantee(1.0, 1e-6), ledger="sqlite:///clinic.ledger",
    )  # fmt: skip
    replies = [
        db.count(where="bmi > 30"),
        db.sum("age"),
        db.mean(["age", "bmi"]),
        db.variance("bmi"),
        db.covariance(["age", "bmi"], by="diabetic"),
        db.median("age"),
        db.quantiles("bmi", [0.25, 0.5, 0.75]),
    ]
    for reply in replies:
        low, high = reply.interval(0.95)
        assert np.all(low <= reply.value)
        assert np.all(reply.value <= high)
        assert "\n" not in reply.cost
        assert reply.priced.price in repr(reply)
        assert reply.share <= 0.1
    assert np.isclose(db.remaining, 0.3, atol=0.002)


# With a budget of ε = 100 a share of 5 % is nearly exact: each tolerance below is more than 30 standard deviations of
# the noise, which is far beyond a false alarm of 1e-9.
def test_answers_are_those_of_the_rows(opened, clinic):
    db, table = opened(share=0.05), clinic[1]
    age, bmi = table.age.clip(0, 120), table.bmi.clip(10, 80)
    assert db.sum("age").value == pytest.approx(age.sum(), rel=2e-3)
    assert db.mean(["age", "bmi"]).value == pytest.approx([age.mean(), bmi.mean()], rel=2e-3)
    assert db.variance("bmi").value == pytest.approx(bmi.var(ddof=0), rel=0.05)
    assert db.median("age", interval=None).value == pytest.approx(age.median(), rel=0.02)
    old = age > 65
    assert db.count(where="age > 65").value == pytest.approx(old.sum(), rel=0.01)
    assert db.mean("bmi", where="age > 65").value == pytest.approx(bmi[old].mean(), rel=0.01)
    assert db.histogram("ward").value == pytest.approx([*table.ward.value_counts().sort_index(), 0], abs=60)
    by = db.covariance(["age", "bmi"], by="diabetic")
    for group in (0, 1):
        chosen = table.diabetic == group
        assert by.value[group] == pytest.approx(np.cov(age[chosen], bmi[chosen], ddof=0), abs=6.0)


def test_a_reply_has_what_its_answer_has(opened):
    db = opened()
    compared = db.difference("age", between="diabetic", share=0.01)
    assert compared.p_value == compared.statistic.p_value
    assert not compared.drowned()
    assert {"p_value", "drowned", "cost"} <= {*dir(compared)}
    two = db.histogram(["age", "bmi"], share=0.01)
    assert two["age"].whole().edges.tolist() == two.statistic["age"].edges.tolist()
    with pytest.raises(AttributeError, match="p_value"):
        _ = two.p_value
    with pytest.raises(TypeError, match="several histograms, and this is the difference of age"):
        compared["age"]


def test_a_trend_without_a_column_is_that_of_the_rows(opened):
    db = opened()
    assert "trend over age" in db.trend(over="age", bins=4, share=0.01).cost
    with pytest.raises(TypeError, match="'column'"):
        db.median(share=0.01)


def test_an_empty_group_and_an_empty_condition_have_answers(opened):
    db = opened(share=0.02)
    assert db.mean("age", by="ward").value.shape == (3,)
    nobody = "age > 119.123 and age < 119.124"
    assert np.isfinite(db.median("age", where=nobody).value)
    assert abs(db.count(where=nobody).value) < 50


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda db: db.count(where="age > 200"), "'age' is declared from 0 to 120"),
        (lambda db: db.mean("age", where="age > 119 and age < 1"), "a condition that a declared row can meet"),
        (lambda db: db.quantiles([0.1, 0.9], "age"), "write levels=[0.25, 0.5, 0.75]"),
        (lambda db: db.mean("agee"), "did you mean 'age'?"),
        (lambda db: db.histogram("wrd"), "did you mean 'ward'?"),
        (lambda db: db.mean("age", epsilon=1.0, share=0.1), "one of them, not both: each says what the answer costs"),
        (lambda db: db.avarage("age"), "expected one of 'check_schema', 'chi_square', 'correlation', 'count', "),
        (lambda db: db.medain, "did you mean 'median'?"),
    ],
)
def test_what_cannot_be_asked_says_what_to_write_and_costs_nothing(opened, ask, says):
    db = opened()
    left = db.remaining
    with pytest.raises((ValueError, AttributeError)) as refused:
        ask(db)
    assert says in str(refused.value)
    assert db.remaining == left


def test_what_would_fit_does_not_depend_on_how_much_too_much_was_asked(opened):
    db = opened()
    db.sum("age")
    advised = set()
    for epsilon in (30.0, 300.0):
        with pytest.raises(dp.BudgetExceeded) as refused:
            db.mean("age", epsilon=db.budget.epsilon * epsilon)
        advised.add(str(refused.value).split("; ε=")[-1])
    assert len(advised) == 1


def test_the_worst_case_interval_of_an_extreme_advises_nothing_that_it_refuses(opened):
    with pytest.raises(ValueError, match=r"^of='population': expected of='rows'") as refused:
        opened().max("age").interval(0.95, of="population")
    assert "interval_kind" not in str(refused.value)


def test_everything_is_counted_whatever_its_gaps(tmp_path):
    table = pd.DataFrame({"age": [np.nan] * 300 + [40.0] * 200, "ward": ["a"] * 100 + [None] * 400})
    db = dp.StatisticalDatabase(
        table, bounds={"age": (0, 120)}, classes={"ward": ["a", "b"]}, name="gaps",
        budget=dp.Guarantee(100.0, 1e-6, "add-remove"), ledger=tmp_path / "ledger", share=0.05,
    )  # fmt: skip
    assert db.count().value == pytest.approx(500, abs=20)
    assert db.count(where="age > 0").value == pytest.approx(200, abs=20)
    assert db.count(by="ward").value == pytest.approx([100, 0], abs=20)


def test_persons_count_at_most_so_often(opened, clinic):
    db = opened(unit="patient", max_rows=2, budget=dp.Guarantee(100.0, 1e-6, "add-remove"), share=0.1)
    kept = clinic[1].groupby("patient").cumcount() < 2
    assert db.count().value == pytest.approx(kept.sum(), rel=0.02)
    assert db.count(where="age > 65").value == pytest.approx((kept & (clinic[1].age > 65)).sum(), rel=0.02)
    assert db.curator.unit == "each patient"


def test_shares_add_up_to_the_budget(opened):
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    questions = [
        lambda: db.mean("age"),
        lambda: db.count(where="age > 5"),
        lambda: db.median("age"),
        lambda: db.quantiles("bmi", [0.1, 0.9], interval=None),
        lambda: db.trimmed_mean("age"),
        lambda: db.mean("bmi", loose=True),
        lambda: db.interquartile_range("age"),
        lambda: db.variance("age", method="adaptive"),
        lambda: db.histogram("ward", by="diabetic"),
        lambda: db.sum(["age", "bmi"]),
    ]
    for number, question in enumerate(questions, 1):
        reply = question()
        assert 0.099 < reply.share <= 0.1
        assert db.remaining == pytest.approx(1.0 - number / 10, abs=0.01)
    left = db.remaining
    assert left < 0.02
    with pytest.raises(dp.BudgetExceeded, match=r"mean of age.*50\.0% of the budget; .* is left; nothing was recorded"):
        db.mean("age", share=0.5)
    assert db.remaining == left


def test_a_whole_budget_can_be_asked_at_once_and_nothing_after_it(opened):
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    reply = db.mean("age", share=1.0)
    assert reply.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(dp.BudgetExceeded):
        db.count(where="age > 1", share=1e-4)


def test_a_pure_budget_is_shared_out_as_epsilon(opened):
    db = opened(budget=dp.Guarantee(1.0))
    reply = db.mean("age", share=0.25)
    assert reply.guarantee.delta == 0.0
    assert reply.guarantee.epsilon == pytest.approx(0.25, rel=1e-6)
    assert db.median("age", epsilon=0.25).guarantee.epsilon == 0.25
    assert db.remaining == pytest.approx(0.5, rel=1e-6)


def test_an_epsilon_is_what_the_answer_costs_by_itself(opened):
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    reply = db.mean("age", epsilon=0.3)
    assert (reply.guarantee.epsilon, reply.guarantee.delta) == (0.3, 1e-6)
    drawn = db.median("age", epsilon=0.05)
    assert (drawn.guarantee.epsilon, drawn.guarantee.delta) == (0.05, 0.0)


def test_what_is_left_means_what_it_says(opened):
    """A pure ε may fit where its share does not: the ledger would admit it, and nothing Gaussian would fit after it."""
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    assert not db.preview(db.draft.median("age", epsilon=0.9)).admitted
    with pytest.raises(dp.BudgetExceeded, match="write share= in its place"):
        db.median("age", epsilon=0.9)
    assert not db.preview([db.draft.median("age", share=0.5)] * 3).admitted
    assert db.remaining == 1.0


def test_a_careless_delta_is_told(opened):
    with pytest.warns(UserWarning, match=r"δ=0.001 is above 1/n: .* 20 whole records"):
        opened(budget=dp.Guarantee(1.0, 1e-3))


def test_a_batch_is_priced_without_a_spend_and_asked_whole_or_not_at_all(opened):
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    drafts = [db.draft.mean("age", share=0.3), db.draft.median("bmi", share=0.3), db.draft.count(where="age > 65")]
    assert all(isinstance(draft, Draft) for draft in drafts)
    pricing = db.preview(drafts)
    assert pricing.admitted
    assert pricing.share == pytest.approx(0.7, abs=0.01)
    assert db.remaining == 1.0
    assert str(pricing).count("\n") == 3
    too_much = [*drafts, db.draft.sum("age", share=0.4)]
    assert not db.preview(too_much).admitted
    with pytest.raises(dp.BudgetExceeded, match="sum of age"):
        db.answer(too_much)
    assert db.remaining == 1.0
    replies = db.answer(pricing)
    assert all(isinstance(reply, Reply) for reply in replies)
    assert [reply.share for reply in replies] == [one.share for one in pricing.questions]
    assert db.preview([]).admitted
    assert db.answer([]) == []


def test_a_batch_is_one_payment_whoever_asks_beside_it(opened):
    """Two threads ask four questions each, of a fifth of the budget each: one gets all four, the other nothing."""
    for name in ("visits", "patients", "blood"):
        db = opened(budget=dp.Guarantee(1.0, 1e-6), name=name)
        result: list[object] = []
        start = threading.Barrier(2)

        def ask(db=db, result=result, start=start):
            drafts = [db.draft.mean("age", share=0.2)] * 4
            start.wait()
            try:
                result.append(len(db.answer(drafts)))
            except dp.BudgetExceeded:
                result.append("nothing")

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, result)) == ["4", "nothing"]
        assert db.remaining == pytest.approx(0.2, abs=1e-6)
        assert [entry.kind for entry in db.ledger.history(db.name)] == ["limit", "reserve"]


def test_what_was_answered_before_a_failure_is_not_lost(opened, monkeypatch):
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    drafts = [db.draft.mean("age"), db.draft.sum("age")]

    ran, real = [], Inquiry.run

    def failing(self, paid=None):
        ran.append(self)
        if len(ran) == 2:
            raise OSError("gone")
        return real(self, paid)

    monkeypatch.setattr(Inquiry, "run", failing)
    with pytest.raises(OSError, match="gone") as caught:
        db.answer(drafts)
    assert len(caught.value.replies) == 1
    assert db.remaining == pytest.approx(0.8, abs=1e-6)


def test_a_schedule_pays_for_each_loss_once(opened):
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    curator = db.curator
    losses = statistics.mean.plan(curator, "age", epsilon=0.1, delta=1e-6).losses
    paid = curator.paid_by(curator.reserve(losses, query="batch"))
    statistics.mean(paid, "age", epsilon=0.1, delta=1e-6)
    for epsilon in (0.1, 0.2):
        with pytest.raises(ValueError, match="reserve another one"):
            statistics.mean(paid, "age", epsilon=epsilon, delta=1e-6)


def test_a_schedule_pays_for_its_own_data_set_only(opened, tmp_path):
    """Else one could reserve where there is budget, or no ledger, and measure where there is none."""
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    rows = np.zeros((10, 1))
    strangers = [
        dp.Curator(rows, space=dp.Box(0, 1)),
        dp.Curator(rows, space=dp.Box(0, 1), name="other", ledger=db.ledger),
        dp.Curator(rows, space=dp.Box(0, 1), name=db.name, ledger=tmp_path / "another.ledger"),
    ]
    for stranger in strangers:
        schedule = stranger.reserve([dp.GaussianLoss(0.1)], query="batch")
        with pytest.raises(ValueError, match="reserve another one"):
            db.curator.paid_by(schedule)


def test_columns_can_come_in_any_sequence(opened):
    db = opened()
    for columns in (np.array(["age", "bmi"]), pd.Index(["age", "bmi"]), iter(["age", "bmi"]), ("age", "bmi")):
        assert db.mean(columns, share=0.01).value.shape == (2,)
    assert db.quantiles("age", np.array([0.25, 0.75]), share=0.05).value.shape == (2,)


@pytest.mark.parametrize(
    "arguments", [("nope", {}), ("count", {}, None, None, -1.0), ("count", {}, None, 0.1, 0.1), ("count", {}, 5)]
)
def test_a_draft_made_by_hand_is_checked_too(arguments):
    with pytest.raises(ValueError, match="expected"):
        Draft(*arguments)


def test_the_price_is_what_the_ledger_then_records(opened):
    db = opened(budget=dp.Guarantee(1.0, 1e-6))
    for draft in (db.draft.mean("age"), db.draft.quantiles("age", [0.1, 0.5]), db.draft.trimmed_mean("bmi")):
        before = db.curator.ledger.spent(db.name)
        [priced] = db.preview(draft).questions
        db.answer(draft)
        after = db.curator.ledger.spent(db.name)
        new = {loss: count - before.get(loss, 0) for loss, count in after.items() if count != before.get(loss, 0)}
        assert sorted(map(repr, priced.losses)) == sorted(repr(loss) for loss, n in new.items() for _ in range(n))


def test_the_ledger_notes_the_question(opened):
    db = opened()
    db.mean("age", by="ward", where="diabetic == 1 and bmi > 20")
    noted = db.curator.ledger.history(db.name)[-1]
    assert noted.query == "mean of age by ward where diabetic == 1 and bmi > 20"


def test_the_budget_outlives_the_database(opened):
    opened(budget=dp.Guarantee(1.0, 1e-6)).mean("age", share=0.6)
    again = opened(budget=None)
    assert again.remaining == pytest.approx(0.4, abs=1e-6)
    assert again.budget == dp.Guarantee(1.0, 1e-6)
    with pytest.raises(dp.BudgetExceeded):
        again.mean("age", share=0.6)


def test_estimators_are_paid_from_the_same_budget(opened):
    db = opened(budget=dp.Guarantee(10.0, 1e-6))
    mixture = dp.GaussianMixture(1, epsilon=1.0, delta=1e-6).fit(db)
    assert mixture.means_.shape == (1, 2)
    after = db.remaining
    assert after < 0.99
    with pytest.warns(UserWarning, match="hardly a row has the label 'west'"):
        model = dp.GaussianClassifier(epsilon=1.0, delta=1e-6).fit(db, "ward")
    assert model.classes_.tolist() == ["north", "south", "west"]
    assert model.releases_[0].recorded
    assert db.remaining < after


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda db: db.mean("agee"), "there are 'age', 'bmi'"),
        (lambda db: db.mean("ward"), "write histogram to count them"),
        (lambda db: db.median("diabetic"), "by='diabetic' for groups"),
        (lambda db: db.histogram("patient"), "'age', 'bmi', 'diabetic', 'ward'"),
        (lambda db: db.quantile("age", [0.25, 0.5]), "quantiles"),
        (lambda db: db.mean("age", by="bmi"), "expected a declared column of categories"),
        (lambda db: db.mean("age", by="patient"), "expected a declared column of categories"),
        (lambda db: db.count(where="patient == 7"), "is not declared"),
        (lambda db: db.count(where="ward == 'east'"), "'north', 'south', 'west'"),
        (lambda db: db.count(where="1; DROP TABLE rows"), "where="),
        (lambda db: db.count(where=7), "expected text"),
        (lambda db: db.count(), "20000, is public"),
        (lambda db: db.mean("age", epsilon=0.1, share=0.1), "expected one of them"),
        (lambda db: db.mean("age", epsilon=0.0), "epsilon"),
        (lambda db: db.mean("age", share=0.0), "share"),
        (lambda db: db.mean("age", share=1.5), "at most 1"),
        (lambda db: db.mean("age", share=True), "share"),
        (lambda db: db.mean("age", share=1e-14), "larger"),
        (lambda db: db.covariance("age"), "two columns or more"),
        (lambda db: db.quantiles("age", [0.5, 1.5]), "from 0 to 1"),
        (lambda db: db.preview(["mean"]), "expected drafts"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_and_costs_nothing(opened, ask, words):
    db = opened()
    with pytest.raises(ValueError, match=words):
        ask(db)
    assert db.remaining == 1.0


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        (lambda draft: draft.mean("agee"), "columns"),
        (lambda draft: draft.count(where="agee > 5"), "where"),
        (lambda draft: draft.count(where="age >"), "where"),
        (lambda draft: draft.histogram("age", bins=0), "bins"),
        (lambda draft: draft.quantiles("age", [0.5, 1.5]), "levels"),
        (lambda draft: draft.median("ward"), "column"),
        (lambda draft: draft.mean("age", by="age"), "by"),
        (lambda draft: draft.mean("age", share=1e-14), "share"),
    ],
)
def test_the_error_of_a_batch_names_the_question_that_is_wrong(opened, wrong, argument):
    db = opened()
    bad = wrong(db.draft)
    for ask in (db.preview, db.answer):
        with pytest.raises(ArgumentError) as alone:
            ask([bad])
        assert (alone.value.argument, alone.value.question) == (argument, None)
        with pytest.raises(ArgumentError) as batch:
            ask([db.draft.mean("age"), bad, db.draft.sum("age")])
        error = batch.value
        assert error.question == (2, bad.description)
        assert (error.given, error.expected, error.write) == (
            alone.value.given,
            alone.value.expected,
            alone.value.write,
        )
        assert str(error) == f"question 2 ({bad.description}): {alone.value}"
    with pytest.raises(ArgumentError, match=r"questions\[1\]: expected drafts"):
        db.preview([db.draft.mean("age"), "mean"])
    assert db.remaining == 1.0


def test_any_other_error_of_a_batch_has_a_note_of_the_question(opened):
    db = opened()
    with pytest.raises((TypeError, ValueError)) as batch:
        db.preview([db.draft.mean("age"), db.draft.count()])  # their number is public
    noted = getattr(batch.value, "question", None) == (2, "count") or "in question 2 (count)" in batch.value.__notes__
    assert noted


def test_an_argument_that_is_none_is_refused(opened):
    with pytest.raises(TypeError, match="wher"):
        opened().mean("age", wher="age > 5")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ledger": None}, "ledger"),
        ({"budget": 1.0}, "expected a Guarantee"),
        ({"bounds": None, "classes": None}, "Columns are declared"),
        ({"bounds": (0, 120)}, "mapping"),
        ({"bounds": {"age": 120}}, r"\(low, high\)"),
        ({"bounds": {"height": (0, 3)}}, "'height' is not in the data"),
        ({"bounds": {"age": (120, 0)}}, "low < high"),
        ({"classes": {"age": [1, 2]}}, "not among the bounds"),
        ({"share": 0.0}, "share"),
        ({"table": "visits"}, "holds one table"),
        ({"unit": "patient"}, "max_rows"),
        ({"neighbors": "add-remove"}, "add-remove"),
    ],
)
def test_what_cannot_be_opened_is_refused(clinic, tmp_path, given, words):
    usual = {"bounds": BOUNDS, "classes": CLASSES, "budget": dp.Guarantee(1.0, 1e-6), "ledger": tmp_path / "ledger"}
    with pytest.raises(ValueError, match=words):
        dp.StatisticalDatabase(clinic[0], **(usual | given))


def test_a_database_needs_a_limit(clinic, tmp_path):
    with pytest.raises(ValueError, match="limit"):
        dp.StatisticalDatabase(clinic[0], bounds=BOUNDS, ledger=tmp_path / "ledger")


def test_a_refusal_can_be_pickled(opened):
    db = opened(budget=dp.Guarantee(0.1, 1e-6))
    with pytest.raises(dp.BudgetExceeded) as caught:
        db.mean("age", epsilon=0.5)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


POISON = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324]


def test_poisoned_rows_change_nothing_but_the_numbers(tmp_path):
    def answers(extra: list[float], folder):
        folder.mkdir()
        table = pd.DataFrame({"age": [30.0, 50.0] * 500 + extra, "ward": ["a", "b"] * 500 + ["?"] * len(extra)})
        table.to_parquet(folder / "rows.parquet")
        db = dp.StatisticalDatabase(
            folder / "rows.parquet", bounds={"age": (0, 120)}, classes={"ward": ["a", "b"]}, neighbors="add-remove",
            budget=dp.Guarantee(100.0, 1e-6, "add-remove"), ledger=folder / "ledger",
        )  # fmt: skip
        result = [db.count(), db.mean("age", by="ward"), db.median("age"), db.variance("age", where="ward == 'a'")]
        shapes = [np.shape(reply.value) for reply in result]
        return (
            shapes,
            [reply.cost for reply in result],
            repr(db),
            [entry.query for entry in db.curator.ledger.history(db.name)],
        )

    assert answers([], tmp_path / "clean") == answers(POISON, tmp_path / "poisoned")


def test_a_share_is_a_share_of_whatever_filter_the_limit_has(tmp_path):
    for name in ("gaussian", "zcdp", "pure"):
        ledger = dp.Ledger(tmp_path / f"{name}.ledger")
        ledger.set_limit("rows", dp.Guarantee(1.0, 0.0 if name == "pure" else 1e-6), name)
        db = dp.StatisticalDatabase(
            pd.DataFrame({"age": [1.0] * 100}), bounds={"age": (0, 2)}, name="rows", ledger=ledger, share=0.2
        )
        assert db.preview(db.draft.mean("age", epsilon=0.05)).admitted
        for _ in range(5):
            assert db.mean("age").share == pytest.approx(0.2, rel=1e-6)
        assert BudgetShares.from_ledger(ledger, "rows").left(ledger.spent("rows")) < 1e-6


def test_every_question_is_a_statistic_and_has_the_same_arguments():
    from inspect import signature

    from discreet.database.questions import Questions

    for name, method in vars(Questions).items():
        if name.startswith("_"):
            continue
        theirs = set(signature(getattr(statistics, name)).parameters)
        ours = set(signature(method).parameters) - {"self", "where", "share"}
        assert ours <= theirs, name


class TestChoiceOfNoise:
    """The noise of smaller error for its price, as the ledger adds up losses."""

    def test_shares_buy_gaussian_noise_in_a_budget_with_delta(self, opened):
        """At equal shares the standard deviation of Laplace noise on a count would be 1.77 times as large."""
        db = opened(budget=dp.Guarantee(1.0, 1e-6))
        for draft in (db.draft.count(where="age > 65"), db.draft.count(where="age > 65", epsilon=0.05)):
            (priced,) = db.preview(draft).questions
            assert priced.noise == "Gaussian noise"
            assert "with Gaussian noise, " in str(priced)

    def test_without_delta_it_is_laplace_noise(self, opened):
        db = opened(budget=dp.Guarantee(1.0))
        assert "with Laplace noise, 10.0% of the budget" in db.count(where="age > 65").cost
        assert db.preview(db.draft.median("age")).questions[0].noise.startswith("the exponential mechanism")

    @pytest.mark.parametrize("how", [{"share": 1.0}, {"epsilon": 1.0}])
    def test_an_answer_that_takes_the_whole_budget_has_the_smaller_noise(self, opened, how):
        """One answer for (1, 1e-6): Laplace noise at ε = 1 has a third of the Gaussian standard deviation."""
        db = opened(budget=dp.Guarantee(1.0, 1e-6))
        reply = db.count(where="age > 65", **how)
        assert reply.priced.noise == "Laplace noise"
        assert reply.share == 1.0
        assert reply.guarantee == dp.Guarantee(1.0)
        assert reply.statistic.release.noise.variance < 2.1
        assert db.remaining == 0.0
        with pytest.raises(dp.BudgetExceeded):
            db.count(where="age > 65", share=0.01)

    def test_what_leaves_something_keeps_gaussian_noise(self, opened):
        db = opened(budget=dp.Guarantee(1.0, 1e-6))
        assert db.count(where="age > 65", share=0.9).priced.noise == "Gaussian noise"
        assert db.count(where="age > 65", share=db.remaining).priced.noise == "Gaussian noise"
