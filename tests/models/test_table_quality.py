"""What is expected of a synthetic table, from its releases alone, is what rows then show."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.models.synthesis.table_quality import estimate_spread
from effort import size
from short_fits import shorter_synthesis

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

ROWS = 20_000
LETTERS = list("abcd")


def table() -> tuple[pd.DataFrame, dp.Schema]:
    """Return two tied categories, one that is independent, and two tied numbers."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, ROWS)
    second = np.where(rng.random(ROWS) < 0.5, first, rng.integers(0, 4, ROWS))
    x = rng.normal(50.0, 15.0, ROWS)
    frame = pd.DataFrame(
        {
            "first": np.take(LETTERS, first),
            "second": np.take(LETTERS, second),
            "alone": np.take(LETTERS, rng.integers(0, 4, ROWS)),
            "x": x,
            "y": 0.8 * x + 0.6 * rng.normal(50.0, 15.0, ROWS),
        }
    )
    labels = {name: dp.Category(LETTERS) for name in ("first", "second", "alone")}
    return frame, dp.Schema(labels | {"x": dp.Number(0, 100), "y": dp.Number(0, 150)})


@cache
def fitted(epsilon: float) -> tuple[dp.TableSynthesizer, pd.DataFrame]:
    frame, schema = table()
    model = dp.TableSynthesizer(epsilon=epsilon, schema=schema, neighbors="add-remove", random_state=0)
    with shorter_synthesis():
        return model.fit(frame), frame


def test_it_sees_what_is_there_and_nothing_else():
    quality = fitted(1.0)[0].quality()
    seen = {frozenset((one.first, one.second)) for one in quality if one.seen}
    assert seen == {frozenset(("first", "second")), frozenset(("x", "y"))}
    strength = {frozenset((one.first, one.second)): one.association for one in quality}
    assert strength[frozenset(("first", "second"))] == pytest.approx(0.5, abs=0.05)  # Cramér's V
    assert strength[frozenset(("x", "y"))] == pytest.approx(0.8, abs=0.08)  # rank correlation
    assert max(value for pair, value in strength.items() if pair not in seen) < 0.1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 0.3][: size(2, 3)])
def test_expected_distances_of_categories_are_those_of_synthetic_rows(epsilon):
    model, frame = fitted(epsilon)  # always the same, so nobody changes it
    quality, drawn = model.quality(), model.sample(size(30_000, 100_000), random_state=1)
    expected, found = [], []
    for i, j in combinations(range(3), 2):
        names = list(model.columns_[i : i + 1] + model.columns_[j : j + 1])
        real, synthetic = (rows.value_counts(names, normalize=True) for rows in (frame, drawn))
        expected.append(quality.pair_errors[i, j])
        found.append(0.5 * real.sub(synthetic, fill_value=0.0).abs().sum())
    assert 0.4 < np.mean(found) / np.mean(expected) < 2.5


def test_less_budget_is_expected_to_be_worse_and_numbers_have_an_error_of_their_correlation():
    more, less = fitted(1.0)[0].quality(), fitted(0.1)[0].quality()
    upper = np.triu_indices(5, 1)
    assert (less.pair_errors[upper] > more.pair_errors[upper]).all()
    assert (less.column_errors > more.column_errors).all()
    numbers = np.isfinite(more.correlation_errors[upper])
    assert numbers.sum() == 1
    assert 0.0 < more.correlation_errors[3, 4] < less.correlation_errors[3, 4] < 0.2


def test_it_follows_from_the_file_alone_and_can_be_shown():
    model = fitted(1.0)[0]
    again = dp.TableSynthesizer.from_json(model.to_json()).quality()
    assert np.array_equal(again.pair_errors, model.quality().pair_errors, equal_nan=True)
    assert "2 of 10 pairs are more than noise, the strongest x and y" in repr(again)
    assert len(again.to_frame()) == 10
    assert "&lt;" not in again._repr_html_()


def test_one_column_has_a_quality_too():
    frame, schema = table()
    model = dp.TableSynthesizer(schema=dp.Schema({"alone": schema["alone"]}), random_state=0).fit(frame[["alone"]])
    quality = model.quality()
    assert list(quality) == []
    assert 0.0 < quality.column_errors[0] < 0.05
    assert "one column" in repr(quality)


def test_the_spread_of_a_table_is_found_beside_its_noise():
    rng = np.random.default_rng(1)
    n = np.full((40, 40), 100.0)
    for spread, noise in ((0.04, 25.0), (0.25, 400.0), (0.0, 100.0)):
        y = n + np.sqrt(spread) * n * rng.normal(size=n.shape) + np.sqrt(noise) * rng.normal(size=n.shape)
        assert estimate_spread(n, y, noise) == pytest.approx(spread, abs=0.2 * spread + 0.002)  # 20 %: six deviations
