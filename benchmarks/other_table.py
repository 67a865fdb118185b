"""Synthetic rows by another tool, for ``bench_table.py``, which runs this file with that tool's own Python.

The tool is dpmm (Mahiou et al. 2025): MST, AIM or PrivBayes, over a table that PrivTree makes discrete. It needs
Python 3.10 or 3.11 and pins its own NumPy and pandas, so it lives in an environment of its own:

    python3.11 -m venv build/dpmm && build/dpmm/bin/pip install dpmm==0.1.9

Its guarantee: a tenth of ε for the bins and the rest for the model, at δ, by basic composition. Neighbours are
add-remove (a count has sensitivity 1), but the bins take the number of rows as public. Bounds and categories are the
declared ones. Its noise cannot be seeded; a seed says only which repetition this is.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

import pandas as pd
from dpmm.models import mst
from dpmm.models.base.mbi import Domain, FactoredInference
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

PIPELINES = {"mst": MSTPipeline, "aim": AIMPipeline, "privbayes": PrivBayesPipeline}
BINS = 0.1  # of ε, for the bins


def fewer(most: int, domain: Domain, iters: int, **more: object) -> FactoredInference:
    """Return the tool's optimiser, with fewer iterations."""
    return FactoredInference(domain, iters=min(iters, most), **more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", choices=list(PIPELINES))
    parser.add_argument("--rows", type=Path, required=True, help="a CSV file of the real rows")
    parser.add_argument("--declared", type=Path, required=True, help="a JSON file: bounds or categories of each column")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the CSV file to write")
    parser.add_argument("--iterations", type=int, help="of each optimisation; by default the tool's own 2500 and 5000")
    asked = parser.parse_args()
    declared = json.loads(asked.declared.read_text(encoding="utf-8"))
    frame = pd.read_csv(asked.rows, keep_default_na=False)
    domain = {}
    for name, column in declared.items():
        if isinstance(column, dict):
            domain[name] = {"lower": column["low"], "upper": column["high"]}
        else:
            domain[name] = {"categories": column}
            frame[name] = frame[name].astype("category")
    settings = {}
    if asked.iterations:
        settings["n_iters"] = asked.iterations
        mst.FactoredInference = partial(fewer, asked.iterations)  # for the selection MST takes no setting
    pipeline = PIPELINES[asked.method](
        epsilon=asked.epsilon * (1.0 - BINS),
        delta=asked.delta,
        proc_epsilon=asked.epsilon * BINS,
        gen_kwargs=settings,
        n_jobs=1,
    )
    pipeline.fit(frame, domain, random_state=asked.seed)
    pipeline.generate(n_records=len(frame), random_state=asked.seed).to_csv(asked.out, index=False)


if __name__ == "__main__":
    main()
