"""A synthetic table with a column of hundreds of levels: which are merged, and what is left of pairs with it.

    python benchmarks/bench_many_levels.py                              # 600 levels, 10⁵ rows

Levels are as frequent as 1/k. Each has a mean age and a share of women of its own, and belongs to one of seven chapters
in nine rows of ten. Distances are total variation, of the levels and of pairs with them. Beside them are those of two
halves of the real rows, which is chance alone, and of rows whose levels were shuffled.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd

import discreet as dp
from discreet.noise import NotPrivateWarning


def make_table(levels: int, rows: int) -> tuple[pd.DataFrame, dp.Schema]:
    """Return a table and its schema."""
    rng = np.random.default_rng(3)
    often = 1.0 / np.arange(1, levels + 1) ** 1.05
    code = rng.choice(levels, rows, p=often / often.sum())
    mean, women = rng.normal(50, 15, levels), rng.beta(2, 2, levels)
    chapter = np.where(rng.random(rows) < 0.9, code % 7, rng.integers(0, 7, rows))
    names = np.array([f"c{k:03d}" for k in range(levels)])
    frame = pd.DataFrame(
        {
            "code": names[code],
            "age": np.floor(rng.normal(mean[code], 12).clip(0, 100)).astype(int),
            "sex": np.where(rng.random(rows) < women[code], "F", "M"),
            "chapter": [f"k{k}" for k in chapter],
            "cost": np.exp(rng.normal(5 + mean[code] / 40, 0.8)).clip(1, 1e5),
        }
    )
    columns = {"code": dp.Category(names.tolist()), "age": dp.Number(0, 100), "sex": dp.Category(["F", "M"])}
    columns |= {"chapter": dp.Category([f"k{k}" for k in range(7)]), "cost": dp.Number(1, 1e5, log=True)}
    return frame, dp.Schema(columns)


def shares(frame: pd.DataFrame, *names: str) -> pd.Series:
    """Return the share of each combination."""
    return frame.groupby(list(names)).size() / len(frame)


def distance(one: pd.Series, other: pd.Series) -> float:
    """Return the total variation distance of two sets of shares."""
    return 0.5 * float(one.sub(other, fill_value=0.0).abs().sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", type=int, default=600)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 0.3])
    given = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    table, schema = make_table(given.levels, given.rows)
    first, second = table[::2], table[1::2]
    for epsilon in given.epsilons:
        start = time.process_time()
        model = dp.TableSynthesizer(
            epsilon=epsilon, delta=1e-6, schema=schema, whole=["age"], neighbors="add-remove", random_state=0
        ).fit(table)
        middle = time.process_time()
        drawn = model.sample(given.rows, random_state=0)
        bins = model._prepared[1].columns.sizes[0]
        print(f"ε = {epsilon:g}: fit {middle - start:.0f}, rows {time.process_time() - middle:.0f} CPU s; {bins} bins")
        for names in (("code",), ("code", "sex"), ("code", "chapter")):
            ours = distance(shares(table, *names), shares(drawn, *names))
            chance = distance(shares(first, *names), shares(second, *names))
            shuffled = table[list(names)].assign(code=table["code"].sample(frac=1.0, random_state=0).to_numpy())
            alone = distance(shares(table, *names), shares(shuffled, *names))
            print(f"  {' and '.join(names)}: {ours:.3f}; two halves {chance:.3f}, independent {alone:.3f}")


if __name__ == "__main__":
    main()
