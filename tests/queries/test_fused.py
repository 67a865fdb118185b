"""The statistic of mixtures on a GPU against the host, its equal bits and its floats; the depth of all sums.

What needs a GPU skips without one.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.queries.moments import clipped_moments, fused
from discreet.queries.moments.clipped_moments import SHAPES, ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.queries.moments.fused import BLOCKS, ROUNDS, FusedPlan, choose
from discreet.records import Ball, Box, as_records, reading
from discreet.records.row_choice import DeclaredRows

U = 2.0**-53
WEIGHTS = (0.2, 0.3, 0.5)


@pytest.fixture
def torch():
    library = pytest.importorskip("torch", reason="torch is not installed")
    if not library.cuda.is_available():
        pytest.skip("there is no NVIDIA GPU on this machine")
    return library


def mixture(k, d, shape, spread=0.3, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((k, d, d))
    covariances = spread**2 / d * (factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(d))
    if shape in ("diag", "spherical"):
        covariances = covariances * np.eye(d)
    return Components(rng.dirichlet(np.ones(k)), 0.5 * rng.standard_normal((k, d)) / math.sqrt(d), covariances)


def box_of(d):
    return Box([-1.5] * d, [2.0 + 0.1 * j for j in range(d)])


def charged(moments, n):
    """Return how far two sums over n rows may be from each other: each has its roundoff and its summation."""
    gamma = moments.summation_depth(n) * U / (1.0 - moments.summation_depth(n) * U)
    return 2.0 * n * (moments.roundoff + gamma * (1.0 + moments.roundoff))


CASES = [
    (1, 1, 5003), (10, 10, 5003), (3, 2, 4096), (7, 5, 1), (32, 3, 777), (17, 12, 1001), (2, 30, 2049), (5, 9, 0),
    (11, 11, 10_007), (16, 16, 1001), (13, 13, 33), (4, 25, 2048),
]  # fmt: skip


# Each size with each shape; assigned or not and with or without a radius in turn, since kernels take long to compile
MIXED = [
    (shape, (i + j) % 3 == 0, 1.5 if (i + j) % 2 else None, *case)
    for i, case in enumerate(CASES)
    for j, shape in enumerate(SHAPES)
]


@pytest.mark.parametrize(("shape", "hard", "radius", "k", "d", "n"), MIXED)
def test_a_gpu_gives_the_sum_of_the_host_and_the_same_bits_again(torch, shape, hard, radius, k, d, n):
    moments = ClippedMoments(mixture(k, d, shape), radius, WEIGHTS, shape, hard)
    x = np.random.default_rng(n).standard_normal((n, d))
    if n > 2:
        x[0, 0], x[1, -1], x[2] = np.nan, -np.inf, 1e300
    for space, rows in ((box_of(d), x), (Ball(2.0).for_columns(d), x), (None, box_of(d).to_unit(x))):
        there = torch.asarray(rows, device="cuda")
        result = fused.sum_rows(moments, space, there)
        assert result is not None
        assert torch.equal(result, fused.sum_rows(moments, space, there.clone()))
        expected = moments.sum(rows, space=space) if n else np.zeros(len(result))
        assert np.linalg.norm(result.cpu().numpy() - expected) <= charged(moments, max(n, 1))


@pytest.mark.parametrize("shape", ["full", "tied"])
@pytest.mark.parametrize("radius", [None, 9.0])
@pytest.mark.parametrize(("k", "d"), [(5, 100), (2, 71), (10, 72), (20, 150)])
def test_products_for_many_columns_give_the_sum_of_the_host(torch, shape, radius, k, d):
    moments = ClippedMoments(mixture(k, d, shape), radius, WEIGHTS, shape)
    assert choose(moments).way == "many"
    for n in (0, 1, 2048, 4099):
        x = np.random.default_rng(n).standard_normal((n, d))
        there = torch.asarray(x, device="cuda")
        result = fused.sum_rows(moments, box_of(d), there)
        assert torch.equal(result, fused.sum_rows(moments, box_of(d), there))
        expected = moments.sum(x, space=box_of(d)) if n else np.zeros(len(result))
        assert np.linalg.norm(result.cpu().numpy() - expected) <= charged(moments, max(n, 1))


@pytest.mark.parametrize("only", [None, 2])
@pytest.mark.parametrize("weights", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.5, 0.5, 0.0)])
def test_parts_are_left_out_on_a_gpu_too(torch, only, weights):
    x = np.random.default_rng(0).standard_normal((1000, 4))
    for shape in SHAPES:
        moments = ClippedMoments(mixture(5, 4, shape), 1.5, weights, shape, only=only)
        result = moments.sum(torch.asarray(x, device="cuda"), space=box_of(4)).cpu().numpy()
        expected = moments.sum(x, space=box_of(4))
        assert result.shape == expected.shape
        assert np.linalg.norm(result - expected) <= charged(moments, 1000)


def test_narrow_components_far_from_the_rows_stay_within_what_is_charged(torch):
    for spread in (1e-2, 1e-4, 1e-6):
        moments = ClippedMoments(mixture(10, 10, "full", spread), 2.0, WEIGHTS)
        x = np.random.default_rng(0).standard_normal((5003, 10))
        result = fused.sum_rows(moments, box_of(10), torch.asarray(x, device="cuda")).cpu().numpy()
        assert np.linalg.norm(result - moments.sum(x, space=box_of(10))) <= charged(moments, 5003)


def test_a_row_is_assigned_on_a_gpu_as_on_the_host(torch):
    """Rows on the border between two means: every count is the same number."""
    rng = np.random.default_rng(0)
    components = mixture(4, 3, "full")
    borders = (components.means[:, None] + components.means[None]).reshape(-1, 3) / 2.0
    y = np.repeat(borders, 500, axis=0)
    y += 1e-16 * rng.standard_normal(y.shape)
    moments = ClippedMoments(components, 2.0, (1.0, 0.0, 0.0), "spherical", hard=True)
    np.testing.assert_array_equal(moments.sum(torch.asarray(y, device="cuda")).cpu().numpy(), moments.sum(y))


@pytest.mark.parametrize("missing", ["fill", "drop"])
def test_rows_of_a_gpu_are_filled_and_clipped_as_on_the_host(torch, missing):
    """Rows outside of their bounds, NaN, infinities and -0.0, on the way of every fit."""
    rng = np.random.default_rng(0)
    x = 3.0 * rng.standard_normal((9001, 5))
    x[rng.uniform(size=x.shape) < 0.01] = np.nan
    x[rng.uniform(size=x.shape) < 0.01] = np.inf
    x[rng.uniform(size=x.shape) < 0.01] = -np.inf
    x[rng.uniform(size=x.shape) < 0.01] = -0.0
    space = box_of(5)
    moments = ClippedMoments(mixture(6, 5, "full"), 2.0, WEIGHTS)
    query = MomentSums(moments, space, "sums")
    sums = []
    for data in (
        x,
        torch.asarray(x, device="cuda"),
        torch.asarray(x.astype(np.float64), device="cuda").t().contiguous().t(),
    ):
        records = as_records(data, space=space, missing=missing, block_rows=4000)
        sums.append(records.reduce(query.sum, query.size))
    streamed = as_records(x, space=space, missing=missing, block_rows=4000, device="cuda")
    sums.append(streamed.reduce(query.sum, query.size))
    for other in sums[1:]:
        assert np.linalg.norm(other - sums[0]) <= charged(moments, 9001)
    np.testing.assert_array_equal(sums[1], sums[2])
    np.testing.assert_array_equal(sums[1], sums[3])


def test_reading_on_a_gpu_gives_the_bits_of_array_operations(torch, monkeypatch):
    rng = np.random.default_rng(0)
    x = 3.0 * rng.standard_normal((5000, 3))
    x[0], x[1], x[2] = [np.nan, np.inf, -np.inf], [-0.0, 0.0, 1e300], [5e-324, -5e-324, -1e300]
    rows = DeclaredRows(torch.asarray(x, device="cuda"), np.empty((5000, 0), dtype=np.int64))
    own = as_records(rows.numbers, space=Box([-1, 0, -2], [1, 5, 0]), missing="fill")._source.reading
    read = own.block(rows).x
    monkeypatch.setattr(reading, "read_numbers_on_device", lambda *_: None)
    expected = own.block(rows).x
    assert torch.equal(read, expected)
    assert torch.equal(torch.signbit(read[:, 0]), torch.signbit(expected[:, 0]))  # 0.0 for -0.0


def test_torch_serves_where_kernels_cannot_be_compiled(torch, monkeypatch):
    x = np.random.default_rng(0).standard_normal((3000, 4))
    there, moments = torch.asarray(x, device="cuda"), ClippedMoments(mixture(5, 4, "full"), 1.5, WEIGHTS)
    monkeypatch.setattr(fused, "load_kernel", lambda *_: None)
    fused._prepare.cache_clear()
    assert fused.sum_rows(moments, box_of(4), there) is None
    result = moments.sum(there, space=box_of(4)).cpu().numpy()
    fused._prepare.cache_clear()
    assert np.linalg.norm(result - moments.sum(x, space=box_of(4))) <= charged(moments, 3000)


FUNCTIONS = r"""
extern "C" __global__ void evaluate(const double* a, const double* b, const double* c, long long n, double* result) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  result[i] = reciprocal(a[i]);
  result[n + i] = inverse_root(b[i]);
  result[2 * n + i] = exponential(c[i]);
}
extern "C" __global__ void divide(const double* x, long long n, const double* box, double* result) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) result[i] = to_unit(x[i], 0, box);
}
"""
ONE = (("D", 1), ("K", 1), ("SECOND", 0), ("OWN", 0), ("DIAGONAL", 0), ("BOX", 1), ("WARPS", 8), ("WIDTH", 4))


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="this machine has no extended precision")
def test_the_functions_of_the_kernels_are_as_good_as_their_proofs_say(torch):
    rng, n = np.random.default_rng(0), 2**20
    a = np.exp2(rng.uniform(-1.0, 6.0, n))
    b = np.exp2(rng.uniform(-660.0, 1000.0, n))
    c = np.concatenate([rng.uniform(-700.0, 1.0, n // 2), -rng.exponential(1.0, n // 2)])
    result = torch.empty(3, n, dtype=torch.float64, device="cuda")
    kernel = fused.load_kernel(fused._source() + FUNCTIONS, "evaluate", ONE, 0)
    kernel.launch(n // 256, 256, *(torch.asarray(one, device="cuda") for one in (a, b, c)), n, result)
    wide = [one.astype(np.longdouble) for one in (a, b, c)]
    exact = 1.0 / wide[0], 1.0 / np.sqrt(wide[1]), np.exp(wide[2])
    for own, expected, most in zip(result.cpu().numpy(), exact, (1.01, 1.6, 3.0), strict=True):
        assert float(np.abs((own - expected) / expected).max()) <= most * U


@pytest.mark.parametrize("ends", [(-10.0, 10.0), (0.0, 1.0), (-1e-200, 3e-200), (1e6, 1e6 + 0.1), (-1e280, 1e290)])
def test_a_row_in_the_unit_ball_has_the_bits_of_the_host(torch, ends):
    box, n = Box([ends[0]], [ends[1]]), 2**18
    x = np.random.default_rng(0).uniform(1.2 * ends[0], 1.2 * ends[1], n)
    result = torch.empty(n, dtype=torch.float64, device="cuda")
    kernel = fused.load_kernel(fused._source() + FUNCTIONS, "divide", ONE, 0)
    numbers = torch.asarray(np.concatenate([np.ravel(part) for part in fused._box_numbers(box)]), device="cuda")
    kernel.launch(n // 256, 256, torch.asarray(x, device="cuda"), n, numbers, result)
    np.testing.assert_array_equal(result.cpu().numpy(), box.to_unit(x[:, None])[:, 0])


# What follows needs no GPU.


@pytest.mark.parametrize(
    ("k", "d", "shape", "hard", "way"),
    [
        (10, 10, "full", False, "soft"), (32, 12, "tied", False, "soft"), (10, 30, "diag", False, "soft"),
        (10, 40, "spherical", False, "soft"), (10, 100, "full", False, "many"), (33, 2, "full", False, None),
        (100, 10, "spherical", True, "hard"), (2, 1000, "full", False, None), (10, 100, "diag", False, None),
    ],
)  # fmt: skip
def test_public_numbers_choose_the_way(k, d, shape, hard, way):
    choice = choose(ClippedMoments(mixture(k, d, shape), 1.5, WEIGHTS, shape, hard))
    assert (None if choice is None else choice.way) == way
    assert choice is None or choice.way == "many" or choice.shared <= fused.MOST_SHARED


def most_additions(choice, n):
    """Return the additions that some term goes through in the kernels "soft" and "hard", by following each row."""
    warps = choice.warps * BLOCKS
    if choice.way == "hard":
        tile = np.arange(n) // 32
        lane = tile % warps
        lanes = choice.warps
    else:
        tile, within = np.divmod(np.arange(n), choice.groups * choice.lane_rows)
        lane = (tile % warps) * choice.groups + within % choice.groups  # the lanes of a component
        lanes = choice.warps * choice.groups
    own = np.bincount(lane).max() if n else 0  # to zero, and to what the lane has
    return own + lanes + sum(ROUNDS)


@pytest.mark.parametrize("n", [0, 1, 31, 5000, 50_000, 200_003, 1_000_000])
@pytest.mark.parametrize(
    ("k", "d", "hard"), [(1, 1, False), (10, 10, False), (32, 3, False), (7, 5, True), (60, 9, True)]
)
def test_the_depth_of_the_kernels_is_that_of_their_loops(n, k, d, hard):
    choice = choose(ClippedMoments(mixture(k, d, "full"), 1.5, (0.5, 0.5, 0.0), "full", hard))
    assert most_additions(choice, n) <= choice.depth(n) <= most_additions(choice, n) + 64


def loses(n):
    """Return rows whose sum loses each of them but the first, if it is taken one after the other."""
    y = np.full((n, 1), U / 4.0)
    y[0] = 1.0
    return y


@pytest.mark.parametrize("n", [100, 4096, 70_000, 300_000])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_no_rows_make_a_sum_worse_than_its_depth(n, hard, library):
    """One large row in each piece, and small ones that are lost beside it, each by a rounding."""
    moments = ClippedMoments(
        Components(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1))), None, (0.0, 1.0, 0.0), hard=hard
    )
    rows = loses(n)
    given = rows if library == "numpy" else pytest.importorskip("torch", reason="torch is not installed").asarray(rows)
    result = float(np.asarray(moments.sum(given))[0])
    lost = abs(math.fsum([*rows[:, 0].tolist(), -result]))
    depth = moments.summation_depth(n)
    assert lost <= depth * U / (1.0 - depth * U) * math.fsum(rows[:, 0].tolist()) + n * U * rows[1:].sum()
    assert depth <= min(n, 6000)


def test_the_depth_is_at_most_the_rows_and_grows_slowly():
    moments = ClippedMoments(mixture(10, 10, "full"), 2.0, WEIGHTS)
    assert [moments.summation_depth(n) for n in (0, 1, 2, 100)] == [1, 1, 2, 100]
    assert moments.summation_depth(2**22) < 3000
    assert moments.summation_depth(2**30) < 300_000
    assert MomentSums(moments, box_of(10), "sums").summation_depth(2**22) == moments.summation_depth(2**22)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("d", [3, clipped_moments.FEW_COLUMNS + 3])
def test_a_long_block_is_summed_in_stretches_on_the_host(monkeypatch, hard, d):
    moments = ClippedMoments(mixture(3, d, "full"), 1.5, WEIGHTS, hard=hard)
    x = np.random.default_rng(0).standard_normal((1000, d))
    whole, shares = moments.sum_and_shares(x)
    monkeypatch.setattr(clipped_moments, "STRETCH", 300)
    again, same = moments.sum_and_shares(x)
    np.testing.assert_allclose(again, whole, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(same, shares, atol=1e-12)


def test_rows_on_the_host_may_be_computed_on_another_device():
    pytest.importorskip("torch", reason="torch is not installed")
    x = np.random.default_rng(0).standard_normal((500, 3)).astype(">f4")
    x.flags.writeable = False
    sums = [
        as_records(x, space=Box(-1, 1), missing="fill", block_rows=128, device=device).reduce(
            lambda block: block.x.sum(axis=0), 3
        )
        for device in (None, "cpu")
    ]
    np.testing.assert_allclose(*sums, rtol=1e-13)
    with pytest.raises(ValueError, match="device='nowhere'"):
        as_records(x, space=Box(-1, 1), device="nowhere")


def test_a_choice_covers_every_sum_once():
    for launches in (1, 2):
        choice = FusedPlan("soft", 3, 16, 3, True, False, 1, 8, launches)
        assert [a for start, stop in choice.spans for a in range(start, stop)] == list(range(choice.sums))
