"""Synthetic rows beside the real ones: ours, and other tools at the same ε, δ and relation.

    export OMP_NUM_THREADS=1
    python benchmarks/bench_table.py                                       # ours, into build/table_results.json
    python benchmarks/bench_table.py --methods aim mst --dpmm build/dpmm/bin/python
    python tools/table_figures.py                                          # the tables of the pages

``table_data.py`` has the tables: two for choosing (Adult, which ``DISCREET_DATA`` names the folder of, and one that is
made up) and four for the figures. ``table_measures.py`` says what is measured. ``other_table.py`` says how to make the
other tools' environments and what they guarantee. δ = 1e-6 and neighbours are add-remove, as theirs.

Every result is written to a JSON file as it comes: table, method, ε, seed, measures, seconds by the clock and of the
processor, version. What is there already is not run again (``--again`` does). Methods:

- ``synthesizer``: ``TableSynthesizer`` with the declared zeros and target; ``mixture``: ``TableMixture`` with 20
  components, which drops rows with gaps; ``independent``: every column by itself from a private histogram.
- ``aim-2MB``: AIM with a model of 2 MB and 250 iterations an estimate; ``aim``: with its own 80 MB and 1,000
  iterations; ``mst``, ``privbayes`` and ``pacsynth`` with their own settings.
- ``real``: the rows to test on in place of synthetic ones, and classifiers that were trained on the real rows.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import json
import os
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dp
from discreet.noise import NotPrivateWarning, SeededBits
from table_data import FINAL, TABLES, Table, load
from table_measures import codes, edges, likeness, measure, usefulness

DELTA = 1e-6
EPSILONS = (1.0, 0.3, 3.0)
NEIGHBORS = "add-remove"
COMPONENTS = 20
OTHERS: dict[str, tuple[str, dict[str, float]]] = {
    "aim-2MB": ("aim", {"size": 2.0, "iterations": 250}),
    "aim": ("aim", {"size": 80.0}),  # the default of its class
    "mst": ("mst", {}),
    "privbayes": ("privbayes", {}),
    "pacsynth": ("pacsynth", {}),
}
Maker = Callable[[Table, float, int], tuple[pd.DataFrame, dict[str, Any]]]


def schema(table: Table) -> dp.Schema:
    """Return what is declared of a table."""
    numbers = {name: dp.Number(*ends, log=name in table.log) for name, ends in table.numbers.items()}
    columns = numbers | {name: dp.Category(values) for name, values in table.categories.items()}
    return dp.Schema({name: columns[name] for name in table.columns})


def timed(make: Callable[[Table, float, int], pd.DataFrame]) -> Maker:
    """Return a maker of rows that also says how long it took."""

    def run(table: Table, epsilon: float, seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
        start, cpu = time.perf_counter(), time.process_time()
        rows = make(table, epsilon, seed)
        spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
        return rows, spent | {"version": f"discreet {dp.__version__}"}

    return run


@timed
def synthesizer(table: Table, epsilon: float, seed: int) -> pd.DataFrame:
    model = dp.TableSynthesizer(
        epsilon=epsilon,
        delta=DELTA,
        schema=schema(table),
        whole=list(table.whole),
        target=table.label,
        zeros=list(table.zeros),
        neighbors=NEIGHBORS,
        random_state=seed,
    ).fit(table.train)
    return pd.DataFrame(model.sample(len(table.train), random_state=seed))


@timed
def mixture(table: Table, epsilon: float, seed: int) -> pd.DataFrame:
    model = dp.TableMixture(
        COMPONENTS,
        epsilon=epsilon,
        delta=DELTA,
        schema=schema(table),
        whole=list(table.whole),
        neighbors=NEIGHBORS,
        random_state=seed,
    ).fit(table.train)
    return pd.DataFrame(model.sample(len(table.train), random_state=seed))


@timed
def independent(table: Table, epsilon: float, seed: int) -> pd.DataFrame:
    result, rng = codes(table, table.train, 20), np.random.default_rng(seed)
    binned = pd.DataFrame({name: code for name, (code, _) in result.items()})
    declared = dp.Schema({name: dp.Category(range(count)) for name, (_, count) in result.items()})
    curator = dp.Curator(binned, schema=declared, neighbors=NEIGHBORS)
    guarantee = dp.Guarantee(epsilon, DELTA, dp.Neighbors.parse(NEIGHBORS))
    losses = dp.calibrate(guarantee, [dp.GaussianLoss(1.0, neighbors=guarantee.neighbors)] * len(result)).losses
    bits, drawn = SeededBits(seed), {}
    for j, (name, loss) in enumerate(zip(table.columns, losses, strict=True)):
        release = curator.measure(dp.Histogram(result[name][1], column=j), loss, bits=bits)
        shares = np.maximum(release["counts"], 0.0)
        shares = shares[: None if name in table.gaps else -1]
        code = rng.choice(len(shares), size=len(table.train), p=shares / shares.sum())
        if name in table.numbers:
            ends = edges(table, name, 20)
            low = np.append(ends[:-1], np.nan)[code]
            values = low + rng.random(len(code)) * (np.append(ends[1:], np.nan)[code] - low)
            drawn[name] = np.clip(np.rint(values) if name in table.whole else values, *table.numbers[name])
        else:
            drawn[name] = np.array([*table.categories[name], None], dtype=object)[code]
    return pd.DataFrame(drawn)


def other(method: str, python: Path, cache: Path) -> Maker:
    """Return another tool's rows, kept in a folder, since they take minutes. It sees log columns as logarithms."""
    name, settings = OTHERS[method]

    def make(table: Table, epsilon: float, seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
        path = cache / table.name / f"{method}-{epsilon:g}-{seed}.csv"
        about = path.with_suffix(".json")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part, rows = path.with_suffix(".part.csv"), path.with_suffix(".rows.csv")
            seen = table.train.assign(**{column: np.log(table.train[column]) for column in table.log})
            seen.to_csv(rows, index=False)
            declared: dict[str, Any] = {}
            for column in table.columns:
                if column in table.numbers:
                    ends = np.array(table.numbers[column], dtype=float)
                    ends = np.log(ends) if column in table.log else ends
                    declared[column] = {"low": ends[0], "high": ends[1]}
                else:
                    declared[column] = table.categories[column]
            rows.with_suffix(".json").write_text(json.dumps(declared), encoding="utf-8")
            command = [str(python), str(Path(__file__).with_name("other_table.py")), name]
            files = {"rows": rows, "declared": rows.with_suffix(".json"), "out": part}
            for key, value in (files | {"epsilon": epsilon, "delta": DELTA, "seed": seed} | settings).items():
                command += [f"--{key}", f"{value:g}" if isinstance(value, float) else str(value)]
            subprocess.run(command, check=True, capture_output=True, text=True)
            part.with_suffix(".json").rename(about)
            part.rename(path)
            rows.unlink()
        texts = dict.fromkeys(table.categories, str)
        rows = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
        return rows.assign(**{column: np.exp(rows[column]) for column in table.log}), json.loads(about.read_text())

    return make


def real(table: Table) -> dict[str, float]:
    """Return the measures of real rows: those to test on against those to learn from, which the classifiers saw."""
    return likeness(table, table.test) | usefulness(table, table.train)


class Results:
    """The JSON file of results, which several processes may write to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """Return all results so far."""
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else []

    def add(self, result: dict[str, Any]) -> None:
        """Add a result, in the place of an earlier one for the same table, method, ε and seed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            rest = [one for one in self.read() if key(one) != key(result)]
            lines = [json.dumps(one, ensure_ascii=False) for one in sorted([*rest, result], key=key)]
            part = self.path.with_suffix(".part")
            part.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
            part.replace(self.path)


def key(result: dict[str, Any]) -> tuple[str, str, float, int]:
    """Return what a result is about."""
    return result["table"], result["method"], result["epsilon"] or 0.0, result["seed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(FINAL), choices=list(TABLES))
    parser.add_argument("--methods", nargs="+", default=["real", "synthesizer", "mixture", "independent"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--results", type=Path, default=Path("build/table_results.json"))
    parser.add_argument("--cache", type=Path, default=Path("build/table"), help="where other tools' rows are kept")
    parser.add_argument("--dpmm", type=Path, help="the Python of an environment with dpmm, see other_table.py")
    parser.add_argument("--smartnoise", type=Path, help="that of one with smartnoise-synth")
    parser.add_argument("--again", action="store_true", help="run also what the file has")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    makers: dict[str, Maker] = {"synthesizer": synthesizer, "mixture": mixture, "independent": independent}
    if asked.dpmm:
        makers |= {method: other(method, asked.dpmm, asked.cache) for method in OTHERS if method != "pacsynth"}
    if asked.smartnoise:
        makers["pacsynth"] = other("pacsynth", asked.smartnoise, asked.cache)
    if "adult" in asked.tables and not (Path(os.environ.get("DISCREET_DATA", "")) / "adult.data.gz").exists():
        print("skipped: DISCREET_DATA names no folder with adult.data.gz and adult.test.gz")
        asked.tables = [name for name in asked.tables if name != "adult"]
    tables, results = {name: load(name) for name in asked.tables}, Results(asked.results)
    for seed, epsilon, method, (name, table) in itertools.product(
        asked.seeds, asked.epsilons, asked.methods, tables.items()
    ):
        about = {"table": name, "method": method, "epsilon": epsilon, "seed": seed}
        if method == "real":
            about |= {"epsilon": None, "seed": 0}
        if key(about) in map(key, results.read()) and not asked.again:
            continue
        if method == "real":
            results.add(about | {"version": "", "measures": real(table)})
            continue
        try:
            rows, how = makers[method](table, epsilon, seed)
        except subprocess.CalledProcessError as error:
            print(f"{name}, {method}, ε = {epsilon:g}, seed {seed} failed: {error.stderr[-500:]}", flush=True)
            continue
        measures = {measure: round(value, 5) for measure, value in measure(table, rows).items()}
        how = {item: round(value, 1) if isinstance(value, float) else value for item, value in how.items()}
        results.add(about | how | {"neighbors": NEIGHBORS, "delta": DELTA, "measures": measures})
        shown = ", ".join(f"{measure} {value:.3f}" for measure, value in measures.items())
        print(f"{name}, {method}, ε = {epsilon:g}, seed {seed}: {how['seconds']:.0f} s; {shown}", flush=True)


if __name__ == "__main__":
    main()
