"""Components that are not needed move to clusters that have none of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet.models.mixture import adaptive_method
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.mixture.adaptive_model import Pool
from discreet.models.mixture.component_moves import move_spare
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
