"""A private mixture of the bundled table: ``make demo``.

The rows go behind a curator with declared bounds and a budget. One fit costs all of it. Densities, predictions,
synthetic rows and the plot are post-processing of its releases and cost nothing more; a second fit is refused.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import numpy as np
from sklearn.mixture import GaussianMixture as NonPrivate

import discreet as dp
from discreet.datasets import load_adult

COMPONENTS = 4
SHOWN = ("age", "hours-per-week")


def main(folder: Path) -> None:
    """Fit the training rows at ε = 1, compare on the test rows, write synthetic rows and a picture."""
    train, test = load_adult(subset="train"), load_adult(subset="test")
    low, high = zip(*train.bounds, strict=True)  # from the code book
    box = dp.Box(low, high)
    guarantee = dp.Guarantee(epsilon=1.0, delta=1e-6)

    with TemporaryDirectory() as safe:
        curator = dp.Curator(train.X, space=box, name="adult", ledger=f"{safe}/budget.db", budget=guarantee)
        mixture = dp.GaussianMixture(COMPONENTS, epsilon=1.0, delta=1e-6).fit(curator)
        print(
            f"UCI Adult, {len(train.X):,} rows: {COMPONENTS} Gaussians from {len(mixture.releases_)} noisy releases\n"
        )
        print(f"{'component':<16}" + "".join(f"{k + 1:>12}" for k in range(COMPONENTS)))
        print(f"{'weight':<16}" + "".join(f"{weight:12.3f}" for weight in mixture.weights_))
        for j, column in enumerate(train.columns):
            print(f"{column:<16}" + "".join(f"{mean:12.1f}" for mean in mixture.means_[:, j]))

        scale = np.array(curator.space.scale)
        exact = NonPrivate(COMPONENTS, reg_covar=1e-6, random_state=0).fit(train.X / scale)
        usual = exact.score(test.X / scale) - np.log(scale).sum()
        print("\nMean log-likelihood of a test row (these rows are public, so it may be shown):")
        print(f"  private {mixture.score(test.X):.2f}, without privacy {usual:.2f}")
        print("\n" + textwrap.fill(f"Guarantee: {mixture.guarantee_}. {mixture.guarantee_.in_words()}", 100))
        print(f"Left of the budget: {curator.ledger.remaining('adult')}")
        try:
            dp.GaussianMixture(COMPONENTS, epsilon=0.1).fit(curator)
        except dp.BudgetExceeded:
            print("One more fit: refused, the budget is spent")

    rows = curator.space.clip(mixture.sample(10_000)[0])
    folder.mkdir(parents=True, exist_ok=True)
    table, picture = folder / "adult-synthetic.csv", folder / "adult-mixture.png"
    np.savetxt(table, rows, fmt="%.2f", delimiter=",", header=",".join(train.columns), comments="")
    draw(mixture, rows, [train.columns.index(name) for name in SHOWN], picture)
    print(f"Synthetic rows: {table}\nPicture:        {picture}")


def draw(mixture: dp.GaussianMixture, rows: np.ndarray, columns: list[int], path: Path) -> None:
    """Draw synthetic rows with the components' ellipses of one and two standard deviations."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
    axis.scatter(*rows[:3000, columns].T, s=4, color="0.7", label="synthetic rows")
    circle = np.array([np.cos(angles := np.linspace(0.0, 2.0 * np.pi, 200)), np.sin(angles)])
    for k, (weight, mean, covariance) in enumerate(
        zip(mixture.weights_, mixture.means_, mixture.covariances_, strict=True)
    ):
        factor = np.linalg.cholesky(covariance[np.ix_(columns, columns)])
        for size in (1.0, 2.0):
            around = mean[columns][:, None] + size * factor @ circle
            axis.plot(*around, color=f"C{k}", label=f"component {k + 1}: {weight:.0%}" if size == 1.0 else None)
    axis.set(xlabel=SHOWN[0], ylabel=SHOWN[1], title=f"UCI Adult, a private mixture at {mixture.guarantee_}")
    axis.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build/demo"))
