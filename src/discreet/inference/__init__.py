"""Posteriors over releases and fitted estimators.

What left the data is a measurement with a known law, so a model of the rows has a likelihood given the releases alone.
This room promises that its posteriors account for the noise and for the sampling of the rows, jointly over all releases
of a data set; it looks at no row and spends nothing. It may import everything above it, NumPyro and ArviZ (the extra
``bayes``).

Where to look: ``infer`` for the front; ``measurements`` and ``row_model`` for what comes in; ``local``, ``reference``,
``likelihood`` and ``moving_rows`` for the central-limit likelihood; ``sampling`` and ``posterior`` for draws and what
is read off them; ``built_for`` for the models of what the library fits itself; ``augmentation`` for few rows, exactly;
``factored_bounds``, ``factored_posterior`` and ``direction_posterior`` for draws of ``FactoredExponential``.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.inference.infer import infer
    from discreet.inference.posterior import InferenceWarning, Posterior

__all__ = ["InferenceWarning", "Posterior", "infer"]

if any(find_spec(name) is None for name in ("numpyro", "arviz_base", "arviz_stats", "xarray_einstats")):
    raise ImportError("discreet.inference: expected NumPyro and ArviZ; write pip install 'discreet[bayes]'")

_LATER = {"InferenceWarning": "posterior", "Posterior": "posterior", "infer": "infer"}
_ROOMS = ("direction_posterior", "factored_bounds", "factored_posterior")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"discreet.inference.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'discreet.inference' has no attribute {name!r}")
    return getattr(import_module(f"discreet.inference.{_LATER[name]}"), name)
