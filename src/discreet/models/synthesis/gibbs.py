"""Gibbs sweeps over the bins of rows, in compiled loops; ``pairwise_model.Walk`` calls them.

A row x has a bin in each of d columns, as a place among the L bins of all columns. Its probability is proportional to
exp(Σ_j f[x_j] + Σ_{i<j} θ[x_i, x_j]). The potential of a row is the vector φ = f + Σ_i θ[x_i, ·]; since θ is 0 between
bins of one column, φ restricted to the bins of column j is the logit of column j given the others. A sweep draws every
column anew in turn and moves φ by θ[new, ·] − θ[old, ·]. Terms τ of triples of columns are added when a column is
drawn: they depend on a few levels of its bins alone (``triples``).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

FREE = {"reassoc", "contract", "nsz"}  # what the compiler may do: another order, fused operations, the sign of zero


@njit(inline="always", fastmath=FREE)
def _exp(x):
    """Return eˣ of a float32 in [−87, 87], to 2⁻²³ of itself: x = n·ln 2 + f, and a polynomial (Cephes) has e^f.

    Unlike the one of the standard library it is computed for several numbers at once. Below −87 it is e⁻⁸⁷.
    """
    x = max(x, np.float32(-87.0))
    n = np.float32(math.floor(x * np.float32(1.44269504) + np.float32(0.5)))
    f = (x - n * np.float32(0.693359375)) + n * np.float32(2.12194440e-4)
    power = np.float32(1.9875691500e-4)
    power = power * f + np.float32(1.3981999507e-3)
    power = power * f + np.float32(8.3334519073e-3)
    power = power * f + np.float32(4.1665795894e-2)
    power = power * f + np.float32(1.6666665459e-1)
    power = power * f + np.float32(5.0000001201e-1)
    power = power * f * f + f + np.float32(1.0)
    return power * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _choose(logits, uniform):
    """Return the place to which a uniform number leads; logits become their exponentials."""
    most = np.float32(-1e30)
    for k in range(len(logits)):
        most = max(most, logits[k])
    total = np.float32(0.0)
    for k in range(len(logits)):
        logits[k] = _exp(logits[k] - most)
        total += logits[k]
    aim = uniform * total
    new, passed = 0, logits[0]
    while new < len(logits) - 1 and passed <= aim:
        new += 1
        passed += logits[new]
    return new


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _draw(logits, fields, potential, scale, tripled, extra, levels, uniform):
    """Return the place that a column is drawn at, from its own parts of all arrays; ``extra`` is what triples add."""
    for k in range(len(logits)):
        logits[k] = fields[k] + scale * potential[k]
    if tripled:
        for k in range(len(logits)):
            logits[k] += extra[levels[k]]
    return _choose(logits, uniform)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _move(potential, interactions, old, new):
    """Move a potential by θ[new, ·] − θ[old, ·]."""
    if new != old:
        up, down = interactions[new], interactions[old]
        for k in range(len(potential)):
            potential[k] += up[k] - down[k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _add_triples(extra, level, column, without, starts, others, values, scale):
    """Set ``extra`` to what triples with a column, and without another, add to each of its levels."""
    for g in range(len(extra)):
        extra[g] = 0.0
    for t in range(starts[column], starts[column + 1]):
        a, b = others[t, 0], others[t, 1]
        if without not in (a, b):
            own = values[t, level[a], level[b]]
            for g in range(len(extra)):
                extra[g] += scale * own[g]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _join_triples(both, level, i, j, starts, others, values, scale):
    """Set ``both`` to exp of what triples with two columns add to each pair of levels; return if there are any."""
    there = False
    for t in range(starts[i], starts[i + 1]):
        a, b = others[t, 0], others[t, 1]
        if j not in (a, b):
            continue
        for h in range(both.shape[0]):
            own = values[t, h, level[b]] if a == j else values[t, level[a], h]
            for g in range(both.shape[1]):
                term = _exp(min(scale * own[g], np.float32(87.0)))
                both[h, g] = both[h, g] * term if there else term
        there = True
    return there


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def sweep(rows, order, blocks, ties, gauges, uniforms, fields, interactions, starts, temperature, triple_terms):
    """Draw every column of every row anew.

    Parameters
    ----------
    rows : int32 array of shape (n, d), changed
        Places among all bins.
    order : int array
        The columns that are drawn one by one, in this order.
    blocks : int array of shape (k, 2)
        Pairs of columns that are drawn together before: the first by its distribution summed over the second.
    ties : float32 array of shape (k, m, m)
        exp(θ_ab − r_a − c_b) of each of these pairs; see ``Walk``.
    gauges : float32 array of shape (k, 2, m)
        r and c of each of these pairs.
    uniforms : float32 array of shape (n, 2k + number of columns in ``order``)
        Numbers in [0, 1), one for each draw: a column that is drawn twice must not have the same one.
    fields, interactions : float32 arrays of shape (L,) and (L, L)
        f and θ.
    starts : int array of shape (d + 1,)
        Where the bins of each column begin.
    temperature : float
        By which interactions and terms of triples are multiplied.
    triple_terms : tuple of arrays
        Levels of bins, and the terms as each column sees them (``TripleTerms.facing``).
    """
    levels, first, others, values = triple_terms
    m = values.shape[1]
    extra, other_extra = np.zeros(m, dtype=np.float32), np.zeros(m, dtype=np.float32)
    both, joint = np.zeros((m, m), dtype=np.float32), np.zeros((m, ties.shape[2]), dtype=np.float32)
    here = np.zeros(rows.shape[1], dtype=np.int64)  # the levels of a row
    n, d = rows.shape
    size = len(fields)
    potential = np.empty(size, dtype=np.float32)
    logits = np.empty(size, dtype=np.float32)
    scale = np.float32(temperature)
    for r in range(n):
        for k in range(size):
            potential[k] = 0.0
        for j in range(d):
            own, here[j] = interactions[rows[r, j]], levels[rows[r, j]]
            for k in range(size):
                potential[k] += own[k]
        for p in range(len(blocks)):
            i, j = blocks[p, 0], blocks[p, 1]
            a, b, c, e = starts[i], starts[i + 1], starts[j], starts[j + 1]
            old, other = rows[r, i], rows[r, j]
            one, two = first[i] < first[i + 1], first[j] < first[j + 1]  # which of them have triples
            joined = False
            if one or two:
                _add_triples(extra, here, i, j, first, others, values, scale)
                _add_triples(other_extra, here, j, i, first, others, values, scale)
                joined = _join_triples(both, here, i, j, first, others, values, scale)
            field, phi, taken, gauge = fields[c:e], potential[c:e], interactions[old, c:e], gauges[p, 1]
            weights, level = logits[c:e], levels[c:e]
            most = np.float32(-1e30)
            for k in range(len(weights)):  # of the second column without the first
                weights[k] = field[k] + scale * (phi[k] - taken[k]) + gauge[k]
                if two:
                    weights[k] += other_extra[level[k]]
                most = max(most, weights[k])
            for k in range(len(weights)):
                weights[k] = _exp(weights[k] - most)
            if joined:
                for g in range(m):
                    for k in range(len(weights)):
                        joint[g, k] = weights[k] * both[level[k], g]
            there = False
            for k in range(a, b):
                total = np.float32(0.0)
                tie, mass = ties[p, k - a], joint[levels[k]] if joined else weights
                for q in range(len(weights)):
                    total += tie[q] * mass[q]
                if total > np.float32(1e-30):
                    there = True
                total = np.float32(math.log(total + np.float32(1e-37)))
                logits[k] = total + fields[k] + scale * (potential[k] - interactions[other, k]) + gauges[p, 0, k - a]
                if one:
                    logits[k] += extra[levels[k]]
            if there:
                new = a + _choose(logits[a:b], uniforms[r, 2 * p])
                _move(potential, interactions, old, new)
                rows[r, i], here[i] = new, levels[new]
            if two:
                _add_triples(other_extra, here, j, -1, first, others, values, scale)
            new = c + _draw(weights, field, phi, scale, two, other_extra, level, uniforms[r, 2 * p + 1])
            _move(potential, interactions, other, new)
            rows[r, j], here[j] = new, levels[new]
        for q in range(len(order)):
            j = order[q]
            a, b = starts[j], starts[j + 1]
            one = first[j] < first[j + 1]
            if one:
                _add_triples(extra, here, j, -1, first, others, values, scale)
            uniform = uniforms[r, 2 * len(blocks) + q]
            new = a + _draw(logits[a:b], fields[a:b], potential[a:b], scale, one, extra, levels[a:b], uniform)
            _move(potential, interactions, rows[r, j], new)
            rows[r, j], here[j] = new, levels[new]


@njit(nogil=True, cache=True, error_model="numpy")
def count_pairs(rows, counts):
    """Add the number of rows in each pair of bins, and on the diagonal in each bin, to a matrix of shape (L, L).

    Only entries (x_i, x_j) with i ≤ j are filled.
    """
    n, d = rows.shape
    for r in range(n):
        for i in range(d):
            own = counts[rows[r, i]]
            for j in range(i, d):
                own[rows[r, j]] += 1.0


@njit(nogil=True, cache=True, error_model="numpy")
def count_triples(rows, levels, triples, counts):
    """Add the number of rows in each cell of each triple to an array of shape (t, m, m, m)."""
    for r in range(len(rows)):
        for t in range(len(triples)):
            u, v, w = (
                levels[rows[r, triples[t, 0]]],
                levels[rows[r, triples[t, 1]]],
                levels[rows[r, triples[t, 2]]],
            )
            counts[t, u, v, w] += 1.0


@njit(nogil=True, cache=True, error_model="numpy")
def add_energies(rows, fields, interactions, result):
    """Add Σ_j f[x_j] + Σ_{i<j} θ[x_i, x_j] of each row."""
    n, d = rows.shape
    for r in range(n):
        total = 0.0
        for i in range(d):
            total += fields[rows[r, i]]
            own = interactions[rows[r, i]]
            for j in range(i + 1, d):
                total += own[rows[r, j]]
        result[r] += total
