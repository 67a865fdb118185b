"""Coverage of intervals from several synthetic tables: a logistic regression on numbers and a category.

    python benchmarks/bench_synthesize.py                         # 500 sets, at ε = 0.3, 1 and 3
    python benchmarks/bench_synthesize.py --epsilon 1 --sets 100
    python benchmarks/bench_synthesize.py --synthesizer           # from a TableSynthesizer, without a model of one row

For each set the coefficients are drawn, then rows: two numbers, a category, and a label that follows from them. The
owner releases the covariance of the numbers in each of four groups (by category and label) and infers a model of one
row. The analyst gets 20 tables of as many rows (``Posterior.synthesize``), runs statsmodels' ``Logit`` on each, and
combines the results (``dp.combine``). With ``--synthesizer`` the owner fits a ``TableSynthesizer`` of the four columns
instead, and writes no model. The shares are those of 95 % intervals that have the true coefficient in them. Beside it:

- *posterior*: the intervals of the posterior itself, which the analyst does not have (not of a synthesizer);
- *one table*: the first table, analysed as if its rows were data;
- *as gaps*: Rubin's rule for gaps, (1 + 1/m)·B + W;
- *partial*: the rule for partially synthetic data, B/m + W.

Noise comes from seeded bits, so that the numbers are reproducible, and nothing here is private.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import binom

import discreet as dp
from discreet.noise import SeededBits

ROWS, TABLES, LEVEL, NORMAL = 20_000, 20, 0.95, 1.959964
CENTER, SCALE = np.array([50.0, 25.0]), np.array([15.0, 4.0])  # of age and bmi
SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 110),
        "bmi": dp.Number(10, 45),
        "sex": dp.Category(["f", "m"]),
        "sick": dp.Category(["no", "yes"]),
    }
)
NAMES = ("intercept", "age", "bmi", "sex")


def draw_rows(coefficients: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows whose label has given coefficients, of numbers in standard units."""
    male = rng.random(ROWS) < 0.4
    z = np.where(male[:, None], [0.3, -0.2], [0.0, 0.2]) + rng.normal(size=(ROWS, 2)) @ [[1.0, 0.4], [0.0, 0.9]]
    sick = rng.random(ROWS) < expit(coefficients[0] + z @ coefficients[1:3] + coefficients[3] * male)
    x = CENTER + SCALE * z
    labels = {"sex": np.where(male, "m", "f"), "sick": np.where(sick, "yes", "no")}
    return pd.DataFrame({"age": x[:, 0], "bmi": x[:, 1], **labels})


def model() -> None:
    """Describe one row; the priors are wide."""
    share = numpyro.sample("share", dist.Uniform(0.0, 1.0))
    means = numpyro.sample("means", dist.Normal(0.0, 2.0).expand((2, 2)).to_event(2))
    spread = numpyro.sample("spread", dist.LogNormal(0.0, 0.7).expand((2,)).to_event(1))
    root = spread[:, None] * numpyro.sample("root", dist.LKJCholesky(2, 1.0))
    coefficients = numpyro.sample("coefficients", dist.Normal(0.0, 2.5).expand((4,)).to_event(1))
    sex = numpyro.sample("sex", dist.Bernoulli(share))
    row = numpyro.sample("row", dist.MultivariateNormal(CENTER + SCALE * means[sex], scale_tril=SCALE[:, None] * root))
    z = (row - CENTER) / SCALE
    numpyro.sample("sick", dist.Bernoulli(logits=coefficients[0] + coefficients[1:3] @ z + coefficients[3] * sex))


def analyse(table: pd.DataFrame) -> Any:
    """Return the logistic regression of an analyst who knows nothing of privacy."""
    z = (table[["age", "bmi"]].to_numpy() - CENTER) / SCALE
    X = np.column_stack([np.ones(len(z)), z, table["sex"] == "m"])
    return sm.Logit((table["sick"] == "yes").astype(float), X).fit(disp=0)


def one_set(
    i: int, epsilon: float, tables: int, synthesizer: bool
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], str]:
    """Return by method which coefficients are in their intervals, and the widths; and which sampler ran."""
    rng = np.random.default_rng([i, round(10 * epsilon)])
    truth = np.array([rng.uniform(-1.5, 0.5), *rng.uniform(-1.0, 1.0, 3)])
    rows = draw_rows(truth, rng)
    if synthesizer:
        fitted = dp.TableSynthesizer(epsilon=epsilon, delta=1e-6, schema=SCHEMA, random_state=i).fit(rows)
        posterior = dp.infer(fitted, chains=1, draws=10, seed=i)
    else:
        curator = dp.Curator(rows, schema=SCHEMA, neighbors="replace-one")
        answer = dp.statistics.covariance(
            curator, ["age", "bmi"], by=["sex", "sick"], epsilon=epsilon, delta=1e-6, bits=SeededBits(i)
        )
        posterior = dp.infer(answer, model, rows=ROWS, draws=500, seed=i)
    fits = [analyse(table) for table in posterior.synthesize(tables, seed=i)]
    combined, first, m = dp.combine(fits), fits[0], tables
    as_gaps = np.sqrt((1 + 1 / m) * combined.between + combined.within)
    partial = np.sqrt(combined.between / m + combined.within)
    intervals = {
        "combine": combined.interval(LEVEL),
        "one table": (first.params - NORMAL * first.bse, first.params + NORMAL * first.bse),
        "as gaps": (combined.estimates - NORMAL * as_gaps, combined.estimates + NORMAL * as_gaps),
        "partial": (combined.estimates - NORMAL * partial, combined.estimates + NORMAL * partial),
    }
    if not synthesizer:
        intervals["posterior"] = posterior.interval("coefficients", LEVEL)
    held = {name: (low <= truth) & (truth <= high) for name, (low, high) in intervals.items()}
    return (
        held,
        {name: np.asarray(high - low) for name, (low, high) in intervals.items()},
        posterior.diagnostics.sampler,
    )


def one_quiet_set(which: tuple[int, float], tables: int, synthesizer: bool) -> Any:
    """Return ``one_set`` of an index and an ε; noise with a seed and short chains warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return one_set(*which, tables, synthesizer)


def run_sets(which: list[tuple[int, float]], given: argparse.Namespace) -> Iterator[Any]:
    """Yield the result of each set in turn, from so many processes as were asked for."""
    one = partial(one_quiet_set, tables=given.tables, synthesizer=given.synthesizer)
    if given.jobs == 1:
        yield from map(one, which)
        return
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(one, which)


def report(epsilon: float, held: dict[str, list[Any]], widths: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Print a table of the coverage so far, and return its numbers."""
    results, sets = [], len(held["combine"])
    low, high = binom.ppf([0.0005, 0.9995], sets, LEVEL) / sets
    print(f"ε = {epsilon:g}, {sets} sets: 99.9 % band {low:.1%} to {high:.1%}")
    print(f"| method | {' | '.join(NAMES)} | median width of age |\n| --- |{' --- |' * (len(NAMES) + 1)}")
    for name in held:
        shares, width = np.mean(held[name], axis=0), float(np.median(np.array(widths[name])[:, 1]))
        print(f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} | {width:.3f} |", flush=True)
        results.append({"epsilon": epsilon, "sets": sets, "method": name, "coverage": shares.tolist(), "width": width})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.3, 1.0, 3.0])
    parser.add_argument("--sets", type=int, default=500)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--synthesizer", action="store_true", help="release histograms and pair tables")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes; each compiles for itself")
    parser.add_argument("--out", type=Path, default=Path("build/synthesize.json"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    held: dict[float, dict[str, list[Any]]] = {epsilon: {} for epsilon in given.epsilon}
    widths: dict[float, dict[str, list[Any]]] = {epsilon: {} for epsilon in given.epsilon}
    samplers, before = Counter[tuple[float, str]](), time.perf_counter()
    which = [(i, epsilon) for i in range(given.sets) for epsilon in given.epsilon]
    for done, ((i, epsilon), one) in enumerate(zip(which, run_sets(which, given), strict=True), 1):
        inside, wide, sampler = one
        samplers[epsilon, sampler] += 1
        for name in inside:
            held[epsilon].setdefault(name, []).append(inside[name])
            widths[epsilon].setdefault(name, []).append(wide[name])
        if done % (25 * len(given.epsilon)) == 0 or done == len(which):
            print(f"{i + 1} sets, {time.perf_counter() - before:.0f} s, {dict(samplers)}", flush=True)
            results = [line for epsilon in given.epsilon for line in report(epsilon, held[epsilon], widths[epsilon])]
            given.out.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
