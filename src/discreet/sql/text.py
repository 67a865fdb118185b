"""Writes traced expressions and the exact sums of contributions as SQL.

What the text computes is what ``Reading.block`` and the kernel compute (``traced``), row by row. Two things differ:

**The sum is exact.** A row's numbers c, of norm at most B ≤ 2^e, are rounded to multiples of 2^(e−52) and added up as
whole numbers, which no order of the rows changes. Rounding moves a number by at most 2^(e−53) ≤ 2⁻⁵²B, and a row of D
numbers by 2⁻⁵²·√D·B. For D ≤ ``MOST_NUMBERS`` = 2¹⁴ that is 2⁻⁴⁵B, and N rows sum to within 2⁻⁴⁵·N·B. A source
guarantees γ·N·B with γ = ``float_error(block_rows)`` ≥ 2⁻⁵³·block_rows, so blocks of ``LEAST_BLOCK`` = 2⁹ rows or more
keep it up to D = 2¹⁴, where 2⁻⁵²·2⁷ = 2⁻⁴⁵ < 2⁻⁴⁴ = 2⁻⁵³·2⁹. The scaling by a power of two is exact, and the
whole numbers stay below 2⁵³: each of them fits 64 bits, their sum has as many digits as it needs.

**What is tiny becomes 0.** PostgreSQL fails where a product or a quotient underflows or overflows, and an error would
tell of the row. ``Size`` follows, from the declared bounds on, how large each step can get, how small where it is not
0, and how far off it is. Where a product might underflow, factors below ``TINY`` become 0 first: a·b for |a| ≤ m and
|b| ≤ n, off by e and f, is off by at most m·f + n·e + e·f, and by TINY·max(m, n) more for that. Steps that could exceed
``HUGE`` or underflow all the same, comparisons of what is off at all, and sums that are off by 2⁻⁶⁰·B or more are not
written down.

Text comes from declared names (quoted), numbers (written out in full) and declared categories (quoted). Nothing that
an analyst writes gets here but as a number or as the place of a declared column (``conditions``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from discreet.sql.traced import TRUTHS, Column, NotTraceable, Step

MOST_NUMBERS = 2**14
LEAST_BLOCK = 2**9
MOST_TEXT = 2**22
TINY, HUGE, SAFE = 1e-60, 1e60, 1e-280
LEAST_NORM, MOST_NORM = 2.0**-900, 2.0**52


def quote_identifier(name: str) -> str:
    """Return a name for SQL.

    >>> print(quote_identifier('the "old" ward'))
    "the ""old"" ward"
    """
    return '"' + name.replace('"', '""') + '"'


def write_float(number: float) -> str:
    """Return a number that is read back as the same float."""
    return f"CAST('{number:.17e}' AS FLOAT8)"


def write_text(text: str) -> str:
    """Return text for SQL; what no database takes, a NUL and half of a surrogate pair, cannot be written."""
    if "\0" in text or text.encode(errors="ignore").decode() != text:
        raise NotTraceable("a character")
    return "'" + text.replace("'", "''") + "'"


class Size(NamedTuple):
    """What is known of an expression's size; see the module.

    Attributes
    ----------
    most : float
        It is never larger.
    least : float
        Where it is not 0, it is never smaller.
    off : float
        How far it may be from what exact factors would have given.
    """

    most: float
    least: float = 0.0
    off: float = 0.0


class Writer:
    """Expressions as SQL.

    Parameters
    ----------
    sizes : mapping of str to Size, or None
        Those of the columns, where the database fails for an underflow; None where it does not.
    """

    def __init__(self, sizes: Mapping[str, Size] | None) -> None:
        self._sizes = sizes
        self._texts: dict[int, str] = {}
        self._known: dict[int, Size] = {}
        self._left = MOST_TEXT

    def write(self, cells: Sequence[Any], norm: float | None = None) -> list[str]:
        """Return the text of each expression.

        Parameters
        ----------
        cells : sequence of float, bool, Column or Step
        norm : float, optional
            B, where they are contributions.
        """
        try:
            texts = [self._text(cell) for cell in cells]
            careful = self._sizes is not None and norm is not None
            if careful and any(self._size(cell).off >= 2.0**-60 * (norm or 0.0) for cell in cells):
                raise NotTraceable("the error")
            return texts
        except RecursionError:
            raise NotTraceable("the depth") from None

    def name_shared(self, cells: Sequence[Any]) -> list[str]:
        """Return text that gives a name to each step that stands in several places of some expressions.

        From then on it is written by that name. A step inside of one that has a name has none of its own.
        """
        places: dict[int, int] = {}
        steps: list[Step] = []
        waiting = [cell for cell in cells if isinstance(cell, Step)]
        while waiting:
            step = waiting.pop()
            places[id(step)] = places.get(id(step), 0) + 1
            if places[id(step)] == 1:
                steps.append(step)
                waiting += [cell for cell in step.operands if isinstance(cell, Step)]
        chosen = [step for step in steps if places[id(step)] > 1]
        inside = {id(cell) for step in chosen for cell in _find_inner_steps(step)}
        outer = [step for step in chosen if id(step) not in inside]
        texts = self.write(outer)
        for number, step in enumerate(outer):
            self._texts[id(step)] = f"s{number}"
        return [f"{text} AS s{number}" for number, text in enumerate(texts)]

    def _text(self, cell: Any) -> str:
        if id(cell) not in self._texts:
            self._texts[id(cell)] = self._step(cell) if isinstance(cell, Step) else _write_leaf(cell)
        self._left -= len(self._texts[id(cell)])
        if self._left < 0:
            raise NotTraceable("the length")
        return self._texts[id(cell)]

    def _step(self, step: Step) -> str:
        texts = [self._text(cell) for cell in step.operands]
        if step.name in ("least", "greatest"):
            return f"{step.name.upper()}({texts[0]}, {texts[1]})"
        if step.name == "not":
            return f"(NOT {texts[0]})"
        if step.name == "case":
            return f"(CASE WHEN {texts[0]} THEN {texts[1]} ELSE {texts[2]} END)"
        plain = f"({texts[0]} {step.name.upper()} {texts[1]})"
        tiny = [text for text, guard in zip(texts, self._find_guards(step), strict=True) if guard]
        if not tiny:
            return plain
        tests = " OR ".join(f"ABS({text}) < {write_float(TINY)}" for text in tiny)
        return f"(CASE WHEN {tests} THEN {write_float(0.0)} ELSE {plain} END)"

    def _find_guards(self, step: Step) -> tuple[bool, bool]:
        """Return which of two operands become 0 where they are tiny, lest the step underflow."""
        if self._sizes is None or step.name not in ("*", "/"):
            return False, False
        one, other = (self._size(cell) for cell in step.operands)
        factor = other.least if step.name == "*" else 1.0 / other.most
        if one.least * factor >= SAFE:
            return False, False
        return one.least < TINY, step.name == "*" and other.least < TINY

    def _size(self, cell: Any) -> Size:
        if id(cell) not in self._known:
            result = self._compute_size(cell)
            if not result.most + result.off <= HUGE:
                raise NotTraceable("the size")
            self._known[id(cell)] = result
        return self._known[id(cell)]

    def _compute_size(self, cell: Any) -> Size:
        assert self._sizes is not None
        if isinstance(cell, Column):
            return self._sizes[cell.name]
        if not isinstance(cell, Step):
            return Size(abs(float(cell)), abs(float(cell)) or HUGE)
        sizes = [self._size(operand) for operand in cell.operands]
        if cell.name in TRUTHS:
            if any(one.off for one in sizes):
                raise NotTraceable("a comparison")
            return Size(1.0, 1.0)
        one, other = sizes[-2:]
        if cell.name in ("case", "least", "greatest"):
            return Size(max(one.most, other.most), min(one.least, other.least), max(one.off, other.off))
        if cell.name in ("+", "-"):
            return Size(one.most + other.most, 0.0, one.off + other.off)
        return self._product(cell, one, other)

    def _product(self, step: Step, one: Size, other: Size) -> Size:
        first, second = self._find_guards(step)
        a = max(one.least, TINY) if first else one.least
        b = max(other.least, TINY) if second else other.least
        if step.name == "/":
            divisor = step.operands[1]
            if not isinstance(divisor, float) or not 1.0 / HUGE <= abs(divisor) <= HUGE:
                raise NotTraceable("a quotient")
            result = Size(one.most / other.most, a / other.most, (one.off + TINY * first) / other.most)
        else:
            mixed = one.most * other.off + other.most * one.off + one.off * other.off
            lost = TINY * max(one.most, other.most) if first or second else 0.0
            result = Size(one.most * other.most, a * b, mixed + lost)
        if result.least < SAFE:
            raise NotTraceable("an underflow")
        return result


def _find_inner_steps(step: Step) -> list[Step]:
    """Return the steps inside of one."""
    result: dict[int, Step] = {}
    waiting = [step]
    while waiting:
        for cell in waiting.pop().operands:
            if isinstance(cell, Step) and id(cell) not in result:
                result[id(cell)] = cell
                waiting.append(cell)
    return list(result.values())


def _write_leaf(cell: Any) -> str:
    if isinstance(cell, Column):
        return quote_identifier(cell.name)
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if not (isinstance(cell, float) and math.isfinite(cell)):
        raise NotTraceable("a constant")
    return write_float(cell)


def find_exponent(norm: float) -> int:
    """Return by what power of two numbers are multiplied before they are rounded: 52 − e.

    It is from 2⁰ to 2⁹⁵³, so multiplying by it neither underflows nor, for what is at most the norm, overflows.
    """
    if not LEAST_NORM < norm < MOST_NORM:
        raise NotTraceable("the norm")
    return 52 - math.frexp(norm)[1]  # norm < 2^e


def write_whole(expression: str, exponent: int) -> str:
    """Return an expression times a power of two, as a whole number."""
    return f"CAST(ROUND({expression} * {write_float(math.ldexp(1.0, exponent))}) AS BIGINT)"


def write_total(column: str, tests: Sequence[str]) -> str:
    """Return the sum of a column of whole numbers over the rows for which all tests hold, as text."""
    chosen = f"CASE WHEN {' AND '.join(tests)} THEN {column} END" if tests else column
    return f"CAST(COALESCE(SUM({chosen}), 0) AS VARCHAR)"
