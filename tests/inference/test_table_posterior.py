"""Posteriors of synthetic tables: what releases of a synthesizer leave open, against other ways to compute it."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.models.noisy_sums import noise_std
from discreet.models.synthesis import table_worlds
from discreet.models.synthesis.pairwise_model import PairwiseModel
from discreet.models.synthesis.table_rows import draw_columns
from discreet.models.synthesis.table_worlds import TableWorld
from discreet.noise import NotPrivateWarning
from effort import size
from short_fits import shorter_synthesis

ROWS = 4000


def fit(frame, columns, epsilon=1.0, **options):
    with shorter_synthesis(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return dp.TableSynthesizer(
            epsilon=epsilon, delta=1e-6, schema=dp.Schema(columns), random_state=0, **options
        ).fit(frame)


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], ROWS)
    ward = np.where(rng.random(ROWS) < np.where(sex == "m", 0.6, 0.3), "surgery", "medicine")
    ward[(sex == "f") & (rng.random(ROWS) < 0.3)] = "maternity"
    age = rng.normal(50.0, 15.0, ROWS).clip(16, 100).round()
    age[rng.random(ROWS) < 0.2] = np.nan
    frame = pd.DataFrame({"sex": sex, "ward": ward, "age": age, "stay": rng.lognormal(1.0, 0.5, ROWS).clip(0, 60)})
    columns = {
        "sex": dp.Category(["f", "m"]),
        "ward": dp.Category(["medicine", "surgery", "maternity"]),
        "age": dp.Number(16, 100),
        "stay": dp.Number(0, 60),
        "twice": dp.Number(0, 120),
    }
    frame["twice"] = 2.0 * frame["stay"]
    options = {"whole": ["age"], "zeros": [{"ward": "maternity", "sex": "m"}], "relations": {"twice": "2 * stay"}}
    return fit(frame, columns, **options)


def test_a_share_varies_by_its_sampling_and_its_noise():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "y", "z"], ROWS, p=[0.5, 0.3, 0.2])})
    model = fit(frame, {"a": dp.Category(["x", "y", "z"])}, epsilon=0.15)
    posterior = dp.infer(model, chains=4, draws=160, seed=0)
    noise = noise_std(model.releases_[0], "counts")
    shares = posterior.mean("a")
    expected = np.sqrt(shares * (1.0 - shares) / ROWS + noise**2 * (1.0 - 1.0 / 3.0) / ROWS**2)  # they sum to 1
    np.testing.assert_allclose(posterior.draws("a").std(axis=0), expected, rtol=7.0 / math.sqrt(2.0 * 640))
    assert 0.6 < noise**2 * 2.0 / 3.0 / (ROWS * 0.25) < 1.6  # without either part the test fails
    assert posterior.diagnostics.complaints == []
    assert posterior.guarantee == model.guarantee_


def test_rows_of_a_person_are_taken_to_be_alike():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"person": np.arange(2 * ROWS) // 2, "a": rng.choice(["x", "y"], 2 * ROWS)})
    with shorter_synthesis(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        schema = dp.Schema({"a": dp.Category(["x", "y"])}, unit="person", max_rows=2)
        model = dp.TableSynthesizer(epsilon=4.0, delta=1e-6, schema=schema, random_state=0).fit(frame)
    posterior = dp.infer(model, chains=1, draws=640, seed=0)
    noise, rows = noise_std(model.releases_[0], "counts"), posterior.rows
    expected = math.sqrt(2.0 * 0.25 / rows + 0.5 * noise**2 / rows**2)
    np.testing.assert_allclose(posterior.draws("a").std(axis=0), expected, rtol=7.0 / math.sqrt(2.0 * 640))
    assert posterior.which_rows == "at most 2 rows of each person"


def test_an_odds_ratio_varies_as_its_counts_do(monkeypatch):
    draws, chains = size(12, 60), 1000
    monkeypatch.setattr(table_worlds, "CHAINS", size(chains, table_worlds.CHAINS))
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, ROWS)
    b = rng.random(ROWS) < np.where(a == 1, 0.6, 0.4)
    model = fit(pd.DataFrame({"a": a, "b": b * 1}), {"a": dp.Category([0, 1]), "b": dp.Category([0, 1])}, 0.3)
    fits = model._open_posterior(np.random.default_rng(0))
    rng = np.random.default_rng(2)
    drawn = [fits.draw(rng).model.interactions[:2, 2:] for _ in range(draws)]
    ratios = np.array([one[0, 0] - one[0, 1] - one[1, 0] + one[1, 1] for one in drawn])
    counts = fits.targets.pairs[:2, 2:]
    expected = math.sqrt((1.0 / counts).sum() + fits.targets.noise[0, 1] * (1.0 / counts**2).sum())
    assert 0.4 < ratios.std(ddof=1) / expected < 1.6
    assert abs(ratios.mean() - math.log(0.6 / 0.4) * 2.0) < 6.0 * expected


def test_where_releases_say_nothing_a_draw_is_of_the_prior(visits):
    fits = visits._open_posterior(np.random.default_rng(0))
    solver = table_worlds.PosteriorSolver(fits.targets, fits.zeros)
    rng = np.random.default_rng(1)
    free = solver.shrink > 0.0
    means = np.array([(s.push / np.where(free, s.shrink, 1.0))[free] for s in quiet(solver, fits.targets, rng, 200)])
    np.testing.assert_allclose(means.std(axis=0), np.sqrt(solver.spread[free]), rtol=7.0 / math.sqrt(2.0 * 200))
    levels = np.array([s.level_push[solver.within] for s in quiet(solver, fits.targets, rng, 200)])
    spread = (solver.level_shrink * solver.one[None, :])[solver.within] * table_worlds.LEVEL
    np.testing.assert_allclose(levels.std(axis=0), spread, rtol=7.0 / math.sqrt(2.0 * 200))


def quiet(solver, targets, rng, number):
    """Yield disturbed solvers without the penalty on differences."""
    solver.smooth = np.zeros_like(solver.smooth)
    return [solver.disturb(targets, rng) for _ in range(number)]


def test_tables_keep_types_zeros_relations_and_gaps(visits, monkeypatch):
    monkeypatch.setattr(table_worlds, "CHAINS", 1000)
    monkeypatch.setattr(table_worlds, "SWEEPS", 20)
    posterior = dp.infer(visits, chains=1, draws=20, seed=0)
    tables = posterior.synthesize(3, 500, seed=1)
    assert [len(table) for table in tables] == [500] * 3
    for table in tables:
        assert list(table.columns) == ["sex", "ward", "age", "stay", "twice"]
        assert not ((table["ward"] == "maternity") & (table["sex"] == "m")).any()
        np.testing.assert_allclose(table["twice"], 2.0 * table["stay"])
        there = table["age"].dropna()
        assert (there == there.round()).all()
        assert 0.05 < table["age"].isna().mean() < 0.4
        assert table.dtypes.equals(visits.sample(500, random_state=0).dtypes)
    again = posterior.synthesize(3, 500, seed=1)
    assert all(one.equals(other) for one, other in zip(tables, again, strict=True))
    assert not tables[0].equals(tables[1])
    assert len(posterior.synthesize(1, seed=1)[0]) == ROWS
    combined = dp.combine(
        [(table["stay"].mean(), table["stay"].std() / math.sqrt(500)) for table in [*tables, *tables]]
    )
    assert np.isfinite(combined.standard_errors).all()


def test_quantities_are_shares_of_bins_and_correlations(visits):
    posterior = dp.infer(visits, chains=2, draws=10, seed=0)
    assert posterior.names == ("sex", "ward", "age", "stay", "correlations")
    for name in posterior.names[:4]:
        np.testing.assert_allclose(posterior.draws(name).sum(axis=1), 1.0)
    index = [str(one) for one in posterior.summary().index]
    assert {"sex[f]", "ward[maternity]", "age[missing]"} <= set(index)
    assert sum(one.startswith("stay[") for one in index) == len(posterior.mean("stay"))
    assert posterior.draws("correlations").shape == (20, 2, 2)
    assert "disturbed" in repr(posterior)
    assert posterior.plot("ward") is not None


def test_releases_that_a_curator_measured_and_those_of_a_file_are_read_alike():
    frame = pd.DataFrame({"a": np.arange(600) % 3})
    model = dp.TableSynthesizer(epsilon=1.0, schema=dp.Schema({"a": dp.Category([0, 1, 2])})).fit(frame)
    assert model.releases_[0].provenance == "measured"
    loaded = dp.TableSynthesizer.from_json(model.to_json())
    drawn = [dp.infer(one, chains=1, draws=5, seed=0).draws("a") for one in (model, loaded)]
    np.testing.assert_array_equal(drawn[0], drawn[1])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"public": np.zeros((3, 1))}, "public"),
        ({"rows": 100}, "rows"),
        ({"start": {}}, "start"),
        ({"likelihood": "exact"}, "likelihood"),
        ({"draws": 0}, "draws"),
    ],
)
def test_what_a_synthesizer_has_no_use_for_is_refused(visits, given, words):
    with pytest.raises(dp.ArgumentError, match=words):
        dp.infer(visits, **given)


def test_rows_of_a_draw_are_independent():
    starts = np.array([0, 2, 4])
    model = PairwiseModel(starts, np.zeros(4), np.zeros((4, 4)), np.zeros((0, 2), dtype=np.int64))
    world = TableWorld(model, [], None, np.tile(np.array([[0, 2]], dtype=np.int32), (100, 1)))
    rng = np.random.default_rng(0)
    counts = [(world.draw_rows(400, rng)[:, 0] == 0).sum() for _ in range(size(150, 3000))]
    ratio = np.var(counts) / 100.0  # n·p·(1 − p); evenly spread rows vary far less
    assert abs(ratio - 1.0) < 7.0 * math.sqrt(2.0 / len(counts))


def test_numbers_lean_towards_their_categories_within_bins(visits):
    fits = visits._open_posterior(np.random.default_rng(0))
    targets, model = fits.targets, fits.model
    stay, (sex, last) = int(targets.columns.starts[3]), targets.columns.starts[:2]
    w = targets.links.scores[:, 3]
    steep = np.outer(w, np.where(np.arange(len(w)) == sex, 1.0, -1.0) * (np.arange(len(w)) < last))
    leaning = replace(model, interactions=steep + steep.T)
    rng = np.random.default_rng(1)
    rows = np.repeat(fits.pool[:1], 4000, axis=0)
    rows[:, 3] = stay + 2
    rows[:2000, 0], rows[2000:, 0] = sex, sex + 1
    values = draw_columns(rows, fits.histograms, targets, rng, leaning)[3].values
    apart = (values[:2000].mean() - values[2000:].mean()) / values.std()
    assert apart > 7.0 * math.sqrt(4.0 / 4000)
    values = draw_columns(rows, fits.histograms, targets, rng, replace(model, interactions=0.0 * steep))[3].values
    assert abs(values[:2000].mean() - values[2000:].mean()) / values.std() < 7.0 * math.sqrt(4.0 / 4000)
