"""How long calibration takes by each composition, for the scenarios of the DP-EM paper.

How much noise each of them asks for is in ``python -m papers dp-em/figure-2`` and ``dp-em/figure-3``.
"""

from __future__ import annotations

import time

from discreet import Guarantee, calibrate
from discreet.planning import dpem_losses

FIGURES = {"figure 2 (J=20, K=10)": (20, 10, 1e-7), "figure 3 (J=10, K=3)": (10, 3, 1e-8)}


def main() -> None:
    print(f"{'':30}{'method':>10}{'ε':>6}{'ms':>9}")
    for figure, (steps, components, delta) in FIGURES.items():
        for scenario in ["GGG", "LLG"]:
            losses = dpem_losses(scenario, steps=steps, components=components, epsilon=0.1, delta=delta)
            for epsilon in [0.1, 1.0]:
                for method in ["linear", "advanced", "zcdp", "moments", "exact"]:
                    start = time.perf_counter()
                    calibrate(Guarantee(epsilon, 1e-4), losses, method)
                    spent = 1000.0 * (time.perf_counter() - start)
                    print(f"{figure + ' ' + scenario:30}{method:>10}{epsilon:6g}{spent:9.1f}")


if __name__ == "__main__":
    main()
