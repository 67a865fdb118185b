"""Mixtures on a GPU: rows a second of the statistic, and whole private fits, by fused kernels and by torch.

python benchmarks/bench_cuda.py                      the statistic, for several shapes
python benchmarks/bench_cuda.py --fit 1e8 10         a whole fit of 10⁸ rows × 10 columns, K = 10, ε = 1
python benchmarks/bench_cuda.py --fit 1e8 10 --torch the same without the kernels
python benchmarks/bench_cuda.py --stream 1e8 10      rows that stay in (pinned) memory of the host, in blocks
python benchmarks/bench_cuda.py --parquet rows.parquet 1e7 10    rows of a file, which is written first
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import torch

import discreet as dp
from discreet.queries.moments import fused
from discreet.queries.moments.clipped_moments import ClippedMoments
from discreet.queries.moments.components import Components
from discreet.records import Box, as_records, device_reading

K, BOUND = 10, 10.0
# components, columns, covariance type, whether rows are assigned, rows
SHAPES = [
    (10, 2, "full", False, 2**24),
    (10, 5, "full", False, 2**24),
    (10, 10, "full", False, 2**24),
    (10, 10, "diag", False, 2**24),
    (10, 10, "tied", False, 2**24),
    (10, 10, "spherical", False, 2**24),
    (15, 10, "spherical", True, 2**24),
    (32, 10, "full", False, 2**23),
    (10, 12, "full", False, 2**22),
    (10, 16, "full", False, 2**22),
    (10, 20, "full", False, 2**22),
    (10, 30, "full", False, 2**21),
    (10, 50, "full", False, 2**20),
    (10, 100, "full", False, 2**20),
]


def mixture(k: int, d: int, shape: str) -> Components:
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((k, d, d))
    covariances = 0.02 * (factors @ factors.transpose(0, 2, 1) / d + 0.2 * np.eye(d)) / d
    if shape in ("diag", "spherical"):
        covariances *= np.eye(d)
    return Components(rng.dirichlet(np.full(k, 5.0)), 0.2 * rng.standard_normal((k, d)) / d**0.5, covariances)


@contextmanager
def without_kernels() -> Iterator[None]:
    """Compute with torch alone."""
    fused._prepare.cache_clear()
    with (
        mock.patch.object(fused, "load_kernel", return_value=None),
        mock.patch.object(device_reading, "load_kernel", return_value=None),
    ):
        yield
    fused._prepare.cache_clear()


def timed(call: Callable[[], object], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def statistic() -> None:
    print("| K | d | covariances | rows | torch, million rows/s | fused | ratio | apart |\n" + "| --- " * 8 + "|")
    for k, d, shape, hard, n in SHAPES:
        moments = ClippedMoments(mixture(k, d, shape), 1.1 * d**0.5, (0.1, 0.3, 0.6), shape, hard)
        box = Box([-BOUND] * d, [BOUND] * d)
        x = 3.0 * torch.randn(n, d, dtype=torch.float64, device="cuda")
        ours = moments.sum(x, space=box)
        fast = timed(lambda moments=moments, x=x, box=box: moments.sum(x, space=box))
        with without_kernels():
            other = moments.sum(x, space=box)
            slow = timed(lambda moments=moments, x=x, box=box: moments.sum(x, space=box), 2)
        apart = float((ours - other).norm() / other.norm())
        name = f"{shape}, assigned" if hard else shape
        print(
            f"| {k} | {d} | {name} | {n:,} | {n / slow / 1e6:,.0f} | {n / fast / 1e6:,.0f} | {slow / fast:.1f} "
            f"| {apart:.0e} |",
            flush=True,
        )


def rows(n: int, d: int, device: str, pinned: bool = False) -> torch.Tensor:
    """Return rows in groups, drawn on the GPU."""
    x = torch.empty(n, d, dtype=torch.float64, device=device, pin_memory=pinned)
    centres = torch.as_tensor(2.0 * np.random.default_rng(0).standard_normal((K, d)), device="cuda")
    random = torch.Generator(device="cuda").manual_seed(1)
    for start in range(0, n, 2**23):
        some = x[start : start + 2**23]
        label = torch.randint(0, K, (len(some),), generator=random, device="cuda")
        drawn = torch.randn(some.shape, generator=random, device="cuda", dtype=torch.float64)
        some.copy_(drawn + centres[label])
    torch.cuda.synchronize()
    return x


def fit(data: object, d: int, what: str, n: int) -> None:
    model = dp.GaussianMixture(K, epsilon=1.0, bounds=[(-BOUND, BOUND)] * d, random_state=0)
    torch.cuda.synchronize()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # with a seed it is not private
        model.fit(data)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    steps = len(model.releases_)
    print(
        f"{what}: {n:,} rows × {d}, K = {K}, ε = 1: {seconds:.2f} s, {steps} releases, "
        f"{n * steps / seconds / 1e6:,.0f} million rows/s",
        flush=True,
    )


def stream(n: int, d: int) -> None:
    """Fit rows that stay on the host."""
    space, pinned = Box([-BOUND] * d, [BOUND] * d), rows(n, d, "cpu", pinned=True)
    seconds = timed(lambda: pinned[: 2**22].to("cuda", non_blocking=True))
    print(f"copies from pinned memory: {min(n, 2**22) * d * 8 / seconds / 1e9:.0f} GB/s")
    for what, data in (("pinned memory", pinned), ("NumPy", pinned.numpy())):
        fit(as_records(data, space=space, missing="fill", device="cuda"), d, what, n)


def stream_file(path: Path, n: int, d: int) -> None:
    """Write a Parquet file and fit its rows, on the GPU and on the processor."""
    import pyarrow as pa
    from pyarrow import parquet

    space, some = Box([-BOUND] * d, [BOUND] * d), min(n, 10**7)
    columns = rows(some, d, "cuda").T.contiguous().cpu().numpy()
    table = pa.table({f"x{j}": column for j, column in enumerate(columns)})
    with parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False) as file:
        for _ in range(n // some):
            file.write_table(table, row_group_size=2**20)
    print(f"a file of {path.stat().st_size / 1e9:.1f} GB")
    fit(as_records(path, space=space, missing="fill", device="cuda"), d, "Parquet, on the GPU", n)
    fit(as_records(path, space=space, missing="fill"), d, "Parquet, on the processor", n)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--fit", nargs=2, metavar=("ROWS", "COLUMNS"), action="append", default=[])
    options.add_argument("--stream", nargs=2, metavar=("ROWS", "COLUMNS"), action="append", default=[])
    options.add_argument("--parquet", nargs=3, metavar=("PATH", "ROWS", "COLUMNS"))
    options.add_argument("--torch", action="store_true", help="also without the kernels")
    given = options.parse_args()
    print(torch.cuda.get_device_name(0), "torch", torch.__version__, flush=True)
    if not (given.fit or given.stream or given.parquet):
        statistic()
    for number, columns in given.fit:
        n, d = int(float(number)), int(columns)
        data = rows(n, d, "cuda")
        fit(data, d, "fused, kernels compiled on the way", n)
        fit(data, d, "fused", n)
        if given.torch:
            with without_kernels():
                fit(data, d, "torch", n)
        del data
        torch.cuda.empty_cache()
    for number, columns in given.stream:
        stream(int(float(number)), int(columns))
    if given.parquet:
        stream_file(Path(given.parquet[0]), int(float(given.parquet[1])), int(given.parquet[2]))


if __name__ == "__main__":
    main()
