"""Comparisons: tests have their level whatever the noise is, find what is there, and agree with their intervals."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discreet as dp
from discreet import statistics as st
from discreet.noise import GaussianNoise, LaplaceNoise, NotPrivateWarning, SeededBits
from discreet.statistics.comparisons.associations import CrossTab, cramers_v
from discreet.statistics.comparisons.contrasts import BINARY, Contrast, standard_draws
from discreet.statistics.comparisons.measured import SQUARES, SUM
from discreet.statistics.comparisons.rank_tests import rank_contrast, rank_interval, superiority
from discreet.statistics.request import Request
from effort import crossed, size
from goodness import least_successes, often

pytestmark = pytest.mark.filterwarnings(f"ignore::{NotPrivateWarning.__module__}.{NotPrivateWarning.__name__}")

GRID = np.linspace(0.0, 1.0, 51)
CELLS = np.stack([(1.0 - GRID) ** 2, 2.0 * GRID * (1.0 - GRID), GRID**2], axis=1)
SHAPES = {"normal": np.exp(-(((GRID - 0.5) / 0.15) ** 2) / 2.0), "skewed": np.exp(-GRID / 0.08)}
PAIR = np.array([1.0, 0.0])
RUNS, DRAWS = size(1000, 10_000), 999
# A test at 5 % rejects in at most 6 % of all samples; with that rate, more than MOST of them has a probability of 1e-9.
MOST = stats.binom.isf(1e-9, RUNS, 0.06) / RUNS

COLUMNS = {
    "score": dp.Number(0, 100),
    "cost": dp.Number(1, 1e5, log=True),
    "arm": dp.Category(["new", "old", "none"]),
    "ill": dp.Category(["no", "yes"]),
    "day": dp.Date("2020-01-01", "2021-12-31"),
}


def of_means(cells, noise, copies=1):
    return Contrast(cells, PAIR, np.array(SUM), np.array(SQUARES), noise, copies, None, DRAWS)


def rejected(values):
    return float((values <= 0.05).mean())


def in_pieces(test, cells, noise, pieces=4):
    return np.concatenate([test(part, noise).exceedance() for part in np.array_split(cells, pieces)])


KINDS = ["normal", "skewed", "shares", "ranks", "trend", "counts"]
NOISES = [LaplaceNoise(20.0), LaplaceNoise(2.0), LaplaceNoise(0.7), GaussianNoise(8.0)]
LOUD = [(kind, 500, NOISES[0]) for kind in ("normal", "trend")]  # without regard to the noise these would reject


@pytest.mark.parametrize(
    ("kind", "n", "noise"), list(dict.fromkeys([*LOUD, *crossed(KINDS, [50, 500, 50_000], NOISES)])), ids=str
)
def test_levels_hold_for_few_and_many_rows_and_any_noise(kind, n, noise):
    rng = np.random.default_rng(1)
    if kind == "shares":
        exact = np.stack([rng.multinomial(part, [0.7, 0.3], RUNS) for part in (n // 2, n - n // 2)], axis=1)

        def test(cells, noise):
            return Contrast(cells, PAIR, np.array(BINARY), np.array(BINARY), noise, 1, None, DRAWS)

    elif kind == "counts":
        exact = rng.multinomial(n, np.full(12, 1 / 12), RUNS)[:, :, None]

        def test(cells, noise):
            return Contrast(cells, np.arange(12.0) - 5.5, np.ones(1), np.ones(1), noise, 1, np.ones(12), DRAWS)

    else:
        shares = SHAPES.get(kind, SHAPES["normal"])
        groups = 12 if kind == "trend" else 2
        rows = rng.multinomial(n // groups, shares / shares.sum(), (RUNS, groups))
        if kind == "ranks":
            exact = np.stack([part.sum(axis=-1) for part in np.array_split(rows, 8, axis=-1)], axis=-1)
        else:
            exact = rows @ CELLS

        def test(cells, noise):
            if kind == "ranks":
                return rank_contrast(cells, noise, 1, DRAWS)
            if kind == "trend":
                scores = np.array(SUM), np.array(SQUARES)
                return Contrast(cells, np.arange(12.0) - 5.5, *scores, noise, 1, None, DRAWS)
            return of_means(cells, noise)

    cells = exact + noise.simulate(rng, exact.shape)
    assert rejected(in_pieces(test, cells, noise)) <= MOST
    if (kind, n, noise) in LOUD:
        assert rejected(in_pieces(test, cells, LaplaceNoise(1e-3))) > 0.2


@pytest.mark.parametrize("noise", [LaplaceNoise(20.0), LaplaceNoise(0.7), GaussianNoise(8.0)], ids=str)
@pytest.mark.parametrize("n", [50, 5_000])
def test_the_level_of_a_test_of_independence_holds(n, noise):
    rng = np.random.default_rng(2)
    runs = size(400, 4000)
    shares = np.outer([0.5, 0.3, 0.2], [0.6, 0.4])
    cells = rng.multinomial(n, shares.ravel(), runs).reshape(runs, 3, 2) + noise.simulate(rng, (runs, 3, 2))
    values = np.array([CrossTab(one, noise, n, 1, 199).p_value for one in cells])
    assert rejected(values) <= stats.binom.isf(1e-9, runs, 0.06) / runs


@pytest.mark.parametrize("kind", ["means", "ranks", "tables", "counts"])
def test_rows_of_one_person_that_are_alike_do_not_make_a_test_reject(kind):
    rng, noise, copies = np.random.default_rng(3), LaplaceNoise(4.0), 4
    shares = SHAPES["normal"] / SHAPES["normal"].sum()
    if kind == "tables":
        persons = rng.multinomial(500, [0.3, 0.2, 0.3, 0.2], 400).reshape(400, 2, 2)
        cells = persons * copies + noise.simulate(rng, (400, 2, 2))
        careful, careless = (
            rejected(np.array([CrossTab(one, noise, None, rows, 199).p_value for one in cells])) for rows in (copies, 1)
        )
        assert careful <= stats.binom.isf(1e-9, 400, 0.06) / 400
    else:
        persons = rng.multinomial(250, shares, (RUNS, 2))
        exact = copies * (persons @ CELLS)
        if kind == "ranks":
            exact = copies * np.stack([part.sum(axis=-1) for part in np.array_split(persons, 8, axis=-1)], axis=-1)
        if kind == "counts":
            exact = copies * rng.multinomial(500, np.full(12, 1 / 12), RUNS)[:, :, None]
        cells = exact + noise.simulate(rng, exact.shape)

        def test(rows):
            if kind == "ranks":
                return rank_contrast(cells, noise, rows, DRAWS)
            if kind == "counts":
                return Contrast(cells, np.arange(12.0), np.ones(1), np.ones(1), noise, rows, np.ones(12), DRAWS)
            return of_means(cells, noise, rows)

        careful, careless = (rejected(test(rows).exceedance()) for rows in (copies, 1))
        assert careful <= MOST
    assert careless > 0.15


def test_without_noise_the_tests_are_the_usual_ones():
    rng, little = np.random.default_rng(4), LaplaceNoise(1e-6)
    shares = SHAPES["normal"] / SHAPES["normal"].sum()
    first, second = rng.choice(GRID, 60, p=shares), rng.choice(GRID, 40, p=shares)

    def cells(values):
        return np.stack([(1.0 - values) ** 2, 2.0 * values * (1.0 - values), values**2]).sum(axis=1)

    welch = stats.ttest_ind(first, second + 0.05, equal_var=False).pvalue
    ours = Contrast(
        np.stack([cells(first), cells(second + 0.05)]), PAIR, np.array(SUM), np.array(SQUARES), little
    ).exceedance()
    assert float(ours) == pytest.approx(welch, rel=0.15, abs=0.02)
    counts = np.stack([np.histogram(values, 51, (-0.01, 1.01))[0] for values in (first, second)]).astype(float)
    ranks = stats.mannwhitneyu(first, second, use_continuity=False)
    assert float(rank_contrast(counts, little, 1).exceedance()) == pytest.approx(ranks.pvalue, rel=0.15, abs=0.02)
    assert float(superiority(counts)) == pytest.approx(ranks.statistic / 2400)
    table = np.array([[30.0, 20.0, 11.0], [22.0, 30.0, 18.0]])
    usual = stats.chi2_contingency(table, correction=False)
    assert CrossTab(table, little, None).p_value == pytest.approx(usual.pvalue, abs=0.02)
    assert cramers_v(table) == pytest.approx(stats.contingency.association(table.astype(int)))
    assert CrossTab(table, little, None).effect == pytest.approx(cramers_v(table), rel=1e-3)


@pytest.mark.parametrize("of", ["rows", "population"])
def test_intervals_hold_what_they_are_about(of):
    rng, runs = np.random.default_rng(5), size(1000, 3000)
    shares = [SHAPES["normal"] / SHAPES["normal"].sum(), np.roll(SHAPES["normal"], 6) / SHAPES["normal"].sum()]
    true = float(GRID @ (shares[0] - shares[1]))
    for noise in (LaplaceNoise(10.0), GaussianNoise(1.0)):
        exact = np.stack([rng.multinomial(300, one, runs) for one in shares], axis=1) @ CELLS
        cells = exact + noise.simulate(rng, exact.shape)
        means = exact @ np.array(SUM) / exact.sum(axis=-1)
        differences = means[:, 0] - means[:, 1] if of == "rows" else np.full(runs, true)
        holds = of_means(cells, noise).exceedance(differences, sampled=of == "population") >= 0.1
        held = int(holds.sum())
        for one, difference, inside in zip(cells[:10], differences, holds, strict=False):
            low, high = of_means(one, noise).interval(0.9, of)
            assert inside == (low <= difference <= high)
            assert low <= of_means(one, noise).estimate <= high
        assert stats.binom.cdf(held, runs, 0.88) > 1e-9
        assert stats.binom.sf(held, runs, 0.95) > 1e-9  # not much wider than needed, either


@pytest.mark.parametrize("of", ["rows", "population"])
def test_intervals_of_effects_hold_what_they_are_about(of):
    rng, noise, runs = np.random.default_rng(6), LaplaceNoise(5.0), size(40, 600)
    draws = size(DRAWS, 9_999)
    shares = np.array([[0.35, 0.15], [0.2, 0.3]])
    placed = np.stack([np.linspace(1.0, 2.0, 6), np.linspace(2.0, 1.0, 6)]) / 9.0
    least = least_successes(runs, 0.85)

    def table_holds(_):
        rows = rng.multinomial(600, shares.ravel()).reshape(2, 2)
        cells = rows + noise.simulate(rng, (2, 2))
        low, high = CrossTab(cells, noise, draws=draws).interval(0.9, sampled=of == "population")
        return low <= cramers_v(rows.astype(float) if of == "rows" else shares) <= high

    def ranks_hold(_):
        rows = np.stack([rng.multinomial(300, one) for one in placed]).astype(float)
        cells = rows + noise.simulate(rng, rows.shape)
        result = st.RankTest(
            0.0, None, "row", (), ("x",), None, (), True, (rank_contrast(cells, noise, 1, draws),), ("a", "b"), "g"
        )
        low, high = result.interval(0.9, of)
        return low <= float(superiority(rows if of == "rows" else placed)) <= high

    assert often(map(table_holds, range(runs)), runs, least)
    assert often(map(ranks_hold, range(runs)), runs, least)


def table(n=6000, seed=0, per_person=1):
    rng = np.random.default_rng(seed)
    arm = rng.choice(["new", "old", "none"], n, p=[0.4, 0.4, 0.2])
    day = rng.integers(0, 731, n)
    return pd.DataFrame(
        {
            "score": (rng.normal(50, 12, n) - 6.0 * (arm == "new") + day / 100.0).clip(0, 100),
            "cost": rng.lognormal(7, 1, n) * np.where(arm == "new", 2.0, 1.0),
            "arm": arm,
            "ill": np.where(rng.random(n) < np.where(arm == "new", 0.2, 0.4), "yes", "no"),
            "day": np.datetime64("2020-01-01") + day,
            "person": np.arange(n) // per_person,
        }
    )


ASKED = {
    "difference": (lambda c, **how: st.difference(c, "score", between="arm", groups=("new", "old"), **how), -6.0, 1.5),
    "ratio": (lambda c, **how: st.difference(c, "cost", between="arm", groups=["new", "old"], **how), np.log(2.0), 0.2),
    "shares": (
        lambda c, **how: st.difference(c, "ill", between="arm", groups=("new", "old"), of="yes", **how),
        -0.2,
        0.06,
    ),
    "ranks": (lambda c, **how: st.rank_test(c, "cost", between="arm", groups=("new", "old"), **how), 0.69, 0.05),
    "chi-square": (lambda c, **how: st.chi_square(c, "ill", by="arm", **how), 0.21, 0.06),
    "trend": (lambda c, **how: st.trend(c, "score", over="day", **how), 3.65, 2.5),
    "share over time": (lambda c, **how: st.trend(c, "ill", over="day", of="yes", **how), 0.0, 0.1),
    "counts": (lambda c, **how: st.trend(c, over="day", bins="month", **how), 0.0, 600.0),
}
NULL = {"share over time", "counts"}


KINDS_OF_NOISE = [(0.0, "replace-one"), (1e-6, "add-remove")]


@pytest.mark.parametrize(
    ("name", "delta", "neighbors"),
    size(
        [(name, *KINDS_OF_NOISE[i % 2]) for i, name in enumerate(ASKED)],
        list(product(ASKED, [0.0, 1e-6], ["replace-one", "add-remove"])),
    ),
)
def test_answers_find_what_is_there(name, delta, neighbors, monkeypatch):
    monkeypatch.setattr(Request, "plan_with_less_noise", lambda self: self.plan())  # both kinds of noise
    ask, expected, off = ASKED[name]
    curator = dp.Curator(table(), schema=dp.Schema(COLUMNS), neighbors=neighbors, at_most=100_000)
    result = ask(curator, epsilon=2.0, delta=delta, bits=SeededBits(7))
    assert abs(result.value - expected) < off
    assert len(result.releases) == 1
    assert isinstance(result.release.noise, GaussianNoise if delta else LaplaceNoise)
    assert (result.p_value > 0.001) if name in NULL else (result.p_value < 0.01)
    rows, everybody = (result.interval(0.95, of=which) for which in ("rows", "population"))
    assert everybody[0] <= result.value <= everybody[1]
    assert rows[0] <= result.value <= rows[1]
    assert everybody[1] - everybody[0] >= 0.99 * (rows[1] - rows[0])
    assert everybody != rows  # each is remembered by its own question
    low, high = result.interval(0.5, of="rows")
    assert high - low < rows[1] - rows[0]
    (row,) = result.table()
    assert row["value"] == result.value
    assert row["p_value"] == result.p_value
    assert ("p ≤ 0.0001" if result.p_value == 1e-4 else f"p = {result.p_value:.2g}") in repr(result)
    ends = " to ".join(f"{end:.6g}" for end in everybody)
    assert f"({ends} at 95 %, of the population)" in repr(result)
    assert f"{result.value:.6g} " in repr(result)
    again = pickle.loads(pickle.dumps(result))
    assert again.p_value == result.p_value
    assert ask(curator, epsilon=2.0, delta=delta, bits=SeededBits(7)).p_value == result.p_value


def test_a_p_value_and_the_interval_of_the_population_agree():
    rng, noise = np.random.default_rng(8), LaplaceNoise(3.0)
    for _ in range(15):
        exact = rng.multinomial(200, SHAPES["normal"] / SHAPES["normal"].sum(), 2) @ CELLS
        contrast = of_means(exact + noise.simulate(rng, (2, 3)) + [[0, 0, 6], [0, 0, 0]], noise)
        low, high = contrast.interval(0.95, "population")
        p = float(contrast.exceedance())
        if abs(p - 0.05) > 0.005:
            assert (low <= 0.0 <= high) == (p >= 0.05)


def test_persons_count_with_all_their_rows():
    schema = dp.Schema(COLUMNS, unit="person", max_rows=3)
    result = ASKED["difference"][0](table(per_person=3), schema=schema, epsilon=3.0)
    assert result.contrasts[0].copies == 3
    assert "at most 3 rows" in result.which_rows
    assert result.p_value < 0.05


def test_nobody_there_gives_finite_answers():
    empty = dp.Curator(table(40).iloc[:0], schema=dp.Schema(COLUMNS), neighbors="add-remove", at_most=1000)
    for ask, *_ in ASKED.values():
        result = ask(empty, epsilon=0.1, bits=SeededBits(1))
        assert np.isfinite(
            [result.value, result.p_value, *result.interval(0.9), *result.interval(0.9, "population")]
        ).all()


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda c: st.difference(c, "score", between="arm", epsilon=1.0), "groups=None"),
        (lambda c: st.difference(c, "score", between="arm", groups=("new", "new"), epsilon=1.0), "two different"),
        (lambda c: st.difference(c, "score", between="arm", groups=("new", "red"), epsilon=1.0), "groups="),
        (lambda c: st.difference(c, "score", between="score", epsilon=1.0), "between="),
        (lambda c: st.difference(c, "ill", between="arm", groups=("new", "old"), epsilon=1.0), "of=None"),
        (lambda c: st.difference(c, "score", between="ill", of="yes", epsilon=1.0), "of='yes'"),
        (lambda c: st.difference(c, "ill", between="ill", of="yes", epsilon=1.0), "another column"),
        (lambda c: st.rank_test(c, "score", between="ill", bins=5000, epsilon=1.0), "at most 1000"),
        (lambda c: st.chi_square(c, "ill", by="ill", epsilon=1.0), "another column"),
        (lambda c: st.chi_square(c, "score", by="arm", bins=900, epsilon=1.0), "at most 1000 cells"),
        (lambda c: st.trend(c, "score", over="score", epsilon=1.0), "another column"),
        (lambda c: st.trend(c, "score", over="cost", epsilon=1.0), "log=True"),
        (lambda c: st.trend(c, over="day", of="yes", epsilon=1.0), "of='yes'"),
        (lambda c: st.trend(c, over="day", per="decade", epsilon=1.0), "per='decade'"),
        (lambda c: st.trend(c, over="arm", epsilon=1.0), "over='arm'"),
        (lambda c: st.difference(c, "score", between="ill", by="ill", epsilon=1.0), "other columns"),
        (
            lambda c: st.difference(c, "ill", between="arm", groups=("new", "old"), of="yes", by="ill", epsilon=1.0),
            "by=",
        ),
        (lambda c: st.trend(c, "ill", of="yes", over="day", by=["ill"], epsilon=1.0), "other columns"),
        (lambda c: st.rank_test(c, "score", between="ill", by=[], epsilon=1.0), "at least one column"),
        (lambda c: st.trend(c, "score", over="day", by="score", epsilon=1.0), "by='score'"),
    ],
)
def test_refusals_say_what_to_write_and_cost_nothing(ask, says, tmp_path):
    ledger = dp.Ledger(tmp_path / "l")
    curator = dp.Curator(table(60), schema=dp.Schema(COLUMNS), name="trial", ledger=ledger)
    with pytest.raises(ValueError, match=says):
        ask(curator)
    assert not ledger.spent("trial")


def test_a_wrong_source_of_an_interval_is_refused():
    result = ASKED["difference"][0](table(200), schema=dp.Schema(COLUMNS), epsilon=1.0)
    with pytest.raises(ValueError, match="of='world'"):
        result.interval(0.95, of="world")


@pytest.mark.parametrize("noise", [GaussianNoise(1e-6), LaplaceNoise(1e6)])
def test_levels_that_draws_cannot_reach_have_everything_possible_as_interval(noise):
    cells = np.array([[3.0], [9.0], [12.0]])
    rates = Contrast(cells, np.arange(3.0), np.ones(1), np.ones(1), noise, exposure=np.ones(3))
    means = Contrast(
        np.array([[5.0, 2.0], [1.0, 9.0]]), np.array([1.0, 0.0]), np.array(BINARY), np.array(BINARY), noise
    )
    for of in ("rows", "population"):
        assert rates.interval(0.9999, of) == (-np.inf, np.inf)
        assert means.interval(1.0 - 1e-12, of) == (-1.0, 1.0)
        low, high = rates.interval(0.99, of)
        assert low <= float(rates.estimate) <= high
    assert rank_interval(rank_contrast(means.cells, noise, 1), 1.0 - 1e-12, False) == (0.0, 1.0)


def test_a_draft_says_what_is_compared(tmp_path):
    draft = dp.StatisticalDatabase(
        table(60), schema=dp.Schema(COLUMNS), budget=dp.Guarantee(1.0), ledger=tmp_path / "l", name="trial"
    ).draft
    assert draft.difference("score", between="arm").description == "difference of score between arm"
    assert draft.trend("score", over="day").description == "trend of score over day"
    assert draft.max("score", rows=8000).description == "max of score"
    assert draft.log_rank("days", "end", ["arm", "sex"]).description == "log rank of days between arm, sex"


def test_draws_for_post_processing_are_the_same_every_time():
    first = [part.copy() for part in standard_draws(50, 6, False)]
    standard_draws.cache_clear()
    assert all((one == other).all() for one, other in zip(first, standard_draws(50, 6, False), strict=True))


GROUPED = {
    "difference": lambda c, **how: st.difference(c, "score", between="arm", groups=("new", "old"), **how),
    "shares": lambda c, **how: st.difference(c, "ill", between="arm", groups=("new", "old"), of="yes", **how),
    "ranks": lambda c, **how: st.rank_test(c, "cost", between="arm", groups=("new", "old"), **how),
    "trend": lambda c, **how: st.trend(c, "score", over="day", bins=6, **how),
    "counts": lambda c, **how: st.trend(c, over="day", bins=6, **how),
}


@pytest.mark.parametrize(
    ("name", "delta"), [(name, (0.0, 1e-6)[(i + j) % 2]) for i, name in enumerate(GROUPED) for j in range(size(1, 2))]
)
def test_each_group_has_the_answer_of_its_own_rows(name, delta):
    rows, rng = table(3000), np.random.default_rng(1)
    rows["sex"], rows["site"] = rng.choice(["f", "m"], 3000), rng.choice(["x", "y", "elsewhere"], 3000)
    rows.loc[rows["site"] == "y", "score"] -= 10.0 * (rows["arm"] == "new")
    more = {"sex": dp.Category(["f", "m"]), "site": dp.Category(["x", "y", "nowhere"])}
    schema, ask, how = dp.Schema(COLUMNS | more), GROUPED[name], {"epsilon": 1e6, "delta": delta}
    result = ask(rows, schema=schema, by=["site", "sex"], **how)
    assert (result.by, len(result.releases)) == (("site", "sex"), 1)
    assert result.value.shape == result.p_value.shape == (6,)
    ends = result.interval(0.95, of="population")
    for place in size([2], range(4)):
        site, sex = result.groups[place]
        alone = ask(rows[(rows["site"] == site) & (rows["sex"] == sex)], schema=schema, **how)
        assert result.value[place] == pytest.approx(alone.value, rel=1e-2, abs=1e-2)
        assert result.p_value[place] == pytest.approx(alone.p_value, abs=5e-3)
        for end, own in zip(ends, alone.interval(0.95, of="population"), strict=True):
            assert end[place] == pytest.approx(own, rel=0.02, abs=0.02 * abs(own - alone.value) + 1e-2)
    assert (result.p_value[4:] > 0.05).all()  # nobody is there
    rows = result.table()
    assert [(row["site"], row["sex"]) for row in rows] == list(result.groups)
    assert [row["p_value"] for row in rows] == result.p_value.tolist()
    least = result.p_value[0] == 1e-4
    assert f"('x', 'f'): {'≤ 0.0001' if least else format(result.p_value[0], '.2g')}" in repr(result)
    assert "p_value" in result._repr_html_()
    assert result.plot() is not None


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda c: st.trimmed_mean(c, "score", by="arm", epsilon=1.0), r"trimmed_mean has no groups; .* where="),
        (lambda c: st.log_rank(c, "score", "ill", "arm", by="arm", epsilon=1.0), r"write between="),
        (lambda c: st.mode(c, "arm", weights="score", epsilon=1.0), "mode takes no weights"),
        (lambda c: st.median(c, "score", population=True, epsilon=1.0), "of='population'"),
    ],
)
def test_an_argument_that_only_others_have_is_explained(ask, says):
    with pytest.raises(TypeError, match=says):
        ask(dp.Curator(table(60), schema=dp.Schema(COLUMNS)))


def test_a_database_explains_arguments_too(tmp_path):
    db = dp.StatisticalDatabase(
        table(60), schema=dp.Schema(COLUMNS), budget=dp.Guarantee(1.0), ledger=tmp_path / "l", name="trial"
    )
    for ask, says in (
        (lambda: db.trimmed_mean("score", by="arm"), "has no groups"),
        (lambda: db.mean(epsilon=1.0), "mean: missing a required argument: 'columns'; it takes columns"),
        (lambda: db.mean("score", colour=1), "colour: not an argument of mean"),
    ):
        with pytest.raises(TypeError, match=says):
            ask()
    assert db.draft.trend("score", over="day", by=["arm", "ill"]).description == "trend of score by arm, ill over day"
    assert db.draft.max("score", rows=100).description == "max of score"
    assert db.draft.log_rank("score", "ill", "arm").description == "log rank of score between arm"


def test_the_smallest_p_value_is_shown_as_a_bound():
    rows = pd.DataFrame({"x": np.repeat([0.0, 1.0], 5000), "g": ["a"] * 5000 + ["b"] * 5000, "s": ["u", "v"] * 5000})
    schema = dp.Schema({"x": dp.Number(0, 1), "g": dp.Category(["a", "b"]), "s": dp.Category(["u", "v", "nobody"])})
    how = {"epsilon": 2.0, "schema": schema}
    note = "p ≤ 0.0001: 9,999 draws cannot tell a smaller p-value"
    for result in (
        st.difference(rows, "x", between="g", **how),
        st.rank_test(rows, "x", between="g", **how),
        st.chi_square(rows, "x", by="g", bins=2, **how),
    ):
        assert result.p_value == result.table()[0]["p_value"] == 1e-4
        assert ", p ≤ 0.0001" in repr(result)
        assert "p = " not in repr(result)
        assert result.notes == (note,)
        assert note in repr(result)
        assert "<td>≤ 0.0001</td>" in result._repr_html_()
    each = st.difference(rows, "x", between="g", by="s", **how)
    assert "p: {'u': ≤ 0.0001, 'v': ≤ 0.0001, 'nobody': " in repr(each)
    assert each.p_value[2] > 1e-4
    assert each.notes[-1] == note
    assert not each.drowned()[:2].any()
    same = st.difference(rows, "x", between="s", groups=("u", "v"), **how)
    assert same.p_value > 1e-4
    assert same.notes == ()


def rates(counts, noise=2.0):
    cells = np.asarray(counts, dtype=np.float64)[:, None]
    positions = np.arange(len(cells)) - (len(cells) - 1) / 2.0
    return Contrast(cells, positions, np.ones(1), np.ones(1), LaplaceNoise(noise), 1, np.ones(len(cells)))


CURVED = {
    "decay": 400.0 * np.exp(-np.arange(24) / 2.0),
    "step": np.where(np.arange(24) < 6, 300.0, 0.0),
    "hump": 400.0 * np.exp(-((np.arange(24) - 5.0) ** 2) / 8.0),
}


@pytest.mark.parametrize("of", ["rows", "population"])
@pytest.mark.parametrize("name", CURVED)
def test_a_trend_that_is_no_line_has_an_interval_that_agrees_with_its_test(name, of):
    found = rates(CURVED[name])
    shares = np.stack([400.0 - CURVED[name], CURVED[name]], axis=1) / 4.0
    bounded = Contrast(shares, found.positions, np.array(BINARY), np.array(BINARY), LaplaceNoise(2.0))
    for one in (found, bounded):
        low, high = one.interval(0.95, of)
        assert low <= float(one.estimate) <= high < 0.0  # as the test says, which rejects
        assert float(one.exceedance()) < 0.05


def test_a_plot_of_a_trend_has_its_points_its_line_and_its_band():
    rows = table()
    found = st.trend(rows, "score", over="day", epsilon=3.0, schema=dp.Schema(COLUMNS), bits=SeededBits(0))
    plot = found._plot(0.95, "population")
    assert np.array_equal(plot.points[0], found.levels)
    middles = (found.edges[:-1] + found.edges[1:]) / 2.0
    slope = np.polyfit(middles / 365.2425, plot.line[0], 1)[0]
    assert slope == pytest.approx(found.value)
    assert (plot.low <= plot.line + 1e-9).all()
    assert (plot.line <= plot.high + 1e-9).all()
    assert f"{found.value:.4g}" in plot.description
    assert len(plot.facts.rows) == len(found.labels)
    ax = found.plot()
    assert ax.get_xlabel() == "day"
    assert ax.get_ylabel() == "mean of score"
    counts = st.trend(rows, over="day", by="arm", epsilon=3.0, schema=dp.Schema(COLUMNS), bits=SeededBits(0))
    panels = counts.plot()
    assert [one.get_title() for one in panels.flat] == ["new", "old", "none"]
    assert panels.flat[0].get_ylabel() == "rows a year"
    share = st.trend(rows, "ill", of="yes", over="score", epsilon=3.0, schema=dp.Schema(COLUMNS), bits=SeededBits(0))
    assert share._plot(0.9, "rows").unit == "share of yes in ill"
    drowned = st.trend(rows[:9], over="day", epsilon=1e-3, schema=dp.Schema(COLUMNS), bits=SeededBits(0))
    assert drowned.plot() is not None


def test_residuals_that_are_small_by_chance_do_not_make_an_association_certainly_nothing():
    even = CrossTab(np.array([[125.1, 125.0], [125.0, 125.0]]), LaplaceNoise(2.0), 500)
    assert even.p_value > 0.99
    low, high = even.interval(0.95, sampled=True)
    assert low == 0.0
    assert 0.09 < high < 0.2  # chance alone gives Cramér's V up to 1.96/√500 = 0.088, and noise adds to that


@pytest.mark.parametrize("scale", [1e-6, 1e-3])
def test_rates_of_nothing_have_slopes_of_about_nothing(scale):
    empty = rates(np.array([-2.0, 1.0, 0.5, -0.2, 0.7, -1.0, 0.1, -0.4]) * scale, noise=scale)
    assert abs(float(empty.estimate)) < 10.0 * scale
    low, high = empty.interval(0.95, "population")
    assert -10.0 < low < 0.0 < high < 10.0  # a few rows more or less a unit of time
