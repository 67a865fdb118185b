"""Table 2 of Williams and McSherry (2010): errors of logistic regression at ε = 0.1."""

from __future__ import annotations

from discreet.reproduce.williams.error_tables import error_table

__all__ = ["EXPERIMENT"]

EXPERIMENT = error_table(
    "williams/table-2",
    "Table 2: errors of logistic regression at ε = 0.1",
    "Over 50 runs at ε = 0.1, inference from the noisy gradients generally improves on the heuristic that made them, "
    "in the mean and in the deviation: 29.14 ± 5.54 % against 37.40 ± 15.75 % on SYNTH, 2.72 against 3.93 on CM1, 8.84 "
    "against 9.32 on CM2, 36.07 against 43.15 on ADULT, though 45.70 against 44.26 on PIMA.",
    0.1,
    {
        "heuristic": ((37.40, 15.75), (3.93, 1.57), (9.32, 1.18), (44.26, 8.50), (43.15, 7.85)),
        "inference": ((29.14, 5.54), (2.72, 0.84), (8.84, 0.79), (45.70, 6.31), (36.07, 6.32)),
    },
)
