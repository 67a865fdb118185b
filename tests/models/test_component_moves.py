"""Components that are not needed move to clusters that have none of their own."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

import discreet as dp
from discreet.models.mixture import adaptive_method
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.mixture.adaptive_model import Pool
from discreet.models.mixture.component_moves import MIXED, OVERLAP, are_apart, move_spare
from discreet.models.mixture.own_coordinates import Shape
from discreet.noise import NotPrivateWarning
from discreet.queries.moments.clipped_moments import SHAPES
from discreet.queries.moments.components import Components

CENTRES = np.array([[-0.5, 0.0], [-0.2, 0.3], [0.5, -0.2]])


NARROW = 0.001 * np.eye(2)
ON_TWO = NARROW + 0.25 * np.outer(CENTRES[0] - CENTRES[1], CENTRES[0] - CENTRES[1])
BETWEEN = CENTRES[:2].mean(axis=0)
STARTS = {
    "one without rows": Components(
        np.array([0.6, 0.3, 0.1]), np.array([BETWEEN, CENTRES[2], [0.0, -0.9]]), np.array([ON_TWO, NARROW, NARROW])
    ),
    "two at one cluster": Components(
        np.array([0.6, 0.2, 0.2]),
        np.array([BETWEEN, CENTRES[2] - 0.02, CENTRES[2] + 0.02]),
        np.array([ON_TWO, NARROW, NARROW]),
    ),
}


def furthest_centre(monkeypatch: pytest.MonkeyPatch, start: Components, moves: tuple[float, ...]) -> float:
    """Return the largest distance of a cluster from all means, after a fit from a given start."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([centre + 0.03 * rng.standard_normal((3000, 2)) for centre in CENTRES])
    monkeypatch.setattr(Adaptive, "search_steps", 0)
    monkeypatch.setattr(Adaptive, "search", lambda *_: (start, []))
    monkeypatch.setattr(adaptive_method, "MOVES", moves)
    with pytest.warns(NotPrivateWarning):
        mixture = dp.GaussianMixture(3, epsilon=2.0, bounds=dp.Ball(radius=1.0), random_state=0).fit(rows)
    return float(np.linalg.norm(mixture.means_[:, None] - CENTRES, axis=2).min(axis=0).max())


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_a_cluster_without_a_component_gets_one_that_is_not_needed(start, monkeypatch):
    assert furthest_centre(monkeypatch, start, adaptive_method.MOVES) < 0.02
    assert furthest_centre(monkeypatch, start, ()) > 0.1  # EM alone leaves it there


def pool_with(counts: list[float], widths: list[float], shape: str, d: int = 2) -> Pool:
    covariances = np.array([width**2 * np.eye(d) for width in widths])
    covariances[:, 0, 0] *= 1.0 if shape in ("spherical", "tied") else 4.0
    means = np.linspace(-0.9, 0.9, len(counts))[:, None] * np.eye(d)[0]
    components = Components(np.full(len(counts), 1.0 / len(counts)), means, covariances)
    return replace(Pool.empty(components), step=1, counts=np.array(counts), count_noise=1.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_moves_where_all_have_rows_or_none_is_wide(shape):
    for counts, widths in (([50.0] * 3, [0.3, 0.01, 0.01]), ([50.0, 50.0, 1.0], [0.1] * 3), ([1.0] * 3, [0.1] * 3)):
        pool = pool_with(counts, widths, shape)
        assert move_spare(pool, Shape(shape, 2), np.random.default_rng(0)) is pool


@pytest.mark.parametrize("shape", ["full", "diag", "spherical"])
@pytest.mark.parametrize("count", [-1e150, 0.0, 1e150])
def test_whatever_was_released_gives_components(shape, count):
    for widths in ([1.0, 1e-3, 1e-3, 1e-3], [1e-3, 1.0, 1e-3, 1.0]):
        pool = pool_with([1e4, 1e150, count, -1e150], widths, shape, d=3)
        result = move_spare(pool, Shape(shape, 3), np.random.default_rng(0)).components
        assert np.isfinite(result.whitening).all()
        assert result.weights.sum() == pytest.approx(1.0)
        assert np.linalg.norm(result.means, axis=1).max() <= 1.0 + 1e-12
        if shape != "full":
            assert result.is_diagonal


def fit_pair(
    distance: float, some: int, monkeypatch: pytest.MonkeyPatch, *, repeats: bool = True
) -> tuple[list[int], float]:
    """Return how often each question of phase 2 was asked, and the distance of a cluster's covariance from I.

    The cluster has ``some`` of 5000 rows. If these are few, one release of many shows little of its covariance.
    """
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((5000, 6))
    rows[:some, 0] += distance
    bound = 1.2 * float(np.abs(rows).max())
    start = Components(
        np.array([1.0 - some / 5000, some / 5000]), np.zeros((2, 6)), np.repeat(np.eye(6)[None], 2, axis=0)
    )
    start.means[1, 0] = distance
    scale = np.asarray(dp.Box(-bound, bound).for_columns(6).scale)
    monkeypatch.setattr(Adaptive, "search_steps", 0)
    monkeypatch.setattr(Adaptive, "search", lambda *_: (start.rescale(np.zeros(6), 1.0 / scale), []))
    if not repeats:
        monkeypatch.setattr(adaptive_method, "are_apart", lambda _: False)
    mixture = dp.GaussianMixture(2, epsilon=1.0, delta=1e-6, bounds=(-bound, bound), random_state=0)
    with pytest.warns(NotPrivateWarning):
        mixture.fit(rows)
    asked = [str(release.asked) for release in mixture.releases_ if release.query == "adaptive mixture"]
    small = mixture.covariances_[np.argmin(mixture.weights_)]
    return [len(list(same)) for _, same in groupby(asked)], float(np.linalg.norm(small - np.eye(6)))


def test_questions_are_asked_again_where_clusters_are_apart(monkeypatch):
    times, distance = fit_pair(12.0, 250, monkeypatch)
    assert times[-1] >= 4
    alone, further = fit_pair(12.0, 250, monkeypatch, repeats=False)
    assert set(alone) == {1}
    assert sum(alone) == sum(times)
    assert distance < further


def test_questions_follow_every_release_where_components_overlap(monkeypatch):
    assert set(fit_pair(1.5, 2500, monkeypatch)[0]) == {1}


@pytest.mark.parametrize("width", [0.1, 0.3, 1.0, 3.0])
def test_components_that_are_apart_share_few_rows(width):
    """The bound is never below the share of rows of others, which is counted here on draws."""
    rng, found = np.random.default_rng(1), 0
    for _ in range(20):
        factors = width * rng.standard_normal((4, 3, 3))
        covariances = factors @ np.swapaxes(factors, 1, 2) + 1e-3 * np.eye(3)
        components = Components(rng.dirichlet(np.ones(4)), rng.standard_normal((4, 3)), covariances)
        rows, labels = components.sample(4000, rng)
        joint = components.log_joint(rows)
        own = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))[np.arange(len(rows)), labels]
        if are_apart(components):
            found += 1
            assert 1.0 - own.mean() < OVERLAP + MIXED + 0.05
    assert (found > 0) == (width < 1.0)
