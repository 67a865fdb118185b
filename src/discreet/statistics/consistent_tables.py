"""Tables of counts that add up: least squares from noisy cells and margins, and tables without negative counts.

All is post-processing of released numbers, so it costs nothing and needs no proof of privacy.

**The estimate.** Cells y_ij, row totals r_i and column totals c_j are measured with noise of variances ∝ 1/p, 1/q and
1/s. The unbiased linear estimate of least variance minimises

    p Σ(x_ij − y_ij)² + q Σ(x_i· − r_i)² + s Σ(x_·j − c_j)².

With e = x − y, d_i = r_i − y_i·, f_j = c_j − y_·j and λ = 0, its normal equations are

    p e_ij = q(d_i − e_i·) + s(f_j − e_·j) + λ.

Summing over columns, rows and both gives e_i·, e_·j and the sum of all in closed form. Where the total is public, it is
held by the multiplier λ. In units of the noise the precisions along interactions, row contrasts, column contrasts and
the total are p, p + Cq, p + Rs and p + Cq + Rs (Barak et al. 2007 and Li et al. 2015 measure margins for this reason).

**The table.** Counts that are set to 0 where they are negative add up to too much, by far if many cells are empty. So
the totals come first, and the cells follow: row totals and column totals are each moved to the nearest non-negative
ones with the sum of the table, and the cells to the nearest non-negative table with these margins. That is
x_ij = max(0, y_ij + u_i + v_j). Rows and columns are solved in turn, each exactly (Held, Wolfe and Crowder 1974).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS = 200  # of rows and columns in turn; a table needs about six
CLOSE = 1e-9  # of the total


def estimate_table(
    cells: Array, rows: Array, columns: Array, precisions: tuple[float, float, float], total: float | None
) -> Array:
    """Return the estimate of least variance from noisy cells and margins, with a public total if there is one.

    >>> cells = np.array([[4.0, 1.0], [1.0, 4.0]])
    >>> estimate_table(cells, cells.sum(axis=1), cells.sum(axis=0), (1.0, 0.0, 0.0), 14.0).tolist()
    [[5.0, 2.0], [2.0, 5.0]]
    """
    p, q, s = precisions
    height, width = cells.shape
    d, f = rows - cells.sum(axis=1), columns - cells.sum(axis=0)
    along_rows, along_columns = width * q, height * s
    whole = p + along_rows + along_columns
    pulled = along_rows * d.sum() + along_columns * f.sum()
    change = pulled / whole if total is None else total - cells.sum()
    multiplier = (whole * change - pulled) / (height * width)
    of_rows = (along_rows * d + s * (f.sum() - change) + width * multiplier) / (p + along_rows)
    of_columns = (along_columns * f + q * (d.sum() - change) + height * multiplier) / (p + along_columns)
    moves = q * (d - of_rows)[:, None] + s * (f - of_columns)[None, :] + multiplier
    return np.asarray(cells + moves / p)


def noise_variances(
    shape: tuple[int, int], precisions: tuple[float, float, float], *, known: bool
) -> tuple[float, float, float, float]:
    """Return the variances of an estimated cell, row total, column total and total, for noise of variance 1.

    ``known`` says that the total is public.

    >>> noise_variances((10, 10), (1.0, 0.0, 0.0), known=False)
    (1.0, 10.0, 10.0, 100.0)
    """
    (height, width), (p, q, s) = shape, precisions
    row, column, whole = 1.0 / (p + width * q), 1.0 / (p + height * s), 1.0 / (p + width * q + height * s)
    whole = 0.0 if known else whole
    h, w = 1.0 / height, 1.0 / width
    cell = (1.0 - h) * (1.0 - w) / p + w * (1.0 - h) * row + h * (1.0 - w) * column + h * w * whole
    of_row = width * ((1.0 - h) * row + h * whole)
    of_column = height * ((1.0 - w) * column + w * whole)
    return cell, of_row, of_column, height * width * whole


def project_table(estimate: Array, total: float | None) -> Array:
    """Return a table without negative counts whose margins are as near to those of the estimate as such ones can be.

    Its sum is the public total, or else that of the estimate, or 0 if that is negative.

    >>> project_table(np.array([[5.0, -1.0], [3.0, 3.0]]), None).round(6).tolist()
    [[4.0, 0.0], [4.0, 2.0]]
    """
    whole = float(estimate.sum()) if total is None else total
    if not (math.isfinite(whole) and whole > 0.0):
        return np.zeros(estimate.shape)
    rows = _project(estimate.sum(axis=1)[None], np.array([whole]))[0][0]
    columns = _project(estimate.sum(axis=0)[None], np.array([whole]))[0][0]
    of_columns = np.zeros(len(columns))
    for _ in range(STEPS):
        _, of_rows = _project(estimate + of_columns, rows)
        table, of_columns = _project((estimate + of_rows[:, None]).T, columns)
        if np.abs(table.sum(axis=0) - rows).max() <= CLOSE * whole:
            break
    return table.T


def _project(values: Array, totals: Array) -> tuple[Array, Array]:
    """Return the nearest non-negative rows with these sums, and what was added to each row before it was cut at 0."""
    ordered = -np.sort(-values, axis=1)
    excess = (np.cumsum(ordered, axis=1) - totals[:, None]) / np.arange(1, values.shape[1] + 1)
    last = np.maximum((ordered > excess).sum(axis=1) - 1, 0)
    added = -excess[np.arange(len(values)), last]
    return np.maximum(values + added[:, None], 0.0), added
