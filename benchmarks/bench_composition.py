"""How much noise each composition asks for, and how long calibration takes, for the scenarios of the DP-EM paper."""

from __future__ import annotations

import time

from discreet import Guarantee, calibrate
from discreet.guarantees import dpem_losses

FIGURES = {"figure 2 (J=20, K=10)": (20, 10, 1e-7), "figure 3 (J=10, K=3)": (10, 3, 1e-8)}


def main() -> None:
    print(f"{'':30}{'method':>10}{'ε':>6}{'noise × exact':>15}{'ms':>9}")
    for figure, (steps, components, delta) in FIGURES.items():
        for scenario in ["GGG", "LLG"]:
            losses = dpem_losses(scenario, steps=steps, components=components, epsilon=0.1, delta=delta)
            for epsilon in [0.1, 1.0]:
                promise = Guarantee(epsilon, 1e-4)
                exact = calibrate(promise, losses).noise
                for method in ["linear", "advanced", "zcdp", "moments", "exact"]:
                    start = time.perf_counter()
                    noise = calibrate(promise, losses, method).noise
                    spent = 1000.0 * (time.perf_counter() - start)
                    print(f"{figure + ' ' + scenario:30}{method:>10}{epsilon:6g}{noise / exact:15.2f}{spent:9.1f}")


if __name__ == "__main__":
    main()
