"""A private mixture on Dask and on Spark, beside one process with NumPy: rows a second and core, and equal bits.

Each engine has two workers of one thread. Dask holds the rows in memory (persisted), Spark reads Parquet files and
keeps them from the second pass on. What is timed is a step, the sum of a mixture's statistic over all rows, after three
that are not timed, in which workers start, compile and keep. NumPy is timed on one thread and on all cores: where two
of them share a physical core, two workers are less than twice as fast as one. Steps of NumPy and of the engine take
turns, and ratios are medians over turns, so that what else runs on the machine slows all of them alike. Sums are
compared to the last bit, since partitions are whole blocks. Processor seconds are those of all processes.

    python benchmarks/bench_cluster.py                       10⁶ × 10 rows, K = 5
    python benchmarks/bench_cluster.py --rows 10000000 --engines dask
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import pandas as pd

from discreet.queries.moments.clipped_moments import ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.records import Box, Records, as_records
from discreet.records.sources.source import compute
from discreet.records.sources.whole_sums import sum_vectors

PARTITIONS = 8


def make_rows(rows: int, columns: int) -> np.ndarray:
    """Return rows in the unit box."""
    return np.clip(0.2 * np.random.default_rng(0).standard_normal((rows, columns)), -1.0, 1.0)


def make_query(columns: int, components: int) -> MomentSums:
    """Return the statistic of a mixture."""
    rng = np.random.default_rng(1)
    means = 0.1 * rng.standard_normal((components, columns)) / columns**0.5
    covariances = np.repeat((0.04 / columns * np.eye(columns))[None], components, axis=0)
    mixture = Components(np.full(components, 1.0 / components), means, covariances)
    moments = ClippedMoments(mixture, 1.5 * columns**0.5, (0.2, 0.3, 0.5))
    return MomentSums(moments, Box(-1, 1).for_columns(columns), "mixture")


@contextmanager
def dask_rows(rows: np.ndarray, block: int) -> Iterator[object]:
    """Yield the rows as a persisted Dask array of whole blocks, on two processes of one thread."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster, wait

    chunk = -(-len(rows) // (PARTITIONS * block)) * block
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        data = da.from_array(rows, chunks=(chunk, -1)).persist()
        wait(data)
        yield data


@contextmanager
def spark_rows(rows: np.ndarray, block: int) -> Iterator[object]:
    """Yield the rows as a Spark data frame of Parquet files of whole blocks each, on two threads of one machine."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    chunk = -(-len(rows) // (PARTITIONS * block)) * block
    names = [f"x{j}" for j in range(rows.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        for part, start in enumerate(range(0, len(rows), chunk)):
            columns = dict(zip(names, rows[start : start + chunk].T, strict=True))
            pq.write_table(pa.table(pd.DataFrame(columns)), f"{folder}/part-{part:03}.parquet")
        largest = max(os.path.getsize(f"{folder}/{name}") for name in os.listdir(folder))
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.files.maxPartitionBytes", str(largest + 1))
            .config("spark.sql.files.openCostInBytes", str(largest + 1))  # one file is one partition
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100000")
            .config("spark.driver.memory", "4g")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        yield session.read.parquet(folder).select(*names)
        session.stop()


def processor_seconds() -> float:
    """Return the processor time of this process and of all that it started."""
    import psutil

    own = psutil.Process()  # the third and fourth are of children that have ended
    return sum(own.cpu_times()[:4]) + sum(sum(one.cpu_times()[:4]) for one in own.children(recursive=True))


def timed(step: Callable[[], np.ndarray]) -> tuple[float, float]:
    """Return the seconds and the processor seconds of a step."""
    start, used = time.perf_counter(), processor_seconds()
    step()
    return time.perf_counter() - start, processor_seconds() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--components", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--engines", nargs="*", default=["dask", "spark"])
    asked = parser.parse_args()
    rows, query = make_rows(asked.rows, asked.columns), make_query(asked.columns, asked.components)

    def summed(records: Records) -> np.ndarray:
        return records.reduce(query.sum, query.size, query.bound.l2)

    local = as_records(rows, space=query.space)

    def alone() -> np.ndarray:
        slabs = local._source.read_declared()
        return sum_vectors(compute(local._source.reading, query.sum, slabs, cores=1), query.size, 1.0).to_floats()

    expected = alone()
    for name in asked.engines:
        with {"dask": dask_rows, "spark": spark_rows}[name](rows, local.block_rows) as data:
            records = as_records(data, space=query.space)
            steps = alone, partial(summed, local), partial(summed, records)
            results = [step() for _ in range(3) for step in steps]
            same = "the same bits" if {one.tobytes() for one in results} == {expected.tobytes()} else "OTHER BITS"
            took = np.array([[timed(step) for step in steps] for _ in range(asked.steps)])
            one, both, engine = asked.rows / np.median(took[:, :, 0], axis=0) / 1e6
            seconds, processor = np.median(took[:, 1, 0] / took[:, 2, 0]), np.median(took[:, 0, 1] / took[:, 2, 1])
            print(
                f"{name}, two workers: {engine:.2f} million rows a second (NumPy {one:.2f} on one thread, {both:.2f} "
                f"with a thread for each core); {seconds:.2f} of NumPy's with a thread for each core, {processor:.2f} "
                f"of NumPy's a processor second; {same}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
