"""``match_gaussians``: the K round Gaussians of one width that fit a noisy histogram best.

The noise of a histogram is white. So the likeliest Gaussians for its counts y are those with the least squares

    ‖y − Σ a_k g_k‖²,

where g_k has the share of each cell in a Gaussian. The best one for what is left, r, has the largest ⟨r, g⟩/‖g‖, and
a = ⟨r, g⟩/‖g‖². They are found one after the other (matching pursuit); then each is taken out and found again. That is
done for several widths, and the one with the least squares is taken: with widths of their own a wide Gaussian covers
two clusters, and another one fits noise. Since g is a product over columns, ⟨r, g⟩ at all places is a product with one
matrix a column.

Noise in cells where a cluster has no rows does not matter here, so that cells may be much smaller than for k-means. How
small depends on the clusters, which are not known: smaller cells tell near ones apart, and hide those that are wide.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

__all__ = ["match_gaussians", "matching_size"]

Array = NDArray[np.float64]

SEEN = 0.3  # cells for each cluster, times the squared noise of a count relative to its rows
LEAST, MOST = 8, 4096  # cells: the fewest for each cluster, and the most in all
WIDTHS, NARROWEST, WIDEST = 6, 0.4, 1.0  # their number; the least, in sides of a cell, and the largest
SWEEPS = 2  # in which each is found again
FINER = 2  # places of a centre in a cell, along each column


def matching_size(number: int, rows: float, noise: float) -> int:
    """Return the number of cells of a histogram in which so many Gaussians are looked for.

    With the rows n of a cluster and the noise s of a count it is K·0.3·(n/s)²: a cluster that is spread over M/K cells
    is then seen at 1.8 standard deviations of the noise of all of them, and most are in far fewer.

    >>> matching_size(8, 2000.0, 14.0)
    765
    """
    return int(min(max(SEEN * number * (rows / number / noise) ** 2, LEAST * number, 2 * LEAST), MOST))


def match_gaussians(counts: Array, reach: Array, number: int) -> tuple[Array, Array, float]:
    """Return centres, numbers of rows, and the width of round Gaussians.

    Parameters
    ----------
    counts : array
        Noisy, with one axis a column.
    reach : array of shape (d,)
        The grid goes from −reach to reach.
    number : int
        K.
    """
    sides = 2.0 * reach / np.array(counts.shape)
    columns = [*zip(counts.shape, sides, reach, strict=True)]
    places = [side * (np.arange(FINER * size) + 0.5) / FINER - far for size, side, far in columns]
    edges = [side * np.arange(1, size) - far for size, side, far in columns]
    unit = max(float(np.abs(counts).max()), 1.0)  # so that no square overflows
    best, result = math.inf, (np.zeros((number, len(reach))), np.zeros(number), WIDEST)
    for width in np.geomspace(min(NARROWEST * float(sides.max()), WIDEST), WIDEST, WIDTHS):
        shares = [_shares(*column, width) for column in zip(places, edges, strict=True)]
        lengths = reduce(np.multiply.outer, [np.sqrt((share**2).sum(axis=1)) for share in shares])  # ‖g‖
        rest, rows, where = counts / unit, np.zeros(number), np.zeros((number, len(reach)), dtype=np.intp)
        for k in [*range(number)] * (1 + SWEEPS):
            rest = rest + rows[k] * _product(shares, where[k])
            matched = _along(shares, rest) / lengths  # ⟨r, g⟩/‖g‖
            where[k] = np.unravel_index(matched.argmax(), matched.shape)
            rows[k] = max(float((matched / lengths)[tuple(where[k])]), 0.0)
            rest = rest - rows[k] * _product(shares, where[k])
        squares = float((rest**2).sum())
        if squares < best:
            centers = np.stack([place[where[:, axis]] for axis, place in enumerate(places)], axis=1)
            best, result = squares, (centers, unit * rows, float(width))
    return result


def _shares(places: Array, edges: Array, width: float) -> Array:
    """Return the share of each cell in a normal distribution at each place; the outer cells have no end."""
    below = ndtr((edges - places[:, None]) / width)
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def _product(shares: list[Array], where: NDArray[np.intp]) -> Array:
    """Return g at a place: the share of each cell."""
    return reduce(np.multiply.outer, [share[i] for share, i in zip(shares, where, strict=True)])


def _along(matrices: list[Array], values: Array) -> Array:
    """Return the values multiplied with one matrix along each axis."""
    for axis, matrix in enumerate(matrices):
        values = np.moveaxis(np.tensordot(matrix, values, (1, axis)), 0, axis)
    return values
