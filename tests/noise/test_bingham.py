"""Bingham draws have their distribution: against densities and moments that are computed in another way.

Each comparison fails a right sampler with probability 1e-9 (``FALSE_ALARM``); the seeds are fixed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, chi2, kstest, norm, vonmises

from conftest import FALSE_ALARM
from discreet.noise import bingham, gibbs_bingham
from discreet.noise.bingham import _check_matrix, _draw_directions
from effort import size
from goodness import binomial_p, chi_square_p

DIMENSION = size(300, 1_000)
MANY = size(25_000, 100_000)  # of the short form a mean is still known to 1/160 of a standard deviation
WRONG_BY = float(norm.isf(FALSE_ALARM / 2))  # standard errors that a mean may be off

SPECTRA = [
    [0.0, 1.0, 3.0],
    [-50.0, 0.0, 2.0],
    [20.0, 20.0, 0.0],
    [0.0, 1.0, 2.0, 4.0, 8.0],
    [-30.0, -2.0, 0.0, 0.5, 0.5],
    [0.0, 0.0, 0.0, 0.0, 10.0],
]


def draws(matrix, bits, count=MANY):
    """Return what ``bingham`` would, many times over, with one eigendecomposition for all of them."""
    return _draw_directions(*_check_matrix(matrix), count, bits)


def rotation(q, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(q, q))).Q


def moments(eigenvalues):
    """Return E[y_i²] and E[y_i²y_j²] for the density ∝ exp(Σ m_i y_i²), by a contour integral.

    The integral of exp(−Σλ_i y_i²) over the sphere is, up to a constant, the inverse Laplace transform of
    ∏(λ_i + z)^(−1/2), taken at 1; its derivatives in λ_i give the moments. All singularities lie on the negative half-
    axis, so the path may be a parabola around it, on which the trapezoidal rule converges geometrically.
    """
    gaps = max(eigenvalues) - np.asarray(eigenvalues)
    # The saddle point: there the integrand is largest on the path, and neither over- nor underflows.
    vertex = max(2.0, brentq(lambda z: (0.5 / (gaps + z)).sum() - 1.0, 0.25, len(gaps)))
    t = np.arange(-8.0, 8.0, 0.02)
    z = vertex * (1.0 + 1j * t) ** 2
    inverse = 1.0 / (gaps[:, None] + z)
    logarithm = z + np.log(inverse).sum(axis=0) / 2.0
    weights = np.exp(logarithm - logarithm.real.max()) * (1.0 + 1j * t)
    weights /= weights.sum()
    first = (inverse @ weights).real / 2.0
    second = ((inverse * weights) @ inverse.T).real / 4.0 * (1.0 + 2.0 * np.eye(len(gaps)))
    return first, second


def axial_cdf(strength, q):
    """Return the distribution function of v_1 when the density is ∝ exp(strength·v_1²): ∝ (1 − t²)^((q−3)/2)e^(κt²)."""
    angle = np.linspace(0.0, np.pi, 20_001)  # t = −cos(angle)
    density = np.sin(angle) ** (q - 2) * np.exp(strength * np.cos(angle) ** 2 - max(strength, 0.0))
    mass = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return lambda t: np.interp(np.arccos(-t), angle, mass / mass[-1])


def agrees(sample, mean, variance):
    """Tell whether the sample's mean is right, by the central limit theorem and a variance that is known."""
    return abs(sample.mean() - mean) < WRONG_BY * math.sqrt(variance / len(sample))


@pytest.mark.parametrize("eigenvalues", SPECTRA, ids=str)
def test_the_moments_to_compare_with_are_right(eigenvalues):
    """Σ y_i² = 1 holds for the integrals too, and many weighted uniform directions agree."""
    first, second = moments(eigenvalues)
    assert first.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(second.sum(axis=1), first, atol=1e-12)
    y = np.random.default_rng(1).normal(size=(size(200_000, 1_000_000), len(eigenvalues)))
    squares = y**2 / (y**2).sum(axis=1, keepdims=True)
    weights = np.exp(squares @ (np.array(eigenvalues) - max(eigenvalues)))
    errors = np.sqrt((weights[:, None] ** 2 * (squares - first) ** 2).sum(axis=0)) / weights.sum()
    assert np.all(np.abs(weights @ squares / weights.sum() - first) < WRONG_BY * errors)


@pytest.mark.parametrize("strength", [0.5, 3.0, 40.0])
def test_in_the_plane_the_doubled_angle_is_von_mises(seeded, strength):
    tilt = 0.7
    axis = np.array([math.cos(tilt), math.sin(tilt)])
    v = draws(strength * np.outer(axis, axis), seeded(1))
    doubled = 2.0 * (np.arctan2(v[:, 1], v[:, 0]) - tilt)
    wrapped = np.remainder(doubled + np.pi, 2.0 * np.pi) - np.pi
    assert kstest(wrapped, vonmises(strength / 2.0).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("q", "strength"), [(3, 4.0), (3, -4.0), (5, 6.0), (5, -20.0), (12, 15.0)])
def test_along_an_axis(seeded, q, strength):
    axis = rotation(q)[0]
    v = draws(strength * np.outer(axis, axis), seeded(2))
    assert kstest(v @ axis, axial_cdf(strength, q)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("eigenvalues", SPECTRA, ids=str)
def test_second_and_fourth_moments(seeded, eigenvalues):
    q = len(eigenvalues)
    turn = rotation(q)
    squares = (draws(turn @ np.diag(eigenvalues) @ turn.T, seeded(3)) @ turn) ** 2
    first, second = moments(eigenvalues)
    for i in range(q):
        assert agrees(squares[:, i], first[i], second[i, i] - first[i] ** 2)
        # A variable in [0, 1] has a variance of at most mean·(1 − mean).
        for j in range(i + 1):
            assert agrees(squares[:, i] * squares[:, j], second[i, j], second[i, j] * (1.0 - second[i, j]))


def test_what_a_draw_depends_on_is_the_eigenvalues_up_to_a_shift(seeded):
    """With the same bits the coordinates in the eigenbasis are the same but for their signs, which LAPACK chooses."""
    eigenvalues = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    for seed in range(20):
        plain = bingham(np.diag(eigenvalues), seeded(seed))
        turn = rotation(5, seed)
        turned = turn.T @ bingham(turn @ np.diag(eigenvalues + 17.0) @ turn.T, seeded(seed))
        np.testing.assert_allclose(np.abs(turned), np.abs(plain), atol=1e-10)


def test_rotating_the_matrix_rotates_the_distribution(seeded):
    eigenvalues, turn = [0.0, 1.0, 3.0], rotation(3)
    first, _ = moments(eigenvalues)
    v = draws(turn @ np.diag(eigenvalues) @ turn.T, seeded(4))
    expected = turn @ np.diag(first) @ turn.T
    for i, j in itertools.combinations_with_replacement(range(3), 2):
        product = v[:, i] * v[:, j]
        assert agrees(product, expected[i, j], product.var())


def test_all_signs_are_equally_likely(seeded):
    """In the eigenbasis each pattern of signs, in any basis each sign."""
    v = draws(np.diag([0.0, 1.0, 3.0]), seeded(5))
    patterns = np.bincount((v > 0.0) @ [1, 2, 4], minlength=8)
    assert chi_square_p(patterns, np.full(8, 1 / 8)) > FALSE_ALARM
    turn = rotation(3)
    v = draws(turn @ np.diag([0.0, 1.0, 3.0]) @ turn.T, seeded(6))
    for i in range(3):
        assert binomial_p((v[:, i] > 0.0).sum(), MANY, 0.5) > FALSE_ALARM


@pytest.mark.parametrize(
    "matrix",
    [np.zeros((4, 4)), -7.5 * np.eye(4), 1e12 * np.eye(4), 1e-300 * np.diag([1.0, 2.0, 3.0, 4.0])],
    ids=["zero", "equal", "equal and huge", "tiny"],
)
def test_without_a_preference_it_is_uniform(seeded, matrix):
    v = draws(matrix, seeded(7))
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1.0, rtol=1e-14)
    for direction in [*np.eye(4), np.full(4, 0.5)]:
        assert kstest((v @ direction) ** 2, beta(0.5, 1.5).cdf).pvalue > FALSE_ALARM
    pairs = np.mean(v[:, :, None] * v[:, None, :], axis=0)
    assert np.abs(pairs - np.eye(4) / 4.0).max() < WRONG_BY * math.sqrt(1.0 / 16.0 / MANY)  # Var v_i² = 1/16


def test_a_huge_eigenvalue_leaves_a_normal_around_its_axis(seeded):
    """2·10¹²·(1 − v_1²) is chi-square with q − 1 degrees of freedom, to 12 digits."""
    v = draws(np.diag([1e12, 0.0, 0.0, 0.0]), seeded(8))
    assert np.abs(v[:, 0]).min() > 1.0 - 1e-10
    assert kstest(2e12 * (v[:, 1:] ** 2).sum(axis=1), chi2(3).cdf).pvalue > FALSE_ALARM
    assert binomial_p((v[:, 0] > 0.0).sum(), MANY, 0.5) > FALSE_ALARM


def test_a_hugely_negative_eigenvalue_leaves_the_rest_alone(seeded):
    v = draws(np.diag([-1e12, 0.0, 3.0, 0.0]), seeded(9))
    assert kstest(2e12 * v[:, 0] ** 2, chi2(1).cdf).pvalue > FALSE_ALARM
    assert kstest(v[:, 2], axial_cdf(3.0, 3)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("entry", [1e308, 1.7e308, -1.7e308, 5e-324])
def test_no_finite_matrix_overflows(seeded, entry):
    for matrix in [np.full((3, 3), entry), np.diag([entry, -entry, 0.0])]:
        v = bingham(matrix, seeded(10))
        assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-14)
    if abs(entry) > 1.0:
        assert abs(v[0 if entry > 0.0 else 1]) == 1.0


@pytest.mark.parametrize("value", [0.0, -3.0, 1e12])
def test_in_one_dimension_it_is_a_fair_sign(seeded, value):
    bits = seeded(11)
    signs = np.array([bingham([[value]], bits) for _ in range(2_000)])
    assert signs.shape == (2_000, 1)
    assert set(signs[:, 0]) == {-1.0, 1.0}
    assert binomial_p((signs > 0.0).sum(), 2_000, 0.5) > FALSE_ALARM


@pytest.mark.parametrize(
    "eigenvalues",
    [
        np.append(np.zeros(DIMENSION - 1), 1e12),
        np.append(np.zeros(DIMENSION - 1), 0.8 * DIMENSION),
        np.linspace(0.0, 10.0 * DIMENSION, DIMENSION),
        np.zeros(DIMENSION),
    ],
    ids=["one axis", "a weak axis", "a slope", "uniform"],
)
def test_many_dimensions(seeded, eigenvalues):
    gaps = max(eigenvalues) - eigenvalues
    v = draws(np.diag(eigenvalues), seeded(12), size(30, 100))
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1.0, rtol=1e-13)
    if gaps.any():
        first, second = moments(eigenvalues)
        assert agrees(v**2 @ gaps, gaps @ first, gaps @ second @ gaps - (gaps @ first) ** 2)
    assert bingham(np.diag(eigenvalues), seeded(12)).shape == (DIMENSION,)


def test_a_seed_gives_the_same_draw_again_and_secure_bits_do_not(seeded):
    matrix = np.diag([0.0, 1.0, 3.0])
    np.testing.assert_array_equal(bingham(matrix, seeded(13)), bingham(matrix, seeded(13)))
    assert not np.array_equal(bingham(matrix, seeded(13)), bingham(matrix, seeded(14)))
    assert not np.array_equal(bingham(matrix), bingham(matrix))
    first, again = (gibbs_bingham(matrix, 2, 3, seeded(13)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(gibbs_bingham(matrix, 2, 3), gibbs_bingham(matrix, 2, 3))


@pytest.mark.parametrize("draw", [bingham, lambda matrix: gibbs_bingham(matrix, 1, 1)], ids=["bingham", "gibbs"])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), r"matrix: expected a square matrix of at least one row, got shape \(2, 3\)"),
        (np.zeros(4), r"matrix: expected a square matrix of at least one row, got shape \(4,\)"),
        (np.zeros((0, 0)), r"matrix: expected a square matrix of at least one row, got shape \(0, 0\)"),
        (1.0, r"matrix: expected a square matrix of at least one row, got shape \(\)"),
        ([[1.0, math.nan], [math.nan, 1.0]], "matrix: expected finite numbers"),
        ([[math.inf, 0.0], [0.0, 1.0]], "matrix: expected finite numbers"),
        ([[1.0, 2.0], [2.1, 1.0]], "matrix: expected a symmetric matrix"),
        ([[0.0, 1e-300], [0.0, 0.0]], "matrix: expected a symmetric matrix"),
        ([[1j, 0.0], [0.0, 1.0]], "matrix: expected numbers, got an array of complex128"),
        ([["1"]], "matrix: expected numbers, got an array of <U1"),
    ],
)
def test_a_matrix_that_is_none(draw, matrix, message):
    with pytest.raises(ValueError, match=message):
        draw(matrix)


def test_asymmetry_from_rounding_is_taken_for_the_symmetric_part(seeded):
    symmetric = np.array([[3.0, 1.0], [1.0, 0.0]])
    skew = np.array([[0.0, 2.0**-36], [-(2.0**-36), 0.0]])
    np.testing.assert_array_equal(bingham(symmetric + skew, seeded(15)), bingham(symmetric, seeded(15)))


@pytest.mark.parametrize(
    ("name", "k", "sweeps"), [("k", 0, 1), ("k", 4, 1), ("k", 1.5, 1), ("sweeps", 1, 0), ("sweeps", 1, None)]
)
def test_a_number_of_columns_or_sweeps_that_is_none(name, k, sweeps):
    with pytest.raises(ValueError, match=f"^{name}=.*: expected a whole number, at least 1"):
        gibbs_bingham(np.eye(3), k, sweeps)


def test_bits_that_are_none():
    with pytest.raises(ValueError, match="bits=7: expected None"):
        bingham(np.eye(3), 7)


@pytest.mark.parametrize(("q", "k"), [(1, 1), (2, 2), (3, 1), (6, 4), (5, 5), (40, 7)])
def test_a_frame_is_orthonormal(seeded, q, k):
    frame = gibbs_bingham(np.diag(np.linspace(-1e6, 1e6, q)), k, 20, seeded(16))
    assert frame.shape == (q, k)
    np.testing.assert_allclose(frame.T @ frame, np.eye(k), atol=1e-13)


def test_one_draw_at_a_time_has_the_distribution(seeded):
    bits = seeded(20)
    axis = rotation(3)[0]
    v = np.array([bingham(4.0 * np.outer(axis, axis), bits) for _ in range(size(1_000, 3_500))])
    assert kstest(v @ axis, axial_cdf(4.0, 3)).pvalue > FALSE_ALARM


def test_one_column_has_the_distribution_of_a_direction(seeded):
    bits = seeded(17)
    axis = rotation(3)[0]
    v = np.array([gibbs_bingham(4.0 * np.outer(axis, axis), 1, 1, bits)[:, 0] for _ in range(size(1_000, 3_500))])
    assert kstest(v @ axis, axial_cdf(4.0, 3)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("eigenvalues", [[0.0, 1.0, 3.0], [8.0, 8.0, 0.0]][: size(1, 2)], ids=str)
def test_two_columns_of_three_leave_a_direction_of_the_opposite_matrix(seeded, eigenvalues):
    """VVᵀ = I − uuᵀ, so tr(VᵀMV) = tr M − uᵀMu: u has the Bingham distribution of −M."""
    bits, turn = seeded(18), rotation(3)
    matrix = turn @ np.diag(eigenvalues) @ turn.T
    frames = np.array([gibbs_bingham(matrix, 2, 6, bits) for _ in range(size(200, 500))])
    left = (np.cross(frames[:, :, 0], frames[:, :, 1]) @ turn) ** 2
    m = np.array(eigenvalues)
    first, second = moments(-m)
    trace = np.einsum("nik,ij,njk->n", frames, matrix, frames)
    assert agrees(trace, m.sum() - m @ first, m @ second @ m - (m @ first) ** 2)
    for i in range(3):
        assert agrees(left[:, i], first[i], second[i, i] - first[i] ** 2)


def test_a_full_frame_is_uniform(seeded):
    bits = seeded(19)
    frames = np.array([gibbs_bingham(np.diag([0.0, 5.0, 9.0]), 3, 1, bits) for _ in range(size(500, 1_000))])
    for i, j in itertools.product(range(3), repeat=2):
        assert kstest(frames[:, i, j], axial_cdf(0.0, 3)).pvalue > FALSE_ALARM
    assert binomial_p((np.linalg.det(frames) > 0.0).sum(), len(frames), 0.5) > FALSE_ALARM
