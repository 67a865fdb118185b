"""A search for what was in the rows, in everything that comes out of them.

Rows of recognisable numbers are asked everything of the catalogue. What is looked for: every cell, exact statistics of
the columns, in the data's units and in those of the unit ball, how many rows there are, and each sum as it was before
noise. Where it is looked for: all that an answer holds, through attributes, closures, caches, views and weak
references, its pickle, its file, its words, its pictures and its report; errors with all that they carry; what modules
keep.
Tracebacks are looked at as they are printed: their frames hold rows, and are for whoever runs the process.
"""

from __future__ import annotations

import functools
import gc
import logging
import os
import re
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dp
import every
from discreet import mechanisms
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.plots import plot_model
from discreet.noise import SecureBits
from discreet.queries.question import Query
from effort import LONG, measured, size
from walked import Search, chained, walk

ROWS = 1009  # no number that stands anywhere else
MARK = 37.123456789
PUBLIC = [100.0, 0.5, 16.0, 1e-6]
FOUND: dict[str, int] = {}


@functools.cache
def table() -> dict[str, list[Any]]:
    return every.made_up(ROWS, seed=4)


@functools.cache
def exact() -> dict[str, Any]:
    """Return all cells, and exact statistics of them, in the data's units and in those of the unit ball."""
    frame, result = pd.DataFrame(table()).drop(columns="person"), {"rows": ROWS}
    numbers = frame[["a", "b", "w", "t", "p"]]
    box = dp.Box([0, -50, 0, 0, 0.5], [100, 50, 2, 16, 40])
    for units, rows in (("own", numbers.to_numpy()), ("unit", np.asarray(box.to_unit(numbers.to_numpy())))):
        result |= {f"{units} cells": rows, f"{units} sums": rows.sum(axis=0)}
        result |= {f"{units} means": rows.mean(axis=0), f"{units} medians": np.median(rows, axis=0)}
        result |= {f"{units} covariance {ddof}": np.cov(rows.T, ddof=ddof) for ddof in (0, 1)}
        result |= {f"{units} deviations {ddof}": rows.std(axis=0, ddof=ddof) for ddof in (0, 1)}
        result |= {f"{units} second moments": rows.T @ rows, f"{units} mean products": rows.T @ rows / len(rows)}
        result |= {f"{units} quantiles": np.quantile(rows, [0.0, 0.1, 0.25, 0.75, 0.9, 1.0], axis=0)}
        for label in ("g", "s"):
            for value, group in pd.DataFrame(rows).groupby(frame[label].to_numpy()):
                result |= {f"{units} {label}={value}": [len(group), *group.sum(), *group.mean(), *group.var()]}
    return result


@functools.cache
def everything() -> Search:
    return Search(exact(), PUBLIC)


@pytest.fixture
def collected(monkeypatch) -> list[Any]:
    """Note every sum as it was before noise; and draw the same noise each time."""
    noted: list[Any] = []
    for kind in _kinds(Query):
        if "collect" in vars(kind):
            monkeypatch.setattr(kind, "collect", _noting(vars(kind)["collect"], noted))
    words, rng = np.random.default_rng(7), np.random.default_rng
    monkeypatch.setattr(SecureBits, "words", lambda bits, count: words.integers(0, 2**64, count, dtype=np.uint64))
    monkeypatch.setattr(np.random, "default_rng", lambda seed=None: rng(1 if seed is None else seed))
    return noted


def _kinds(kind: type) -> list[type]:
    return [kind, *(one for under in kind.__subclasses__() for one in _kinds(under))]


def _noting(collect: Any, noted: list[Any]) -> Any:
    def wrapped(self: Any, records: Any, setting: Any) -> Any:
        result = collect(self, records, setting)
        if isinstance(result, np.ndarray):
            noted.append(np.array(result, dtype=np.float64))
        return result

    return wrapped


def opened(relation: str = "add-remove", schema: dp.Schema = every.SCHEMA, **more: Any) -> dp.Curator:
    return dp.Curator(pd.DataFrame(table()), schema=schema, neighbors=relation, **more)


def search_for(collected: list[Any], *, size_is_public: bool = False) -> Search:
    sums = {f"sum {place}": values for place, values in enumerate(collected)}
    return Search(exact() | sums, [*PUBLIC, *([float(ROWS)] if size_is_public else [])])


def leaks(result: Any, search: Search) -> list[str]:
    """Return what of the rows is in an answer, in whatever can be made of it."""
    leaked = search.within(result) + search.in_pickle(result) + search.in_text(repr(result))
    for name in ("to_json", "table", "to_dict"):
        if callable(getattr(result, name, None)) and not isinstance(result, type):
            made = getattr(result, name)()
            leaked += search.in_text(made) if isinstance(made, str) else search.within(made)
    if isinstance(result, PrivateEstimator):
        for what in result._plots:
            if what != "noise" or any(release.noise is not None for release in result.releases_):
                leaked += [f"{what}: {one}" for one in search.within(plot_model(result, what, None))]
        leaked += search.in_text(str(result._repr_mimebundle_()))
    FOUND["walked"] = FOUND.get("walked", 0) + search.walked
    FOUND["numbers"] = FOUND.get("numbers", 0) + search.looked_at
    FOUND["secrets"] = max(FOUND.get("secrets", 0), len(search))
    return leaked


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("room", ["estimators", "statistics", "mechanisms", "signals"])
def test_no_answer_holds_anything_of_the_rows(room, relation, collected, caplog, capfd, tmp_path):
    caplog.set_level(logging.DEBUG)
    caplog.handler.setLevel(0)
    asks = [(name, ask) for name, ask in every.EVERYTHING.items() if name.startswith(room)]
    if not LONG:
        asks = asks[1 if relation == "add-remove" else 5 :: 9]
    for name, ask in asks:
        collected.clear()
        result = ask(opened(relation))
        assert leaks(result, search_for(collected, size_is_public=relation == "replace-one")) == [], name
        FOUND["answers"] = FOUND.get("answers", 0) + 1
    assert not [record for record in caplog.records if record.name.startswith("discreet")]
    assert capfd.readouterr() == ("", "")
    measured(f"leaks-{os.getpid()}", **FOUND)  # all that this process has walked until now


@pytest.mark.parametrize("name", [*every.OF_ALL_ROWS])
def test_nor_does_one_for_which_every_row_counts(name, collected):
    result = every.OF_ALL_ROWS[name](opened("replace-one", every.FILLED))
    assert leaks(result, search_for(collected, size_is_public=True)) == []


def test_an_answer_keeps_no_curator_and_no_rows_alive(collected):
    kept, rows = [], {}
    for name, ask in list(every.EVERYTHING.items())[:: size(15, 1)]:
        curator = opened()
        rows[name] = weakref.ref(curator._records)
        kept.append(ask(curator))
    del curator
    gc.collect()
    assert [name for name, one in rows.items() if one() is not None] == []
    assert len(kept) == len(rows)


@pytest.mark.parametrize("name", every.DATABASE)
def test_a_reply_of_a_database_holds_nothing_either(name, collected, tmp_path):
    if not LONG and list(every.DATABASE).index(name) % 4:
        pytest.skip("part of make audit")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pd.DataFrame(table()).to_parquet(tmp_path / "rows.parquet")
    database = dp.StatisticalDatabase(
        tmp_path / "rows.parquet", schema=every.SCHEMA, neighbors="add-remove", ledger=tmp_path / "l.ledger",
        budget=dp.Guarantee(100.0, 1e-6, "add-remove"),
    )  # fmt: skip
    reply, search = every.DATABASE[name](database), search_for(collected)
    assert leaks(reply, search) == []
    assert search.in_text(repr(database) + repr(database.curator) + repr(database.ledger)) == []
    assert search.in_text("\n".join(map(repr, database.ledger.history()))) == []
    assert search.in_bytes((tmp_path / "l.ledger").read_bytes()) == []


@pytest.mark.skipif(not LONG, reason="part of make audit")
@pytest.mark.parametrize(
    "name", [name for name in every.ESTIMATORS if ":" in name and not name.endswith(("LLG", "gradient"))]
)
def test_a_report_a_file_and_a_model_that_was_loaded_hold_nothing(name, collected, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    ledger = dp.Ledger(tmp_path / "rows.ledger")
    result = every.ESTIMATORS[name](opened(name="rows", ledger=ledger))
    search = search_for(collected)
    assert leaks(result, search) == []
    html = result.report(ledger=ledger).html
    drawn = re.sub(r"<svg.*?</svg>", lambda svg: re.sub(r"<[^>]*>", " ", svg[0]), html, flags=re.DOTALL)
    assert search.in_text(drawn) == []  # but for places on the page; what is drawn there was looked at above
    result.report(tmp_path / "report.html", ledger=ledger)
    (tmp_path / "model.json").write_text(result.to_json())
    for file in tmp_path.iterdir():
        assert search.in_bytes(file.read_bytes()) == [], file.name
    assert leaks(dp.load_model(tmp_path / "model.json"), search) == []


@pytest.mark.skipif(not LONG, reason="part of make audit")
@pytest.mark.filterwarnings("ignore::discreet.inference.posterior.InferenceWarning")
def test_a_posterior_holds_nothing(collected):
    pytest.importorskip("numpyro", reason="numpyro is not installed")
    result = every.ESTIMATORS["LinearRegression: adaptive"](opened("replace-one"))
    posterior = dp.infer(result, chains=1, draws=20, warmup=20, seed=0)
    search = search_for(collected, size_is_public=True)
    assert search.in_text(repr(posterior)) == []
    for path, one in walk(posterior):
        if isinstance(one, np.ndarray) and one.dtype.kind == "f":
            assert search.among(one) == [], path


@pytest.mark.skipif(not LONG, reason="part of make audit")
def test_modules_keep_nothing(collected):
    """Caches of functions and of classes outlive an answer."""
    for ask in every.EVERYTHING.values():
        ask(opened())
    held: dict[str, Any] = {}
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("discreet"):
            for own, value in vars(module).items():
                if getattr(value, "__module__", module.__name__) == module.__name__ and not own.startswith("__"):
                    held[f"{module.__name__}.{own}"] = dict(vars(value)) if isinstance(value, type) else value
    secrets = exact() | {f"sum {place}": values for place, values in enumerate(collected)}
    fractions = {name: [one for one in np.ravel(given) if one != np.rint(one)] for name, given in secrets.items()}
    search = Search(fractions, PUBLIC)  # whole numbers are constants of the program
    own = (": a ", "<closure noted>")  # what modules import, and what this test writes down
    assert [one for one in search.within(held) if not any(words in one for words in own)] == []
    FOUND["of modules"] = search.walked


# --- the search finds what is there -----------------------------------------------------------------------------------


class Planted:
    """An answer that keeps too much."""

    def __init__(self, value: Any) -> None:
        self.kept = value

    @functools.cached_property
    def cached(self) -> Any:
        return np.asarray(self.__dict__.pop("kept")).mean()


def test_tables_of_counts_are_found_and_single_counts_are_not() -> None:
    counts = np.random.default_rng(0).integers(0, 400, 60).astype(np.float64)
    search = Search({"counts": counts})
    assert search.within(Planted(counts))
    assert search.within(Planted({"shown": counts[10:30]}))
    assert search.within(Planted(counts[[3, 40]])) == []


def _cached(planted: Planted) -> Planted:
    assert planted.cached > 0
    return planted


def _remembered(rows: Any) -> Any:
    means = list(rows.mean(axis=0))
    total = functools.cache(lambda column: means.pop(column))
    total(0)
    means.clear()
    return total


def _slotted(value: Any) -> Any:
    class Slotted:
        __slots__ = ("hidden",)

    result = Slotted()
    result.hidden = value
    return result


def _generated(rows: Any) -> Any:
    def one_by_one() -> Any:
        kept = rows
        yield 1
        yield kept

    result = one_by_one()
    next(result)
    return result


PLANTED: dict[str, Callable[[Any], Any]] = {
    "the exact mean": lambda rows: Planted({"found": [1.0, rows[:, 0].mean()]}),
    "a row": lambda rows: Planted((rows[17, :2].copy(),)),
    "a view of one cell": lambda rows: Planted(rows[:1, :1]),
    "the number of rows": lambda rows: Planted({"note": len(rows)}),
    "a closure": lambda rows: Planted(lambda: rows),
    "a default": lambda rows: Planted(lambda rows=rows: rows),
    "a method": lambda rows: Planted(rows.sum).kept,
    "a partial": lambda rows: functools.partial(np.mean, rows),
    "a cached property": lambda rows: _cached(Planted(rows[:, 0])),
    "a cached function": _remembered,
    "a slot": lambda rows: _slotted(rows[3, 1]),
    "a weak reference": lambda rows: (weakref.ref(rows), rows),
    "a generator": _generated,
    "words": lambda rows: Planted(f"the largest is {rows[:, 0].max():.7g}"),
    "bytes": lambda rows: Planted(b"x" + rows[5].tobytes()),
    "an object array": lambda rows: np.array([None, float(rows[4, 0])], dtype=object),
    "a data frame": lambda rows: Planted(pd.DataFrame({"x": [1.0]})),
    "a curator": lambda rows: Planted(opened()),
    "the median": lambda rows: Planted(np.float64(np.median(rows[:, 1]))),
    "a covariance": lambda rows: Planted({"covariance": np.cov(rows.T)}),
}


@pytest.mark.parametrize("leak", PLANTED)
def test_the_search_finds_what_is_planted(leak):
    rows = pd.DataFrame(table())[["a", "b", "w", "t"]].to_numpy()
    planted = PLANTED[leak](rows)
    assert everything().within(planted)


def test_the_search_finds_numbers_in_files_and_texts():
    search, value = everything(), table()["a"][10]
    assert search.in_bytes(b"abc" + np.array([value]).tobytes() + b"d")
    assert search.in_bytes(np.array([value], dtype=">f8").tobytes())
    assert search.in_text(f"x={value:.9g};") == search.in_text(f"<b>{value!r}</b>") != []
    assert search.in_text(f"x={np.mean(table()['a']):.6g};")
    assert search.in_text(f"there are {ROWS} rows")
    assert search.in_text(f"cannot read 'x{value}y'")
    assert search.in_pickle(Planted([value]))
    assert not search.in_text(f"{value:.3g} and {value * 1.00001!r} and 1{ROWS}")
    assert not search.within({"a": 100.0, "b": [0.5, 3, True, "text", None, 1e-6], "c": np.arange(99)})


def test_a_sum_before_noise_that_is_let_out_is_found(collected, monkeypatch):
    """The noise is forgotten: the search must see it in an estimator and in a statistic."""
    from discreet.noise import GaussianNoise, LaplaceNoise

    for kind in (GaussianNoise, LaplaceNoise):
        monkeypatch.setattr(kind, "add", lambda self, values, bits=None: np.array(values))
    for name in ("estimators: GaussianMixture: joint", "statistics: mean", "signals: running_sum"):
        collected.clear()
        assert leaks(every.EVERYTHING[name](opened()), search_for(collected)), name


# --- errors -----------------------------------------------------------------------------------------------------------


def words_of(error: BaseException) -> str:
    """Return all that an error says and carries along, as it would be printed or logged."""
    parts = []
    for one in chained(error):
        printed = traceback.TracebackException.from_exception(one, capture_locals=False)
        parts += ["".join(printed.format()), repr(one.args), repr(getattr(one, "__notes__", ())), repr(vars(one))]
    return "\n".join(parts)


def _marked(**columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame({"a": [MARK] * 20, "b": [20.0 + MARK] * 20, "s": ["no", "yes"] * 10})
    for name, value in columns.items():
        frame[name] = frame[name].astype(object)
        frame.loc[3, name] = value
    return frame


def _failing_view(folder: Path) -> dp.Table:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT '{MARK}' AS a FROM range(9) UNION ALL SELECT 'x{MARK}y'")
        connection.execute("CREATE VIEW v AS SELECT CAST(a AS DOUBLE) AS a FROM t")
    return dp.Table(folder / "rows.duckdb", "v")


def _failing_dask() -> Any:
    dask = pytest.importorskip("dask", reason="dask is not installed")
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed")

    def part(value: float) -> pd.DataFrame:
        raise RuntimeError(f"cannot read {value}")

    meta = pd.DataFrame({"a": [1.0]})[:0]
    return frames.from_delayed([dask.delayed(part)(MARK)], meta=meta, verify_meta=False)


class Failing(every.Mean):
    """A model whose words show rows, where they are not made up."""

    def contributions(self, params: Any, block: Any) -> Any:
        x = np.asarray(block.x)
        if len(x) == 20 and np.all(x == x[0]):
            raise RuntimeError(f"bad rows {x * 50.0 + 50.0}, {MARK}")
        return super().contributions(params, block)


BOUNDS = {"a": (0, 100), "b": (0, 100)}
ONE = {"a": (0, 100)}
FAILS: dict[str, Callable[[Path], Any]] = {
    "NaN": lambda folder: dp.GaussianMixture(1, bounds=BOUNDS).fit(_marked(a=np.nan)[["a", "b"]]),
    "text": lambda folder: dp.KMeans(1, bounds=BOUNDS).fit(_marked(a=f"{MARK} or so")[["a", "b"]]),
    "an infinite array": lambda folder: dp.PCA(1, bounds=(0, 100)).fit(np.array([[MARK, np.inf]] * 3)),
    "an array of objects": lambda folder: dp.PCA(1, bounds=(0, 100)).fit(np.array([[MARK, "x"]] * 3, dtype=object)),
    "unknown labels": lambda folder: dp.LogisticRegression(bounds=ONE, classes=["x", "y"]).fit(
        _marked()[["a"]], [str(MARK)] * 20
    ),
    "complex labels": lambda folder: dp.LinearSVC(bounds=ONE, classes=[0, 1]).fit(_marked()[["a"]], [MARK + 1j] * 20),
    "a target that is none": lambda folder: dp.LinearRegression(bounds=ONE, target_bounds=(0, 1)).fit(
        _marked()[["a"]], [f"{MARK} kg"] * 20
    ),
    "units beside": lambda folder: dp.Curator(np.full((3, 1), MARK), space=dp.Box(0, 1), unit=[MARK], max_rows=1),
    "lists of two lengths": lambda folder: dp.statistics.mean([[MARK], [MARK, 1]], epsilon=1.0, bounds=(0, 1)),
    "dictionaries": lambda folder: dp.statistics.mean([{"a": MARK}], epsilon=1.0, bounds=(0, 1)),
    "a statistic of NaN": lambda folder: dp.statistics.median([MARK, np.nan], epsilon=1.0, bounds=(0, 100)),
    "a view that fails": lambda folder: dp.statistics.mean(_failing_view(folder), "a", epsilon=1.0, bounds=ONE),
    "a view that fails, read": lambda folder: dp.statistics.median(_failing_view(folder), "a", epsilon=1.0, bounds=ONE),
    "a Dask task that fails": lambda folder: dp.statistics.mean(_failing_dask(), "a", epsilon=1.0, bounds=ONE),
    "a budget": lambda folder: dp.StatisticalDatabase(
        _marked(), bounds=BOUNDS, name="x", ledger=folder / "l", budget=dp.Guarantee(1.0, 1e-6)
    ).mean("a", epsilon=5.0),
}


@pytest.mark.parametrize("fails", FAILS)
def test_no_error_shows_a_row(fails, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with pytest.raises((ValueError, OSError, dp.BudgetExceeded, RuntimeError)) as caught:
        FAILS[fails](tmp_path)
    search = Search({"mark": [MARK, 20.0 + MARK]})
    said = words_of(caught.value)
    code = {line.strip() for line in Path(__file__).read_text().splitlines()}
    said = "\n".join(line for line in said.splitlines() if line.strip() not in code)
    assert search.in_text(said) == [], said
    assert search.in_text(caplog.text + "".join(capfd.readouterr())) == []
    FOUND["errors"] = FOUND.get("errors", 0) + 1


@pytest.mark.parametrize(
    "view", ["CREATE VIEW v AS SELECT a FROM t", "CREATE VIEW v AS SELECT TRY_CAST(a AS DOUBLE) AS a FROM t"]
)
def test_a_view_as_the_documentation_has_it_fails_for_no_row(view, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT '2.5' AS a FROM range(9) UNION ALL SELECT 'what?'")
        connection.execute(view)
    stored = dp.Table(tmp_path / "rows.duckdb", "v", per_unit=True)  # a cast looks at one row alone
    curator = dp.Curator(stored, schema=dp.Schema({"a": dp.Number(0, 5)}))
    assert dp.Sum(curator.space).collect(curator._records, curator.setting).tolist() == [0.0]  # in the unit ball
    assert curator._records.reduce(lambda block: block.x.sum(axis=0), 1).tolist() == [22.5]


def test_the_command_line_does_not_tell_how_many_rows_there_are(tmp_path, monkeypatch):
    """``--at-most`` is held against the rows, so whoever asks must not be able to try numbers."""
    pytest.importorskip("typer", reason="typer is not installed")
    from cli_folder import SCHEMA, discreet, people, write_csv

    monkeypatch.chdir(tmp_path)
    Path("people.toml").write_text(SCHEMA)
    told = []
    for rows in (20, 200):
        write_csv(Path("people.csv"), people(rows))
        for line in ("query people.csv count --ledger l.ledger --limit 1:1e-6", "fit kmeans people.csv --epsilon 1"):
            ran = discreet(f"{line} --schema people.toml --neighbors add-remove --at-most 100")
            told.append((line[:3], ran.code, ran.printed))
    assert told[:2] == told[2:]
    assert {code for _, code, _ in told} == {2}
    assert not Path("l.ledger").exists()


@pytest.mark.parametrize("where", ["words", "cause", "context", "note", "attribute", "group"])
def test_an_error_that_shows_a_row_is_seen(where):
    def failing() -> None:
        wrong = ValueError(f"x={MARK}")
        if where == "words":
            raise wrong
        if where == "cause":
            raise RuntimeError("fine") from wrong
        if where == "group":
            raise ExceptionGroup("fine", [wrong])
        other = RuntimeError("fine")
        if where == "note":
            other.add_note(f"row {MARK}")
        elif where == "attribute":
            other.row = MARK
        else:
            try:
                raise wrong
            except ValueError:
                raise other from None
        raise other

    with pytest.raises((ValueError, RuntimeError, ExceptionGroup)) as caught:
        failing()
    assert Search({"mark": MARK}).in_text(words_of(caught.value))


def test_a_model_of_ones_own_whose_errors_show_rows_shows_them_to_nobody(caplog, capfd):
    space = dp.Box(0.0, 100.0).for_columns(1)
    result = dp.fit_model(Failing(), np.full((20, 1), MARK), epsilon=1.0, delta=1e-6, n_steps=1, bounds=space)
    assert Search({"mark": MARK}).within(result) == []
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_a_function_of_ones_own_that_shows_rows_shows_them_to_nobody(collected):
    def telling(rows: Any) -> float:
        if len(rows) == ROWS:
            raise RuntimeError(f"{rows[0]}")
        return 1.0

    result = mechanisms.output_perturbation(
        telling, opened("replace-one").only(["a"]), sensitivity=100.0, output=(0, 100), epsilon=1.0
    )
    assert leaks(result, search_for(collected, size_is_public=True)) == []
