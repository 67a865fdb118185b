"""Synthetic rows by other tools, for ``bench_table.py``, which runs this file with the tool's own Python.

dpmm (Mahiou et al. 2025) has MST, AIM and PrivBayes, over a table that PrivTree makes discrete. It needs Python 3.10 or
3.11 and pins its own NumPy and pandas, so it lives in an environment of its own:

    python3.11 -m venv build/dpmm && build/dpmm/bin/pip install dpmm==0.1.9

Its guarantee: a tenth of ε for the bins and the rest for the model, at δ, by basic composition. Neighbours are
add-remove (a count has sensitivity 1), but the bins take the number of rows as public, and whether a column has gaps
and one value to fill them are taken from the rows without noise. Bounds and categories are the declared ones.
Impossible pairs cannot be declared to it. Its noise cannot be seeded; a seed says only which repetition this is.

smartnoise-synth has PAC-Synth (Microsoft's, over counts of up to three values at once):

    python3.11 -m venv build/smartnoise && build/smartnoise/bin/pip install smartnoise-synth==1.0.8

It sees numbers in 20 equal bins, and a value is drawn evenly from its bin. All of ε and δ are for the model.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

TOOLS = {"mst": "dpmm", "aim": "dpmm", "privbayes": "dpmm", "pacsynth": "smartnoise-synth"}
BINS = 0.1  # of ε, for dpmm's bins
EQUAL = 20  # bins of a number for smartnoise-synth


def dpmm_rows(frame: pd.DataFrame, declared: dict[str, object], asked: argparse.Namespace) -> pd.DataFrame:
    from dpmm.models import mst
    from dpmm.models.base.mbi import FactoredInference
    from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

    pipelines = {"mst": MSTPipeline, "aim": AIMPipeline, "privbayes": PrivBayesPipeline}
    domain = {}
    for name, column in declared.items():
        if isinstance(column, dict):
            domain[name] = {"lower": column["low"], "upper": column["high"]}
        else:
            domain[name] = {"categories": column}
            frame[name] = frame[name].astype("category")
    settings = {}
    if asked.iterations:

        def fewer(most: int, domain: object, iters: int, **more: object) -> FactoredInference:
            """Return the tool's optimiser, with fewer iterations."""
            return FactoredInference(domain, iters=min(iters, most), **more)

        settings["n_iters"] = asked.iterations
        mst.FactoredInference = partial(fewer, asked.iterations)  # for the selection MST takes no setting
    pipeline = pipelines[asked.method](
        epsilon=asked.epsilon * (1.0 - BINS),
        delta=asked.delta,
        proc_epsilon=asked.epsilon * BINS,
        max_model_size=asked.size,
        gen_kwargs=settings,
        n_jobs=1,
    )
    pipeline.fit(frame, domain, random_state=asked.seed)
    return pipeline.generate(n_records=len(frame), random_state=asked.seed)


def smartnoise_rows(frame: pd.DataFrame, declared: dict[str, object], asked: argparse.Namespace) -> pd.DataFrame:
    from snsynth import Synthesizer
    from snsynth.transform import BinTransformer, LabelTransformer, TableTransformer

    def binned(column: dict[str, float]) -> BinTransformer:
        return BinTransformer(bins=EQUAL, lower=column["low"], upper=column["high"], nullable=True)

    how = [
        binned(column) if isinstance(column, dict) else LabelTransformer(nullable=True) for column in declared.values()
    ]
    model = Synthesizer.create(asked.method, epsilon=asked.epsilon, delta=asked.delta)
    model.fit(frame, transformer=TableTransformer(how), preprocessor_eps=0.0)
    rows = model.sample(len(frame))
    rng = np.random.default_rng(asked.seed)
    for name, column in declared.items():
        if isinstance(column, dict):  # it gives the middles of bins
            width = (column["high"] - column["low"]) / EQUAL
            rows[name] = pd.to_numeric(rows[name]) + width * (rng.random(len(rows)) - 0.5)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", choices=list(TOOLS))
    parser.add_argument("--rows", type=Path, required=True, help="a CSV file of the real rows")
    parser.add_argument("--declared", type=Path, required=True, help="a JSON file: bounds or categories of each column")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument(
        "--out", type=Path, required=True, help="the CSV file to write; a JSON file is written beside it"
    )
    parser.add_argument("--size", type=float, help="the most that a model may take, in MB")
    parser.add_argument("--iterations", type=int, help="of each optimisation; by default the tool's own")
    asked = parser.parse_args()
    declared = json.loads(asked.declared.read_text(encoding="utf-8"))
    texts = {name: str for name, column in declared.items() if not isinstance(column, dict)}
    frame = pd.read_csv(asked.rows, dtype=texts, keep_default_na=False, na_values=[""])
    start, cpu = time.perf_counter(), time.process_time()
    tool = TOOLS[asked.method]
    rows = (dpmm_rows if tool == "dpmm" else smartnoise_rows)(frame, declared, asked)
    spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    about = {"version": f"{tool} {version(tool)}", **spent}
    asked.out.with_suffix(".json").write_text(json.dumps(about), encoding="utf-8")
    rows.to_csv(asked.out, index=False)


if __name__ == "__main__":
    main()
