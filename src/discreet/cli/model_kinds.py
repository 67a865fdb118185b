"""The models of ``discreet fit``: the estimator and the flags of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import discreet

MODELS = """\
Models, their flags and the defaults (--steps: chosen from public numbers):
  table            --target --whole --zero
  mixture          --components 1 --covariance full --method adaptive --steps
    of categories  --components 1 --covariance full --steps --whole
  kmeans           --clusters 8 --method adaptive --steps
  factor-analysis  --components 1 --method auto
  pca              --components (all) --method auto --scale (off)
  classifier       --target --covariance full --method adaptive
  logistic         --target --method objective --steps
  svc              --target --method objective
  regression       --target --method adaptive"""  # a test compares it with the estimators


class KindName(StrEnum):
    """The name of a model in ``discreet fit``."""

    TABLE = "table"
    MIXTURE = "mixture"
    KMEANS = "kmeans"
    FACTOR_ANALYSIS = "factor-analysis"
    PCA = "pca"
    CLASSIFIER = "classifier"
    LOGISTIC = "logistic"
    SVC = "svc"
    REGRESSION = "regression"


@dataclass(frozen=True)
class ModelKind:
    """A model to fit.

    Attributes
    ----------
    estimator : str
        Its name in ``discreet``.
    flags : mapping of str to str
        Maps each flag that the model takes to a parameter of the estimator.
    targeted : bool
        Whether it predicts a column.
    categories : bool
        Whether it takes categories beside numbers.
    """

    estimator: str
    flags: Mapping[str, str]
    targeted: bool = False
    categories: bool = False

    def make(self, epsilon: float, delta: float, given: Mapping[str, Any], **more: Any) -> Any:
        """Return the estimator; raise for a flag that it does not take."""
        for flag in given:
            if flag not in self.flags:
                known = ", ".join(f"--{name}" for name in self.flags)
                raise ValueError(f"--{flag}: {self.estimator} does not take it; leave it out, or write one of {known}")
        parameters = {self.flags[flag]: value for flag, value in given.items()}
        return getattr(discreet, self.estimator)(epsilon=epsilon, delta=delta, **parameters, **more)


MIXED = ModelKind(
    "TableMixture",
    {"components": "n_components", "covariance": "covariance_type", "steps": "n_steps", "whole": "whole"},
    categories=True,
)
KINDS = {
    KindName.TABLE: ModelKind(
        "TableSynthesizer", {"target": "target", "whole": "whole", "zero": "zeros"}, categories=True
    ),
    KindName.MIXTURE: ModelKind(
        "GaussianMixture",
        {"components": "n_components", "covariance": "covariance_type", "method": "method", "steps": "n_steps"},
    ),
    KindName.KMEANS: ModelKind("KMeans", {"components": "n_clusters", "method": "method", "steps": "n_steps"}),
    KindName.FACTOR_ANALYSIS: ModelKind("FactorAnalysis", {"components": "n_components", "method": "method"}),
    KindName.PCA: ModelKind("PCA", {"components": "n_components", "method": "method", "scale": "scale_by_bounds"}),
    KindName.CLASSIFIER: ModelKind(
        "GaussianClassifier", {"covariance": "covariance_type", "method": "method"}, targeted=True
    ),
    KindName.LOGISTIC: ModelKind("LogisticRegression", {"method": "method", "steps": "max_iter"}, targeted=True),
    KindName.SVC: ModelKind("LinearSVC", {"method": "method"}, targeted=True),
    KindName.REGRESSION: ModelKind("LinearRegression", {"method": "method"}, targeted=True),
}


def model_kind(name: KindName, *, categories: bool) -> ModelKind:
    """Return the model of a name; a mixture of a table with categories has an estimator of its own."""
    return MIXED if name is KindName.MIXTURE and categories else KINDS[name]
