"""A private mean and covariance of the bundled table: ``make demo``.

Every row is clipped to bounds that the code book declares, mapped into the unit ball, and turned into one vector
ψ = (y, yyᵀ)/√2 whose length is at most 1. The vectors are rounded to integers and summed without any error; the sum
gets Gaussian noise on a grid. One release, one loss, and the mean and the covariance are free to compute from it.
"""

from __future__ import annotations

import numpy as np

import discreet as dp
from discreet.datasets import load_adult
from discreet.noise import GaussianNoise

UNIT = 2.0**-30  # of the integers that rows are rounded to: 2²³ rows of length 1 sum to less than 2⁵³ of them


def contributions(X: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return one integer vector a row, in multiples of UNIT.

    Clipped to the box and scaled, y lies in the unit ball. Symmetric matrices are packed with √2 off the diagonal, so
    that the length of the vector is the Frobenius norm: ‖ψ‖² = (‖y‖² + ‖y‖⁴)/2 ≤ 1.
    """
    low, high = bounds.T
    d = len(low)
    y = (np.clip(X, low, high) - (low + high) / 2) / ((high - low) / 2 * np.sqrt(d))
    i, j = np.triu_indices(d)
    products = y[:, i] * y[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))
    return np.rint(np.hstack([y, products]) * (np.sqrt(0.5) / UNIT)).astype(np.int64)


def sensitivity(size: int) -> float:
    """Return how far apart two sums are when one row is replaced.

    With u = ⟨y, y'⟩ the inner product ⟨ψ, ψ'⟩ = (u + u²)/2 is at least −1/8, so ‖ψ − ψ'‖² ≤ 1 + 1 + 2/8 = (3/2)².
    Rounding moves each coordinate of each row by at most half a UNIT (float error, 2⁻⁵⁰, is far below another half).
    """
    return 1.5 + 2.0 * UNIT * np.sqrt(size)


def main() -> None:
    """Release the moments of the training rows at ε = 1 and print what follows from them."""
    table = load_adult(subset="train")
    bounds = np.array(table.bounds)
    n, d = table.X.shape
    promise = dp.Guarantee(epsilon=1.0, delta=1e-6, neighbors="replace-one")

    loss = dp.calibrate(promise, dp.GaussianLoss(1.0)).losses[0]
    rows = contributions(table.X, bounds)
    size = rows.shape[1]
    law = GaussianNoise.for_query(mu=loss.mu, sensitivity=sensitivity(size), largest=n, size=size)
    released = law.add(rows.sum(axis=0) * UNIT) / (n * np.sqrt(0.5))

    # From here on nothing sees a row: the moments of y, then the data's own units.
    i, j = np.triu_indices(d)
    first = released[:d]
    second = np.zeros((d, d))
    second[i, j] = second[j, i] = released[d:] / np.where(i == j, 1.0, np.sqrt(2.0))
    eigenvalues, vectors = np.linalg.eigh(second - np.outer(first, first))
    unit = (bounds[:, 1] - bounds[:, 0]) / 2 * np.sqrt(d)
    mean = bounds.mean(axis=1) + first * unit
    covariance = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T * np.outer(unit, unit)
    deviation = np.sqrt(np.diag(covariance))
    interval = law.half_width(0.95) / (n * np.sqrt(0.5)) * unit

    print(f"UCI Adult, {n} rows, {d} columns: mean and covariance as one release of {size} noisy numbers\n")
    print(f"{'column':16}{'private mean':>14}{'± noise 95%':>14}{'exact mean':>13}{'private sd':>13}{'exact sd':>11}")
    for k, name in enumerate(table.columns):
        exact = table.X[:, k]
        print(f"{name:16}{mean[k]:14.2f}{interval[k]:14.2f}{exact.mean():13.2f}{deviation[k]:13.2f}{exact.std():11.2f}")
    print("\nThe exact columns are shown because this table is public; they are no part of the release.")
    print(f"\nGuarantee: {promise}. {promise.in_words()}")
    print(
        f"Noise: Gaussian, σ = {law.scale:.4f} on sums of sensitivity {sensitivity(size):.4f}, "
        f"drawn exactly on a grid of σ/2^{law.fineness}."
    )
    print("No ledger yet: this release is not recorded anywhere.")


if __name__ == "__main__":
    main()
