"""One private EM step against one iteration of scikit-learn's GaussianMixture on the same rows: ratios in one run.

A step is all of it: clipping, responsibilities, moments, noise and M-step, through the curator. Runs are interleaved
and medians compared; scikit-learn's time is the difference between fits of 2 and of 6 iterations from the same start.
Also: rows streamed from Parquet against rows in memory, and the memory that a step takes beside the rows.

    python benchmarks/bench_mixture.py            the three sizes
    python benchmarks/bench_mixture.py --parquet  and 10⁷ rows from a file
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Exact

import discreet as dp
from discreet.models.mixture.adaptive_model import AdaptiveMixture, Pool
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.queries.models.model_query import ModelQuery
from discreet.queries.moments.components import Components

SIZES = [(1_000_000, 2, 10, 5.0), (200_000, 10, 10, 3.0), (50_000, 100, 10, 3.0)]
LOSS = dp.GaussianLoss(0.1)


def centres(d: int, k: int) -> np.ndarray:
    return 2.0 * np.random.default_rng(0).standard_normal((k, d))


def rows(n: int, d: int, k: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.standard_normal((n, d)) + centres(d, k)[rng.integers(0, k, n)]


def step(curator: dp.Curator, d: int, k: int):
    """Return a function that makes one step, from components near the groups, as EM has them most of the time."""
    rng = np.random.default_rng(2)
    scale = curator.space.radius
    base = Components(np.ones(1), np.zeros((1, d)), np.eye(d)[None] / scale**2)
    model = AdaptiveMixture(k, base, Clipping.at_quantile(d, 0.9), Shape("full", d), (0.1, 0.3, 0.6), 10)
    means = (centres(d, k) + 0.3 * rng.standard_normal((k, d))) / scale
    start = Components(np.full(k, 1 / k), means, np.repeat(base.covariances, k, axis=0))
    pool = Pool.empty(start)
    query = ModelQuery(model, pool, curator.space)
    return lambda: model.maximize(pool, curator.measure(query, LOSS))


def timed(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def exact_fit(X: np.ndarray, k: int, iterations: int) -> float:
    model = Exact(k, init_params="random_from_data", max_iter=iterations, tol=0.0, random_state=0)
    return timed(lambda: model.fit(X))


def compare(n: int, d: int, k: int, wanted: float) -> None:
    X = rows(n, d, k)
    curator = dp.Curator(X, space=dp.Ball(6.0 * d**0.5 + 6.0))
    one = step(curator, d, k)
    one()
    ours, theirs = [], []
    for _ in range(5):
        ours.append(timed(one))
        theirs.append((exact_fit(X, k, 6) - exact_fit(X, k, 2)) / 4)
    tracemalloc.start()
    one()
    memory = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    mine, other = statistics.median(ours), statistics.median(theirs)
    print(
        f"N={n:>9,} d={d:>3} K={k}: private step {mine:7.3f} s, scikit-learn {other:7.3f} s, "
        f"ratio {other / mine:5.1f} (wanted {wanted:g}), {n / mine / 1e6:6.2f} million rows a second, "
        f"{memory:5.1f} MB beside the rows"
    )


def parquet(n: int = 10_000_000, d: int = 10, k: int = 10) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        X = rows(n, d, k)
        with pq.ParquetWriter(path, pa.schema([(f"x{j}", pa.float64()) for j in range(d)])) as writer:
            for part in np.array_split(X, 50):
                writer.write_table(pa.table({f"x{j}": part[:, j] for j in range(d)}))
        space = dp.Ball(25.0)
        memory, file = (step(dp.Curator(source, space=space), d, k) for source in (X, path))
        inside = [timed(memory) for _ in range(3)]
        outside = [timed(file) for _ in range(3)]
        ratio = statistics.median(inside) / statistics.median(outside)
        print(f"N={n:,} d={d} K={k}: from Parquet at {ratio:.2f} of the speed in memory (wanted 0.5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parquet", action="store_true", help="10⁷ rows from a file as well")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for size in SIZES:
        compare(*size)
    if wanted.parquet:
        parquet()


if __name__ == "__main__":
    main()
