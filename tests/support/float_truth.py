"""What sums over rows would be without a rounding: contributions in rational arithmetic, or with fifty digits.

A query's own code is run on symbols (``records.traced``) and what it wrote down is worked out in fractions. Mixtures
and classes take roots and exponentials: those are written once more here, from the formulas in their docstrings.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

from discreet.queries.moments.clipped_moments import CAP, ClippedMoments
from discreet.queries.moments.components import Components
from discreet.queries.question import Query
from discreet.records import Block
from discreet.sql.traced import OPERATORS, Column, make_row

__all__ = ["class_truth", "distance", "mixture_truth", "times", "traced_truth"]

Row = list[Fraction]
DIGITS = 50


def traced_truth(query: Query, x: np.ndarray, codes: np.ndarray) -> list[Row]:
    """Return the contributions of rows as fractions, from the operations that the query itself writes down."""
    numbers, labels = [f"x{j}" for j in range(x.shape[1])], [f"k{j}" for j in range(codes.shape[1])]
    cells = query.contributions(Block(make_row(numbers), make_row(labels))).cells[0]
    result = []
    for row, own in zip(x.tolist(), codes.tolist(), strict=True):
        given = dict(zip(numbers + labels, map(Fraction, row + own), strict=True))
        known: dict[int, object] = {}
        result.append([Fraction(_worked_out(cell, given, known)) for cell in cells])
    return result


def _worked_out(cell, given, known):
    if isinstance(cell, Column):
        return given[cell.name]
    if isinstance(cell, float | bool):
        return cell if isinstance(cell, bool) else Fraction(cell)
    if id(cell) not in known:
        operands = [_worked_out(one, given, known) for one in cell.operands]
        if cell.name == "case":
            result = operands[1] if operands[0] else operands[2]
        elif cell.name == "not":
            result = not operands[0]
        else:
            result = OPERATORS[cell.name](*operands)
        known[id(cell)] = result
    return known[id(cell)]


def mixture_truth(moments: ClippedMoments, y: np.ndarray) -> list[Row]:
    """Return responsibilities times full clipped moments of rows in the unit ball."""
    parts = moments.components
    with mpmath.workdps(DIGITS):
        result = []
        for row in y:
            z = [_whitened(parts.whitening[k], row) - _column(parts.offsets[k]) for k in range(parts.count)]
            logits = [
                mpmath.mpf(float(parts.log_constants[k])) - min(_squared(z[k]), mpmath.mpf(CAP)) / 2
                for k in range(parts.count)
            ]
            weights = [mpmath.exp(logit - max(logits)) for logit in logits]
            shares = [weight / mpmath.fsum(weights) for weight in weights]
            own = [_column(row) if moments.radius is None else _moved(each, moments.radius) for each in z]
            result.append(_moments(shares, own, moments.weights))
        return result


def class_truth(
    classes: Components, radius: float, weights: tuple[float, float, float], y: np.ndarray, labels: np.ndarray
) -> list[Row]:
    """Return full clipped moments of rows in the place of their class."""
    with mpmath.workdps(DIGITS):
        result = []
        for row, label in zip(y, labels, strict=True):
            shares = [mpmath.mpf(int(k == label)) for k in range(classes.count)]
            away = [_column(row) - _column(classes.means[k]) for k in range(classes.count)]
            own = [_moved(_matrix(classes.whitening[k]) * away[k], radius) for k in range(classes.count)]
            result.append(_moments(shares, own, weights))
        return result


def _matrix(values):
    return mpmath.matrix([[mpmath.mpf(float(value)) for value in row] for row in values])


def _column(values):
    return mpmath.matrix([mpmath.mpf(float(value)) for value in values])


def _whitened(whitening, row):
    return _matrix(whitening) * _column(row)


def _squared(z):
    return mpmath.fsum(one * one for one in z)


def _moved(z, radius):
    """Return z moved into the ball of a radius, over that radius."""
    return z / max(mpmath.sqrt(_squared(z)), mpmath.mpf(radius))


def _moments(shares, own, weights) -> Row:
    a, b, c = (mpmath.mpf(math.sqrt(weight)) for weight in weights)
    d = len(own[0])
    root = mpmath.mpf(math.sqrt(2.0))
    row = [a * share for share in shares]
    row += [b * share * each[i] for share, each in zip(shares, own, strict=True) for i in range(d)]
    for share, each in zip(shares, own, strict=True):
        row += [c * share * each[i] * each[j] * (1 if i == j else root) for i in range(d) for j in range(i, d)]
    return [_as_fraction(one) for one in row]


def _as_fraction(number) -> Fraction:
    sign, mantissa, exponent, _ = number._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def times(rows: list[Row], counts: np.ndarray) -> Row:
    """Return the sum of rows, each so many times."""
    return [sum(int(n) * row[j] for n, row in zip(counts, rows, strict=True)) for j in range(len(rows[0]))]


def distance(result: np.ndarray, ideal: Row) -> float:
    """Return the Euclidean distance, without a rounding that matters."""
    return math.sqrt(float(sum((Fraction(a) - b) ** 2 for a, b in zip(result.tolist(), ideal, strict=True))))
