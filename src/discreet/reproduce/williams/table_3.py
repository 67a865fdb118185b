"""Table 3 of Williams and McSherry (2010): errors of logistic regression at ε = 1."""

from __future__ import annotations

from discreet.reproduce.williams.error_tables import error_table

__all__ = ["EXPERIMENT"]

EXPERIMENT = error_table(
    "williams/table-3",
    "Table 3: errors of logistic regression at ε = 1",
    "At ε = 1 both are nearer to the benchmark without privacy, and the trend is the same: inference 17.16 ± 0.94 % "
    "against 17.31 ± 1.12 % for the heuristic on SYNTH and 29.36 ± 1.31 against 31.30 ± 4.16 on ADULT, about equal on "
    "CM1 and CM2, 36.47 against 35.67 on PIMA.",
    1.0,
    {
        "heuristic": ((17.31, 1.12), (0.00, 0.00), (5.67, 0.19), (35.67, 6.45), (31.30, 4.16)),
        "inference": ((17.16, 0.94), (0.01, 0.02), (5.69, 0.13), (36.47, 8.56), (29.36, 1.31)),
    },
)
