"""A guard against slow paths: measures ratios in one run and compares them with those in ratios.json.

``make bench-check`` runs it in some minutes, by hand, before a change that could cost speed is finished. A ratio that
has fallen by more than a third fails. All are ratios of processor time, of all processes and threads together, so that
they mean the same on a machine that others use as well; each is the median of interleaved runs.

    python benchmarks/check_ratios.py            compare
    python benchmarks/check_ratios.py --write    after a deliberate change: write ratios.json anew
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import discreet as dp
from bench_cluster import dask_rows, make_query, make_rows, processor_seconds
from bench_mixture import Exact, rows, step
from discreet.records import as_records

FILE = Path(__file__).with_name("ratios.json")
FALL = 2.0 / 3.0
Ratio = Callable[[], float]


def spent(call: Callable[[], object]) -> float:
    """Return the processor seconds of a call, in this process and in those that it started."""
    start = processor_seconds()
    call()
    return processor_seconds() - start


def compare(ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 5) -> float:
    """Return how many times the processor time of ours theirs is."""
    ours()
    both = [(spent(ours), spent(theirs)) for _ in range(repeats)]
    return statistics.median(other for _, other in both) / statistics.median(own for own, _ in both)


def mixture_step(n: int, d: int, k: int) -> float:
    """Return an iteration of scikit-learn's mixture over a private step."""
    X = rows(n, d, k)
    one = step(dp.Curator(X, space=dp.Ball(6.0 * d**0.5 + 6.0)), d, k)

    def fit(iterations: int) -> None:
        Exact(k, init_params="random_from_data", max_iter=iterations, tol=0.0, random_state=0).fit(X)

    one()
    ratios = []
    for _ in range(3):
        few, many = spent(lambda: fit(2)), spent(lambda: fit(6))
        ratios.append((many - few) / 4 / statistics.median(spent(one) for _ in range(4)))
    return statistics.median(ratios)


def dask_step() -> float:
    """Return a step with NumPy over one on Dask's workers, for the same blocks."""
    data, query = make_rows(2_000_000, 10), make_query(10, 5)
    local = as_records(data, space=query.space)
    with dask_rows(data, local.block_rows) as far:
        records = as_records(far, space=query.space), local
        dask, numpy = (lambda r=r: r.reduce(query.sum, query.size, query.bound.l2) for r in records)
        dask()
        return compare(dask, numpy)


def csv_release() -> float:
    """Return ten releases from a frame over ten from a CSV file, which is parsed once."""
    frame = pd.DataFrame(make_rows(50_000, 10), columns=[f"c{j}" for j in range(10)])
    query = make_query(10, 5)
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(f"{folder}/rows.csv", index=False)
        schema = dp.Schema({name: dp.Number(-1, 1) for name in frame})

        def releases(data: object) -> Callable[[], object]:
            def ask() -> None:
                curator = dp.Curator(data, schema=schema)
                for _ in range(10):
                    curator.measure(query, dp.GaussianLoss(0.1))

            return ask

        return compare(releases(f"{folder}/rows.csv"), releases(frame), 3)


@contextmanager
def table() -> Iterator[list[str]]:
    """Yield the arguments of a query of a small file."""
    with tempfile.TemporaryDirectory() as folder:
        pd.DataFrame({"age": np.linspace(20.0, 90.0, 2000)}).to_csv(f"{folder}/people.csv", index=False)
        ledger = ["--ledger", f"{folder}/people.db", "--limit", "100:1e-6", "--epsilon", "0.1"]
        yield ["-m", "discreet", "query", f"{folder}/people.csv", "mean", "age", "--bounds", "age=0:110", *ledger]


def start_up(*arguments: str) -> float:
    """Return how long ``import scipy.special`` takes over a command of ours, which cannot do without it."""

    def run(*given: str) -> Callable[[], object]:  # several times: the system counts in hundredths of a second
        return lambda: [subprocess.run([sys.executable, *given], check=True, capture_output=True) for _ in range(8)]

    return compare(run(*arguments), run("-c", "import scipy.special"), 3)


def query_start_up() -> float:
    """Return the same for a query."""
    with table() as arguments:
        return start_up(*arguments)


RATIOS: dict[str, Ratio] = {
    "scikit-learn over a private step, 1,000,000 × 2, K = 10": lambda: mixture_step(1_000_000, 2, 10),
    "scikit-learn over a private step, 200,000 × 10, K = 10": lambda: mixture_step(200_000, 10, 10),
    "scikit-learn over a private step, 50,000 × 100, K = 10": lambda: mixture_step(50_000, 100, 10),
    "NumPy over Dask, 2,000,000 × 10, K = 5": dask_step,
    "frame over CSV, ten releases of 50,000 × 10": csv_release,
    "import scipy.special over import discreet": lambda: start_up("-c", "import discreet"),
    "import scipy.special over discreet --help": lambda: start_up("-m", "discreet", "--help"),
    "import scipy.special over discreet query": query_start_up,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write ratios.json anew")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if not asked.write and not FILE.exists():
        raise SystemExit(f"{FILE} is not there: nothing to compare with; write it with --write")
    before: dict[str, float] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    now, slow = {}, []
    for name, measure in RATIOS.items():
        now[name] = round(measure(), 3)
        known = before.get(name)
        fallen = not asked.write and known is not None and now[name] < FALL * known
        slow += [name] if fallen else []
        print(f"{now[name]:8.2f}  (was {known})  {name}{'  TOO SLOW' if fallen else ''}", flush=True)
    if asked.write:
        FILE.write_text(json.dumps(now, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(slow)


if __name__ == "__main__":
    sys.exit(main())
