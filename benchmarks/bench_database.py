"""Sums inside a database against sums over the rows that it sends: the same covariance by groups, timed in one run.

    python benchmarks/bench_database.py [--rows 10000000] [--postgresql URL]

Each line has the seconds and the ratio to the in-database sum. With ``--postgresql`` a table ``discreet_bench`` is made
there, and dropped again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet import Category, Number, Schema, Table
from discreet.queries.adaptors import Grouped, OfColumns
from discreet.queries.moments.moments import Moments
from discreet.records import Records, as_records

COLUMNS = [f"c{j}" for j in range(5)]


def rows(count: int, rng: np.random.Generator) -> pa.Table:
    columns = {name: rng.normal(50.0, 15.0, count) for name in COLUMNS}
    people = rng.integers(0, max(count // 4, 1), count)
    return pa.table(columns | {"group": rng.integers(0, 2, count), "person": people})


def schema(limited: bool) -> Schema:
    columns = {name: Number(0, 120) for name in COLUMNS} | {"group": Category([0, 1])}
    return Schema(columns, unit="person", max_rows=2) if limited else Schema(columns)


def timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    best, result = np.inf, np.empty(0)
    for _ in range(2):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def compare(name: str, records: Records) -> None:
    space = records.space
    query = Grouped(OfColumns(Moments(space), space, tuple(range(len(COLUMNS)))), 2, 0)
    inside, one = timed(lambda: records.reduce(query.sum, query.size, query.bound.l2, query.contributions))
    streamed, other = timed(lambda: records.reduce(query.sum, query.size))
    error = float(np.abs(one - other).max()) / max(records.rows, 1)
    print(f"{name:34} in the database {inside:7.2f} s   streamed {streamed:7.2f} s   ratio {streamed / inside:5.2f}"
          f"   largest difference {error:.1e} a row", flush=True)  # fmt: skip


def in_memory(table: pa.Table) -> None:
    x = np.stack([table[name].to_numpy() for name in COLUMNS], axis=1)
    group = table["group"].to_numpy()

    def plain() -> np.ndarray:
        return np.concatenate([np.cov(np.clip(x[group == one], 0, 120), rowvar=False).ravel() for one in (0, 1)])

    print(f"{'NumPy, rows in memory':34} {timed(plain)[0]:7.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--postgresql", help="the URL of a database in which a table may be made")
    arguments = parser.parse_args()
    table = rows(arguments.rows, np.random.default_rng(0))
    in_memory(table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(table, path)
        for limited in (False, True):
            name = "Parquet, by DuckDB" + (", two rows a person" if limited else "")
            compare(name, as_records(Table(path), schema=schema(limited)))
    if arguments.postgresql:
        import adbc_driver_postgresql.dbapi as adbc

        some = table.slice(0, min(arguments.rows, 1_000_000))
        with adbc.connect(arguments.postgresql, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("discreet_bench", some, mode="replace")
            try:
                for limited in (False, True):
                    name = f"PostgreSQL, {len(some):,} rows" + (", two a person" if limited else "")
                    compare(name, as_records(Table(arguments.postgresql, "discreet_bench"), schema=schema(limited)))
            finally:
                cursor.execute("DROP TABLE discreet_bench")


if __name__ == "__main__":
    main()
