"""Simple statistics: their errors beside two other libraries', their intervals, loose bounds, covariances and speed.

Prints tables (Markdown) and, with ``--out``, writes a figure.

    export OMP_NUM_THREADS=1
    python benchmarks/bench_statistics.py --cache build/statistics --out build/benchmarks

Other libraries run in environments of their own; ``other_statistics.py`` says how to make them and what they guarantee.
Where these are not there, ours run alone. ``--only`` takes some of the parts, ``--quick`` few runs of each.

- errors: root mean squared error against the statistic of the rows themselves, over runs of the noise, on the same rows
  for all. Numbers are clipped to public bounds. The number of rows is public under replace-one. δ = 0.
- coverage: how often intervals contain the statistic of the rows, and how wide they are relative to the error.
- loose: the location of N(3, 1) between bounds of ±1000.
- covariance: one release against rounds, by the relative error in the Frobenius norm. δ = 1e-6.
- speed: 10⁷ rows in memory and in a Parquet file (``--parquet``), against NumPy in the same run.

Errors of a Monte Carlo estimate are measured, too: for normal errors and R runs that of an RMSE is 1/√(2R) of it, and
for Laplace errors 1.6 times as much.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median as middle

import numpy as np

import discreet as dp
from discreet import statistics as st
from discreet.noise import NotPrivateWarning, SeededBits
from discreet.statistics.robust.m_estimators import huber_location

HERE = Path(__file__).resolve().parent
LIBRARIES = ("opendp", "diffprivlib")
RELATIONS = ("replace-one", "add-remove")
EPSILONS = (0.1, 1.0)
SIZES = (1_000, 10_000, 100_000)
LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]
BINS = 20
DELTA = 1e-6
SETS = {"uniform": (0.0, 1.0), "normal": (-5.0, 5.0), "age": (0.0, 120.0)}
TITLES = {
    "uniform": "uniform on [0, 1]",
    "normal": "N(0, 1) in [−5, 5]",
    "age": "age of Adult in [0, 120], whole years",
}
seeds = iter(range(10**9))


def table(head: list[str], lines: list[list[str]]) -> str:
    rule = f"| {' | '.join(['---'] * len(head))} |"
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def seeded() -> SeededBits:
    return SeededBits(next(seeds))


def repeated(number: int, once: Callable[[], object]) -> np.ndarray:
    return np.array([once() for _ in range(number)], dtype=float)


def rmse(errors: np.ndarray) -> tuple[float, float]:
    """Return the root mean square over runs (first axis), and its own relative Monte Carlo error."""
    squares = (errors**2).reshape(len(errors), -1).mean(axis=1)
    mean = float(squares.mean())
    if mean == 0.0:
        return 0.0, 0.0
    return math.sqrt(mean), float(squares.std()) / mean / 2.0 / math.sqrt(len(squares))


def number(value: float) -> str:
    if value == 0.0:
        return "0"
    return f"{value:.2g}" if value < 10.0 else f"{value:,.0f}"


def with_error(value: float, error: float) -> str:
    """Return a number with as many places as its error has, to one digit."""
    places = 0 if error <= 0.0 else max(0, -math.floor(math.log10(error)))
    return f"{value:,.{places}f} ± {error:,.{places}f}"


# Errors beside other libraries


def rows_of(name: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    if name == "age":
        return rng.permutation(np.asarray(dp.datasets.load_adult().X)[:, 0].astype(float))[:n]
    return rng.uniform(size=n) if name == "uniform" else rng.standard_normal(n)


def exact_answers(rows: np.ndarray, low: float, high: float) -> dict[str, np.ndarray]:
    kept = np.clip(rows, low, high)
    result = {"mean": kept.mean(), "variance": kept.var(), "median": np.median(kept)}
    result |= {"quantiles": np.quantile(kept, LEVELS), "histogram": np.histogram(kept, BINS, (low, high))[0]}
    return {question: np.asarray(value, dtype=float) for question, value in result.items()}


def ours(rows: np.ndarray, name: str, **given: object) -> dict[str, Callable[[], object]]:
    """Return for every question a function that answers it once."""
    step = {"step": 1.0} if name == "age" else {}
    result = {
        "mean": lambda: st.mean(rows, bits=seeded(), **given).value,
        "variance": lambda: st.variance(rows, bits=seeded(), **given).value,
    }
    for end, level in (("", None), (", with interval", 0.95)):
        more = step | {"interval": level} | given
        result[f"median{end}"] = lambda more=more: st.median(rows, bits=seeded(), **more).value
        result[f"quantiles{end}"] = lambda more=more: st.quantiles(rows, LEVELS, bits=seeded(), **more).value
    result["histogram"] = lambda: st.histogram(rows, bins=BINS, bits=seeded(), **given).value
    result["histogram, at least 0"] = lambda: np.maximum(result["histogram"](), 0.0)
    return result


def jobs(cache: Path, runs: int, sizes: tuple[int, ...], library: str) -> list[dict]:
    """Return what is asked of another library, in the order of ``cells``; fewer times where it is slow."""
    result = []
    for name, n, epsilon, relation in cells(sizes):
        low, high = SETS[name]
        path = cache / f"{name}-{n}.npy"
        if not path.exists():
            np.save(path, rows_of(name, n))
        common = {"rows": str(path), "bounds": [low, high], "epsilon": epsilon, "neighbors": relation}
        fine = name != "age" and (high - low) * n * epsilon >= 1e5
        candidates = list(range(121)) if name == "age" else 100_000 if fine else 10_000
        common |= {"quantiles": LEVELS, "edges": np.linspace(low, high, BINS + 1).tolist()}
        common["candidates"] = list(map(float, candidates)) if name == "age" else candidates
        for question in ("mean", "variance", "median", "quantiles", "histogram"):
            part = 1
            if question in ("median", "quantiles"):
                part = 4 if fine else 2 if library == "opendp" and n > 50_000 else 1
                part = 6 if fine and library == "opendp" and question == "quantiles" else part
            result.append(common | {"question": question, "repeats": max(runs // part, 2)})
    return result


def cells(sizes: tuple[int, ...]) -> Iterator[tuple[str, int, float, str]]:
    for name in SETS:
        for n in sizes:
            for epsilon in EPSILONS:
                for relation in RELATIONS:
                    yield name, n, epsilon, relation


def answers(library: str, asked: list[dict], cache: Path) -> list | None:
    """Return another library's answers, from the cache if they are there."""
    python = HERE.parent / "build" / library / "bin" / "python"
    wanted, result = cache / f"{library}-jobs.json", cache / f"{library}-answers.json"
    text = json.dumps(asked)
    if not (result.exists() and wanted.exists() and wanted.read_text(encoding="utf-8") == text):
        if not python.exists():
            return None
        result.unlink(missing_ok=True)
        wanted.write_text(text, encoding="utf-8")
        command = [python, HERE / "other_statistics.py", library, "--jobs", wanted, "--out", result]
        subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    return json.loads(result.read_text(encoding="utf-8"))


def errors(quick: bool, cache: Path) -> tuple[str, dict]:
    sizes = SIZES[:1] if quick else SIZES
    runs, others = (40, 20) if quick else (200, 200)
    cache = cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    result: dict[tuple, dict[str, tuple[float, float]]] = {}  # by tool: the RMSE and its relative error
    places = list(cells(sizes))
    for name, n, epsilon, relation in places:
        rows = rows_of(name, n)
        exact = exact_answers(rows, *SETS[name])
        given = {"epsilon": epsilon, "bounds": SETS[name], "neighbors": relation}
        for question, ask in ours(rows, name, **given).items():
            few = runs // 6 if "with interval" in question else runs if n < 50_000 else 2 * runs // 3
            truth = exact[question.split(",")[0]]
            result[name, n, epsilon, relation, question] = {"discreet": rmse(repeated(few, ask) - truth)}
    theirs = {}
    for library in LIBRARIES:
        asked = jobs(cache, others, sizes, library)
        theirs[library] = answers(library, asked, cache)
        for place, answer in enumerate(theirs[library] or []):
            if not isinstance(answer, list):  # refused
                continue
            name, n, epsilon, relation = places[place // 5]
            question = asked[place]["question"]
            exact = exact_answers(rows_of(name, n), *SETS[name])[question]
            cell = result[name, n, epsilon, relation, question]
            cell[library] = rmse(np.array(answer, dtype=float) - exact)
            if name == "age" and library == "diffprivlib" and question in ("median", "quantiles"):
                cell["diffprivlib, floor"] = rmse(np.floor(np.array(answer)) - exact)
    return error_tables(result, sizes) + ratios(result), {"found": result, "sizes": sizes}


def error_tables(result: dict, sizes: tuple[int, ...]) -> str:
    known = {tool for cell in result.values() for tool in cell}
    text = ""
    for name in SETS:
        tools = [tool for tool in ("discreet", *LIBRARIES) if tool in known]
        tools += ["diffprivlib, floor"] if name == "age" and "diffprivlib" in known else []
        lines = []
        for question in ours(np.zeros(1), name):
            for relation in RELATIONS:
                line = [question, relation]
                for epsilon in EPSILONS:
                    line += [error_cell(result[name, n, epsilon, relation, question], tools) for n in sizes]
                lines.append(line)
        counts = [f"{len(rows_of(name, n)):,}" for n in sizes]
        head = ["question", "relation", *(f"n = {n}, ε = {epsilon:g}" for epsilon in EPSILONS for n in counts)]
        text += f"**{TITLES[name]}: RMSE of {' / '.join(tools)}, the least in bold**\n\n" + table(head, lines) + "\n"
    return text


def error_cell(cell: dict[str, tuple[float, float]], tools: list[str]) -> str:
    """Return the errors of all tools, in bold what is the least or not to be told from it."""
    best = min(cell, key=lambda tool: cell[tool][0])
    shown = []
    for tool in tools:
        if tool not in cell:
            if not tool.endswith("floor") and len(cell) > 1:
                shown.append("–")
            continue
        value, error = cell[tool]
        room = 2.0 * math.hypot(error, cell[best][1])
        least = len(cell) > 1 and value * (1.0 - room) <= cell[best][0]
        shown.append(f"**{number(value)}**" if least else number(value))
    return " / ".join(shown)


def ratios(result: dict) -> str:
    """Return our error relative to the best of the others': the range over all cells, and where it is above 1."""
    lines, above = [], []
    for question in ("mean", "variance", "median", "quantiles", "histogram"):
        for relation in RELATIONS:
            several = []
            for (name, n, epsilon, how, what), cell in result.items():
                rest = {tool: value for tool, value in cell.items() if tool != "discreet"}
                if (how, what) != (relation, question) or not rest:
                    continue
                best = min(rest, key=lambda tool: rest[tool][0])
                if rest[best][0] == 0.0:
                    ratio, room = (1.0 if cell["discreet"][0] == 0.0 else math.inf), 0.0
                else:
                    ratio = cell["discreet"][0] / rest[best][0]
                    room = ratio * math.hypot(cell["discreet"][1], rest[best][1])
                several.append(ratio)
                if ratio > 1.0 + 2.0 * room:
                    where = f"{len(rows_of(name, n)):,}, ε = {epsilon:g}"
                    least, most = number(cell["discreet"][0]), number(rest[best][0])
                    above.append([question, relation, name, where, best, least, most, f"{ratio:.2f} ± {room:.2f}"])
            if several:
                low, high = min(several), max(several)
                lines.append([question, relation, f"{middle(several):.2f}", f"{low:.2f}", f"{high:.2f}"])
    if not lines:
        return ""
    text = "**Our RMSE relative to the best of the others', over all rows, n and ε**\n\n"
    text += table(["question", "relation", "median", "least", "largest"], lines)
    if above:
        head = ["question", "relation", "rows", "n, ε", "best other", "ours", "theirs", "ratio"]
        text += "\n**Where ours is above by more than two Monte Carlo errors**\n\n" + table(head, above)
    return text


# Limits


def groups_of(n: int) -> tuple[object, dp.Schema, np.ndarray]:
    """Return rows in groups of unequal size, what is declared of them, and the groups' means."""
    import pandas as pd

    rng = np.random.default_rng(n)
    names = list("abcde")
    group = rng.choice(5, n, p=[0.5, 0.3, 0.15, 0.04, 0.01])
    x = rng.standard_normal(n) + group / 2.0
    schema = dp.Schema({"x": dp.Number(-5.0, 5.0), "group": dp.Category(names)})
    means = np.array([np.clip(x[group == place], -5.0, 5.0).mean() for place in range(5)])
    return pd.DataFrame({"x": x, "group": [names[place] for place in group]}), schema, means


def correlated(n: int, d: int, seed: int = 0, degrees: float = math.inf) -> np.ndarray:
    """Return rows with a covariance that is far from round, of about unit variance, of a Gaussian or Student's t."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.sqrt(np.geomspace(2.0, 0.1, d))
    rows = rng.standard_normal((n, d)) @ axes.T
    if degrees < math.inf:
        rows *= np.sqrt((degrees - 2.0) / rng.chisquare(degrees, n))[:, None]
    return rows + 0.5


def limited(n: int, epsilon: float) -> dict[str, tuple[Callable[[], st.Statistic], Callable[[st.Statistic], object]]]:
    """Return for every setting a way to ask once, and the truth that the intervals should contain."""
    x = np.random.default_rng(n).standard_normal(n) + 0.5
    kept = np.clip(x, -5.0, 5.0)
    known = {"epsilon": epsilon, "bounds": (-5.0, 5.0)}
    counted = known | {"neighbors": "add-remove"}
    gauss = {"delta": DELTA}
    frame, schema, means = groups_of(n)
    grouped = {"by": "group", "schema": schema, "epsilon": epsilon}
    two, ten = correlated(n, 2), correlated(n, 10)
    exact_two, exact_ten = (np.cov(np.clip(rows, -5.0, 5.0), rowvar=False, bias=True) for rows in (two, ten))

    def within(result: st.Mean) -> float:
        low, high = (float(np.asarray(end)[0]) for end in (result.bounds[0].low, result.bounds[0].high))
        inside = kept[(kept >= low) & (kept <= high)]
        return float(inside.mean()) if len(inside) else (low + high) / 2.0

    def clipped(result: st.Mean) -> float:
        return float(np.clip(x, np.asarray(result.bounds[0].low)[0], np.asarray(result.bounds[0].high)[0]).mean())

    mean, variance, quantiles = kept.mean(), kept.var(), np.quantile(kept, LEVELS)
    iqr = float(quantiles[3] - quantiles[1])
    location = float(np.median(kept))
    for _ in range(50):  # each step leaves less than a quarter of what is missing
        location += float(np.clip(kept - location, -1.345, 1.345).mean())
    counts = np.histogram(kept, BINS, (-5.0, 5.0))[0]
    return {
        "mean, public n, Laplace": (lambda: st.mean(x, bits=seeded(), **known), lambda _: mean),
        "mean, public n, Gaussian": (lambda: st.mean(x, bits=seeded(), **known, **gauss), lambda _: mean),
        "mean, counted, Laplace": (lambda: st.mean(x, bits=seeded(), **counted), lambda _: mean),
        "mean, counted, Gaussian": (lambda: st.mean(x, bits=seeded(), **counted, **gauss), lambda _: mean),
        "mean of 5 groups, Laplace": (lambda: st.mean(frame, "x", bits=seeded(), **grouped), lambda _: means),
        "mean of 5 groups, Gaussian": (lambda: st.mean(frame, "x", bits=seeded(), **grouped, **gauss), lambda _: means),
        "mean, loose": (lambda: st.mean(x, loose=True, bits=seeded(), **known), clipped),
        "trimmed mean": (lambda: st.trimmed_mean(x, bits=seeded(), **known), within),
        "variance, public n, Laplace": (lambda: st.variance(x, bits=seeded(), **known), lambda _: variance),
        "variance, counted, Laplace": (lambda: st.variance(x, bits=seeded(), **counted), lambda _: variance),
        "variance, adaptive": (
            lambda: st.variance(x, bits=seeded(), method="adaptive", **known, **gauss),
            lambda _: variance,
        ),
        "covariance, d = 2, one-shot": (
            lambda: st.covariance(two, bits=seeded(), method="one-shot", **known, **gauss),
            lambda _: exact_two,
        ),
        "covariance, d = 2, adaptive": (
            lambda: st.covariance(two, bits=seeded(), method="adaptive", **known, **gauss),
            lambda _: exact_two,
        ),
        "covariance, d = 10, one-shot": (
            lambda: st.covariance(ten, bits=seeded(), method="one-shot", **known, **gauss),
            lambda _: exact_ten,
        ),
        "covariance, d = 10, adaptive": (
            lambda: st.covariance(ten, bits=seeded(), method="adaptive", **known, **gauss),
            lambda _: exact_ten,
        ),
        "median": (lambda: st.median(x, bits=seeded(), **known), lambda _: np.median(kept)),
        "five quantiles": (lambda: st.quantiles(x, LEVELS, bits=seeded(), **known), lambda _: quantiles),
        "interquartile range": (lambda: st.interquartile_range(x, bits=seeded(), **known), lambda _: iqr),
        "histogram, Laplace": (lambda: st.histogram(x, bins=BINS, bits=seeded(), **known), lambda _: counts),
        "histogram, Gaussian": (lambda: st.histogram(x, bins=BINS, bits=seeded(), **known, **gauss), lambda _: counts),
        "Huber location": (lambda: huber_location(x, scale=1.0, bits=seeded(), **known), lambda _: location),
    }


def coverage(quick: bool) -> tuple[str, dict]:
    settings = [(1_000, 0.1), (1_000, 1.0), (10_000, 1.0)]
    lines: dict[tuple[str, float], list[str]] = {}
    for n, epsilon in settings:
        for name, (ask, truth) in limited(n, epsilon).items():
            runs = 20 if quick else 400
            result = [ask() for _ in range(runs)]
            exact = [np.asarray(truth(one), dtype=float) for one in result]
            off = np.array([np.asarray(one.value) - right for one, right in zip(result, exact, strict=True)])
            scale = np.sqrt((off**2).mean(axis=0))
            for level in (0.95, 0.5) if name.startswith("mean") else (0.95,):
                ends = [one.interval(level) for one in result]
                low, high = (np.array([np.asarray(end[side]) for end in ends]) for side in (0, 1))
                held = (low <= np.array(exact) + 1e-9) & (np.array(exact) - 1e-9 <= high)
                each = held.reshape(runs, -1).mean(axis=1)
                width = float(np.mean((high - low).mean(axis=0) / scale))
                share = f"{each.mean():.3f} ± {each.std() / math.sqrt(runs):.3f}"
                lines.setdefault((name, level), []).append(f"{share} ({width:.1f})")
    head = ["statistic", "level", *(f"n = {n:,}, ε = {epsilon:g}" for n, epsilon in settings)]
    text = (
        "**Share of runs whose interval covers the statistic of the rows ± Monte Carlo error (mean width / RMSE)**\n\n"
    )
    return text + table(head, [[name, f"{level:g}", *cells] for (name, level), cells in lines.items()]), {}


# Loose bounds, covariances


def loose(quick: bool) -> tuple[str, dict]:
    runs = 20 if quick else 400
    given = {"epsilon": 1.0, "bounds": (-1000.0, 1000.0)}
    ways = {
        "mean": lambda rows: st.mean(rows, bits=seeded(), **given).value,
        "mean, loose=True": lambda rows: st.mean(rows, loose=True, bits=seeded(), **given).value,
        "trimmed mean, 0.1": lambda rows: st.trimmed_mean(rows, bits=seeded(), **given).value,
        "Huber location, scale=1": lambda rows: huber_location(rows, scale=1.0, bits=seeded(), **given).value,
        "median, with interval": lambda rows: st.median(rows, bits=seeded(), **given).value,
        "median, interval=None": lambda rows: st.median(rows, interval=None, bits=seeded(), **given).value,
        "not private: mean": np.mean,
        "not private: median": np.median,
    }
    lines = []
    for name, way in ways.items():
        line = [name]
        for n in SIZES:
            rng = np.random.default_rng(n)  # the same rows for all
            value, error = rmse(repeated(runs, lambda rng=rng, n=n, way=way: way(rng.normal(3.0, 1.0, n)) - 3.0))
            line.append(with_error(value, value * error))
        lines.append(line)
    title = f"**N(3, 1) in [−1000, 1000], ε = 1, replace-one: RMSE against 3, new rows in each of {runs} runs**\n\n"
    return title + table(["", *(f"n = {n:,}" for n in SIZES)], lines), {}


def covariance(quick: bool) -> tuple[str, dict]:
    runs, n, methods = 5 if quick else 100, 10_000, ("one-shot", "adaptive")
    lines = []
    for title, degrees in (("Gaussian", math.inf), ("Student's t, 4 degrees", 4.0)):
        for d in (2, 10):
            for bound in (5.0, 50.0):
                rows = correlated(n, d, degrees=degrees)
                exact = np.cov(np.clip(rows, -bound, bound), rowvar=False, bias=True)
                line = [title, str(d), f"±{bound:g}"]
                for epsilon in EPSILONS:
                    given = {"epsilon": epsilon, "delta": DELTA, "bounds": (-bound, bound)}
                    off = {}
                    for method in methods:
                        ask = functools.partial(st.covariance, rows, method=method, **given)
                        several = repeated(runs, lambda ask=ask: ask(bits=seeded()).value) - exact
                        off[method] = np.linalg.norm(several, axis=(1, 2)) / np.linalg.norm(exact)
                    best = min(off, key=lambda method: off[method].mean())
                    for method, values in off.items():
                        cell = with_error(values.mean(), values.std() / math.sqrt(runs))
                        line.append(f"**{cell}**" if method == best else cell)
                lines.append(line)
    head = ["rows", "d", "bounds", *(f"{method}, ε = {epsilon:g}" for epsilon in EPSILONS for method in methods)]
    title = f"**‖error‖/‖covariance‖ (Frobenius), n = {n:,}, δ = 1e-6, replace-one, mean of {runs} runs**\n\n"
    return title + table(head, lines), {}


# Speed


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def written(path: Path, rows: np.ndarray) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(rows.shape[1])]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for part in np.array_split(rows, 50):
            writer.write_table(pa.table({name: part[:, j] for j, name in enumerate(names)}))
    return path


def speed(quick: bool, folder: Path | None) -> tuple[str, dict]:
    n, repeats = (100_000, 2) if quick else (10_000_000, 3)
    lines = []
    with tempfile.TemporaryDirectory(dir=folder) as made:
        for d in (1, 10):
            rows = np.random.default_rng(0).standard_normal((n, 1)) if d == 1 else correlated(n, d)
            file = written(Path(made) / f"{d}.parquet", rows)
            names = {f"x{j}": (-10.0, 10.0) for j in range(d)}
            given = {"epsilon": 1.0, "delta": DELTA if d > 1 else 0.0}
            sources = {"memory": (rows, {"bounds": (-10.0, 10.0)}), "Parquet": (file, {"bounds": names})}
            ways: dict[str, Callable[[], object]] = {}
            for place, (source, bounds) in sources.items():
                more = given | bounds
                if d == 1:
                    ways[f"median, {place}"] = functools.partial(st.median, source, interval=None, **more)
                    ways[f"median with interval, {place}"] = functools.partial(st.median, source, **more)
                else:
                    for method in ("one-shot", "adaptive"):
                        ask = functools.partial(st.covariance, source, method=method, **more)
                        ways[f"covariance, {method}, {place}"] = ask
            name = "NumPy's median" if d == 1 else "NumPy's cov"
            ways[name] = (lambda x=rows: np.median(x)) if d == 1 else (lambda x=rows: np.cov(x, rowvar=False))
            small = rows[:1000]
            st.median(small[:, 0], epsilon=1.0, bounds=(-10, 10))  # compiled once
            if d > 1:
                st.covariance(small, method="adaptive", bounds=(-10, 10), **given)
            times: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(repeats):
                for way, call in ways.items():
                    times[way].append(timed(call))
            base = middle(times[name])
            for way, each in times.items():
                spread = f"{min(each):.2f} to {max(each):.2f}"
                lines.append([way, f"{middle(each):.2f}", spread, f"{middle(each) / base:.2f}"])
            del rows
    title = f"**{n:,} rows (10 columns for covariances), one thread, median of {repeats} interleaved runs**\n\n"
    return title + table(["", "seconds", "from, to", "relative to NumPy"], lines), {}


# The figure


def saved(figure: object, path: Path) -> None:
    """Write a figure with few colours, so that the file is small."""
    from PIL import Image

    figure.savefig(path, dpi=90)
    Image.open(path).convert("RGB").quantize(32).save(path, optimize=True)


def draw_errors(facts: dict, path: Path, name: str = "normal") -> None:
    import matplotlib.pyplot as plt

    questions = ("mean", "variance", "median", "quantiles", "histogram")
    colours = {"discreet": "tab:blue", "opendp": "tab:orange", "diffprivlib": "tab:green"}
    figure, panels = plt.subplots(2, 5, figsize=(14.0, 5.2), constrained_layout=True, sharex=True, sharey="col")
    for row, relation in zip(panels, RELATIONS, strict=True):
        for panel, question in zip(row, questions, strict=True):
            for tool, colour in colours.items():
                for epsilon, line in zip(EPSILONS, ("--", "-"), strict=True):
                    each = [facts["found"][name, n, epsilon, relation, question].get(tool) for n in facts["sizes"]]
                    if None not in each:
                        label = f"{tool}, ε = {epsilon:g}"
                        values = [value for value, _ in each]
                        panel.plot(facts["sizes"], values, line, color=colour, marker="o", markersize=3, label=label)
            panel.set(xscale="log", yscale="log", title=f"{question}, {relation}")
            panel.title.set_fontsize(9)
    for panel in panels[1]:
        panel.set_xlabel("n")
    panels[0, 0].set_ylabel("RMSE")
    panels[1, 0].set_ylabel("RMSE")
    for panel in panels[:, -1]:
        panel.set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
        panel.minorticks_off()
    panels[0, -1].legend(fontsize=6, loc="center")
    saved(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("errors", "coverage", "loose", "covariance", "speed")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, help="some of the parts")
    parser.add_argument("--quick", action="store_true", help="few runs and rows, to see that it works")
    parser.add_argument("--cache", type=Path, help="a folder for the other libraries' answers")
    parser.add_argument("--parquet", type=Path, help="the folder that Parquet files are written in, for the speed")
    parser.add_argument("--out", type=Path, help="the folder for the figure of errors")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    with tempfile.TemporaryDirectory() as scratch:
        for part in asked.only:
            more = {"errors": [asked.cache or Path(scratch)], "speed": [asked.parquet]}.get(part, [])
            text, facts = globals()[part](asked.quick, *more)
            print(text, flush=True)
            if asked.out and part == "errors":
                import matplotlib

                matplotlib.use("Agg")
                asked.out.mkdir(parents=True, exist_ok=True)
                draw_errors(facts, asked.out / "statistics-errors.png")


if __name__ == "__main__":
    main()
