"""All that an object holds: its attributes, and theirs, what closures, caches, views and weak references keep alive.

Two uses. ``same_by`` writes an object down, so that two of them can be compared bit by bit. ``Search`` looks through it
for numbers that must not be in there.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import math
import pickle
import re
import types
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["HOLDERS", "Search", "chained", "same_by", "walk"]

PLAIN = (bool, int, float, complex, str, bytes, bytearray, type(None), np.generic)
PUBLIC = (types.ModuleType, type, types.CodeType)  # of the program, not of an object
FUNCTIONS = (types.FunctionType, types.LambdaType)
HOLDERS = ("pandas", "polars", "pyarrow", "duckdb", "narwhals", "dask", "adbc_driver_postgresql", "sqlite3")
# Fractions, also within words; and whole numbers that stand alone, since hashes and names are full of others.
NUMBER = re.compile(r"(?<![\d.])[-+]?\d*\.\d+(?:[eE][-+]?\d+)?|(?<![\w.])[-+]?\d+(?:[eE][-+]?\d+)?(?![\w.])")
# How many digits a number in a text must have, so that it is none of the secrets by chance; more for one of many.
DIGITS, MORE_DIGITS, MANY = 6, 9, 100
COUNTS, RUN = 16, 6  # more whole numbers than that are searched for in runs


def walk(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield all that an object holds, itself first, each with the way to it."""
    stack, seen, kept = [("", thing)], set(), []
    while stack:
        path, one = stack.pop()
        if isinstance(one, PUBLIC):
            continue
        if not isinstance(one, PLAIN):
            if id(one) in seen:
                continue
            seen.add(id(one))
            kept.append(one)  # or its id would be another's
        yield path, one
        stack.extend(reversed([(path + step, child) for step, child in _children(one)]))


def _children(one: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(one, PLAIN):
        return
    if isinstance(one, Mapping):
        for place, (key, value) in enumerate(list(one.items())):
            yield f"<key {place}>", key
            yield f"[{key!r}]" if isinstance(key, str | int) else f"<value {place}>", value
    elif isinstance(one, list | tuple | deque):
        yield from ((f"[{place}]", value) for place, value in enumerate(list(one)))
    elif isinstance(one, set | frozenset):
        yield from (("<member>", value) for value in sorted(one, key=repr))
    elif isinstance(one, np.ndarray):
        if one.dtype.hasobject:
            yield from (("[…]", value) for value in one.ravel().tolist())
        yield "<base>", one.base
    elif isinstance(one, FUNCTIONS):
        cells = zip(one.__code__.co_freevars, one.__closure__ or (), strict=True)
        yield from ((f"<closure {name}>", cell) for name, cell in cells)
        yield from (("<default>", value) for value in (one.__defaults__, one.__kwdefaults__))
    elif isinstance(one, types.CellType):
        try:
            yield "", one.cell_contents
        except ValueError:  # an empty one
            return
    elif isinstance(one, types.MethodType | types.BuiltinMethodType):
        yield from (("<self>", one.__self__), ("<function>", getattr(one, "__func__", None)))
    elif isinstance(one, functools.partial):
        yield from (("<function>", one.func), ("<given>", one.args), ("<named>", one.keywords))
    elif isinstance(one, weakref.ref):
        yield "<weak>", one()
    elif isinstance(one, types.GeneratorType):
        yield "<frame>", dict(one.gi_frame.f_locals) if one.gi_frame is not None else None
    elif type(one).__module__ == "builtins" or not (hasattr(one, "__dict__") or hasattr(one, "__slots__")):
        yield from (("<within>", value) for value in gc.get_referents(one))
    if inspect.getattr_static(one, "cache_info", None):  # of functools; its results are behind no attribute
        yield from (("<cached>", value) for value in gc.get_referents(one) if not isinstance(value, PUBLIC))
    for kind in type(one).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if isinstance(kind.__dict__.get(name), types.MemberDescriptorType):  # no code runs to read it
                with contextlib.suppress(AttributeError):
                    yield f".{name}", kind.__dict__[name].__get__(one)
    own = getattr(one, "__dict__", None)
    if isinstance(own, dict):
        yield from ((f".{name}", value) for name, value in list(own.items()) if name != "__wrapped__")


def same_by(thing: Any) -> list[tuple[str, str, Any]]:
    """Return an object written down: all that it holds, with types, shapes and every bit of every number."""
    result = []
    for path, one in walk(thing):
        kind = f"{type(one).__module__}.{type(one).__qualname__}"
        if isinstance(one, np.ndarray):
            bits = None if one.dtype.hasobject else one.tobytes()
            result.append((path, kind, (str(one.dtype), one.shape, bits)))
        elif isinstance(one, float | np.floating):
            result.append((path, kind, float(one).hex()))
        elif isinstance(one, PLAIN):
            result.append((path, kind, one))
        else:
            result.append((path, kind, getattr(one, "__qualname__", None)))
    return result


def chained(error: BaseException) -> list[BaseException]:
    """Return an error and all that it carries along."""
    result, stack = [], [error]
    while stack:
        one = stack.pop()
        if one is not None and not any(one is other for other in result):
            result.append(one)
            stack += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return result


class Search:
    """A search for numbers that must not be found.

    Parameters
    ----------
    secrets : mapping of str to float or array
        What is searched for, by name. Numbers of less than seven digits say too little to be told apart, and are left
        out, but for whole ones from ``least`` on. Of many whole numbers, as in tables of counts, each could stand
        anywhere: they are searched for ``RUN`` at a time, in their order.
    public : sequence of float
        What may be found all the same: numbers that were declared.
    least : int
        From where on a whole number is one that nothing but the rows could tell.
    """

    def __init__(self, secrets: Mapping[str, Any], public: Any = (), least: int = 100) -> None:
        known: dict[float, str] = {}
        self._many: set[str] = set()
        lists = [(name, np.asarray(given, dtype=np.float64).ravel().tolist()) for name, given in secrets.items()]
        counts = [(name, given) for name, given in lists if len(given) > COUNTS and all(map(float.is_integer, given))]
        lists = [one for one in lists if one not in counts]
        self._runs = [
            (f"{name}[{place}:{place + RUN}]", np.array(given[place : place + RUN]).tobytes())
            for name, given in counts
            for place in range(0, len(given) - RUN + 1, RUN)
            if len({*given[place : place + RUN]}) > RUN // 2
        ]
        for name, given in sorted(lists, key=lambda one: -len(one[1])):  # one of few is the better name
            for place, value in enumerate(given):
                if math.isfinite(value) and _telling(value, least) and value not in public:
                    known[abs(value)] = f"{name}[{place}]"
                    self._many |= {f"{name}[{place}]"} if len(given) > MANY else set()
        self._values = np.array(sorted(known))
        self._names = [known[value] for value in self._values.tolist()]
        self.walked = self.looked_at = 0

    def __len__(self) -> int:
        return len(self._values)

    def among(self, numbers: Any, relative: float = 1e-12) -> list[str]:
        """Return which secrets are among some numbers, up to rounding."""
        given = np.asarray(numbers, dtype=np.float64).ravel()
        there = given.tobytes()
        runs = [name for name, run in self._runs if run in there] if len(given) >= RUN else []
        given = np.abs(given[np.isfinite(given) & (given != 0.0)])
        self.looked_at += len(given)
        if not len(given) or not len(self._values):
            return runs
        places = np.searchsorted(self._values, given)
        result = set()
        for near in (np.clip(places - 1, 0, None), np.clip(places, None, len(self._values) - 1)):
            hit = np.abs(self._values[near] - given) <= relative * given
            result |= {self._names[place] for place in near[hit].tolist()}
        return runs + sorted(result)

    def in_text(self, text: str) -> list[str]:
        """Return which secrets a text spells, to as many digits as it has and at least six."""
        result = []
        for match in NUMBER.finditer(text):
            digits = len(match[0].lower().split("e")[0].lstrip("+-0.").replace(".", ""))
            whole = match[0].lstrip("+-").isdigit()
            if digits >= (4 if whole else DIGITS):  # a noisy count that was rounded has three
                near = self.among([float(match[0])], 1e-12 if whole else 0.51 * 10.0 ** (1 - digits))
                result += [name for name in near if digits >= MORE_DIGITS or name not in self._many]
        return result

    def in_bytes(self, data: bytes) -> list[str]:
        """Return which secrets stand in bytes, as floats of either order."""
        result = []
        for start in range(min(8, len(data))):
            there = data[start : start + (len(data) - start) // 8 * 8]
            for kind in ("<f8", ">f8"):
                with np.errstate(invalid="ignore"):  # most bytes are no numbers
                    result += self.among(np.frombuffer(there, dtype=kind).astype(np.float64), 0.0)
        return result

    def within(self, thing: Any) -> list[str]:
        """Return where an object holds a secret, or anything that holds rows."""
        result = []
        for path, one in walk(thing):
            self.walked += 1
            room = type(one).__module__
            if room.split(".")[0] in HOLDERS or type(one).__name__ in ("Curator", "Records", "Ledger", "Schedule"):
                result.append(f"{path}: a {room}.{type(one).__qualname__}")
            elif isinstance(one, np.ndarray | np.generic) and one.dtype.kind in "iuf":
                result += [f"{path}: {name}" for name in self.among(one)]
            elif isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < 1e300:
                result += [f"{path}: {name}" for name in self.among([one])]
            elif isinstance(one, str):
                result += [f"{path}: {name} in {one[:60]!r}" for name in self.in_text(one)]
            elif isinstance(one, bytes | bytearray):
                result += [f"{path}: {name}" for name in self.in_bytes(bytes(one))]
        return result

    def in_pickle(self, thing: Any) -> list[str]:
        """Return which secrets a pickle holds; nothing where an object cannot be pickled."""
        try:
            data = pickle.dumps(thing)
        except (TypeError, AttributeError, pickle.PicklingError):  # a function of the user's own
            return []
        return self.in_bytes(data) + self.in_text(data.decode("latin-1"))


def _telling(value: float, least: int) -> bool:
    if value == int(value):
        return abs(value) >= least and math.frexp(value)[0] != 0.5  # powers of two are everywhere
    return float(f"{value:.6g}") != value
