"""Safe calls of a user's code on private rows, so that nothing but the declared numbers leaves the call.

``attempt`` makes a call total. The result is a new array of NumPy's own class, float64, of the requested shape, or
None. Nothing else leaves the call:

- *Exceptions.* Every exception is a failure, also those that are not an ``Exception``: a ``SystemExit`` does not end
  the process, and a ``KeyboardInterrupt`` raised by the code itself stops nothing. The exception is dropped here, with
  its text, its cause and the frames that contain rows.
- *A real Ctrl-C* ends the call. It is distinguished from one raised by the code by the signal: while the code runs on
  the main thread, a handler records it. (Python delivers signals to no other thread.) After the code has been left, the
  previous handler is called and a new ``KeyboardInterrupt`` is raised, without text, cause or context. So code that
  catches the first one does not swallow it.
- *The return value* is converted before it is used. ``numpy.asarray`` takes the data of a subclass of ``ndarray`` as
  they are, so no operator, property or mask of another class takes part in a later comparison. Masked values become
  NaN. Objects that compute on demand (a lazy array, ``__array__``, ``__float__``) do so inside the call. Numbers that
  are not real, text, dates and other shapes are failures. The shape is checked before anything is copied.
- *Warnings* are dropped (``silence_warnings``).

Assumptions that cannot be checked from outside: the code does not write, print, log or send the rows, stores nothing of
them, neither ends the process nor exhausts its memory, and its running time reveals nothing that matters.
"""

from __future__ import annotations

import signal
import threading
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer
from discreet.guarantees import Guarantee, Loss, Neighbors
from discreet.queries.bound import Setting
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Question, RowQuery
from discreet.records import Block, Box
from discreet.records.generic_arrays import to_host

Array = NDArray[np.float64]

REAL = "biufO"  # kinds of NumPy's types; objects are numbers if float() takes each of them


class NotNumbers(ValueError):  # noqa: N818  (it names what is wrong, as WrongBound does)
    """A result of another shape or another kind than was asked for; its text says which."""


def as_numbers(result: Any, shape: tuple[int, ...]) -> Array:
    """Return a result as a new float64 array of NumPy's own class, with NaN for masked values; raise where it is none.

    >>> as_numbers(np.ma.masked_invalid([1, np.inf]), (2,)).tolist()
    [1.0, nan]
    """
    data = to_host(result)
    if data.shape != shape:
        raise NotNumbers(f"shape {data.shape}")
    if data.dtype.kind not in REAL:
        raise NotNumbers(f"values of type {data.dtype}")
    values = np.array(data, dtype=np.float64)
    if isinstance(result, np.ma.MaskedArray):
        values[np.asarray(np.ma.getmaskarray(result), dtype=np.bool_)] = np.nan
    return values


def attempt(f: Callable[[], Any], shape: tuple[int, ...]) -> Array | None:
    """Return the numbers that a user's code returns, or None where it fails; see the module.

    >>> attempt(lambda: [1, 2.5], (2,)).tolist()
    [1.0, 2.5]
    >>> attempt(lambda: 1 / 0, ()) is None
    True
    """
    result = None
    with _Interruptions() as interruptions, silence_warnings():
        try:
            interruptions.inside = True
            result = as_numbers(f(), shape)
        except BaseException:  # no call in here: Python runs handlers of signals at calls, and one would have a context
            result = None
        interruptions.inside = False
    return result


def attempt_rows(f: Callable[[slice], Any], count: int, width: int, otherwise: float) -> Array:
    """Return ``width`` numbers for each row, ``otherwise`` for a row on which a user's code fails.

    Where it fails on several rows together, it is called again with half of them, down to one row. So one row does not
    affect the others, and the value used for a row does not depend on other rows.

    Parameters
    ----------
    f : callable
        From a slice of the rows to their numbers, shape (rows, width); each row's a function of that row alone.
    count, width : int
    otherwise : float

    Examples
    --------
    >>> attempt_rows(lambda some: 1 / np.array([[1], [2], [0], [4]], dtype=object)[some], 4, 1, 0.0)[:, 0].tolist()
    [1.0, 0.5, 0.0, 0.25]
    """
    values = np.full((count, width), otherwise)
    waiting = [slice(0, count)] if count else []
    while waiting:
        some = waiting.pop()
        size = some.stop - some.start
        result = attempt(partial(f, some), (size, width))
        if result is not None:
            values[some] = result
        elif size > 1:
            middle = some.start + size // 2
            waiting += [slice(middle, some.stop), slice(some.start, middle)]
    return values


class _Interruptions:
    """Records a Ctrl-C while a user's code runs, and passes it on afterwards."""

    def __init__(self) -> None:
        self.inside = False  # the code: the only place where it is raised at once
        self._came = False
        self._before: Any = None  # the handler that was there

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if callable(self._before):
                try:
                    signal.signal(signal.SIGINT, self._note)
                except ValueError:  # another interpreter than the main one: no signal comes here
                    self._before = None
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if self.inside:
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is None:
            return
        if signal.getsignal(signal.SIGINT) is not self._before:  # ours, or one that the code has set
            signal.signal(signal.SIGINT, self._before)
        if self._came:
            handler: Any = self._before
            handler(signal.SIGINT, None)  # no frame: that one's would hold rows
            raise KeyboardInterrupt


_running: list[None] = []  # one entry for each call that is under way; append and pop are atomic


class _Always(type):
    def __subclasscheck__(cls, other: type) -> bool:
        return bool(_running)


class WhileOwnCodeRuns(Warning, metaclass=_Always):
    """A category that every warning belongs to while a user's code runs, and none otherwise."""


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Drop all warnings of the process for as long as this lasts, NumPy's of floats included; right on threads.

    ``warnings.catch_warnings`` would not do: it saves the filters of the whole process and puts them back, so of two
    threads the one that leaves first ends the silence of the other, and the one that leaves last may leave the process
    silent for good. Here nothing is saved, and nothing is put back. Two things are added once, and stay: a filter that
    ignores ``WhileOwnCodeRuns``, and a look at the same question before a warning is shown. Both ask how many calls are
    under way, on any thread, and do nothing while there is none.

    The filter is what a warning meets first, so that filters of the user (``"error"``) do not change results. It can
    lose its place, to code that sets filters itself or to a ``catch_warnings`` of another thread. What is shown
    nevertheless is then dropped by the second, which no such block replaces: it stands before ``showwarning`` and
    before the lists of those that record.

    Warnings of other threads that come meanwhile are dropped as well: they may be of threads that the code started.
    """
    _running.append(None)
    try:
        _add_once()
        with np.errstate(all="ignore"):
            yield
    finally:
        _running.pop()


def _add_once() -> None:
    if not warnings.filters or warnings.filters[0][2] is not WhileOwnCodeRuns:
        warnings.simplefilter("ignore", WhileOwnCodeRuns)
    show = vars(warnings).get("_showwarnmsg")
    if show is not None and not isinstance(show, _QuietShow):
        vars(warnings)["_showwarnmsg"] = _QuietShow(show)


class _QuietShow:
    """What Python calls to show a warning, for those that may be shown."""

    def __init__(self, show: Callable[[Any], None]) -> None:
        self._show = show

    def __call__(self, message: Any) -> None:
        if not _running:
            self._show(message)


LARGEST, SMALLEST = 1e300, 1e-300  # what a Box takes


class RowMechanism(Mechanism):
    """A mechanism whose input are the rows. Its ``name`` is that of the question, for the ledger and the release."""

    name: ClassVar[str]

    @abstractmethod
    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return the loss that spends a guarantee on this mechanism."""

    @abstractmethod
    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the plan of a draw from rows; every refusal is raised here."""

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the plan for a question that gathers rows, and raise for any other."""
        if not isinstance(question, RowQuery):
            raise ArgumentError("query", question.name, "one that gathers rows")
        return self.plan_rows(loss, setting)


@dataclass(frozen=True, eq=False)
class MechanismQuery(RowQuery):
    """The rows together, as the input of a ``RowMechanism``.

    Parameters
    ----------
    way : RowMechanism
    numbers : int
        How many numeric columns there are.
    """

    way: RowMechanism
    numbers: int

    @property
    def name(self) -> str:  # type: ignore[override]
        """The mechanism's."""
        return self.way.name

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        return self.way

    @property
    def dimension(self) -> int:
        """The number of numeric columns."""
        return self.numbers

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return the mechanism's."""
        return self.way.default_loss(guarantee)


@dataclass(frozen=True, eq=False)
class WholeRows(MechanismQuery):
    """All columns of the rows: the numeric ones in their units, then the number of each category.

    Parameters
    ----------
    way : RowMechanism
    numbers, labels : int
        How many columns of each kind.
    """

    labels: int

    @classmethod
    def for_rows(cls, rows: Any, way: RowMechanism) -> WholeRows:
        """Return the question for rows of these ``columns`` and ``categories``."""
        return cls(way, len(rows.columns), len(rows.categories))

    @property
    def width(self) -> int:
        """All columns."""
        return self.numbers + self.labels

    def take(self, block: Block) -> Any:
        """Return all columns of each row."""
        xp = array_namespace(block.x)
        return xp.concat([block.x, xp.astype(block.codes, xp.float64)], axis=1) if self.labels else block.x


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A user's function, made total: from rows to a vector in a declared box.

    Whatever the function does (an exception, a NaN, another shape, a warning), the result is a vector in the box, and
    no message reports it: a declared default replaces every failure (``attempt``).

    Parameters
    ----------
    f : callable
        From rows, an array of shape (rows, columns) in the data's units, to numbers.
    box : Box
        The results are clipped to it; it has one column for each result.
    shape : tuple of int
        The shape that f must return.
    default : array of shape (box.dimension,)
        Used in place of numbers that f fails to return.
    """

    f: Callable[[Array], Any]
    box: Box
    shape: tuple[int, ...]
    default: Array

    @classmethod
    def with_output(
        cls, f: Callable[[Array], Any], output: Any, size: int | None = None, default: Any = None
    ) -> UserFunction:
        """Return the function with its results in ``output`` = (low, high); of one number where ``size`` is None.

        The default is the middle of the box, unless another one is given.
        """
        if not callable(f):
            raise ArgumentError("f", f, "a function of rows", write="for example lambda rows: rows.mean()")
        if not isinstance(output, tuple | list) or len(output) != 2:
            raise ArgumentError("output", output, "(low, high), what f returns", write="for example (0, 100)")
        size = None if size is None else integer("size", size, least=1)
        try:
            box = Box(*output)
            shape = (box.columns,) if box.columns is not None else () if size is None else (size,)
            box = box.for_columns(size or box.columns or 1)
        except ValueError:
            many = "numbers" if size is None else f"numbers, one or {size} of each"
            raise ArgumentError(
                "output",
                output,
                f"low < high, finite {many}, of at most {LARGEST:g} in size and at least {2 * SMALLEST:g} apart",
                write="for example (0, 100)",
            ) from None
        try:
            given = np.asarray(box.center if default is None else default, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            given = np.array(np.nan)
        if given.ndim > 1 or given.size not in (1, box.dimension) or not np.all(np.isfinite(given)):
            many = "a finite number" + (f", or {box.dimension} of them" if box.dimension > 1 else "")
            raise ArgumentError("default", default, f"{many}", write="for example default=0.0")
        return cls(f, box, shape, box.clip(np.broadcast_to(given, (box.dimension,))))

    @classmethod
    def scalar(cls, f: Callable[[Array], Any], output: Any, default: Any) -> UserFunction:
        """Return a function with one result; raise where ``output`` is for several."""
        own = cls.with_output(f, output, None, default)
        if own.shape:
            raise ArgumentError(
                "output",
                output,
                "(low, high), one number each, since f returns one number; for several, write sample_and_aggregate, "
                "or a call for each",
            )
        return own

    def __call__(self, rows: Array) -> Array:
        """Return the function's result on rows, clipped to the box; it never raises and never warns."""
        result = attempt(partial(self.f, rows), self.shape)
        if result is None:
            return self.default
        result = result.reshape(-1)
        return np.asarray(self.box.clip(np.where(np.isfinite(result), result, self.default)))

    def as_output(self, values: Array) -> Any:
        """Return numbers in the shape of the function's result; one number as a float."""
        return values.reshape(self.shape).copy() if self.shape else float(values[0])

    @property
    def largest(self) -> float:
        """A bound on the size of every number."""
        low, high = np.abs(np.asarray(self.box.low)), np.abs(np.asarray(self.box.high))
        return max(float(low.max()), float(high.max()), 1e-280)


def require_public_count(setting: Setting, query: str) -> None:
    """Raise where the number of rows is not public, because rows may be dropped or a unit may have several."""
    if setting.neighbors is not Neighbors.REPLACE_ONE or not setting.complete:
        raise ArgumentError(
            "query",
            query,
            "replace-one, and rows that all count and are units of their own, since their number must be public",
            write="missing='fill' for columns with gaps, and one row for each person",
        )
