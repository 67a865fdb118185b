"""What a row contributes to a mixture: its proved norm, in reals and in floats, and the same on every backend."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import array_api_strict
import numpy as np
import pytest

from discreet.queries.moments.clipped_moments import CAP, FEW_COLUMNS, SHAPES, STRIPE, ClippedMoments
from discreet.queries.moments.components import Components
from discreet.records import Ball, as_records
from effort import crossed

THIRD = (1 / 3, 1 / 3, 1 / 3)
ALONE = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
WEIGHTS = [THIRD, (0.2, 0.3, 0.5), (0.05, 0.6, 0.35), (0.3, 0.7, 0.0), *ALONE]


def mixture(rng, count, d, spread=0.3, apart=0.5):
    factors = rng.standard_normal((count, d, d))
    covariances = spread**2 / d * (factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(d))
    means = rng.standard_normal((count, d)) * apart / math.sqrt(d)
    return Components(rng.dirichlet(np.ones(count)), means, covariances)


def separated(count, d, spread=0.01):
    """Return narrow components far from one another: a row near one belongs to it alone."""
    means = np.zeros((count, d))
    means[:, 0] = np.linspace(-0.7, 0.7, count) if count > 1 else 0.0
    return Components(np.full(count, 1 / count), means, np.repeat(np.eye(d)[None] * spread**2, count, axis=0))


def sphere(rng, n, d):
    y = rng.standard_normal((n, d))
    return y / np.linalg.norm(y, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("size_of", "shape", "hard", "radius"),
    crossed([(1, 1), (1, 4), (2, 2), (5, 3), (9, 12)], SHAPES, [False, True], [None, 2.0]),
)
def test_no_rows_beat_the_bound(size_of, shape, hard, radius):
    count, d = size_of
    rng = np.random.default_rng(count * d)
    for components in (mixture(rng, count, d), mixture(rng, count, d, spread=3.0), separated(count, d)):
        near = components.means[rng.integers(0, count, 100)] + 0.05 * rng.standard_normal((100, d))
        y = np.concatenate([sphere(rng, 100, d), 0.3 * sphere(rng, 50, d), near, -near, np.zeros((1, d))])
        y /= np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1.0)
        for weights in WEIGHTS:
            moments = ClippedMoments(components, radius, weights, shape, hard)
            rows = np.asarray(moments.contributions(y))
            assert rows.shape[1] == sum(part.size for part in moments.parts.values())
            assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-12
            np.testing.assert_allclose(moments.sum(y), rows.sum(axis=0), atol=1e-11)
            gram = rows @ rows.T
            squared = np.diag(gram)[:, None] + np.diag(gram)[None, :] - 2.0 * gram
            assert squared.max() <= moments.bound.replace("l2") ** 2 + 1e-9
            if not weights[2]:
                lengths = np.abs(rows[:, None, :] - rows[None, ::7, :]).sum(axis=2)
                assert lengths.max() <= moments.bound.replace("l1") + 1e-9
                assert np.abs(rows).sum(axis=1).max() <= moments.bound.norm("l1") + 1e-9


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weights", WEIGHTS[:3])
def test_the_bound_is_attained(shape, weights):
    """Two components that share no row: norm 1, and √2 apart; or farther within one, where t is below 0."""
    d, components = 3, separated(2, 3)
    moments = ClippedMoments(components, 2.0, weights, shape)
    out, side = np.array([[0.05, 0.0, 0.0], [0.0, 0.05, 0.0]])  # 5 standard deviations, and clipped to norm 1
    y = np.stack([components.means[0] + out, components.means[1] - side, components.means[0] - out])
    rows = np.asarray(moments.contributions(y))
    assert np.linalg.norm(rows, axis=1).min() > 0.999
    directions = sphere(np.random.default_rng(0), 20_000, d) * np.random.default_rng(1).uniform(0, 1, (20_000, 1))
    within = np.asarray(moments.contributions(components.means[0] + 0.02 * directions))
    apart = max(
        np.linalg.norm(rows[0] - rows[1]),
        np.linalg.norm(rows[0] - rows[2]),
        np.linalg.norm(within[:1000, None] - within[None, 1000:1200], axis=2).max(),
        np.linalg.norm(within[0::2] - within[1::2], axis=1).max(),
    )
    tight = 0.9 if shape == "diag" else 0.99  # a part of its product is bounded by Cauchy and Schwarz
    assert apart >= tight * moments.bound.replace("l2")


def ideal(moments, y):
    """Return the contributions in extended precision, from the same float constants."""
    wide, components = np.longdouble, moments.components
    z = np.einsum("kij,nj->kni", components.whitening.astype(wide), y.astype(wide))
    z = z - moments.components.offsets.astype(wide)[:, None, :]
    squared = (z * z).sum(axis=2)
    logits = components.log_constants.astype(wide)[:, None] - np.minimum(squared, CAP) / 2
    shares = np.exp(logits - logits.max(axis=0))
    shares /= shares.sum(axis=0)
    own = z / np.maximum(np.sqrt(squared), moments.radius)[:, :, None]
    a, b, c = (np.sqrt(wide(weight)) for weight in moments.weights)
    i, j = np.triu_indices(components.dimension)
    packed = own[:, :, i] * own[:, :, j] * np.where(i == j, wide(1), np.sqrt(wide(2)))
    n = shares.shape[1]
    first = (b * shares[:, :, None] * own).transpose(1, 0, 2).reshape(n, -1)
    second = (c * shares[:, :, None] * packed).transpose(1, 0, 2).reshape(n, -1)
    return np.concatenate([a * shares.T, first, second], axis=1)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="this machine has no extended precision")
@pytest.mark.parametrize("spread", [1.0, 0.1, 1e-3, 1e-5])
@pytest.mark.parametrize(("count", "d"), [(1, 1), (3, 2), (5, 10)])
def test_what_floats_do_to_a_row_stays_within_the_roundoff(spread, count, d):
    rng = np.random.default_rng(d)
    components = mixture(rng, count, d, spread)
    y = np.concatenate([sphere(rng, 300, d), components.means[rng.integers(0, count, 700)]])
    y[300:] += spread * rng.standard_normal((700, d)) * rng.choice([0.1, 1.0, 10.0, 45.0], (700, 1))
    y /= np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1.0)
    moments = ClippedMoments(components, 1.5, THIRD)
    lacking = np.linalg.norm((moments.contributions(y) - ideal(moments, y)).astype(np.float64), axis=1)
    assert lacking.max() <= moments.roundoff
    assert moments.roundoff < 1e-4


def test_rows_in_another_order_or_other_blocks_move_the_sum_within_what_is_charged():
    """A nearly constant column, narrow components, a million rows: the sums differ by less than the float error."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([0.7 + 1e-5 * rng.standard_normal(200_000), rng.uniform(-0.5, 0.5, 200_000)])
    components = Components(
        np.array([0.5, 0.5]),
        np.array([[0.7, -0.2], [0.70001, 0.2]]),
        np.array([np.diag([1e-10, 0.05]), np.diag([2e-10, 0.02])]),
    )
    moments = ClippedMoments(components, 2.0, THIRD)
    space = Ball(1.0, center=[0.0, 0.0])
    size = sum(part.size for part in moments.parts.values())
    sums = []
    for order, block_rows in [(slice(None), 4096), (slice(None, None, -1), 4096), (rng.permutation(200_000), 777)]:
        records = as_records(rows[order], space=space, block_rows=block_rows)
        sums.append(records.reduce(lambda block: moments.sum(block.x), size))
    error = 200_000 * (moments.roundoff + records.float_error)
    assert max(np.linalg.norm(sums[0] - other) for other in sums[1:]) <= 2.0 * error
    assert error < 0.05


def test_a_row_is_assigned_by_its_own_bits():
    """A row on the border between two means goes the same way wherever it stands."""
    rng = np.random.default_rng(0)
    components = mixture(rng, 4, 3)
    border = (components.means[0] + components.means[1]) / 2.0
    y = np.concatenate([border + 1e-16 * rng.standard_normal((50, 3)), sphere(rng, 4047, 3) * 0.5])
    moments = ClippedMoments(components, 2.0, (1.0, 0.0, 0.0), "spherical", hard=True)
    together = np.asarray(moments.contributions(y))[:50]
    alone = np.concatenate([moments.contributions(y[j : j + 1]) for j in range(50)])
    np.testing.assert_array_equal(together, alone)
    assert set(alone.sum(axis=1)) == {1.0}


def strict(y):
    return array_api_strict.asarray(y)


def torch(y):
    return pytest.importorskip("torch", reason="torch is not installed").asarray(y)


@pytest.mark.parametrize("backend", [strict, torch])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("hard", [False, True])
def test_every_backend_gives_the_same_sum(backend, shape, hard):
    rng = np.random.default_rng(0)
    components, y = mixture(rng, 4, 5), 0.6 * sphere(rng, 300, 5)
    for radius in (None, 1.5):
        moments = ClippedMoments(components, radius, THIRD, shape, hard)
        expected = moments.sum(y)
        result = np.asarray(moments.sum(backend(y)))
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
        rows = np.asarray(moments.contributions(backend(y)))
        np.testing.assert_allclose(rows.sum(axis=0), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("radius", [None, 2.0])
@pytest.mark.parametrize("d", [3, FEW_COLUMNS + 3])
def test_evidence_counts_in_the_shares_on_every_path(shape, radius, d):
    """Evidence that two components have of a row is the same as other weights for it, and shares come along."""
    rng = np.random.default_rng(d)
    components, y = mixture(rng, 3, d), 0.6 * sphere(rng, 3000, d)
    moments = ClippedMoments(components, radius, (0.2, 0.3, 0.5), shape)
    evidence = np.log(rng.dirichlet(np.ones(3), 3000)).T
    rows, shares = moments.contributions_and_shares(y, evidence)
    joint = components.log_joint(y).T + evidence
    expected = np.exp(joint - joint.max(axis=0))
    np.testing.assert_allclose(shares, expected / expected.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(moments.contributions(y, evidence), rows, atol=0.0)
    for given in (y, strict(y)):
        known = evidence if given is y else strict(evidence)
        total, again = moments.sum_and_shares(given, known)
        np.testing.assert_allclose(np.asarray(total), rows.sum(axis=0), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(np.asarray(again), shares, atol=1e-9)
        np.testing.assert_array_equal(np.asarray(moments.sum(given, known)), np.asarray(total))
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-12


@pytest.mark.parametrize("d", [3, FEW_COLUMNS + 3])
def test_evidence_that_favours_nobody_changes_nothing(d):
    rng = np.random.default_rng(d)
    moments, y = ClippedMoments(mixture(rng, 3, d), 2.0, THIRD), 0.6 * sphere(rng, 500, d)
    same = np.repeat(rng.uniform(-50.0, 0.0, (1, 500)), 3, axis=0)
    np.testing.assert_allclose(moments.sum(y, same), moments.sum(y), rtol=1e-9, atol=1e-9)


def test_evidence_makes_the_float_error_larger_and_has_no_say_over_assignments():
    components = separated(2, 2)
    moments = ClippedMoments(components, 2.0, THIRD)
    assert moments.roundoff_with(0.0, 0.0) > moments.roundoff
    assert moments.roundoff_with(100.0, 1e-12) > moments.roundoff_with(0.0, 0.0) + 2e-12
    for other in (ClippedMoments(components, 2.0, THIRD, hard=True), ClippedMoments(components, 2.0, THIRD, only=1)):
        with pytest.raises(ValueError, match="evidence"):
            other.sum(np.zeros((1, 2)), np.zeros((2, 1)))


def test_the_loop_that_assigns_rows_fuses_nothing():
    """A fused product there would round other than the array form does, and a tie could fall to another component."""
    from numba import njit

    from discreet.queries.moments.compiled import nearest

    options = {name: value for name, value in nearest.targetoptions.items() if name not in ("cache", "nopython")}
    fresh = njit(**options)(nearest.py_func)  # what comes from a cache cannot be looked at
    fresh(np.zeros((2, 4)), np.ones(2), np.zeros((3, 2)), np.empty(4, dtype=np.int64))
    assert not any("vfm" in text or "vfnm" in text for text in fresh.inspect_asm().values())


@pytest.mark.parametrize(
    ("radius", "weights"),
    [(1e-160, THIRD), (1e160, THIRD), (math.nan, THIRD), (1.0, (1.0, 1.0, 1.0)), (1.0, (2.0, -1.0, 0.0))],
)
def test_a_radius_or_weights_beyond_the_proof_are_refused(radius, weights):
    with pytest.raises(ValueError, match="expected"):
        ClippedMoments(separated(1, 2), radius, weights)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("radius", [None, 4.0])
@pytest.mark.parametrize("d", [FEW_COLUMNS, STRIPE + 3])
def test_loops_and_products_are_the_sum_of_the_contributions(shape, hard, radius, d):
    """Compiled loops up to so many columns, products beyond; both in pieces, on several threads at once."""
    rng = np.random.default_rng(d)
    y = np.concatenate([0.5 * sphere(rng, 100, d), separated(3, d).means[rng.integers(0, 3, 400)]])
    y[100:] += 0.01 * rng.standard_normal((400, d)) / math.sqrt(d)
    for components in (mixture(rng, 3, d, spread=1.0), separated(3, d, spread=0.05)):
        for only in (None, 1):
            moments = ClippedMoments(components, radius, (0.2, 0.3, 0.5), shape, hard, only)
            expected = np.asarray(moments.contributions(y)).sum(axis=0)
            with ThreadPoolExecutor(4) as pool:
                for result in pool.map(moments.sum, [y] * 4):
                    np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-10)
