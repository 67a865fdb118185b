"""How long a step takes on many workers: a model with four numbers, measured on two workers and checked on larger runs.

A step over N rows in P partitions on W workers of one core takes about

    T = N/(r·W) + o·P/W + a + b·P

with r the rows a second and core, o the overhead of a task on a worker, and a + b·P the time of the driver: to make the
graph, send it, merge what comes back and draw. The four are fitted by least squares on relative errors to small runs
and compared with runs of 10⁷ and 10⁸ rows. The bytes that come to the driver do not depend on N: sixteen for each
number of the sum, once, since sums are merged on the workers.

    python benchmarks/predict_cluster.py                     some minutes, 3.2 GB for 10⁸ × 4 rows
    python benchmarks/predict_cluster.py --largest 10000000
"""

from __future__ import annotations

import argparse
import pickle
import statistics
import time
from typing import Any

import numpy as np
from scipy.optimize import nnls

from bench_cluster import make_query
from discreet.records import as_records
from discreet.records.sources.whole_sums import WholeSum

WORKERS = 2
SMALL = [(262_144, 4), (262_144, 32), (262_144, 128), (1_048_576, 4), (1_048_576, 64), (4_194_304, 16)]
LARGE = [(10_000_000, 40), (100_000_000, 400)]
PREDICTED = [(10**9, 100, 1_000), (10**11, 100, 20_000)]  # rows, workers, partitions


def features(rows: int, workers: int, partitions: int) -> list[float]:
    """Return what the four numbers are multiplied with."""
    return [rows / workers, partitions / workers, 1.0, partitions]


def run_step(query: Any, rows: int, partitions: int, repeats: int) -> float:
    """Return the seconds of a step over rows that the workers hold."""
    import dask.array as da
    from dask.distributed import wait

    data = da.random.default_rng(0).normal(0.0, 0.2, (rows, query.dimension), chunks=(-(-rows // partitions), -1))
    data = data.clip(-1.0, 1.0).persist()
    wait(data)
    records = as_records(data, space=query.space)
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        records.reduce(query.sum, query.size, query.bound.l2)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def main() -> None:
    from dask.distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--components", type=int, default=5)
    parser.add_argument("--largest", type=int, default=100_000_000)
    asked = parser.parse_args()
    query = make_query(asked.columns, asked.components)
    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        Client(cluster),
    ):
        run_step(query, 100_000, 2, 1)  # workers import and compile
        measured = {size: run_step(query, *size, repeats=5) for size in SMALL}
        matrix = np.array([np.array(features(n, WORKERS, p)) / took for (n, p), took in measured.items()])
        scale = matrix.max(axis=0)
        numbers = nnls(matrix / scale, np.ones(len(matrix)))[0] / scale  # none is negative
        rate = 1.0 / numbers[0] / 1e6
        print(f"r = {rate:.2f} million rows a second and core, o = {1e3 * numbers[1]:.1f} ms a task, "
              f"driver {1e3 * numbers[2]:.0f} ms + {1e3 * numbers[3]:.2f} ms a partition")  # fmt: skip
        print(f"{len(pickle.dumps(WholeSum(query.size, 1.0))):,} bytes a step to the driver")
        print("| rows | workers | partitions | predicted, s a step | measured |\n| --- | --- | --- | --- | --- |")
        for rows, partitions in (one for one in LARGE if one[0] <= asked.largest):
            expected = float(np.dot(features(rows, WORKERS, partitions), numbers))
            took = run_step(query, rows, partitions, repeats=3)
            print(f"| {rows:,} | {WORKERS} | {partitions} | {expected:.2f} | {took:.2f} |", flush=True)
    for rows, workers, partitions in PREDICTED:
        expected = float(np.dot(features(rows, workers, partitions), numbers))
        print(f"| {rows:,} | {workers} | {partitions:,} | {expected:.1f} | – |")


if __name__ == "__main__":
    main()
