"""What it costs to count at most so many rows of a person: sums of 10⁷ rows, from each source, as ratios in one run.

For each source and limit: the first sum, in which it is decided which rows count, and a second one, relative to the
same sum without a limit. Beside it, as a yardstick, the rule that this one has replaced: a dictionary that counts the
rows of each person in the order in which they come, cell by cell. It was fast enough, and wrong.

Persons have 4 rows on average (Poisson), so that with a limit of 4 more than half of all rows belong to somebody above
it, with 8 one in twenty, and with 20 none.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.records import Box, Records, Schema, Table, as_records
from discreet.records.declared.columns import Number

COLUMNS = {"a": Number(-5, 5), "b": Number(-5, 5)}


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def total(records: Records) -> Any:
    return records.reduce(lambda block: block.x.sum(axis=0), 2, 8.0, lambda block: block.x)


def tallied(ids: Any, max_rows: int) -> Any:
    """Return which rows were among the first of their person."""
    seen: dict[Any, int] = {}
    kept = []
    for cell in ids.tolist():
        before = seen.get(cell, 0)
        seen[cell] = before + 1
        kept.append(before < max_rows)
    return np.array(kept)


def main(rows: int) -> None:
    rng = np.random.default_rng(0)
    ids, x = rng.integers(0, rows // 4, rows), rng.normal(size=(rows, 2))
    frame = pd.DataFrame({"person": ids, "a": x[:, 0], "b": x[:, 1]})
    text = frame.assign(person=np.char.add("p", ids.astype(str)))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, table in (("whole", frame), ("text", text)):
            pq.write_table(pa.Table.from_pandas(table), place / f"{name}.parquet", row_group_size=2**20)
        import duckdb

        with duckdb.connect(str(place / "t.duckdb")) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{place / 'whole.parquet'}')")
        sources: dict[str, Any] = {
            "array, ids beside": None,
            "pandas": frame,
            "Polars, text": pl.from_pandas(text),
            "Parquet": place / "whole.parquet",
            "Parquet, text": place / "text.parquet",
            "Parquet by DuckDB": Table(place / "whole.parquet"),
            "DuckDB table": Table(place / "t.duckdb", "t"),
        }
        print(f"{rows:,} rows, {rows // 4:,} persons; seconds, and times the sum without a limit")
        print(f"a dictionary in the order of arrival: {seconds(lambda: tallied(ids, 4)):.2f} s for whole numbers")
        print("| source | no limit | limit | first sum | again |\n| --- | --- | --- | --- | --- |")
        for name, data in sources.items():
            free = as_records(x, space=Box(-5, 5)) if data is None else as_records(data, schema=Schema(COLUMNS))
            base = min(seconds(lambda free=free: total(free)) for _ in range(2))
            for most in (4, 8, 20):
                if data is None:
                    records = as_records(x, space=Box(-5, 5), unit=ids, max_rows=most)
                else:
                    records = as_records(data, schema=Schema(COLUMNS, unit="person", max_rows=most))
                first, again = (seconds(lambda records=records: total(records)) for _ in range(2))
                print(f"| {name} | {base:.2f} s | {most} | {first:.2f} s | {again / base:.1f} times |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**7)
