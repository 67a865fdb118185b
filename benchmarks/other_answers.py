"""Answers of a hospital's report by another library, for a benchmark that runs this file with that library's Python.

    python3.11 -m venv build/opendp && build/opendp/bin/pip install opendp==0.16.0 numpy==2.4.6
    python3.11 -m venv build/diffprivlib && build/diffprivlib/bin/pip install diffprivlib==0.6.6 scikit-learn==1.8.0
    python3.11 -m venv build/tumult && build/tumult/bin/pip install tmlt.analytics==0.21.0      # and Java 17 for Spark

    export OMP_NUM_THREADS=1
    build/tumult/bin/python benchmarks/other_answers.py tumult --jobs jobs.json --out answers.json

A job is a JSON object: "question" (one of ``bench_answers.QUESTIONS``), "rows" (an .npz file of columns), "bounds" (by
column), "sizes" (how many values a column of categories has; they are 0, 1, …), "epsilon", "delta", "neighbors",
"max_rows" (rows of a person in column "person"; nobody has more), "repeats" and, where δ > 0, "rho". The answer is a
list of as many answers as repeats, each one at the whole ε, or {"refused": reason}. Answers are as the library gives
them, unless it is said below that they are not. The noise is not seeded.

OpenDP. What is run is checked by its own privacy map, at a distance of ``max_rows``, or twice that under replace-one.

- counts, cross-tabs, histograms: counts by categories. Histograms of several columns are composed: with Laplace noise
  at δ = 0, with Gaussian noise in zCDP at δ > 0.
- means, shares, standard deviations: as in ``other_statistics.py``. Shares are of the counts of both values, or
  of one of them where the number of rows is known. Means by
  group have a count and a sum for each group, each at half of ε: a person's rows lie in disjoint groups, so the noise
  of a group is that of the whole table.
- quantiles: its private quantile on a grid of 10,001 values. The largest value is its quantile at level 1.

diffprivlib. Pure ε, and one row a person. Means, shares, sums and standard deviations take the number of rows as
public, so they are refused under add-remove. Histograms are of add-remove, and get half of ε under replace-one.
Histograms of several columns get an equal part of ε each.

Tumult Analytics. Add-remove of a row, or of an identifier with at most ``max_rows`` rows. At δ > 0 its session has a
zCDP budget, of the largest ρ = μ²/2 whose Gaussian mechanism is (ε, δ)-private: its own conversion would give less. It
takes about a second for an answer. So all repeats are one query: the table is stacked as often as there are repeats,
with a column that numbers the copies, by which the query is grouped. A row or a person is in one copy only, so every
copy has the noise that it would have alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

STEPS = 2**20
CANDIDATES = 10_001
LEVELS = {"median of stay": 0.5, "99 % quantile of stay": 0.99, "largest stay": 1.0}
HISTOGRAMS = ("age", "stay", "ward", "sex")
BINS = 10

Columns = dict[str, np.ndarray]


def codes(job: dict, rows: Columns, column: str) -> tuple[np.ndarray, int]:
    """Return the cell of each row in a column of categories, or in ten bins of a column of numbers, and how many."""
    if column in job["sizes"]:
        return rows[column].astype(np.int64), job["sizes"][column]
    low, high = job["bounds"][column]
    return np.clip(((rows[column] - low) / (high - low) * BINS).astype(np.int64), 0, BINS - 1), BINS


def opendp(job: dict, rows: Columns) -> Callable[[], object]:
    """Return a function that answers the job once."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    question, epsilon, delta = job["question"], float(job["epsilon"]), float(job["delta"])
    known = job["neighbors"] == "replace-one"
    n, distance = len(rows["stay"]), job["max_rows"] * (2 if known else 1)
    low, high = map(float, job["bounds"]["stay"])
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    stay = np.clip(rows["stay"], low, high)
    whole = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()
    number = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()

    def noisy(transformation: dp.Transformation, share: float = 1.0) -> dp.Measurement:
        made = dp.binary_search_chain(lambda s: transformation >> dp.m.then_laplace(s), distance, epsilon * share)
        assert made.map(distance) <= epsilon * share
        return made

    def counting(size: int) -> dp.Transformation:
        metric = "L2Distance<i32>" if delta else "L1Distance<i32>"
        return whole >> dp.t.then_count_by_categories(list(range(size)), null_category=False, MO=metric)

    def total(values: np.ndarray, bound: float, share: float) -> Callable[[], float]:
        step = bound / STEPS
        made = noisy(whole >> dp.t.then_clamp((-STEPS, STEPS)) >> dp.t.then_sum(), share)
        steps = np.rint(values / step).astype(np.int64)
        return lambda: made(steps) * step

    def mean(values: np.ndarray) -> Callable[[], float]:
        count, first = noisy(number >> dp.t.then_count(), 0.5), total(values - middle, half, 0.5)
        return lambda: float(np.clip(middle + first() / max(count(values), 1), low, high))

    if question == "visits by ward and sex":
        ward, wards = codes(job, rows, "ward")
        sex, sexes = codes(job, rows, "sex")
        made, cells = noisy(counting(wards * sexes)), ward * sexes + sex
        return lambda: made(cells)
    if question == "histograms of four columns":
        parts = [codes(job, rows, column) for column in HISTOGRAMS]

        make = dp.m.then_gaussian if delta else dp.m.then_laplace

        def fits(scale: float) -> bool:
            made = dp.c.make_composition([counting(2) >> make(scale)] * len(parts))  # however many cells each has
            if delta:
                made = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(made), delta)
            return made.check(distance, (epsilon, delta) if delta else epsilon)

        low, scale = 0.0, 1e4
        while scale - low > 1e-4 * scale:  # its own search goes on to the last bit, which takes a while
            low, scale = (low, (low + scale) / 2.0) if fits((low + scale) / 2.0) else ((low + scale) / 2.0, scale)
        each = [(counting(size) >> make(scale), column) for column, size in parts]
        return lambda: list(itertools.chain.from_iterable(made(column) for made, column in each))
    sized = (dp.vector_domain(dp.atom_domain(T="i64"), size=n), whole[1]) if known else whole
    if question == "share of readmitted":
        back = codes(job, rows, "back")[0]
        if known:
            one = noisy(sized >> dp.t.then_clamp((0, 1)) >> dp.t.then_sum())
            return lambda: min(max(one(back) / n, 0.0), 1.0)
        made = noisy(counting(2))

        def share() -> float:
            no, yes = (max(one, 0) for one in made(back))
            return yes / max(no + yes, 1)

        return share
    if question == "total of stays":
        made = noisy(sized >> dp.t.then_clamp((0, STEPS)) >> dp.t.then_sum())
        steps = np.rint(stay / high * STEPS).astype(np.int64)
        return lambda: made(steps) * high / STEPS
    if question == "mean stay by ward":
        if known:
            raise NotImplementedError("groups have no known size")
        ward, wards = codes(job, rows, "ward")
        each = [mean(stay[ward == place]) for place in range(wards)]
        return lambda: [one() for one in each]
    if question == "standard deviation of stay":
        if known:
            sized = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.symmetric_distance()
            made = noisy(sized >> dp.t.then_clamp((low, high)) >> dp.t.then_variance(ddof=0))
            return lambda: math.sqrt(max(made(stay), 0.0))
        offset, share = half**2 / 2.0, 1.0 / 3.0
        count, first = noisy(number >> dp.t.then_count(), share), total(stay - middle, half, share)
        second = total((stay - middle) ** 2 - offset, offset, share)

        def deviation() -> float:
            size = max(count(stay), 1)
            return math.sqrt(np.clip(second() / size + offset - (first() / size) ** 2, 0.0, half**2))

        return deviation
    candidates = np.linspace(low, high, CANDIDATES).tolist()

    def selection(scale: float) -> dp.Measurement:
        among = number if not known else (dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), number[1])
        return among >> dp.m.then_private_quantile(dp.max_divergence(), candidates, LEVELS[question], scale)

    made = selection(dp.binary_search_param(selection, distance, epsilon))
    return lambda: made(stay)


def diffprivlib(job: dict, rows: Columns) -> Callable[[], object]:
    """Return a function that answers the job once."""
    from diffprivlib import mechanisms, tools

    warnings.simplefilter("ignore")
    # Of a list as long as the rows it asks the type of every item, twice an answer: five sixths of the time.
    mechanisms.Exponential._check_utility_candidates_measure = staticmethod(lambda *lists: lists)
    question, epsilon = job["question"], float(job["epsilon"])
    known = job["neighbors"] == "replace-one"
    if job["max_rows"] > 1 or job["delta"] > 0.0:
        raise NotImplementedError("it protects single rows, at δ = 0")
    given = {"epsilon": epsilon, "bounds": tuple(map(float, job["bounds"]["stay"]))}
    counted = epsilon / 2.0 if known else epsilon
    if question == "visits by ward and sex":
        ward, wards = codes(job, rows, "ward")
        sex, sexes = codes(job, rows, "sex")
        edges = {"bins": [wards, sexes], "range": [(-0.5, wards - 0.5), (-0.5, sexes - 0.5)]}
        return lambda: tools.histogram2d(ward, sex, epsilon=counted, **edges)[0].ravel().tolist()
    if question == "histograms of four columns":
        parts = [codes(job, rows, column) for column in HISTOGRAMS]

        def histograms() -> list[float]:
            each = (
                tools.histogram(cells, epsilon=counted / len(parts), bins=size, range=(-0.5, size - 0.5))[0]
                for cells, size in parts
            )
            return np.concatenate(list(each)).tolist()

        return histograms
    if question in LEVELS:
        ordered = np.sort(rows["stay"])
        return lambda: float(tools.quantile(ordered, LEVELS[question], **given))
    if not known:
        raise NotImplementedError("its noise takes the number of rows as public")
    if question == "share of readmitted":
        return lambda: float(tools.mean(rows["back"].astype(float), epsilon=epsilon, bounds=(0.0, 1.0)))
    if question == "standard deviation of stay":
        return lambda: float(tools.std(rows["stay"], **given))
    if question == "total of stays":
        return lambda: float(tools.sum(rows["stay"], **given))
    raise NotImplementedError("it has no groups")


def tumult(job: dict, rows: Columns) -> list:
    """Return all answers of the job, from one query."""
    import pandas as pd
    from pyspark.sql import SparkSession
    from tmlt.analytics import (
        AddOneRow,
        AddRowsWithID,
        KeySet,
        MaxRowsPerID,
        PureDPBudget,
        QueryBuilder,
        RhoZCDPBudget,
        Session,
    )

    if job["neighbors"] != "add-remove":
        raise NotImplementedError("it adds or removes rows")
    settings = {"spark.sql.shuffle.partitions": 4, "spark.ui.enabled": "false", "spark.driver.memory": "6g"}
    settings |= {"spark.sql.execution.arrow.pyspark.enabled": "true", "spark.log.level": "ERROR"}
    os.environ["PYSPARK_PYTHON"] = sys.executable  # of Spark's own processes
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    question, runs, n = job["question"], job["repeats"], len(rows["stay"])
    frame = pd.DataFrame({"run": np.repeat(np.arange(runs), n), "stay": np.tile(rows["stay"].astype(float), runs)})
    for column in ("ward", "sex"):
        frame[column] = np.tile(codes(job, rows, column)[0], runs)
    frame["back"] = np.tile(rows["back"].astype(np.int64), runs)
    for column in ("age", "stay"):
        frame[f"{column}_bin"] = np.tile(codes(job, rows, column)[0], runs)
    if job["max_rows"] > 1:
        frame["person"] = frame["run"].astype(str) + "-" + np.tile(rows["person"].astype(str), runs)
    zcdp = job["delta"] > 0.0
    total = RhoZCDPBudget(job["rho"]) if zcdp else PureDPBudget(job["epsilon"])
    unit = AddRowsWithID("person") if job["max_rows"] > 1 else AddOneRow()
    session = Session.from_dataframe(total, "visits", spark.createDataFrame(frame), protected_change=unit)
    low, high = map(float, job["bounds"]["stay"])

    def ask(groups: dict[str, int], add: Callable[[object], object], share: float = 1.0) -> np.ndarray:
        names = ["run", *groups]
        cells = list(itertools.product(range(runs), *(range(size) for size in groups.values())))
        keys = KeySet.from_dataframe(spark.createDataFrame(pd.DataFrame(cells, columns=names)))
        query = QueryBuilder("visits")
        if job["max_rows"] > 1:
            query = query.enforce(MaxRowsPerID(job["max_rows"]))
        part = RhoZCDPBudget(job["rho"] * share) if zcdp else PureDPBudget(job["epsilon"] * share)
        result = session.evaluate(add(query.groupby(keys)), part).toPandas().sort_values(names)
        return result.iloc[:, -1].to_numpy(dtype=float).reshape(runs, -1)

    if question == "visits by ward and sex":
        return ask({"ward": job["sizes"]["ward"], "sex": job["sizes"]["sex"]}, lambda q: q.count()).tolist()
    if question == "histograms of four columns":
        sizes = {"age_bin": BINS, "stay_bin": BINS, "ward": job["sizes"]["ward"], "sex": job["sizes"]["sex"]}
        each = [ask({column: size}, lambda q: q.count(), 1.0 / len(sizes)) for column, size in sizes.items()]
        return np.hstack(each).tolist()
    if question == "mean stay by ward":
        return ask({"ward": job["sizes"]["ward"]}, lambda q: q.average("stay", low, high)).tolist()
    if question == "share of readmitted":
        result = ask({}, lambda q: q.average("back", 0, 1))
    elif question == "standard deviation of stay":
        result = ask({}, lambda q: q.stdev("stay", low, high))
    elif question == "total of stays":
        result = ask({}, lambda q: q.sum("stay", low, high))
    elif question == "largest stay":
        result = ask({}, lambda q: q.max("stay", low, high))
    else:
        result = ask({}, lambda q: q.quantile("stay", LEVELS[question], low, high))
    return result.ravel().tolist()


def answer(tool: str, job: dict) -> object:
    """Return as many answers as the job has repeats, or why there are none."""
    if not job["repeats"]:
        return []
    with np.load(job["rows"]) as stored:
        rows = {name: stored[name] for name in stored.files}
    try:
        if tool == "tumult":
            return tumult(job, rows)
        once = {"opendp": opendp, "diffprivlib": diffprivlib}[tool](job, rows)
        return [once() for _ in range(job["repeats"])]
    except (NotImplementedError, RuntimeError) as error:
        return {"refused": str(error).split(" Debugging info")[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", choices=["opendp", "diffprivlib", "tumult"])
    parser.add_argument("--jobs", type=Path, required=True, help="a JSON file: the list of jobs")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write: the list of their answers")
    parser.add_argument("--times", action="store_true", help="print the seconds of every job")
    asked = parser.parse_args()
    answers = []
    for job in json.loads(asked.jobs.read_text(encoding="utf-8")):
        began = time.perf_counter()
        answers.append(answer(asked.tool, job))
        if asked.times:
            print(
                f"{time.perf_counter() - began:7.2f} s  {job['question']}, {job['rows']}, {job['epsilon']}", flush=True
            )
            if isinstance(answers[-1], dict):
                print("         refused:", answers[-1]["refused"], flush=True)
    asked.out.write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
