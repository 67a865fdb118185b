"""Logistic and linear regression by diffprivlib, for benchmarks that run this file with that library's own Python.

    python3.11 -m venv build/diffprivlib16 && build/diffprivlib16/bin/pip install diffprivlib==0.6.6 scikit-learn==1.6.1

    build/diffprivlib16/bin/python benchmarks/other_linear.py --jobs jobs.json --out answers.json

A job is a JSON object: "X", "y", "test_X", "test_y" (.npy files), "low", "high" (public bounds), "epsilon", "repeats"
and "C" (a list). Bounds are given honestly: rows are scaled by them into the unit ball, as ours are, and the norm of
the data is declared as 1, so that its own mistake with other norms does not matter. It spends ε alone. The answer is,
for each C, a list of errors on the test rows, one for each repeat.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np


def errors(job: dict) -> dict[str, list[float]]:
    from diffprivlib.models import LogisticRegression

    low, high = np.array(job["low"]), np.array(job["high"])
    rows, test = (
        np.clip(2.0 * (np.load(job[name]) - low) / (high - low) - 1.0, -1.0, 1.0) / np.sqrt(len(low))
        for name in ("X", "test_X")
    )
    labels, truth = np.load(job["y"]), np.load(job["test_y"])
    result: dict[str, list[float]] = {}
    for C in job["C"]:
        result[str(C)] = []
        for _ in range(job["repeats"]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = LogisticRegression(epsilon=job["epsilon"], data_norm=1.0, C=C, max_iter=1000).fit(rows, labels)
            result[str(C)].append(float(np.mean(model.predict(test) != truth)))
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.write_text(json.dumps([errors(job) for job in json.loads(options.jobs.read_text())]))
