"""Private series by Fourier coefficients, FAST and Kalman filters, beside plain noise on every step.

Relative RMSE: the root of the mean squared error over all steps, over the mean of the series; mean of some seeds.
δ = 1e-6 (none for Laplace noise), replace-one; the noise of lower variance where none is named.

1. Event-level. Car drivers killed or seriously injured in Great Britain, 192 months, about 1,670 a month (Harvey and
   Durbin 1986), and a simulated series of 512 hours: a daily cycle on a slow one, about 40 events an hour.
2. User-level. The same two curves over 96 steps, in the records of 2,000 simulated persons, each in any of the steps.

The models of output perturbation are declared: a local level that moves by 5 % of a public guess of the mean, seen with
5 %. Those of input perturbation are learnt from what was released.

    python benchmarks/bench_signals_models.py                                    all of it
    python benchmarks/bench_signals_models.py --out docs/signals-series.png      and the figure
    python benchmarks/bench_signals_models.py --quick                            one seed
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np

from discreet import signals
from discreet.noise import NotPrivateWarning, SeededBits
from discreet.signals import Signal, StateSpace

EPSILONS = (0.1, 0.3, 1.0)
PERSONS, STEPS = 2_000, 96
Way = Callable[..., Signal]


def drivers() -> np.ndarray:
    with files("discreet.datasets").joinpath("data", "uk_drivers.csv").open("rb") as stream:
        return np.loadtxt(stream, delimiter=",", skiprows=4, usecols=1)


def hours(count: int = 512) -> np.ndarray:
    """Return a simulated series of whole numbers: a daily cycle on a slow one."""
    t = np.arange(count)
    mean = 40.0 + 15.0 * np.sin(2.0 * np.pi * t / 24.0) + 10.0 * np.cos(2.0 * np.pi * t / count)
    return np.random.default_rng(0).poisson(mean).astype(float)


def persons(curve: np.ndarray) -> np.ndarray:
    """Return one row a person, who is there at each step or not; some nearly always, some hardly ever."""
    rng = np.random.default_rng(1)
    shape = np.interp(np.linspace(0.0, 1.0, STEPS), np.linspace(0.0, 1.0, len(curve)), curve)
    often = rng.beta(2.0, 2.0, (PERSONS, 1)) * shape / shape.max()
    return rng.binomial(1, np.clip(often, 0.0, 1.0)).astype(float)


def declared(guess: float) -> StateSpace:
    """Return a local level that moves by 5 % of a guess and is seen with 5 %."""
    return StateSpace([[1.0]], [[1.0]], [[(0.05 * guess) ** 2]], (0.05 * guess) ** 2, [guess])


def ways(count: int, fixed: int, guess: float) -> dict[str, Way]:
    return {
        "plain noise": lambda data, **facts: signals.fourier(data, coefficients=count, **facts),
        "plain noise, Gaussian": lambda data, **facts: signals.fourier(
            data, coefficients=count, method="gaussian", **facts
        ),
        "plain noise, Laplace": lambda data, **facts: signals.fourier(
            data, coefficients=count, method="laplace", **facts
        ),
        "fourier, chosen": signals.fourier,
        f"fourier, {fixed}": lambda data, **facts: signals.fourier(data, coefficients=fixed, **facts),
        "fourier, chosen, Laplace": lambda data, **facts: signals.fourier(data, method="laplace", **facts),
        f"fourier, {fixed}, Laplace": lambda data, **facts: signals.fourier(
            data, coefficients=fixed, method="laplace", **facts
        ),
        "fast": signals.fast,
        "fast, a quarter, Laplace": lambda data, **facts: signals.fast(
            data, samples=count // 4, method="laplace", **facts
        ),
        "kalman, filter": lambda data, **facts: signals.kalman(data, smooth=False, **facts),
        "kalman, smoother": signals.kalman,
        "kalman, trend": lambda data, **facts: signals.kalman(data, model="local linear trend", **facts),
        "kalman, output": lambda data, **facts: signals.kalman(data, model=declared(guess), method="output", **facts),
    }


def cases() -> dict[str, tuple[np.ndarray, np.ndarray, dict[str, object], int, float]]:
    """Return data, truth, declarations, a number of coefficients and a guess of the mean, by name."""
    result = {}
    for name, curve, fixed, guess in (("drivers", drivers(), 65, 1_500.0), ("simulated", hours(), 65, 40.0)):
        T = len(curve)
        events = np.repeat(np.arange(T) + 0.5, curve.astype(int))
        result[f"{name}, events"] = (events, curve, {"time": 0, "steps": T, "bounds": (0, T)}, fixed, guess)
        rows = persons(curve)
        result[f"{name}, persons"] = (rows, rows.sum(axis=0), {"bounds": (0, 1)}, 17, PERSONS / 3.0)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the figure")
    parser.add_argument("--quick", action="store_true", help="one seed")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    for name, (data, truth, facts, fixed, guess) in cases().items():
        print(f"\n{name} ({len(truth)} steps, mean {truth.mean():.0f})\n")
        print("| method | " + " | ".join(f"ε={epsilon:g}" for epsilon in EPSILONS) + " |")
        print("| --- |" + " --- |" * len(EPSILONS))
        for way, ask in ways(len(truth), fixed, guess).items():
            shown = []
            for epsilon in EPSILONS:
                errors = []
                for seed in range(1 if arguments.quick else 5):
                    result = ask(data, epsilon=epsilon, bits=SeededBits(seed), **facts)
                    errors.append(np.sqrt(np.mean((result.value - truth) ** 2)) / truth.mean())
                shown.append(f"{np.mean(errors):.4f}")
            print(f"| {way} | " + " | ".join(shown) + " |", flush=True)
    if arguments.out:
        draw(arguments.out)


def draw(path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    every, shown = cases(), ("plain noise", "fourier, chosen", "kalman, smoother")
    figure, axes = plt.subplots(2, 3, figsize=(13, 6), sharex="row", sharey="row", layout="constrained")
    for row, name, epsilon in ((0, "drivers, events", 0.05), (1, "simulated, events", 0.1)):
        data, truth, facts, fixed, guess = every[name]
        for ax, way in zip(axes[row], shown, strict=True):
            result = ways(len(truth), fixed, guess)[way](data, epsilon=epsilon, bits=SeededBits(0), **facts)
            result.plot(ax, truth)
            error = np.sqrt(np.mean((result.value - truth) ** 2)) / truth.mean()
            ax.set_title(f"{name}, ε = {epsilon:g}: {way}, error {error:.1%}", fontsize=9)
            ax.legend(fontsize=7)
    axes[0, 0].set_ylabel("drivers a month")
    axes[1, 0].set_ylabel("events an hour")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
