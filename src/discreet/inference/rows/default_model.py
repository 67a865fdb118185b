"""Models for what the library fits itself: what a fitted estimator or an answer needs, so that nothing is configured.

A ``Built`` has a NumPyro model of one row in the data's own units, parameters to start from, and a way from draws of
its parameters to what is reported. Priors are weak and relative to the declared space: centres may be anywhere in it,
standard deviations orders of magnitude below it, correlations uniform over all matrices. They are functions of public
declarations, never of releases. Sites of parameters begin with ``θ.``, so that none has the name of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Built"]

Array = NDArray[np.float64]
Rows = Mapping[str, Any]
Draws = Mapping[str, Array]  # by name, of shape (chains, draws, …)


def _as_they_are(draws: Draws) -> dict[str, Array]:
    return dict(draws)


@dataclass(frozen=True, eq=False)
class Built:
    """A model without configuration.

    Attributes
    ----------
    model : callable
        A NumPyro model of one row (``row_model``). The same object for the same form, so that it is compiled once.
    start : mapping or None
        A value for each of its parameters, to search from.
    report : callable
        From draws of parameters and deterministic sites, of shape (chains, draws, …), to what is reported.
    dims : mapping
        For what is reported the names of its axes after chain and draw.
    coords : mapping
        For axes the names along them.
    features, expectations : callable, optional
        Functions of rows whose expectations have a closed form, and these, from the parameters by their names.
    predict_proba : callable, optional
        For a classifier: from what is reported, at one draw, and rows to the probability of each class.
    predict : callable, optional
        For a regression: from what is reported, at one draw, and rows to what is expected of the target.
    labels : tuple
        What the codes of the column of categories stand for, in their order. (Reports have classes sorted.)
    """

    model: Callable[[], Any]
    start: Mapping[str, Any] | None
    report: Callable[[Draws], dict[str, Array]] = _as_they_are
    dims: Mapping[str, Sequence[str]] = field(default_factory=dict)
    coords: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    features: Callable[[Rows], Array] | None = None
    expectations: Callable[[Mapping[str, Any]], Any] | None = None
    predict_proba: Callable[[Mapping[str, Array], Array], Array] | None = None
    predict: Callable[[Mapping[str, Array], Array], Array] | None = None
    labels: tuple[Any, ...] = ()
