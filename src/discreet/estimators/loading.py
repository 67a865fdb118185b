"""``load_model``: reads a fitted estimator of any kind from its file.

The file names its kind. Only estimators of this library are made from it, each with its own checks: a file is data, and
nothing in it is executed.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from discreet.arguments import ArgumentError
from discreet.estimators.base import PrivateEstimator
from discreet.plain import read_json

KINDS = {
    "FactorAnalysis": "factor_analysis",
    "GaussianClassifier": "gaussian_classifier",
    "GaussianMixture": "gaussian_mixture",
    "KMeans": "kmeans",
    "LinearRegression": "linear_regression",
    "LinearSVC": "linear_svc",
    "LogisticRegression": "logistic_regression",
    "PCA": "pca",
    "TableMixture": "table_mixture",
    "TableSynthesizer": "table_synthesizer",
}


def load_model(path: str | os.PathLike[str]) -> PrivateEstimator:
    """Return the fitted estimator that a file holds.

    Parameters
    ----------
    path : str or path
        A file of JSON, as ``estimator.to_json()`` writes it.

    Returns
    -------
    PrivateEstimator
        Of the ``kind`` that the file names, for example a ``GaussianMixture``.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dp
    >>> ages = dp.datasets.load_adult().X[:, :1]
    >>> mixture = dp.GaussianMixture(2, epsilon=1.0, delta=1e-6, bounds=dp.Box(17, 90)).fit(ages)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = Path(folder, "model.json").write_text(mixture.to_json())
    ...     load_model(Path(folder, "model.json")).means_.shape
    (2, 1)
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError("path", path, "the name of a file")
    if isinstance(path, str) and path.lstrip().startswith("{"):
        raise ValueError(
            "path: expected the name of a file; text that to_json() gave is read by from_json(text) of its class"
        )
    place = Path(path)
    if place.exists() and not place.is_file():
        raise ValueError(f"{place.name!r}: expected a file of JSON")  # reading a device may never end
    try:
        values: Any = read_json(place.read_bytes())
    except ValueError:
        values = None
    if not isinstance(values, dict) or "kind" not in values:
        raise ValueError(
            f"{place.name!r}: expected a fitted model as JSON, as model.to_json() and discreet fit write it"
        )
    kind = values["kind"]
    if not isinstance(kind, str) or kind not in KINDS:  # the kind is not shown, since the file may be anything
        raise ValueError(f"{place.name!r}: expected a model of one of the kinds {', '.join(KINDS)}")
    estimator = getattr(import_module(f"discreet.estimators.{KINDS[kind]}"), kind)
    return cast(PrivateEstimator, estimator.from_dict(values))
