"""The method of synthetic tables: trees, bins, targets, sweeps and values within bins, each against another way."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from discreet.models.synthesis import pairwise_fit
from discreet.models.synthesis.column_bins import group_categories, group_numbers, shrink_rare
from discreet.models.synthesis.column_trees import ColumnTree, NumberUnits, find_inside, to_shares, total_rows
from discreet.models.synthesis.pair_targets import BinnedColumns, add_coarse, make_targets
from discreet.models.synthesis.pairwise_fit import draw_start, fit_pairs, mix_spreads, tied_pairs
from discreet.models.synthesis.pairwise_model import PairwiseModel, Walk, draw_independent
from discreet.models.synthesis.second_look import choose_pairs
from discreet.models.synthesis.triples import TripleTargets, TripleTerms, merge_bins
from effort import crossed, size
from short_fits import shorter_synthesis

ABSURD = [0.0, 1e300, -1e300, 1e17, -5.0]
VALUES = np.arange(5.0), np.arange(6.0), np.zeros(0)  # of the bins of two numbers and a category


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("high", [1.0, 7.0, 130.0, 1e5, 1e9])
def test_units_cover_the_interval_and_a_tree_reaches_them(high, whole):
    units = NumberUnits(0.0, high, whole)
    assert (np.diff(units.ends) > 0.0).all()
    assert units.ends[0] <= 0.0 <= units.ends[1]
    assert units.ends[-2] <= high <= units.ends[-1]
    tree = ColumnTree.start(units, gap=False)
    for _ in range(units.levels - 1):  # all rows at 0
        tree = tree.add(np.where(np.arange(tree.size) == 0, 1000.0, 0.0), 1.0).grow(1000.0)
    assert tree.cuts[0] == 0
    assert tree.cuts[-1] == units.count
    if units.count < 2**20 and whole:
        assert tree.cuts[1] == 1  # the first unit is by itself


def test_counts_of_nested_partitions_are_combined_by_least_squares():
    rng = np.random.default_rng(0)
    units = NumberUnits(0, 999, True)
    tree = ColumnTree.start(units, gap=True)
    for _ in range(units.levels):
        tree = tree.add(rng.normal(100.0, 50.0, tree.size), 9.0)
        last = tree
        tree = tree.grow(1000.0)
    result, _ = last.estimate()
    fine = last.counted[-1][0]
    rows, values = [], []
    for cuts, counts in last.counted:
        parent = np.append(np.searchsorted(cuts, fine[:-1], side="right") - 1, len(cuts) - 1)
        rows.append((parent[None, :] == np.arange(len(counts))[:, None]).astype(float))
        values.append(counts)
    expected = np.linalg.lstsq(np.concatenate(rows), np.concatenate(values), rcond=None)[0]
    np.testing.assert_allclose(result, expected, rtol=1e-8)


@pytest.mark.parametrize("value", ABSURD)
def test_histograms_are_total(value):
    counts = np.array([value, 3.0, -value, value])
    rows = total_rows([(counts, np.ones(4))], None)
    assert 1.0 <= rows <= 1e18
    shares = to_shares(counts, rows)
    assert (shares >= 0.0).all()
    assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize("far", [1.0, 1e300])
def test_cells_far_out_are_left_out_for_any_numbers(value, far):
    middles = far * np.linspace(-1.0, 1.0, 7)
    inside = find_inside(middles, np.array([value, 3.0, -value, value, 0.0, 1.0, -2.0]), np.ones(7))
    assert inside.any()
    assert find_inside(middles, np.zeros(7), np.ones(7)).all()


def test_only_noise_far_out_is_left_out():
    middles = np.arange(200.0)
    counts = np.where(middles < 10, 1000.0, 0.0)
    noise = np.full(200, 100.0)
    assert find_inside(middles, counts, noise).sum() < 40
    assert find_inside(middles, counts, noise)[:20].all()
    counts[150] = 400.0  # a spike that is more than noise, and what is before it
    assert find_inside(middles, counts, noise)[:151].all()


def test_bins_are_adjacent_large_enough_and_keep_spikes_apart():
    rng = np.random.default_rng(0)
    for _ in range(50):
        counts = rng.gamma(0.3, 100.0, rng.integers(1, 200))
        counts[rng.integers(len(counts))] += 10.0 * counts.sum() + 1.0
        least = rng.uniform(0.001, 0.3) * counts.sum()
        groups = group_numbers(rng.uniform(0.1, 1.0, len(counts)), counts, least)
        assert groups[0] == 0
        assert set(np.diff(groups)) <= {0, 1}
        sizes = np.bincount(groups, counts)
        assert len(sizes) == 1 or sizes.min() >= least
        assert len(sizes) <= 20


def test_rare_categories_share_a_bin_unless_they_are_kept():
    counts = np.array([100.0, 1.0, 2.0, 80.0, 1.0])
    assert group_categories(counts, 10.0, 16).tolist() == [0, 2, 2, 1, 2]
    assert group_categories(counts, 10.0, 16, np.array([False, True, False, False, False])).tolist() == [0, 1, 3, 2, 3]
    assert group_categories(counts, 1e9, 16).max() == 0
    assert group_categories(np.arange(9.0), 1.0, 3).tolist() == [2, 2, 2, 2, 2, 2, 2, 0, 1]  # no more bins than fit
    shrunk = shrink_rare(counts, counts < 10.0, 100.0)
    assert shrunk[[1, 2, 4]].tolist() == pytest.approx([4.0 / 3.0] * 3)


def _noisy_targets(noise=4.0, products=True, scale=1.0, seed=0, **more):
    """Return targets of three columns, two of them numbers, from noisy tables of made-up rows."""
    rng = np.random.default_rng(seed)
    n, sizes = 20_000, (5, 6, 3)
    x = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    codes = np.stack(
        [np.digitize(x[:, 0], [-1, 0, 0.5, 1]), np.digitize(x[:, 1], [-1, -0.5, 0, 0.5, 1]), rng.integers(0, 3, n)], 1
    )
    codes[:, 2] = np.where(x[:, 0] > 1, 0, codes[:, 2])
    one = tuple(np.bincount(codes[:, j], minlength=m) + rng.normal(0.0, 1.0, m) for j, m in enumerate(sizes))
    columns = BinnedColumns(float(n), one, tuple(np.ones(m) for m in sizes), (5, 6, 0), VALUES)
    tables = {}
    for i, j in itertools.combinations(range(3), 2):
        table = np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j]).astype(float)
        tables[i, j] = scale * (table + rng.normal(0.0, np.sqrt(noise), len(table))).reshape(sizes[i], sizes[j])
    known = np.zeros((3, 3))
    ranks = [columns.ranks(j)[codes[:, j]] for j in range(2)]
    known[0, 1] = known[1, 0] = (ranks[0] * ranks[1]).sum()
    return make_targets(columns, tables, np.full((3, 3), noise), known if products else None, 1.0, **more), codes


def test_targets_have_the_margins_of_the_columns_and_the_trends_of_the_products():
    targets, codes = _noisy_targets()
    for i, j in itertools.permutations(range(3), 2):
        table = targets.pairs[targets.columns.places(i), targets.columns.places(j)]
        np.testing.assert_allclose(table.sum(axis=1), targets.one[targets.columns.places(i)], rtol=1e-9)
    z = targets.scores
    np.testing.assert_allclose((z.T @ targets.pairs @ z / targets.columns.rows)[0, 1], targets.trends[0, 1])
    real = np.corrcoef([targets.columns.ranks(j)[codes[:, j]] for j in range(2)])[0, 1]
    assert targets.trends[0, 1] == pytest.approx(real, abs=0.002)
    assert targets.trend_noise[0, 1] < _noisy_targets(products=False)[0].trend_noise[0, 1]


def _tiny(seed=0, strength=1.5):
    """Return a model of three columns that can be enumerated, with the probabilities of all cells."""
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 4)
    starts = np.cumsum([0, *sizes])
    member = np.repeat(np.arange(3), sizes)
    theta = strength * rng.normal(size=(9, 9))
    theta = np.where(member[:, None] == member[None, :], 0.0, theta + theta.T)
    cells = np.array(list(itertools.product(*(range(a, b) for a, b in itertools.pairwise(starts)))), dtype=np.int32)
    model = PairwiseModel(starts, rng.normal(size=9), theta, np.array([[0, 1], [1, 2]]))
    weights = np.exp(model.energies(cells))
    return model, cells, weights


def _tiny_triples(seed=0):
    """Return the tiny model with a term of its three columns, four bins of one merged to two levels."""
    model, cells, _ = _tiny(seed)
    values = np.random.default_rng(seed).normal(size=(1, 3, 3, 3))
    terms = TripleTerms(np.array([[0, 1, 2]]), np.array([0, 1, 0, 1, 2, 0, 1, 1, 0]), values)
    model = replace(model, triples=terms)
    return model, cells, np.exp(model.energies(cells))


@pytest.mark.parametrize(
    ("blocks", "independent", "tiny"),
    crossed([[], [[0, 2]], [[0, 1], [1, 2]], [[1, 0], [1, 2], [0, 2]]], [True, False], [_tiny, _tiny_triples]),
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_sweeps_keep_the_distribution_of_the_model(blocks, independent, tiny):
    """Rows drawn exactly stay so; columns in several blocks, or uniform numbers used twice, would show here."""
    model, cells, weights = tiny()
    rng, n = np.random.default_rng(0), size(8_000, 40_000)
    p = weights / weights.sum()
    rows = (
        cells[rng.choice(len(cells), n, p=p)] if independent else draw_independent(model.starts, model.fields, n, rng)
    )
    blocks = np.array(blocks, dtype=np.int64).reshape(-1, 2)
    walk = Walk(model.starts, np.ascontiguousarray(rows), blocks, model.triples)
    for _ in range(3 if independent else 60):
        walk.move(model.fields, model.interactions, rng)
    place = (walk.rows - model.starts[:-1]) @ np.array([12, 4, 1])
    off = np.bincount(place, minlength=24) - n * p
    assert (np.abs(off) < 6.5 * np.sqrt(n * p * (1 - p)) + 5.0).all()


def test_logits_are_those_of_the_energies():
    model, cells, _ = _tiny_triples()
    for column in range(3):
        first, last = model.starts[column], model.starts[column + 1]
        logits = model.logits(cells, column)
        for place in range(first, last):
            other = cells.copy()
            other[:, column] = place
            expected = model.energies(other) - model.energies(cells)
            own = logits[np.arange(len(cells)), cells[:, column] - first]
            np.testing.assert_allclose(logits[:, place - first] - own, expected, atol=1e-12)


@pytest.mark.parametrize("tiny", [_tiny, _tiny_triples])
def test_the_partition_function_is_estimated(tiny):
    for seed in range(size(1, 3)):
        model, _, weights = tiny(seed)
        result = model.log_partition(np.random.default_rng(0))
        assert result == pytest.approx(np.log(weights.sum()), abs=0.05)


def test_pairs_are_counted():
    rows = np.array([[0, 2], [1, 2], [1, 3]], dtype=np.int32)
    counts = Walk(np.array([0, 2, 4]), rows, np.zeros((0, 2), dtype=np.int64)).count()
    assert counts.tolist() == [[1, 0, 1, 0], [0, 2, 1, 1], [1, 1, 2, 0], [0, 1, 0, 1]]


def test_the_fitted_model_has_the_targets_and_its_zeros_never_occur():
    targets, _ = _noisy_targets()
    zeros = np.zeros((14, 14), dtype=bool)
    zeros[0, 11] = zeros[11, 0] = True
    with shorter_synthesis():
        model = fit_pairs(targets, zeros, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    rows = model.move(draw_start(targets, 20_000, rng), size(20, 40), rng)
    counts = Walk(model.starts, rows, model.blocks).count()
    assert counts[0, 11] == 0
    for i, j in ((0, 1), (1, 2)):
        a, b = targets.columns.places(i), targets.columns.places(j)
        assert 0.5 * np.abs(counts[a, b] - targets.pairs[a, b]).sum() / 20_000 < 0.03


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("scale", [1e300, -1e300, 0.0, -1.0])
def test_the_fit_is_total(scale, mixed, monkeypatch):
    monkeypatch.setattr(pairwise_fit, "SWEEPS", 10)
    monkeypatch.setattr(pairwise_fit, "CHAINS", 200)
    with np.errstate(over="ignore"):
        targets, _ = _noisy_targets(scale=scale, mixed=mixed)
    assert len(choose_pairs(targets, lambda tables: 2.0 * tables)) <= 3
    model = fit_pairs(targets, np.zeros((14, 14), dtype=bool), np.random.default_rng(0))
    assert np.isfinite(model.fields).all()
    assert np.isfinite(model.interactions).all()
    rng = np.random.default_rng(0)
    assert len(model.move(draw_start(targets, 50, rng), 5, rng)) == 50
    assert tied_pairs(targets).shape[1] == 2


def test_a_mixture_is_nearer_than_a_normal_prior_of_the_same_spread():
    """Nine cells of ten are as expected, and the tenth is not: the mixture draws the nine there and keeps the tenth."""
    rng = np.random.default_rng(0)
    n, v = np.full((30, 30), 50.0), 400.0
    truth = n * (1.0 + np.where(rng.random(n.shape) < 0.1, rng.normal(0.0, 2.0, n.shape), 0.0))
    y = truth + rng.normal(0.0, np.sqrt(v), n.shape)
    normal = np.full(n.shape, 0.4)

    def error(spread):
        kept = spread * n**2 / (spread * n**2 + v)
        return float(((n + kept * (y - n) - truth) ** 2).mean())

    assert error(mix_spreads(n, y, v, normal)) < 0.65 * error(normal)
    assert error(mix_spreads(n, y, v, 4.0 * normal)) < 0.65 * error(normal)


def test_the_second_look_is_at_pairs_that_are_tied():
    """Of four columns two are tied: less noise elsewhere helps little. Pairs of a target are counted again."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (20_000, 4))
    codes[:, 1] = np.where(rng.random(20_000) < 0.5, codes[:, 0], codes[:, 1])
    one = tuple(np.bincount(codes[:, j]).astype(float) for j in range(4))
    columns = BinnedColumns(20_000.0, one, (np.ones(4),) * 4, (0,) * 4, (np.zeros(0),) * 4)
    tables = {
        (i, j): np.bincount(codes[:, i] * 4 + codes[:, j], minlength=16).reshape(4, 4) + rng.normal(0.0, 100.0, (4, 4))
        for i, j in itertools.combinations(range(4), 2)
    }
    chosen = [
        choose_pairs(make_targets(columns, tables, np.full((4, 4), 1e4), None, 1.0, target), lambda k: 60.0 * k**0.5)
        for target in (None, 3)
    ]
    assert (0, 1) in chosen[0]
    assert len(chosen[0]) < 6
    assert {(0, 3), (1, 3), (2, 3)} < {*chosen[1]}


def _triples_of(codes, noise, seed=0):
    """Return a released table of three columns, with the bins of each merged to two or three levels."""
    levels = [np.array([0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1])]
    table = np.zeros((2, 3, 2))
    np.add.at(table, tuple(level[codes[:, j]] for j, level in enumerate(levels)), 1.0)
    table += np.random.default_rng(seed).normal(0.0, np.sqrt(noise), table.shape)
    return TripleTargets(np.array([[0, 1, 2]]), np.concatenate(levels), (table,), noise)


def test_a_triple_has_a_term_only_where_pairs_do_not_explain_it():
    targets, codes = _noisy_targets()
    zeros = np.zeros((14, 14), dtype=bool)
    with shorter_synthesis():
        assert fit_pairs(targets, zeros, np.random.default_rng(0), _triples_of(codes, 400.0)).triples is None
    turned = codes.copy()  # the third column is the exclusive or of halves of the others, in a part of the rows
    some = np.arange(len(codes)) % 3 == 0
    turned[some, 2] = (codes[some, 0] > 1) ^ (codes[some, 1] > 2)
    with shorter_synthesis():
        model = fit_pairs(targets, zeros, np.random.default_rng(0), _triples_of(turned, 400.0))
    assert model.triples is not None
    assert np.abs(model.triples.values).max() > 0.1


@pytest.mark.parametrize("value", ABSURD)
def test_triples_are_total(value, monkeypatch):
    monkeypatch.setattr(pairwise_fit, "SWEEPS", 20)
    monkeypatch.setattr(pairwise_fit, "CHAINS", 200)
    targets, codes = _noisy_targets()
    three = _triples_of(codes, 400.0)
    three = replace(three, tables=(three.tables[0] + value * np.arange(12.0).reshape(2, 3, 2) ** 2,))
    model = fit_pairs(targets, np.zeros((14, 14), dtype=bool), np.random.default_rng(0), three)
    rng = np.random.default_rng(0)
    assert np.isfinite(model.energies(model.move(draw_start(targets, 50, rng), 5, rng))).all()


def test_sums_of_triples_join_the_pairs_by_inverse_variances():
    rng = np.random.default_rng(0)
    levels = np.array([0, 0, 1]), np.array([0, 1, 1, 1])
    table, coarse = rng.normal(size=(3, 4)), rng.normal(size=(2, 2))
    rows, columns = (np.eye(2)[one] for one in levels)
    design = np.concatenate([np.eye(12), np.kron(rows, columns).T / np.sqrt(5.0)])
    values = np.concatenate([table.ravel(), coarse.ravel() / np.sqrt(5.0)])
    expected = np.linalg.lstsq(design, values, rcond=None)[0]
    spread = np.linalg.inv(design.T @ design).trace() / 12.0
    assert add_coarse(table, 1.0, levels, coarse, 5.0) == pytest.approx(spread)
    np.testing.assert_allclose(table.ravel(), expected)


def test_levels_are_few_and_keep_gaps_apart():
    assert merge_bins(np.full(8, 0.125), 8, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert merge_bins(np.array([0.3, 0.3, 0.3, 0.1]), 3, 2).tolist() == [0, 1, 1, 2]
    assert merge_bins(np.array([0.9, 0.1]), 2, 4).tolist() == [0, 1]
    assert merge_bins(np.array([0.1, 0.2, 0.3, 0.4]), 0, 3).tolist() == [2, 2, 1, 0]
    assert merge_bins(np.array([1.0]), 0, 3).tolist() == [0]
