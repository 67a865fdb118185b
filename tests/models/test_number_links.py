"""How numbers are tied: tables of scores, the choice between normal scores and values, and correlations that stay."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.models.synthesis import pairwise_fit
from discreet.models.synthesis.number_links import normal_scores, normal_table, tied_table, value_scores
from discreet.models.synthesis.pair_targets import BinnedColumns, make_targets, nearest_correlations
from discreet.models.synthesis.pairwise_fit import draw_start, fit_pairs
from discreet.models.synthesis.pairwise_model import PairwiseModel, Walk
from discreet.models.synthesis.table_rows import _local_pulls


def _targets(x, noise, seed=0, bins=12):
    """Return targets of the columns of x, from noisy tables of bins of about equal size, and the bins' values."""
    rng, (n, d) = np.random.default_rng(seed), x.shape
    codes = np.stack([np.digitize(c, np.quantile(c, np.arange(1, bins) / bins)) for c in x.T], axis=1)
    counts = tuple(np.bincount(c, minlength=bins) + rng.normal(0.0, 1.0, bins) for c in codes.T)
    values = tuple(
        np.array([column[code == k].mean() for k in range(bins)]) for column, code in zip(x.T, codes.T, strict=True)
    )
    columns = BinnedColumns(float(n), counts, (np.ones(bins),) * d, (bins,) * d, values)
    tables = {}
    for i, j in itertools.combinations(range(d), 2):
        table = np.bincount(codes[:, i] * bins + codes[:, j], minlength=bins**2).reshape(bins, bins)
        tables[i, j] = table + rng.normal(0.0, np.sqrt(noise), table.shape)
    ranks = np.stack([columns.ranks(j)[codes[:, j]] for j in range(d)])
    return make_targets(columns, tables, np.full((d, d), noise), ranks @ ranks.T, 1.0), values


def _linear(n=20_000, seed=0):
    """Return a number with a long tail, and another that is linear in it, with a correlation of .95."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, 10.0, n)
    return np.stack([x, 3.0 * x + rng.normal(0.0, 3.0 * 0.329 * x.std(), n)], axis=1)


def _normal(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.95], [0.0, np.sqrt(1.0 - 0.95**2)]])
    return np.exp(z)


def test_a_normal_table_is_that_of_normal_numbers():
    rng, n = np.random.default_rng(0), 400_000
    z = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    p, q = np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.9])
    a, b = (np.digitize(c, np.quantile(c, np.cumsum(w)[:-1])) for c, w in zip(z.T, (p, q), strict=True))
    real = np.bincount(a * 2 + b, minlength=6).reshape(3, 2) / n
    np.testing.assert_allclose(normal_table(p, q, 0.8), real, atol=0.005)


@pytest.mark.parametrize("goal", [-0.9, 0.0, 0.3, 0.97])
def test_a_tied_table_has_its_margins_and_its_trend(goal):
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(9))
    s, t = value_scores(np.cumsum(rng.gamma(0.5, size=12)), p), normal_scores(q)
    table, tie = tied_table(p, q, s, t, (s, t), 0.8 * goal)
    np.testing.assert_allclose(table.sum(axis=0), q, atol=0.01)
    np.testing.assert_allclose(table.sum(axis=1), p, atol=0.01)
    assert (table >= 0.0).all()
    assert tie * goal >= 0.0


def test_scores_are_chosen_by_what_fits_the_released_tables():
    assert _targets(_linear(), 25.0)[0].links.by_value[:1] == (0,)
    assert _targets(_normal(), 25.0)[0].links.by_value == ()


@pytest.mark.parametrize("rows", [_linear, _normal])
def test_a_strong_correlation_stays(rows, monkeypatch):
    """Of the bins' values; noise of 20 rows in each of 144 cells of 20,000 rows."""
    monkeypatch.setattr(pairwise_fit, "SWEEPS", 60)
    monkeypatch.setattr(pairwise_fit, "CHAINS", 4000)
    x = rows()
    targets, values = _targets(x, 400.0)
    rng = np.random.default_rng(0)
    model = fit_pairs(targets, np.zeros((24, 24), dtype=bool), rng)
    drawn = model.move(draw_start(targets, 20_000, rng), 10, rng) - targets.columns.starts[:-1]
    codes = [np.digitize(c, np.quantile(c, np.arange(1, 12) / 12)) for c in x.T]
    real = np.corrcoef([v[c] for v, c in zip(values, codes, strict=True)])[0, 1]
    ours = np.corrcoef([v[c] for v, c in zip(values, drawn.T, strict=True)])[0, 1]
    assert real - 0.015 < ours < real + 0.04


def test_a_parabola_stays(monkeypatch):
    """Σ u(x)·y over bins for a parabola y of x, u the second score of x: each of 144 cells has noise as it has rows.

    Cells shrunk by themselves leave two fifths of it.
    """
    monkeypatch.setattr(pairwise_fit, "SWEEPS", 80)
    monkeypatch.setattr(pairwise_fit, "CHAINS", 4000)
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    targets, _ = _targets(np.stack([x, x**2 + rng.normal(0.0, 1.0, 20_000)], axis=1), 140.0**2)
    links = targets.links
    assert links.owners.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(links.curves.T @ (targets.shares[:, None] * links.curves), np.eye(4), atol=1e-9)
    model = fit_pairs(targets, np.zeros((24, 24), dtype=bool), rng)
    drawn = model.move(draw_start(targets, 20_000, rng), 20, rng)
    ours = (links.curves[drawn[:, 0], 0] * links.scores[drawn[:, 1], 1]).mean()
    real = links.curves[:, 0] @ targets.pairs @ links.scores[:, 1] / targets.columns.rows
    assert abs(real) > 0.5
    assert abs(ours - real) < 0.2 * abs(real)


def test_within_bins_a_number_follows_the_slope_of_its_interactions():
    """θ(x, y) = B·s·t + u(s)·t: the first part is of the latent variables, the second has the slope u'(s)·t."""
    rng = np.random.default_rng(0)
    targets, _ = _targets(_normal(), 25.0, bins=12)
    s, t = targets.links.scores[:12, 0], targets.links.scores[12:, 1]
    curve = s**2 - s * (targets.shares[:12] @ s**3)  # orthogonal to s
    theta = np.zeros((24, 24))
    theta[:12, 12:] = 0.7 * np.outer(s, t) + 0.3 * np.outer(curve, t)
    model = PairwiseModel(targets.columns.starts, np.zeros(24), theta + theta.T, np.zeros((0, 2), dtype=int))
    rows = np.stack([rng.integers(0, 12, 500), rng.integers(12, 24, 500)], axis=1).astype(np.int32)
    pulls = _local_pulls(rows, model, targets)
    inner = (rows[:, 0] > 0) & (rows[:, 0] < 11)
    low, high = s[rows[inner, 0] - 1], s[rows[inner, 0] + 1]
    wanted = 0.3 * (low + high - targets.shares[:12] @ s**3) * t[rows[inner, 1] - 12]
    np.testing.assert_allclose(pulls[0, inner], wanted, atol=1e-9)
    np.testing.assert_allclose(pulls[1, inner], 0.3 * curve[rows[inner, 0]], atol=1e-9)


def test_interactions_that_overflow_a_float_are_drawn_together():
    """Two numbers with B = 40: their table spans exp(±300), and fields make up for it."""
    score = np.linspace(-2.7, 2.7, 16)
    theta = np.zeros((32, 32))
    theta[:16, 16:] = 40.0 * np.outer(score, score)
    theta += theta.T
    fields = np.tile(-20.0 * score**2 - 0.5 * score**2, 2)
    weights = np.exp(fields[:16, None] + fields[16:] + theta[:16, 16:])
    rng, n = np.random.default_rng(0), 20_000
    p = weights / weights.sum()
    rows = np.stack([rng.integers(0, 16, n), rng.integers(16, 32, n)], axis=1).astype(np.int32)
    walk = Walk(np.array([0, 16, 32]), rows, np.array([[0, 1]]))
    walk.move(fields, theta, rng)  # a pair alone is drawn exactly in one sweep
    place = walk.rows[:, 0] * 16 + walk.rows[:, 1] - 16
    off = np.bincount(place, minlength=256) - n * p.ravel()
    assert (np.abs(off) < 6.5 * np.sqrt(n * p.ravel()) + 5.0).all()


def test_the_nearest_correlations_are_possible_and_keep_those_that_are():
    rng = np.random.default_rng(0)
    good = np.corrcoef(rng.normal(size=(5, 50)))
    np.testing.assert_allclose(nearest_correlations(good), good, atol=1e-12)
    bad = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    result = nearest_correlations(bad)
    assert np.linalg.eigvalsh(result).min() > 0.0
    np.testing.assert_allclose(np.diag(result), 1.0)
    np.testing.assert_allclose(np.abs(result[np.triu_indices(3, 1)]), 0.5, atol=0.03)  # by symmetry
