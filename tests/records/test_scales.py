"""Columns of dates and columns on a log scale: answers in the data's own units, months as bins, rows that are dates.

Rows are many and ε is large, so that what noise does is far below every tolerance: a false alarm is less likely than
1e-9.
"""

from __future__ import annotations

import datetime
import json
import math
import pickle
import shutil
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dp
from discreet import statistics
from discreet.audit.pairs import neighbours
from discreet.records.cells import format_day, read_date
from discreet.scales import ColumnScale, column_scales
from discreet.statistics.counted_columns import CALENDAR, calendar_bins
from effort import LONG, size
from still_chains import still_chains

N = size(5_000, 20_000)
EPSILON = 4e6 / N  # so that noise is the same share of a mean
LOW, HIGH = "2020-01-01", "2025-12-31"
SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 120),
        "income": dp.Number(1, 1e6, log=True),
        "admitted": dp.Date(LOW, HIGH),
        "ward": dp.Category(["a", "b"]),
    }
)
WARDS = np.array(["a", "b"])


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    days = np.datetime64("2022-06-01") + rng.normal(0.0, 200.0, N).astype("m8[D]")
    return pd.DataFrame(
        {
            "age": rng.normal(50.0, 12.0, N).clip(0, 120),
            "income": rng.lognormal(10.0, 0.5, N).clip(1.0, 1e6),
            "admitted": days.astype("M8[s]"),
            "ward": WARDS[rng.integers(0, 2, N)],
        }
    )


@pytest.fixture(scope="module")
def days(people):
    return people.admitted.to_numpy().astype("M8[D]").astype(float)


def ask(function, people, *arguments, **more):
    return function(people, *arguments, **({"epsilon": EPSILON, "schema": SCHEMA} | more))


# --- values and own units ---------------------------------------------------------------------------------------------


def test_the_public_name():
    assert dp.Date(LOW, HIGH) == SCHEMA["admitted"]
    assert "Date" in dp.__all__


@pytest.mark.parametrize("bounds", [(1.0, 1e6), (0.1, 0.3), (1e-300, 1e300), (1 / 3, math.pi), (1e-5, 1.7e308)])
def test_declared_bounds_come_back_from_their_logarithms(bounds):
    scale = ColumnScale("x", "log", *np.log(bounds).tolist())
    ends = scale.to_own(np.log(bounds))
    assert ends == pytest.approx(bounds, rel=1e-13)
    if bounds not in [(1 / 3, math.pi)]:
        assert ends.tolist() == list(bounds)
    inside = scale.to_own(np.linspace(*np.log(bounds), 1001))
    assert inside.min() == ends[0]
    assert inside.max() == ends[1]


def test_scales_from_what_a_release_declares(people):
    result = ask(statistics.mean, people, "income")
    assert [scale.kind for scale in column_scales(result.release.declared).values()] == ["log"]
    plain = statistics.mean(people["age"], epsilon=1.0, bounds=(0, 120))
    assert [scale.kind for scale in column_scales(plain.release.declared).values()] == ["linear"]


# --- locations --------------------------------------------------------------------------------------------------------


def test_a_mean_of_logarithms_is_a_geometric_mean(people):
    result = ask(statistics.mean, people, "income")
    exact = math.exp(np.log(people.income).mean())
    assert result.value == pytest.approx(exact, rel=1e-3)
    low, high = result.interval(0.95)
    assert low < result.value < high
    assert low == pytest.approx(exact, rel=1e-3)
    assert repr(result).startswith("<geometric mean 2")
    (row,) = result.table()
    assert row["statistic"] == "geometric mean"
    assert row["value"] == result.value
    assert (row["low"], row["high"]) == (low, high)
    assert result.to_dict() == {"income": result.value}
    assert result.bounds[0].low == (1.0,)
    assert result.bounds[0].high == (1e6,)


def test_a_mean_of_dates_is_shown_as_a_date(people, days):
    result = ask(statistics.mean, people, "admitted")
    assert result.value == pytest.approx(days.mean(), abs=1.0)
    assert all(isinstance(end, float) for end in result.interval())
    assert repr(result).startswith(f"<{format_day(result.value)}")
    assert result.to_dict() == {"admitted": format_day(result.value)}
    (row,) = result.table()
    assert row["value"] == format_day(result.value)
    assert row["low"] <= row["value"] <= row["high"]
    assert "statistic" not in row


def test_means_of_all_kinds_at_once(people, days):
    result = ask(statistics.mean, people, ["age", "income", "admitted"], by="ward")
    assert result.value.shape == (2, 3)
    chosen = people[people.ward == "b"]
    assert result.value[1, 0] == pytest.approx(chosen.age.mean(), rel=0.01)
    assert result.value[1, 1] == pytest.approx(math.exp(np.log(chosen.income).mean()), rel=0.02)
    assert result.value[1, 2] == pytest.approx(days[people.ward == "b"].mean(), abs=5.0)
    told = result.to_dict()["b"]
    assert told["income"] == result.value[1, 1]
    assert told["admitted"] == format_day(result.value[1, 2])
    said = {row["column"]: row["statistic"] for row in result.table()}
    assert said == {"age": "mean", "income": "geometric mean", "admitted": "mean"}
    assert "geometric mean" in repr(result)
    assert told["admitted"] in repr(result)
    low, high = result.interval()
    assert np.all((low <= result.value) & (result.value <= high))
    assert low[0, 1] > 1000.0


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("column", ["income", "admitted"])
def test_loose_and_trimmed_means(people, days, column, loose):
    result = ask(statistics.mean, people, column, loose=True) if loose else ask(statistics.trimmed_mean, people, column)
    values = days if column == "admitted" else np.log(people.income.to_numpy())
    if not loose:
        low, high = np.quantile(values, [0.1, 0.9])
        values = values[(values >= low) & (values <= high)]
    exact = values.mean() if column == "admitted" else math.exp(values.mean())
    assert result.value == pytest.approx(exact, rel=0.01)
    box = result.bounds[0]
    assert box.low[0] < result.value < box.high[0]
    low, high = result.interval()
    assert low <= result.value <= high
    if column == "income":
        assert "geometric" in repr(result)


@pytest.mark.parametrize("by", [None, "ward"])
def test_quantiles(people, days, by):
    levels = [0.25, 0.5, 0.75]
    result = ask(statistics.quantiles, people, levels, "income", by=by)
    exact = np.quantile(people.income, levels) if by is None else [
        np.quantile(people.income[people.ward == ward], levels) for ward in WARDS
    ]  # fmt: skip
    assert result.value == pytest.approx(np.asarray(exact), rel=0.02)
    low, high = result.interval()
    assert np.all((low <= result.value) & (result.value <= high))
    assert "geometric" not in repr(result)
    dated = ask(statistics.quantiles, people, levels, "admitted", by=by)
    exact = np.quantile(days, levels) if by is None else [
        np.quantile(days[people.ward == ward], levels) for ward in WARDS
    ]  # fmt: skip
    assert dated.value == pytest.approx(np.asarray(exact), abs=8.0)
    assert np.array_equal(dated.value, np.round(dated.value))  # days are whole
    told = dated.to_dict() if by is None else dated.to_dict()["a"]
    assert list(told) == levels
    assert all(LOW <= text <= HIGH for text in told.values())
    assert all(row["low"] <= row["value"] <= row["high"] for row in dated.table())


def test_medians_and_their_steps(people, days):
    result = ask(statistics.median, people, "income", interval=None)
    assert result.value == pytest.approx(np.median(people.income), rel=0.01)
    assert list(result.table()[0]) == ["value", "which_rows"]
    with pytest.raises(ValueError, match="step=1: expected None"):
        ask(statistics.median, people, "income", step=1)
    dated = ask(statistics.median, people, "admitted", interval=None)
    assert dated.value == pytest.approx(np.median(days), abs=3.0)
    assert repr(dated).startswith(f"<{format_day(dated.value)}")
    assert dated.table()[0]["value"] == format_day(dated.value)


def test_m_estimates(people, days):
    result = ask(statistics.huber_location, people, "income", scale=0.5, epsilon=200.0)
    assert result.value == pytest.approx(math.exp(np.log(people.income).mean()), rel=0.05)
    low, high = result.interval(draws=40)
    assert low < result.value < high
    assert result.edges[0][0] == 1.0
    assert result.edges[0][-1] == 1e6
    dated = ask(statistics.m_estimate, people, "admitted", loss="absolute", epsilon=200.0)
    assert dated.value == pytest.approx(np.median(days), abs=10.0)
    assert repr(dated).startswith(f"<{format_day(dated.value)}")
    assert pickle.loads(pickle.dumps(result)).interval(draws=40) == (low, high)


def test_a_loss_of_ones_own_sees_values(people):
    def loss(points, theta):
        return (points[:, 0] - theta[0]) ** 2

    result = ask(statistics.m_estimate, people, "income", loss=loss)
    assert result.value == pytest.approx(np.log(people.income).mean(), abs=0.1)


# --- spreads ----------------------------------------------------------------------------------------------------------


def test_spreads_of_a_log_column_are_of_the_logarithms(people):
    result = ask(statistics.variance, people, "income")
    assert result.value == pytest.approx(np.log(people.income).var(), rel=0.05)
    assert result.columns == ("log(income)",)
    assert result.to_dict() == {"log(income)": result.value}
    assert "log(income)" in repr(result)
    assert result.table()[0]["column"] == "log(income)"
    both = ask(statistics.covariance, people, ["age", "income"])
    assert both.columns == ("age", "log(income)")
    assert list(both.to_dict()["age"]) == ["age", "log(income)"]
    wide = ask(statistics.interquartile_range, people, "income")
    assert wide.value == pytest.approx(np.subtract(*np.quantile(np.log(people.income), [0.75, 0.25])), rel=0.05)
    assert wide.columns == ("log(income)",)
    assert wide.table()[0]["column"] == "log(income)"
    assert "log(income)" in repr(wide)


@pytest.mark.parametrize("method", ["one-shot", "adaptive", "direct"])
def test_every_method_of_spreads(people, method):
    filled = {name: dp.Number(1, 1e6, missing="fill", fill=1, log=True) for name in ("income",)}
    result = statistics.variance(
        people[["income"]], epsilon=EPSILON, delta=1e-6, method=method, schema=dp.Schema(filled)
    )
    assert result.value == pytest.approx(np.log(people.income).var(), rel=0.05)
    assert result.columns == ("log(income)",)


def test_spreads_of_dates_are_in_days(people, days):
    result = ask(statistics.variance, people, "admitted")
    assert result.value == pytest.approx(days.var(), rel=0.05)
    assert result.columns == ("admitted",)
    assert repr(result).startswith(f"<{result.value:.6g} days²")
    wide = ask(statistics.interquartile_range, people, "admitted")
    assert wide.value == pytest.approx(np.subtract(*np.quantile(days, [0.75, 0.25])), abs=10.0)
    assert repr(wide).startswith(f"<{wide.value:.6g} days")
    assert wide.to_dict() == {"admitted": wide.value}


# --- what is refused, before anything is spent ------------------------------------------------------------------------


@pytest.fixture
def recorded(people, tmp_path):
    ledger = dp.Ledger(tmp_path / "scales.ledger")
    curator = dp.Curator(people, schema=SCHEMA, name="people", ledger=ledger, budget=dp.Guarantee(1000.0, 1e-6))
    return curator, lambda: len(ledger.history("people"))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda rows: statistics.sum(rows, "income", epsilon=1.0), "declare it without log=True"),
        (lambda rows: statistics.sum(rows, ["age", "income"], epsilon=1.0), "declare it without log=True"),
        (lambda rows: statistics.sum(rows, "admitted", epsilon=1.0), "of dates"),
        (lambda rows: statistics.mean(rows, "age", weights="income", epsilon=1.0), "weights='income'"),
        (lambda rows: statistics.median(rows, "age", weights="admitted", epsilon=1.0), "weights='admitted'"),
        (lambda rows: statistics.quantile(rows, 0.5, "income", step=10, epsilon=1.0), "step=10"),
        (lambda rows: statistics.histogram(rows, "income", bins="month", epsilon=1.0), "bins='month'"),
        (lambda rows: statistics.histogram(rows, "age", bins="month", epsilon=1.0), "bins='month'"),
        (lambda rows: statistics.histogram(rows, "admitted", bins="moon", epsilon=1.0), "bins='moon'"),
        (lambda rows: statistics.histogram(rows, "admitted", bins=5000, epsilon=1.0), "bins=5000"),
        (lambda rows: statistics.histogram(rows, "admitted", bins=["2021-01-01", "soon"], epsilon=1.0), "bins"),
        (lambda rows: statistics.histogram(rows, "income", bins=[-5, 10, 100], epsilon=1.0), "bins"),
        (lambda rows: statistics.histogram(rows, "income", bins=["a", "b", "c"], epsilon=1.0), "bins"),
    ],
)
def test_refusals_cost_nothing(recorded, asked, said):
    curator, spent = recorded
    before = spent()
    with pytest.raises(ValueError, match="expected") as refusal:
        asked(curator)
    assert said in str(refusal.value)
    assert spent() == before


# --- histograms -------------------------------------------------------------------------------------------------------


def test_bins_of_a_log_column_are_equal_on_the_log_scale(people):
    result = ask(statistics.histogram, people, "income", bins=6)
    assert result.edges == pytest.approx(10.0 ** np.arange(7.0), rel=1e-12)
    assert result.edges[[0, -1]].tolist() == [1.0, 1e6]
    assert result.value == pytest.approx(np.histogram(people.income, result.edges)[0], abs=3.0)
    assert next(iter(result.to_dict())) == "[1, 10)"
    own = ask(statistics.histogram, people, "income", bins=[1, 20_000, 30_000, 1e6])
    assert own.edges.tolist() == [1.0, 20_000.0, 30_000.0, 1e6]
    assert own.value == pytest.approx(np.histogram(people.income, own.edges)[0], abs=3.0)


def test_an_edge_belongs_to_the_bin_above_on_the_log_scale_too():
    rows = pd.DataFrame({"income": [10.0] * 500 + [9.999999] * 300})
    schema = dp.Schema({"income": dp.Number(1, 1000, log=True)})
    result = statistics.histogram(rows, bins=[1, 10, 1000], epsilon=EPSILON, schema=schema)
    assert result.value == pytest.approx([300.0, 500.0], abs=3.0)


def test_bins_on_a_log_scale_have_short_labels_that_are_exact():
    rows = pd.DataFrame({"income": [0.841] * 500 + [0.8409] * 300})
    schema = dp.Schema({"income": dp.Number(0.1, 500, log=True)})
    result = statistics.histogram(rows, bins=4, epsilon=EPSILON, schema=schema)
    assert [*result.to_dict()] == ["[0.1, 0.841)", "[0.841, 7.07)", "[7.07, 59.5)", "[59.5, 500]"]
    assert result.value[:2] == pytest.approx([300.0, 500.0], abs=3.0)
    narrow = dp.Schema({"income": dp.Number(1, 1.001, log=True)})  # in which three digits are not enough
    labels = [*statistics.histogram(rows, bins=4, epsilon=EPSILON, schema=narrow).to_dict()]
    assert len({*labels}) == 4


def test_a_trend_over_quarters():
    days = np.datetime64("2020-01-01") + np.arange(8 * 91).astype("m8[D]")
    rows = pd.DataFrame({"day": np.repeat(days, 20), "x": np.repeat(np.arange(8 * 91) / 7280.0, 20)})
    schema = dp.Schema({"day": dp.Date("2020-01-01", "2021-12-28"), "x": dp.Number(0, 1)})
    result = statistics.trend(rows, "x", over="day", bins="quarter", per="quarter", epsilon=5.0, schema=schema)
    assert result.labels == tuple(f"{year}-Q{place}" for year in (2020, 2021) for place in (1, 2, 3, 4))
    assert result.value == pytest.approx(0.0125, rel=0.2)
    with pytest.raises(ValueError, match="'day', 'week', 'month', 'quarter', 'year'"):
        statistics.trend(rows, "x", over="day", bins="decade", epsilon=5.0, schema=schema)


@pytest.mark.parametrize("bins", ["month", "year", "week", "day"])
def test_calendar_bins(people, bins):
    result = ask(statistics.histogram, people, "admitted", bins=bins)
    form = {"month": "%Y-%m", "year": "%Y", "week": "%G-W%V", "day": "%Y-%m-%d"}[bins]
    exact = people.admitted.dt.strftime(form).value_counts()
    told = result.to_dict()
    assert all(isinstance(label, str) for label in told)
    assert list(told) == list(result.labels)
    assert np.array([told[label] for label in exact.index]) == pytest.approx(exact.to_numpy(), abs=3.0)
    assert sum(told.values()) == pytest.approx(N, rel=0.01)
    assert len(result.edges) == len(result.labels) + 1
    assert result.table()[0]["admitted"] == result.labels[0]


def test_months_by_group(people):
    result = ask(statistics.histogram, people, "admitted", bins="month", by="ward")
    exact = people[people.ward == "a"].admitted.dt.strftime("%Y-%m").value_counts()
    assert result.to_dict()["a"]["2022-06"] == pytest.approx(exact["2022-06"], abs=3.0)


@pytest.mark.parametrize("bins", CALENDAR)
@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("2019-12-31", "2024-03-01"),
        ("2020-02-29", "2020-03-01"),
        ("1999-12-28", "2001-01-03"),
        ("1968-02-29", "1972-02-29"),
        ("1899-12-30", "1904-03-01"),
    ],
)
def test_every_declared_day_is_in_one_bin(bins, low, high):
    first, last = read_date(low), read_date(high)
    try:
        labels, edges = calendar_bins(bins, first, last)
    except ValueError:
        assert bins in ("week", "quarter", "year")
        assert low == "2020-02-29"
        return
    assert edges[0] == first
    assert edges[-1] == last + 1
    assert (np.diff(edges) > 0).all()
    assert len(labels) == len(set(labels)) == len(edges) - 1
    form = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "quarter": "%Y-Q", "year": "%Y"}[bins]
    places = np.searchsorted(edges, np.arange(first, last + 1), side="right") - 1
    for place, day in zip(places, np.arange(first, last + 1), strict=True):
        at = datetime.date(1970, 1, 1) + datetime.timedelta(days=int(day))
        assert labels[place] == at.strftime(form) + (str((at.month + 2) // 3) if bins == "quarter" else "")


def test_the_first_and_the_last_day_of_time():
    labels, edges = calendar_bins("year", read_date("0001-01-01"), read_date("9999-12-31"))
    assert labels[0] == "0001"
    assert labels[-1] == "9999"
    assert len(edges) == 10_000
    with pytest.raises(ValueError, match="at most"):
        calendar_bins("day", read_date("0001-01-01"), read_date("9999-12-31"))


def test_bins_of_dates_by_number_and_by_edges(people, days):
    result = ask(statistics.histogram, people, "admitted", bins=4)
    assert result.edges[[0, -1]].tolist() == [read_date(LOW), read_date(HIGH) + 1]
    assert np.array_equal(result.edges, np.round(result.edges))
    assert result.value == pytest.approx(np.histogram(days, result.edges)[0], abs=3.0)
    assert next(iter(result.to_dict())) == f"[{LOW}, {format_day(result.edges[1])})"
    texts = ["2020-01-01", "2022-01-01", "2022-06-01", "2026-01-01"]
    for given in (texts, [datetime.date.fromisoformat(text) for text in texts], np.array(texts, dtype="M8[D]")):
        own = ask(statistics.histogram, people, "admitted", bins=given)
        assert list(own.to_dict())[1] == "[2022-01-01, 2022-06-01)"
        assert own.value == pytest.approx(np.histogram(days, [read_date(text) for text in texts])[0], abs=3.0)


# --- densities --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"delta": 0.0}, {"delta": 1e-6}, {"method": "histogram"}])
def test_a_density_of_a_log_column(people, how):
    result = ask(statistics.density, people, "income", **how)
    assert result.quantile(0.5) == pytest.approx(np.median(people.income), rel=0.1)
    assert result.distribution(np.median(people.income)) == pytest.approx(0.5, abs=0.05)
    points = np.geomspace(1.0, 1e6, 20_001)
    assert np.trapezoid(result(points), points) == pytest.approx(1.0, abs=0.02)
    assert result(0.0) == 0.0
    assert result(-1.0) == 0.0
    assert result.distribution(0.0) == 0.0
    drawn = result.sample(5000, np.random.default_rng(0))
    assert drawn.min() >= 1.0
    assert np.median(drawn) == pytest.approx(np.median(people.income), rel=0.15)
    at, heights = result.grid()
    assert at[0] >= 1.0
    assert at[-1] <= 1e6
    assert np.allclose(result(at[1:-1]), heights[1:-1], rtol=1e-6)
    low, high = result.interval()
    assert np.all(low <= high)
    assert "over [1, 1e+06]" in repr(result)


def test_a_density_of_dates(people, days):
    result = ask(statistics.density, people, "admitted")
    assert result.quantile(0.5) == pytest.approx(np.median(days), abs=20.0)
    assert result("2022-06-01") == result(read_date("2022-06-01"))
    assert result.distribution(np.array(["2022-06-01"], dtype="M8[D]"))[0] == pytest.approx(0.5, abs=0.05)
    drawn = result.sample(1000)
    assert drawn.dtype == np.dtype("M8[D]")
    assert drawn.min() >= np.datetime64(LOW)
    assert drawn.max() <= np.datetime64(HIGH)
    assert f"over [{LOW}, {HIGH}]" in repr(result)


# --- the database -----------------------------------------------------------------------------------------------------


@pytest.fixture
def db(people, tmp_path):
    people.to_parquet(tmp_path / "clinic.parquet")
    return dp.StatisticalDatabase(
        tmp_path / "clinic.parquet",
        bounds={"age": (0, 120), "income": dp.Number(1, 1e6, log=True), "admitted": dp.Date(LOW, HIGH)},
        classes={"ward": ["a", "b"]},
        budget=dp.Guarantee(500.0, 1e-6),
        ledger=tmp_path / "clinic.ledger",
    )


def test_replies_of_the_database(db, people, days):
    reply = db.mean("income", by="ward", share=0.05)
    assert reply.value == pytest.approx(
        [math.exp(np.log(people.income[people.ward == ward]).mean()) for ward in WARDS], rel=0.01
    )
    assert reply.cost.startswith("geometric mean of income by ward: ")
    assert "geometric mean" in repr(reply).split(";")[0]
    assert "geometric mean of income by ward" in db.ledger.history(db.name)[-1].query
    assert reply.table()[0]["statistic"] == "geometric mean"
    assert db.mean(["age", "income"], share=0.05).cost.startswith("mean of age and geometric mean of income: ")
    assert db.trimmed_mean("income", share=0.05).cost.startswith("trimmed geometric mean of income")
    assert db.variance("income", share=0.05).cost.startswith("variance of log(income)")
    dated = db.median("admitted", where="admitted >= '2022-01-01'", share=0.1)
    assert dated.value == pytest.approx(np.median(days[days >= read_date("2022-01-01")]), abs=8.0)
    assert dated.table()[0]["value"] == format_day(dated.value)
    assert format_day(dated.value) in repr(dated)
    assert dated.cost.startswith("median of admitted where")
    months = db.answer(db.draft.histogram("admitted", bins="month", share=0.05))[0]
    assert months.to_dict()["2022-06"] == pytest.approx(
        (people.admitted.dt.strftime("%Y-%m") == "2022-06").sum(), abs=20
    )
    priced = db.preview([db.draft.mean("income"), db.draft.interquartile_range("income")])
    assert "geometric mean of income: " in str(priced)
    assert "interquartile range of log(income): " in str(priced)


def test_a_refused_question_leaves_no_trace(db):
    before = len(db.ledger.history(db.name))
    for asked in (
        lambda: db.sum("income"),
        lambda: db.histogram("admitted", bins="moon"),
        lambda: db.answer([db.draft.count(by="ward"), db.draft.sum("income")]),
        lambda: db.preview(db.draft.sum("admitted")),
    ):
        with pytest.raises(ValueError, match="expected"):
            asked()
    assert len(db.ledger.history(db.name)) == before


# --- models -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixture(people):
    return dp.TableMixture(2, epsilon=20.0, delta=1e-6, n_steps=3, schema=SCHEMA).fit(people)


@pytest.fixture(scope="module")
def gaussians(people):
    return dp.GaussianMixture(2, epsilon=20.0, n_steps=3).fit(dp.Curator(people, schema=NUMBERS))


@pytest.mark.parametrize("loaded", [False, True])
def test_synthetic_rows_are_as_declared(mixture, people, loaded):
    model = dp.TableMixture.from_json(mixture.to_json()) if loaded else mixture
    drawn = model.sample(N, random_state=0)
    assert list(drawn) == ["age", "income", "admitted", "ward"]
    assert drawn["admitted"].dtype == np.dtype("M8[D]")
    assert np.datetime64(LOW) <= drawn["admitted"].min() <= drawn["admitted"].max() <= np.datetime64(HIGH)
    assert 1.0 <= drawn["income"].min() <= drawn["income"].max() <= 1e6
    frame = pd.DataFrame(drawn)
    assert frame.admitted.dtype.kind == "M"
    assert pl.DataFrame(drawn)["admitted"].dtype == pl.Date
    assert np.log(frame.income).mean() == pytest.approx(np.log(people.income).mean(), abs=0.1)
    assert abs(frame.admitted.mean() - people.admitted.mean()) < pd.Timedelta(days=20)
    how = {"epsilon": 20.0, "delta": 1e-6, "n_steps": 3}
    again = dp.TableMixture(2, **how, schema=SCHEMA).fit(frame)  # what is drawn can be read again
    assert again.weights_ @ again.means_ == pytest.approx(model.weights_ @ model.means_, rel=0.05)


def test_a_table_reads_rows_in_their_own_units(mixture, people):
    scores = mixture.score_samples(people[:100])
    assert np.isfinite(scores).all()
    texts = people[:100].assign(admitted=people.admitted[:100].dt.strftime("%Y-%m-%d"))
    assert mixture.score_samples(texts) == pytest.approx(scores)
    assert mixture.score_samples({name: texts[name].to_numpy() for name in texts}) == pytest.approx(scores)
    assert mixture.score_samples(pl.from_pandas(people[:100])) == pytest.approx(scores)
    assert mixture.score(mixture.sample(1000)) == pytest.approx(mixture.score(people), abs=1.0)


def test_a_schema_that_a_curator_does_not_have_is_refused(people):
    curator = dp.Curator(people, schema=SCHEMA)
    other = dp.Schema(dict(SCHEMA.columns) | {"income": dp.Number(1, 1e5, log=True)})
    with pytest.raises(ValueError, match="that the curator has"):
        dp.TableMixture(2, schema=other).fit(curator)
    dp.TableMixture(2, n_steps=1, schema=SCHEMA).fit(curator)


NUMBERS = dp.Schema({name: column for name, column in SCHEMA.columns if name != "ward"})


@pytest.mark.parametrize(
    "make",
    [
        lambda: dp.GaussianMixture(2, epsilon=20.0),
        lambda: dp.FactorAnalysis(1, epsilon=20.0),
        lambda: dp.PCA(2, epsilon=20.0, scale_by_bounds=True),
    ],
)
def test_rows_of_other_models(people, make):
    model = make().fit(dp.Curator(people, schema=NUMBERS))
    drawn = model.sample(5000, random_state=0)
    if isinstance(drawn, tuple):  # a mixture's: a frame, as the table that was fitted
        assert isinstance(drawn[0], pd.DataFrame)
        assert drawn[0].admitted.dtype.kind == "M"
        assert np.isfinite(model.score(drawn[0]))
        drawn = drawn[0].assign(admitted=(drawn[0].admitted - pd.Timestamp(0)) / pd.Timedelta("1D")).to_numpy()
    rows = drawn
    assert (rows[:, 1] > 0.0).all()
    assert np.log(rows[:, 1]).mean() == pytest.approx(np.log(people.income).mean(), abs=0.2)
    assert np.array_equal(rows[:, 2], np.round(rows[:, 2]))
    assert rows[:, 2].mean() == pytest.approx(read_date("2022-06-01"), abs=60.0)


def test_a_classifier_of_such_columns(people):
    model = dp.GaussianClassifier(epsilon=20.0).fit(dp.Curator(people, schema=SCHEMA), "ward")
    rows, labels = model.sample(1000, random_state=0)
    assert set(labels) == {"a", "b"}
    assert np.log(rows[:, 1]).mean() == pytest.approx(np.log(people.income).mean(), abs=0.2)


def test_rows_to_score_are_in_their_own_units(people):
    model = dp.GaussianMixture(1, epsilon=20.0).fit(dp.Curator(people, schema=NUMBERS))
    scores = model.score_samples(people[["age", "income", "admitted"]][:50])
    rows = np.stack(
        [people.age[:50], people.income[:50], people.admitted[:50].to_numpy().astype("M8[D]").astype(float)], axis=1
    )
    values = np.stack([rows[:, 0], np.log(rows[:, 1]), rows[:, 2]], axis=1)
    assert scores == pytest.approx(model._density.log_density(values))
    model.sample(10)


def test_bounds_by_name(people):
    bounds = {"age": (0, 120), "income": dp.Number(1, 1e6, log=True), "admitted": dp.Date(LOW, HIGH)}
    result = statistics.mean(people, ["income", "admitted"], epsilon=EPSILON, bounds=bounds)
    assert result.value[0] == pytest.approx(math.exp(np.log(people.income).mean()), rel=0.01)
    model = dp.GaussianMixture(1, epsilon=20.0, bounds=bounds).fit(people)
    loaded = dp.GaussianMixture.from_json(model.to_json())
    assert loaded.bounds["admitted"] == bounds["admitted"]
    assert loaded.score(people) == pytest.approx(model.score(people))
    rows, _ = loaded.sample(5000, random_state=0)
    assert np.log(rows[:, 1]).mean() == pytest.approx(np.log(people.income).mean(), abs=0.1)
    classifier = dp.GaussianClassifier(epsilon=20.0, bounds=bounds, classes=["a", "b"]).fit(
        people.drop(columns="ward"), people.ward
    )
    assert classifier.means_[0, 1] == pytest.approx(np.log(people.income).mean(), abs=0.1)
    gaps = people.assign(admitted=people.admitted.where(people.index > 0))
    with pytest.raises(ValueError, match="admitted"):
        dp.GaussianMixture(1, bounds=bounds).fit(gaps)


@pytest.mark.parametrize("what", ["components", "pairs", "sample"])
def test_pictures(mixture, gaussians, what):
    pytest.importorskip("matplotlib")
    for model in (mixture, gaussians):
        drawn = model.plot(["log(income)", "admitted"], what=what)
        ax = drawn[1, 0] if isinstance(drawn, np.ndarray) else drawn
        ax.figure.canvas.draw()
        assert ax.get_xlabel() == "log(income)"
        ticks = [tick.get_text() for tick in ax.get_yticklabels()]
        assert all(read_date(text) == read_date(text) for text in ticks)
        model.plot(["income", "admitted"], what=what)


def test_reports(mixture, people):
    pytest.importorskip("jinja2")
    text = mixture.report(private_rows=people).html
    assert "log(income)" in text
    assert "2022-" in text


# --- posteriors and attacks -------------------------------------------------------------------------------------------


def test_posteriors(people, monkeypatch):
    """The labels that a posterior takes from its model; ``make audit`` infers one."""
    pytest.importorskip("numpyro")
    from discreet.inference.default_models import default_model
    from discreet.inference.measurements import read_measurements

    declared = dp.Schema({"income": SCHEMA["income"], "admitted": SCHEMA["admitted"]})
    result = statistics.covariance(people, epsilon=5.0, delta=1e-6, schema=declared)
    shown = default_model(result, read_measurements(result))
    for dims in shown.dims.values():
        assert all("log(income)" in shown.coords[dim] for dim in dims)
    if not LONG:
        return
    still_chains(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few draws
        posterior = dp.infer(result, chains=1, draws=20, warmup=20, progress=False)
        assert any("log(income)" in str(label) for label in posterior.summary().index)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_pairs_of_neighbours(relation):
    pairs = neighbours(SCHEMA, relation)
    assert len(pairs) > 10
    for pair in pairs:
        for curator in (pair.one, pair.other):
            for block in curator._records.blocks():
                assert np.asarray(curator.space.clip(block.x)).tolist() == np.asarray(block.x).tolist()
    spread = next(pair for pair in pairs if "among" in pair.name)
    values = np.concatenate([np.asarray(block.x) for block in spread.one._records.blocks()])
    assert len(np.unique(values[:, 2])) > 10
    assert np.ptp(values[:, 1]) > 5.0  # spread over the logarithms


def test_an_attack_on_a_mean_of_dates():
    schema = dp.Schema({"admitted": dp.Date(LOW, HIGH)})
    pairs = neighbours(schema)[:: size(5, 1)]  # four of them: of each kind and of each number of rows beside it
    result = dp.audit.attack(
        lambda curator: statistics.mean(curator, epsilon=1.0), pairs, runs=100, confidence=1 - 1e-9, progress=False
    )
    assert result.holds


def test_an_attack_on_a_fitted_table(mixture, people):
    """Of one component, one step and one pair; of the fit that other tests look at by ``make audit``."""
    subject, pairs = mixture, None
    if not LONG:
        subject = dp.TableMixture(1, epsilon=20.0, delta=1e-6, n_steps=1, schema=SCHEMA).fit(people)
        pairs = neighbours(SCHEMA)[:1]
    result = dp.audit.attack(subject, pairs, runs=20, confidence=1 - 1e-9, progress=False)
    assert result.holds


def test_canaries():
    model = dp.TableMixture(2, epsilon=8.0, neighbors="add-remove", n_steps=1, schema=SCHEMA)
    assert dp.audit.one_run(model, canaries=50, confidence=1 - 1e-9).holds


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clinic(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    people.assign(admitted=people.admitted.dt.strftime("%Y-%m-%d")).to_csv(folder / "clinic.csv", index=False)
    people.to_parquet(folder / "clinic.parquet")
    (folder / "clinic.toml").write_text(
        """
[columns.age]
low = 0
high = 120

[columns.income]
low = 1
high = 1e6
log = true

[columns.admitted]
low = 2020-01-01
high = 2025-12-31

[columns.ward]
values = ["a", "b"]
"""
    )
    return folder


@pytest.fixture
def folder(clinic, tmp_path, monkeypatch):
    pytest.importorskip("typer")
    pytest.importorskip("duckdb")
    shutil.copytree(clinic, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FLAGS = "--bounds age=0:120 --bounds income=1:1e6:log --bounds admitted=2020-01-01:2025-12-31 --classes ward=a,b"
LEDGER = "--ledger clinic.ledger --limit 500:1e-6 --share 0.1"


@pytest.mark.parametrize("declared", ["--schema clinic.toml", FLAGS])
def test_queries(folder, declared):
    from cli_folder import discreet

    ran = discreet(f"query clinic.csv mean income {declared} {LEDGER}")
    assert ran.code == 0, ran.err
    assert "geometric mean" in ran.out.splitlines()[0] + ran.out
    told = discreet(f"query clinic.csv mean admitted {declared} {LEDGER} --json").data
    assert told["answer"][0]["value"].startswith("2022-0")
    assert told["answer"][0]["low"].startswith("2022-0")
    months = discreet(f"query clinic.csv histogram admitted --bins month {declared} {LEDGER}")
    assert "2022-06 " in months.out
    edges = discreet(
        f"query clinic.csv histogram admitted --bins 2020-01-01,2022-06-01,2026-01-01 {declared} {LEDGER} --json"
    )
    assert edges.data["answer"][0]["admitted"] == "[2020-01-01, 2022-06-01)"
    whole = discreet(f"query clinic.csv histogram income --bins 6 {declared} {LEDGER} --json").data
    assert whole["answer"][-1]["income"] == "[100000, 1000000]"
    refused = discreet(f"query clinic.csv sum income {declared} {LEDGER}")
    assert refused.code != 0
    assert "without log" in refused.err
    refused = discreet(f"query clinic.csv histogram admitted --bins moon {declared} {LEDGER}")
    assert refused.code != 0
    assert "--bins" in refused.err


@pytest.mark.parametrize(
    "wrong", ["income=1:1e6:lin", "income=0:10:log", "admitted=2020-01-01:9", "admitted=2025-01-01:2020-01-01"]
)
def test_flags_that_declare_nothing(folder, wrong):
    from cli_folder import discreet

    ran = discreet(f"query clinic.csv count --bounds {wrong} {LEDGER}")
    assert ran.code == 2
    assert "--bounds" in ran.err


def test_a_schema_to_fill_in_and_to_check(folder):
    from cli_folder import discreet

    draft = discreet("schema init clinic.parquet").out
    assert "[columns.admitted]  # " in draft
    assert "# low = 2020-01-01" in draft
    assert "have log = true" in draft
    assert "2020-01-01" in discreet("schema init clinic.csv").out
    checked = discreet("schema check clinic.toml --data clinic.csv")
    assert checked.code == 0, checked.err
    shown = {line.split()[0]: line for line in checked.out.splitlines() if line}
    assert "2020-01-01 to 2025-12-31" in shown["admitted"]
    assert " date " in shown["admitted"]
    assert "log scale" in shown["income"]
    assert "1 to 1e+06" in shown["income"]
    (folder / "wrong.toml").write_text("[columns.admitted]\nlow = 2025-01-01\nhigh = 2020-01-01\n")
    refused = discreet("schema check wrong.toml")
    assert refused.code != 0
    assert "Date(" not in refused.err


def test_schemas_travel_as_toml():
    assert dp.Schema.from_toml(SCHEMA.to_toml()) == SCHEMA


def test_fits_and_synthetic_rows(folder, people):
    from cli_folder import discreet

    ran = discreet("fit mixture clinic.csv --schema clinic.toml --components 2 --steps 3 --epsilon 20 --out model.json")
    assert ran.code == 0, ran.err
    assert "log(income)" in ran.out
    assert "2022-" in ran.out
    for name in ("rows.csv", "rows.parquet"):
        made = discreet(f"sample model.json --rows 500 --out {name}")
        assert made.code == 0, made.err
    frame = pd.read_csv("rows.csv")
    assert frame.admitted.str.fullmatch(r"\d{4}-\d\d-\d\d").all()
    assert frame.income.between(1.0, 1e6).all()
    import pyarrow.parquet as pq

    assert str(pq.read_table("rows.parquet").schema.field("admitted").type) == "date32[day]"
    ran = discreet(
        "fit mixture clinic.csv --schema clinic.toml --columns age,income,admitted --steps 3 --epsilon 20 "
        "--out gaussians.json"
    )
    assert ran.code == 0, ran.err
    made = discreet("sample gaussians.json --rows 500 --clip --out gaussian.csv")
    assert made.code == 0, made.err
    frame = pd.read_csv("gaussian.csv")
    assert frame.admitted.between(LOW, HIGH).all()
    assert frame.income.between(1.0, 1e6).all()
    json.loads((folder / "gaussians.json").read_text())
    if LONG:  # a report of such columns is made above
        report = discreet("report model.json --compare clinic.csv --out report.html")
        assert report.code == 0, report.err
