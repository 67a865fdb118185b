"""The statistic of ``clipped_moments`` in compiled loops, for NumPy arrays of few columns.

``coordinates`` makes z and the logits of some rows, NumPy takes the exponentials of all of them at once, ``add`` makes
shares and moments of them. Where rows are assigned to one component, ``nearest`` finds it and ``add_assigned`` makes
the moments. ``evidence`` and ``tally`` are for columns of categories (``mixed_moments``). The array form goes over
memory some twenty times; here all stays in the cache, the inner loops run over rows and are vectorised, and without the
interpreter's lock they run on all cores. Sums over rows or columns may be taken in any order and with fused operations,
which the bounds on float error in ``clipped_moments`` and ``records.sources.source`` allow for.

Arrays are copied number by number: to compile a copy of an array takes longer than all of the rest.

P is lower triangular (the inverse of a Cholesky factor), so only that half is used. Whether a row is nearest to a mean
is decided without any such freedom (``nearest``): it must be a function of the row's own bits.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

FREE = {"reassoc", "contract", "nsz"}  # what the compiler may do: another order, fused operations, the sign of zero


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def coordinates(y, whitening, offsets, constants, known, cap, z, squared, logits):
    """Fill z = P·y − o, ‖z‖² and the logits less their largest, for each component and row.

    Parameters
    ----------
    y : array of shape (d, n)
    whitening, offsets, constants : arrays of shape (K, d, d), (K, d) and (K,)
    known : array of shape (K, n), or (0, 0)
        Evidence that is added to the logits, if there is any.
    cap : float
        Q.
    z, squared, logits : arrays of shape (K, d, n), (K, n) and (K, n), to be filled
    """
    d, n = y.shape
    for k in range(len(constants)):
        size = squared[k]
        size[:] = 0.0
        for i in range(d):
            own = z[k, i]
            own[:] = -offsets[k, i]
            for j in range(i + 1):
                factor, column = whitening[k, i, j], y[j]
                if factor == 0.0:  # as off the diagonal of diagonal matrices
                    continue
                for r in range(n):
                    own[r] += factor * column[r]
            for r in range(n):
                size[r] += own[r] * own[r]
        constant, logit = constants[k], logits[k]
        for r in range(n):
            logit[r] = constant - 0.5 * min(size[r], cap)
        if len(known):
            more = known[k]
            for r in range(n):
                logit[r] += more[r]
    largest = np.empty(n)
    for r in range(n):
        largest[r] = logits[0, r]
    for k in range(1, len(constants)):
        logit = logits[k]
        for r in range(n):
            largest[r] = max(largest[r], logit[r])
    for k in range(len(constants)):
        logit = logits[k]
        for r in range(n):
            logit[r] -= largest[r]


@njit(nogil=True, cache=True, error_model="numpy")
def nearest(y, metric, means, labels):
    """Fill the nearest mean of each row, of columns multiplied with ``metric``; the first of equals."""
    d, n = y.shape
    scaled, least, distance = np.empty((d, n)), np.full(n, math.inf), np.empty(n)
    for j in range(d):
        for r in range(n):
            scaled[j, r] = y[j, r] * metric[j]
    for k in range(len(means)):
        distance[:] = 0.0
        for j in range(d):
            mean, column = means[k, j], scaled[j]
            for r in range(n):
                difference = column[r] - mean
                distance[r] += difference * difference
        for r in range(n):
            if distance[r] < least[r]:
                least[r], labels[r] = distance[r], k


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def add_assigned(y, labels, whitening, offsets, diagonal, radius, square, counts, first, second):
    """Add what ``add`` adds, where each row has one component, whose number is its label, and P may be diagonal."""
    d, n = y.shape
    z = np.empty(d)
    for r in range(n):
        k, size = labels[r], 0.0
        for i in range(d):
            z[i] = y[i, r]
        if radius > 0.0:
            for i in range(d - 1, -1, -1):
                value = -offsets[k, i]
                for j in range(i if diagonal else 0, i + 1):
                    value += whitening[k, i, j] * z[j]
                z[i] = value
                size += value * value
            shrink = 1.0 / math.sqrt(max(size, radius * radius))
            for i in range(d):
                z[i] *= shrink
        counts[k] += 1.0
        for i in range(d):
            first[k, i] += z[i]
            for j in range(0 if square else i, i + 1):
                second[k, i, j] += z[i] * z[j]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def add(y, z, squared, shares, radius, square, counts, first, second):
    """Add γ, γ·y_k and γ·y_k y_kᵀ (its lower triangle; the diagonal alone unless ``square``) of all rows to sums.

    Parameters
    ----------
    y, z, squared : arrays
        As in ``coordinates``.
    shares : array of shape (K, n)
        γ up to a factor a row.
    radius : float
        R; 0 for the coordinates of the unit ball.
    square : bool
    counts, first, second : arrays of shape (K,), (K, d) and (K, d, d)
    """
    d, n = y.shape
    whole, shrink, part = np.empty(n), np.empty(n), np.empty(n)
    for r in range(n):
        whole[r] = shares[0, r]
    for k in range(1, len(counts)):
        share = shares[k]
        for r in range(n):
            whole[r] += share[r]
    for r in range(n):
        whole[r] = 1.0 / whole[r]
    for k in range(len(counts)):
        share, size = shares[k], squared[k]
        total = 0.0
        for r in range(n):
            share[r] *= whole[r]
            total += share[r]
        counts[k] += total
        if radius > 0.0:
            for r in range(n):
                shrink[r] = 1.0 / math.sqrt(max(size[r], radius * radius))
        for i in range(d):
            own = z[k, i]
            if radius > 0.0:
                for r in range(n):
                    own[r] *= shrink[r]
            else:
                column = y[i]
                for r in range(n):
                    own[r] = column[r]
            total = 0.0
            for r in range(n):
                part[r] = share[r] * own[r]
                total += part[r]
            first[k, i] += total
            for j in range(0 if square else i, i + 1):
                other = z[k, j]
                total = 0.0
                for r in range(n):
                    total += part[r] * other[r]
                second[k, i, j] += total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def evidence(places, logs, known):
    """Fill the log-likelihood of each row's categories under each component.

    Parameters
    ----------
    places : array of shape (m, n)
        For each column of categories the place of the row's category in ``logs``.
    logs : array of shape (K, C)
        Logarithms of probabilities, all columns' categories side by side.
    known : array of shape (K, n), to be filled
    """
    m, n = places.shape
    for k in range(len(logs)):
        log, total = logs[k], known[k]
        total[:] = 0.0
        for j in range(m):
            place = places[j]
            for r in range(n):
                total[r] += log[place[r]]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FREE)
def tally(places, shares, counts):
    """Add the share of every row to the count of each of its categories, shape (K, C)."""
    m, n = places.shape
    for k in range(len(counts)):
        share, count = shares[k], counts[k]
        for j in range(m):
            place = places[j]
            for r in range(n):
                count[place[r]] += share[r]
