"""Answers behave as numbers, tables, plots and cells of a notebook, and no value lies outside of its own interval."""

from __future__ import annotations

import sys
from functools import cache
from itertools import product

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy.stats import binom

import discreet as dp
from discreet import mechanisms, signals
from discreet import statistics as st
from discreet.noise import SeededBits
from discreet.notebook import MOST_ROWS
from discreet.statistics.request import STATISTICS

mpl.use("Agg")
RNG = np.random.default_rng(3)
ROWS = pd.DataFrame(
    {
        "patient": np.arange(400) // 2,
        "age": RNG.integers(18, 91, 400).astype(float),
        "bmi": RNG.normal(26.0, 4.0, 400).clip(12.0, 60.0),
        "cost": RNG.lognormal(7.0, 1.0, 400),
        "seen": np.datetime64("2020-01-01") + RNG.integers(0, 1000, 400).astype("m8[D]"),
        "ward": RNG.choice(["a", "b"], 400),
        "sex": RNG.choice(["f", "m"], 400),
    }
)
COLUMNS = {
    "age": dp.Number(0, 120),
    "bmi": dp.Number(10, 80),
    "cost": dp.Number(1, 1e6, log=True),
    "seen": dp.Date("2020-01-01", "2022-12-31"),
    "ward": dp.Category(["a", "b"]),
    "sex": dp.Category(["f", "m"]),
}
SCHEMA = dp.Schema(COLUMNS)
PERSONS = dp.Schema(COLUMNS, unit="patient", max_rows=2)
HOW = {"epsilon": 1.0, "delta": 1e-6, "schema": SCHEMA}
GROUPS = ["ward", "sex"]

ANSWERS = {
    "count": lambda: st.count(ROWS, epsilon=1.0, schema=SCHEMA, neighbors="add-remove"),
    "count by": lambda: st.count(ROWS, by=GROUPS, **HOW),
    "bins": lambda: st.histogram(ROWS, "age", **HOW),
    "bins by": lambda: st.histogram(ROWS, "age", by="ward", **HOW),
    "log bins": lambda: st.histogram(ROWS, "cost", **HOW),
    "months": lambda: st.histogram(ROWS, "seen", bins="month", **HOW),
    "categories": lambda: st.histogram(ROWS, "ward", by="sex", **HOW),
    "sum": lambda: st.sum(ROWS, ["age", "bmi"], **HOW),
    "mean": lambda: st.mean(ROWS, "age", **HOW),
    "means by": lambda: st.mean(ROWS, ["age", "bmi", "cost", "seen"], by=GROUPS, **HOW),
    "date": lambda: st.mean(ROWS, "seen", by="ward", **HOW),
    "variance": lambda: st.variance(ROWS, ["age", "cost"], **HOW),
    "covariance": lambda: st.covariance(ROWS, ["age", "bmi"], by="sex", **HOW),
    "median": lambda: st.median(ROWS, "age", step=1, **HOW),
    "quantiles by": lambda: st.quantiles(ROWS, [0.1, 0.9], "age", by="ward", interval=0.9, **HOW),
    "no interval": lambda: st.quantiles(ROWS, [0.1, 0.9], "seen", interval=None, **HOW),
    "range": lambda: st.interquartile_range(ROWS, "age", **HOW),
    "std": lambda: st.std(ROWS, ["age", "seen"], **HOW),
    "correlation": lambda: st.correlation(ROWS, ["age", "bmi"], by="sex", **HOW),
    "geometric": lambda: st.geometric_mean(ROWS, ["cost", "bmi"], **HOW),
    "proportion": lambda: st.proportion(ROWS, "age >= 65", by="ward", **HOW),
    "mode": lambda: st.mode(ROWS, "ward", **HOW),
    "mode by": lambda: st.mode(ROWS, "ward", by="sex", **HOW),
    "min": lambda: st.min(ROWS, "seen", **HOW),
    "max": lambda: st.max(ROWS, "age", by=GROUPS, interval=None, **HOW),
    "table": lambda: st.crosstab(ROWS, "ward", "sex", **HOW),
    "table of means": lambda: st.crosstab(ROWS, "ward", "age", "bmi", bins=3, **HOW),
    "survival": lambda: st.survival(ROWS, "age", "sex", occurred="f", by="ward", grid=5, **HOW),
    "log rank": lambda: st.log_rank(ROWS, "age", "sex", "ward", occurred="f", grid=5, **HOW),
    "difference": lambda: st.difference(ROWS, "age", between="sex", **HOW),
    "ranks": lambda: st.rank_test(ROWS, "age", between="sex", **HOW),
    "association": lambda: st.chi_square(ROWS, "ward", by="sex", **HOW),
    "trend": lambda: st.trend(ROWS, "age", over="seen", **HOW),
    "schema": lambda: st.check_schema(ROWS, **HOW),
    "persons": lambda: st.count_persons(ROWS, epsilon=1.0, schema=PERSONS),
}


@cache
def answer_of(name):
    """Return an answer; always the same, so nobody changes it."""
    return ANSWERS[name]()


def reply(tmp_path, ask):
    db = dp.StatisticalDatabase(
        ROWS, schema=PERSONS, budget=dp.Guarantee(20.0, 1e-6), ledger=tmp_path / "ledger", name="clinic"
    )
    return ask(db)


# Numbers


def test_a_single_number_is_a_number(tmp_path):
    one = answer_of("mean")
    assert float(one) == one.value
    assert f"{one:.2f}" == f"{one.value:.2f}"
    assert f"{one}" == repr(one)
    answered = reply(tmp_path, lambda db: db.mean("age"))
    assert float(answered) == answered.value
    assert f"{answered:08.3f}" == f"{answered.value:08.3f}"
    assert f"{answered}" == repr(answered)


@pytest.mark.parametrize("name", ["count by", "bins by", "covariance", "quantiles by"])
def test_several_numbers_are_none_and_the_error_says_how_many(name):
    answer = answer_of(name)
    for use in (float, lambda one: f"{one:.2f}"):
        with pytest.raises(TypeError, match=f"expected a single number, and it has {answer.value.size} of them"):
            use(answer)
    assert f"{answer}" == repr(answer)


# Tables


@pytest.mark.parametrize("name", ANSWERS)
def test_a_frame_has_the_rows_of_the_table(name):
    answer = answer_of(name)
    level = 0.9 if name == "quantiles by" else 0.95
    table, frame = answer.table(level), answer.to_frame(level)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(table))
    pd.testing.assert_frame_equal(pd.DataFrame(answer), frame)
    assert len(frame) == len(table) >= 1


def test_a_reply_is_a_frame_too(tmp_path):
    answered = reply(tmp_path, lambda db: db.mean("age", by=GROUPS))
    frame = answered.to_frame(0.9)
    assert list(frame.columns) == ["ward", "sex", "value", "low", "high", "drowned", "which_rows"]
    pd.testing.assert_frame_equal(pd.DataFrame(answered), answered.to_frame())
    assert (answered.to_frame()["low"] < frame["low"]).all()


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    answer = answer_of("mean")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        answer.to_frame()


# What the interval is about

POPULATION = {
    "mean": lambda: st.mean(ROWS, "age", population=True, **HOW),
    "means by": lambda: st.mean(ROWS, ["age", "cost"], by="ward", population=True, **HOW),
    "loose": lambda: st.mean(ROWS, "age", loose=True, population=True, epsilon=1.0, schema=PERSONS),
    "variance": lambda: st.variance(ROWS, "age", population=True, **HOW),
    "std": lambda: st.std(ROWS, ["age", "bmi"], by="ward", population=True, **HOW),
    "covariance": lambda: st.covariance(ROWS, ["age", "bmi"], population=True, **HOW),
    "correlation": lambda: st.correlation(ROWS, ["age", "bmi"], population=True, **HOW),
}


@pytest.mark.parametrize("name", POPULATION)
def test_an_answer_asked_about_the_population_shows_that_interval_everywhere(name):
    answer = POPULATION[name]()
    assert answer.interval_of == "population"
    ends = [np.asarray(end) for end in answer.interval(0.9, of="population")]
    np.testing.assert_array_equal(answer.interval(0.9), ends)
    assert answer.table(0.9) == answer.table(0.9, of="population") != answer.table(0.9, of="rows")
    assert {row["interval_of"] for row in answer.table(0.9)} == {"population"}
    assert all("interval_of" not in row for row in answer.table(0.9, of="rows"))
    pd.testing.assert_frame_equal(answer.to_frame(0.9), pd.DataFrame(answer.table(0.9, of="population")))
    assert list(answer) == answer.table()
    assert "95 % intervals of the population" in answer._repr_html_()
    plot = answer._plot(0.9, answer.interval_of)
    assert "90 % intervals of the population" in plot.description
    assert "90 % intervals of the noise" in answer._plot(0.9, "rows").description


@pytest.mark.parametrize("name", ["bins", "median", "proportion", "difference", "association", "survival", "log rank"])
def test_any_answer_can_be_shown_with_intervals_about_the_population(name):
    answer = answer_of(name)
    assert answer.interval_of == ("population" if hasattr(answer, "p_value") else "rows")  # as the test is
    said = {answer.interval_of} if answer.speaks_of_population else {None}
    assert {row.get("interval_of") for row in answer.table()} == said
    assert {row["interval_of"] for row in answer.table(of="population")} == {"population"}
    assert set(answer.to_frame(of="population")["interval_of"]) == {"population"}
    answer.plot(of="population")
    with pytest.raises(ValueError, match="of='people': expected one of 'rows', 'population'"):
        answer.table(of="people")


def test_a_survival_plot_says_what_its_bands_are_about():
    assert "of the population" in answer_of("survival").plot().get_title()
    assert "of the noise" in answer_of("survival").plot(of="rows").get_title()


def test_a_reply_shows_the_interval_that_was_asked_for(tmp_path):
    answered = reply(tmp_path, lambda db: db.mean("age", population=True))
    assert answered.interval_of == "population"
    assert answered.table() == answered.table(of="population") == answered.to_frame().to_dict("records")
    assert answered.interval() == answered.interval(of="population") != answered.interval(of="rows")
    drawn = [np.ravel(answered.plot(**how).collections[0].get_segments()[0][:, 0]) for how in ({}, {"of": "rows"})]
    np.testing.assert_allclose(drawn, [answered.interval(), answered.interval(of="rows")])


# Plots


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_draws_itself_with_its_numbers(name):
    answer = answer_of(name)
    axes = np.atleast_1d(answer.plot())
    axes.flat[0].figure.canvas.draw()
    plot = answer._plot(answer._level, answer.interval_of)
    assert plot.description
    matrix = name in ("covariance", "correlation")
    shown = np.size(answer.value) if name != "trend" else np.size(answer.levels)  # of a trend its bins
    assert len(plot.facts.rows) == (6 if matrix else shown)  # of a matrix one half


def test_bars_stand_over_their_bins_and_lines_are_the_intervals():
    answer = answer_of("bins")
    ax = answer.plot(level=0.5)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, answer.value)
    np.testing.assert_allclose([bar.get_x() for bar in ax.patches], answer.edges[:-1])
    drawn = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(drawn.T, answer.interval(0.5))


def test_points_have_their_intervals_and_given_axes_are_used(tmp_path):
    ax = pyplot.subplots()[1]
    answered = reply(tmp_path, lambda db: db.mean("age", by="ward"))
    assert answered.plot(ax=ax) is ax
    np.testing.assert_allclose(ax.lines[-1].get_xdata(), answered.value)
    drawn = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(drawn.T, answered.interval())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]


def test_dates_are_drawn_as_dates():
    plot = answer_of("date")._plot(0.95, "rows")
    assert all(cell.startswith("202") for row in plot.facts.rows for cell in row[1:])


def test_more_numbers_than_fit_are_refused_in_words():
    many = dp.Schema({"x": dp.Number(0, 1000)})
    answer = st.histogram(pd.DataFrame({"x": [1.0]}), "x", bins=500, epsilon=1.0, schema=many)
    with pytest.raises(ValueError, match=r"at most 400 numbers to plot; it has 500, see to_frame\(\)"):
        answer.plot()


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    answer = answer_of("mean")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"discreet\[plot\]"):
        answer.plot()


# Notebooks


@pytest.mark.parametrize("name", ANSWERS)
def test_a_notebook_shows_values_intervals_cost_and_whose_rows(name):
    answer = answer_of(name)
    html = answer._repr_html_()
    assert "(ε=1, δ=" in html
    assert ("for each patient" if name == "persons" else "for each row") in html
    assert "NOT RECORDED in any ledger" in html
    rows = answer.table(answer._level)
    assert html.count("<tr>") == 1 + min(len(rows), MOST_ROWS)
    first = rows[0]["value"]
    assert (f"{first:.6g}" if isinstance(first, float) else first) in html
    assert answer.which_rows is None or answer.which_rows in html
    assert ("low" in rows[0]) == (" % intervals of the " in html)


def test_a_reply_in_a_notebook_says_what_is_left(tmp_path):
    html = reply(tmp_path, lambda db: db.mean("age", by="ward", where="bmi > 20"))._repr_html_()
    assert "mean of age by ward" in html
    assert "at most 2 rows of each patient, where bmi &gt; 20" in html
    assert "10.0% of the budget; 90.0% is left" in html


def test_nothing_becomes_markup_and_long_answers_are_cut():
    hostile = "<script>alert(1)</script>"
    schema = dp.Schema({hostile: dp.Category([hostile, *range(40)])})
    html = st.histogram(pd.DataFrame({hostile: [hostile] * 50}), hostile, epsilon=1.0, schema=schema)._repr_html_()
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") >= 2
    assert html.count("<tr>") == 1 + MOST_ROWS
    assert "… and 11 more rows" in html


def test_other_answers_are_shown_as_text():
    ages = ROWS["age"].to_numpy()
    one = mechanisms.output_perturbation(
        lambda rows: float(rows.mean()), ages, sensitivity=1.0, epsilon=1.0, bounds=(0, 120), output=(0, 120)
    )
    assert f"{float(one):.6g}" in one._repr_html_()
    assert f"{one:.1f}" == f"{one.value:.1f}"
    density = st.density(ages, epsilon=1.0, bounds=(0, 120))
    assert "density of x0" in density._repr_html_()
    series = signals.running_sum(np.arange(50.0), time=0, steps=20, bounds=(0, 50), epsilon=1.0)
    assert "(ε=1, δ=" in series._repr_html_()
    with pytest.raises(TypeError, match="single number"):
        float(series)


# Counts


SMALL = {"epsilon": 0.05, "schema": SCHEMA}


@pytest.mark.parametrize(
    "ask",
    [
        lambda **how: st.histogram(ROWS[:5], "age", bins=20, by="ward", **how),
        lambda **how: st.count(ROWS[:5], by=GROUPS, **how),
        lambda **how: st.check_schema(ROWS[:5], **how),
        lambda **how: st.count_persons(ROWS[:5], **how | {"schema": PERSONS}),
    ],
)
def test_no_count_lies_outside_of_its_own_interval(ask, seeded):
    answers = [ask(**SMALL, bits=seeded(seed)) for seed in range(20)]
    assert min(answer.value.min() for answer in answers) < -20.0  # noise far below 0 was there
    for answer, level in product(answers, [0.0, 0.5, 0.95]):
        for one in (answer, answer.whole()):
            low, high = one.interval(level)
            assert (low <= one.value).all()
            assert (one.value <= high).all()
            np.testing.assert_array_equal(one.whole().value, answer.whole().value)
        whole = answer.whole()
        assert (whole.value >= 0.0).all()
        assert (whole.interval(level)[0] >= 0.0).all()
        for part in (whole.value, *whole.interval(level)):
            np.testing.assert_array_equal(part, np.rint(part))
        np.testing.assert_array_equal(whole.measured, answer.value)


def test_whole_intervals_still_hold_the_counts(seeded):
    truth = np.histogram(ROWS["age"], [0, 30, 60, 120])[0]
    misses = 0
    for seed in range(200):
        answer = st.histogram(ROWS, "age", bins=[0, 30, 60, 120], epsilon=0.1, schema=SCHEMA, bits=seeded(seed))
        low, high = answer.whole().interval(0.9)
        misses += ((truth < low) | (high < truth)).sum()
    assert binom.ppf(1e-10, 600, 0.1) <= misses <= binom.isf(1e-10, 600, 0.1)


def test_a_reply_is_made_whole_if_it_has_counts(tmp_path):
    answered = reply(tmp_path, lambda db: db.histogram("age", bins=5))
    whole = answered.whole()
    assert whole.value.min() >= 0.0
    assert whole.cost == answered.cost
    with pytest.raises(TypeError, match="expected counts, and this is the mean of age"):
        reply(tmp_path, lambda db: db.mean("age")).whole()


@pytest.mark.parametrize(
    ("column", "bins", "labels"),
    [
        ("age", [0, 18, 65, 120], ("[0, 18)", "[18, 65)", "[65, 120]")),
        ("age", [17, 30, 90], ("[0, 30)", "[30, 120]")),  # what lies beyond the edges counts there
        ("age", [-10, 50.5, 200], ("[-10, 50.5)", "[50.5, 200]")),
        ("cost", 2, ("[1, 1000)", "[1000, 1000000]")),
        ("seen", 2, ("[2020-01-01, 2021-07-02)", "[2021-07-02, 2023-01-01)")),
        ("seen", ["2020-01-01", "2021-01-01", "2022-01-01"], ("[2020-01-01, 2021-01-01)", "[2021-01-01, 2022-12-31]")),
    ],
)
def test_a_bin_says_which_ends_it_holds(column, bins, labels):
    answer = st.histogram(ROWS, column, bins=bins, epsilon=1.0, schema=SCHEMA)
    assert answer.bin_labels == labels
    assert tuple(row[column] for row in answer.table()) == labels == tuple(answer.to_dict())


def test_the_edge_belongs_to_the_bin_above_and_the_last_bin_holds_its_end():
    rows = pd.DataFrame({"age": [18.0] * 30 + [65.0] * 20 + [120.0] * 10 + [0.0] * 5})
    answer = st.histogram(rows, "age", bins=[0, 18, 65, 120], epsilon=1e6, bounds={"age": (0, 120)})
    assert answer.whole().to_dict() == {"[0, 18)": 5.0, "[18, 65)": 30.0, "[65, 120]": 30.0}


def test_every_statistic_has_an_answer_here():
    asked = {name for ask in ANSWERS.values() for name in ask.__code__.co_names}
    others = {"density", "m_estimate", "huber_location", "trimmed_mean", "quantile"}  # no tables, or as another one
    assert set(STATISTICS) - asked == others


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_a_loose_mean_says_what_it_cut(neighbors, tmp_path):
    rows = pd.DataFrame({"cost": np.random.default_rng(0).lognormal(3.0, 1.2, 30_000)})
    how = {"bounds": {"cost": (0, 1e6)}, "neighbors": neighbors}
    result = st.mean(rows, "cost", epsilon=3.0, loose=True, **how)
    (note,) = result.notes
    (row,) = result.table()
    top = float(np.asarray(result.bounds[0].high)[0])
    assert row["cut_above"] == top < 1e6
    assert (rows["cost"] > top).mean() <= result._cut  # what the note says
    for shown in (note, repr(result), result._repr_html_()):
        assert f", {top:.6g}], a range found with noise" in shown
        assert f"{100 * result._cut:.2g} %" in shown
    assert st.mean(rows, "cost", epsilon=3.0, **how).notes == ()
    few = st.mean(rows[:100], "cost", epsilon=0.1, loose=True, **how)
    assert "may miss most rows" in few.notes[-1] or "nothing was cut" in few.notes[-1]  # where it drew both bounds
    db = dp.StatisticalDatabase(
        rows, **how, budget=dp.Guarantee(10.0, 1e-6, neighbors), ledger=tmp_path / "l", name="costs"
    )
    reply = db.mean("cost", loose=True, epsilon=3.0)
    assert "a range found with noise" in repr(reply)
    assert "a range found with noise" in reply._repr_html_()


@pytest.mark.filterwarnings("ignore::discreet.noise.bits.NotPrivateWarning")
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_mean_that_noise_has_drowned_says_so_with_its_interval(delta):
    rows = pd.DataFrame({"x": [3.0] * 4000, "y": [0.1] * 4000, "g": ["a", "b"] * 2000})
    schema = dp.Schema({"x": dp.Number(0, 9), "y": dp.Number(0, 1), "g": dp.Category(["a", "b", "empty"])})
    for seed in range(5):
        how = {"epsilon": 1.0, "delta": delta, "bits": SeededBits(seed)}
        result = st.mean(rows, ["x", "y"], by="g", schema=schema, **how)
        low, high = result.interval(0.95)
        hidden = (low == 0.0) & (high == [9.0, 1.0])
        assert not hidden[:2].any()
        np.testing.assert_array_equal(result.drowned(), hidden)
        texts = ("x of empty in [0, 9]", "y of empty in [0, 1]")
        named = ", ".join(text for text, one in zip(texts, hidden[2], strict=True) if one)
        assert result.notes == ((f"drowned by noise: {named}",) if named else ())
        assert all(note in repr(result) for note in result.notes)
        assert st.mean(rows["x"], bounds=(0, 9), **how).notes == ()
        few = st.mean(rows["x"][:1], bounds=(0, 9), **how)
        assert few.notes == (("drowned by noise: x in [0, 9]",) if few.interval(0.95) == (0.0, 9.0) else ())


@pytest.mark.filterwarnings("ignore::discreet.noise.bits.NotPrivateWarning")
def test_drowned_dates_groups_and_cells_are_named_with_their_intervals():
    few = {"epsilon": 1e-4, "schema": SCHEMA, "bits": SeededBits(103)}  # 19 of 20 numbers are drowned
    date = st.mean(ROWS, "seen", by=["ward", "sex"], **few)
    assert "drowned by noise: seen of a, f in [2020-01-01, 2022-12-31]" in repr(date)
    assert "and 1 more" in repr(date)  # of four groups
    table = st.crosstab(ROWS, "ward", "sex", "age", **few)
    assert table.drowned().all()
    assert "drowned by noise: age of a of f in [0, 120]" in repr(table)
    assert "drowned by noise: age of a of f in [0, 120]" in table._repr_html_()
    asked = st.mean(ROWS, "age", population=True, **few)
    assert asked.notes == ("drowned by noise: age in [0, 120]",)
    assert st.correlation(ROWS, ["age", "bmi"], by="ward", **few).notes == (
        "drowned by noise: age with bmi of a in [-1, 1], age with bmi of b in [-1, 1]",
    )


TABLED = {
    "density": lambda: st.density(ROWS, "age", **HOW),
    "density of dates": lambda: st.density(ROWS, "seen", **HOW),
    "location": lambda: st.huber_location(ROWS, "age", scale=15.0, bins=40, **HOW),
    "location of dates": lambda: st.huber_location(ROWS, "seen", scale=200.0, bins=40, **HOW),
    "locations": lambda: st.m_estimate(ROWS, ["age", "bmi"], k=10.0, bins=8, **HOW),
    "own loss": lambda: st.m_estimate(
        ROWS, ["age", "bmi"], loss=lambda x, t: (x[:, 1] - t[0]) ** 2, within=[(10, 80)], bins=8, **HOW
    ),
}


@pytest.mark.parametrize("name", TABLED)
def test_densities_and_robust_locations_are_frames_and_plots_too(name, monkeypatch):
    answer = TABLED[name]()
    if name == "own loss":  # whose bootstrap takes seconds
        monkeypatch.setattr(st.MEstimate, "interval", lambda self, level: (self.value - level, self.value + level))
    frame = answer.to_frame(0.9)
    assert frame.equals(pd.DataFrame(answer.table(0.9)))
    assert pd.DataFrame(answer).shape == frame.shape == (np.size(answer.value), 5)
    assert list(frame.columns[1:]) == ["value", "low", "high", "which_rows"]
    assert isinstance(frame["value"][0], str) == (name == "location of dates")
    assert (frame["low"] <= frame["value"]).all()
    assert (frame["value"] <= frame["high"]).all()
    _, axes = pyplot.subplots()
    assert answer.plot(level=0.9, ax=axes) is axes
    pyplot.close("all")
    for wrong, names in (({"level": 2.0}, "level"), ({"ax": 3}, "ax")):
        with pytest.raises(ValueError, match=names):
            answer.plot(**wrong)
