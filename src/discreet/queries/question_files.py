"""Questions in files: writes them, and reads those that earlier versions wrote.

A question is an immutable value of public numbers, so it can be serialized completely: the name of its kind and its
fields, nested. ``describe`` does this for questions of this library. A user's own question, or one that contains a
function, is not described, since a file cannot restore it. A description contains copies of arrays; ``as_plain``
converts them to plain values for JSON. ``read_question`` reads a description of either form. It only creates classes of
one table, from the fields in the description, and each class checks its arguments as usual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.queries.question import Question

# Where each kind is defined. A file contains the name on the right, which stays the same when a class moves;
# "name=Class" where the class has been renamed.
PLACES = {
    name: (module, kind or name)
    for module, names in {
        "discreet.guarantees.guarantee": "Neighbors",
        "discreet.models.mixture.adaptive_model": "AdaptiveMixture Pool",
        "discreet.models.mixture.joint_release": "JointMixture",
        "discreet.models.mixture.one_gaussian": "OneGaussian",
        "discreet.models.mixture.own_coordinates": "Clipping Shape",
        "discreet.models.table.table_model": "TableModel TablePool",
        "discreet.queries.adaptors": "Grouped OfColumns Weighted Within",
        "discreet.queries.counts.condition_counts": "ConditionCounts",
        "discreet.queries.counts.count_queries": "Bins Chosen Count GroupModes Histogram Margins Mode",
        "discreet.queries.counts.grids": "Grid Marginals ProjectedGrid",
        "discreet.queries.counts.rounded_numbers": "RoundedNumbers",
        "discreet.queries.counts.table_counts": "CategoryCells NumberCells TableCounts",
        "discreet.queries.counts.table_queries": "Binned SideBySide",
        "discreet.queries.functions.admissible_noise": "CauchyNoise GaussianSlide LaplaceSlide StudentNoise",
        "discreet.queries.functions.median_sensitivity": "OneColumn SmoothMedian",
        "discreet.queries.functions.perturbations": "NoisyRows",
        "discreet.queries.models.log_likelihood": "LogLikelihood",
        "discreet.queries.models.model_query": "GuardedQuery ModelQuery",
        "discreet.queries.models.prediction_queries": "Confusion LinearRule ResidualSquares ScoreCells",
        "discreet.queries.moments.bernstein": "Bernstein",
        "discreet.queries.moments.class_moments": "ClassMoments ClassSums",
        "discreet.queries.moments.clipped_moments": "ClippedMoments MomentSums",
        "discreet.queries.moments.coded_moments": "CodedMoments",
        "discreet.queries.moments.components": "Components",
        "discreet.queries.moments.cosines": "Cosines",
        "discreet.queries.moments.deviations": "DeviationProducts DeviationSquares",
        "discreet.queries.moments.moments": "Moments Products Squares Sum Total",
        "discreet.queries.moments.principal_direction": "Energies Frame directions.Scatter=DirectionScatter",
        "discreet.queries.moments.scatter": "Scatter",
        "discreet.queries.moments.score_products": "ScoreProducts",
        "discreet.queries.objectives.curvatures": "MarginCurvature",
        "discreet.queries.objectives.gradients": "MarginGradient",
        "discreet.queries.objectives.labelled_rows": "Features",
        "discreet.queries.objectives.margin_losses": "HuberHinge Logistic",
        "discreet.queries.objectives.minimum": "GaussianObjective Minimum NoisyMinimum PureObjective",
        "discreet.queries.series.event_sums": "EventSums",
        "discreet.queries.series.factorization": "Blocks Tree",
        "discreet.queries.series.fourier_choice": "Kept=FourierCount",
        "discreet.queries.series.fourier_operator": "Fourier",
        "discreet.queries.series.operators": "Identity Picked PrefixSums StepsAndBlocks Toeplitz",
        "discreet.queries.series.series_sums": "ColumnSums StepSums WaveSums",
        "discreet.queries.series.stream_sums": "StreamSums",
        "discreet.records.declared.ball": "Ball",
        "discreet.records.declared.box": "Box",
        "discreet.records.declared.conditions": "And Membership Not NumberComparison Or",
    }.items()
    for name, _, kind in (one.partition("=") for one in names.split())
}
NAMES = {place: name for name, place in PLACES.items()}
# Files of earlier versions have "module:Class", with modules that no longer exist. The class is enough, except here.
BEFORE = {"discreet.models.directions:Scatter": "directions.Scatter"}
# Fields that files of earlier versions do not have, and what was meant then.
MEANT_BEFORE = {"OneGaussian": {"least_count": 0.002}}
NUMBERS = {np.dtype(code).name for code in np.typecodes["AllInteger"] + "?efd"}


class _ForeignError(Exception):
    """A value that cannot be serialized."""


def describe(question: Any) -> dict[str, Any] | None:
    """Return a question as plain values and arrays; None where it is not of this library.

    >>> from discreet import Histogram
    >>> describe(Histogram(categories=3))
    {'kind': 'Histogram', 'categories': 3, 'column': 0}
    """
    try:
        return dict(_describe(question))
    except _ForeignError:
        return None


def as_plain(description: Any) -> Any:
    """Return a description as plain values alone, for JSON.

    >>> as_plain({"kind": "Pair", "numbers": np.array([1.0, np.inf])})["numbers"]["values"]
    [1.0, {'kind': 'float', 'value': 'inf'}]
    """
    if isinstance(description, Mapping):
        return {name: as_plain(value) for name, value in description.items()}
    if isinstance(description, list):
        return [as_plain(value) for value in description]
    if not isinstance(description, np.ndarray):
        return description
    values = description.ravel().tolist()
    return {
        "kind": "array",
        "type": description.dtype.name,
        "shape": list(description.shape),
        "values": values if np.isfinite(description).all() else [_describe(value) for value in values],
    }


def read_question(description: Mapping[str, Any]) -> Question:
    """Return the question of a description.

    >>> from discreet import Box, Sum
    >>> read_question(describe(Sum(Box(0.0, 1.0)))) == Sum(Box(0.0, 1.0))
    True
    """
    try:
        question = _read(description)
    except (ArithmeticError, AttributeError, ImportError, LookupError, RecursionError, TypeError) as error:
        raise ArgumentError("asked", UNSHOWN, f"a question that this version can read ({error})") from error
    if not isinstance(question, Question):
        raise ArgumentError("asked", UNSHOWN, f"a question, got a {type(question).__name__}")
    return question


def _find_kind(name: str) -> Any:
    """Return the class of a name, also of names in files of earlier versions."""
    name = BEFORE.get(name, name.partition(":")[2] or name)
    if name not in PLACES:
        raise ArgumentError("kind", name, "one of this library")
    module, kind = PLACES[name]
    return getattr(import_module(module), kind)


def _describe(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"kind": "float", "value": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_describe(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.name in NUMBERS:
        return value.copy()
    name = NAMES.get((type(value).__module__, type(value).__qualname__))
    if name is None:
        raise _ForeignError
    if isinstance(value, Enum):
        return {"kind": name, "value": value.value}
    return {"kind": name} | {one.name: _describe(getattr(value, one.name)) for one in fields(value) if one.init}


def _read(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(_read(item) for item in plain)
    if not isinstance(plain, Mapping):
        return plain
    given = {name: value for name, value in plain.items() if name != "kind"}
    if plain["kind"] == "float":
        return float(given["value"])
    if plain["kind"] == "array":
        if given["type"] not in NUMBERS:
            raise ArgumentError("type", given["type"], "a type of numbers")
        return np.array(_read(given["values"]), dtype=given["type"]).reshape(given["shape"])
    kind = _find_kind(str(plain["kind"]))
    if issubclass(kind, Enum):
        return kind(given["value"])
    given = MEANT_BEFORE.get(kind.__name__, {}) | given
    return kind(**{str(key): _read(value) for key, value in given.items()})
