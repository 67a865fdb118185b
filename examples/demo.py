"""A private mean and covariance of the bundled table: ``make demo``.

The rows go behind the door with declared bounds and a budget. One release of their first and second moments costs all
of it; the mean and the covariance are then free to compute, and nothing more comes out.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

import numpy as np

import discreet as dp
from discreet.datasets import load_adult


def main() -> None:
    """Release the moments of the training rows at ε = 1 and print what follows from them."""
    table = load_adult(subset="train")
    n, d = table.X.shape
    low, high = zip(*table.bounds, strict=True)
    promise = dp.Guarantee(epsilon=1.0, delta=1e-6, neighbors="replace-one")

    with TemporaryDirectory() as folder:
        curator = dp.Curator(
            table.X, space=dp.Box(low, high), name="adult", ledger=f"{folder}/budget.db", budget=promise
        )
        loss = dp.calibrate(promise, dp.GaussianLoss(1.0)).losses[0]
        query = dp.Moments(curator.space, weights=(0.0, 0.5, 0.5))
        release = curator.measure(query, loss)

        # From here on nothing sees a row: the moments in the unit ball, then in the data's own units.
        first, second = release["first"] / n, release["second"] / n
        eigenvalues, vectors = np.linalg.eigh(second - np.outer(first, first))
        scale = np.array(curator.space.scale)
        mean = curator.space.from_unit(first)
        covariance = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T * np.outer(scale, scale)
        deviation = np.sqrt(np.diag(covariance))
        low, high = release.interval(0.95, "first")
        noise = (high - low) / 2 / n * scale

        print(f"UCI Adult, {n} rows, {d} columns: mean and covariance from one release of {query.size} noisy numbers\n")
        print(
            f"{'column':16}{'private mean':>14}{'± noise 95%':>14}{'exact mean':>13}{'private sd':>13}{'exact sd':>11}"
        )
        for k, name in enumerate(table.columns):
            exact = table.X[:, k]
            print(
                f"{name:16}{mean[k]:14.2f}{noise[k]:14.2f}{exact.mean():13.2f}{deviation[k]:13.2f}{exact.std():11.2f}"
            )
        print("\nThe exact columns are shown because this table is public; they are no part of the release.")
        print(f"\nGuarantee: {promise}. {promise.in_words()}")
        print(f"Release:   {release}")
        print(f"Left:      {curator.ledger.remaining('adult')}")
        try:
            curator.measure(query, loss)
        except dp.BudgetExceeded as refusal:
            print(f"Once more: {refusal}")


if __name__ == "__main__":
    main()
