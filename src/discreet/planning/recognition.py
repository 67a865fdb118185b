"""Choose the formula for a name, a function of ``discreet.statistics`` or an estimator, and check its numbers.

Functions are recognized by their ``__name__``, estimators by the name of their class, and their parameters are read
from their attributes. So this module imports neither room.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.arguments import ArgumentError, choice, integer, nonnegative, positive, probability, suggest_name
from discreet.guarantees.caution import MILD
from discreet.guarantees.loss import MOST
from discreet.planning.formula import CellsFormula, CountFormula, Formula
from discreet.planning.mixture_formula import SHAPES, MixtureFormula
from discreet.planning.moment_formulas import AxesFormula, CovarianceFormula, MeanFormula, VarianceFormula
from discreet.planning.quantile_formulas import InterquartileRangeFormula, QuantileFormula
from discreet.records import Ball, Box, space_of

NAMES = (
    "mean",
    "variance",
    "covariance",
    "median",
    "quantile",
    "interquartile_range",
    "histogram",
    "count",
    "pca",
    "gaussian-mixture",
)
CLASSES = {"GaussianMixture": "gaussian-mixture", "PCA": "pca"}
DEFAULT_DELTA = 1e-6
UNGROUPED = ("pca", "gaussian-mixture")
UNWEIGHTED = (*UNGROUPED, "count", "histogram")
SINGLE = ("median", *(one.name for one in (QuantileFormula, InterquartileRangeFormula, CellsFormula, CountFormula)))


@dataclass(frozen=True)
class PlannedQuestion:
    """The name of a formula, and the estimator where one was given."""

    name: str
    estimator: Any = None

    def get(self, attribute: str) -> Any:
        """Return a parameter of the estimator; None where there is no estimator."""
        return getattr(self.estimator, attribute, None)

    @property
    def space(self) -> Box | Ball | None:
        """The bounds that the estimator was given."""
        bounds = self.get("bounds")
        return None if bounds is None else space_of(bounds)


def recognize(what: Any) -> PlannedQuestion:
    """Return the formula's name for a name, a function, an estimator or its class.

    >>> recognize("mean")
    PlannedQuestion(name='mean', estimator=None)
    >>> recognize("mode")
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: what='mode': expected one of 'mean', ..., or a function or estimator ...
    """
    if isinstance(what, str):
        name, estimator = what.replace("_", "-").lower(), None
        name = name if name in NAMES else name.replace("-", "_")
    elif isinstance(what, type):
        name, estimator = CLASSES.get(what.__name__, ""), None
    elif callable(what) and hasattr(what, "__name__"):
        name, estimator = what.__name__, None
    else:
        name, estimator = CLASSES.get(type(what).__name__, ""), what
    if name in NAMES:
        return PlannedQuestion(name, estimator)
    raise ArgumentError(
        "what",
        what,
        f"one of {', '.join(map(repr, NAMES))}, or a function or estimator of that kind; the error of others is not "
        f"predicted{suggest_name(what, NAMES)}",
    )


def formula_for(
    question: PlannedQuestion,
    n: int,
    d: int | None,
    *,
    sampling: bool,
    width: float | None,
    spread: float | None,
    offset: float,
    counted: bool,
    q: float | None,
    density: float | None,
    share: float,
    cells: int,
    n_components: int | None,
    gap: float | None,
    max_rows: int | None,
    groups: int | None,
    group_share: float | None,
    weights: float | None,
    in_budget: bool,
) -> Formula:
    """Return the formula with all its numbers checked."""
    name = question.name
    for flag, value in (("sampling", sampling), ("counted", counted), ("in_budget", in_budget)):
        if not isinstance(value, bool):
            raise ArgumentError(flag, value, "True or False")
    n, d = integer("n", n, least=1, most=MOST), _columns(question, d)
    if d > 1 and name in SINGLE:
        raise ArgumentError("d", d, f"None or 1, since what={name!r} is for a single column")
    wide = _width(question, d, width)
    std = wide / math.sqrt(12.0) if spread is None else positive("spread", spread)
    if nonnegative("offset", offset) > wide / 2.0:
        raise ArgumentError("offset", offset, f"a mean within the bounds, at most {wide / 2.0:g} off the middle")
    rows: dict[str, Any] = {"n": n, "d": d, "sampling": sampling, "in_budget": in_budget}
    rows["max_rows"] = 1 if max_rows is None else integer("max_rows", max_rows, least=1, most=MOST)
    rows |= _check_parts(name, groups, group_share, weights)
    bounded = rows | {"width": wide, "spread": std, "offset": float(offset), "counted": counted}
    columns: dict[str, type[MeanFormula | VarianceFormula | CovarianceFormula]] = {
        one.name: one for one in (MeanFormula, VarianceFormula, CovarianceFormula)
    }
    if name in columns:
        return columns[name](**bounded)
    if name == "pca":
        count = _components(question, n_components)
        integer("n_components", count, least=1, most=max(d - 1, 1))
        if gap is None:
            raise ArgumentError(
                "gap",
                None,
                "by how much the variance along the last axis exceeds the next, in squared units",
                write="for example gap=0.05",
            )
        return AxesFormula(**bounded, gap=positive("gap", gap), components=count)
    if name == "gaussian-mixture":
        shape = choice("covariance_type", question.get("covariance_type") or "full", SHAPES)
        return MixtureFormula(**rows, components=_components(question, n_components), shape=shape)
    if name == "count":
        return CountFormula(**rows)
    if name == "histogram":
        return CellsFormula(**rows, cells=integer("cells", cells, least=2, most=MOST))
    dense = 1.0 / wide if density is None else positive("density", density)
    if positive("share", share) > 1.0:
        raise ArgumentError("share", share, "a share of ε, above 0 and at most 1")
    drawn = rows | {"density": dense, "share": float(share), "width": wide}
    if name == "interquartile_range":
        return InterquartileRangeFormula(**drawn)
    return QuantileFormula(**drawn, q=_quantile(name, q))


def _check_parts(name: str, groups: int | None, group_share: float | None, weights: float | None) -> dict[str, Any]:
    """Return the groups and weights of a formula, checked."""
    if (groups is not None or group_share is not None) and name in UNGROUPED:
        raise ArgumentError("groups", groups, f"None, since what={name!r} takes no groups")
    if weights is not None and name in UNWEIGHTED:
        raise ArgumentError("weights", weights, f"None, since what={name!r} takes no weights")
    if groups is None and group_share is not None:
        raise ArgumentError("groups", None, "how many groups there are, where one has a share", write="groups=2")
    number = 1 if groups is None else integer("groups", groups, least=1, most=MOST)
    share = 1.0 / number if group_share is None else positive("group_share", group_share)
    weight = None if weights is None else positive("weights", weights)
    for argument, value in (("group_share", share), ("weights", weight)):
        if value is not None and value > 1.0:
            raise ArgumentError(argument, value, "a number above 0 and at most 1")
    return {"groups": number, "group_share": share, "weight": weight}


def _quantile(name: str, q: float | None) -> float:
    accepted = "a number in (0, 1)"
    if name == "median":
        if q is not None and q != 0.5:
            raise ArgumentError("q", q, "None for the median", write="'quantile' for another one")
        return 0.5
    chosen = probability("q", 0.5 if q is None else q, accepted=accepted)
    if chosen == 0.0:
        raise ArgumentError("q", q, accepted)
    return chosen


def _components(question: PlannedQuestion, given: int | None) -> int:
    chosen = question.get("n_components") if given is None else given
    return integer("n_components", 1 if chosen is None else chosen, least=1)


def _columns(question: PlannedQuestion, d: int | None) -> int:
    space = question.space
    declared = None if space is None else space.columns
    if d is None:
        return 1 if declared is None else declared
    if declared not in (None, d):
        raise ArgumentError("d", d, f"{declared}, the number of columns of the estimator's bounds")
    return integer("d", d, least=1, most=MOST)


def _width(question: PlannedQuestion, d: int, width: float | None) -> float:
    """Return the width of the cube with the same circumscribed ball as the bounds; 1 where there are no bounds."""
    if width is not None:
        return positive("width", width)
    space = question.space
    if space is None:
        return 1.0
    around = space.for_columns(d).around
    assert isinstance(around, Ball)
    return 2.0 * float(around.radius) / math.sqrt(d)


def delta_for(question: PlannedQuestion, formula: Formula, delta: float | None) -> float:
    """Return δ: as given, as the estimator says, or the default one."""
    chosen = question.get("delta") if delta is None else delta
    if chosen is None:
        chosen = min(DEFAULT_DELTA, MILD / formula.n) if formula.needs_delta else 0.0
    checked = probability("delta", chosen)
    if formula.needs_delta and not checked:
        raise ArgumentError("delta", chosen, f"one above 0, as {question.name} takes Gaussian noise")
    if formula.spends_no_delta and checked:
        raise ArgumentError("delta", chosen, f"None or 0, as what={question.name!r} spends no δ")
    return checked
