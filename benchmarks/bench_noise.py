"""Draws a second: discreet's exact noise against opendp's and against numpy's floats, in one run.

numpy's samplers are fast and unsafe: their floats leak (Mironov 2012). opendp's are exact and meant for release, as
ours are. Each row is the median of interleaved runs; what counts is the ratio to opendp's float vector.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from discreet.noise import DiscreteGaussianNoise, GaussianNoise, GeometricNoise, LaplaceNoise


def opendp_samplers(draws: int) -> dict[str, Callable[[], object]]:
    import opendp.prelude as op

    op.enable_features("contrib")
    floats = op.vector_domain(op.atom_domain(T=float, nan=False)), [0.0] * draws
    integers = op.vector_domain(op.atom_domain(T=int)), [0] * draws
    samplers: dict[str, Callable[[], object]] = {}
    for kind, (domain, zeros) in {"float": floats, "integer": integers}.items():
        gaussian = op.m.make_gaussian(domain, op.l2_distance(T=float), scale=10.0)
        laplace = op.m.make_laplace(domain, op.l1_distance(T=type(zeros[0])), scale=10.0)
        samplers[f"opendp Gaussian, {kind} vector"] = lambda m=gaussian, z=zeros: m(z)
        samplers[f"opendp Laplace, {kind} vector"] = lambda m=laplace, z=zeros: m(z)
    return samplers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    draws = options.draws
    zeros = np.zeros(draws)
    rng = np.random.default_rng()
    samplers: dict[str, Callable[[], object]] = {
        "discreet Gaussian, float vector": lambda: GaussianNoise(10.0).add(zeros),
        "discreet Laplace, float vector": lambda: LaplaceNoise(10.0).add(zeros),
        "discreet discrete Gaussian, integer vector": lambda: DiscreteGaussianNoise(10.0).add(zeros),
        "discreet geometric, integer vector": lambda: GeometricNoise(10.0).add(zeros),
        **opendp_samplers(draws),
        "numpy Gaussian (unsafe)": lambda: zeros + rng.normal(scale=10.0, size=draws),
        "numpy Laplace (unsafe)": lambda: zeros + rng.laplace(scale=10.0, size=draws),
    }
    for name, sampler in samplers.items():
        if name.startswith("discreet"):
            sampler()  # compiles the loops
    seconds: dict[str, list[float]] = {name: [] for name in samplers}
    for _ in range(options.runs):
        for name, sampler in samplers.items():
            start = time.perf_counter()
            sampler()
            seconds[name].append(time.perf_counter() - start)
    rate = {name: draws / statistics.median(times) for name, times in seconds.items()}
    base = rate["opendp Gaussian, float vector"]
    print(f"{'':44}{'draws/s':>12}{'× opendp float Gaussian':>26}")
    for name, value in rate.items():
        print(f"{name:44}{value:12,.0f}{value / base:26.1f}")


if __name__ == "__main__":
    main()
