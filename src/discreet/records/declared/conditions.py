"""Conditions, which say by comparisons of declared columns which rows count.

A condition is a small tree of comparisons, of declared names, declared categories and finite numbers.
``condition_text`` parses it from a text in Python's syntax, no part of which is ever run.

Why a condition is safe: whether a condition holds, h(x), is a function of one row alone, filled and clipped as it was
declared, and of public numbers. So a sum Σ c(x) over the rows for which it holds is the sum of h(x)·c(x) over all rows,
with h(x) 0 or 1: each row contributes what it did, or nothing, as a row does that is dropped for a missing value. Of a
unit at most as many rows contribute as before, since its limit comes first. Every bound allows for dropped rows
(``queries.bound``): add-remove moves the sum by ‖c(x)‖ at most, replace-one by the larger of ‖c(x) − c(x')‖ and ‖c(x)‖.
How many rows are left is private; ``Reading.complete`` is False, and no proof takes their number as public.
"""

from __future__ import annotations

import keyword
import operator
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

from discreet.arguments import ArgumentError, Verbatim
from discreet.records.cells import format_day

MOST_CHARACTERS, MOST_DEPTH, MOST_COMPARISONS = 2000, 50, 200

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Condition(ABC):
    """What must hold for a row to count: a frozen tree, which can be hashed, pickled, joined with ``&`` and printed.

    Examples
    --------
    >>> adults = Condition.parse("not (age < 18 or sex in ['f', 'x'])", ["age"], {"sex": ("f", "m", "x")})
    >>> print(adults & Condition.parse("65 > age", ["age"], {}))
    not (age < 18 or sex in ['f', 'x']) and age < 65
    """

    parts: tuple[Condition, ...] = ()

    @staticmethod
    def parse(
        text: Any, numbers: Collection[str] | Mapping[str, str], categories: Mapping[str, Sequence[Any]]
    ) -> Condition:
        """Return the condition that a text says.

        The language is a part of Python's: comparisons of a numeric column with a number or with another numeric
        column, and of a column of dates with a day as ``'2023-01-31'``, also in chains; ``==``, ``!=``, ``in`` and
        ``not in`` between a column of categories and its declared values; ``and``, ``or``, ``not`` and parentheses. A
        name that is no identifier of Python stands in backticks, in which a backtick is written twice. 1, 1.0 and "1"
        are one category, as everywhere. Numbers are in the units of the cells, also where a column is on a log scale.

        Names are compared character by character. Python itself would take some characters for others (NFKC): where
        it would, outside of backticks and strings, the text is refused.

        Parameters
        ----------
        text : str
            In one line of at most 2,000 characters, 200 comparisons, and 50 levels.
        numbers : collection of str, or mapping of str to str
            The numeric columns; a mapping says for each "linear", "log" or "date".
        categories : mapping of str to sequence
            The columns of categories, with their declared values in the order of their codes.

        Returns
        -------
        Condition
            With ``Condition.parse(str(condition), numbers, categories) == condition``.
        """
        from discreet.records.declared.condition_text import Parser

        return Parser(text, numbers, categories).condition()

    @abstractmethod
    def holds(self, x: Any, codes: Any, numbers: Sequence[str], labels: Sequence[str]) -> Any:
        """Return for each row whether the condition holds, by elementwise operations alone.

        Parameters
        ----------
        x : array of shape (n, d)
            The numeric columns, filled and clipped, in any library.
        codes : array of shape (n, k)
            The codes of the categories.
        numbers, labels : sequence of str
            The names of these columns, in order.

        Returns
        -------
        array of shape (n,)
            Booleans.
        """

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it looks at."""
        return frozenset().union(*(part.columns for part in self.parts))

    @property
    def comparisons(self) -> int:
        """How many comparisons there are."""
        return sum(part.comparisons for part in self.parts)

    @property
    def depth(self) -> int:
        """How many levels there are."""
        return 1 + max((part.depth for part in self.parts), default=0)

    @abstractmethod
    def __str__(self) -> str: ...

    def __and__(self, other: Condition) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented
        return check_size(join_conditions(And, [self, other]))


@dataclass(frozen=True)
class NumberComparison(Condition):
    """A numeric column against a number, or another numeric column; ``dated`` where the number is a day."""

    column: str
    symbol: str
    other: float | str
    dated: bool = False

    def holds(self, x: Any, codes: Any, numbers: Sequence[str], labels: Sequence[str]) -> Any:
        """Return for each row whether it holds."""
        other = x[:, numbers.index(self.other)] if isinstance(self.other, str) else self.other
        return OPERATORS[self.symbol](x[:, numbers.index(self.column)], other)

    @property
    def columns(self) -> frozenset[str]:
        """One column, or two."""
        return frozenset([self.column, self.other] if isinstance(self.other, str) else [self.column])

    @property
    def comparisons(self) -> int:
        """One."""
        return 1

    def __str__(self) -> str:
        if isinstance(self.other, str):
            other = quote_name(self.other)
        else:
            other = f"'{format_day(self.other)}'" if self.dated else _write_number(self.other)
        return f"{quote_name(self.column)} {self.symbol} {other}"


@dataclass(frozen=True)
class Membership(Condition):
    """A column of categories against some of its declared values; ``codes`` are their places, in order."""

    column: str
    codes: tuple[int, ...]
    values: tuple[str | int | bool, ...]
    within: bool

    def holds(self, x: Any, codes: Any, numbers: Sequence[str], labels: Sequence[str]) -> Any:
        """Return for each row whether it holds."""
        column = codes[:, labels.index(self.column)]
        result = reduce(operator.or_, [column == code for code in self.codes])
        return result if self.within else ~result

    @property
    def columns(self) -> frozenset[str]:
        """The column."""
        return frozenset([self.column])

    @property
    def comparisons(self) -> int:
        """One with each value."""
        return len(self.codes)

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{quote_name(self.column)} {'==' if self.within else '!='} {self.values[0]!r}"
        return f"{quote_name(self.column)} {'in' if self.within else 'not in'} {list(self.values)!r}"


@dataclass(frozen=True)
class Not(Condition):
    """What holds where its one part does not."""

    parts: tuple[Condition, ...]

    def holds(self, x: Any, codes: Any, numbers: Sequence[str], labels: Sequence[str]) -> Any:
        """Return for each row whether it holds."""
        return ~self.parts[0].holds(x, codes, numbers, labels)

    def __str__(self) -> str:
        return f"not {_write_inside(self.parts[0])}"


@dataclass(frozen=True)
class And(Condition):
    """What holds where all of its parts do: two or more, none of the same kind; ``a and (b and c)`` is one of three."""

    parts: tuple[Condition, ...]
    word: ClassVar[str] = "and"
    join: ClassVar[Callable[[Any, Any], Any]] = operator.and_

    def holds(self, x: Any, codes: Any, numbers: Sequence[str], labels: Sequence[str]) -> Any:
        """Return for each row whether it holds."""
        return reduce(type(self).join, [part.holds(x, codes, numbers, labels) for part in self.parts])

    def __str__(self) -> str:
        return f" {self.word} ".join(map(_write_inside, self.parts))


@dataclass(frozen=True)
class Or(And):
    """What holds where one of its parts does."""

    word: ClassVar[str] = "or"
    join: ClassVar[Callable[[Any, Any], Any]] = operator.or_


def _write_inside(part: Condition) -> str:
    """Return a condition as it is written inside of another."""
    return f"({part})" if isinstance(part, And) else str(part)


def join_conditions(kind: type[And], parts: Sequence[Condition]) -> Condition:
    """Return several conditions as one, without parts of the same kind."""
    flat = [inner for part in parts for inner in (part.parts if type(part) is kind else (part,))]
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def check_size(condition: Condition) -> Condition:
    """Return a condition that can be written down and read again."""
    shown = str(condition)
    if len(shown) > MOST_CHARACTERS or condition.depth > MOST_DEPTH or condition.comparisons > MOST_COMPARISONS:
        raise size_error(shown)
    return condition


def size_error(text: str) -> ArgumentError:
    """Return the error for a condition that is too long or too deep."""
    most = f"{MOST_COMPARISONS} comparisons and {MOST_DEPTH} levels"
    expected = f"at most {MOST_CHARACTERS:,} characters, chains and spaces written out, {most}"
    return ArgumentError("where", Verbatim(shorten(text)), expected, "a shorter one, or make a column of it")


def shorten(value: Any) -> str:
    """Return what the analyst wrote, or its beginning."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:76]} …{shown[-1]}"


def is_read_as_written(text: str) -> bool:
    """Return whether Python reads names in the text as they are written."""
    return text.isprintable() and unicodedata.normalize("NFKC", text) == text


def quote_name(name: str) -> str:
    """Return a column's name as it is written in a condition."""
    if name.isidentifier() and not keyword.iskeyword(name) and is_read_as_written(name):
        return name
    return "`" + name.replace("`", "``") + "`"


def _write_number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
