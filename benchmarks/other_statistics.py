"""Simple statistics by another library, for a benchmark that runs this file with that library's own Python.

    python3.11 -m venv build/opendp && build/opendp/bin/pip install opendp==0.16.0 numpy==2.4.6
    python3.11 -m venv build/diffprivlib && build/diffprivlib/bin/pip install diffprivlib==0.6.6 scikit-learn==1.8.0

    export OMP_NUM_THREADS=1
    build/opendp/bin/python benchmarks/other_statistics.py opendp --jobs jobs.json --out answers.json

(diffprivlib 0.6.6 cannot be imported with scikit-learn 1.9.) A job is a JSON object: "question" (mean, variance,
median, quantiles or histogram), "rows" (a .npy file of numbers), "bounds", "epsilon", "delta", "neighbors" (replace-one
or add-remove), "repeats", and where it applies "quantiles", "edges" and "candidates". The answer is a list of as many
answers as repeats, each one at the whole ε, or {"refused": reason}. Bounds are public, and so is the number of rows
under replace-one; under add-remove it is not. The variance has divisor n. A histogram counts the rows within its edges,
of which only the last belongs to the bin below it. Answers are as the library gives them, unless it is said below that
they are not. The noise is not seeded.

OpenDP. Pure ε, by Laplace noise (discrete for counts); what is run is checked by its own privacy map.

- replace-one: the change-one metric over a domain of known size, which becomes a symmetric distance of 2. Mean and
  variance are its own, with the sensitivity of known size. A histogram has sensitivity 2.
- add-remove: the symmetric distance, and unknown size. The mean of its Polars interface then divides a noisy sum by a
  noisy count. So do we, at half of ε each. It has no variance without a size; ours is of the count, the sum and the sum
  of squares, at a third each. In its favour values and squares are centred between their bounds, the sums are of
  integers (2^20 steps from the middle to a bound, since its sum of floats within ±1/2 has sensitivity 1, not 1/2), and
  the result is clipped to what is possible. A histogram has sensitivity 1.
- median, quantiles: its private quantile, which selects one of given candidates by noisy max with exponential noise
  (permute-and-flip). The candidates are equally spaced over the bounds, both included: as many as ``--candidates``
  says, or the job's own "candidates", a number or a list. Several quantiles share one noise scale and are composed; for
  δ > 0 in zCDP, with Gumbel noise, if that scale is smaller. Otherwise δ is not used.

diffprivlib. Pure ε; δ is not used.

- mean, variance: Laplace noise for the width of the bounds over n (the width squared, for the variance), so
  replace-one. Under add-remove the scale of the noise would tell n, and the job is refused. The mean is clipped to the
  bounds. The variance is drawn within its own bounds, which takes nearly twice the noise.
- median, quantiles: the exponential mechanism over the intervals between rows, sensitivity 1, ε split evenly. That is
  right under replace-one. Under add-remove it holds too, with up to twice the noise that is needed.
- histogram: geometric noise of sensitivity 1, truncated at 0, so add-remove. For replace-one it is given half of ε.
- ties: an interval of no width is never chosen. With normal ages in whole years the median came out anywhere in the
  year above the true one. (So did OpenDP's on an equally spaced grid; with the ages as candidates it was exact.) With
  80% of 5,000 rows or more at one value, and ε = 1, it fails ("Can't find a candidate to return", since all
  probabilities underflow to 0). Such a job is answered as refused.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

STEPS = 2**20


def opendp(job: dict, rows: np.ndarray) -> Callable[[], object]:
    """Return a function that answers the job once."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    low, high = map(float, job["bounds"])
    epsilon, delta = float(job["epsilon"]), float(job["delta"])
    known = job["neighbors"] == "replace-one"
    number = dp.atom_domain(T=float, nan=False)
    if known:
        metric = dp.change_one_distance()
        space = (dp.vector_domain(number, size=len(rows)), metric) >> dp.t.then_metric_unbounded()
    else:
        space = dp.vector_domain(number), dp.symmetric_distance()

    def noisy(transformation: dp.Transformation, share: float = 1.0) -> dp.Measurement:
        made = dp.binary_search_chain(lambda s: transformation >> dp.m.then_laplace(s), 1, epsilon * share)
        assert made.map(1) <= epsilon * share
        return made

    def total(values: np.ndarray, bound: float, share: float) -> Callable[[], float]:
        step = bound / STEPS
        whole = np.rint(values / step).astype(np.int64)
        among = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()
        made = noisy(among >> dp.t.then_clamp((-STEPS, STEPS)) >> dp.t.then_sum(), share)
        return lambda: made(whole) * step

    if job["question"] in ("mean", "variance"):
        mean = job["question"] == "mean"
        if known:
            clamped = space >> dp.t.then_clamp((low, high))
            made = noisy(clamped >> (dp.t.then_mean() if mean else dp.t.then_variance(ddof=0)))
            return lambda: made(rows)
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        centred = np.clip(rows, low, high) - middle
        share = 0.5 if mean else 1.0 / 3.0
        count, first = noisy(space >> dp.t.then_count(), share), total(centred, half, share)
        if mean:
            return lambda: float(np.clip(middle + first() / max(count(rows), 1), low, high))
        offset = half**2 / 2.0
        second = total(centred**2 - offset, offset, share)

        def variance() -> float:
            n = max(count(rows), 1)
            return float(np.clip(second() / n + offset - (first() / n) ** 2, 0.0, half**2))

        return variance

    if job["question"] == "histogram":
        edges = list(map(float, job["edges"]))
        edges[-1] = float(np.nextafter(edges[-1], np.inf))  # the last bin has both its edges
        bins = dp.t.then_count_by_categories(list(range(1, len(edges))), null_category=False)
        counts = noisy(space >> dp.t.then_find_bin(edges) >> bins)
        return lambda: counts(rows)

    levels = [0.5] if job["question"] == "median" else list(map(float, job["quantiles"]))
    candidates = job["candidates"]
    if isinstance(candidates, int):
        candidates = np.linspace(low, high, candidates).tolist()

    def selection(scale: float, among: list[float], zcdp: bool) -> dp.Measurement:
        measure = dp.zero_concentrated_divergence() if zcdp else dp.max_divergence()
        each = [space >> dp.m.then_private_quantile(measure, among, level, scale) for level in levels]
        made = dp.c.make_composition(each)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(made), delta) if zcdp else made

    scales = {}
    for zcdp in [False, True] if delta > 0.0 and len(levels) > 1 else [False]:
        guarantee = (epsilon, delta) if zcdp else epsilon  # it does not depend on how many candidates there are
        scales[zcdp] = dp.binary_search_param(lambda s, z=zcdp: selection(s, [low, high], z), 1, guarantee)
    zcdp = min(scales, key=scales.get)
    made = selection(scales[zcdp], candidates, zcdp)
    assert made.check(1, (epsilon, delta) if zcdp else epsilon)
    return (lambda: made(rows)[0]) if job["question"] == "median" else (lambda: list(made(rows)))


def diffprivlib(job: dict, rows: np.ndarray) -> Callable[[], object]:
    """Return a function that answers the job once."""
    from diffprivlib import mechanisms, tools

    warnings.simplefilter("ignore")
    # Of a list as long as the rows it asks the type of every item, twice an answer: five sixths of the time.
    mechanisms.Exponential._check_utility_candidates_measure = staticmethod(lambda *lists: lists)
    low, high = map(float, job["bounds"])
    epsilon = float(job["epsilon"])
    known = job["neighbors"] == "replace-one"
    given = {"epsilon": epsilon, "bounds": (low, high)}
    if job["question"] in ("mean", "variance"):
        if not known:
            raise NotImplementedError("its noise takes the number of rows as public")
        answer = tools.mean if job["question"] == "mean" else tools.var
        return lambda: float(answer(rows, **given))
    if job["question"] == "histogram":
        edges = np.asarray(job["edges"], dtype=float)
        given = {"epsilon": epsilon / 2.0 if known else epsilon, "bins": edges, "range": (edges[0], edges[-1])}
        return lambda: tools.histogram(rows, **given)[0].tolist()
    rows = np.sort(rows)
    if job["question"] == "median":
        return lambda: float(tools.median(rows, **given))
    levels = list(map(float, job["quantiles"]))
    return lambda: np.atleast_1d(tools.quantile(rows, levels, **given)).tolist()


LIBRARIES = {"opendp": opendp, "diffprivlib": diffprivlib}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", choices=list(LIBRARIES))
    parser.add_argument("--jobs", type=Path, required=True, help="a JSON file: the list of jobs")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write: the list of their answers")
    parser.add_argument("--candidates", type=int, default=10_000, help="for OpenDP's quantiles (default 10,000)")
    parser.add_argument("--times", action="store_true", help="print the seconds of every job")
    asked = parser.parse_args()
    answers = []
    for job in json.loads(asked.jobs.read_text(encoding="utf-8")):
        began = time.perf_counter()
        rows = np.load(job["rows"]).astype(float)
        try:
            once = LIBRARIES[asked.tool]({"delta": 0.0, "candidates": asked.candidates} | job, rows)
            answers.append([once() for _ in range(job["repeats"])])
        except (NotImplementedError, RuntimeError) as error:
            answers.append({"refused": str(error).split(" Debugging info")[0]})
        if asked.times:
            print(f"{time.perf_counter() - began:7.2f} s  {job['question']}, {len(rows)} rows", flush=True)
    asked.out.write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
