"""The scatter asked for directly: right, and never moved by one unit more than it claims."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from scipy.stats import norm as normal

import discreet as dp
from discreet import statistics as st
from discreet.door.exit import draw_plan
from discreet.guarantees import Neighbors
from discreet.queries.bound import Setting
from discreet.queries.moments.scatter import Scatter, ScatterNoise
from discreet.records import as_records
from discreet.statistics.request import Request
from effort import crossed, size
from goodness import often

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
NORMS = ["l1", "l2"]
WARDS = ["a", "b", "c"]


def upper(matrix):
    return matrix[np.triu_indices(len(matrix))]


def scatter(rows, d):
    """Return Σ(u − ū)(u − ū)ᵀ by the book."""
    u = np.asarray(rows, dtype=float).reshape(-1, d)
    v = u - u.mean(axis=0) if len(u) else u
    return upper(v.T @ v)


def with_each(others, d):
    """Return the scatter of some rows and one more, for each row of the small world."""
    more = np.array(world(d))[:, None]
    those = np.broadcast_to(np.reshape(others, (1, -1, d)), (len(more), len(others), d))
    u = np.concatenate([those, more], axis=1)
    v = u - u.mean(axis=1, keepdims=True)
    i, j = np.triu_indices(d)
    return (v.transpose(0, 2, 1) @ v)[:, i, j]


def length(moves, norm):
    return np.abs(moves).sum(axis=-1) if norm == "l1" else np.sqrt((moves**2).sum(axis=-1))


def claimed(d, norm, relation, *, rows=4, max_rows=1, complete=True, groups=None, way=None):
    setting = Setting(relation, max_rows, rows, 1, complete)
    query = Scatter(dp.Box([0.0] * d, [1.0] * d), tuple(range(d)), None if groups is None else (0, groups))
    return (way or ScatterNoise()).sensitivity(query, norm, setting)


def world(d):
    return list(itertools.product([0.0, 0.5, 1.0], repeat=d))


def all_others(d, most):
    """Yield all multisets of at most ``most`` rows of a small world."""
    for count in range(most + 1):
        yield from itertools.combinations_with_replacement(world(d), count)


def worst_in_the_small_world(d, most, norm, relation):
    """Return for each number n of rows the largest move between neighbours, of which the larger one has n."""
    result = dict.fromkeys(range(1, most + 1), 0.0)
    for others in all_others(d, most - 1):
        alone = scatter(others, d)
        those = with_each(others, d)
        moves = those - alone if relation is ADD else those[:, None] - those
        n = len(others) + 1
        result[n] = max(result[n], float(length(moves, norm).max()))
    return result


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(("d", "most"), [(1, 4), (2, 4), (3, size(3, 4))])
def test_no_neighbours_in_a_small_world_beat_the_claim_and_some_attain_it(d, most, relation, norm):
    result = worst_in_the_small_world(d, most, norm, relation)
    for n, moved in result.items():
        if relation is REPLACE:
            if n > 1:
                assert moved == pytest.approx(claimed(d, norm, REPLACE, rows=n), rel=1e-12)
            assert moved <= claimed(d, norm, REPLACE, rows=n, complete=False)
        else:
            assert moved == pytest.approx((n - 1) / n * claimed(d, norm, ADD), rel=1e-12)


def two_groups(d, n, norm):
    """Return the largest move when a row among n changes its label, and perhaps its values, over a small world."""
    result = 0.0
    for s in range(n):
        for one in itertools.combinations_with_replacement(world(d), s):
            leaves = with_each(one, d) - scatter(one, d)
            for other in itertools.combinations_with_replacement(world(d), n - 1 - s):
                comes = with_each(other, d) - scatter(other, d)
                both = np.concatenate([np.repeat(leaves, len(comes), axis=0), np.tile(comes, (len(leaves), 1))], axis=1)
                result = max(result, float(length(both, norm).max()))
    return result


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("d", "n"), [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 2), (2, 3)])
def test_a_changed_label_touches_two_groups(d, n, norm):
    moved = two_groups(d, n, norm)
    same = worst_in_the_small_world(d, n, norm, REPLACE)[n]
    bound = claimed(d, norm, REPLACE, rows=n, groups=2)
    assert max(moved, same) <= bound * (1.0 + 1e-12)
    if n % 2 and n > 1:
        assert max(moved, same) == pytest.approx(bound, rel=1e-12)
    assert bound <= claimed(d, norm, REPLACE, rows=n, groups=2, complete=False)
    assert claimed(d, norm, ADD, groups=2) == claimed(d, norm, ADD)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("d", [1, 2])
def test_two_rows_of_one_person_move_it_twice_as_far_at_most(d, relation, norm):
    result, bound = 0.0, claimed(d, norm, relation, max_rows=2, complete=False)
    sets = [*all_others(d, 2)] if d == 1 else [(), *itertools.combinations_with_replacement(world(d), 2)]
    for others in [*all_others(d, 2)]:
        those = np.stack([scatter([*others, *rows], d) for rows in sets])
        moves = those[:, None] - those if relation is REPLACE else those - scatter(others, d)
        result = max(result, float(length(moves, norm).max()))
    assert result <= bound
    many = [(0.0,) * d] * 1000
    far = scatter([*many, (1.0,) * d, (1.0,) * d], d) - scatter(many, d)
    assert 0.99 * bound <= length(far, norm) <= bound


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("groups", [None, 3])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_it_is_attained_by_many_rows(relation, complete, groups, norm):
    d, n = 3, 401
    zeros, ones = [(0.0,) * d] * (n - 1), (1.0,) * d
    moved = scatter([*zeros, ones], d) - (scatter(zeros, d) if relation is ADD else scatter([*zeros, zeros[0]], d))
    if groups is not None and relation is REPLACE:
        half = [(0.0,) * d] * (n // 2)
        moved = np.tile(scatter([*half, ones], d) - scatter(half, d), 2)
    bound = claimed(d, norm, relation, rows=n, complete=complete, groups=groups)
    assert 0.99 * bound <= length(moved, norm) <= bound * (1.0 + 1e-12)


def climb(d, n, relation, norm, rng):
    """Return the largest move that random steps find, over rows anywhere in the cube."""
    best, at = 0.0, rng.uniform(size=(n + 1, d))
    for step in range(600):
        size = rng.choice([1.0, 0.3, 0.05])
        rows = np.clip(at + size * rng.normal(size=at.shape) * (rng.uniform(size=at.shape) < 0.4), 0.0, 1.0)
        if step % 7 == 0:
            rows = np.round(rows)
        moved = scatter(rows[:n], d) - scatter(rows[1:] if relation is REPLACE else rows[1:n], d)
        if (now := float(length(moved, norm))) >= best:
            best, at = now, rows
    return best


@pytest.mark.parametrize(("shape", "relation", "norm"), crossed([(2, 3), (4, 6)], [ADD, REPLACE], NORMS))
def test_no_climb_gets_above_the_claim(shape, relation, norm):
    d, n = shape
    rng = np.random.default_rng(d * n)
    result = max(climb(d, n, relation, norm, rng) for _ in range(size(3, 5)))
    assert result <= claimed(d, norm, relation, rows=n) * (1.0 + 1e-12)
    assert result >= (0.6 if relation is REPLACE else 0.45) * claimed(d, norm, relation, rows=n)


class Root2(ScatterNoise):
    """√2 too small."""

    def sensitivity(self, query, norm, setting):
        return super().sensitivity(query, norm, setting) / np.sqrt(2.0)


class LabelsStay(ScatterNoise):
    """Forgets that a changed label touches two groups."""

    def entry(self, setting):
        return super().entry(setting)[0], 0.0


class Always(ScatterNoise):
    """Takes n as public where it is not."""

    def entry(self, setting):
        return (setting.rows - 1.0) / setting.rows, (setting.rows - 1.0) / (setting.rows + 1.0)


def test_broken_sensitivities_are_caught():
    for norm in NORMS:
        for relation in (ADD, REPLACE):
            result = worst_in_the_small_world(2, 4, norm, relation)[4]
            assert result > claimed(2, norm, relation, rows=4, way=Root2())
        assert two_groups(1, 5, norm) > claimed(1, norm, REPLACE, rows=5, groups=2, way=LabelsStay())
        many = [(0.0,)] * 50
        moved = float(length(scatter([*many, (1.0,)], 1) - scatter(many, 1), norm))
        assert moved > claimed(1, norm, ADD, rows=10, way=Always())


@dataclass(frozen=True)
class NotClipped(Scatter):
    """Leaves the clipping out."""

    def rows(self, block):
        return [(block.x - np.asarray(self.space.low)) / self.widths]


def test_clipping_is_its_own_and_a_copy_without_is_caught():
    """The rows' declared space clips first; here it is wider than the query's, so that only the query's own counts."""
    narrow, wide = dp.Box([0.0, 0.0], [1.0, 1.0]), dp.Box([-9.0, -9.0], [9.0, 9.0])
    rows = np.array([[0.0, 0.0]] * 5 + [[7.0, 8.0]])
    setting = Setting(REPLACE, 1, 6, 1, True)
    for kind, caught in [(Scatter, False), (NotClipped, True)]:
        query = kind(narrow, (0, 1))
        moved = query.collect(as_records(rows, space=wide), setting) - query.collect(
            as_records(np.zeros((6, 2)), space=wide), setting
        )
        for norm in NORMS:
            bound = ScatterNoise().sensitivity(query, norm, setting)
            assert (float(length(moved, norm)) > bound * (1.0 + 1e-12)) is caught


def table(n, rng):
    frame = pd.DataFrame(rng.normal(50.0, 30.0, (n, 3)), columns=["x", "y", "z"])
    return frame.assign(ward=rng.choice(["a", "b"], n))


SCHEMA = dp.Schema(
    {
        "x": dp.Number(0, 100, missing="fill", fill=50),
        "y": dp.Number(-50, 60, missing="fill", fill=0),
        "z": dp.Number(0, 1000, missing="fill", fill=0),
        "ward": dp.Category(WARDS, missing="fill", fill="a"),
    }
)


def expected(frame, columns):
    low, high = np.array([0.0, -50.0, 0.0]), np.array([100.0, 60.0, 1000.0])
    u = (np.clip(frame[["x", "y", "z"]].to_numpy(), low, high) - low) / (high - low)
    return scatter(u[:, columns], len(columns))


@pytest.mark.parametrize("n", [0, 1, 2, 40_000])
def test_sums_are_those_of_numpy(n):
    frame = table(n, np.random.default_rng(n))
    curator = dp.Curator(frame, schema=SCHEMA)
    columns = (2, 0)
    plain = Scatter(curator.space, columns).collect(curator._records, curator.setting)
    np.testing.assert_allclose(plain, expected(frame, [2, 0]), rtol=1e-9, atol=1e-12)
    error = ScatterNoise().float_error(curator.setting)
    assert np.abs(plain - expected(frame, [2, 0])).max() <= 2.0 * error
    grouped = Scatter(curator.space, columns, (0, 3)).collect(curator._records, curator.setting).reshape(3, 3)
    for place, ward in enumerate(WARDS):
        part = expected(frame[frame["ward"] == ward], [2, 0])
        np.testing.assert_allclose(grouped[place], part, rtol=1e-9, atol=1e-12)
    assert not grouped[2].any()


def test_float_errors_are_charged():
    """Columns far from zero, with next to no spread: about 0 all digits would cancel."""
    rng = np.random.default_rng(0)
    rows = 0.7 + 1e-7 * rng.normal(size=(50_000, 2))
    curator = dp.Curator(rows, space=dp.Box(0, 1))
    result = Scatter(curator.space, (0, 1)).collect(curator._records, curator.setting)
    moved = Scatter(curator.space, (0, 1)).collect(as_records(rows[::-1].copy(), space=dp.Box(0, 1)), curator.setting)
    centred = rows.astype(np.longdouble) - rows.astype(np.longdouble).mean(axis=0)
    exact = upper(np.asarray(centred.T @ centred, dtype=float))
    error = ScatterNoise().float_error(curator.setting)
    assert np.abs(result - exact).max() <= error
    assert np.abs(moved - exact).max() <= error
    assert error < 1e-6


def test_a_sum_stays_in_its_public_range():
    """More rows than were promised (a file that grew) move nothing out of what the grid holds."""
    curator = dp.Curator(np.array([[0.0], [1.0]] * 500), space=dp.Box(0, 1), neighbors="add-remove")
    setting = Setting(ADD, 1, 100, 1)
    assert Scatter(curator.space, (0,)).collect(curator._records, setting).tolist() == [25.0]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("group", [None, (0, 3)])
def test_it_goes_through_the_door(relation, group, tmp_path):
    frame = table(2000, np.random.default_rng(1))
    plain = dp.Curator(frame, schema=SCHEMA, neighbors=relation)
    query = Scatter(plain.space, (0, 1), group)
    shape = (3,) if group is None else (3, 3)
    for loss in (dp.GaussianLoss(1.0, relation), dp.LaplaceLoss(1.0, relation), dp.Guarantee(1.0, 1e-6, relation)):
        release = plain.measure(query, loss)
        assert release["upper"].shape == shape
        assert release.mechanism == "additive"
        assert release.exact
        assert not release.recorded
    curator = dp.Curator(frame, schema=SCHEMA, neighbors=relation, name="wards", ledger=str(tmp_path / "ledger.db"))
    assert curator.measure(query, dp.LaplaceLoss(0.5, relation)).recorded
    schedule = curator.reserve([dp.LaplaceLoss(0.25, relation), dp.GaussianLoss(0.1, relation)], query="twice")
    releases = [schedule.measure(query) for _ in range(2)]
    assert all(release.recorded and release["upper"].shape == shape for release in releases)
    assert len(curator.ledger.history("wards")) >= 2
    low, high = releases[0].interval(1.0 - 1e-12)
    own = expected(frame, [0, 1])
    exact = own if group is None else np.stack([expected(frame[frame["ward"] == ward], [0, 1]) for ward in WARDS])
    assert ((low <= exact) & (exact <= high)).all()  # 9 numbers: false alarm 1e-11


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows_have_noise_as_well(n):
    curator = dp.Curator(np.full((n, 2), 0.5), space=dp.Box(0, 1))
    assert np.unique(curator.measure(Scatter(curator.space, (0, 1)), dp.LaplaceLoss(1.0))["upper"]).size == 3


def test_the_noise_has_the_size_that_follows():
    curator = dp.Curator(as_records(np.zeros((100, 3)), space=dp.Box(0, 1), missing="fill"))
    query = Scatter(curator.space, (0, 1, 2))
    assert curator.plan(query, dp.LaplaceLoss(0.5)).noise.scale == pytest.approx(0.99 * 6 / 0.5, rel=1e-9)
    assert curator.plan(query, dp.GaussianLoss(0.5)).noise.scale == pytest.approx(0.99 * 6**0.5 / 0.5, rel=1e-9)
    gaps = dp.Curator(np.zeros((100, 3)), space=dp.Box(0, 1))
    assert gaps.plan(query, dp.LaplaceLoss(0.5)).noise.scale == pytest.approx(6 / 0.5, rel=1e-9)


def test_an_attack_finds_no_more_than_the_loss(seeded):
    """Neighbours as far apart as can be: a threshold on the noisy sum gains δ(0) = 2Φ(μ/2) − 1, and not more."""
    n, mu, draws = 50, 1.0, 40_000
    zeros = np.zeros((n, 2))
    other = zeros.copy()
    other[0] = 1.0
    box = dp.Box([0.0, 0.0], [1.0, 1.0])
    curators = [dp.Curator(as_records(rows, space=box, missing="fill")) for rows in (zeros, other)]
    query = Scatter(box, (0, 1))
    bits = seeded(5)
    rates = []
    for curator in curators:
        plan = curator.plan(query, dp.GaussianLoss(mu), bits=bits)
        values = query.collect(curator._records, curator.setting)
        noisy = draw_plan(plan, np.tile(values, (draws, 1)), bits).reshape(draws, -1)
        rates.append(float((noisy.sum(axis=1) > 0.5 * 3 * (n - 1) / n).mean()))
    gained = rates[1] - rates[0]
    most = 2.0 * normal.cdf(mu / 2.0) - 1.0
    # Two shares of 40,000 draws: standard deviation below 0.0036, so 0.022 is 6.1 of them; false alarm 1e-9 a side.
    assert most - 0.022 < gained < most + 0.022


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda box: Scatter(dp.Ball(1.0, center=[0.0]), (0,)), "expected a Box"),
        (lambda box: Scatter(box, ()), "each once"),
        (lambda box: Scatter(box, (0, 0)), "each once"),
        (lambda box: Scatter(box, (2,)), "at most 1"),
        (lambda box: Scatter(box, (0,), (0, 0)), "at least 1"),
        (lambda box: Scatter(box, (0,), 3), "write"),
    ],
)
def test_what_is_refused_when_it_is_written(make, says):
    with pytest.raises(ValueError, match=says):
        make(dp.Box([0.0, 0.0], [1.0, 1.0]))


def test_what_is_refused_before_anything_is_spent(tmp_path):
    box = dp.Box([0.0, 0.0], [1.0, 1.0])
    curator = dp.Curator(np.zeros((9, 2)), space=box, name="nine", ledger=str(tmp_path / "ledger.db"))
    for query, loss, says in [
        (Scatter(box, (0,)), dp.PureLoss(1.0), "GaussianLoss or a LaplaceLoss"),
        (Scatter(dp.Box([0.0, 0.0], [2.0, 1.0]), (0,)), dp.LaplaceLoss(1.0), "space of the curator"),
        (Scatter(box, (0,), (0, 2)), dp.LaplaceLoss(1.0), "column of categories"),
    ]:
        with pytest.raises(ValueError, match=says):
            curator.measure(query, loss)
    with pytest.raises(ValueError, match="expected Scatter"):
        curator.measure(dp.Sum(box), dp.LaplaceLoss(1.0), mechanism=ScatterNoise())
    assert not curator.ledger.history("nine")


class TestDirectStatistics:
    """Variances and covariances from a scatter over a public number of rows."""

    ROWS = np.random.default_rng(3).multivariate_normal([20.0, 3.0], [[9.0, 4.0], [4.0, 2.0]], 3000)
    BOX = dp.Box([0.0, 0.0], [40.0, 10.0])
    CLIPPED = np.clip(ROWS, [0.0, 0.0], [40.0, 10.0])

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_without_noise_they_are_those_of_numpy(self, delta):
        how = {"epsilon": 1e6, "delta": delta, "bounds": self.BOX, "method": "direct"}
        exact = np.cov(self.CLIPPED.T, ddof=0)
        result = st.covariance(self.ROWS, **how)
        np.testing.assert_allclose(result.value, exact, rtol=1e-3)
        assert result.method == "direct"
        assert result.means is None
        np.testing.assert_allclose(st.covariance(self.ROWS, [1, 0], **how).value, exact[::-1, ::-1], rtol=1e-3)
        np.testing.assert_allclose(st.variance(self.ROWS, **how).value, np.diagonal(exact), rtol=1e-3)
        alone = st.variance(self.ROWS, 1, **how)
        assert alone.value == pytest.approx(exact[1, 1], rel=1e-3)
        assert isinstance(alone.interval()[0], float)
        row = result.table()[1]
        assert row["low"] <= row["value"] <= row["high"]

    @pytest.mark.parametrize("epsilon", [1.0, 0.02])
    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_limits_hold_also_where_noise_is_larger_than_the_values(self, epsilon, delta, seeded):
        level, runs = 0.8, size(40, 150)
        how = {"epsilon": epsilon, "delta": delta, "bounds": self.BOX, "method": "direct"}
        exact = np.cov(self.CLIPPED.T, ddof=0)

        def hold(seed):
            result = st.covariance(self.ROWS, bits=seeded(seed), **how)
            low, high = result.interval(level)
            assert ((low <= result.value) & (result.value <= high)).all()
            assert np.linalg.eigvalsh(result.value).min() > -1e-9
            inside = upper((low <= exact) & (exact <= high))
            low, high = st.variance(self.ROWS, bits=seeded(runs + seed), **how).interval(level)
            return [*inside, *((low <= np.diagonal(exact)) & (np.diagonal(exact) <= high))]

        # Each of five counts is at least binomial; 1e-10 each.
        assert often(map(hold, range(runs)), runs, binom.ppf(1e-10, runs, level))

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_the_noise_is_that_of_the_scatter_over_n(self, delta, seeded, monkeypatch):
        monkeypatch.setattr(Request, "plan_with_less_noise", lambda self: self.plan())  # both kinds of noise
        n, square = len(self.ROWS), 40.0**2
        result = st.variance(self.ROWS, 0, epsilon=1.0, delta=delta, bounds=self.BOX, method="direct", bits=seeded(1))
        half = result.interval(0.9)[1] - result.measured
        scale = result.release.noise.scale
        expected = -np.log(0.1) * scale if not delta else 1.6448536 * scale
        assert half == pytest.approx(expected * square / n, rel=1e-6)
        if not delta:
            assert scale == pytest.approx((n - 1) / n, rel=1e-6)
        both = st.covariance(self.ROWS, epsilon=1.0, delta=delta, bounds=self.BOX, method="direct", bits=seeded(1))
        half = both.release.interval(0.9)[1] - both.release["upper"]
        squares = np.outer([40.0, 10.0], [40.0, 10.0]) / n
        np.testing.assert_allclose(both.coefficients[..., 0], squares, rtol=1e-12)
        low, high = both.interval(0.9)
        np.testing.assert_array_less(both.measured + 0.999999 * half[0] * squares, high)
        np.testing.assert_array_less(low, both.measured - 0.999999 * half[0] * squares)

    def test_no_rows(self):
        for n in (0, 1):
            result = st.covariance(np.full((n, 2), 5.0), epsilon=1.0, bounds=(0, 10), method="direct")
            assert np.isfinite(result.value).all()

    @pytest.mark.parametrize(
        ("how", "says"),
        [
            ({"neighbors": "add-remove"}, "must be public"),
            ({"data": dp.Curator(np.ones((9, 2)), space=dp.Box(0, 2))}, "missing='fill'"),
            ({"bounds": dp.Ball(2.0, center=[0.0, 0.0])}, "write a Box"),
            ({"unit": np.arange(9), "max_rows": 2}, "must be public"),
            ({"weights": 1, "columns": 0}, "neither groups nor weights"),
        ],
    )
    def test_what_is_refused(self, how, says):
        given = {"epsilon": 1.0, "method": "direct"} | how
        data = given.pop("data", np.ones((9, 2)))
        given |= {} if "data" in how or "bounds" in how else {"bounds": (0, 2)}
        with pytest.raises(ValueError, match=says):
            st.variance(data, **given)
