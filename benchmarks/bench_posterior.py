"""CPU seconds of ``dp.infer``, the first time and again, beside those of NumPyro's NUTS on raw rows of a mixture.

    python benchmarks/bench_posterior.py                       # everything
    python benchmarks/bench_posterior.py mixture mean          # some of it

A mixture of three Gaussians in four columns, 20,000 rows at ε = 1: with components that are far apart, and with
components that are nearly one (``one``). NumPyro has 2,000 of the rows themselves, and draws as much: 4 chains of 1,000
after 500. The second time is that of other rows with other noise, so that nothing but what was compiled is the same.
CPU seconds are those of the process, with all of its threads. Seeds are fixed, so these fits are not private.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist

import discreet as dp
from discreet.noise import NotPrivateWarning

COUNT, COLUMNS, ROWS, RAW_ROWS = 3, 4, 20_000, 2_000
GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
MEANS = np.array([[-4.0, -3.0, 0.0, 2.0], [3.0, 4.0, -4.0, 0.0], [2.0, -4.0, 4.0, -3.0]])


def mixture_rows(apart: float, seed: int, count: int = ROWS) -> np.ndarray:
    rng = np.random.default_rng(seed)
    away = np.ones((COLUMNS, COLUMNS)) - np.eye(COLUMNS)
    roots = np.linalg.cholesky([np.eye(COLUMNS) + share * away for share in (0.4, -0.2, 0.08)])
    place = rng.choice(COUNT, p=[0.5, 0.3, 0.2], size=count)
    return apart * MEANS[place] + np.einsum("nij,nj->ni", roots[place], rng.normal(size=(count, COLUMNS)))


def mixture(seed: int, apart: float = 1.0) -> Any:
    return dp.GaussianMixture(COUNT, bounds=(-12, 12), random_state=seed, **GUARANTEE).fit(mixture_rows(apart, seed))


def one(seed: int) -> Any:
    return mixture(seed, 0.05)


def mean(seed: int) -> Any:
    curator = dp.Curator(np.random.default_rng(seed).normal(5.0, 1.0, (2000, 1)), space=dp.Box(0.0, 10.0))
    return dp.statistics.mean(curator, ["x0"], **GUARANTEE)


def regression(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5000, 3))
    y = X @ [1.0, -0.5, 0.2] + rng.normal(size=5000)
    given = {"bounds": (-5, 5), "target_bounds": (-8, 8), "random_state": seed}
    return dp.LinearRegression(**given, **GUARANTEE).fit(X, y)


def classifier(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5000, 3))
    y = (rng.random(5000) < 1.0 / (1.0 + np.exp(-X @ [1.0, -0.5, 0.2]))).astype(int)
    given = {"method": "gradient", "bounds": (-5, 5), "classes": [0, 1], "random_state": seed}
    return dp.LogisticRegression(**given, **GUARANTEE).fit(X, y)


def numpyro_seconds(seed: int) -> tuple[float, str]:
    """Return the CPU seconds of NumPyro's NUTS on raw rows."""
    x = mixture_rows(1.0, seed, RAW_ROWS)

    def model() -> None:
        weights = numpyro.sample("weights", dist.Dirichlet(np.ones(COUNT)))
        with numpyro.plate("components", COUNT):
            means = numpyro.sample("means", dist.Normal(0.0, 12.0).expand((COLUMNS,)).to_event(1))
            spread = numpyro.sample("spread", dist.LogNormal(0.0, 1.5).expand((COLUMNS,)).to_event(1))
            root = numpyro.sample("root", dist.LKJCholesky(COLUMNS, 1.0))
        parts = dist.MultivariateNormal(means, scale_tril=spread[..., None] * root)
        numpyro.sample("x", dist.MixtureSameFamily(dist.Categorical(weights), parts), obs=x)

    start = {"means": MEANS, "spread": np.ones((COUNT, COLUMNS)), "root": np.stack([np.eye(COLUMNS)] * COUNT)}
    kernel = numpyro.infer.NUTS(model, init_strategy=numpyro.infer.init_to_value(values=start))
    before = time.process_time()
    run = numpyro.infer.MCMC(
        kernel, num_warmup=500, num_samples=1000, num_chains=4, chain_method="sequential", progress_bar=False
    )
    run.run(jax.random.key(seed))
    draws = run.get_samples(group_by_chain=True)
    least = min(float(np.min(numpyro.diagnostics.effective_sample_size(np.asarray(part)))) for part in draws.values())
    return time.process_time() - before, f"effective draws {least:.0f}"


def infer_seconds(make: Callable[[int], Any], seed: int) -> tuple[float, str]:
    fitted = make(seed)
    before = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = dp.infer(fitted, seed=seed).diagnostics
    warned = "; ".join(str(each.message) for each in caught)
    return time.process_time() - before, f"effective draws {found.ess:.0f}, by {found.path}. {warned}"


CASES: dict[str, Callable[[int], tuple[float, str]]] = {
    "numpyro": numpyro_seconds,
    **{
        kind.__name__: lambda seed, kind=kind: infer_seconds(kind, seed)
        for kind in (mixture, mean, regression, classifier, one)
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*CASES, []], help="which of them; by default all")
    warnings.simplefilter("ignore", NotPrivateWarning)
    other: list[float] = []
    for name in parser.parse_args().names or CASES:
        seconds, said = zip(*(CASES[name](seed) for seed in (1, 2)), strict=True)
        other = list(seconds) if name == "numpyro" else other
        ratio = f"; to NumPyro {' and '.join(f'{s / t:.2f}' for s, t in zip(seconds, other, strict=False))}"
        print(f"{name}: {' and '.join(f'{each:.1f}' for each in seconds)} CPU s{ratio if other else ''}", flush=True)
        for each in said:
            print(f"    {each}")


if __name__ == "__main__":
    main()
