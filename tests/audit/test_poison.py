"""Poisoned rows change nothing but released numbers, whatever is asked of them and wherever they come from.

Each question is asked of poisoned rows first, and what the door lets out is written down. Then it is asked of clean
rows, and the door lets out the same numbers again. Now everything must be the same, bit by bit: what was fitted with
all that it holds, errors, warnings, what was printed and logged, and what the ledger has. So nothing beside the
released numbers tells of a row: whatever there is follows from them and from what is public.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import discreet as dp
import discreet.door.exit
import every
from discreet import mechanisms, signals, statistics
from discreet.noise import SecureBits
from effort import LONG, measured, size
from walked import same_by, walk

Table = dict[str, list[Any]]
NUMBERS, LABELS = ["a", "b", "w", "t", "p"], ["g", "s"]
ODD = [1e308, -1e308, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1.7976931348623157e308, -0.0, 1e-310]


def _spread(values: list[Any], columns: list[str]) -> Callable[[Table], Table]:
    """Return a poison that puts values into some rows of some columns, another one each time."""

    def poisoned(table: Table) -> Table:
        result = {name: list(column) for name, column in table.items()}
        for place in range(0, len(result["a"]), 3):
            for shift, name in enumerate(columns):
                result[name][place] = values[(place + shift) % len(values)]
        return result

    return poisoned


def _all(columns: list[str], row: int = 0) -> Callable[[Table], Table]:
    """Return a poison that makes all rows equal in some columns."""
    return lambda table: {
        name: [column[row]] * len(column) if name in columns else column for name, column in table.items()
    }


POISONS: dict[str, Callable[[Table], Table]] = {
    "odd numbers": _spread(ODD, NUMBERS),
    "huge": _spread([1e308, -1e308], NUMBERS),
    "not a number": _spread([math.nan], NUMBERS),
    "subnormal": _spread([5e-324, -1e-310], NUMBERS),
    "unknown categories": _spread(["?", "", "U", "u ", "NaN", "7", "é" * 50], LABELS),
    "no cell": _spread([None], [*NUMBERS, *LABELS]),
    "all rows equal": _all([*NUMBERS, *LABELS]),
    "constant columns": _all(["a", "w", "g"]),
    "all at one end": lambda table: {**table, "a": [1e308] * len(table["a"]), "t": [-1e308] * len(table["a"])},
    "all missing": lambda table: {name: [None] * len(column) for name, column in table.items()},
}
TEXT = {"text": _spread(["what?", "1e999", "", "NaN", "-inf", "0x10", "1_0"], NUMBERS)}  # where types are not fixed
SIZES: dict[str, Callable[[Table], Table]] = {
    "none": lambda table: {name: [] for name in table},
    "one": lambda table: {name: column[:1] for name, column in table.items()},
    "twice": lambda table: {name: [*column, *column] for name, column in table.items()},
}


def _arrow(table: Table) -> Any:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    kinds = {**dict.fromkeys(NUMBERS, pa.float64()), **dict.fromkeys(LABELS, pa.string()), "person": pa.int64()}
    return pa.table({name: pa.array(column, kinds[name]) for name, column in table.items()})


def _csv(table: Table, folder: Path) -> Any:
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in zip(*table.values(), strict=True)]
    (folder / "rows.csv").write_text("\n".join([",".join(table), *lines, ""]), encoding="utf-8")
    return folder / "rows.csv"


def _parquet(table: Table, folder: Path) -> Any:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    parquet.write_table(_arrow(table), folder / "rows.parquet")
    return folder / "rows.parquet"


def _duckdb(table: Table, folder: Path) -> Any:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", _arrow(table))
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return dp.Table(folder / "rows.duckdb", "rows")


def _numpy(table: Table, folder: Path) -> Any:
    result = np.empty((len(table["a"]), len(every.COLUMNS)), dtype=object)
    for place, name in enumerate(every.COLUMNS):
        result[:, place] = table[name]
    return result


def _polars(table: Table, folder: Path) -> Any:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return polars.DataFrame(table, strict=False, infer_schema_length=None)


def _pandas(table: Table, folder: Path) -> Any:
    return pd.DataFrame(table)


KINDS = {
    "pandas": _pandas, "polars": _polars, "numpy": _numpy, "csv": _csv, "parquet": _parquet, "duckdb": _duckdb,
}  # fmt: skip


class Seen(NamedTuple):
    """All that somebody sees who asks, the released numbers among it."""

    result: list[Any]
    error: str | None
    warned: list[Any]
    printed: str
    logged: list[str]


class Door:
    """The door of a curator that writes down what it lets out, or lets out again what was written down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drawn: list[np.ndarray] = []
        self.again: Iterator[np.ndarray] | None = None
        self._measured = discreet.door.exit.make_measured
        monkeypatch.setattr(discreet.door.exit, "make_measured", self._release)
        words, rng = np.random.default_rng(11), np.random.default_rng
        monkeypatch.setattr(
            SecureBits, "words", lambda bits, count: words.integers(0, 2**64, count, dtype=np.uint64, endpoint=False)
        )
        monkeypatch.setattr(np.random, "default_rng", lambda seed=None: rng(0 if seed is None else seed))

    def _release(self, **facts: Any) -> Any:
        own = np.asarray(facts["value"])
        assert np.isfinite(own).all()
        if self.again is None:
            self.drawn.append(own)
        else:
            other = next(self.again)
            assert (other.shape, other.dtype) == (own.shape, own.dtype)
            facts["value"] = other
        return self._measured(**facts)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        self.drawn, self.again = [], None
        yield

    @contextlib.contextmanager
    def repeating(self) -> Iterator[None]:
        self.again = iter(self.drawn)
        yield
        assert next(self.again, None) is None  # as many releases


class Kept(logging.Handler):
    """Every line that anybody logs."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def seen(ask: Callable[[Any], Any], of: Any) -> tuple[Seen, Any]:
    """Return all that asking shows, and what it returned."""
    out, kept, root = io.StringIO(), Kept(), logging.getLogger()
    result, error, level = None, None, root.level
    root.addHandler(kept)
    root.setLevel(0)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            try:
                result = ask(of)
            except Exception as failure:
                error = f"{type(failure).__name__}: {failure}"
    finally:
        root.removeHandler(kept)
        root.setLevel(level)
    warned = [(one.category.__name__, str(one.message)) for one in caught]
    return Seen(same_by(result), error, warned, out.getvalue(), kept.lines), result


def recorded(ledger: dp.Ledger) -> list[Any]:
    """Return what a ledger has, but for times and hashes."""
    return [one._replace(written="", hash="", previous="") for one in ledger.history()]


def compare(ask: Any, poisoned: Any, clean: Any, door: Door, name: str = "", refusal: str | None = None) -> None:
    """Ask poisoned rows and clean ones, of whom the door says the same; everything else must be the same.

    No errors, but for a refusal that begins so: by what was declared, before anything is asked.
    """
    with door.writing():
        one, result = seen(ask, poisoned)
    with door.repeating():
        other, _ = seen(ask, clean)
    assert one.error is None or (refusal is not None and one.error.startswith(refusal)), (name, one.error)
    assert one.printed == "", name
    assert one.logged == [], name
    for field in Seen._fields:
        assert getattr(one, field) == getattr(other, field), (name, field)
    for path, number in walk(result):
        if isinstance(number, float | np.floating) or (isinstance(number, np.ndarray) and number.dtype.kind == "f"):
            public = path.endswith(".least")  # where a value can lie at all: a covariance, anywhere
            assert public or np.isfinite(number).all(), (name, path)


@pytest.fixture(autouse=True, scope="module")
def quiet_compiler() -> Iterator[None]:
    """Keep numba from logging what it compiles: loops, the first time that each is called."""
    numba = logging.getLogger("numba")
    level = numba.level
    numba.setLevel(logging.WARNING)
    yield
    numba.setLevel(level)


@pytest.fixture
def door(monkeypatch) -> Door:
    return Door(monkeypatch)


def in_postgresql(server: Any, table: Table) -> dp.Table:
    place = server.new_schema()
    kinds = {**dict.fromkeys(NUMBERS, "float8"), **dict.fromkeys(LABELS, "text"), "person": "int8"}
    with server.connect(place) as connection:
        connection.execute(f"CREATE TABLE rows ({', '.join(f'{name} {kinds[name]}' for name in table)})")
        with connection.cursor().copy("COPY rows FROM STDIN") as sink:
            for row in zip(*table.values(), strict=True):
                sink.write_row(list(row))
    return dp.Table(server.url(place, password=False), "rows")


class Opened:
    """Clean and poisoned rows of one kind behind curators with ledgers, each written once."""

    def __init__(self, folder: Path, write: Callable[[Table, Path], Any], **declared: Any) -> None:
        self._folder, self._write, self._declared = folder, write, declared
        self._curators: dict[str, Any] = {}
        self.ledgers = [dp.Ledger(folder / f"{name}.ledger") for name in ("poisoned", "clean")]

    def __getitem__(self, poison: str) -> dp.Curator:
        if poison not in self._curators:
            table = every.made_up() if poison == "clean" else EVERY_POISON[poison](every.made_up())
            folder = self._folder / poison.replace(" ", "-")
            folder.mkdir()
            how = {"schema": every.SCHEMA, "neighbors": "add-remove", "name": "rows"} | self._declared
            self._curators[poison] = dp.Curator(
                self._write(table, folder), ledger=self.ledgers[poison == "clean"], **how
            )
        return self._curators[poison]

    def compare(self, ask: Any, poison: str, door: Door, name: str) -> None:
        compare(ask, self[poison], self["clean"], door, f"{name}, {poison}")

    def agree(self) -> bool:
        one, other = map(recorded, self.ledgers)
        return one == other and len(one) > 0


EVERY_POISON = {**POISONS, **TEXT, **SIZES}
TYPED = ("parquet", "duckdb", "postgresql")  # where a column of numbers holds no text


def poisons_for(place: int, kind: str, *, sizes: bool) -> list[str]:
    """Return the poisons for a question: in a long run all, or two in turn outside of pandas; one in a short one."""
    known = [*POISONS, *(() if kind in TYPED else TEXT), *(SIZES if sizes else ())]
    if LONG and kind == "pandas":
        return known
    return [known[(place + turn * 5) % len(known)] for turn in range(size(1, 2))]


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_released_numbers_changes(kind, relation, door, tmp_path):
    if not (LONG or kind == "pandas" or list(KINDS).index(kind) % 2 == (relation == "add-remove")):
        pytest.skip("part of make audit")
    opened, tried = Opened(tmp_path, KINDS[kind], neighbors=relation), 0
    asks = list(every.EVERYTHING.items())
    if not LONG:  # many of them once, and some of each kind
        first = 2 * list(KINDS).index(kind) + (relation == "add-remove")
        asks = asks[first % 7 :: 7] if kind == "pandas" else asks[first::48]
    for place, (name, ask) in enumerate(asks):
        for poison in poisons_for(place, kind, sizes=relation == "add-remove"):
            opened.compare(ask, poison, door, name)
            tried += 1
    assert opened.agree()
    measured(f"poison-{kind}-{relation}", combinations=tried, questions=len(asks))


@pytest.mark.skipif(not LONG, reason="part of make audit")
def test_nothing_but_released_numbers_changes_in_postgresql(server, door, tmp_path, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", server.password)
    opened, tried = Opened(tmp_path, lambda table, folder: in_postgresql(server, table)), 0
    for name, ask in every.EVERYTHING.items():
        for poison in ("odd numbers", "no cell"):
            opened.compare(ask, poison, door, name)
            tried += 1
    assert opened.agree()
    measured("poison-postgresql", combinations=tried)


@pytest.mark.parametrize("name", every.OF_ALL_ROWS)
def test_where_every_row_counts(name, door, tmp_path):
    opened = Opened(tmp_path, _pandas, schema=every.FILLED, neighbors="replace-one")
    for poison in poisons_for(list(every.OF_ALL_ROWS).index(name), "pandas", sizes=False):
        opened.compare(every.OF_ALL_ROWS[name], poison, door, name)
    assert opened.agree()


@pytest.mark.parametrize("name", every.OPEN_ENDED)
def test_what_has_no_proof_tells_nothing_else_either(name, door):
    clean, odd = every.made_up(), POISONS["odd numbers"](every.made_up())
    compare(every.OPEN_ENDED[name], *(dp.Curator(pd.DataFrame(one), schema=every.SCHEMA) for one in (odd, clean)), door)


PEOPLE: dict[str, list[Any]] = {
    "one person": [3],
    "nobody": [None],
    "odd names": ["ann", "", "007", "7", "7.0", "nan", "1e400", "\ud800", b"\xff", 1e308, 2**70, -0.0, True],
    "lists": [[1], {}, (2,), object()],
}


@pytest.mark.parametrize("poison", PEOPLE)
def test_whose_row_it_is_tells_nothing(poison, door):
    names, table = PEOPLE[poison], every.made_up()
    odd = table | {"person": [names[place % len(names)] for place in range(len(table["a"]))]}
    schema = dp.Schema(every.COLUMNS, unit="person", max_rows=2)
    curators = [dp.Curator(pd.DataFrame(one), schema=schema, neighbors="add-remove") for one in (odd, table)]
    for name, ask in list(every.EVERYTHING.items())[list(PEOPLE).index(poison) :: size(48, 1)]:
        compare(ask, *curators, door, name=name, refusal="ValueError: max_rows=2: expected 1")
    compare(lambda curator: statistics.count_persons(curator, epsilon=1.0), *curators, door, name="count_persons")


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_database_tells_nothing_but_its_answers(relation, door, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    tried = 0

    def opened(table: Table, folder: Path) -> Any:
        folder.mkdir(parents=True)
        return dp.StatisticalDatabase(
            _parquet(table, folder), schema=every.SCHEMA, neighbors=relation, name="rows", share=1e-4,
            budget=dp.Guarantee(1000.0, 1e-6, relation), ledger=folder / "rows.ledger",
        )  # fmt: skip

    known = [*POISONS, *(SIZES if relation == "add-remove" else ())]
    for poison in known if LONG else ["odd numbers"]:
        table = every.made_up()
        pair = opened(EVERY_POISON[poison](table), tmp_path / poison), opened(table, tmp_path / poison / "clean")
        for name, ask in list(every.DATABASE.items())[relation == "add-remove" :: size(5, 1)]:
            compare(ask, *pair, door, f"{name}, {poison}")
            tried += 1
        assert repr(pair[0]) == repr(pair[1])
        assert recorded(pair[0].ledger) == recorded(pair[1].ledger)
    measured(f"poison-database-{relation}", combinations=tried)


def test_the_catalogue_has_everything():
    """A method or a function that is new must be attacked too."""
    from discreet.estimators import (
        factor_analysis,
        gaussian_classifier,
        gaussian_mixture,
        kmeans,
        linear_regression,
        linear_svc,
        logistic_regression,
        pca,
    )  # fmt: skip

    fits = {name for name in dp.__all__ if hasattr(getattr(dp, name), "fit")}
    methods = {
        "FactorAnalysis": factor_analysis.METHODS,
        "GaussianClassifier": gaussian_classifier.METHODS,
        "GaussianMixture": gaussian_mixture.METHODS,
        "KMeans": kmeans.METHODS,
        "LinearRegression": linear_regression.METHODS,
        "LinearSVC": linear_svc.LinearSVC._methods,
        "LogisticRegression": logistic_regression.LogisticRegression._methods,
        "PCA": pca.METHODS,
        "TableMixture": ("two",),
        "TableSynthesizer": ("pairs",),
    }
    assert fits == set(methods)
    asked = {*every.ESTIMATORS, *every.OPEN_ENDED}
    assert {f"{kind}: {method}" for kind, known in methods.items() for method in known} <= asked
    functions = {"fit_model", "private_score"}
    assert functions <= asked
    spread = import_module("discreet.statistics.variances").METHODS
    density = import_module("discreet.statistics.density.densities").METHODS
    assert (spread, density) == (("one-shot", "adaptive", "direct"), ("smooth", "histogram", "functional"))
    # ``count_persons`` is about units alone, and attacked where whose row it is tells nothing.
    for room, asks, about_noise in (
        (statistics, every.STATISTICS, {"gross_error_sensitivity", "influence", "lei_bins", "count_persons"}),
        (mechanisms, {**every.MECHANISMS, **every.OF_ALL_ROWS}, {"iqr_distance", "median_distance"}),
        (signals, every.SIGNALS, set()),
    ):
        known = {name for name in room.__all__ if name[0].islower()} - about_noise - {"smooth_sensitivity_of_median"}
        assert known <= {name.partition(",")[0].partition(" by")[0] for name in asks}
    verbs = {name for name in dir(dp.StatisticalDatabase) if callable(getattr(dp.StatisticalDatabase, name))}
    verbs -= {"answer", "preview", "count_persons"}
    assert {name for name in verbs if not name.startswith("_")} == set(every.DATABASE)


FAULTS = {
    "an attribute": lambda curator: {"mean_": float(next(curator._records.blocks()).x[:, 0].mean())},
    "a shape": lambda curator: np.zeros(sum(len(block.x) for block in curator._records.blocks())),
    "a warning": lambda curator: warnings.warn(f"{_rows(curator)} rows are complete", stacklevel=1),
    "a line": lambda curator: sys.stdout.write(str(_rows(curator))),
    "a log line": lambda curator: logging.getLogger("x").debug("%d", _rows(curator)),
    "an error": lambda curator: 1 / max(0, _rows(curator) - 79),
    "a closure": lambda curator: (lambda rows: lambda: rows)(_rows(curator)),
}


def _rows(curator: dp.Curator) -> int:
    return sum(len(block.x) for block in curator._records.blocks())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_leak_would_be_seen(fault, door):
    table = every.made_up()
    curators = [dp.Curator(pd.DataFrame(one), schema=every.SCHEMA) for one in (POISONS["no cell"](table), table)]
    with pytest.raises((AssertionError, UserWarning)):
        compare(FAULTS[fault], *curators, door)
