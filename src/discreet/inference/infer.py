"""``infer``: the posterior over a model's parameters, from what was released."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer, positive
from discreet.door.release import describe_rows_of_releases
from discreet.guarantees import Guarantee
from discreet.inference.augmented.augmentation import sample_augmented
from discreet.inference.clt.determined import check_determined
from discreet.inference.clt.likelihood import effective_share, is_wide, target_at
from discreet.inference.clt.moving_rows import moving_rows
from discreet.inference.clt.reference import Problem, find_reference
from discreet.inference.clt.sampling import Chains, sample
from discreet.inference.default_models import check_has_model, default_model
from discreet.inference.factored.factored_posterior import choices_target
from discreet.inference.measurements import Measurements, read_measurements
from discreet.inference.posterior import Posterior, data_tree, diagnose
from discreet.inference.rows.layout import public_rows
from discreet.inference.rows.model_spec import ModelSpec
from discreet.inference.rows.row_model import own_row_model, row_model

Array = NDArray[np.float64]

LEAST_COVERED = 0.03  # of the rows in use, below which they are drawn anew
LOOKED_AT = 200  # draws
MOST_ROWS = 10**15


def infer(
    releases: Any,
    model: Callable[[], Any] | None = None,
    *,
    public: Any = None,
    rows: float | None = None,
    likelihood: str = "normal",
    undetermined: str = "error",
    start: Mapping[str, Any] | None = None,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 500,
    seed: int | None = None,
    progress: bool = False,
) -> Posterior:
    """Infer parameters from releases, noise and sampling accounted for. It looks at no row and costs nothing.

    Parameters
    ----------
    releases : fitted estimator, Answer, Release, (Query, Release), FactoredChoice, or several of them
        Of one data set: they are inferred from jointly, as the same rows are in all of them. A release knows its
        question, also when it was read from a file; only with a question of your own write the pair.
    model : callable, optional
        A NumPyro model of one row: a function without arguments whose sample sites are parameters, with their priors,
        and the row: the site ``row`` (the numeric columns as one vector) or a site for each column by its name, and
        for a column of categories its name, or ``label`` (the place among the declared values). A fitted estimator
        or an answer needs none.
    public : array, data frame, or (X, y), optional
        Rows that anybody may see, of other people from the same population: numeric columns, and labels where there
        are. They enter exactly, and must not be among the private ones, or they would count twice.
    rows : float, optional
        How many rows the private data have, where you know it. It is public under replace-one, unless rows with gaps
        were dropped; where it is not, it is inferred, if the releases count, and reported as ``"rows"``.
    likelihood : str
        ``"normal"``: the sums of the rows are nearly normal; any number of rows. ``"exact"``: over the hidden rows
        themselves, for few of them.
    undetermined : str
        ``"error"`` where the releases say nothing about some parameter, or ``"prior"``: then its prior speaks.
    start : mapping, optional
        Values of the model's parameters to search from.
    chains, draws, warmup : int
    seed : int, optional
        For the chains; nothing private depends on it.
    progress : bool
        Whether to show progress bars.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> import numpyro
    >>> import numpyro.distributions as dist
    >>> import discreet as dp
    >>> rows = np.random.default_rng(0).normal(5.0, 1.0, (2000, 1))
    >>> curator = dp.Curator(rows, space=dp.Box(0.0, 10.0))
    >>> release = curator.measure(dp.Moments(curator.space), dp.Guarantee(1.0, 1e-6))
    >>> def model():
    ...     centre = numpyro.sample("centre", dist.Normal(5.0, 5.0))
    ...     spread = numpyro.sample("spread", dist.HalfNormal(5.0))
    ...     numpyro.sample("x0", dist.Normal(centre, spread))
    >>> posterior = dp.infer(release, model=model)
    >>> low, high = posterior.interval("centre", 0.999999)
    >>> bool(low < 5.0 < high)
    True
    """
    if model is None:
        check_has_model(releases)
    measured = read_measurements(releases)
    spec = _model_spec(releases, measured, model, start)
    beside = public_rows(public, measured.layout, spec.labels)
    choice("likelihood", likelihood, ("normal", "exact"))
    choice("undetermined", undetermined, ("error", "prior"))
    sizes = {
        "chains": integer("chains", chains, least=1),
        "draws": integer("draws", draws, least=4),
        "warmup": integer("warmup", warmup, least=10),
    }
    seed = secrets.randbelow(2**31) if seed is None else integer("seed", seed, least=0, most=2**31 - 1)
    if model is None:
        known = row_model(spec.model, measured.layout, spec.features, spec.expectations)
    else:
        known = own_row_model(model, measured.layout)
    problem = Problem(known, measured, _rows(rows, measured), beside)
    origin = None if spec.start is None else known.vector(spec.start)
    run: dict[str, Any] = {**sizes, "seed": seed, "progress": progress}
    if likelihood == "exact":
        exact = sample_augmented(problem, **run, also=measured.chosen, start=origin)
        facts = {"row_acceptance": exact.acceptance, "least_row_acceptance": exact.least}
        facts |= {} if exact.bound is None else {"least_row_acceptance_proved": exact.bound}
        return _posterior(releases, problem, spec, Chains(exact.v, exact.diverging), "exact", 1.0, facts).complain()
    if measured.chosen:
        return _from_choices(releases, problem, spec, run).complain()
    reference = find_reference(problem, origin, seed)
    if undetermined == "error" and model is not None:
        check_determined(problem, reference)
    v0, _ = problem.split(reference.w)
    target = target_at(problem, reference, seed, moving=moving_rows(known, v0) if is_wide(problem, reference) else None)
    result = sample(known, target, **run)
    covered = _covered(problem, target, result)
    if covered < LEAST_COVERED:
        flat = result.w.reshape(-1, result.w.shape[-1])
        target = target_at(problem, reference, seed + 1, flat[:: max(1, len(flat) // 31)][:31], moving_rows(known, v0))
        result = sample(known, target, **run)
        covered = _covered(problem, target, result)
    facts = {"monte_carlo_share": target.monte_carlo}
    return _posterior(releases, problem, spec, result, target.kind, covered, facts).complain()


def _from_choices(releases: Any, problem: Problem, spec: ModelSpec, run: dict[str, Any]) -> Posterior:
    """Return the posterior from draws of the factored exponential mechanism."""
    if problem.measured.each:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            "sums, or draws of FactoredExponential, but not both with likelihood='normal'",
            write="likelihood='exact', which takes them together",
        )
    target = choices_target(problem, problem.measured.chosen, run["seed"])
    return _posterior(releases, problem, spec, sample(problem.model, target, **run), target.kind, 1.0, {})


def _model_spec(
    releases: Any, measured: Measurements, model: Callable[[], Any] | None, start: Mapping[str, Any] | None
) -> ModelSpec:
    if model is None:
        if start is not None:
            raise ArgumentError(
                "start", UNSHOWN, "a model=… whose parameters it has values for; without one there is none"
            )
        return default_model(releases, measured)
    if not callable(model):
        raise ArgumentError("model", model, "a NumPyro model of one row, a function without arguments")
    return ModelSpec(model, start)


def _rows(rows: float | None, measured: Measurements) -> float | None:
    if rows is None:
        if measured.rows is not None and not 1 <= measured.rows <= MOST_ROWS:
            raise ArgumentError("releases", UNSHOWN, f"some of 1 to {MOST_ROWS:.0e} rows, got {measured.rows}")
        return None if measured.rows is None else float(measured.rows)
    given = positive("rows", rows)
    if measured.rows not in (None, given):
        raise ArgumentError("rows", rows, f"None, or {measured.rows}, the number that the releases declare")
    return given


def _covered(problem: Problem, target: Any, result: Chains) -> float:
    if problem.model.points is not None:
        return 1.0
    flat = result.w.reshape(-1, result.w.shape[-1])
    shares = effective_share(problem, target, flat[:: max(1, len(flat) // LOOKED_AT)])
    return float(np.quantile(shares, 0.05))


def _posterior(
    releases: Any,
    problem: Problem,
    spec: ModelSpec,
    result: Chains,
    kind: str,
    covered: float,
    facts: Mapping[str, Any],
) -> Posterior:
    vectors = result.w[:, :, : problem.model.size]
    draws = dict(problem.model.call("all_parameters", vectors))
    reported = spec.report(draws)
    if problem.rows is None and result.w.shape[-1] > problem.model.size:
        reported["rows"] = np.exp(result.w[:, :, -1])
    rows = describe_rows_of_releases(problem.measured.releases)
    public = {"likelihood": kind, "neighbors": problem.measured.neighbors.value}
    public |= {} if rows is None else {"which_rows": rows}
    tree = data_tree(reported, result.diverging, spec.dims, spec.coords, {**public, **facts})
    return Posterior(
        data=tree,
        likelihood=kind,
        diagnostics=diagnose(tree, covered),
        guarantee=_guarantee(releases),
        vectors=vectors.reshape(-1, vectors.shape[-1]),
        row_model=problem.model,
        spec=spec,
        which_rows=rows,
    )


def _guarantee(releases: Any) -> Guarantee | None:
    """Return what the releases cost together, where one answer or one fit knows it."""
    result = getattr(releases, "guarantee_", getattr(releases, "guarantee", None))
    return result if isinstance(result, Guarantee) else None
