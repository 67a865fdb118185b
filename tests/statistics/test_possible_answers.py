"""Values and intervals stay within what the declarations allow, and answers say where noise has drowned them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import statistics
from discreet.noise import SeededBits
from effort import size

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

SCHEMA = dp.Schema(
    {
        "stay": dp.Number(0, 60),
        "cost": dp.Number(10, 1000, log=True),
        "day": dp.Date("2023-01-01", "2023-12-31"),
        "arm": dp.Category(["new", "old"]),
        "back": dp.Category(["no", "yes"]),
    }
)
RNG = np.random.default_rng(0)
VISITS = pd.DataFrame(
    {
        "patient": np.arange(600) // 3,
        "stay": RNG.uniform(0.0, 60.0, 600),
        "cost": RNG.lognormal(5.0, 1.0, 600),
        "day": np.datetime64("2023-01-01") + RNG.integers(0, 365, 600),
        "arm": RNG.choice(["new", "old"], 600),
        "back": RNG.choice(["no", "yes"], 600),
    }
)
LOG_WIDTH = float(np.log(100.0))

# A question, and the least and the greatest number that the declarations allow.
QUESTIONS = {
    "mean": (lambda **k: statistics.mean(VISITS, "stay", **k), 0.0, 60.0),
    "mean of a population": (lambda **k: statistics.mean(VISITS, "stay", population=True, **k), 0.0, 60.0),
    "geometric mean": (lambda **k: statistics.mean(VISITS, "cost", **k), 10.0, 1000.0),
    "median": (lambda **k: statistics.median(VISITS, "stay", **k), 0.0, 60.0),
    "worst-case": (lambda **k: statistics.median(VISITS, "stay", interval_kind="worst-case", **k), 0.0, 60.0),
    "range": (lambda **k: statistics.interquartile_range(VISITS, "stay", **k), 0.0, 60.0),
    "proportion": (lambda **k: statistics.proportion(VISITS, "back", of="yes", **k), 0.0, 1.0),
    "variance": (lambda **k: statistics.variance(VISITS, "stay", **k), 0.0, 900.0),
    "variance of a population": (lambda **k: statistics.variance(VISITS, "stay", population=True, **k), 0.0, 900.0),
    "std": (lambda **k: statistics.std(VISITS, "stay", **k), 0.0, 30.0),
    "std of logarithms": (lambda **k: statistics.std(VISITS, "cost", **k), 0.0, LOG_WIDTH / 2.0),
    "difference": (lambda **k: statistics.difference(VISITS, "stay", between="arm", **k), -60.0, 60.0),
    "share": (lambda **k: statistics.difference(VISITS, "back", of="yes", between="arm", **k), -1.0, 1.0),
    "rank test": (lambda **k: statistics.rank_test(VISITS, "stay", between="arm", **k), 0.0, 1.0),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_noise_has_drowned_has_all_that_is_possible_and_says_so(name):
    ask, least, most = QUESTIONS[name]
    seen = set()
    for seed in range(size(3, 6)):
        answer = ask(epsilon=2e-4, schema=SCHEMA, bits=SeededBits(seed))
        (row,) = answer.to_frame().to_dict("records")
        assert least <= row["low"] <= row["value"] <= row["high"] <= most * (1.0 + 1e-12)
        full = row["low"] == least and row["high"] >= most * (1.0 - 1e-12)
        full |= row["value"] == 0.0 and name.startswith(("variance", "std"))
        assert bool(answer.drowned()) == full == row["drowned"] == ("drowned by noise" in repr(answer))
        assert any(note.startswith("drowned by noise") for note in answer.notes) == full
        seen.add(full)
    clear = ask(epsilon=20.0, schema=SCHEMA, bits=SeededBits(0))
    assert True in seen or name == "rank test"  # whose interval is as wide as the noise around its value
    assert not clear.drowned()
    assert not any(note.startswith("drowned") for note in clear.notes)


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("bounds", [dp.Box([0.0, -5.0], [60.0, 5.0]), dp.Box([0.0, 0.0], [1.0, 1.0])])
def test_covariances_are_possible_within_the_bounds(bounds, population):
    rows = np.random.default_rng(1).uniform(bounds.low, bounds.high, (30, 2))
    widths = np.asarray(bounds.high) - np.asarray(bounds.low)
    most = np.outer(widths, widths) / 4.0
    for seed in range(20):
        answer = statistics.covariance(rows, epsilon=0.2, bounds=bounds, population=population, bits=SeededBits(seed))
        assert (np.abs(answer.value) <= most * (1.0 + 1e-12)).all()
        assert np.linalg.eigvalsh(answer.value / most).min() > -1e-12
        low, high = answer.interval()
        assert (low >= np.where(np.eye(2) == 1.0, 0.0, -most)).all()
        assert (high <= most).all()
        assert (low <= answer.value + 1e-9).all()
    assert "x0 with x1 in" in repr(answer)


def test_a_test_has_intervals_about_the_population_that_agree_with_its_p_value():
    for seed in range(size(8, 20)):
        answer = statistics.difference(VISITS, "stay", between="arm", epsilon=5.0, schema=SCHEMA, bits=SeededBits(seed))
        (row,) = answer.table()
        assert row["interval_of"] == answer.interval_of == "population"
        assert (row["low"] <= 0.0 <= row["high"]) == (row["p_value"] >= 0.05)
        (rows,) = answer.table(of="rows")
        assert rows["interval_of"] == "rows"
        assert rows["high"] - rows["low"] < row["high"] - row["low"]


@pytest.mark.parametrize("rows", [1, 2])
def test_a_note_says_where_the_column_that_chooses_rows_is_asked_about(rows):
    declared = {"epsilon": 1.0, "schema": SCHEMA, "unit": "patient", "max_rows": rows}
    asked = [
        lambda **k: statistics.trend(VISITS, over="day", **declared, **k),
        lambda **k: statistics.histogram(VISITS, "day", bins="month", **declared, **k),
        lambda **k: statistics.median(VISITS, "day", **declared, **k),
        lambda **k: statistics.crosstab(VISITS, "arm", "day", bins=2, **declared, **k),
        lambda **k: statistics.proportion(VISITS, "day >= '2023-06-01'", **declared, **k),
    ]
    first = "first row of each" if rows == 1 else "first 2 rows of each"
    for ask in asked:
        answer = ask(order="day")
        assert any("day also chooses the rows that count" in note and first in note for note in answer.notes)
        assert "day also chooses" in repr(answer)
        assert not any("chooses" in note for note in ask().notes)
    other = statistics.mean(VISITS, "stay", order="day", **declared)
    assert not any("chooses" in note for note in other.notes)


@pytest.mark.parametrize(("step", "bounds"), [(1, (1, 5)), (None, (0, 60))])
def test_a_median_of_equal_values_has_a_narrow_interval(step, bounds):
    scores = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], [250, 500, 1000, 2000, 1250]) if step else np.full(2000, 3.0)
    for seed in range(5):
        answer = statistics.median(scores, epsilon=0.5, bounds=bounds, step=step, bits=SeededBits(seed))
        low, high = answer.interval()
        assert low <= (4.0 if step else 3.0 + 1e-6)
        assert high >= (4.0 if step else 3.0 - 1e-6)
        assert high - low <= 1.0


def test_bins_of_categories_are_refused():
    how = {"epsilon": 1.0, "schema": SCHEMA}
    for ask in (
        lambda: statistics.histogram.plan(VISITS, "arm", bins=3, **how),
        lambda: statistics.histogram.plan(VISITS, ["arm", "stay"], bins={"arm": 3}, **how),
        lambda: statistics.crosstab.plan(VISITS, "arm", "back", bins=3, **how),
        lambda: statistics.chi_square.plan(VISITS, "back", by="arm", bins=3, **how),
        lambda: statistics.rank_test.plan(VISITS, "back", between="arm", bins=3, **how),
    ):
        with pytest.raises(ValueError, match="categories are counted one by one"):
            ask()
    assert statistics.histogram(VISITS, ["arm", "stay"], bins=4, **how)["stay"].value.shape == (4,)


def test_what_is_shown_names_bins_and_what_is_compared():
    how = {"epsilon": 5.0, "schema": SCHEMA}
    assert "{'[0, 30)': " in repr(statistics.histogram(VISITS, "stay", bins=2, **how))
    assert "Cramér's V of stay in 10 bins and arm" in repr(statistics.chi_square(VISITS, "stay", by="arm", **how))
    labels = {
        "stay, new less old": statistics.difference(VISITS, "stay", between="arm", **how),
        "day": statistics.trend(VISITS, "stay", over="day", **how),
        "Cramér's V of back and arm": statistics.chi_square(VISITS, "back", by="arm", **how),
    }
    for label, answer in labels.items():
        assert answer.plot().get_xlabel() == label


def test_a_spread_of_zero_is_said_to_be_hidden():
    """Noise took it away, while the interval has not all that is possible: rows of one value, and of none."""
    rows = pd.DataFrame({"x": [40.0] * 3000, "g": ["a"] * 3000})
    schema = dp.Schema({"x": dp.Number(0, 100), "g": dp.Category(["a", "b"])})
    for ask in (statistics.std, statistics.variance):
        found = [ask(rows, "x", by="g", epsilon=1.0, schema=schema, bits=SeededBits(seed)) for seed in range(8)]
        zero = [np.asarray(one.value) == 0.0 for one in found]
        assert any(one.any() for one in zero)
        for one, hidden in zip(found, zero, strict=True):
            assert one.drowned()[hidden].all()
            low, high = one.interval()
            partly = hidden & (high < (50.0 if ask is statistics.std else 2500.0))
            assert all(f"x of {'ab'[place]} in [0, {high[place]:.6g}]" in repr(one) for place in np.flatnonzero(partly))
    alone = statistics.std(rows, "x", epsilon=1.0, schema=schema, bits=SeededBits(1))
    low, high = alone.interval()
    assert f"({low:.6g} to {high:.6g} at 95 %, noise alone)" in repr(alone)
