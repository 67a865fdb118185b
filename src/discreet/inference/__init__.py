"""Posteriors over the parameters of a model, from releases and fitted estimators.

Where to look: ``infer`` is the entry point, ``measurements`` reads the releases, ``posterior`` is the result, and
``default_models`` has the models of the library's own estimators and answers. ``rows`` has models of one row, ``clt``
the central-limit likelihood and its sampler, ``augmented`` the exact posterior for few rows, and ``factored``
posteriors from draws of ``FactoredExponential``. ``table_posterior`` has synthetic tables that know their uncertainty,
``quantiles``, ``proportion_posterior`` and ``series`` what follows from no model of one row with a few parameters.
``evolution`` has chains that learn from one another.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``noise``, ``records``,
``scales``, ``queries``, ``door``, ``mechanisms``, ``models``, ``plots``, ``statistics``, ``signals``, ``estimators``.

A release is a measurement with noise of a known distribution, so a model of the rows has a likelihood given the
releases alone. This room guarantees that its posteriors account for the noise and for the sampling of the rows, jointly
over all releases of a data set. It reads no row and spends no budget.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.inference.infer import infer
    from discreet.inference.posterior import InferenceWarning, Posterior
    from discreet.inference.table_posterior import TablePosterior

__all__ = ["InferenceWarning", "Posterior", "TablePosterior", "infer"]

if any(find_spec(name) is None for name in ("numpyro", "arviz_base", "arviz_stats", "xarray_einstats")):
    raise ImportError("discreet.inference: expected NumPyro and ArviZ; write pip install 'discreet[bayes]'")

_LATER = {
    "InferenceWarning": "posterior",
    "Posterior": "posterior",
    "infer": "infer",
    "TablePosterior": "table_posterior",
}
_MODULES = ("direction_posterior", "factored_bounds", "factored_posterior")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"discreet.inference.factored.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'discreet.inference' has no attribute {name!r}")
    return getattr(import_module(f"discreet.inference.{_LATER[name]}"), name)
