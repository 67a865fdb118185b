"""What ``exit.release`` returns: noisy numbers that came through the door, with all public facts about them.

It is immutable, has its noise distribution, its loss and its neighbour relation, and never contains a row. It converts
to JSON and back, and reads the fields of earlier formats (``EARLIER``; questions: ``queries.question_files``). Its
``provenance`` says where it comes from: ``measured`` by a curator in this process, ``loaded`` from a file, or
``simulated`` by hand, for tests. Only the door makes measured releases. A simulated release stays simulated when it is
saved and loaded.

The functions at the end describe in words which rows releases are about, and the guarantee of results computed from
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer
from discreet.guarantees import Guarantee, Loss, Neighbors
from discreet.noise import NoiseDistribution
from discreet.plain import read_json
from discreet.queries.question import Part, Question
from discreet.queries.question_files import as_plain, read_question

MOST_NAMED = 3  # columns that a description names; of more columns it gives only the number
FORMAT = 3
EARLIER = {2: {"law": "noise", "passage": "mechanism"}}  # names of fields in files of earlier formats
MECHANISMS = ("additive", "selection", "sampled", "approximate")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class PublicSize:
    """What is public about the size of the data.

    Attributes
    ----------
    units : int or None
        The number of units (rows, or persons) under replace-one; None under add-remove, where it is private.
    complete : bool
        Whether every unit is one row that surely contributes, so that counts sum to ``units``. False where rows may
        be dropped for missing values or units may have several rows: the number of rows is then private.
    """

    units: int | None
    complete: bool

    def __post_init__(self) -> None:
        if self.units is not None:
            object.__setattr__(self, "units", integer("units", self.units, least=0, most=2**62))
        if not isinstance(self.complete, bool):
            raise ArgumentError("complete", self.complete, "True or False")

    @property
    def rows(self) -> int | None:
        """How many rows contribute, where that is public; None where it is private.

        >>> PublicSize(100, True).rows, PublicSize(100, False).rows
        (100, None)
        """
        return self.units if self.complete else None


KINDS: dict[str, Any] = {
    "query": str,
    "parts": Mapping,
    "noise": NoiseDistribution | None,
    "exact": bool,
    "loss": Loss,
    "size": PublicSize,
    "dataset": str | None,
    "recorded": bool,
    "declared": Mapping,
    "asked": Mapping | None,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """Noisy numbers and their public facts.

    Attributes
    ----------
    query : str
    value : ndarray
        The released numbers, one after the other, read-only. For a selection, the index that was selected.
    parts : mapping of str to Part
        The named parts of ``value``; ``release["name"]`` is one of them in its shape, divided by the query's weight.
    mechanism : str
        ``"additive"``, ``"selection"``, ``"sampled"``, or ``"approximate"``: a draw that only approximates its
        distribution, so that no guarantee follows.
    noise : NoiseDistribution or None
        The noise on each number, for an additive mechanism.
    exact : bool
        Whether the draw is exact. If False, the loss holds in ideal arithmetic and floats only approximate it.
    loss : Loss
        The cost, with its neighbour relation.
    size : PublicSize
    dataset : str or None
        The declared name of the data.
    recorded : bool
        Whether a ledger holds the spend.
    declared : mapping
        The declarations of the rows: space, columns, categories, the unit and its rows, and the columns in which a
        missing value drops a row (``required``). Enough to interpret the numbers.
    asked : mapping or None
        The question as plain values and arrays, from which ``question`` restores it; None for a user's own question.
    provenance : str
    """

    query: str
    value: Array
    parts: Mapping[str, Part]
    mechanism: str
    noise: NoiseDistribution | None
    exact: bool
    loss: Loss
    size: PublicSize
    dataset: str | None = None
    recorded: bool = False
    declared: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] | None = None
    provenance: str = "simulated"

    def __post_init__(self) -> None:
        for name, kind in KINDS.items():
            if not isinstance(getattr(self, name), kind):
                raise ArgumentError(name, getattr(self, name), "what a release of the door has")
        try:
            numbers = np.array(self.value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            numbers = np.array(np.nan)
        if not np.all(np.isfinite(numbers)):
            raise ArgumentError("value", UNSHOWN, "finite numbers, as every release has")
        if not all(isinstance(part, Part) for part in self.parts.values()):
            raise ArgumentError("parts", self.parts, "a mapping of names to parts")
        if sum(part.size for part in self.parts.values()) != numbers.size:
            raise ArgumentError("parts", dict(self.parts), f"parts of {numbers.size} numbers in all")
        choice("mechanism", self.mechanism, MECHANISMS)
        choice("provenance", self.provenance, ("loaded", "simulated"))
        object.__setattr__(self, "value", np.frombuffer(numbers.tobytes()))  # over bytes: it stays read-only
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))
        for name in ("declared", "asked"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, MappingProxyType(_copy(getattr(self, name))))

    @property
    def neighbors(self) -> Neighbors:
        """The relation under which the loss holds."""
        return self.loss.neighbors

    @property
    def question(self) -> Question | None:
        """The question, which says what each row contributed; None for a user's own question."""
        return None if self.asked is None else read_question(self.asked)

    @property
    def which_rows(self) -> str | None:
        """Which rows it is about, in words ("at most 4 rows of each patient"); None where it is about all of them."""
        return describe_rows(self.declared)

    @property
    def caveat(self) -> str | None:
        """The assumptions of this release's guarantee, in words; None where it is proved for the bits as drawn."""
        stated = self.declared.get("stated")
        if stated:
            values = ", ".join(f"{name}={value}" for name, value in stated.items())
            idealised = "" if self.exact else "; and it is idealised"
            return f"relies on what the user stated without proof: {values}{idealised}"
        if self.exact:
            return None
        if self.mechanism == "approximate":
            return (
                "drawn by a Markov chain that was stopped after some steps: the loss is that of the distribution that "
                "it would reach, and nothing is proved about where it was stopped"
            )
        return (
            "drawn with floating-point numbers: the loss is that of the ideal distribution, and the low bits of these "
            "numbers, or the time that the draw took, may tell more"
        )

    def __getitem__(self, name: str) -> Array:
        """Return a named part of the value, divided by its weight."""
        choice("name", name, self.parts)
        names = list(self.parts)
        start = sum(self.parts[before].size for before in names[: names.index(name)])
        return self.parts[name].unpack(self.value[start : start + self.parts[name].size])

    def interval(self, level: float = 0.95, name: str | None = None) -> tuple[Array, Array]:
        """Return a confidence interval for each number of a part; ``name`` may be omitted for a single part.

        Each interval contains the number before noise with probability ``level``, by itself. It accounts for the noise
        alone: not for clipping, nor for sampling. It is in the units of the part.

        Returns
        -------
        low, high : ndarray
        """
        if self.noise is None:
            raise ArgumentError("mechanism", self.mechanism, "a release with a noise distribution; this one has none")
        if name is None and len(self.parts) == 1:
            name = next(iter(self.parts))
        part = self.parts[choice("name", name, self.parts)]
        values, width = self[str(name)], part.unpack(np.full(part.size, self.noise.half_width(level)))
        return values - width, values + width

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain values, for JSON; ``which_rows`` is among them where it is not about all rows."""
        rows = {} if self.which_rows is None else {"which_rows": self.which_rows}
        return rows | {
            "format": FORMAT,
            "query": self.query,
            "value": self.value.tolist(),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
            "declared": _copy(self.declared),
            "asked": None if self.asked is None else as_plain(self.asked),
            "mechanism": self.mechanism,
            "noise": None if self.noise is None else self.noise.to_dict(),
            "exact": self.exact,
            "loss": self.loss.to_dict(),
            "size": {"units": self.size.units, "complete": self.size.complete},
            "dataset": self.dataset,
            "recorded": self.recorded,
            "provenance": self.provenance,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Release:
        """Return the release that ``to_dict`` described, as ``loaded`` (or ``simulated``, if it was)."""
        if not isinstance(values, Mapping):
            raise ArgumentError("release", UNSHOWN, f"the fields of one, got a {type(values).__name__}")
        written_as = values.get("format")
        if not isinstance(written_as, int) or (written_as != FORMAT and written_as not in EARLIER):
            raise ArgumentError("format", written_as, f"{FORMAT}, the one that this version writes, or an earlier one")
        names_now = EARLIER.get(written_as, {})
        if {*names_now.values()} & values.keys():  # with both names, one of the two would be ignored
            raise ArgumentError("release", UNSHOWN, f"the fields of format {written_as}")
        given = {names_now.get(name, name): value for name, value in values.items() if name != "format"}
        rows = given.pop("which_rows", None)  # for readers only: it follows from the declarations
        if not isinstance(rows, str | None):
            raise ArgumentError("which_rows", rows, "words, as to_dict wrote them")
        names = {field.name for field in fields(cls)}
        if given.keys() != names:
            raise ArgumentError("release", UNSHOWN, f"the fields {sorted(names)}, got {sorted(map(str, given))}")
        for name in ("loss", "parts", "size", "declared"):
            if not isinstance(given[name], Mapping):
                raise ArgumentError(name, given[name], "what to_dict wrote")
        _check_declared(given["declared"])
        noise = given.pop("noise")
        was = choice("provenance", given.pop("provenance"), ("measured", "loaded", "simulated"))
        return cls(
            **given
            | {
                "noise": None if noise is None else NoiseDistribution.from_dict(noise),
                "loss": Loss.from_dict(given["loss"]),
                "parts": {name: Part.from_dict(part) for name, part in given["parts"].items()},
                "size": PublicSize(given["size"].get("units"), given["size"].get("complete")),
                "provenance": "simulated" if was == "simulated" else "loaded",
            }
        )

    def to_json(self) -> str:
        """Return the release as JSON text; floats keep every digit."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Return the release that ``to_json`` wrote."""
        return cls.from_dict(read_json(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Release:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Release:
        return self

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return Release.from_dict, (self.to_dict(),)  # a pickle counts as a file: the copy is ``loaded``

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}{list(part.shape)}" for name, part in self.parts.items())
        how = "exact" if self.exact else "idealised"
        rows = "" if self.which_rows is None else f", {self.which_rows}"
        where = "recorded" if self.recorded else "NOT RECORDED in any ledger"
        return (
            f"<{self.provenance} release of {self.query} ({parts}) from {self.dataset or 'unnamed data'}{rows}: "
            f"{self.mechanism}, {how}, {self.loss!r}, {where}>"
        )


def _check_declared(declared: Mapping[str, Any]) -> None:
    """Raise where a declaration from a file has another type than the door writes."""
    for name in ("columns", "category_columns", "required", "scales"):
        given = declared.get(name) or []
        if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
            raise ArgumentError(f"declared[{name!r}]", given, "a list of names")
    if declared.get("max_rows") is not None:
        integer("max_rows", declared["max_rows"], least=1)
    for name, kind in (("unit", str), ("unit_name", str), ("order", str), ("where", str), ("stated", Mapping)):
        if not isinstance(declared.get(name), kind | None):
            raise ArgumentError(f"declared[{name!r}]", declared[name], f"a {kind.__name__}, or None")


def _copy(plain: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return deepcopy(dict(plain))
    except RecursionError as error:
        raise ArgumentError("asked, declared", UNSHOWN, "what to_dict wrote, which is not so deep") from error


def make_measured(*, private: bool, **facts: Any) -> Release:
    """Return a measured release; only the door calls this. With seeded noise the release is simulated."""
    release = Release(**facts)
    if private:
        object.__setattr__(release, "provenance", "measured")
    return release


def simulate(
    query: str, value: ArrayLike, noise: NoiseDistribution, loss: Loss, size: PublicSize, **shapes: tuple[int, ...]
) -> Release:
    """Return a release made by hand, for tests. It is marked as simulated, and reports refuse it."""
    values = np.asarray(value, dtype=np.float64)
    return Release(
        query=query,
        value=values,
        parts={name: Part(shape) for name, shape in (shapes or {query: values.shape}).items()},
        mechanism="additive",
        noise=noise,
        exact=True,
        loss=loss,
        size=size,
    )


def describe_rows(declared: Mapping[str, Any]) -> str | None:
    """Describe which rows count, from the declarations of a release; None where all rows count.

    Files of earlier versions only name the unit's column, and not the columns where missing values drop a row.

    >>> describe_rows({"unit": "id", "unit_name": "patient", "max_rows": 4, "where": "age >= 18", "required": ["age"]})
    'at most 4 rows of each patient, where age >= 18, without gaps in age'
    >>> describe_rows({"unit": None, "max_rows": 1, "required": ["age", "ward"]})
    'rows without gaps in age and ward'
    >>> describe_rows({"unit": None, "max_rows": 1}) is None
    True
    """
    limit, rest = _describe_limit(declared, noun=True), _describe_conditions(declared)
    if limit:
        return ", ".join([limit, *rest])
    return f"rows {', '.join(rest)}" if rest else None


def describe_count(count: str, declared: Mapping[str, Any]) -> str:
    """Describe a number of rows, and which rows were counted where not all were.

    >>> describe_count("36781", {"unit": "patient", "max_rows": 4, "where": "age >= 18"})
    '36781 rows, at most 4 of each patient, where age >= 18'
    >>> describe_count("36781", {"where": "age >= 18"}), describe_count("36781", {})
    ('36781 rows where age >= 18', '36781')
    """
    limit, rest = _describe_limit(declared, noun=False), _describe_conditions(declared)
    if limit:
        return ", ".join([f"{count} rows", limit, *rest])
    return f"{count} rows {', '.join(rest)}" if rest else count


def _describe_limit(declared: Mapping[str, Any], *, noun: bool) -> str:
    """Describe how many rows of a unit count; empty where each row is a unit."""
    unit, most = declared.get("unit_name") or declared.get("unit"), declared.get("max_rows") or 1
    if not unit:
        return ""
    rows = f"{most} {'row' if most == 1 else 'rows'}" if noun else most
    first = f", the first by {declared['order']}" if declared.get("order") else ""
    return as_printable(f"at most {rows} of each {unit}{first}")


def _describe_conditions(declared: Mapping[str, Any]) -> list[str]:
    """Describe the other conditions for a row to count: the condition, and the columns that need a value."""
    where, names = declared.get("where"), list(declared.get("required") or ())
    needed = [] if not where else [f"where {where}"]
    if len(names) > MOST_NAMED:
        needed.append(f"without gaps in any of {len(names)} columns")
    elif names:
        needed.append(f"without gaps in {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}")
    if declared.get("per_unit"):
        needed.append("of a view whose rows are declared to be made from one unit's rows each")
    return list(map(as_printable, needed))


def as_printable(text: str) -> str:
    """Return text without control characters for a terminal, since names may come from a file."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def describe_rows_of_releases(releases: Sequence[Release]) -> str | None:
    """Describe which rows count in the releases behind one answer; None where all rows count."""
    result = dict.fromkeys(release.which_rows for release in releases)
    return "; ".join(rows for rows in result if rows is not None) or None


def describe_guarantee(guarantee: Guarantee | None, unit: str, releases: Sequence[Release]) -> str:
    """Describe a guarantee for a ``repr``: the cost and the protected unit, or that there is no guarantee."""
    if guarantee is None:
        seeded = any(release.provenance == "simulated" for release in releases)
        why = "privacy: its noise came from a seed" if seeded else "a proof of privacy: its draw is approximate"
        return f"WITHOUT {why}"
    whose = f"at {guarantee} for {unit if unit != 'row' else 'each row'}"
    whose += "" if all(release.exact for release in releases) else " in ideal arithmetic"
    return whose + ("" if all(release.recorded for release in releases) else ", NOT RECORDED in any ledger")


def describe_fit_guarantee(guarantee: Guarantee | None, unit: str, releases: Sequence[Release]) -> str:
    """Describe the rows of a fit, where these are not all, and its guarantee; the text follows the word "fitted"."""
    rows, holds = describe_rows_of_releases(releases), describe_guarantee(guarantee, unit, releases)
    return holds if rows is None else f"to {rows}, {holds}"
