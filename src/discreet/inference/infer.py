"""``infer``: the posterior over a model's parameters, given releases."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer, positive
from discreet.door import Release
from discreet.door.release import describe_rows_of_releases
from discreet.estimators.table_synthesizer import TableSynthesizer
from discreet.guarantees import Guarantee
from discreet.inference.augmented.augmentation import sample_augmented
from discreet.inference.clt.identifiability import check_identified, check_rows_known
from discreet.inference.clt.likelihood import build_target, effective_shares, is_wide
from discreet.inference.clt.reference import Problem, find_reference
from discreet.inference.clt.reparametrized_rows import reparametrize_rows
from discreet.inference.clt.sampling import Chains, run_chains
from discreet.inference.default_models import YOUR_OWN, check_has_model, choose_sums, default_model
from discreet.inference.factored.factored_posterior import build_choices_target
from discreet.inference.measured_sums import StationaryPoint
from discreet.inference.measurements import Measurements, read_measurements
from discreet.inference.posterior import Posterior, PosteriorDraws, diagnose, to_data_tree
from discreet.inference.proportion_posterior import infer_proportion
from discreet.inference.quantiles.quantile_posterior import infer_quantiles
from discreet.inference.rows.layout import read_public_rows
from discreet.inference.rows.model_spec import ModelSpec
from discreet.inference.rows.row_model import get_row_model, get_user_row_model
from discreet.inference.series.series_posterior import infer_series
from discreet.inference.table_posterior import MOST_DRAWS, infer_table
from discreet.queries.series.series_sums import SeriesQuery
from discreet.scales import column_scales
from discreet.signals import Signal
from discreet.statistics import Extreme, Proportion, Quantile

Array = NDArray[np.float64]

MIN_COVERED = 0.03  # effective share of the weighted rows, below which they are drawn again
COVERAGE_DRAWS = 200  # at which that share is computed
CENTRES = 31  # draws at which rows are drawn again
MAX_ROWS = 10**15


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
) -> Any:
    """Infer parameters from releases, accounting for noise and sampling. It reads no row and costs nothing.

    Parameters
    ----------
    releases : fitted estimator, Answer, Release, (Query, Release), FactoredChoice, or several of them
        Releases of one data set. Their likelihood is joint, because the same rows are in all of them. A release knows
        its question, also when it was read from a file; only for a question of your own write the pair.
    model : callable, optional
        A NumPyro model of one row: a function without arguments whose sample sites are parameters, with their priors,
        and the row: the site ``row`` (the numeric columns as one vector) or a site for each column by its name, and
        for a column of categories its name, or ``label`` (the index among the declared values). A fitted estimator
        or an answer needs none.
    public : array, data frame, or (X, y), optional
        Public rows of other people from the same population: numeric columns, and labels where the releases have
        them. They enter the likelihood exactly, and must not be among the private rows, or they would count twice.
    rows : float, optional
        The number of private rows, where you know it. It is public under replace-one, unless rows with gaps were
        dropped. Where it is not public it is inferred, if the releases hold a count, and reported as ``"rows"``.
    likelihood : str
        ``"normal"``: the sums of the rows are nearly normal; for any number of rows. ``"exact"``: integrates over the
        hidden rows themselves; for few rows.
    undetermined : str
        What to do where the releases do not identify some parameter: ``"error"``, or ``"prior"`` to use its prior.
    start : mapping, optional
        Values of the model's parameters to start the search from.
    chains, draws, warmup : int
        The number of chains, and for each its draws and its warm-up steps.
    seed : int, optional
        The seed of the chains; it has nothing to do with privacy.
    progress : bool
        Whether to show progress bars.

    Returns
    -------
    Posterior; of a ``TableSynthesizer`` TablePosterior, of a series SeriesPosterior, of quantiles and shares
    PosteriorDraws

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
    special = None if model is not None else _special_kind(releases)
    if special is not None:
        choice("undetermined", undetermined, ("error", "prior"))
        integer("warmup", warmup, least=10)
        return _infer_special(releases, special, public, rows, likelihood, start, chains, draws, seed)
    if model is None:
        check_has_model(releases)
    measured = read_measurements(releases)
    if model is None:
        measured = choose_sums(releases, measured)
    spec = _model_spec(releases, measured, model, start)
    public_rows = read_public_rows(public, measured.layout, spec.labels)
    choice("likelihood", likelihood, ("normal", "exact"))
    choice("undetermined", undetermined, ("error", "prior"))
    sizes = {
        "chains": integer("chains", chains, least=1),
        "draws": integer("draws", draws, least=4),
        "warmup": integer("warmup", warmup, least=10),
    }
    seed = secrets.randbelow(2**31) if seed is None else integer("seed", seed, least=0, most=2**31 - 1)
    if model is None:
        row_model = get_row_model(spec.model, measured.layout, spec.features, spec.expectations)
    else:
        row_model = get_user_row_model(model, measured.layout)
    problem = Problem(row_model, measured, _check_rows(rows, measured), public_rows)
    origin = None if spec.start is None else row_model.vector(spec.start)
    run: dict[str, Any] = {**sizes, "seed": seed, "progress": progress}
    if likelihood == "exact":
        if any(isinstance(one, StationaryPoint) for one in measured.sums):
            raise ArgumentError("likelihood", "exact", "'normal' for minima with noise in their objective")
        exact = sample_augmented(problem, **run, also=measured.choices, start=origin)
        facts = {"row_acceptance": exact.acceptance, "least_row_acceptance": exact.least_acceptance}
        facts |= {} if exact.acceptance_bound is None else {"least_row_acceptance_proved": exact.acceptance_bound}
        return _posterior(
            releases, problem, spec, Chains(exact.v, exact.diverging, "augmentation"), "exact", 1.0, facts
        ).warn()
    if measured.choices:
        return _infer_from_choices(releases, problem, spec, run).warn()
    reference = find_reference(problem, origin, seed)
    if undetermined == "error":
        check_rows_known(problem, reference)
        if model is not None:
            check_identified(problem, reference)
    v0, _ = problem.split(reference.w)
    paths = reparametrize_rows(row_model, v0) if is_wide(problem, reference) else None
    target = build_target(problem, reference, seed, paths=paths)
    result = run_chains(row_model, target, **run)
    covered = _covered_share(problem, target, result)
    if covered < MIN_COVERED:
        flat = result.w.reshape(-1, result.w.shape[-1])
        centres = flat[:: max(1, len(flat) // CENTRES)][:CENTRES]
        target = build_target(problem, reference, seed + 1, centres, reparametrize_rows(row_model, v0))
        result = run_chains(row_model, target, **run)
        covered = _covered_share(problem, target, result)
    facts = {"monte_carlo_share": target.monte_carlo_share}
    return _posterior(releases, problem, spec, result, target.kind, covered, facts).warn()


def _special_kind(releases: Any) -> str | None:
    """Return what a posterior is of that follows from no model of one row with a few parameters; None for others."""
    if isinstance(releases, TableSynthesizer):
        return "a TableSynthesizer"
    if isinstance(releases, Signal):
        return "a series"
    if isinstance(releases, Release) and isinstance(releases.question, SeriesQuery):
        return "a series"
    if isinstance(releases, Quantile) and not isinstance(releases, Extreme):
        return "quantiles"
    if isinstance(releases, Proportion):
        return "a share"
    return None


def _infer_special(
    source: Any,
    kind: str,
    public: Any,
    rows: Any,
    likelihood: str,
    start: Any,
    chains: int,
    draws: int,
    seed: int | None,
) -> PosteriorDraws:
    """Return the posterior of a synthesizer, a series, quantiles or a share."""
    for name, given in (("public", public), ("rows", rows), ("start", start)):
        if given is not None and not (name == "rows" and kind in ("quantiles", "a share")):
            raise ArgumentError(name, UNSHOWN, f"None for {kind}; {YOUR_OWN}")
    choice("likelihood", likelihood, ("normal",))
    chains, draws = integer("chains", chains, least=1, most=MOST_DRAWS), integer("draws", draws, least=4)
    seed = None if seed is None else integer("seed", seed, least=0, most=2**31 - 1)
    if isinstance(source, TableSynthesizer):
        check_is_fitted(source)
        return infer_table(source, chains, draws, seed)
    if isinstance(source, Quantile):
        return infer_quantiles(source, rows, chains, draws, seed)
    if isinstance(source, Proportion):
        return infer_proportion(source, rows, chains, draws, seed)
    return infer_series(source, chains, draws, seed)


def _infer_from_choices(releases: Any, problem: Problem, spec: ModelSpec, run: dict[str, Any]) -> Posterior:
    """Return the posterior from draws of the factored exponential mechanism."""
    if problem.measured.sums:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            "sums, or draws of FactoredExponential, but not both with likelihood='normal'",
            write="likelihood='exact', which takes them together",
        )
    target = build_choices_target(problem, problem.measured.choices, run["seed"])
    return _posterior(releases, problem, spec, run_chains(problem.model, target, **run), target.kind, 1.0, {})


def _model_spec(
    releases: Any, measured: Measurements, model: Callable[[], Any] | None, start: Mapping[str, Any] | None
) -> ModelSpec:
    if model is None:
        if start is not None:
            raise ArgumentError(
                "start", UNSHOWN, "None without a model=… of your own, whose parameters it would have values for"
            )
        return default_model(releases, measured)
    if not callable(model):
        raise ArgumentError("model", model, "a NumPyro model of one row, a function without arguments")
    return ModelSpec(model, start, own=True)


def _check_rows(rows: float | None, measured: Measurements) -> float | None:
    """Return the number of rows, as given or as declared in the releases; None where it is not public."""
    if rows is None:
        if measured.rows is not None and not 1 <= measured.rows <= MAX_ROWS:
            raise ArgumentError("releases", UNSHOWN, f"some of 1 to {MAX_ROWS:.0e} rows, got {measured.rows}")
        return None if measured.rows is None else float(measured.rows)
    given = positive("rows", rows)
    if measured.rows not in (None, given):
        raise ArgumentError("rows", rows, f"None, or {measured.rows}, the number that the releases declare")
    return given


def _covered_share(problem: Problem, target: Any, result: Chains) -> float:
    if problem.model.points is not None:
        return 1.0
    flat = result.w.reshape(-1, result.w.shape[-1])
    shares = effective_shares(problem, target, flat[:: max(1, len(flat) // COVERAGE_DRAWS)])
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
    public: dict[str, Any] = {
        "likelihood": kind,
        "sampler": result.sampler,
        "neighbors": problem.measured.neighbors.value,
    }
    public |= {"pareto_k": result.pareto_k} if math.isfinite(result.pareto_k) else {}
    public |= {} if rows is None else {"which_rows": rows}
    tree = to_data_tree(reported, result.diverging, spec.dims, spec.coords, {**public, **facts})
    return Posterior(
        data=tree,
        likelihood=kind,
        diagnostics=diagnose(
            tree, covered, result.sampler, result.pareto_k, own_model=spec.own, remarks=spec.remarks(reported)
        ),
        guarantee=_guarantee(releases),
        vectors=vectors.reshape(-1, vectors.shape[-1]),
        row_model=problem.model,
        spec=spec,
        which_rows=rows,
        rows=problem.rows,
        scales={name: one for each in problem.measured.releases for name, one in column_scales(each.declared).items()},
    )


def _guarantee(releases: Any) -> Guarantee | None:
    """Return the guarantee of all releases together, where they are of one answer or one fit."""
    result = getattr(releases, "guarantee_", getattr(releases, "guarantee", None))
    return result if isinstance(result, Guarantee) else None
