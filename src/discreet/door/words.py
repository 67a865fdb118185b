"""Which rows a release is about, and what is promised for something that was made from releases, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.guarantees import Guarantee

if TYPE_CHECKING:
    from discreet.door.release import Release

__all__ = ["count_in_words", "guarantee_in_words", "promise_in_words", "rows_in_words", "rows_of"]

MOST_NAMED = 3  # columns whose gaps drop a row; of more only the number is told


def rows_in_words(declared: Mapping[str, Any]) -> str | None:
    """Return which rows count, from what a release declares; None where all of them do.

    Files of earlier versions name the unit's column alone, and do not tell where gaps drop a row.

    >>> rows_in_words({"unit": "id", "unit_name": "patient", "max_rows": 4, "where": "age >= 18", "required": ["age"]})
    'at most 4 rows of each patient, where age >= 18, without gaps in age'
    >>> rows_in_words({"unit": None, "max_rows": 1, "required": ["age", "ward"]})
    'rows without gaps in age and ward'
    >>> rows_in_words({"unit": None, "max_rows": 1}) is None
    True
    """
    limit, rest = _limit(declared, noun=True), _rest(declared)
    if not limit and not rest:
        return None
    return ", ".join([limit, *rest]) if limit else f"rows {', '.join(rest)}"


def count_in_words(count: str, declared: Mapping[str, Any]) -> str:
    """Return a number of rows, and which of them were counted where these are not all.

    >>> count_in_words("36781", {"unit": "patient", "max_rows": 4, "where": "age >= 18"})
    '36781 rows, at most 4 of each patient, where age >= 18'
    >>> count_in_words("36781", {"where": "age >= 18"}), count_in_words("36781", {})
    ('36781 rows where age >= 18', '36781')
    """
    limit, rest = _limit(declared, noun=False), _rest(declared)
    if limit:
        return ", ".join([f"{count} rows", limit, *rest])
    return f"{count} rows {', '.join(rest)}" if rest else count


def _limit(declared: Mapping[str, Any], *, noun: bool) -> str:
    """Return how many rows of a unit count; nothing where each row stands for itself."""
    unit, most = declared.get("unit_name") or declared.get("unit"), declared.get("max_rows") or 1
    if not unit:
        return ""
    rows = f"{most} {'row' if most == 1 else 'rows'}" if noun else most
    first = f", the first by {declared['order']}" if declared.get("order") else ""
    return _printable(f"at most {rows} of each {unit}{first}")


def _rest(declared: Mapping[str, Any]) -> list[str]:
    """Return what else a row needs to count: a condition, and values where gaps drop it."""
    where, names = declared.get("where"), list(declared.get("required") or ())
    needed = [] if not where else [f"where {where}"]
    if len(names) > MOST_NAMED:
        needed.append(f"without gaps in any of {len(names)} columns")
    elif names:
        needed.append(f"without gaps in {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}")
    if declared.get("per_unit"):
        needed.append("of a view whose rows are declared to be made from one unit's rows each")
    return list(map(_printable, needed))


def _printable(text: str) -> str:
    """Return text that a terminal does not take for a command: names may come from a file."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def rows_of(releases: Sequence[Release]) -> str | None:
    """Return which rows count in releases that led to one answer; None where all of them do."""
    found = dict.fromkeys(release.which_rows for release in releases)
    return "; ".join(rows for rows in found if rows is not None) or None


def guarantee_in_words(guarantee: Guarantee | None, unit: str, releases: Sequence[Release]) -> str:
    """Return what holds, for a ``repr``."""
    if guarantee is None:
        seeded = any(release.provenance == "simulated" for release in releases)
        why = "privacy: its noise came from a seed" if seeded else "a proof of privacy: its draw is approximate"
        return f"WITHOUT {why}"
    whose = f"at {guarantee} for {unit if unit != 'row' else 'each row'}"
    whose += "" if all(release.exact for release in releases) else " in ideal arithmetic"
    return whose + ("" if all(release.recorded for release in releases) else ", NOT RECORDED in any ledger")


def promise_in_words(guarantee: Guarantee | None, unit: str, releases: Sequence[Release]) -> str:
    """Return to which rows something was fitted, where these are not all, and what holds: it follows "fitted"."""
    rows, holds = rows_of(releases), guarantee_in_words(guarantee, unit, releases)
    return holds if rows is None else f"to {rows}, {holds}"
