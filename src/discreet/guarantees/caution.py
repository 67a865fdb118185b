"""Warnings about guarantees that are weaker than they look: a large ε, or a δ that is large for the number of records.

**δ.** Consider a mechanism that publishes each record as a whole with probability δ, independently, and nothing
otherwise. It satisfies (0, δ): a neighbour changes one record, and the two outputs differ only where that record is
published. Over n records it publishes nδ of them on average. A single record is exposed only with probability δ. But
the data set as a whole is not protected by a δ above 1/n: a whole record may be expected to be published, whatever ε
is.

**ε.** From even odds, the best guess about a record may be right with probability e^ε/(1 + e^ε), which is 99.995 % at
ε = 10.

A curator warns when a guarantee is about to be spent on its rows, and when a budget is declared for them
(``warn_if_weak``). Only public numbers are looked at: ε, δ, and the number of records where it is public.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from discreet.guarantees.composition import compose
from discreet.guarantees.guarantee import Guarantee
from discreet.guarantees.loss import Loss, as_counts

WEAK = 10.0  # a larger ε guarantees almost nothing
STRONG, MILD = 1.0, 0.01  # expected exposed records above which to warn, and above which to mention it
ANY = 1e-3  # a larger δ is too large for any number of records
LARGEST = 1e9  # the ε that is shown for losses that have none
USUAL = 1e-6  # the δ at which losses are read where the number of records is private
ROUNDING = 1.0 + 1e-9  # n times MILD/n may come out above MILD
LIBRARY = str(Path(__file__).parents[1])


class PlanningWarning(UserWarning):
    """Warns of a guarantee that is weaker than it looks.

    >>> issubclass(PlanningWarning, UserWarning)
    True
    """


class WeakGuaranteeWarning(PlanningWarning):
    """Warns, before anything is spent, of an ε above 10, or of a δ above one over the number of records.

    >>> issubclass(WeakGuaranteeWarning, PlanningWarning)
    True
    """


def is_too_large(failure: float, n: int | None) -> bool:
    """Return whether this probability of complete failure among n records deserves a warning."""
    return n is not None and n * failure > STRONG * ROUNDING


def delta_caution(failure: float, n: int | None, unit: str) -> str:
    """Describe the problem of this probability of complete failure among n records; empty where it is small.

    >>> delta_caution(1e-9, 1000, "record")
    ''
    >>> print(delta_caution(2e-3, 1000, "record"))
    δ=0.002 is above 1/n: ... publishes n times 0.002 = 2 whole records on average; ... at most 1e-05.
    """
    if n is None or n * failure <= MILD * ROUNDING:
        return ""
    number = f"n times {failure:.3g} = {n * failure:.2g}"
    within = f"it allows a mechanism that publishes {number} whole {unit}s on average"
    advice = f"write a δ of at most {_round_down(MILD / n)}."
    if not is_too_large(failure, n):
        return f"δ={failure:.3g} could be smaller for n={n}: {within}; {advice}"
    return f"δ={failure:.3g} is above 1/n: {within}; {advice}"


def guarantee_caution(guarantee: Guarantee, n: int | None = None, unit: str = "record") -> str:
    """Describe what is weak about a guarantee that is about to be spent; empty where nothing is.

    The number of records may be private (None). Then only a δ that is too large for any number of records is reported.

    >>> guarantee_caution(Guarantee(1.0, 1e-6), 1000), guarantee_caution(Guarantee(1.0, 1e-6))
    ('', '')
    >>> print(guarantee_caution(Guarantee(20.0, 0.9)))
    ε=20 guarantees almost nothing: ... δ=0.9 is not small: it allows a mechanism that publishes each record whole ...
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta
    cautions = []
    if epsilon > WEAK * ROUNDING:
        chance = "practically always" if epsilon > 20.0 else f"in {100.0 / (1.0 + math.exp(-epsilon)):.7g} % of cases"
        cautions.append(
            f"ε={epsilon:.3g} guarantees almost nothing: from even odds, a guess about a {unit} may be right {chance}; "
            "write an ε of at most 10, preferably about 1."
        )
    if is_too_large(delta, n):
        cautions.append(delta_caution(delta, n, unit))
    elif n is None and delta > ANY * ROUNDING:
        within = f"it allows a mechanism that publishes each {unit} whole with that probability"
        cautions.append(f"δ={delta:.3g} is not small: {within}; write for example 1e-6.")
    return " ".join(cautions)


def warn_if_weak(spent: Guarantee | Sequence[Loss], n: int | None, unit: str) -> None:
    """Warn where a guarantee, or the composition of losses, is weak for n records (None where n is private).

    The warning points at the line outside of the library that asked. The ε of losses is taken at δ = 1e-6, or a
    hundredth of 1/n if that is less.
    """
    stated = spent if isinstance(spent, Guarantee) else _at_usual_delta(spent, n)
    if stated is not None and is_weak(stated, n):
        warnings.warn(guarantee_caution(stated, n, unit), WeakGuaranteeWarning, stacklevel=lines_to_caller())


def is_weak(guarantee: Guarantee, n: int | None) -> bool:
    """Return whether ε is above 10, or δ above 1/n, or above ``ANY`` where n is private."""
    large = guarantee.delta > ANY * ROUNDING if n is None else is_too_large(guarantee.delta, n)
    return large or guarantee.epsilon > WEAK * ROUNDING


def _at_usual_delta(losses: Sequence[Loss], n: int | None) -> Guarantee | None:
    """Return about the guarantee of losses; None where basic composition shows that it is not weak.

    Basic composition costs nothing, and exact composition may take a second.
    """
    failure = math.fsum(loss.failure for loss in losses)
    epsilon = math.fsum(loss.pure for loss in losses)
    if epsilon <= WEAK and not failure:
        return None
    most = USUAL if n is None else min(USUAL, MILD / max(n, 1))
    if epsilon > WEAK:
        each, counts = most / len(losses), as_counts(losses)
        epsilon = math.fsum(count * loss.epsilon_at(loss.failure + each) for loss, count in counts.items())
        if epsilon > WEAK and len(losses) > 1:
            epsilon = compose(counts).epsilon(min(failure, 0.5) + most)
    return Guarantee(min(max(epsilon, most), LARGEST), min(failure, 0.5), losses[0].neighbors)


def lines_to_caller() -> int:
    """Return the ``stacklevel`` with which a warning points at the first line outside of the library."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARY):
        level, frame = level + 1, frame.f_back
    return level


def _round_down(value: float) -> str:
    """Return ``value`` rounded down to two digits, so that following the advice causes no further warning."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / step * ROUNDING) * step:.2g}"
