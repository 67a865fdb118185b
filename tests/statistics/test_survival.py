"""Survival curves and the log-rank test: exact where there is no noise, and intervals and levels that hold."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import discreet as dp
from discreet import statistics as st
from discreet.guarantees import GaussianLoss, Guarantee, calibrate
from discreet.noise import GaussianNoise, LaplaceNoise, NotPrivateWarning, SeededBits
from discreet.queries.bound import Bound
from discreet.queries.search import worst_neighbours
from discreet.queries.series.event_sums import EventSums
from discreet.queries.series.operators import Identity, StepsAndBlocks
from discreet.statistics.survival.life_table import Decoder, LifeTable, make_decreasing
from discreet.statistics.survival.rank_comparison import RankComparison
from discreet.statistics.survival.survival_curves import choose_operator

SURE = 1e5
MISS = 1e-9  # of each statistical test
SCHEMA = dp.Schema(
    {"months": dp.Number(0, 61), "end": dp.Category(["alive", "died", "lost"]), "arm": dp.Category(["old", "new"])}
)


def made_up(rows=3000, seed=0, whole=True):
    rng = np.random.default_rng(seed)
    arm = rng.choice(["old", "new"], rows)
    lived, followed = rng.exponential(np.where(arm == "new", 60.0, 40.0)), rng.uniform(0.0, 80.0, rows)
    months = np.minimum(np.minimum(lived, followed), 60.0)
    months = np.maximum(np.ceil(months), 1.0) if whole else months
    end = np.where((lived <= followed) & (lived <= 60.0), "died", rng.choice(["alive", "lost"], rows))
    return pd.DataFrame({"months": months, "end": end, "arm": arm})


def kaplan_meier(table, times):
    """Return Kaplan and Meier's curve at some times, by the definition."""
    died = table[table["end"] == "died"]["months"].to_numpy()
    every = table["months"].to_numpy()
    each = np.unique(died)
    stay = np.array([1.0 - (died == one).sum() / (every >= one).sum() for one in each])
    return np.array([stay[each <= time].prod() for time in times])


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("grid", [61, [0, 1, 2, 3, 4, 5, 6]])
def test_whole_times_give_the_curve_of_kaplan_and_meier(neighbors, delta, grid):
    table = made_up()
    how = {"occurred": "died", "grid": grid, "method": "exact", "schema": SCHEMA, "neighbors": neighbors}
    result = st.survival(table, "months", "end", by="arm", epsilon=SURE, delta=delta, **how)
    for curve, at_risk, arm in zip(result.value, result.at_risk, ["old", "new"], strict=True):
        own = table[table["arm"] == arm]
        np.testing.assert_allclose(curve, kaplan_meier(own, result.edges), atol=1e-3)
        left = [(own["months"] > edge).sum() for edge in result.edges]
        np.testing.assert_allclose(at_risk[:-1], left[:-1], atol=0.1)
    low, high = result.interval()
    assert np.all(low - 1e-12 <= result.value)
    assert np.all(result.value <= high + 1e-12)
    wide = result.interval(of="population")
    assert np.all(wide[0] <= low + 1e-9)
    assert np.all(wide[1] >= high - 1e-9)


def test_times_between_edges_are_off_by_no_more_than_the_grid():
    table = made_up(4_000, whole=False)
    grid = np.arange(60.0)  # whoever is followed to month 60 is at risk up to the last edge
    result = st.survival(table, "months", "end", occurred="died", grid=grid, epsilon=SURE, schema=SCHEMA)
    truth = kaplan_meier(table, result.edges)
    assert np.abs(result.value - truth).max() < 3e-4
    assert result.median == pytest.approx(np.interp(-0.5, -truth, result.edges), abs=0.2)
    area = result.restricted_mean(24.5)
    fine = np.linspace(0.0, 24.5, 120)
    assert area.value == pytest.approx(np.trapezoid(kaplan_meier(table, fine), fine), abs=0.01)
    assert area.interval()[0] <= area.value <= area.interval()[1]


def test_a_time_at_the_upper_bound_is_no_event_and_one_at_an_edge_has_happened():
    table = pd.DataFrame(
        {"months": [10.0] * 40 + [61.0] * 30 + [99.0] * 30, "end": ["died"] * 100, "arm": ["old"] * 100}
    )
    how = {"occurred": "died", "epsilon": SURE, "schema": SCHEMA}
    result = st.survival(table, "months", "end", grid=[0, 5, 10, 61], **how)
    np.testing.assert_allclose(result.value, [1.0, 1.0, 0.6, 0.6], atol=1e-4)
    np.testing.assert_allclose(st.survival(table, "months", "end", grid=[0, 5, 9], **how).value, 1.0, atol=1e-4)


def test_zero_and_one_need_no_word_for_what_happened():
    table = pd.DataFrame({"days": [1.0, 2.0, 3.0, 4.0] * 50, "died": [1, 0, 1, 0] * 50})
    schema = dp.Schema({"days": dp.Number(0, 8), "died": dp.Category([0, 1])})
    result = st.survival(table, "days", "died", grid=8, method="exact", epsilon=SURE, schema=schema)
    np.testing.assert_allclose(result.value[:5], [1.0, 0.75, 0.75, 0.375, 0.375], atol=1e-4)
    assert result.median == pytest.approx(3.0)
    assert st.survival(table, "days", "died", grid=2, epsilon=SURE, schema=schema).table()[0][
        "at_risk"
    ] == pytest.approx(200)


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({}, "occurred"),
        ({"occurred": "dead"}, "occurred"),
        ({"occurred": ["alive", "died", "lost"]}, "occurred"),
        ({"occurred": "died", "event": "months"}, "event"),
        ({"occurred": "died", "event": "ending"}, "event"),
        ({"occurred": "died", "time": "arm"}, "time"),
        ({"occurred": "died", "by": "end"}, "by"),
        ({"occurred": "died", "grid": 0}, "grid"),
        ({"occurred": "died", "grid": [0, 5, 99]}, "grid"),
        ({"occurred": "died", "grid": "month"}, "grid"),
        ({"occurred": "died", "method": "cox"}, "method"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(how, named):
    asked = {"time": "months", "event": "end"} | how
    with pytest.raises(ValueError, match=named):
        st.survival.plan(made_up(50), **asked, epsilon=1.0, schema=SCHEMA)


def test_dates_are_no_times():
    schema = dp.Schema({"day": dp.Date("2020-01-01", "2021-01-01"), "died": dp.Category([0, 1])})
    with pytest.raises(ValueError, match="time"):
        st.survival.plan(pd.DataFrame({"day": ["2020-02-01"], "died": [1]}), "day", "died", epsilon=1.0, schema=schema)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("rows", [0, 1, 30])
def test_curves_fall_from_one_and_are_finite_whatever_the_rows(rows, delta):
    table = made_up(30).iloc[:rows]
    for epsilon in (0.01, 0.3):
        how = {"occurred": "died", "epsilon": epsilon, "delta": delta, "schema": SCHEMA, "neighbors": "add-remove"}
        result = st.survival(table, "months", "end", by="arm", **how)
        assert np.all(result.value[:, 0] == 1.0)
        assert np.all(np.diff(result.value) <= 0.0)
        assert np.all(np.diff(result.at_risk) <= 0.0)
        assert np.all(result.at_risk >= 0.0)
        for of in ("rows", "population"):
            low, high = result.interval(of=of)
            assert np.all((low >= 0.0) & (low <= high) & (high <= 1.0))
            assert np.isfinite(result.restricted_mean().interval(of=of)).all()
        test = st.log_rank(table, "months", "end", "arm", **how)
        assert 0.0 < test.p_value <= 1.0
        assert np.isfinite([test.value, *test.interval(of="population")]).all()


def test_the_default_grid_is_fine_where_it_costs_little():
    how = {"occurred": "died", "schema": SCHEMA}
    few, many = made_up(200), made_up(50_000)
    sizes = [len(st.survival(one, "months", "end", epsilon=1.0, **how).edges) - 1 for one in (few, many)]
    assert sizes == [10, 50]
    assert len(st.survival(few, "months", "end", epsilon=1.0, delta=1e-6, **how).edges) == 51


def log_rank_by_hand(table):
    excess = variance = 0.0
    for time in np.unique(table[table["end"] == "died"]["months"]):
        risk, here = table["months"] >= time, (table["end"] == "died") & (table["months"] == time)
        new = table["arm"] == "new"
        n, n1, d = risk.sum(), (risk & new).sum(), here.sum()
        excess += (here & new).sum() - d * n1 / n
        variance += d * n1 / n * (1 - n1 / n) * (n - d) / max(n - 1, 1)
    return excess, excess**2 / variance


def test_the_log_rank_test_is_the_usual_one_without_noise():
    table = made_up(600)
    how = {"occurred": "died", "grid": 61, "method": "exact", "schema": SCHEMA, "epsilon": SURE}
    result = st.log_rank(table, "months", "end", "arm", until=48, **how)
    excess, statistic = log_rank_by_hand(table)
    assert result.excess[1] == pytest.approx(excess, abs=0.1)
    assert result.statistic == pytest.approx(statistic, rel=0.01)
    curves = st.survival(table, "months", "end", by="arm", **how)
    means = curves.restricted_mean(48).value
    assert result.value == pytest.approx(means[1] - means[0], abs=1e-2)
    turned = st.log_rank(table, "months", "end", "arm", groups=["new", "old"], until=48, **how)
    assert turned.value == pytest.approx(-result.value, abs=1e-2)
    assert [row["difference"] for row in turned.table()] == ["old − new"]


def test_a_p_value_is_a_function_of_the_release():
    with pytest.warns(NotPrivateWarning):
        bits = [SeededBits(3), SeededBits(3)]
    how = {"occurred": "died", "epsilon": 1.0, "schema": SCHEMA}
    one, other = (st.log_rank(made_up(400), "months", "end", "arm", bits=own, **how) for own in bits)
    assert one.p_value == other.p_value
    assert one.releases[0] == other.releases[0]
    assert ("p ≤ 0.0005" if one.p_value == 1 / 2000 else "p = ") in repr(one)


def test_three_groups_have_two_differences():
    table = made_up(900)
    how = {"occurred": ["died", "lost"], "epsilon": SURE, "schema": SCHEMA}
    schema = dp.Schema(
        {"months": dp.Number(0, 61), "died": dp.Category([0, 1]), "end": dp.Category(["alive", "died", "lost"])}
    )
    table["died"] = (table["end"] == "died").astype(int)
    result = st.log_rank(table, "months", "died", "end", **how | {"schema": schema, "occurred": None})
    assert result.value.shape == (2,)
    assert len(result.table()) == 2
    pair = st.log_rank(
        table, "months", "died", "end", groups=["lost", "alive"], **how | {"schema": schema, "occurred": 1}
    )
    assert isinstance(pair.value, float)
    with pytest.raises(ValueError, match="groups"):
        st.log_rank(table, "months", "died", "end", groups=["lost"], **how | {"schema": schema, "occurred": 1})
    alone = dp.Schema({"months": dp.Number(0, 60), "died": dp.Category([0, 1]), "end": dp.Category(["lost"])})
    with pytest.raises(ValueError, match=r"between: expected two groups or more to compare, and 'end' declares one"):
        st.log_rank.plan(table, "months", "died", "end", **how | {"schema": alone, "occurred": 1})
    for between in ("nobody", [], "died"):  # and not by=, which it does not have
        with pytest.raises(ValueError, match=r"^between="):
            st.log_rank(table, "months", "died", between, **how | {"schema": schema, "occurred": 1})


def test_a_plot_has_curves_bands_and_numbers_at_risk():
    result = st.survival(made_up(), "months", "end", by="arm", occurred="died", epsilon=5.0, schema=SCHEMA)
    ax = result.plot()
    assert len(ax.lines) == 2
    assert len(ax.collections) == 2
    assert any(text.get_text() == "at risk" for text in ax.texts)
    with pytest.raises(ValueError, match="of"):
        result.plot(of="people")


def test_making_a_curve_decreasing_adds_no_error():
    rng = np.random.default_rng(2)
    truth = np.sort(rng.uniform(size=(500, 30)))[:, ::-1]
    noisy = truth + rng.normal(0.0, 0.2, truth.shape)
    result = make_decreasing(noisy, 0.0, 1.0)
    assert np.all(np.diff(result) <= 0.0)
    assert np.all(np.abs(result - truth).max(axis=1) <= np.abs(noisy - truth).max(axis=1) + 1e-12)


@pytest.mark.parametrize(("count", "width"), [(1, 1), (7, 3), (10, 3), (12, 12)])
def test_steps_and_blocks_have_the_norms_of_their_matrix(count, width):
    operator = StepsAndBlocks(count, width)
    assert operator.matrix.shape == (operator.size, count)
    for norm, order in (("l1", 1), ("l2", 2)):
        assert operator.column_norm(norm) == pytest.approx(np.linalg.norm(operator.matrix, order, axis=0).max())
        assert operator.box_norm(norm) == pytest.approx(np.linalg.norm(operator.matrix @ np.ones(count), order))


@pytest.mark.parametrize("fault", ["one row", "two rows"])
def test_the_search_catches_a_broken_bound_of_events(fault):
    @dataclasses.dataclass(frozen=True)
    class Broken(EventSums):
        @property
        def bound(self):
            own = super().bound
            if fault == "one row":
                return Bound(own.l2 / np.sqrt(2.0), own.l1, own.replace_l2, own.replace_l1)
            return Bound(own.l2, own.l1, own.l2, own.l1)

    query = Broken(dp.Box([0.0], [1.0]), Identity(4), 0, (0.2, 0.5, 1.0), 0, (False, True))
    assert not all(one.holds for one in worst_neighbours(query, np.random.default_rng(0)))


# The same as benchmarks/bench_survival.py, at two settings; a false alarm has a probability of at most 1e-9.
def simulated(rng, rows, intervals, epsilon, delta, repeats, groups):
    """Return life tables of simulated releases, those without noise, and the population's curve."""
    t = (np.arange(4000) + 0.5) / 4000
    place = np.minimum((t * intervals).astype(int), intervals - 1)
    alive, free = np.exp(-0.7 * t), 1.0 - t / 1.3
    events, censored = (np.bincount(place, one / 4000, intervals) for one in (0.7 * alive * free, alive / 1.3))
    shares = np.concatenate([events, censored, [1.0 - events.sum() - censored.sum()]])
    drawn = rng.multinomial(rows, shares / shares.sum(), (repeats, groups)).astype(float)
    counts = np.zeros((repeats, groups, 2, intervals + 1))
    counts[:, :, 0, :-1], counts[:, :, 1] = drawn[..., :intervals], drawn[..., intervals:]
    operator = choose_operator(intervals, delta)
    if delta:
        loss = calibrate(Guarantee(epsilon, delta), GaussianLoss(1.0)).losses[0]
        noise = GaussianNoise(np.sqrt(2.0) * operator.column_norm("l2") / loss.gaussian)
    else:
        noise = LaplaceNoise(2.0 * operator.column_norm("l1") / epsilon)
    exact = counts @ operator.matrix.T
    decoder = Decoder(operator, noise, groups, rows * groups)
    life = LifeTable.from_released(exact + noise.simulate(rng, exact.shape), decoder, exact=False)
    plain = LifeTable(Decoder(operator, GaussianNoise(1e-9), groups), False, counts[:, :, 0, :-1], counts[:, :, 1])
    return life, plain, np.exp(-0.7 * np.arange(intervals + 1) / intervals)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("rows", "intervals", "epsilon"), [(200, 10, 1.0), (2000, 50, 1.0)])
def test_intervals_hold_what_they_say(rows, intervals, epsilon, delta):
    repeats = 400
    life, plain, truth = simulated(np.random.default_rng(11), rows, intervals, epsilon, delta, repeats, 1)
    least = binom.ppf(MISS / (3 * intervals), repeats, 0.93)
    for population in (False, True):
        low, high = life.curve_interval(0.95, population=population)
        wanted = np.broadcast_to(truth, low.shape) if population else plain.survival
        held = ((low <= wanted + 1e-9) & (wanted <= high + 1e-9))[:, 0, 1:].sum(axis=0)
        assert held.min() >= least, held
        edges = np.linspace(0.0, 1.0, intervals + 1)
        _, weights = life.area_weights(edges, 1.0)
        low, high = life.area_interval(edges, 1.0, 0.95, population=population)
        area = (weights * wanted).sum(axis=-1)
        assert ((low <= area) & (area <= high)).sum() >= least
    assert np.mean(low) < np.mean(area) < np.mean(high)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_log_rank_test_has_its_level(delta):
    repeats = 300
    rng = np.random.default_rng(12)
    life, _, _ = simulated(rng, 200, 10, 1.0, delta, repeats, 2)
    rejected = (RankComparison(life).p_value(99, rng) <= 0.05).sum()
    assert rejected <= binom.isf(MISS, repeats, 0.065)


def test_one_test_of_several_groups_has_one_p_value_shown_once():
    table = made_up(3000)
    schema = dp.Schema({**dict(SCHEMA.columns), "clinic": dp.Category(["a", "b", "c"])})
    table["clinic"] = np.resize(["a", "b", "c"], 3000)
    how = {"occurred": "died", "epsilon": 1.0, "schema": schema}
    several = st.log_rank(table, "months", "end", "clinic", **how)
    assert all("p_value" not in row for row in several.table())
    assert several.notes[0] == f"log-rank {several._describe_p_value(several.p_value)}, one test of all 3 groups"
    assert repr(several).count("log-rank p") == several._repr_html_().count("log-rank p") == 1
    two = st.log_rank(table, "months", "end", "clinic", groups=["a", "b"], **how)
    assert [row["p_value"] for row in two.table()] == [two.p_value]
    assert repr(two).count("log-rank p") == 1
    table["months"] = np.where(table["clinic"] == "a", 1.0, 50.0)
    sure = st.log_rank(table.assign(end="died"), "months", "end", "clinic", **how)
    assert sure.p_value == 1 / 2000
    assert sure.notes == (
        "log-rank p ≤ 0.0005, one test of all 3 groups",
        "p ≤ 0.0005: 1,999 draws cannot tell a smaller p-value",
    )


@pytest.mark.filterwarnings("ignore::discreet.noise.bits.NotPrivateWarning")
def test_a_curve_is_shown_with_its_interval_and_says_where_noise_has_drowned_it():
    table, how = made_up(2000), {"occurred": "died", "schema": SCHEMA, "bits": SeededBits(103)}
    clear = st.survival(table, "months", "end", epsilon=SURE, **how)
    low, high = (float(end[-1]) for end in clear.interval())
    assert f": {clear.value[-1]:.3g} in [{low:.3g}, {high:.3g}]" in repr(clear)
    assert not clear.drowned().any()
    assert clear.notes == ()
    lost = st.survival(table, "months", "end", by="arm", epsilon=1e-3, **how)
    assert lost.drowned()[:, 1:].all()
    assert lost.notes == (f"drowned by noise: old from {lost.edges[1]:g} on, new from {lost.edges[1]:g} on",)
    assert " in [0, 1]" in repr(lost)
    assert lost.notes[0] in repr(lost)
    assert lost.notes[0] in lost._repr_html_()
    partly = st.survival(table[table["months"] < 30], "months", "end", epsilon=1.0, **how)
    assert partly.notes == (f"drowned by noise: from {partly.edges[partly._life.known.sum() + 1]:g} on",)
    assert partly.known_until < partly.edges[partly.drowned().argmax()]
    mean = clear.restricted_mean(24)
    assert repr(mean).startswith(f"<restricted mean until 24: {mean.value:.6g} in [")
