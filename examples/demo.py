"""A private mixture and a synthetic table of the bundled rows: ``make demo``.

The rows go behind a curator with declared bounds and a budget. Two fits cost all of it: a mixture, which describes the
rows by a few groups, and a synthesizer, which draws a table like theirs. Densities, synthetic rows and the picture are
post-processing of their releases and cost nothing more; a third fit is refused.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture as NonPrivate

import discreet as dp
from discreet.datasets import load_adult

COMPONENTS = 4
SHOWN = ("age", "hours-per-week")
INCOMES = ["below 50,000", "above 50,000"]

Bounds = tuple[tuple[float, float], ...]


def main(folder: Path) -> None:
    """Fit the training rows at ε = 1 in all, compare on the test rows, write synthetic rows and a picture."""
    train, test = load_adult(subset="train"), load_adult(subset="test")
    bounds = dict(zip(train.columns, train.bounds, strict=True))  # from the code book
    columns = {name: dp.Number(*ends) for name, ends in bounds.items()} | {"income": dp.Category(INCOMES)}
    people = pd.DataFrame(train.X, columns=list(train.columns)).assign(income=np.take(INCOMES, train.y))
    tested = pd.DataFrame(test.X, columns=list(test.columns))
    guarantee = dp.Guarantee(epsilon=1.0, delta=1e-6)

    with TemporaryDirectory() as safe:
        ledger = f"{safe}/budget.db"
        curator = dp.Curator(people, schema=dp.Schema(columns), name="adult", ledger=ledger, budget=guarantee)
        mixture = dp.GaussianMixture(COMPONENTS, epsilon=0.7, delta=1e-6).fit(curator.only(list(train.columns)))
        print(
            f"UCI Adult, {len(train.X):,} rows: {COMPONENTS} Gaussians from {len(mixture.releases_)} noisy releases\n"
        )
        print(f"{'component':<16}" + "".join(f"{k + 1:>12}" for k in range(COMPONENTS)))
        print(f"{'weight':<16}" + "".join(f"{weight:12.3f}" for weight in mixture.weights_))
        for j, column in enumerate(train.columns):
            print(f"{column:<16}" + "".join(f"{mean:12.1f}" for mean in mixture.means_[:, j]))

        scale = np.array([high - low for low, high in train.bounds])
        exact = NonPrivate(COMPONENTS, reg_covar=1e-6, random_state=0).fit(train.X / scale)
        usual = exact.score(test.X / scale) - np.log(scale).sum()
        print("\nMean log-likelihood of a test row (these rows are public, so it may be shown):")
        print(f"  private {mixture.score(tested):.2f}, without privacy {usual:.2f}")
        print(f"\nGuarantee of the mixture: {mixture.guarantee_}")
        print(f"Left of the budget: {curator.ledger.remaining('adult')}")

        synth = dp.TableSynthesizer(epsilon=0.67, delta=1e-6, whole=list(train.columns)).fit(curator)
        rows = synth.sample(len(people))
        print(f"\nA synthetic table from {len(synth.releases_)} noisy releases: {len(rows):,} rows")
        compare(people, rows, tested.assign(income=np.take(INCOMES, test.y)), train.bounds)
        print("\n" + textwrap.fill(f"Guarantee of everything: {guarantee}. {guarantee.in_words()}", 100))
        try:
            dp.GaussianMixture(COMPONENTS, epsilon=0.1).fit(curator.only(list(train.columns)))
        except dp.BudgetExceeded:
            print("One more fit: refused, the budget is spent")

    folder.mkdir(parents=True, exist_ok=True)
    table, picture = folder / "adult-synthetic.csv", folder / "adult-mixture.png"
    rows.to_csv(table, index=False)
    draw(mixture, rows[list(train.columns)].to_numpy(), [train.columns.index(name) for name in SHOWN], picture)
    print(f"Synthetic rows: {table}\nPicture:        {picture}")


def compare(real: pd.DataFrame, synthetic: pd.DataFrame, test: pd.DataFrame, bounds: Bounds) -> None:
    """Print relations of both tables, and what classifiers trained on them say of the test rows."""
    print(f"{'':<46}{'synthetic':>12}{'real':>12}")
    for name in ("age", "education-num", "hours-per-week"):
        means = [frame.groupby("income")[name].mean() for frame in (synthetic, real)]
        apart = [mean[INCOMES[1]] - mean[INCOMES[0]] for mean in means]
        print(f"{f'mean {name}, above less below 50,000':<46}{apart[0]:12.1f}{apart[1]:12.1f}")
    width = np.array([high - low for low, high in bounds])
    right = []
    for frame in (synthetic, real):
        model = LogisticRegression(max_iter=1000).fit(frame.drop(columns="income") / width, frame["income"])
        right.append(model.score(test.drop(columns="income") / width, test["income"]))
    print(f"{'test rows whose income a classifier predicts':<46}{right[0]:12.1%}{right[1]:12.1%}")


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
    axis.set(xlabel=SHOWN[0], ylabel=SHOWN[1], title="UCI Adult: a synthetic table, and the components of a mixture")
    axis.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build/demo"))
