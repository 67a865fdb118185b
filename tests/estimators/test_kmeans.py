"""Private k-means: the shell, the promise, accuracy, and that nothing breaks it."""

from __future__ import annotations

import dask.array
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_clusterer
from sklearn.cluster import KMeans as Exact
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import ArgumentError, Ball, Box, BudgetExceeded, Curator, Guarantee, LaplaceLoss, Table, compose
from discreet.estimators.kmeans import KMeans
from discreet.models.clusters.histogram_clusters import cells_along, denoise_histogram
from discreet.models.clusters.lloyd import packed_start
from discreet.models.clusters.private_kmeans import cluster_components
from discreet.noise import NotPrivateWarning
from discreet.queries.counts.grids import ProjectedGrid
from discreet.queries.moments.clipped_moments import ClippedMoments, MomentSums
from discreet.queries.search import worst_neighbours
from discreet.records import Block, as_records
from effort import LONG, crossed, size
from instances import QUERIES

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

METHODS = [
    {},
    {"method": "joint"},
    {"method": "dplloyd", "composition": "linear"},
    {"method": "dplloyd", "composition": "zcdp"},
]
NAMES = ["adaptive", "joint", "dplloyd linear", "dplloyd zcdp"]


def separated(count: int, d: int, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in [−1, 1]^d around ``count`` centres that are well apart, and the centres."""
    rng = np.random.default_rng(seed)
    centers = packed_start(count, Box(np.full(d, -0.8), np.full(d, 0.8)), rng) * np.sqrt(d) * 0.8
    return centers[rng.integers(0, count, rows)] + rng.normal(0.0, 0.04, (rows, d)), centers


def nicv(rows: np.ndarray, centers: np.ndarray) -> float:
    return float(((rows[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean())


@parametrize_with_checks([KMeans(3, epsilon=1e3, bounds=Ball(radius=1e3), random_state=0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("d", "count"), [(1, 3), (2, 5), (3, 6), (5, 5), (10, 4), (20, 4)])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_separated_clusters_are_found(d, count, neighbors):
    rows, _ = separated(count, d, size(8_000, 20_000))
    exact = nicv(rows, Exact(count, n_init=10, random_state=0).fit(rows).cluster_centers_)
    model = KMeans(count, bounds=Box(-1.0, 1.0), neighbors=neighbors, random_state=0).fit(rows)
    assert nicv(rows, model.cluster_centers_) < 1.2 * exact


@pytest.mark.parametrize("options", METHODS[1:], ids=NAMES[1:])
def test_adaptive_is_better_than_the_baselines(options):
    rows, _ = separated(5, 2, 5000)
    ours, theirs = (
        np.mean(
            [
                nicv(rows, KMeans(5, bounds=Box(-1.0, 1.0), random_state=seed, **more).fit(rows).cluster_centers_)
                for seed in range(3)
            ]
        )
        for more in ({}, options)
    )
    assert ours < theirs


def test_centres_are_in_the_datas_own_units_and_so_are_distances():
    rng = np.random.default_rng(0)
    wide = np.where(rng.random(20_000) < 0.5, 1000.0, 3000.0) + rng.normal(0.0, 100.0, 20_000)
    narrow = rng.uniform(-1.0, 1.0, 20_000)  # it has no say in the distances, although it fills its bounds
    rows = np.column_stack([wide, narrow])
    model = KMeans(2, bounds=Box([0.0, -1.0], [4000.0, 1.0]), random_state=0).fit(rows)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [1000.0, 3000.0], atol=30.0)
    np.testing.assert_array_equal(model.predict(rows), model.transform(rows).argmin(axis=1))
    assert model.score(rows) == pytest.approx(-len(rows) * nicv(rows, model.cluster_centers_))


ROWS = {
    "random": lambda rng, n, d: rng.normal(size=(n, d)),
    "constant": lambda rng, n, d: np.full((n, d), 0.3),
    "one column constant": lambda rng, n, d: rng.normal(size=(n, d)) * (np.arange(d) > 0),
    "duplicates": lambda rng, n, d: np.repeat(rng.normal(size=(2, d)), n // 2, axis=0),
    "far outside": lambda rng, n, d: 1e12 * rng.normal(size=(n, d)),
}
PROMISES = [(0.001, "replace-one"), (0.1, "add-remove"), (3.0, "add-remove"), (100.0, "replace-one")]


SHAPES = [(1, 1), (1, 20), (2, 3), (3, 20), (4, 2), (10, 5), (70, 8)]  # columns and clusters


@pytest.mark.parametrize(("shape", "kind", "name", "promise"), crossed(SHAPES, list(ROWS), NAMES, PROMISES))
def test_no_rows_and_no_promise_break_it(shape, kind, name, promise):
    (d, count), (epsilon, neighbors), options = shape, promise, METHODS[NAMES.index(name)]
    rng = np.random.default_rng(d)
    rows = ROWS[kind](rng, 60, d)
    bounds = Ball(radius=5.0) if epsilon > 1.0 else Box(np.arange(d) * -0.5 - 1.0, np.full(d, 3.0))
    model = KMeans(count, epsilon=epsilon, bounds=bounds, neighbors=neighbors, random_state=1, **options).fit(rows)
    assert model.cluster_centers_.shape == (count, d)
    assert np.isfinite(model.cluster_centers_).all()
    space = bounds.for_columns(d)
    np.testing.assert_allclose(space.clip(model.cluster_centers_), model.cluster_centers_, atol=1e-9)


@pytest.mark.parametrize("steps", [1, 12])
@pytest.mark.parametrize("d", [2, 8])
def test_steps_are_as_many_as_asked_for(steps, d):
    rows, _ = separated(3, d, 500)
    model = KMeans(3, bounds=Box(-1.0, 1.0), n_steps=steps, random_state=0).fit(rows)
    names = [release.query for release in model.releases_]
    assert names.count("sums of clusters" if d == 2 else "search for clusters") == steps


def test_nothing_of_single_rows_is_kept():
    rows, _ = separated(3, 2, 300)
    model = KMeans(3, bounds=Box(-1.0, 1.0), random_state=0).fit(rows)
    assert is_clusterer(model)
    for name in ("labels_", "inertia_", "n_iter_"):
        assert not hasattr(model, name)
    kept = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
    assert all(len(value) == 3 for value in kept)


@pytest.mark.parametrize("frame", [np.asarray, pd.DataFrame, pl.DataFrame], ids=["array", "pandas", "polars"])
def test_labels_of_rows_that_the_caller_holds(frame):
    rows, _ = separated(3, 2, 300)
    held = rows if frame is np.asarray else frame({"a": rows[:, 0], "b": rows[:, 1]})
    model = KMeans(3, bounds=Box(-1.0, 1.0), random_state=0)
    labels = model.fit_predict(held)
    np.testing.assert_array_equal(labels, model.predict(held))
    assert not hasattr(model, "labels_")


def test_labels_of_rows_behind_a_door_are_refused_before_anything_is_spent(tmp_path):
    rows, _ = separated(3, 2, 300)
    path = tmp_path / "rows.parquet"
    pd.DataFrame(rows, columns=["a", "b"]).to_parquet(path)
    curator = Curator(rows, space=Box(-1.0, 1.0), name="a", ledger=tmp_path / "l.db", budget=Guarantee(1.0, 1e-6))
    behind = [
        curator,
        as_records(rows, space=Box(-1.0, 1.0)),
        path,
        str(path),
        Table(path),
        dask.array.from_array(rows),
    ]
    before = curator.ledger.history("a")
    for given in behind:
        with pytest.raises(ArgumentError, match=r"X: expected rows that you hold.*got .*write fit\(X\)") as error:
            KMeans(3, bounds=Box(-1.0, 1.0)).fit_predict(given)
        assert error.value.argument == "X"
    assert curator.ledger.history("a") == before


@pytest.mark.parametrize("options", METHODS, ids=NAMES)
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("d", [2, 8])
def test_losses_compose_to_the_promise(options, neighbors, d):
    rows, _ = separated(3, d, 1000)
    guarantee = Guarantee(0.7, 1e-5, neighbors)
    model = KMeans(3, epsilon=0.7, delta=1e-5, bounds=Box(-1.0, 1.0), neighbors=neighbors, **options).fit(rows)
    assert model.guarantee_ == guarantee
    assert [release.loss for release in model.releases_] == list(model.losses_)
    pure = isinstance(model.losses_[0], LaplaceLoss)
    kept = compose(model.losses_, "linear" if pure else "exact")
    assert kept.epsilon(0.0 if pure else 1e-5) <= 0.7 * (1.0 + 1e-9)


def test_a_seed_voids_the_guarantee_and_warns():
    rows, _ = separated(2, 2, 100)
    with pytest.warns(NotPrivateWarning):
        assert KMeans(2, bounds=Box(-1.0, 1.0), random_state=0).fit(rows).guarantee_ is None


@pytest.mark.parametrize("options", METHODS, ids=NAMES)
@pytest.mark.parametrize("d", [2, 8])
def test_a_ledger_is_charged_once_and_refuses_a_second_fit(tmp_path, options, d):
    rows, _ = separated(3, d, 1000)
    limit = Guarantee(1.0, 1e-6)
    curator = Curator(
        rows, space=Box(-1.0, 1.0).for_columns(d), name="rows", ledger=str(tmp_path / "ledger.db"), budget=limit
    )
    model = KMeans(3, epsilon=1.0, delta=1e-6, **options).fit(curator)
    entries = curator.ledger.history("rows")
    assert [entry.kind for entry in entries] == ["limit", "reserve"]
    assert entries[1].query == f"KMeans, {len(model.releases_)} releases"
    assert all(release.recorded for release in model.releases_)
    with pytest.raises(BudgetExceeded):
        KMeans(3, epsilon=1.0, delta=1e-6, **options).fit(curator)
    assert len(curator.ledger.history("rows")) == len(entries)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": None}, "bounds=None: expected"),
        ({"n_clusters": 0}, "n_clusters=0: expected"),
        ({"n_clusters": 51}, "n_clusters=51: expected at most the number of rows; there are 50"),
        ({"n_clusters": 2.0}, "n_clusters=2.0: expected"),
        ({"epsilon": 0.0}, "epsilon=0.0: expected"),
        ({"delta": 0.0}, "delta=0.0: expected"),
        ({"method": "lloyd"}, "method='lloyd': expected"),
        ({"composition": "moments"}, "composition='moments': expected"),
        ({"n_steps": 0}, "n_steps=0: expected"),
        ({"neighbors": "some"}, "neighbors='some'"),
    ],
)
def test_errors_say_what_is_expected(options, message):
    with pytest.raises(ValueError, match=message):
        KMeans(**({"n_clusters": 2, "bounds": Box(-1.0, 1.0)} | options)).fit(np.zeros((50, 2)))


def test_errors_come_before_anything_is_spent(tmp_path):
    ledger = str(tmp_path / "ledger.db")
    curator = Curator(np.zeros((10, 2)), space=Box([-1.0, -1.0], [1.0, 1.0]), name="rows", ledger=ledger)
    for options in ({"n_clusters": 11}, {"random_state": 0}, {"bounds": Ball(radius=1.0)}, {"neighbors": "add-remove"}):
        with pytest.raises(ValueError, match="expected"):
            KMeans(**({"n_clusters": 2} | options)).fit(curator)
    assert not curator.ledger.history("rows")


@pytest.mark.parametrize(("count", "d", "epsilon"), [(20, 10, 1.0), (40, 20, 1.0), (8, 4, 0.3)])
def test_clusters_in_many_columns_are_found(count, d, epsilon):
    """Each of them has a centre near it: seeded, so it fails or holds for good; without moves some are missed."""
    rng = np.random.default_rng(count)
    truth = rng.normal(0.0, 3.5, (count, d))
    rows = truth[rng.integers(0, count, 40_000)] + rng.standard_normal((40_000, d))
    found = KMeans(count, epsilon=epsilon, bounds=(-20.0, 20.0), random_state=0).fit(rows).cluster_centers_
    nearest = np.linalg.norm(truth[:, None] - found[None], axis=2).min(axis=1)
    assert nearest.max() < 1.0


@pytest.mark.parametrize("query", [MomentSums, ProjectedGrid])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_no_neighbours_beat_the_bounds(query, d):
    rng = np.random.default_rng(d)
    # Each in one space, and in all of them by ``make audit``; ``test_worst_neighbours.py`` has further spaces.
    every = QUERIES[query](rng, d, 2.0)
    stride = 1 if LONG else min(len(every), 3)
    for instance in every[(1, 2, 6).index(d) % stride :: stride]:
        assert all(finding.holds and finding.tight for finding in worst_neighbours(instance, rng))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_dplloyds_sensitivity_is_that_of_the_box(d):
    """In [−1, 1]^d with count and coordinates of the same weight: d + 1 in L1, and twice that for a replaced row."""
    space = Box(np.full(d, -1.0), np.full(d, 1.0))
    components = cluster_components(space, np.ones(2), np.array([[-0.1] * d, [0.1] * d]), np.ones(2))
    moments = ClippedMoments(components, None, (1.0 / (1.0 + d), d / (1.0 + d), 0.0), "spherical", hard=True)
    query = MomentSums(moments, space, "sums of clusters")
    unit = query.parts["counts"].weight
    assert query.bound.sensitivity("l1", "add-remove") / unit == pytest.approx(d + 1)
    assert query.bound.sensitivity("l1", "replace-one") / unit == pytest.approx(2 * (d + 1))
    corners = query.contributions(Block(np.array([[1.0] * d, [-1.0] * d]), np.zeros((2, 0), dtype=np.int64)))
    assert abs(corners[0] - corners[1]).sum() / unit == pytest.approx(2 * (d + 1))


@pytest.mark.parametrize("shape", [(2,), (7,), (5, 9), (4, 1, 6)])
def test_denoising_keeps_the_total_and_the_signal(shape):
    rng = np.random.default_rng(0)
    true = rng.integers(0, 1000, shape).astype(float)
    np.testing.assert_allclose(denoise_histogram(true, 1e-9, true.sum(), rng), true, atol=1e-6)
    noise = denoise_histogram(rng.normal(size=shape) * 1e6, 1e6, 100.0, rng)
    assert noise.sum() == pytest.approx(100.0)
    assert (noise >= 0.0).all()


def test_cells_are_as_wide_in_each_direction():
    assert cells_along(100, np.array([1.0, 1.0])) == (10, 10)
    assert cells_along(16, np.array([1.0, 1e-6])) == (16, 1)
    assert cells_along(2, np.ones(8)) == (2, *[1] * 7)


@pytest.mark.filterwarnings("ignore:X (does not have|has)( valid)? feature names")  # the checks mix both on purpose
def test_frames_in_and_out():
    from sklearn.utils.estimator_checks import (
        check_dataframe_column_names_consistency,
        check_set_output_transform,
        check_set_output_transform_pandas,
        check_transformer_get_feature_names_out,
    )

    model = KMeans(2, epsilon=1e3, bounds=Ball(1e3), random_state=0)
    check_dataframe_column_names_consistency("KMeans", model)
    check_set_output_transform("KMeans", model)
    check_set_output_transform_pandas("KMeans", model)
    check_transformer_get_feature_names_out("KMeans", model)
