"""Saves and loads fitted estimators: ``to_json``, ``from_json`` (files of older versions too), checks of what they say.

A file holds public numbers only, so it can be published. A loaded estimator predicts, scores and samples. Its releases
say ``loaded``, and a file whose noise came from a seed always says so. The privacy claims of a file are recomputed as
far as possible (``_check_fitted``), and a file that contradicts itself is refused.

**What is checked.** A file must be one that a fit can have written: its guarantee, losses, noise and parameters agree.
All of this follows from public numbers in the file, so it is recomputed:

- the parameters request the guarantee in the file, and their method the same number of releases with the same losses;
- all releases are of the same rows with the same declarations, and their questions fit these rows;
- the noise of a release is at least what its loss needs for the sensitivity of its question, without float error and
  grid.

This detects a guarantee that was made smaller, a release that was dropped, a relation that was changed, and noise that
does not match its loss. It is not a proof: a file in which all numbers were changed consistently, or made up, passes.
Only the person who fitted the model, and a ledger that recorded it, can tell.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, format_value, integer
from discreet.door import Release
from discreet.door.curator import AT_MOST
from discreet.door.release import PublicSize
from discreet.guarantees import Guarantee, LaplaceLoss, Loss, Neighbors, compose
from discreet.plain import read_json
from discreet.queries.bound import Setting
from discreet.queries.mechanism import mechanism_for
from discreet.queries.question import Query
from discreet.records import Category, Date, Number, Schema, Space
from discreet.scales import column_scales

TOLERANCE = 1e-6  # relative; losses that are found by a search may differ in their last digits between machines
ROUNDING = 1.0 + 1e-9  # factor that allows for rounding of a noise scale


@dataclass(frozen=True)
class PublicRows:
    """What is public about the rows that a model was fitted to; the method is chosen from it."""

    space: Any
    columns: tuple[str, ...]
    category_columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    declared: Mapping[str, Any]
    size: PublicSize
    setting: Setting

    @property
    def neighbors(self) -> Neighbors:
        """The neighbouring relation."""
        return self.setting.neighbors

    @classmethod
    def from_releases(cls, releases: Sequence[Release]) -> PublicRows:
        """Return what is public about the rows of a fit, on which all of its releases must agree."""
        first = releases[0]
        stated = [(one.size, one.declared, one.neighbors, one.dataset) for one in releases]
        if any(one != stated[0] for one in stated):
            raise ArgumentError("releases_", UNSHOWN, "releases of the same rows, with the same declarations")
        declared = first.declared
        for name in ("columns", "category_columns", "categories", "max_rows", "unit", "space"):
            if name not in declared:
                raise ArgumentError("declared", UNSHOWN, f"{name}, as every release has it")
        max_rows = integer("max_rows", declared["max_rows"], least=1)
        whose = declared["unit"]
        if not isinstance(whose, str | None) or (whose is None and max_rows != 1):
            raise ValueError(
                f"unit={format_value(whose)}, max_rows={max_rows}: expected max_rows=1 where a row is the unit"
            )
        columns, labels = tuple(declared["columns"]), tuple(declared["category_columns"])
        space = None if declared["space"] is None else Space.from_dict(declared["space"]).for_columns(len(columns))
        known = first.neighbors is Neighbors.REPLACE_ONE
        dropped = whose is not None or declared.get("required") or declared.get("where")
        if known != (first.size.units is not None) or (first.size.complete and not (known and not dropped)):
            raise ValueError(f"size={first.size}: expected a number of units under replace-one, and none otherwise")
        rows = max(first.size.units or 1, 1) if known and whose is None else AT_MOST
        setting = Setting(first.neighbors, max_rows, rows, 1, first.size.complete)
        values = tuple(map(tuple, declared["categories"]))
        return cls(space, columns, labels, values, declared, first.size, setting)


def check_release(release: Release, rows: PublicRows) -> None:
    """Raise where a release does not fit these rows, or has less noise than its loss needs."""
    question = release.question
    additive = release.loss.gaussian is not None or isinstance(release.loss, LaplaceLoss)
    if question is None:
        if release.noise is not None or release.mechanism == "additive" or additive:
            raise ArgumentError("releases_", UNSHOWN, f"the question of the release of {release.query!r}")
        return
    if question.name != release.query:
        raise ArgumentError("releases_", UNSHOWN, f"the question of {release.query!r}, got that of {question.name!r}")
    if question.dimension not in (0, 0 if rows.space is None else rows.space.dimension):
        raise ArgumentError("releases_", UNSHOWN, f"questions about {len(rows.columns)} columns")
    question.check(rows.space, rows.categories)
    usual = mechanism_for(question, release.loss)
    if release.mechanism not in (usual.kind, "approximate"):
        raise ArgumentError("mechanism", release.mechanism, f"{usual.kind!r}, for {release.query!r}")
    if release.mechanism != "additive" or not isinstance(question, Query):
        return
    if dict(release.parts) != dict(question.parts):
        raise ArgumentError("parts", UNSHOWN, f"those of the question {release.query!r}")
    if release.noise is None or release.noise.scale * ROUNDING < _least_scale(question, release, rows.setting):
        raise ArgumentError("noise", release.noise, f"more noise on {release.query!r}, for a loss of {release.loss!r}")


def _least_scale(question: Query, release: Release, setting: Setting) -> float:
    """Return the least noise scale that a loss needs; ∞ where the loss is not one of such noise."""
    assert release.noise is not None
    sensitivity = question.bound.sensitivity(release.noise.norm, setting.neighbors, max_rows=setting.max_rows)
    return release.noise.least_scale(release.loss, sensitivity)


def check_losses(result: Sequence[Loss], requested: Sequence[Loss]) -> None:
    """Raise where the losses of a file are not those that its parameters request."""
    if len(result) != len(requested):
        raise ArgumentError(
            "losses_", UNSHOWN, f"{len(requested)} releases, as the parameters ask for; got {len(result)}"
        )
    for one, other in zip(result, requested, strict=True):
        if not _is_close(one, other):
            raise ArgumentError("losses_", UNSHOWN, f"{other!r}, as the parameters ask for; got {one!r}")


def _are_close(result: Sequence[Loss], requested: Sequence[Loss]) -> bool:
    return len(result) == len(requested) and all(map(_is_close, result, requested))


def _is_close(one: Loss, other: Loss) -> bool:
    if type(one) is not type(other):
        return False
    pairs = [(getattr(one, each.name), getattr(other, each.name)) for each in fields(cast(Any, one))]
    return all(
        math.isclose(a, b, rel_tol=TOLERANCE) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in pairs
    )


FORMAT = 1  # of the file
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, np.linalg.LinAlgError)


class Persistent:
    """Mixin: an estimator that can be written as JSON and read again."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted estimator as plain values."""
        check_is_fitted(self)
        self._check_guarantee(self.losses_[0].neighbors)  # type: ignore[attr-defined]  # or the file could not be read again
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return {
            "format": FORMAT,
            "kind": type(self).__name__,
            "parameters": {name: _plain(value) for name, value in self.get_params(deep=False).items()},  # type: ignore[attr-defined]
            "fitted": {name: _plain(value) for name, value in fitted.items()},
        }

    def to_json(self) -> str:
        """Return the fitted estimator as JSON text; floats keep every digit."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the estimator that ``to_dict`` described."""
        if not isinstance(values, Mapping) or values.keys() != {"format", "kind", "parameters", "fitted"}:
            raise ArgumentError(
                "model", UNSHOWN, "the fields format, kind, parameters and fitted, as to_dict writes them"
            )
        if values["format"] != FORMAT:
            raise ArgumentError("format", values["format"], f"{FORMAT}, the one that this version writes")
        choice("kind", values["kind"], [cls.__name__])
        parameters, fitted = values["parameters"], values["fitted"]
        known = set(cls().get_params(deep=False))  # type: ignore[attr-defined]
        named = {*cls._fitted, "n_features_in_", "guarantee_", "unit_", "losses_", "releases_"}
        is_read = isinstance(parameters, Mapping) and isinstance(fitted, Mapping)
        if is_read and not (parameters.keys() | fitted.keys()) & cls._added.keys():
            fitted = {name: value for name, value in cls._added.items() if name.endswith("_")} | dict(fitted)
            parameters = {name: value for name, value in cls._added.items() if name in known} | dict(parameters)
        if is_read:
            fitted = {name: value for name, value in fitted.items() if name not in cls._removed}
        if not is_read or parameters.keys() != known:
            raise ArgumentError("parameters", UNSHOWN, f"{sorted(known)}")
        if fitted.keys() - {"feature_names_in_"} != named:
            raise ArgumentError("fitted", UNSHOWN, f"{sorted(named)}")
        try:
            model = cls(**{name: _value(name, value) for name, value in parameters.items()})
            for name, value in fitted.items():
                setattr(model, name, _value(name, value))
            model._check_fitted()
        except UNREADABLE as error:
            raise ArgumentError(
                "model", UNSHOWN, f"values as to_dict writes them; these cannot be read ({error})"
            ) from error
        return model

    _fitted: ClassVar[tuple[str, ...]]
    _added: ClassVar[Mapping[str, Any]] = {}  # parameters and attributes that files of earlier versions lack
    _removed: ClassVar[tuple[str, ...]] = ()  # attributes that only files of earlier versions have

    def _check_fitted(self) -> None:
        """Raise a ValueError where the attributes contradict each other, or the guarantee is not kept."""
        losses, releases, guarantee = self.losses_, self.releases_, self.guarantee_  # type: ignore[attr-defined]
        if [release.loss for release in releases] != list(losses) or not losses:
            raise ArgumentError("losses_", UNSHOWN, "the losses of the releases")
        seeded = getattr(self, "random_state", None) is not None
        seeded = seeded or any(release.provenance == "simulated" for release in releases)
        approximate = any(release.mechanism == "approximate" for release in releases)
        if guarantee is None and not (seeded or approximate):
            raise ArgumentError(
                "guarantee_",
                UNSHOWN,
                "the guarantee of the parameters, since the noise is neither seeded nor approximate",
            )
        if guarantee is not None:
            if seeded:
                raise ArgumentError("guarantee_", UNSHOWN, "None, since the noise of the releases came from a seed")
            if approximate:
                raise ArgumentError("guarantee_", UNSHOWN, "None, since a release was drawn approximately")
            if not isinstance(guarantee, Guarantee) or guarantee.neighbors is not losses[0].neighbors:
                raise ArgumentError("guarantee_", UNSHOWN, "a guarantee under the relation of the releases")
            if compose(losses).delta(guarantee.epsilon) > guarantee.delta * (1.0 + 1e-6):
                raise ArgumentError("guarantee_", UNSHOWN, "a guarantee that the composed losses keep")
        public = PublicRows.from_releases(releases)
        column_scales(public.declared)  # raises where the scales are not valid
        self._check_guarantee(public.neighbors)
        for release in releases:
            check_release(release, public)
        method = self._method_for(public)
        if method is not None:
            asked, planned = self._requested_guarantee(public.neighbors), method  # type: ignore[attr-defined]
            while planned is not None and not _are_close(losses, planned.losses(asked)):
                planned = planned.earlier
            if planned is None:
                check_losses(losses, method.losses(asked))
        unit, rows = self.unit_, all(release.declared.get("unit") is None for release in releases)  # type: ignore[attr-defined]
        if not isinstance(unit, str) or (unit == "row") != rows:
            raise ArgumentError("unit_", unit, "the unit that the releases declare")

    def _check_guarantee(self, neighbors: Neighbors) -> None:
        """Raise where the parameters have changed since the fit."""
        guarantee, kept = self._requested_guarantee(neighbors), self.guarantee_  # type: ignore[attr-defined]
        own = getattr(self, "neighbors", None)
        if kept not in (None, guarantee) or (own is not None and Neighbors.parse(own) is not neighbors):
            raise ArgumentError("epsilon, delta, neighbors", UNSHOWN, f"those of the fit, whose guarantee is {kept}")

    def _method_for(self, rows: Any) -> Any:
        """Return the method that the parameters request for such rows; None where public numbers do not fix it."""
        return None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the estimator that ``to_json`` wrote."""
        return cls.from_dict(read_json(text))


def _plain(value: Any) -> Any:
    """Return a parameter or a fitted attribute as plain values for JSON."""
    if isinstance(value, Space | Loss | Release):
        return value.to_dict()
    if isinstance(value, Guarantee):
        return {"epsilon": value.epsilon, "delta": value.delta, "neighbors": value.neighbors.value}
    if isinstance(value, Neighbors):
        return value.value
    if isinstance(value, Schema):
        return value.to_toml()
    if isinstance(value, Number | Date | Category):  # one of the bounds
        return {"column": Schema({"column": value}).to_toml()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    return None  # a random state that is not a number


def _bound(value: Any) -> Any:
    """Return a pair of bounds, or the column that was given instead."""
    return Schema.from_toml(value["column"] + "\n")["column"] if isinstance(value, Mapping) else tuple(value)


def _value(name: str, value: Any) -> Any:
    """Return the parameter or fitted attribute that ``_plain`` wrote."""
    if value is None:
        return None
    if name == "bounds":
        if isinstance(value, list):
            return tuple(tuple(pair) if isinstance(pair, list) else pair for pair in value)
        by_name = isinstance(value, Mapping) and not isinstance(value.get("kind"), str)
        return {str(key): _bound(pair) for key, pair in value.items()} if by_name else Space.from_dict(value)
    if name == "schema":
        return Schema.from_toml(value + "\n")  # text, and never a path
    if name in ("columns_", "categories_"):  # text, not numbers
        return {str(key): tuple(some) for key, some in value.items()} if isinstance(value, Mapping) else tuple(value)
    if name.endswith("_") and isinstance(value, Mapping) and name != "guarantee_":
        return {str(key): _value(name, item) for key, item in value.items()}
    if name == "guarantee_":
        return Guarantee(**value)
    if name == "losses_":
        return tuple(Loss.from_dict(loss) for loss in value)
    if name == "releases_":
        return tuple(Release.from_dict(release) for release in value)
    if name == "whole":
        return tuple(value)
    if name == "feature_names_in_":
        return np.array(value, dtype=object)
    if name.endswith("_") and isinstance(value, list):
        array = np.array(value, dtype=np.float64)
        if not np.all(np.isfinite(array)):
            raise ArgumentError(name, UNSHOWN, "finite numbers")
        return array
    if name.endswith("_") and isinstance(value, float) and not math.isfinite(value):
        raise ArgumentError(name, value, "a finite number")
    return value
