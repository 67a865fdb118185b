"""Write docs/trusted.md: trace real calls, and list the files and functions that a guarantee rests on.

``make trusted`` runs each call below in its own process under a profiler, and writes the called functions to
docs/trusted.md, below the marker that ends the hand-written part. Nothing is listed by hand: files, functions, counts
and the purpose of each file come from the trace and from the code. ``tests/test_trusted.py`` traces again and compares.

A trace is deterministic: compiled loops run as Python (``NUMBA_DISABLE_JIT``), random bytes come from a counter and
hashes have a fixed seed, in these processes only. Imports of modules, and what they call, are not part of a trace.
Calls of other threads come last, sorted.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import count, groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import discreet as dp

ROOT = Path(__file__).parents[1]
SOURCE = Path(dp.__file__).parent
PAGE = ROOT / "docs" / "trusted.md"
MARK = "<!-- What follows is written by `make trusted`. -->\n"

ROOMS = ("door", "noise", "ledger", "guarantees", "records")  # that every release needs
AIM_OF_ROOMS = 6000  # lines of code in them

# What calls import; imported before the forks, so that it is done once. No trace has imports.
SHARED = ("array_api_compat.numpy", "discreet.cli",
          "discreet.database", "discreet.estimators", "discreet.signals", "discreet.statistics", "duckdb", "narwhals",
          "numba", "pyarrow.parquet", "pydantic", "rich.progress", "scipy.cluster.vq", "scipy.integrate",
          "scipy.optimize", "scipy.stats", "sklearn.cluster", "typer")  # fmt: skip

Run = Callable[[Path], Iterator[None]]


# The calls. The part before ``yield`` prepares, the part after it is traced.


@dataclass(frozen=True)
class Call:
    """A call to trace: its heading, the aim for its lines of code, and its earlier figures."""

    title: str
    run: Run
    aim: int | None = None
    before: tuple[int, int, int] | None = None

    @property
    def about(self) -> str:
        """What the call does, in a sentence."""
        return inspect.getdoc(self.run) or ""

    @property
    def source(self) -> str:
        """The source of the traced part."""
        return textwrap.dedent(inspect.getsource(self.run).partition("    yield\n")[2]).strip()


PATHS: dict[str, Call] = {}  # listed with all files and functions
FIGURES: dict[str, Call] = {}  # listed with their figures only


def _path(title: str, aim: int | None = None) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        PATHS[run.__name__] = Call(title, run, aim)
        return run

    return register


def _figure(title: str, before: tuple[int, int, int]) -> Callable[[Run], Run]:
    """Register a call with the functions, files and changes of room that it had at commit 85db45e."""

    def register(run: Run) -> Run:
        FIGURES[run.__name__] = Call(title, run, before=before)
        return run

    return register


def _people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, stay = rng.normal(50.0, 10.0, 1000), rng.normal(30.0, 8.0, 1000)
    ward = np.where(age > 50.0, "medicine", "surgery")
    return pd.DataFrame({"patient": np.arange(1000) // 4, "age": age, "stay": stay, "ward": ward})


@_path("One sum from an array", aim=1000)
def array(folder: Path) -> Iterator[None]:
    """Sum two columns of numbers in memory."""
    rows = _people()[["age", "stay"]].to_numpy()
    ledger = f"{folder}/budget.db"
    yield
    curator = dp.Curator(
        rows, space=dp.Box([0, 0], [100, 100]), name="stays", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6)
    )
    curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.1))


@_path("Persons of several rows, from Parquet", aim=1400)
def persons(folder: Path) -> Iterator[None]:
    """Sum a file with four rows of each patient, of which two count."""
    _people().to_parquet(folder / "stays.parquet")
    ledger, path = f"{folder}/budget.db", folder / "stays.parquet"
    yield
    columns = {"age": dp.Number(0, 100), "stay": dp.Number(0, 100)}
    schema = dp.Schema(columns, unit="patient", unit_type="integer", max_rows=2)
    curator = dp.Curator(path, schema=schema, name="stays", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6))
    curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.1))


@_path("A file of text")
def file(folder: Path) -> Iterator[None]:
    """Sum a CSV file, in which each row stands for itself."""
    _people().to_csv(folder / "stays.csv", index=False)
    ledger, path = f"{folder}/budget.db", folder / "stays.csv"
    yield
    schema = dp.Schema({"age": dp.Number(0, 100), "stay": dp.Number(0, 100)})
    curator = dp.Curator(path, schema=schema, name="stays", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6))
    curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.1))


@_path("A database")
def database(folder: Path) -> Iterator[None]:
    """Sum a table of DuckDB, in which each row stands for itself."""
    import duckdb

    people = _people()  # which DuckDB finds by its name
    with duckdb.connect(folder / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE stays AS SELECT * FROM people")
    del people
    ledger, path = f"{folder}/budget.db", folder / "clinic.duckdb"
    yield
    schema = dp.Schema({"age": dp.Number(0, 100), "stay": dp.Number(0, 100)})
    curator = dp.Curator(
        dp.Table(path, "stays"), schema=schema, name="stays", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6)
    )
    curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.1))


@_path("A mixture of Gaussians")
def mixture(folder: Path) -> Iterator[None]:
    """Fit a model to an array, by several releases that are paid for at once."""
    rows = _people()[["age", "stay"]].to_numpy()
    ledger = f"{folder}/budget.db"
    yield
    curator = dp.Curator(
        rows, space=dp.Box([0, 0], [100, 100]), name="stays", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6)
    )
    dp.GaussianMixture(2, epsilon=0.5, delta=1e-6, n_steps=2).fit(curator)


@_path("A stream")
def stream(folder: Path) -> Iterator[None]:
    """Release running sums of rows that come day by day."""
    ledger = f"{folder}/budget.db"
    yield
    days = dp.signals.Stream(
        bounds=(0, 10), horizon=30, epsilon=0.5, name="stays", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6)
    )
    for rows in ([1.0, 2.5], [], [3.0]):
        days.add(rows)


@_figure("`GaussianMixture.fit(array)`", before=(294, 61, 83))
def fit(folder: Path) -> Iterator[None]:
    """Fit a model without a ledger."""
    rows = _people()[["age", "stay"]].to_numpy()
    yield
    dp.GaussianMixture(2, epsilon=1.0, delta=1e-6, n_steps=2, bounds=dp.Box([0, 0], [100, 100])).fit(rows)


@_figure("`db.mean(by, where)`", before=(375, 69, 103))
def mean(folder: Path) -> Iterator[None]:
    """Open a table for analysts, and answer one."""
    people, ledger = _people()[["age", "stay", "ward"]], f"{folder}/budget.db"
    columns: dict[str, Any] = {"age": dp.Number(0, 100), "stay": dp.Number(0, 100)}
    schema = dp.Schema(columns | {"ward": dp.Category(["medicine", "surgery"])})
    yield
    db = dp.StatisticalDatabase(people, schema=schema, name="stays", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6))
    db.mean("age", by="ward", where="stay > 20")


@_figure("`statistics.median`", before=(193, 44, 67))
def median(folder: Path) -> Iterator[None]:
    """Draw by the exponential mechanism, without a ledger."""
    ages = _people()["age"].to_numpy()
    yield
    dp.statistics.median(ages, epsilon=1.0, bounds=(0, 100))


@_figure("`discreet fit mixture`", before=(485, 95, 135))
def command(folder: Path) -> Iterator[None]:
    """Run a command that reads a CSV file and keeps a budget."""
    from discreet.cli import main

    _people().to_csv(folder / "stays.csv", index=False)
    arguments = f"fit mixture {folder}/stays.csv --bounds age=0:100 --bounds stay=0:100 --components 2 --steps 2"
    sys.argv = ["discreet", *arguments.split(), f"--out={folder}/model.json", f"--ledger={folder}/budget.db"]
    sys.argv += ["--epsilon=0.5", "--limit", "1:1e-6"]
    yield
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


# The trace.

Called = tuple[str, int, str]  # a file of the library, the first line of a function and its name


@cache
def _name(path: str) -> str:
    """Return the name of a file of the library, and nothing for others, nor for the list of its names."""
    inside = path.startswith(f"{SOURCE}{os.sep}") and path != str(SOURCE / "__init__.py")
    return str(Path(path).relative_to(SOURCE)) if inside else ""


class Profiler:
    """Notes which functions of the library are called, in the order in which they first are."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[Called, None]] = {}
        self._importing: dict[int, int] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take in an event of ``sys.setprofile``."""
        if event not in ("call", "return"):
            return
        code, thread = frame.f_code, threading.get_ident()
        if code.co_name == "<module>":
            self._importing[thread] = self._importing.get(thread, 0) + (1 if event == "call" else -1)
        elif event == "call" and not self._importing.get(thread) and (name := _name(code.co_filename)):
            self._calls.setdefault(thread, {})[name, code.co_firstlineno, code.co_name] = None

    def run(self, call: Callable[[], Any]) -> list[Called]:
        """Return what a call calls: first by this thread, then by others."""
        self._calls = {threading.get_ident(): {}}
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        own = self._calls.pop(threading.get_ident())
        others = sorted({called for calls in self._calls.values() for called in calls})
        return list(own | dict.fromkeys(others))


def _count_up() -> Callable[[int], bytes]:
    numbers = count()
    return lambda size: hashlib.shake_256(str(next(numbers)).encode()).digest(size)


def _trace_here(key: str) -> list[Called]:
    """Trace a call in this process, whose source of randomness is replaced."""
    os.urandom = random._urandom = _count_up()  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        run = (PATHS | FIGURES)[key].run(Path(folder))
        next(run)
        return Profiler().run(lambda: next(run, None))


def _trace_each(keys: list[str]) -> None:
    """Print the trace of each call on a line: made in a fork of this process, which has imported the library once."""
    for name in SHARED:
        import_module(name)
    for key in keys:
        child = os.fork()
        if not child:
            print(json.dumps([key, _trace_here(key)]), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise RuntimeError(f"{key} could not be traced")


@cache
def _traces() -> dict[str, list[Called]]:
    """Return what every call passes through, each traced in a process of its own."""
    fixed = {"NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": str(SOURCE.parent)}
    script = [sys.executable, "-W", "ignore", __file__, *PATHS, *FIGURES]
    done = subprocess.run(script, env=os.environ | fixed, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return {
        key: [(file, line, name) for file, line, name in calls]
        for key, calls in map(json.loads, done.stdout.splitlines())
    }


@cache
def trace(key: str) -> Trace:
    """Return what a call passes through."""
    return Trace.from_calls(_traces()[key])


# What was called, in the code.


@dataclass(frozen=True)
class Function:
    """A function of a file: its name there, and the numbers of its lines of code."""

    name: str
    first: int
    last: int
    lines: frozenset[int]


class Code:
    """A file of the library: its lines of code, its functions and what it is for."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        self.lines = _lines_of_code(text, tree)
        self.signatures = self.lines & _signatures(tree)
        self.refusals = self.lines & _refusals(tree)
        self.purpose = _first_sentence(ast.get_docstring(tree) or "")
        self.functions: dict[tuple[int, str], Function] = {}
        self._find(tree, "")

    def _find(self, node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            name = f"{inside}{child.name}" if named else f"{inside}lambda"  # type: ignore[attr-defined]
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                first = min([child.lineno, *(one.lineno for one in getattr(child, "decorator_list", []))])
                last = child.end_lineno or first
                lines = frozenset(line for line in self.lines if first <= line <= last)
                self.functions[first, getattr(child, "name", "<lambda>")] = Function(name, first, last, lines)
            self._find(child, f"{name}." if named else inside)


def _lines_of_code(text: str, tree: ast.Module) -> frozenset[int]:
    """Return the numbers of the lines that are no docstring, comment, import or blank."""
    left_out: set[int] = set()
    for node in ast.walk(tree):
        given = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and given:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                left_out.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return frozenset(n for n, line in lines if n not in left_out and line.strip() and not line.strip().startswith("#"))


def _signatures(tree: ast.Module) -> frozenset[int]:
    """Return the numbers of the lines of decorators and signatures."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    firsts = [min([node.lineno, *(one.lineno for one in node.decorator_list)]) for node in functions]
    return frozenset(
        n for first, node in zip(firsts, functions, strict=True) for n in range(first, node.body[0].lineno)
    )


def _refusals(tree: ast.Module) -> frozenset[int]:
    """Return the numbers of the lines that raise, with the conditions under which they do nothing else."""
    result: set[int] = set()
    for node in ast.walk(tree):
        guard = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)
        if isinstance(node, ast.Raise) or guard:
            last = node.body[-1] if isinstance(node, ast.If) else node
            result.update(range(node.lineno, (last.end_lineno or last.lineno) + 1))
    return frozenset(result)


def _first_sentence(docstring: str) -> str:
    words = " ".join(docstring.partition("\n\n")[0].split()).replace("``", "`")
    return words.partition(". ")[0].rstrip(".:") + "." if words else ""


@cache
def code(file: str) -> Code:
    """Return a file of the library."""
    return Code(SOURCE / file)


def room(file: str) -> str:
    """Return the room that a file stands in: its folder, or itself."""
    return Path(file).with_suffix("").parts[0]


@dataclass(frozen=True)
class Trace:
    """What a call passes through.

    Attributes
    ----------
    files : dict of str to tuple of Function
        Files in the order in which they are first entered; in each the functions that are called, as they stand there.
        One that stands inside another one that is called is a part of it.
    functions : int
        How many functions are called, those inside of others and lambdas among them; comprehensions are no functions.
    changes : int
        How often, from one function to the next in the order of their first calls, the room changes.
    """

    files: dict[str, tuple[Function, ...]]
    functions: int
    changes: int

    @classmethod
    def from_calls(cls, calls: list[Called]) -> Trace:
        """Return the trace of what a profiler saw."""
        known = [
            (file, code(file).functions[line, name])
            for file, line, name in calls
            if (line, name) in code(file).functions
        ]
        result: dict[str, set[Function]] = {}
        for file, function in known:
            result.setdefault(file, set()).add(function)
        files = {file: _outermost(functions) for file, functions in result.items()}
        changes = sum(room(one) != room(other) for (one, _), (other, _) in pairwise(known))
        return cls(files, sum(map(len, result.values())), changes)

    def lines(self, file: str) -> int:
        """Return how many lines of code of a file are on the path."""
        return _count_lines(self.files[file])

    @property
    def total(self) -> int:
        """How many lines of code are on the path."""
        return sum(map(self.lines, self.files))

    def count_kind(self, kind: str) -> int:
        """Return how many of them are ``signatures``, or ``refusals``."""
        return sum(
            len(frozenset().union(*(one.lines for one in functions)) & getattr(code(file), kind))
            for file, functions in self.files.items()
        )

    @property
    def rooms(self) -> dict[str, tuple[int, int]]:
        """The files and lines of each room, in the order of the rooms' first calls."""
        result: dict[str, tuple[int, int]] = {}
        for file in self.files:
            files, lines = result.get(room(file), (0, 0))
            result[room(file)] = files + 1, lines + self.lines(file)
        return result


def _outermost(functions: set[Function]) -> tuple[Function, ...]:
    kept: list[Function] = []
    for one in sorted(functions, key=lambda function: (function.first, -function.last, function.name)):
        if not kept or one.last > kept[-1].last:
            kept.append(one)
    return tuple(kept)


def _count_lines(functions: tuple[Function, ...]) -> int:
    return len(frozenset().union(*(one.lines for one in functions)))


def lines_in(name: str) -> int:
    """Return the lines of code of a whole room."""
    files = [*SOURCE.glob(f"{name}.py"), *(SOURCE / name).rglob("*.py")]
    return sum(len(code(str(file.relative_to(SOURCE))).lines) for file in files)


# The page.


def _heads(*names: str) -> str:
    return f"| {' | '.join(names)} |\n|{' --- |' * len(names)}\n"


def summary(key: str) -> str:
    """Return a path's row of the first table."""
    path, result = PATHS[key], trace(key)
    link = path.title.lower().replace(",", "").replace(" ", "-")
    aim = "" if path.aim is None else f"{path.aim:,}"
    kinds = f"{result.count_kind('signatures')} | {result.count_kind('refusals')}"
    figures = f"{result.functions} | {len(result.files)} | {result.changes}"
    return f"| [{path.title}](#{link}) | {result.total:,} | {aim} | {kinds} | {figures} |\n"


def figure(key: str) -> str:
    """Return a call's row of the table of figures."""
    call, result = FIGURES[key], trace(key)
    now, before = (result.functions, len(result.files), result.changes), call.before or (0, 0, 0)
    return f"| {call.title} | {' / '.join(map(str, now))} | {' / '.join(map(str, before))} | {result.total:,} |\n"


def rooms() -> str:
    """Return the table of the rooms that every release needs."""
    counted = {name: lines_in(name) for name in ROOMS}
    rows = "".join(f"| `{name}` | {lines:,} | |\n" for name, lines in counted.items())
    total = f"| together | {sum(counted.values()):,} | {AIM_OF_ROOMS:,} |\n"
    return f"{_heads('room', 'lines of code', 'aim')}{rows}{total}"


def section(key: str) -> str:
    """Return the files and functions of a path. Those of the first path are named there only."""
    path, result, first = PATHS[key], trace(key), next(iter(PATHS))
    read = {} if key == first else trace(first).files
    by_room = ", ".join(f"`{name}` {lines:,} in {_files(files)}" for name, (files, lines) in result.rooms.items())
    listed = "".join(_listed(result, read))
    beside = ""
    if key != first:
        new = sum(_count_lines(_unread(functions, read.get(file, ()))) for file, functions in result.files.items())
        beside = f" Of these, {new:,} lines are not on the path of an array; only they are named here."
    return (
        f"## {path.title}\n\n{path.about}\n\n```text\n{path.source}\n```\n\n"
        f"{result.total:,} lines of code: {by_room}.{beside}\n\n{listed}\n"
    )


def _listed(result: Trace, read: dict[str, tuple[Function, ...]]) -> Iterator[str]:
    """Yield an item for each file, and one for files that follow one another and were all read before."""
    for anew, files in groupby(result.files, lambda file: bool(_unread(result.files[file], read.get(file, ())))):
        if anew:
            yield from (_item(file, result, read.get(file, ())) for file in files)
        else:
            yield "1. Read above: " + ", ".join(f"`{file}` {result.lines(file)}" for file in files) + "\n"


def _item(file: str, result: Trace, read: tuple[Function, ...]) -> str:
    new = _unread(result.files[file], read)
    names = ", ".join(f"`{one.name}` {len(one.lines)}" for one in new)
    again = len(result.files[file]) - len(new)
    above = f"; {again} more read above" if again else ""
    head = f"1. **`{file}`**: {result.lines(file)} of {len(code(file).lines)} lines. {code(file).purpose}"
    return f"{head}<br>\n   {names}{above}\n"


def _unread(functions: tuple[Function, ...], read: tuple[Function, ...]) -> tuple[Function, ...]:
    return tuple(one for one in functions if one not in read)


def _files(files: int) -> str:
    return f"{files} file" if files == 1 else f"{files} files"


def render() -> str:
    """Return the traced part of the page."""
    columns = ("lines of code", "aim", "signatures", "refusals", "functions", "files", "changes of room")
    overview = _heads("path", *columns)
    others = _heads("call", "now", "before", "lines of code")
    return (
        f"\n## How long the paths are\n\n{overview}{''.join(map(summary, PATHS))}\n"
        f"All of the rooms that every release needs, whether a call gets there or not:\n\n{rooms()}\n"
        "Functions, files and changes of room of other calls, and what they were at commit 85db45e:\n\n"
        f"{others}{''.join(map(figure, FIGURES))}\n{''.join(map(section, PATHS)).rstrip()}\n"
    )


def main() -> None:
    """Write the page anew, or print the traces of some calls."""
    if len(sys.argv) > 1:
        _trace_each(sys.argv[1:])
        return
    words = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{words}{MARK}{render()}", encoding="utf-8")


if __name__ == "__main__":
    main()
