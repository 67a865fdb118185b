"""The parser of conditions: from text in Python's syntax to a tree (``conditions``); none of the text is run.

``ast.parse`` gives a tree of syntax, of which a short list of shapes is copied into a tree of our own, and all else is
refused.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from discreet.arguments import ArgumentError, Verbatim, nearest_name, suggest_name
from discreet.records.cells import category_key, read_date
from discreet.records.declared.conditions import (
    MOST_CHARACTERS,
    MOST_COMPARISONS,
    MOST_DEPTH,
    And,
    Condition,
    Membership,
    Not,
    NumberComparison,
    Or,
    check_size,
    is_read_as_written,
    join_conditions,
    quote_name,
    shorten,
    size_error,
)
from discreet.records.declared.declared_numbers import as_number

SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
EXAMPLE = "write for example 18 <= age < 65 and sex == 'female'"

# What people write who think of SQL, or of arrays.
HINTS = [
    (r"\bis\s+(not\s+)?(null|none)\b|\bnull\b|\bnone\b|\bnan\b",
     "write it without: gaps cannot be asked about; a row that has one is left out, or filled, as declared"),
    (r"\d{4}-\d\d-\d\d", "write the day in quotes, for example admitted >= '2023-01-31'"),
    (r"\bbetween\b", "write for example 18 <= age <= 65"),
    (r"\blike\b", "write the declared values, for example ward in ['a', 'b']"),
    (r"<>|≠", "write !="),
    (r"=>|=<|≥|≤", "write >= or <="),
    (r"(?<![<>=!])=(?!=)", "write == where two things shall be the same"),
    (r"&|\||~|!(?!=)", "write and, or, not; and parentheses around what belongs together"),
    (r"(?-i:\b(AND|OR|NOT|IN)\b)", "write and, or, not, in with small letters"),
]  # fmt: skip

# A name in backticks, a string, or anything else. Strings have no prefix and do not touch, so they end where Python
# ends them.
PIECE = re.compile(
    r"""`(?P<name>(?:[^`]|``)+)`(?!`)"""
    r"""|(?P<string>(?<![\w'"])(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")(?!['"]))"""
    r"""|(?P<rest>[^`'"]+)""",
    re.DOTALL,
)


class Parser:
    """A text and the declared columns. Once the text is parsed, only error messages use it."""

    def __init__(
        self, text: Any, numbers: Collection[str] | Mapping[str, str], categories: Mapping[str, Sequence[Any]]
    ) -> None:
        if not isinstance(text, str):
            given = Verbatim(type(text).__name__)
            raise ArgumentError("where", given, "a condition as text", write=EXAMPLE.removeprefix("write "))
        if len(text) > MOST_CHARACTERS:
            raise size_error(text)
        self._text, self._categories = text, categories
        scales = numbers if isinstance(numbers, Mapping) else dict.fromkeys(numbers, "linear")
        self._kinds = {**scales, **dict.fromkeys(categories, "category")}  # of every declared column
        self._names: dict[str, str] = {}  # what stands in the text of Python for a name in backticks
        self._left = MOST_COMPARISONS

    def _error(self, expected: str, write: str = EXAMPLE) -> ArgumentError:
        return ArgumentError("where", Verbatim(shorten(self._text)), expected, write=write.removeprefix("write "))

    def _hint(self, usual: str) -> str:
        """Return what to write in the place of what looks like another language."""
        plain = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", " ", self._text)
        return next((write for pattern, write in HINTS if re.search(pattern, plain, re.IGNORECASE)), usual)

    def condition(self) -> Condition:
        """Return the condition."""
        if not self._text.strip():
            raise self._error("a condition", "write where=None where all rows count")
        source = self._source()
        tree = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # Python warns of odd numbers and backslashes: a mistake, here
                tree = ast.parse(source, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
        if tree is None:  # outside of the except block: Python's own error shows a text that nobody wrote
            raise self._error(
                "a condition in Python's syntax, with names that are no identifiers in backticks",
                self._hint("write for example age >= 18 and `blood pressure` < 140"),
            )
        return check_size(self._condition(tree, 1))

    def _source(self) -> str:
        """Return the text with a plain name for each name in backticks."""
        text = self._text.strip(" ")
        stem = "c"
        while stem in text:
            stem += "c"
        pieces: list[str] = []
        place = level = 0
        while place < len(text):
            piece = PIECE.match(text, place)
            if piece is None:
                raise self._error(
                    "plain strings and names in backticks, each with its end",
                    'write for example ward == "O\'Brien" and `blood pressure` < 140',
                )
            place = piece.end()
            name, rest = piece["name"], piece["rest"]
            if name is not None:
                pieces.append(f" {stem}{len(pieces)} ")  # spaces, or it would be one word with what stands beside it
                self._names[pieces[-1].strip()] = name.replace("``", "`")
                continue
            if not piece[0].isprintable() or (rest is not None and ("#" in rest or not is_read_as_written(rest))):
                raise self._error(
                    "one line without comments, and outside of strings no character that Python takes for another",
                    "write it in one line, and names with unusual characters in backticks",
                )
            for character in rest or "":
                level += (character in "([{") - (character in ")]}")
                if level > MOST_DEPTH:
                    raise size_error(self._text)
            pieces.append(piece[0])
        return "".join(pieces).strip(" ")

    def _condition(self, node: ast.expr, depth: int) -> Condition:
        if depth > MOST_DEPTH:
            raise size_error(self._text)
        match node:
            case ast.BoolOp(op=word, values=values):
                parts = [self._condition(value, depth + 1) for value in values]
                return join_conditions(And if isinstance(word, ast.And) else Or, parts)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return Not((self._condition(part, depth + 1),))
            case ast.Compare(left=left, ops=signs, comparators=others):
                if len(signs) > self._left or depth + (len(signs) > 1) > MOST_DEPTH:
                    raise size_error(self._text)
                pairs = zip(pairwise([left, *others]), signs, strict=True)
                return join_conditions(And, [self._compared(*pair, sign) for pair, sign in pairs])
            case ast.Name():
                column = self._column(node)
                last = self._categories.get(column, ())[-1:]
                raise self._error("a comparison, not a column alone", f"write {self._example(column, *last)}")
        self._check_words(node)
        raise self._error("comparisons of declared columns, joined by and, or, not")

    def _compared(self, left: ast.expr, right: ast.expr, sign: ast.cmpop) -> Condition:
        """Return one comparison of a chain."""
        self._check_words(left, right)
        if isinstance(sign, ast.In | ast.NotIn):
            return self._listed(left, right, isinstance(sign, ast.In))
        self._left -= 1
        if type(sign) not in SYMBOLS:
            raise self._error("one of <, <=, >, >=, ==, !=, in, not in", self._hint("write == in the place of is"))
        symbol = SYMBOLS[type(sign)]
        if not isinstance(left, ast.Name):
            left, right, symbol = right, left, MIRRORED.get(symbol, symbol)
        if not isinstance(left, ast.Name):
            raise self._error("a declared column on one side of each comparison", self._as_a_name(left, right))
        self._check_quotes(left, right)
        columns = [self._column(node) for node in (left, right) if isinstance(node, ast.Name)]
        labels = [column for column in columns if column in self._categories]
        if not labels:
            dated = [self._kinds[column] == "date" for column in columns]
            if len(columns) > 1:
                if dated[0] != dated[1]:
                    raise self._error(f"dates beside dates: one of {columns[0]!r} and {columns[1]!r} has numbers")
                return NumberComparison(columns[0], symbol, columns[1])
            if dated[0]:
                return NumberComparison(columns[0], symbol, self._day(right, columns[0]), dated=True)
            return NumberComparison(columns[0], symbol, self._number(right, columns[0]))
        write = f"write {self._example(labels[0])}"
        if len(columns) > 1:
            raise self._error(f"a declared value beside the column {labels[0]!r}, not a column", write)
        if symbol not in ("==", "!="):
            raise self._error(f"== or != beside {labels[0]!r}, since its categories have no order", write)
        return self._among(labels[0], [right], symbol == "==")

    def _listed(self, left: ast.expr, right: ast.expr, within: bool) -> Condition:
        """Return a comparison with a list of categories."""
        word = "in" if within else "not in"
        if not isinstance(left, ast.Name) or not isinstance(right, ast.List | ast.Tuple) or not right.elts:
            name = left.id if isinstance(left, ast.Name) and left.id in self._categories else "sex"
            values = list(self._categories.get(name, ("female", "male")))[:2]
            raise self._error(
                f"a column before {word!r} and a list of its declared values after it",
                f"write for example {quote_name(name)} {word} {values!r}",
            )
        column = self._column(left)
        if column not in self._categories:
            one, two = ("'2023-01-31'", "'2023-02-28'") if self._kinds[column] == "date" else ("1", "2")
            raise self._error(
                f"a column of categories before {word!r}, and {column!r} has {'dates' if one != '1' else 'numbers'}",
                f"write {quote_name(column)} == {one} or {quote_name(column)} == {two}",
            )
        self._left -= len(right.elts)
        if self._left < 0:
            raise size_error(self._text)
        return self._among(column, right.elts, within)

    def _among(self, column: str, nodes: Sequence[ast.expr], within: bool) -> Condition:
        declared = self._categories[column]
        known = {category_key(value): code for code, value in enumerate(declared)}
        codes = set()
        for node in nodes:
            value = _literal(node)
            code = None if value is None else known.get(category_key(value))
            if code is None:
                values = ", ".join(map(repr, declared))
                raise self._error(
                    f"one of the values that are declared for {column!r}, which are {values}",
                    f"write {self._example(column, value)}",
                )
            codes.add(code)
        places = tuple(sorted(codes))
        return Membership(column, places, tuple(declared[code] for code in places), within)

    def _number(self, node: ast.expr, column: str) -> float:
        value = _literal(node)
        result = as_number(value)
        if result != value or math.isinf(result):  # NaN too, where it is no number
            raise self._error(
                f"a finite number that a float holds beside {column!r}, or another column of numbers",
                self._hint(f"write for example {quote_name(column)} >= 18"),
            )
        return result + 0.0  # 0 for −0

    def _day(self, node: ast.expr, column: str) -> float:
        days = read_date(_literal(node))
        if not math.isfinite(days) or days != int(days):
            raise self._error(
                f"a day beside {column!r}, which has dates", f"write for example {quote_name(column)} >= '2023-01-31'"
            )
        return days

    def _column(self, node: ast.Name) -> str:
        name = self._names.get(node.id, node.id)
        if name not in self._kinds:
            raise self._error(
                f"one of {', '.join(map(repr, self._kinds))}, since the column {shorten(name)} is not declared",
                "write its name as it is declared, in backticks if it is no identifier"
                f"{suggest_name(name, self._kinds)}",
            )
        return name

    def _example(self, column: str, value: Any = None) -> str:
        """Return a comparison of a column, of categories with the declared one that is most similar to a value."""
        if column in self._categories:
            declared = {str(one): one for one in self._categories[column]}
            near = str(value) if str(value) in declared else nearest_name(value, declared)
            other = declared[near or next(iter(declared))]
        else:
            other = "2023-01-31" if self._kinds[column] == "date" else 1
        return f"{quote_name(column)} == {other!r}"

    def _check_words(self, *nodes: ast.expr) -> None:
        """Raise where comparisons are joined as arrays are; & and | bind more tightly than a comparison does."""
        for node in nodes:
            match node:
                case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor()) | ast.UnaryOp(op=ast.Invert()):
                    raise self._error(
                        "the words and, or, not between comparisons",
                        "write and, or, not, for example age > 18 and sex == 'female'",
                    )

    def _as_a_name(self, *nodes: ast.expr) -> str:
        """Return what to write where a string is the name of a column."""
        for value in map(_literal, nodes):
            if isinstance(value, str) and value in self._kinds:
                return f"write the column's name as {quote_name(value)}, without quotes"
        return EXAMPLE

    def _check_quotes(self, *nodes: ast.expr) -> None:
        """Raise where a category stands without its quotes, beside its column."""
        names = [self._names.get(node.id, node.id) for node in nodes if isinstance(node, ast.Name)]
        columns = [name for name in names if name in self._categories]
        for name in names:
            if columns and name not in self._kinds:
                raise self._error(
                    f"a declared value of {columns[0]!r}, text in quotes", f"write {self._example(columns[0], name)}"
                )


def _literal(node: ast.expr) -> str | int | float | bool | None:
    """Return the text, number or truth value that is written, None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value
    return None
