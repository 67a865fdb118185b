"""Synthetic tables of many columns: time and memory of a fit and of as many synthetic rows.

    python benchmarks/bench_wide_table.py                          # 30 columns of 20,000 rows
    python benchmarks/bench_wide_table.py --columns 100 --rows 100000

Half of the columns are numbers and half categories of 2 to 10 values. All of them follow from six common factors, so
every pair is related.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import discreet as dp


def make_table(columns: int, rows: int) -> tuple[pd.DataFrame, dp.Schema]:
    """Return a table and its schema."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(rows, 6)) @ (0.5 * rng.normal(size=(6, columns))) + rng.normal(size=(rows, columns))
    table: dict[str, np.ndarray] = {}
    declared: dict[str, Any] = {}
    for j, values in enumerate(latent.T):
        if j % 2:
            count = 2 + j % 9
            table[f"c{j}"] = np.searchsorted(np.quantile(values, np.linspace(0.0, 1.0, count + 1)[1:-1]), values)
            declared[f"c{j}"] = dp.Category(range(count))
        else:
            table[f"x{j}"] = values
            declared[f"x{j}"] = dp.Number(-8, 8)
    return pd.DataFrame(table), dp.Schema(declared)


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Return what some work gives, and print how long it took."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    print(f"{what}: {time.perf_counter() - clock:.0f} s, {time.process_time() - processor:.0f} CPU s", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    table, schema = make_table(given.columns, given.rows)
    model = timed("fit", lambda: dp.TableSynthesizer(epsilon=given.epsilon, schema=schema).fit(table))
    synthetic = timed(f"{given.rows} rows", lambda: model.sample(given.rows))
    numbers = [name for name in table if name.startswith("x")]
    error = np.abs(np.corrcoef(synthetic[numbers].T) - np.corrcoef(table[numbers].T)).mean()
    print(f"mean error of correlations: {error:.3f}")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")


if __name__ == "__main__":
    main()
