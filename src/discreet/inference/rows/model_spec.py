"""``ModelSpec``: a NumPyro model of one row, where its search starts, and how draws of its parameters are reported.

The library has one for each estimator and answer that it knows (``default_models``), so that nothing is configured.
Rows are in the data's own units. Priors are weak and relative to the declared space: centres may be anywhere in it,
standard deviations may be orders of magnitude below it, and correlations are uniform over all matrices. They are
functions of public declarations, never of releases. Sites of parameters begin with ``θ.``, so that none has the name of
a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = Mapping[str, Any]
Draws = Mapping[str, Array]  # by name, of shape (chains, draws, …)


@dataclass(frozen=True, eq=False)
class ModelSpec:
    """A model of one row, with a start and a report.

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
    start: Mapping[str, Any] | None = None
    report: Callable[[Draws], dict[str, Array]] = dict
    dims: Mapping[str, Sequence[str]] = field(default_factory=dict)
    coords: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    features: Callable[[Rows], Array] | None = None
    expectations: Callable[[Mapping[str, Any]], Any] | None = None
    predict_proba: Callable[[Mapping[str, Array], Array], Array] | None = None
    predict: Callable[[Mapping[str, Array], Array], Array] | None = None
    labels: tuple[Any, ...] = ()
