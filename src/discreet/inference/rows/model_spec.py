"""``ModelSpec``: a NumPyro model of one row, the start of its search, and how draws of its parameters are reported.

The library builds one for each estimator and answer that has a default model (``default_models``). Rows are in the
data's own units. Priors are weak and relative to the declared space: means may be anywhere in it, standard deviations
may be orders of magnitude smaller, and correlations are uniform over all matrices. Priors are functions of public
declarations, never of releases. Sites of parameters begin with ``θ.``, so that none has the name of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.rows.layout import Rows

Array = NDArray[np.float64]
Draws = Mapping[str, Array]  # by name, of shape (chains, draws, …)


@dataclass(frozen=True, eq=False)
class ModelSpec:
    """A model of one row, with a starting point and a report.

    Attributes
    ----------
    model : callable
        A NumPyro model of one row (``row_model``). Specs of the same form share the object, so that it is compiled
        once.
    start : mapping or None
        A value for each of its parameters, to start the search from.
    report : callable
        From draws of parameters and deterministic sites, of shape (chains, draws, …), to reported quantities.
    dims : mapping
        For each reported quantity the names of its axes after chain and draw.
    coords : mapping
        For each axis the names along it.
    features, expectations : callable, optional
        Functions of rows whose expectations have a closed form, and these expectations, from the parameters by name.
    predict_proba : callable, optional
        For a classifier: from one draw of the reported quantities, and rows, to the probability of each class.
    predict : callable, optional
        For a regression: from one draw of the reported quantities, and rows, to the expected target.
    labels : tuple
        The label of each code of the column of categories. (Reports have classes sorted.)
    remarks : callable
        From the reported quantities to sentences about what the releases leave open.
    own : bool
        Whether a user wrote the model.
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
    remarks: Callable[[Mapping[str, Array]], list[str]] = lambda reported: []
    own: bool = False
