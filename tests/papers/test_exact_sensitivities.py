"""Sensitivities of section 3: no neighbours are farther apart, and some are exactly as far."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.guarantees import Neighbors
from discreet.queries.moments.moments import Moments, Squares
from discreet.records import Box
from effort import size
from papers.xi import exact_sensitivities as exact
from together import together

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
PAGE = Path(__file__).parents[2] / "docs" / "sensitivities.md"


triangle = functools.cache(np.triu_indices)


def upper(matrix, start=0):
    return matrix[triangle(len(matrix), start)]


def spread(rows):
    v = rows - rows.mean(axis=0)
    return v.T @ v / len(rows)


def sums(about):
    return lambda rows: np.append((rows - about).sum(axis=0), len(rows))


def squares(about):
    return lambda rows: np.concatenate([(rows - about).sum(axis=0), ((rows - about) ** 2).sum(axis=0)])


def moments(about):
    return lambda rows: np.append((rows - about).sum(axis=0), upper((rows - about).T @ (rows - about)))


def joint(rows):
    d = rows.shape[1]
    b, c = np.sqrt(exact.moment_weights(d))
    y = (2.0 * rows - 1.0) / np.sqrt(d)
    packing = np.sqrt(2.0 - np.eye(d))
    return np.append(b * y.sum(axis=0), c * upper(packing * (y.T @ y)))


# The statistic, its sensitivity, the fewest rows and columns that it takes, and its norms.
CASES = {
    "mean": (lambda rows: rows.mean(axis=0), exact.mean, 1, 1),
    "total": (lambda rows: rows.sum(axis=0), exact.total, 1, 1),
    "median": (lambda rows: np.median(rows, axis=0), exact.median, 1, 1),
    "sum and size": (sums(0.0), exact.mean_by_sum_and_size, 1, 1),
    "variance": (lambda rows: np.diagonal(spread(rows)), exact.variance, 2, 1),
    "covariance": (lambda rows: upper(spread(rows), 1), exact.covariance, 2, 2),
    "covariance matrix": (lambda rows: upper(spread(rows)), exact.covariance_matrix, 2, 1),
    "sum and count": (sums(0.0), exact.mean_by_sum_and_count, 1, 1),
    "sum and count, middle": (sums(0.5), lambda *of: exact.mean_by_sum_and_count(*of, about=0.5), 1, 1),
    "sums and squares": (squares(0.0), exact.variance_by_sums, 1, 1),
    "sums and squares, middle": (squares(0.5), lambda *of: exact.variance_by_sums(*of, about=0.5), 1, 1),
    "moments": (moments(0.0), exact.covariance_matrix_by_moments, 1, 1),
    "moments, middle": (moments(0.5), lambda *of: exact.covariance_matrix_by_moments(*of, about=0.5), 1, 1),
    "joint moments": (joint, exact.covariance_matrix_by_joint_moments, 1, 1),
}
WHOLE = {"frobenius": lambda rows: spread(rows).ravel()}


def length(move, norm):
    return float(np.abs(move).sum() if norm == "l1" else np.sqrt((move**2).sum()))


def move(statistic, rows, relation):
    """Return the difference between two neighbours' statistics: without the last row, and without the last but one."""
    one, other = rows[:-1], rows[:-2] if relation is ADD else np.delete(rows, -2, axis=0)
    if not len(other):
        return np.zeros(1)
    return statistic(one) - statistic(other)


@functools.cache
def moves(statistic, n, d, relation):
    """Return the differences between the statistics of enumerated neighbours, for every norm."""
    ends = [np.array(row) for row in itertools.product([0.0, 1.0] if d > 2 else [0.0, 0.5, 1.0], repeat=d)]
    halves = np.zeros((n - 1, d))
    halves[: n // 2] = 1.0
    fewer = 1.0 - halves
    bases = [np.zeros((n - 1, d)), np.ones((n - 1, d)), halves, fewer, np.full((n - 1, d), 0.5)]
    pairs = list(itertools.product(ends, repeat=2))
    if len(pairs) > 300:
        pairs = [pair for pair in pairs if (np.diff(pair[0]) >= 0).all()]  # columns can be exchanged
    return [
        move(statistic, np.vstack([base, x, other]), relation) for base, (x, other) in itertools.product(bases, pairs)
    ]


def worst(statistic, n, d, norm, relation):
    """Return the largest distance between neighbours that enumeration and climbs find."""
    rng = np.random.default_rng(n * 100 + d)
    n += relation is ADD  # a second database with a row less must have rows
    result = max(length(each, norm) for each in moves(statistic, n, d, relation))
    for _ in range(size(2, 4)):
        start = rng.uniform(size=(n + 1, d))
        start[-2:] = rng.choice([0.1, 0.9], size=(2, 1)) + rng.uniform(-0.05, 0.05, (2, d))
        climbed = minimize(
            lambda flat: -length(move(statistic, flat.reshape(n + 1, d), relation), norm),
            start.ravel(),
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * start.size,
            options={"ftol": 1e-15, "gtol": 1e-10},
        )
        result = max(result, -float(climbed.fun))
    return result


SHAPES = [(1, 1), (2, 1), (5, 1), (3, 2), (2, 3), (2, 2), (4, 3), (3, 5)]  # of tables: n rows, d columns


@together(("n", "d"), size(SHAPES[:5], SHAPES))
@together("norm", ["l1", "l2"])
@together("name", CASES)
def test_some_neighbours_are_exactly_so_far_apart_and_none_farther(name, norm, n, d):
    statistic, of, least, columns = CASES[name]
    if n < least or d < columns:
        with pytest.raises(ValueError, match="expected a whole number"):
            of(n, d, norm)
        return
    claim = of(n, d, norm)
    assert claim.norm == norm
    result = worst(statistic, n, d, norm, claim.relation)
    assert result <= claim.exact * (1.0 + 1e-12)
    assert result >= claim.exact * (1.0 - 1e-9)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 2), (4, 3)])
def test_the_whole_matrix_in_the_frobenius_norm(n, d):
    claim = exact.covariance_matrix(n, d, "frobenius").exact
    result = worst(WHOLE["frobenius"], n, d, "l2", REPLACE)
    assert claim * (1.0 - 1e-9) <= result <= claim * (1.0 + 1e-12)


@together("d", [1, 2])
@together("norm", ["l1", "l2"])
@together("name", CASES)
def test_no_neighbours_of_a_small_world_beat_it(name, norm, d):
    """All databases of up to three rows with values in {0, ½, 1}, and all of their neighbours."""
    statistic, of, least, columns = CASES[name]
    world = [np.array(row) for row in itertools.product([0.0, 0.5, 1.0], repeat=d)]
    for n in range(max(least, 1), 4):
        if d < columns:
            continue
        claim = of(n, d, norm)
        for others in itertools.combinations_with_replacement(range(len(world)), n - 1):
            base = np.array([world[place] for place in others]).reshape(-1, d)
            those = [statistic(np.vstack([base, row])) for row in world]
            if claim.relation is ADD:
                pairs = [(one, statistic(base)) for one in those] if len(base) else []
            else:
                pairs = list(itertools.combinations(those, 2))
            for one, other in pairs:
                assert length(one - other, norm) <= claim.exact * (1.0 + 1e-12)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", CASES)
def test_over_all_n(name, norm):
    _, of, least, columns = CASES[name]
    d = max(columns, 3)
    assert of(None, d, norm).exact == pytest.approx(max(of(n, d, norm).exact for n in range(least, 40)), rel=1e-12)


def test_the_paper_lies_around_the_exact_values():
    for n, d in [(2, 1), (10, 2), (1000, 5)]:
        for of in (exact.mean, exact.total, exact.mean_by_sum_and_size, exact.covariance_matrix):
            result = of(n, d)
            assert result.paper_lower == pytest.approx(result.exact)
            assert result.paper_upper >= result.exact
        result = exact.covariance_matrix(n, d)
        assert result.paper_upper == pytest.approx(3.0 * result.exact)
    assert exact.variance(50, 1).paper_upper == pytest.approx(3 * 49 / 2500)
    assert exact.covariance(50, 2).paper_upper == pytest.approx(3 * 49 / 2500)
    assert exact.covariance_matrix(None, 4).paper_upper == pytest.approx(3 * 4 * 5 / 8)
    assert exact.covariance_matrix(None, 4).exact == pytest.approx(4 * 5 / 8)
    assert exact.mean(None, 4).paper_upper == 4.0


def test_the_divisor_n_minus_1_gives_one_over_n():
    n = 7
    zeros = np.zeros((n, 1))
    ones = zeros.copy()
    ones[0] = 1.0
    moved = ones.var(ddof=1) - zeros.var(ddof=1)
    assert moved == pytest.approx(1.0 / n)
    assert exact.variance(n, 1).exact * n / (n - 1) == pytest.approx(1.0 / n)


def test_broken_values_are_caught():
    """√2 off, the middle's value used about 0, the corners' value in place of the inner maximum: all beaten."""
    for name, d, norm in [("covariance matrix", 2, "l2"), ("mean", 2, "l2"), ("joint moments", 3, "l2")]:
        statistic, of, *_ = CASES[name]
        claim = of(3, d, norm)
        wrong = replace(claim, exact=claim.exact / np.sqrt(2.0))
        assert worst(statistic, 3, d, norm, claim.relation) > wrong.exact
    assert worst(moments(0.0), 2, 2, "l1", REPLACE) > exact.covariance_matrix_by_moments(2, 2, about=0.5).exact
    corners = max(k + k * (2 - k) / 2.0 for k in range(3))
    assert worst(moments(0.5), 2, 2, "l1", REPLACE) > corners


def test_the_library_charges_the_exact_value():
    for d in (1, 2, 3, 7, 20):
        ways = {way.way: way for way in exact.table(100, d) if way.statistic == "covariance matrix"}
        b2, c2 = exact.moment_weights(d)
        charged = Moments(Box([0.0] * d, [1.0] * d), (0.0, b2, c2)).bound
        assert ways["joint moments"].l1 == pytest.approx(charged.sensitivity("l1", "replace-one"), rel=1e-12)
        assert ways["joint moments"].l2 == pytest.approx(charged.sensitivity("l2", "replace-one"), rel=1e-12)


@pytest.mark.parametrize(("n", "d", "at"), [(100, 1, 0.5), (200, 3, 0.5), (200, 3, 0.8), (60, 2, 0.1)])
def test_errors_are_those_of_simulated_noise(n, d, at):
    rng = np.random.default_rng(n + d)
    draws = size(50_000, 200_000)
    i, j = np.triu_indices(d)
    for way in exact.table(n, d, at):
        for noise in ("laplace", "gaussian"):
            scale = way.l1 if noise == "laplace" else way.l2 / exact.additive_loss(exact.Guarantee(1.0, 1e-6)).gaussian

            def draw(*shape, noise=noise, scale=scale):
                return rng.laplace(0.0, scale, shape) if noise == "laplace" else rng.normal(0.0, scale, shape)

            if way.way.startswith("moments") or way.way.startswith("sums"):
                m = at - (0.5 if way.way.endswith("middle") else 0.0)
                first = draw(draws, d) / n
                if way.statistic == "variance":
                    error = draw(draws, d) / n - 2.0 * m * first - first**2
                else:
                    error = draw(draws, len(i)) / n - m * (first[:, i] + first[:, j]) - first[:, i] * first[:, j]
            elif way.way.startswith("joint"):
                b, c = np.sqrt(exact.moment_weights(d))
                m, first = (2.0 * at - 1.0) / np.sqrt(d), draw(draws, d) / (b * n)
                second = draw(draws, len(i)) / (c * n * np.where(i == j, 1.0, np.sqrt(2.0)))
                error = d / 4.0 * (second - m * (first[:, i] + first[:, j]) - first[:, i] * first[:, j])
            elif way.way.startswith("weighted"):
                _, b, c = Squares(Box([0.0], [1.0]), False).amplitudes
                first = draw(draws, 1) / (b * n)
                error = 0.25 * (draw(draws, 1) / (2.0 * c * n) - 2.0 * (2.0 * at - 1.0) * first - first**2)
            elif way.way == "directly":
                error = draw(draws, 1)
            else:
                continue
            result, expected = float(np.mean(error**2)), getattr(way, noise) ** 2
            # A mean of squares of 200,000 Laplace numbers, or products of them, has a relative deviation below 0.9 %
            # (kurtosis 6, and up to 70 for the small last term), and of a quarter as many twice that: 6.2 of them for
            # a false alarm of 1e-9 at most.
            assert result == pytest.approx(expected, rel=size(0.11, 0.055))


def test_the_page_has_the_tables_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    for n, d, at in [(1000, 1, 0.5), (1000, 5, 0.5), (1000, 5, 0.9)]:
        assert exact.markdown(n, d, at) in text, (n, d, at)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: exact.mean(0, 1), "n=0"),
        (lambda: exact.mean(3, 0), "d=0"),
        (lambda: exact.mean(3, 1, "l3"), "norm='l3'"),
        (lambda: exact.mean(3, 1, "frobenius"), "norm="),
        (lambda: exact.variance(1, 1), "n=1"),
        (lambda: exact.covariance(5, 1), "d=1"),
        (lambda: exact.variance_by_sums(5, 1, about=0.3), "write about=0.5"),
        (lambda: exact.table(1, 1), "n=1"),
    ],
)
def test_what_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
