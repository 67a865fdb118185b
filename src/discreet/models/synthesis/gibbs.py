"""Gibbs sweeps over rows of a pairwise model, in compiled loops.

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


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _choose(logits, first, last, uniform):
    """Return the place from ``first`` on to which a uniform number leads; logits become sums of their exponentials."""
    most = np.float32(-1e30)
    for k in range(first, last):
        most = max(most, logits[k])
    total = np.float32(0.0)
    for k in range(first, last):
        total += np.float32(math.exp(logits[k] - most))
        logits[k] = total
    aim = uniform * total
    new = first
    while new < last - 1 and logits[new] <= aim:
        new += 1
    return new


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _move(potential, interactions, old, new):
    """Move a potential by θ[new, ·] − θ[old, ·]."""
    if new != old:
        up, down = interactions[new], interactions[old]
        for k in range(len(potential)):
            potential[k] += up[k] - down[k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _add_triples(extra, row, column, without, levels, triples, first, touching, values, scale):
    """Set ``extra`` to what triples with a column, and without another, add to each of its levels."""
    extra[:] = 0.0
    for e in range(first[column], first[column + 1]):
        t = touching[e]
        a, b, c = triples[t, 0], triples[t, 1], triples[t, 2]
        if without in (a, b, c):
            continue
        u, v, w = levels[row[a]], levels[row[b]], levels[row[c]]
        for g in range(len(extra)):
            if a == column:
                extra[g] += scale * values[t, g, v, w]
            elif b == column:
                extra[g] += scale * values[t, u, g, w]
            else:
                extra[g] += scale * values[t, u, v, g]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def _join_triples(both, row, i, j, levels, triples, first, touching, values, scale):
    """Set ``both`` to exp of what triples with two columns add to each pair of levels; return if there are any."""
    there = False
    both[:] = 0.0
    for e in range(first[i], first[i + 1]):
        t = touching[e]
        a, b, c = triples[t, 0], triples[t, 1], triples[t, 2]
        if j not in (a, b, c):
            continue
        there = True
        third = levels[row[a + b + c - i - j]]
        for g in range(both.shape[0]):
            for h in range(both.shape[1]):
                u = g if a == i else (h if a == j else third)
                v = g if b == i else (h if b == j else third)
                w = g if c == i else (h if c == j else third)
                both[g, h] += scale * values[t, u, v, w]
    if there:
        both[:] = np.exp(both)
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
        Levels of bins, triples, where the triples of each column begin, their numbers, and τ (``triples``).
    """
    levels, triples, first, touching, values = triple_terms
    m = values.shape[1]
    extra, other_extra = np.zeros(m, dtype=np.float32), np.zeros(m, dtype=np.float32)
    both = np.zeros((m, m), dtype=np.float32)
    joined = False
    several = len(triples) > 0
    n, d = rows.shape
    size = len(fields)
    potential = np.empty(size, dtype=np.float32)
    logits = np.empty(size, dtype=np.float32)
    scale = np.float32(temperature)
    for r in range(n):
        potential[:] = 0.0
        for j in range(d):
            own = interactions[rows[r, j]]
            for k in range(size):
                potential[k] += own[k]
        for p in range(len(blocks)):
            i, j = blocks[p, 0], blocks[p, 1]
            a, b, c, e = starts[i], starts[i + 1], starts[j], starts[j + 1]
            old, other = rows[r, i], rows[r, j]
            if several:
                _add_triples(extra, rows[r], i, j, levels, triples, first, touching, values, scale)
                _add_triples(other_extra, rows[r], j, i, levels, triples, first, touching, values, scale)
                joined = _join_triples(both, rows[r], i, j, levels, triples, first, touching, values, scale)
            most = np.float32(-1e30)
            for k in range(c, e):  # weights of the second without the first
                logits[k] = fields[k] + scale * (potential[k] - interactions[old, k]) + gauges[p, 1, k - c]
                if several:
                    logits[k] += other_extra[levels[k]]
                most = max(most, logits[k])
            for k in range(c, e):
                logits[k] = np.float32(math.exp(logits[k] - most))
            there = False
            for k in range(a, b):
                total = np.float32(0.0)
                tie = ties[p, k - a]
                if joined:
                    for q in range(c, e):
                        total += tie[q - c] * logits[q] * both[levels[k], levels[q]]
                else:
                    for q in range(c, e):
                        total += tie[q - c] * logits[q]
                if total > np.float32(1e-30):
                    there = True
                total = np.float32(math.log(total + np.float32(1e-37)))
                logits[k] = total + fields[k] + scale * (potential[k] - interactions[other, k]) + gauges[p, 0, k - a]
                if several:
                    logits[k] += extra[levels[k]]
            if there:
                new = _choose(logits, a, b, uniforms[r, 2 * p])
                _move(potential, interactions, old, new)
                rows[r, i] = new
            if several:
                _add_triples(other_extra, rows[r], j, -1, levels, triples, first, touching, values, scale)
            for k in range(c, e):
                logits[k] = fields[k] + scale * potential[k]
                if several:
                    logits[k] += other_extra[levels[k]]
            new = _choose(logits, c, e, uniforms[r, 2 * p + 1])
            _move(potential, interactions, other, new)
            rows[r, j] = new
        for q in range(len(order)):
            j = order[q]
            if several:
                _add_triples(extra, rows[r], j, -1, levels, triples, first, touching, values, scale)
            for k in range(starts[j], starts[j + 1]):
                logits[k] = fields[k] + scale * potential[k]
                if several:
                    logits[k] += extra[levels[k]]
            new = _choose(logits, starts[j], starts[j + 1], uniforms[r, 2 * len(blocks) + q])
            _move(potential, interactions, rows[r, j], new)
            rows[r, j] = new


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
