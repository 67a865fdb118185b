"""Synthetic tables of many rows, from a file: time and memory of a fit that never holds the rows.

    python benchmarks/bench_long_table.py                              # 10⁷ rows of 6 columns, from Parquet
    python benchmarks/bench_long_table.py --kind duckdb                # the same rows in a DuckDB file, summed in SQL

The rows are written to ``--folder`` first, in another process, if they are not there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings
from pathlib import Path

import numpy as np

import discreet as dp
from discreet.noise import NotPrivateWarning

PART = 10**6
SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 100),
        "weight": dp.Number(0, 200),
        "cost": dp.Number(1, 1e6, log=True),
        "sex": dp.Category(["F", "M"]),
        "ward": dp.Category([f"w{k}" for k in range(8)]),
        "again": dp.Category(["no", "yes"]),
    }
)


def write(path: Path, rows: int) -> None:
    """Write rows to a Parquet file, a million at a time, and the same into a DuckDB file beside it."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    part, writer = path.with_suffix(".part"), None
    for start in range(0, rows, PART):
        rng, number = np.random.default_rng(start), min(PART, rows - start)
        age = np.floor(np.clip(rng.normal(55, 20, number), 0, 100))
        male = rng.random(number) < 0.47
        ward = np.minimum((rng.random(number) * 8 * (0.6 + 0.004 * age)).astype(int), 7)
        weight = np.clip(55 + 14 * male + 0.1 * age + rng.normal(0, 12, number), 0, 200)
        cost = np.clip(np.exp(6 + 0.1 * ward + 0.01 * age + rng.normal(0, 1, number)), 1, 1e6)
        again = rng.random(number) < 1 / (1 + np.exp(2 - 0.02 * age - 0.3 * (ward == 3)))
        columns = {"age": age, "weight": weight, "cost": cost, "sex": np.where(male, "M", "F")}
        columns |= {"ward": np.array([f"w{k}" for k in range(8)])[ward], "again": np.where(again, "yes", "no")}
        block = pa.table(columns)
        writer = writer or pq.ParquetWriter(part, block.schema)
        writer.write_table(block)
    if writer is not None:
        writer.close()
    part.rename(path)
    with duckdb.connect(str(path.with_suffix(".duckdb"))) as connection:
        connection.execute(f"CREATE OR REPLACE TABLE visits AS SELECT * FROM '{path}'")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--kind", choices=["parquet", "duckdb"], default="parquet")
    parser.add_argument("--folder", type=Path, default=Path("build/long"))
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    path = given.folder / f"visits-{given.rows}.parquet"
    if not path.exists():
        process = multiprocessing.get_context("spawn").Process(target=write, args=(path, given.rows))
        process.start()
        process.join()
    rows = str(path) if given.kind == "parquet" else dp.Table(path.with_suffix(".duckdb"), "visits")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    clock, processor = time.perf_counter(), time.process_time()
    model = dp.TableSynthesizer(
        epsilon=given.epsilon, schema=SCHEMA, whole=["age"], target="again", neighbors="add-remove", random_state=0
    ).fit(rows)
    print(f"fit: {time.perf_counter() - clock:.0f} s, {time.process_time() - processor:.0f} CPU s", flush=True)
    print(f"{len(model.releases_)} releases, each a pass over the rows")
    clock, processor = time.perf_counter(), time.process_time()
    drawn = model.sample(100_000, random_state=0)
    print(f"{len(drawn['age'])} rows: {time.process_time() - processor:.0f} CPU s")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"memory: {after:.2f} GB, {before:.2f} of it before the fit")


if __name__ == "__main__":
    main()
