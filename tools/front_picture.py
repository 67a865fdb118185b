"""Draw docs/front.png, the picture of the README: ``python tools/front_picture.py``.

On the left the bundled table, which is public, beside synthetic rows that are drawn anew. On the right the table of
lifesci in docs/benchmarks.md, read from that page.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

import discreet as dp
from discreet.datasets import load_adult

DOCS = Path(__file__).parents[1] / "docs"
OURS, PUBLISHED = "adaptive", "paper, GGG, zCDP"


def scores(page: str) -> tuple[list[float], dict[str, list[float]], float]:
    """Return ε, the test log-likelihoods of each method and that without privacy, from the page of benchmarks."""
    part = page[page.index("### lifesci") :]
    part = part[: part.index("\n### ", 1)]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    columns = [j for j, cell in enumerate(lines[0]) if re.fullmatch(r"ε=[\d.]+", cell)]
    result = {line[0]: [float(line[j].split(" ")[0]) for j in columns] for line in lines[2:]}
    return [float(lines[0][j][2:]) for j in columns], result, float(re.search(r"non-private ([\d.]+)", part)[1])


def synthetic_people() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return some columns of the bundled table, and as many synthetic rows at ε = 1."""
    adult = load_adult(subset="train")
    income = np.where(adult.y == 1, "above", "below")
    people = pd.DataFrame({"age": adult.X[:, 0], "hours": adult.X[:, 5], "income": income})
    columns = {"age": dp.Number(17, 90), "hours": dp.Number(1, 99), "income": dp.Category(["below", "above"])}
    model = dp.TableSynthesizer(epsilon=1.0, delta=1e-6, schema=dp.Schema(columns), whole=["age", "hours"]).fit(people)
    return people, model.sample(len(people))


def main() -> None:
    """Write the picture."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.2), layout="constrained")
    people, synthetic = synthetic_people()
    edges = np.arange(17, 92, 3)
    for income, color in (("below", "#56B4E9"), ("above", "#D55E00")):
        drawn = synthetic.loc[synthetic["income"] == income, "age"]
        real = people.loc[people["income"] == income, "age"]
        left.hist(drawn, bins=edges, density=True, color=color, alpha=0.5, label=f"synthetic, {income} 50,000")
        left.hist(real, bins=edges, density=True, color=color, histtype="step", linewidth=1.5)
    left.plot([], [], color="0.4", label="lines: the real rows")
    left.set(title="Age by income: synthetic rows at ε = 1", xlabel="age, years", ylabel="share of the group a year")
    left.legend(fontsize=8)

    epsilons, result, exact = scores((DOCS / "benchmarks.md").read_text(encoding="utf-8"))
    right.semilogx(epsilons, result[OURS], "o-", color="#0072B2", label="dp.GaussianMixture")
    right.semilogx(epsilons, result[PUBLISHED], "s--", color="0.5", label="DP-EM as published (2017)")
    right.axhline(exact, color="black", linewidth=1.0, label="without privacy")
    right.set(title="Mixture of 26,733 rows: accuracy and privacy", xlabel="ε (smaller: more private)")
    right.set(ylabel="test log-likelihood a row")
    right.legend(fontsize=8, loc="lower right")
    figure.savefig(DOCS / "front.png", dpi=110)


if __name__ == "__main__":
    main()
