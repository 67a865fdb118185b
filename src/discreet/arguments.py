"""Checks of public arguments, and the one error that they raise.

Imports no other room.

An ``ArgumentError`` is a value: the argument, what was given, what is expected, and what to write instead. Its text
follows from these, and so does the command line's, which names a flag where Python names an argument.

Each check returns the value in the type that the caller works with, or raises. Only arguments that the analyst chose
are checked here. A number that comes from a row is never checked here: the error would reveal it.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MOST_LETTERS = 200  # the longest text of a value in an error
UNSHOWN: Any = object()  # in place of a value that an error must not show, or that would not help


class ArgumentError(ValueError):
    """An argument that cannot be used.

    Attributes
    ----------
    argument : str
        Its name in Python; several are separated by commas.
    value : str or None
        What was given, as text; None where it is not shown. The value itself is not held: it may be rows.
    given : dict
        The same for each of several arguments, which are handed over as two tuples.
    expected : str
        What would be accepted.
    write : str or None
        What to write instead, where that is known.
    question : (int, str) or None
        Where several questions were asked together, the number of the one that is refused, from 1, and that question in
        words.

    Examples
    --------
    >>> error = ArgumentError("epsilon", -1, "a finite number above 0", write="epsilon=1.0, for example")
    >>> print(error)
    epsilon=-1: expected a finite number above 0; write epsilon=1.0, for example
    >>> print(ArgumentError("ledger", UNSHOWN, "a path"))
    ledger: expected a path
    >>> print(ArgumentError(("epsilon", "share"), (1.0, 0.5), "one of them"))
    epsilon=1.0, share=0.5: expected one of them
    >>> print(error.in_question(2, "mean of age"))
    question 2 (mean of age): epsilon=-1: expected a finite number above 0; write epsilon=1.0, for example
    """

    def __init__(
        self,
        argument: str | tuple[str, ...],
        value: Any,
        expected: str,
        write: str | None = None,
        *,
        question: tuple[int, str] | None = None,
    ) -> None:
        pairs = zip(argument, value, strict=True) if isinstance(argument, tuple) else [(argument, value)]
        self.given = {name: None if one is UNSHOWN else format_value(one) for name, one in pairs}
        self.argument = ", ".join(self.given)
        self.value = ", ".join(text for text in self.given.values() if text is not None) or None
        self.expected, self.write, self.question = expected, write, question
        head = ", ".join(name if text is None else f"{name}={text}" for name, text in self.given.items())
        end = "" if write is None else f"; write {write}"
        super().__init__(f"{self.describe_question()}{head}: expected {expected}{end}")

    def describe_question(self) -> str:
        """Return the beginning of the text, which says which of several questions is refused; empty for one."""
        return "" if self.question is None else f"question {self.question[0]} ({self.question[1]}): "

    def in_question(self, number: int, description: str) -> ArgumentError:
        """Return the same error, which says in which of several questions it is."""
        return _from_fields(self.given, self.expected, self.write, (number, description))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_fields, (self.given, self.expected, self.write, self.question)


def _from_fields(
    given: dict[str, str | None], expected: str, write: str | None, question: tuple[int, str] | None
) -> ArgumentError:
    """Return an error from the fields of another one."""
    values = tuple(UNSHOWN if text is None else Verbatim(text) for text in given.values())
    return ArgumentError(tuple(given), values, expected, write, question=question)


class Verbatim(str):
    """Text that is its own ``repr``: a value of an error that is shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def format_value(value: Any) -> str:
    """Return a value as text for an error: its ``repr``, cut to ``MOST_LETTERS`` characters.

    ``repr`` raises for numbers of thousands of digits, for lists that are thousands of lists deep, and perhaps for
    objects of the caller; then the type is shown.

    >>> format_value("age"), format_value(10**5000), len(format_value("x" * 10**6))
    ("'age'", '<int>', 201)
    """
    try:
        table = bool(getattr(value, "shape", ()))  # of an array or a data frame, which may be rows
        text = f"<{type(value).__name__} of shape {tuple(value.shape)}>" if table else repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + "…"


def format_names(names: Iterable[Any]) -> str:
    """Return names or labels as a list for an error.

    >>> format_names(["age", "ward"]), format_names([])
    ("'age', 'ward'", '(there are none)')
    """
    return ", ".join(map(repr, names)) or "(there are none)"


def nearest_name(name: Any, known: Iterable[Any]) -> str | None:
    """Return the known name that was probably meant: the only one that begins so, else the most similar one, or None.

    >>> nearest_name("acc", ["auc", "accuracy"]), nearest_name("WARD", ["ward", "age"]), nearest_name("x", ["age"])
    ('accuracy', 'ward', None)
    """
    from difflib import get_close_matches

    if not isinstance(name, str):  # a data frame cannot be compared with text
        return None
    among = {one.lower(): one for one in known if isinstance(one, str) and one != name}
    begins = [one for one in among if name and one.startswith(name.lower())]
    near = begins if len(begins) == 1 else get_close_matches(name.lower(), among, n=1)
    return among[near[0]] if near else None


def suggest_name(name: Any, known: Iterable[Any]) -> str:
    """Return "; did you mean …?" for an error, with the name that was probably meant; an empty text if none is similar.

    >>> suggest_name("systlic", ["age", "systolic"]), suggest_name("x", ["age"])
    ("; did you mean 'systolic'?", '')
    """
    near = nearest_name(name, known)
    return "" if near is None else f"; did you mean {near!r}?"


def one_of(name: Any, known: Collection[Any]) -> str:
    """Return what is expected where an unknown name was given.

    >>> one_of("wrad", ["age", "ward"])
    "one of 'age', 'ward'; did you mean 'ward'?"
    """
    return f"one of {format_names(known)}{suggest_name(name, known)}"


def iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Return whether a value can be iterated over. An array of zero dimensions is one number, and cannot."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def is_list(value: Any) -> TypeGuard[Collection[Any]]:
    """Return whether a value holds others that can be gone through again and again, and is no text."""
    return isinstance(value, Collection) and iterable(value) and not isinstance(value, str)


def _number(name: str, value: Any, accepted: str, least: float, below: float) -> float:
    """Return a real number in [least, below) as a float; text, booleans, arrays and ``None`` are not converted."""
    if type(value) is float or (not isinstance(value, bool) and isinstance(value, Real)):  # NumPy's booleans are not
        with suppress(OverflowError):
            if least <= (number := float(value)) < below:
                return number
    raise ArgumentError(name, value, accepted)


def positive(name: str, value: Any, *, accepted: str = "a finite number above 0", below: float = math.inf) -> float:
    """Return ``value`` as a float if it is above 0 and below ``below``, by default any finite number.

    >>> positive("epsilon", 1)
    1.0
    >>> positive("epsilon", float("nan"))
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: epsilon=nan: expected a finite number above 0
    """
    return _number(name, value, accepted, math.ulp(0.0), below)


def nonnegative(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is finite and at least 0.

    >>> nonnegative("epsilon", 0)
    0.0
    """
    return _number(name, value, "a finite number, at least 0", 0.0, math.inf)


def probability(name: str, value: Any, *, accepted: str = "a probability in [0, 1)") -> float:
    """Return ``value`` as a float if it lies in [0, 1).

    >>> probability("delta", 1e-6)
    1e-06
    >>> probability("delta", 1)
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: delta=1: expected a probability in [0, 1)
    """
    return _number(name, value, accepted, 0.0, 1.0)


def integer(name: str, value: Any, *, least: int, most: int = sys.maxsize) -> int:
    """Return ``value`` as an int if it is a whole number from ``least`` to ``most``.

    >>> integer("steps", 3, least=1)
    3
    >>> integer("steps", 2.5, least=1)
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: steps=2.5: expected a whole number, at least 1
    """
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or not least <= whole <= most:
        wanted = f"a whole number, at least {least}" + ("" if whole <= most == sys.maxsize else f" and at most {most}")
        raise ArgumentError(name, value, wanted)
    return whole


def as_numbers(values: Any, name: str = "values") -> NDArray[np.float64]:
    """Return an array of floats; text, complex numbers and objects are refused, not converted.

    >>> as_numbers([1, 2.5]).tolist()
    [1.0, 2.5]
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ArgumentError(name, UNSHOWN, f"numbers, got an array of {array.dtype}")
    return array.astype(np.float64)


def choice(name: str, value: Any, accepted: Collection[str]) -> str:
    """Return ``value`` if it is one of the accepted names.

    >>> choice("method", "exact", ["linear", "exact"])
    'exact'
    >>> choice("method", "exakt", ["linear", "exact"])
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: method='exakt': expected one of 'linear', 'exact'; did you mean 'exact'?
    """
    if isinstance(value, str) and value in accepted:
        return value
    raise ArgumentError(name, value, one_of(value, accepted))


def naming_arguments(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function; an argument that it does not take is then refused with the one that was probably meant.

    >>> naming_arguments(lambda *, groups=1: groups)(group=5)
    Traceback (most recent call last):
        ...
    TypeError: group: not an argument of <lambda>; did you mean 'groups'?
    """
    taken = [*signature(function).parameters]

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        unknown = next((name for name in kwargs if name not in taken), None)
        if unknown is not None:
            near = suggest_name(unknown, taken) or f", which takes {', '.join(taken)}"
            raise TypeError(f"{unknown}: not an argument of {function.__name__}{near}")
        return function(*args, **kwargs)

    return call


def axes(value: Any) -> Any:
    """Return matplotlib's axes to draw on, as they are; an error where something else was given.

    >>> axes(3)
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: ax=3: expected the axes of a matplotlib figure, or None for new ones
    """
    if not all(callable(getattr(value, verb, None)) for verb in ("plot", "barh", "fill_between", "add_patch")):
        raise ArgumentError("ax", value, "the axes of a matplotlib figure, or None for new ones")
    return value
