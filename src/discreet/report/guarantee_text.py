"""The section of a report about the guarantee: its meaning, what it protects, the declarations, and cautions."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import Any

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Release
from discreet.door.release import describe_rows_of_releases
from discreet.estimators.fitted_columns import all_declared_bounds, declared_bounds, numeric_columns
from discreet.guarantees import Guarantee, Neighbors, compose
from discreet.guarantees.caution import PlanningWarning
from discreet.planning import explain
from discreet.plots import Facts
from discreet.plots.plot import format_number

MOST_ROWS = 100  # rows in the table of columns
ROUNDED = 1e-6  # relative error allowed in a recomputed δ
FROM_LOSSES = (
    "These bounds follow from the composed losses of all releases. (ε, δ) is one point of their privacy curve, and "
    "would give weaker bounds by itself."
)
FROM_POINT = "These bounds follow from (ε, δ) alone."


def refuse_simulated(model: Any) -> None:
    """Raise where noise came from a seed: anyone who knows the seed can subtract the noise, so nothing is protected."""
    if any(release.provenance == "simulated" for release in model.releases_):
        raise ArgumentError(
            "model",
            UNSHOWN,
            "one with measured releases; the noise of this one came from a seed (random_state) or was made by hand, "
            "so it is not private and has no report; fit it again without random_state",
        )


def unit_of(model: Any) -> str:
    """Return the protected unit as a noun."""
    return str(model.unit_).removeprefix("each ")


def headline(guarantee: Guarantee | None) -> str:
    """Return the guarantee as a short text."""
    return "no proof of privacy" if guarantee is None else str(guarantee)


def explain_guarantee(model: Any) -> list[str]:
    """Return the meaning of the guarantee as sentences, the shortest first."""
    guarantee = model.guarantee_
    if guarantee is None:
        return []
    about: dict[str, Any] = {"n": _units(model), "unit": unit_of(model)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningWarning)  # the caution is among the sentences
        if _losses_are_known(model):
            explanation = explain(model.losses_, delta=guarantee.delta, **about)
        else:
            explanation = explain(guarantee, **about)
    lines = str(explanation).replace(" %", "\N{NO-BREAK SPACE}%").splitlines()[2:]
    return [*lines, FROM_LOSSES if explanation.whole_curve else FROM_POINT]


def _losses_are_known(model: Any) -> bool:
    """Return whether the losses cover all releases and imply the guarantee, so that their whole curve can be used."""
    guarantee, losses = model.guarantee_, Counter(model.losses_)
    covered = Counter(release.loss for release in model.releases_) <= losses
    if not covered or any(loss.neighbors is not guarantee.neighbors for loss in losses):
        return False
    return bool(compose(losses).delta(guarantee.epsilon) <= guarantee.delta * (1.0 + ROUNDED))


def _units(model: Any) -> int | None:
    return model.releases_[0].size.units or None


def relation(model: Any) -> list[tuple[str, str]]:
    """Return the assumptions of the guarantee, as pairs of term and text."""
    release, unit = model.releases_[0], unit_of(model)
    neighbors, units = release.neighbors, _units(model)
    terms = [
        ("Protected unit", f"one {unit}"),
        ("Neighbouring data", f"{neighbors}: the guarantee compares the data with what they would be "
         f"{neighbors.in_words(unit)}"),
    ]  # fmt: skip
    if neighbors is Neighbors.REPLACE_ONE and units is not None:
        terms.append(("Public size", f"{units:,} rows" if unit == "row" else f"{units:,}: each {unit} counts once"))
    else:
        terms.append(("Public size", "none: how many there are is private"))
    rows = describe_rows_of_releases(model.releases_)
    if rows is not None:
        terms.append(("Fitted to", rows))
    terms.append(("Data set", release.dataset or "not named"))
    return terms


def declared(model: Any) -> Facts:
    """Return the declared columns: bounds of the numbers, values of the categories."""
    declaration = model.releases_[0].declared
    rows = [
        [name, "number", f"from {format_number(low, 6)} to {format_number(high, 6)}"]
        for name, (low, high) in zip(numeric_columns(model), declared_bounds(model), strict=True)
    ]
    rows += [
        [name, "target", f"from {format_number(low, 6)} to {format_number(high, 6)}"]
        for name, low, high in _targets(model)
    ]
    names = declaration.get("category_columns") or ()
    stated = getattr(model, "categories_", None) or dict(zip(names, declaration.get("categories") or (), strict=True))
    kind = "target, category" if hasattr(model, "classes_") else "category"
    rows += [[str(name), kind, _values(values)] for name, values in stated.items()]
    if len(rows) > MOST_ROWS:
        rows = [*rows[:MOST_ROWS], ["…", "", f"and {len(rows) - MOST_ROWS} more"]]
    return Facts(["column", "kind", "declared"], rows)


def _targets(model: Any) -> list[tuple[str, float, float]]:
    """Return the declared columns that are not features, with their bounds: the target of a regression."""
    declaration, features = model.releases_[0].declared, numeric_columns(model)
    names = list(declaration["columns"])
    if len(names) == len(features):
        return []
    ends = all_declared_bounds(model).tolist()
    return [(name, low, high) for name, (low, high) in zip(names, ends, strict=True) if name not in features]


def _values(values: Any) -> str:
    few = [str(value) for value in values]
    return ", ".join(few[:12]) + (f" and {len(few) - 12} more" if len(few) > 12 else "")


def cautions(model: Any) -> list[tuple[str, str]]:
    """Return cautions for the reader, as pairs of title and text."""
    releases: tuple[Release, ...] = model.releases_
    result = []
    if model.guarantee_ is None:
        result.append(
            ("No proof of privacy", "A release was drawn approximately, so that no guarantee follows for this model.")
        )
    if any(release.provenance == "loaded" for release in releases):
        result.append(
            (
                "Read from a file",
                "The model was loaded, not measured in the process that wrote this report. What a file says about its "
                "own noise cannot be checked from the file: it can be made up. The report is as trustworthy as the "
                "place that the file comes from.",
            )
        )
    inexact = sorted({str(release.caveat) for release in releases if not release.exact})
    result += [("Idealised noise", f"A release was {caveat}.") for caveat in inexact]
    if not all(release.recorded for release in releases):
        result.append(
            (
                "Not recorded in a ledger",
                "No ledger recorded this spend. If the same data are used again, the losses add up unnoticed. Fit with "
                "a curator that has a ledger.",
            )
        )
    if model.guarantee_ is not None and model.guarantee_.epsilon > 10.0:
        factor = f"{math.exp(min(model.guarantee_.epsilon, 700.0)):.0e}"
        result.append(
            ("A large ε", f"A probability may change by a factor of {factor}: that guarantees next to nothing.")
        )
    return result
