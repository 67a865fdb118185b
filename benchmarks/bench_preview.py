"""What it takes to say what questions cost, against answering them: ten drafts over a Parquet file, in one run.

    python benchmarks/bench_preview.py [--rows 1000000]

The last lines have the seconds of ``preview`` and of ``answer``, their ratio, and the seconds of one warm mean.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp

WHERE = "bmi > 25 and age >= 18"
DRAFTS: list[Callable[[Any], Any]] = [
    lambda draft: draft.count(where=WHERE),
    lambda draft: draft.mean("age", by="ward", where=WHERE),
    lambda draft: draft.mean("bmi", loose=True),
    lambda draft: draft.sum(["age", "bmi"], by="ward"),
    lambda draft: draft.variance("age", where=WHERE),
    lambda draft: draft.covariance(["age", "bmi"]),
    lambda draft: draft.median("age", where=WHERE),
    lambda draft: draft.quantiles("bmi", [0.1, 0.5, 0.9], by="ward"),
    lambda draft: draft.trimmed_mean("bmi"),
    lambda draft: draft.histogram("age", bins=20, by="ward"),
]


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    result = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        result.append(time.perf_counter() - start)
    return min(result)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows, rng = parser.parse_args().rows, np.random.default_rng(0)
    columns = {"age": rng.uniform(0, 100, rows), "bmi": rng.normal(27, 5, rows), "ward": rng.choice(["n", "s"], rows)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clinic.parquet"
        pq.write_table(pa.table(columns), path)
        db = dp.StatisticalDatabase(
            path, bounds={"age": (0, 120), "bmi": (10, 60)}, classes={"ward": ["n", "s"]}, share=1e-3,
            budget=dp.Guarantee(1.0, 1e-9), ledger=Path(folder) / "clinic.ledger",
        )  # fmt: skip
        drafts = [draft(db.draft) for draft in DRAFTS]
        for draft in drafts:
            previewed, answered = seconds(lambda d=draft: db.preview(d)), seconds(lambda d=draft: db.answer(d), 2)
            print(
                f"{draft.description:60} preview {1e3 * previewed:7.1f} ms   answer {1e3 * answered:7.1f} ms",
                flush=True,
            )
        previewed, answered = seconds(lambda: db.preview(drafts)), seconds(lambda: db.answer(drafts), 2)
        print(f"ten drafts: preview {previewed:.3f} s, answer {answered:.3f} s, ratio {previewed / answered:.3f}")
        print(f"db.mean, warm: {seconds(lambda: db.mean('age', by='ward', where=WHERE)):.4f} s")


if __name__ == "__main__":
    main()
