"""Classifiers of Gaussian classes, private and not, and their error rates on new rows.

The paper's method is completed by what the paper leaves out: counts of classes are private too, bounds come from the
distribution and not from the rows, and counts, means and covariances each have a third of ε. As ``printed`` its
covariances have the sensitivity that the paper proves, three times the exact one (its theorem 3.7); as ``xi2011`` the
exact one. Neighbours are add-remove, so that classes compose in parallel; ours spends a δ of 1e-5, the paper's none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.datasets.truth import TrueMixture
from discreet.door import Curator
from discreet.guarantees import Guarantee, LaplaceLoss, Loss
from discreet.models.classes.class_estimates import ClassGaussians
from discreet.models.classes.xi_classes import XiClasses
from discreet.models.method import Method
from discreet.queries.moments.components import Components

__all__ = [
    "DELTA",
    "PrintedClassifier",
    "Rows",
    "box_of",
    "drawn_from",
    "errors_of",
    "law_of",
    "plug_in_error",
    "private_error",
]

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]

DELTA = 1e-5
DEVIATIONS = 4.0  # about the range of the rows; the paper takes that range itself, which is not private
METHODS = ("adaptive", "joint", "printed", "xi2011")


@dataclass(frozen=True)
class _PrintedClasses(XiClasses):
    """``XiClasses`` with the paper's bound: a third of the budget for the covariances gives three times the noise."""

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return pure losses, together below ε."""
        counts, sums, scatters = super().losses(guarantee)
        return counts, sums, LaplaceLoss(scatters.pure / 3.0, guarantee.neighbors)


class PrintedClassifier(dp.GaussianClassifier):
    """``GaussianClassifier(method="xi2011")`` with the sensitivity that the paper proves."""

    def _method(self, curator: Curator, count: int) -> Method[ClassGaussians]:
        return _PrintedClasses(count)


def law_of(X: NDArray[np.float64], y: NDArray[np.int64]) -> TrueMixture:
    """Return shares, means and covariances of two classes, which are the rule without privacy."""
    groups = [X[y == k] for k in (0, 1)]
    return TrueMixture(
        np.array([len(rows) for rows in groups]) / len(y),
        np.array([rows.mean(axis=0) for rows in groups]),
        np.array([np.cov(rows.T, bias=True) for rows in groups]),
    )


def drawn_from(law: TrueMixture, n: int, seed: int) -> Rows:
    """Return rows of a mixture, and the class of each."""
    X, y = Components(*law).sample(n, np.random.default_rng(seed))
    return X, y


def box_of(law: TrueMixture) -> dp.Box:
    """Return bounds of four standard deviations around the means of both classes."""
    reach = DEVIATIONS * np.sqrt(law.covariances.diagonal(axis1=1, axis2=2))
    return dp.Box((law.means - reach).min(axis=0), (law.means + reach).max(axis=0))


def plug_in_error(law: TrueMixture, test: Rows) -> float:
    """Return the error rate of Bayes' rule with estimated parameters."""
    X, y = test
    return float(np.mean(Components(*law).log_joint(X).argmax(axis=1) != y))


def private_error(method: str, epsilon: float, box: dp.Box, train: Rows, test: Rows, seed: int) -> float:
    """Return the error rate of a private classifier. Rows are synthetic, so the noise may be seeded."""
    kind, way = (PrintedClassifier, "xi2011") if method == "printed" else (dp.GaussianClassifier, method)
    model = kind(
        epsilon=epsilon, delta=DELTA, bounds=box, classes=[0, 1], method=way, neighbors="add-remove", random_state=seed
    )
    return float(1.0 - model.fit(*train).score(*test))


def errors_of(epsilon: float, box: dp.Box, train: Rows, test: Rows, seed: int) -> dict[str, float]:
    """Return the errors without privacy, of ours in two ways, and of the paper's with both sensitivities."""
    found = {method: private_error(method, epsilon, box, train, test, seed) for method in METHODS}
    return {"none": plug_in_error(law_of(*train), test), **found}
