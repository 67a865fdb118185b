"""Running sums and filters of private series: errors against their length, where to put the noise, and time.

Prints tables (Markdown) and, with ``--out``, writes ``signals-length.png``.

    export OMP_NUM_THREADS=1
    python benchmarks/bench_signals.py --out docs

``--only`` takes some of the parts, ``--quick`` shorter series.

- length: the largest and the root mean square deviation over all running sums of T steps, for events of size 1 that
  come or go and noise of standard deviation Δ (σ/Δ = 1): multiply by the σ/Δ that a guarantee needs, 4.22 at ε = 1, δ =
  1e-6. Plain is noise on every step, added up afterwards. They follow from the factors; ``measured`` is the root mean
  square of (error/deviation) over all steps and runs of ``running_sum`` itself, on uniform times.
- filters: the same for filters, with the noise on the input, on the output, and between two factors.
- time: ``running_sum`` of 200,000 events on a grid of T steps, relative to noise on every step added up, in the same
  run; and a ``Stream``'s time a step.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from scipy import signal as scipy_signal

from discreet import signals
from discreet.noise import NotPrivateWarning, SeededBits
from discreet.queries.series.factorization import Factorization, ToeplitzFactorization
from discreet.queries.series.operators import Identity, Toeplitz
from discreet.signals.filters import METHODS as PLACES
from discreet.signals.filters import impulse_response, place_noise
from discreet.signals.running_sum import METHODS
from discreet.signals.series import Series

RESONATOR = [1.0, -2.0 * 0.97 * math.cos(0.3), 0.97**2]
FILTERS = {
    "moving average of 16": (np.ones(16) / 16.0, [1.0]),
    "exponential smoother, 0.9": ([0.1], [1.0, -0.9]),
    "exponential smoother, 0.99": ([0.01], [1.0, -0.99]),
    "AR(2) resonator, radius 0.97": ([1.0], RESONATOR),
    "Butterworth, order 4, 0.1": scipy_signal.butter(4, 0.1),
    "difference": ([1.0, -1.0], [1.0]),
}


def table(head: list[str], lines: list[list[str]]) -> str:
    rule = f"| {' | '.join(['---'] * len(head))} |"
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def plain(count: int) -> Factorization:
    """Return noise on every step, added up afterwards."""
    return ToeplitzFactorization(Toeplitz(np.eye(1, count)[0]), np.ones(count))


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def measured(method: str, count: int, runs: int) -> float:
    """Return the root mean square of error over deviation, over steps and runs."""
    times = np.random.default_rng(0).uniform(0.0, 1.0, 10_000)
    truth = np.cumsum(np.histogram(times, bins=count, range=(0.0, 1.0))[0])
    asked = {"time": 0, "steps": count, "epsilon": 1.0, "bounds": (0, 1), "neighbors": "add-remove", "method": method}
    result = [signals.running_sum(times, bits=SeededBits(seed), **asked) for seed in range(runs)]
    return rms(np.array([(one.value - truth) / one.std for one in result]))


def length(quick: bool, out: Path | None) -> None:
    methods: dict[str, Callable[[int], Factorization]] = {**METHODS, "plain": plain}
    sizes = [2**power for power in range(4, 13 if quick else 21, 2)]
    largest: dict[str, list[float]] = {name: [] for name in methods}
    lines, means = [], []
    for count in sizes:
        errors = {name: make(count).errors() for name, make in methods.items()}
        for name, result in errors.items():
            largest[name].append(float(result.max()))
        lines.append([f"2^{count.bit_length() - 1}", *(f"{result.max():.3f}" for result in errors.values())])
        means.append([f"2^{count.bit_length() - 1}", *(f"{rms(result):.3f}" for result in errors.values())])
    print("Largest deviation over the running sums of T steps:\n")
    print(table(["T", *methods], lines))
    print("Root mean square deviation:\n")
    print(table(["T", *methods], means))
    runs, count = (5, 256) if quick else (40, 1024)
    shown = ", ".join(f"{name} {measured(name, count, runs):.3f}" for name in METHODS)
    print(f"Measured error over stated deviation, T = {count}, {runs} runs: {shown}\n")
    if out is not None:
        _figure(sizes, largest, out / "signals-length.png")


def _figure(sizes: list[int], largest: dict[str, list[float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    styles = {"toeplitz": "-", "streaming": "--", "doubling": "-.", "tree": ":", "plain": "-"}
    labels = {
        "toeplitz": "square root",
        "streaming": "up to six buffers",
        "doubling": "length not known beforehand",
        "tree": "binary tree",
        "plain": "noise on every step, added up",
    }
    for name, errors in largest.items():
        axes.plot(sizes, errors, styles[name], label=labels[name], linewidth=2.5 if name == "streaming" else 1.5)
    axes.set(xscale="log", xlabel="steps", ylabel="largest deviation of a running sum / Δ", ylim=(0, 34))
    axes.set_xscale("log", base=2)
    axes.legend(frameon=False, loc="upper right")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def filters(quick: bool, out: Path | None) -> None:
    for count in (64, 1024) if quick else (64, 1024, 16384):
        lines = []
        for name, (top, bottom) in FILTERS.items():
            response = impulse_response(top, bottom, None, count)
            errors = [place_noise(response, place).errors() for place in PLACES]
            shown = [f"{result.max():.4g} ({rms(result):.4g})" for result in errors]
            gain = min(map(rms, errors[1:])) / rms(errors[0])
            lines.append([name, *shown, f"{gain:.2f}"])
        print(f"Largest (root mean square) deviation over {count} steps:\n")
        print(table(["filter", *PLACES, "others/factored"], lines))


def clock(work: Callable[[], object], runs: int) -> float:
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return median(taken)


def speed(quick: bool, out: Path | None) -> None:
    times = np.random.default_rng(0).uniform(0.0, 1.0, 200_000)
    asked = {"time": 0, "epsilon": 1.0, "bounds": (0, 1), "neighbors": "add-remove"}

    def each_step(count: int) -> np.ndarray:
        given = {"bounds": (0, 1), "neighbors": "add-remove"}
        series = Series.from_rows(
            times, time=0, value=None, steps=count, epsilon=1.0, delta=1e-6, bits=None, declared=given
        )
        return np.cumsum(series.measure(Identity(count)).value)

    lines = []
    for count in (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000):
        runs = 5 if count < 100_000 else 3
        for method in METHODS:
            signals.running_sum(times, steps=count, method=method, **asked)  # compiles, and fits the buffers
        base = clock(lambda count=count: each_step(count), runs)
        ratios = []
        for method in METHODS:
            taken = clock(
                lambda count=count, method=method: signals.running_sum(times, steps=count, method=method, **asked), runs
            )
            ratios.append(f"{taken / base:.2f}")
        lines.append([f"{count:,}", f"{base:.3f} s", *ratios])
    print("Time relative to noise on every step (whose time is in the second column):\n")
    print(table(["T", "every step", *METHODS], lines))
    lines = []
    for horizon in (1_000, 1_000_000, None):
        steps = 200 if quick else 1_000
        for _ in range(2):  # the first fits the buffers
            stream = signals.Stream(bounds=(0, 1), horizon=horizon, epsilon=1.0)
            start = time.perf_counter()
            for _ in range(steps):
                stream.add([0.5])
            taken = (time.perf_counter() - start) / steps
        buffers = len(stream._run.factor.gaps)
        lines.append([str(horizon), str(buffers), f"{taken * 1e6:.0f} µs"])
    print(f"A stream's time a step, over {steps} steps:\n")
    print(table(["horizon", "buffers", "a step"], lines))


PARTS = {"length": length, "filters": filters, "time": speed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the figure")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    for part in options.only:
        PARTS[part](options.quick, options.out)


if __name__ == "__main__":
    main()
