"""Parse and check flags: the schema, the limit, the source of the rows, and the columns of a command.

Everything here is checked before any row is read or any ledger opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from discreet.arguments import UNSHOWN, ArgumentError, format_names, one_of, suggest_name
from discreet.cli.options import DeclarationFlags
from discreet.guarantees import Guarantee, Neighbors
from discreet.records import Category, Date, Number, Schema, Table
from discreet.records.sources.csv_files import CSV_SUFFIXES, csv_header, is_value
from discreet.records.sources.postgresql_tables import is_postgresql

WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # longer digits are taken as a name
ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
UNFILLED = "or values = […]"
EXAMPLES = {
    r"(for example )?Date\(('[^']*', ){2}missing='fill', fill='([^']*)'\)": r'missing = "fill" and fill = \3',
    r"(for example )?Date\('([^']*)', '([^']*)'\)": r"low = \2 and high = \3",
    r"(for example )?'(2020-01-01)' or datetime\.date\(2020, 1, 1\)": r"\2",
    r"(for example )?Number\(1, 1e6, log=True\)": "low = 1, high = 1e6 and log = true",
    r"\blog=True": "log = true",
    r"(for example )?Number\(0, 120, missing='fill', fill=40\)": 'missing = "fill" and fill = 40',
    r"(for example )?Number\(0, 120\)": "low = 0 and high = 120",
    r"(for example )?Category\((\[[^]]*\]), missing='fill', fill=([^)]*)\)": r'missing = "fill" and fill = \3',
    r"(for example )?Category\((\[[^]]*\])\)": r"values = \2",
    r"\b(low|high|fill|other|unit|max_rows|missing|values)=": r"\1 = ",
}

WRITE_BOUNDS = "write for example --bounds age=17:90"
WRITE_OTHERS = "for a log scale --bounds income=1:1e6:log, for dates --bounds admitted=2020-01-01:2025-12-31"
WRITE_CLASSES = "write for example --classes income=below,above, or --classes ward=a,b:other to count others too"
WRITE_LIMIT = "write for example 1:1e-6, for ε = 1 and δ = 1e-6"
# Words in a first line that are more likely values or gaps than names of columns.
VALUES = {"yes", "no", "true", "false", "male", "female", "na", "nan", "null", "none", "nil", "missing", "unknown"}


def declared_schema(flags: DeclarationFlags) -> Schema:
    """Return the schema that flags or a file declare."""
    units = (flags.unit, flags.max_rows, flags.unit_type, flags.order)
    if flags.schema is not None:
        if flags.bounds or flags.classes or any(given is not None for given in units):
            raise typer.BadParameter(
                "expected no --bounds, --classes, --unit, --max-rows, --unit-type or --order beside it; write them "
                "into the file",
                param_hint="--schema",
            )
        return read_schema(flags.schema)
    if not flags.bounds and not flags.classes:
        raise typer.BadParameter(
            f"expected declared columns, never taken from the rows; {WRITE_BOUNDS}, or --schema people.toml (discreet "
            "schema init people.csv writes one to fill in)",
            param_hint="--bounds",
        )
    if flags.unit is not None and flags.max_rows is None:
        raise typer.BadParameter(
            "expected how many rows of one person count; write --max-rows 10 (the noise grows with it)",
            param_hint="--max-rows",
        )
    numbers = [_parse_bounds(text) for text in flags.bounds or ()]
    categories = [_parse_classes(text) for text in flags.classes or ()]
    return Schema([*numbers, *categories], *units)


def read_schema(file: Path) -> Schema:
    """Return the schema in a TOML file. A file with another suffix might hold rows, and is not opened."""
    if file.suffix.lower() != ".toml":
        raise ValueError(f"{file.name!r}: expected a schema in a file whose name ends with .toml")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text.strip():
        raise ValueError(
            f"{file.name!r}: expected a schema as TOML in UTF-8; discreet schema init writes one to fill in"
        )
    try:
        return Schema.from_toml(text + "\n")  # with a line break it is never taken for a path
    except ValueError as error:
        raise ValueError(f"{file.name}: {_in_toml(str(error))}") from None


def _in_toml(text: str) -> str:
    """Rewrite a message about a schema, with TOML in place of Python.

    >>> _in_toml("low=9.0 is not below high=1.0: expected low < high; write for example Number(0, 120)")
    'low = 9.0 is not below high = 1.0: expected low < high; write low = 0 and high = 120'
    """
    for pattern, written in EXAMPLES.items():
        text = re.sub(pattern, written, text)
    if text.endswith(UNFILLED):
        text += ", or remove this section; a column of ids is named in unit = …"
    return text


def _parse_bounds(text: str) -> tuple[str, Number | Date]:
    name, equals, ends = text.rpartition("=")
    low, colon, rest = ends.partition(":")
    high, _, scale = rest.partition(":")
    try:
        if not (name and equals and colon) or (scale != "log" and ":" in rest):
            raise ValueError("it lacks = or :")
        if ISO_DAY.fullmatch(low) and ISO_DAY.fullmatch(high) and not scale:
            return name, Date(low, high)
        return name, Number(float(low), float(high), log=scale == "log")
    except ValueError:
        above = " and above 0" if scale == "log" else ""
        raise typer.BadParameter(
            f"{text!r}: expected NAME=LOW:HIGH with LOW below HIGH{above}; {WRITE_BOUNDS}; {WRITE_OTHERS}",
            param_hint="--bounds",
        ) from None


def _parse_classes(text: str) -> tuple[str, Category]:
    name, equals, listed = text.partition("=")
    declared, colon, last = listed.rpartition(":")
    other = "other" if colon and last.strip() == "other" else None
    values = [value.strip() for value in (listed if other is None else declared).split(",")]
    if not (name and equals and all(values)):
        raise typer.BadParameter(f"{text!r}: expected NAME=VALUE,VALUE; {WRITE_CLASSES}", param_hint="--classes")
    whole = all(WHOLE.fullmatch(value) for value in values)
    return name, Category([int(value) for value in values] if whole else values, other=other)


def parse_limit(text: str, neighbors: Neighbors, flag: str = "--limit") -> Guarantee:
    """Return the guarantee in a text ``EPS:DELTA``, or ``EPS`` alone for δ = 0."""
    epsilon, _, delta = text.partition(":")
    try:
        return Guarantee(float(epsilon), float(delta or 0.0), neighbors)
    except ArgumentError as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint=flag) from None
    except ValueError:
        raise typer.BadParameter(f"{text!r}: expected EPS:DELTA; {WRITE_LIMIT}", param_hint=flag) from None


def split_names(text: str | None) -> list[str]:
    """Split a text of names at its commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def parse_numbers(text: str, kind: type[float], flag: str, expected: str) -> list[Any]:
    """Parse a text of numbers of a type, separated by commas."""
    try:
        return [kind(one) for one in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{text!r}: expected {expected}", param_hint=flag) from None


def open_source(data: str, table: str | None, declared: Iterable[str] = (), *, per_unit: bool = False) -> Any:
    """Return the source of the rows, as a ``Curator`` or a ``StatisticalDatabase`` takes it; no row is read."""
    if is_postgresql(data):
        if table is None:
            raise typer.BadParameter("expected which table of the database; write --table visits", param_hint="--table")
    elif _is_pipe(data):
        raise ValueError(
            f"{data}: expected a file or a database, which is read several times; save the rows to a file first"
        )
    elif data.lower().endswith(CSV_SUFFIXES):
        _check_header(Path(data), declared)
    return data if table is None and not per_unit else Table(data, table, per_unit)


def _is_pipe(data: str) -> bool:
    """Return whether the source is standard input, a pipe or a device."""
    path = Path(data)
    named = data in ("-", "/dev/stdin") or data.startswith("/dev/fd/")
    return named or (path.exists() and not (path.is_file() or path.is_dir()))


def _check_header(path: Path, declared: Iterable[str]) -> None:
    """Raise where the first line of a CSV file may be a row, whose cells would be taken for names.

    It may be a row if it holds a number, a date or an empty cell, or none of the declared columns. Names of columns are
    public and appear in errors, so this is checked before anything else, and no cell is shown.
    """
    _, cells = csv_header(path)
    if any(map(is_value, cells)) or len(set(cells)) < len(cells):
        raise ValueError(
            f"{path.name!r}: expected a first line with the names of the columns, each once and none a number; this "
            "one looks like a row, so nothing of it is shown; write the names into the file"
        )
    wanted = list(declared)
    if wanted and not set(wanted) & set(cells):
        raise ValueError(
            f"{path.name!r}: none of the declared columns {', '.join(map(repr, wanted))} is in its first line, which "
            "may be a row, so nothing of it is shown; write the names into the file, or declare them as they are there"
        )


def is_plain_name(cell: str) -> bool:
    """Return whether a cell is written as names of columns mostly are, and as cells of rows often are not.

    A plain name is one word of letters, digits and underscores that begins with a letter; dots and hyphens may join a
    letter to it. It is no word that stands for a value or for a gap. A family name alone is a plain name too.

    >>> [is_plain_name(cell) for cell in ("age", "capital-gain", "x1")]
    [True, True, True]
    >>> [is_plain_name(cell) for cell in ("Alice Smith", "C50.9", "12 kg", "a@b.org", "yes")]
    [False, False, False, False, False]
    """
    words = re.sub(r"[.-](?=[^\W\d_])", "_", cell)
    return words.isidentifier() and cell.lower() not in VALUES


def check_stated_header(data: str, *, header: bool) -> None:
    """Raise where the first line of a CSV file may be a row, and nobody has stated that it has the names of columns.

    What is written into a schema is public. So without that statement every cell must be a plain name. No
    cell is shown.
    """
    if header or not data.lower().endswith(CSV_SUFFIXES):
        return
    path = Path(data)
    if not all(map(is_plain_name, csv_header(path)[1])):
        raise ArgumentError(
            "header",
            UNSHOWN,
            f"this statement for {path.name!r}, since a cell of its first line is not a single plain word, so that the "
            "line may be a row; nothing of it is shown",
            write="--header if you know that it has the names of the columns; if it is a row, write the names above it",
        )


def check_columns(
    declared: Schema, names: Sequence[str], *, numbers: bool, by: Sequence[str] = (), weights: str | None = None
) -> None:
    """Raise where a named column is not declared, or is a category where the question needs numbers."""
    known = declared.names
    for argument, name in [
        *(("columns", name) for name in names),
        *(("by", name) for name in by),
        ("weights", weights),
    ]:
        if name is not None and name not in known:
            raise ArgumentError(argument, name, f"a declared column, {one_of(name, known)}")
    for name in names if numbers else ():
        if name in declared.categories:
            raise ArgumentError(
                "columns",
                name,
                f"one of {format_names(declared.numbers)}, and this is a category; --by {name} groups by it, and "
                f"histogram {name} counts it",
            )


def check_target(target: str, declared: Schema, *, categories: bool, from_file: bool) -> None:
    """Raise where the column to predict is not declared, or is of the other kind."""
    if target not in declared.names:
        if from_file:
            fields = 'values = ["no", "yes"]' if categories else "low, high"
            write = f"[columns.{target}] into the schema, with {fields}"
        else:
            write = f"--classes {target}=no,yes" if categories else f"--bounds {target}=0:100"
        known = f"a declared column, one of {format_names(declared.names)}"
        raise ArgumentError("target", target, known, write=f"{write}{suggest_name(target, declared.names)}")
    if categories and target in declared.numbers:
        write = "values = […] for it in the schema" if from_file else f"--classes {target}=…"
        raise ArgumentError(
            "target",
            target,
            f"a category, one of {format_names(declared.categories)}, and this has numbers",
            write=f"{write} where its numbers are names, or fit regression",
        )
    if not categories and target in declared.categories:
        raise ArgumentError(
            "target",
            target,
            f"one of {format_names(declared.numbers)}, and this is a category",
            write="fit classifier or fit logistic",
        )
