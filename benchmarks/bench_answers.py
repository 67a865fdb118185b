"""The answers of a hospital's report beside OpenDP, diffprivlib and Tumult Analytics: root mean squared errors.

Prints tables (Markdown) and writes the errors to a JSON file, from which ``--table`` prints them again.

    export OMP_NUM_THREADS=1
    python benchmarks/bench_answers.py --cache build/answers --json benchmarks/answers.json
    python benchmarks/bench_answers.py --json benchmarks/answers.json --table

Other libraries run in environments of their own; ``other_answers.py`` says how to make them and what each is asked.
Where these are not there, ours run alone. ``--quick`` takes few repeats.

All get the same rows, the same ε and δ and the same relation. An error is the distance to the answer of the rows
themselves, over repeats of the noise, and over the cells of an answer that has several. The rows are made up: age
(18 to 100), stay (0 to 90 days, log-normal), ward (four, of unequal size), sex, and whether somebody came back. A
person has one row, but for means by ward, where a person has up to three rows and is protected with all of them.

Ours have no interval here (``interval=None`` for quantiles), since the others give none.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dp
from discreet import statistics as st
from discreet.noise import NotPrivateWarning, SeededBits

HERE = Path(__file__).resolve().parent
LIBRARIES = ("opendp", "diffprivlib", "tumult")
NAMES = {"opendp": "OpenDP", "diffprivlib": "diffprivlib", "tumult": "Tumult Analytics"}
WARDS, SEXES, BACK = ["medicine", "surgery", "emergency", "other"], ["f", "m"], ["no", "yes"]
BOUNDS = {"age": (18.0, 100.0), "stay": (0.0, 90.0)}
SIZES = {"ward": len(WARDS), "sex": len(SEXES), "back": len(BACK)}
BINS, DELTA = 10, 1e-6
LEVELS = {"median of stay": 0.5, "99 % quantile of stay": 0.99}
QUESTIONS = (
    "visits by ward and sex",
    "histograms of four columns",
    "share of readmitted",
    "total of stays",
    "mean stay by ward",
    "standard deviation of stay",
    *LEVELS,
    "largest stay",
)
ROWS = (1_000, 20_000)
EPSILONS = (0.1, 1.0)
RELATIONS = ("add-remove", "replace-one")
seeds = iter(range(10**9))


def rows_of(n: int, max_rows: int) -> dict[str, np.ndarray]:
    """Return columns of numbers and codes, and whose row it is; nobody has more than ``max_rows`` rows."""
    rng = np.random.default_rng(n)
    ward = rng.choice(len(WARDS), n, p=[0.45, 0.33, 0.18, 0.04])
    age = rng.normal(58.0, 18.0, n).clip(*BOUNDS["age"]).round()
    stay = np.array([5.0, 7.0, 2.0, 5.0])[ward] * np.exp(rng.normal(0.0, 0.8, n))
    person = np.arange(n) if max_rows == 1 else np.repeat(np.arange(n), rng.integers(1, max_rows + 1, n))[:n]
    sex, back = rng.choice(2, n, p=[0.52, 0.48]), (rng.random(n) < 0.1).astype(int)
    return {"person": person, "age": age, "stay": stay.clip(*BOUNDS["stay"]), "ward": ward, "sex": sex, "back": back}


def bin_counts(rows: dict[str, np.ndarray], column: str) -> np.ndarray:
    if column in SIZES:
        return np.bincount(rows[column], minlength=SIZES[column])
    return np.histogram(rows[column], BINS, BOUNDS[column])[0]


def exact_answer(question: str, rows: dict[str, np.ndarray]) -> np.ndarray:
    stay = rows["stay"]
    if question == "visits by ward and sex":
        result = np.bincount(rows["ward"] * len(SEXES) + rows["sex"], minlength=len(WARDS) * len(SEXES))
    elif question == "histograms of four columns":
        result = np.concatenate([bin_counts(rows, column) for column in ("age", "stay", "ward", "sex")])
    elif question == "share of readmitted":
        result = rows["back"].mean()
    elif question == "total of stays":
        result = stay.sum()
    elif question == "mean stay by ward":
        result = [stay[rows["ward"] == place].mean() for place in range(len(WARDS))]
    elif question == "standard deviation of stay":
        result = stay.std()
    else:
        result = stay.max() if question == "largest stay" else np.quantile(stay, LEVELS[question])
    return np.asarray(result, dtype=float)


def ours(question: str, rows: dict[str, np.ndarray], job: dict) -> Callable[[], object]:
    """Return a function that answers the question once."""
    frame = pd.DataFrame(rows)
    # No row is dropped, so that under replace-one the number of rows is public, as it is for the other libraries.
    columns = {name: dp.Number(*ends, missing="fill", fill=ends[0]) for name, ends in BOUNDS.items()}
    named = {"ward": WARDS, "sex": SEXES, "back": BACK}
    columns |= {name: dp.Category(values, missing="fill", fill=values[0]) for name, values in named.items()}
    for column, values in named.items():
        frame[column] = np.array(values, dtype=object)[frame[column]]
    unit = {"unit": "person", "max_rows": job["max_rows"], "unit_type": "integer"} if job["max_rows"] > 1 else {}
    schema = dp.Schema(columns, **unit)
    curator = dp.Curator(frame, schema=schema, name="visits", neighbors=job["neighbors"])
    given: dict[str, Any] = {"epsilon": job["epsilon"], "delta": job["delta"]}

    def bits() -> SeededBits:
        return SeededBits(next(seeds))

    asked: dict[str, Callable[[], object]] = {
        "visits by ward and sex": lambda: st.count(curator, by=["ward", "sex"], bits=bits(), **given).value,
        "histograms of four columns": lambda: (
            st.histogram(curator, ["age", "stay", "ward", "sex"], bins=BINS, bits=bits(), **given).value
        ),
        "share of readmitted": lambda: st.proportion(curator, "back", of="yes", bits=bits(), **given).value,
        "total of stays": lambda: st.sum(curator, "stay", bits=bits(), **given).value,
        "mean stay by ward": lambda: st.mean(curator, "stay", by="ward", bits=bits(), **given).value,
        "standard deviation of stay": lambda: st.std(curator, "stay", bits=bits(), **given).value,
        "largest stay": lambda: st.max(curator, "stay", bits=bits(), **given, **_guess(job, rows)).value,
    }
    if question in LEVELS:
        level = LEVELS[question]
        return lambda: st.quantile(curator, level, "stay", interval=None, bits=bits(), **given).value
    return asked[question]


def _guess(job: dict, rows: dict[str, np.ndarray]) -> dict[str, int]:
    """Return the public guess of the number of rows that ``max`` needs where it is private."""
    return {} if job["neighbors"] == "replace-one" else {"rows": len(rows["stay"])}


def make_jobs(cache: Path, repeats: int) -> list[dict]:
    result = []
    for n in ROWS:
        for max_rows in (1, 3):
            np.savez(cache / f"visits-{n}-{max_rows}.npz", **rows_of(n, max_rows))
    for question in QUESTIONS:
        for relation in RELATIONS:
            for delta in (0.0, DELTA) if question == "histograms of four columns" else (0.0,):
                for n in ROWS:
                    for epsilon in EPSILONS:
                        max_rows = 3 if question == "mean stay by ward" else 1
                        job = {"question": question, "neighbors": relation, "epsilon": epsilon, "delta": delta}
                        job |= {"n": n, "max_rows": max_rows, "repeats": repeats, "bounds": BOUNDS, "sizes": SIZES}
                        job["rows"] = str(cache / f"visits-{n}-{max_rows}.npz")
                        if delta:
                            exact = dp.calibrate(dp.Guarantee(epsilon, delta), [dp.GaussianLoss(1.0)])
                            job["rho"] = exact.losses[0].mu ** 2 / 2.0
                        result.append(job)
    return result


def answers(library: str, jobs: list[dict], cache: Path) -> list | None:
    """Return another library's answers, from the cache if they are there; None where its environment is not there."""
    python = HERE.parent / "build" / library / "bin" / "python"
    wanted, result = cache / f"{library}-jobs.json", cache / f"{library}-answers.json"
    if library == "tumult":  # minutes for each answer about more rows; its errors fall with 1/n as well
        jobs = [job | {"repeats": 200 if job["n"] == min(ROWS) else 0} for job in jobs]
    if library == "opendp":  # a quantile takes a third of a second
        slow = (*LEVELS, "largest stay")
        jobs = [job | {"repeats": min(job["repeats"], 80)} if job["question"] in slow else job for job in jobs]
    text = json.dumps(jobs)
    if not (result.exists() and wanted.exists() and wanted.read_text(encoding="utf-8") == text):
        if not python.exists():
            return None
        result.unlink(missing_ok=True)
        wanted.write_text(text, encoding="utf-8")
        command = [python, HERE / "other_answers.py", library, "--jobs", wanted, "--out", result, "--times"]
        alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run(command, check=True, env=alone | {"OMP_NUM_THREADS": "1"})
    return json.loads(result.read_text(encoding="utf-8"))


def rmse(several: object, exact: np.ndarray) -> tuple[float, float]:
    """Return the root mean square over repeats and cells, and its own relative Monte Carlo error."""
    errors = np.asarray(several, dtype=float).reshape(-1, exact.size) - exact.ravel()
    squares = (errors**2).mean(axis=1)
    mean = float(squares.mean())
    return math.sqrt(mean), float(squares.std()) / mean / 2.0 / math.sqrt(len(squares))


def flat(value: object) -> list[float]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts]).tolist()


def measure(cache: Path, repeats: int) -> dict:
    cache = cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    jobs = make_jobs(cache, repeats)
    keys = ("question", "neighbors", "n", "epsilon", "delta", "max_rows")
    cells = [{key: job[key] for key in keys} | {"errors": {}} for job in jobs]
    for job, cell in zip(jobs, cells, strict=True):
        rows = rows_of(job["n"], job["max_rows"])
        once = ours(job["question"], rows, job)
        cell["errors"]["discreet"] = rmse([flat(once()) for _ in range(repeats)], exact_answer(job["question"], rows))
    for library in LIBRARIES:
        for cell, several in zip(cells, answers(library, jobs, cache) or [], strict=False):
            if isinstance(several, list) and several:
                rows = rows_of(cell["n"], cell["max_rows"])
                cell["errors"][library] = rmse(several, exact_answer(cell["question"], rows))
    return {"date": datetime.date.today().isoformat(), "repeats": repeats, "cells": cells}


def number(value: float) -> str:
    return f"{value:.2g}" if value < 10.0 else f"{value:,.0f}"


def table(head: list[str], lines: list[list[str]]) -> str:
    rule = f"| {' | '.join(['---'] * len(head))} |"
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def show(found: dict) -> str:
    """Return a table for each relation: our error, and that of each library relative to it."""
    text = f"Run on {found['date']}, {found['repeats']} repeats.\n"
    for relation in RELATIONS:
        tools = [tool for tool in LIBRARIES if relation == "add-remove" or tool != "tumult"]
        lines = []
        for question in QUESTIONS:
            for delta in (0.0, DELTA):
                for n in ROWS:
                    for epsilon in EPSILONS:
                        for cell in found["cells"]:
                            place = (question, relation, delta, n, epsilon)
                            if place == tuple(cell[k] for k in ("question", "neighbors", "delta", "n", "epsilon")):
                                lines.append(_line(cell, tools))
        head = ["question", "n", "ε", "error of discreet", *(f"{NAMES[tool]}, relative to it" for tool in tools)]
        text += f"\n**{relation}**\n\n" + table(head, lines)
    return text


def _line(cell: dict, tools: list[str]) -> list[str]:
    value, error = cell["errors"]["discreet"]
    title = cell["question"] + (f", δ = {cell['delta']:g}" if cell["delta"] else "")
    line = [title, f"{cell['n']:,}", f"{cell['epsilon']:g}", number(value)]
    for tool in tools:
        if tool not in cell["errors"]:
            line.append("–")
            continue
        other, room = cell["errors"][tool]
        line.append(f"{other / value:.2f} ± {other / value * math.hypot(error, room):.2f}")
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path("build/answers"), help="rows, jobs and others' answers")
    parser.add_argument("--json", type=Path, required=True, help="the file of errors: written, or with --table read")
    parser.add_argument("--table", action="store_true", help="only print what the file has")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    if not asked.table:
        warnings.simplefilter("ignore", NotPrivateWarning)
        found = measure(asked.cache, 20 if asked.quick else 400)
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    print(show(json.loads(asked.json.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
