"""The statistic of a mixture on another array library or device: rows a second, and agreement with NumPy.

python benchmarks/bench_cuda.py cuda        torch on a GPU
python benchmarks/bench_cuda.py cpu         torch on the processor
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
import torch

from discreet.queries.moments.clipped_moments import ClippedMoments, Components

SIZES = [(2, 10), (10, 10), (100, 10)]


def mixture(d: int, k: int) -> Components:
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((k, d, d))
    covariances = 0.02 * (factors @ factors.transpose(0, 2, 1) / d + 0.2 * np.eye(d))
    return Components(rng.dirichlet(np.full(k, 5.0)), 0.2 * rng.standard_normal((k, d)) / d**0.5, covariances)


def main(name: str) -> None:
    device = torch.device(name)
    for d, k in SIZES:
        moments = ClippedMoments(mixture(d, k), 1.5 * d**0.5, (0.1, 0.3, 0.6))
        rows = np.random.default_rng(1).standard_normal((4096, d)) * 0.3 / d**0.5
        small = torch.asarray(rows, device=device)
        result = moments.sum(small).cpu().numpy()
        apart = np.abs(result - moments.sum(rows)).max() / np.abs(result).max()
        for n in (4096, 2**16, 2**18, 2**20):
            block = torch.asarray(rows, device=device).repeat(n // 4096, 1)
            times = []
            for _ in range(12):
                start = time.perf_counter()
                moments.sum(block)
                if device.type == "cuda":
                    torch.cuda.synchronize()
                times.append(time.perf_counter() - start)
            rate = n / statistics.median(times[2:]) / 1e6
            print(f"d={d:>3} K={k} blocks of {n:>8,}: {rate:8.1f} million rows a second, agrees to {apart:.1e}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cuda")
