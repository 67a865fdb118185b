"""Posteriors from draws of the factored exponential mechanism, on a grid and by NUTS.

``factored_likelihood`` makes a function of θ from draws and a model of rows; ``grid_posterior`` and
``sampled_posterior`` take this or any other log-likelihood. All of it uses public numbers and costs nothing.

Which likelihood: ``"normal"`` by default. It is the closest to the exact one, and the only one that stays close for
many draws or a large ε. The alternatives are the bounds of the paper: ``"lower"``, which the paper uses, for a few
draws of few candidates, and ``"upper"``, which is faster than ``"normal"`` where rows are given by many points. Both
have the shape of the likelihood in θ where nη²·(the variance of a row's scores) is well below 1.

``infer`` samples from ``build_choices_target``, for any model of one row. There the likelihood is an expectation over
all rows where they are finitely many, and otherwise over weighted rows, drawn from a mixture of the model at parameters
from its prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpy.typing import ArrayLike, NDArray
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.distributions import Distribution
from numpyro.infer import MCMC, NUTS
from scipy.special import softmax

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer
from discreet.inference.clt.likelihood import LogTarget, draw_mixed_rows
from discreet.inference.clt.reference import Problem
from discreet.inference.factored.factored_bounds import (
    log_lower_bound,
    log_normal_likelihood,
    log_upper_bound,
    standard_normals,
)
from discreet.inference.factored.factored_tilt import ObservedDraws
from discreet.inference.rows.row_model import double_precision, make_keys
from discreet.mechanisms import FactoredChoice

__all__ = ["GridPosterior", "SampledPosterior", "factored_likelihood", "grid_posterior", "sampled_posterior"]

Array = NDArray[np.float64]
LogLikelihood = Callable[[Any], Any]

LIKELIHOODS = ("normal", "upper", "lower")
CENTRES, ROWS = 64, 2048  # draws from the prior, and rows drawn at all of them together


def factored_likelihood(
    choices: FactoredChoice | Sequence[FactoredChoice],
    points: ArrayLike,
    log_weights: Callable[[Any], Any],
    *,
    rows: int | None = None,
    likelihood: str = "normal",
    draws: int = 256,
    seed: int = 0,
) -> LogLikelihood:
    """Return the function from θ to the logarithm of the likelihood of all draws together.

    Parameters
    ----------
    choices : FactoredChoice or sequence of them
        Draws of ``discreet.mechanisms.FactoredExponential`` from one data set; of one mechanism or several.
    points : array of shape (points, columns)
        All possible rows, or points that approximate an integral over rows.
    log_weights : callable
        From θ of shape (...) or (..., d) to numbers of shape (..., points): the log-probability of each point, up to a
        constant. In ``jax.numpy``, for NUTS.
    rows : int
        The number of rows; needed where it is not public (add-remove, rows that may be dropped).
    likelihood : str
        ``"normal"``, ``"upper"`` or ``"lower"``; see the module.
    draws, seed : int
        For ``"normal"``: the number of standard normals, which are drawn once for all θ, and their seed.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.mechanisms import FactoredExponential
    >>> def score(rows, chances):
    ...     return np.log(np.where(rows == 1, chances, 1 - np.array(chances)))
    >>> coin = FactoredExponential(score, np.arange(1, 10) / 10, low=np.log(0.1), high=np.log(0.9))
    >>> drawn = [coin.draw(np.repeat([0.0, 1.0], [1400, 600]), bounds=(0, 1), epsilon=0.5) for _ in range(2)]
    >>> f = factored_likelihood(drawn, [[0.0], [1.0]], lambda θ: np.log(np.stack([1 - θ, θ], axis=-1)))
    >>> posterior = grid_posterior(f, np.linspace(0.005, 0.995, 199))
    >>> bool(abs(posterior.mean - 0.3) < 0.15)
    True
    """
    drawn = [choices] if isinstance(choices, FactoredChoice) else list(choices)
    where = np.asarray(points, dtype=np.float64)
    if where.ndim != 2:
        raise ValueError(f"points of shape {where.shape}: expected rows and columns; write points.reshape(-1, 1)")
    observed = ObservedDraws.from_choices(drawn, where)
    if len({(one.release.dataset, one.release.declared.get("where")) for one in drawn}) > 1:
        raise ArgumentError(
            "choices", UNSHOWN, "draws from the rows of one data set; for several, add their likelihoods"
        )
    choice("likelihood", likelihood, LIKELIHOODS)
    count = _public_row_count(drawn) if rows is None else integer("rows", rows, least=1)
    normals = standard_normals(len(where), draws, seed)

    def log_likelihood(theta: Any) -> Any:
        logs = log_weights(theta)
        traced = isinstance(logs, jax.core.Tracer)
        weights = jax.nn.softmax(logs, axis=-1) if traced else softmax(np.asarray(logs, dtype=np.float64), axis=-1)
        if likelihood == "normal":
            return log_normal_likelihood(observed, weights, count, normals)
        return (log_lower_bound if likelihood == "lower" else log_upper_bound)(observed, weights, count)

    return log_likelihood


def _public_row_count(choices: Sequence[FactoredChoice]) -> int:
    """Return the number of rows, where it is public."""
    known = {each.release.size.rows for each in choices}
    count = known.pop() if len(known) == 1 else None
    if count is None:
        raise ArgumentError(
            "rows",
            None,
            "the number of rows, which is not public here",
            write="rows=…, from a released count or from other knowledge",
        )
    return count


class _Quantiles:
    """Intervals from quantiles."""

    def quantile(self, level: float) -> Any:
        """Return the quantile of each coordinate."""
        raise NotImplementedError

    def interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """Return the ends of an equal-tailed interval that holds θ with probability ``level``."""
        return self.quantile((1.0 - level) / 2.0), self.quantile((1.0 + level) / 2.0)


@dataclass(frozen=True, eq=False)
class GridPosterior(_Quantiles):
    """A posterior on a grid.

    Parameters
    ----------
    theta : array of shape (points,) or (points, d)
    weights : array of shape (points,)
        They sum to 1.
    """

    theta: Array
    weights: Array

    @property
    def mean(self) -> Any:
        """The posterior mean."""
        return self.weights @ self.theta

    @property
    def sd(self) -> Any:
        """The posterior standard deviation."""
        return np.sqrt(self.weights @ (self.theta - self.mean) ** 2)

    def quantile(self, level: float) -> Any:
        """Return the quantile of each coordinate."""
        if self.theta.ndim == 2:
            return np.stack([GridPosterior(one, self.weights).quantile(level) for one in self.theta.T], axis=-1)
        order = np.argsort(self.theta, kind="stable")
        below = np.cumsum(self.weights[order])
        return np.interp(level, below - self.weights[order] / 2.0, self.theta[order])

    def sample(self, count: int, seed: int = 0) -> Array:
        """Return draws from the grid."""
        return self.theta[np.random.default_rng(seed).choice(len(self.theta), count, p=self.weights)]


def grid_posterior(
    log_likelihood: LogLikelihood, theta: ArrayLike, log_prior: LogLikelihood | None = None
) -> GridPosterior:
    """Return the posterior on a grid of equal cells.

    Parameters
    ----------
    log_likelihood : callable
        From an array of θ to an array of numbers, one for each.
    theta : array of shape (points,) or (points, d)
    log_prior : callable
        The logarithm of the prior's density, up to a constant; uniform by default.

    Examples
    --------
    >>> import numpy as np
    >>> result = grid_posterior(lambda θ: -0.5 * (θ - 1.0) ** 2 / 0.04, np.linspace(-4, 4, 801))
    >>> [round(float(each), 2) for each in (result.mean, result.sd, *result.interval(0.9))]
    [1.0, 0.2, 0.67, 1.33]
    """
    grid = np.asarray(theta, dtype=np.float64)
    with double_precision():
        logs = np.asarray(log_likelihood(grid), dtype=np.float64)
        if log_prior is not None:
            logs = logs + np.asarray(log_prior(grid), dtype=np.float64)
    if logs.shape != grid.shape[:1] or not np.isfinite(logs.max()) or np.isnan(logs).any():
        raise ArgumentError(
            "log_likelihood",
            UNSHOWN,
            f"a number for each of {len(grid)} points, and −∞ not for all of them; got shape {logs.shape}",
            write="theta inside of the model's range",
        )
    return GridPosterior(grid, softmax(logs))


@dataclass(frozen=True, eq=False)
class SampledPosterior(_Quantiles):
    """Draws from a posterior.

    Attributes
    ----------
    theta : array of shape (chains, draws) or (chains, draws, d)
    divergences : int
        The number of divergent transitions; 0 in a reliable run.
    """

    theta: Array
    divergences: int

    @cached_property
    def r_hat(self) -> Any:
        """The split R-hat; near 1 where the chains agree."""
        return np.asarray(split_gelman_rubin(self.theta))

    @cached_property
    def effective(self) -> Any:
        """The effective sample size."""
        return np.asarray(effective_sample_size(self.theta))

    @property
    def flat(self) -> Array:
        """The draws of all chains, concatenated."""
        return self.theta.reshape(-1, *self.theta.shape[2:])

    @property
    def mean(self) -> Any:
        """The posterior mean."""
        return self.flat.mean(axis=0)

    @property
    def sd(self) -> Any:
        """The posterior standard deviation."""
        return self.flat.std(axis=0)

    def quantile(self, level: float) -> Any:
        """Return the quantile of each coordinate."""
        return np.quantile(self.flat, level, axis=0)


def sampled_posterior(
    log_likelihood: LogLikelihood,
    prior: Callable[[], Distribution],
    *,
    draws: int = 1000,
    warmup: int = 500,
    chains: int = 2,
    seed: int = 0,
) -> SampledPosterior:
    """Return draws from the posterior, by NUTS in double precision.

    Parameters
    ----------
    log_likelihood : callable
        From one θ to a number, in ``jax.numpy``.
    prior : callable
        Without arguments; returns a NumPyro distribution. It is called in double precision.
    draws, warmup, chains, seed : int

    Examples
    --------
    >>> from numpyro.distributions import Normal
    >>> result = sampled_posterior(lambda θ: -0.5 * (θ - 1.0) ** 2, lambda: Normal(0.0, 1.0), draws=500, chains=1)
    >>> bool(abs(result.mean - 0.5) < 0.4), result.divergences
    (True, 0)
    """
    counts = [
        integer(name, value, least=least)
        for name, value, least in (("draws", draws, 4), ("warmup", warmup, 1), ("chains", chains, 1))
    ]

    def model() -> None:
        theta = numpyro.sample("theta", prior())
        numpyro.factor("likelihood", log_likelihood(theta))

    with double_precision():
        run = MCMC(
            NUTS(model),
            num_samples=counts[0],
            num_warmup=counts[1],
            num_chains=counts[2],
            chain_method="vectorized",
            progress_bar=False,
        )
        run.run(jax.random.key(integer("seed", seed, least=0)), extra_fields=("diverging",))
        theta = np.asarray(run.get_samples(group_by_chain=True)["theta"], dtype=np.float64)
        diverging = int(jnp.sum(run.get_extra_fields()["diverging"]))
    return SampledPosterior(theta, diverging)


def build_choices_target(problem: Problem, chosen: Sequence[FactoredChoice], seed: int) -> LogTarget:
    """Return the posterior of a model given only draws of mechanisms, as a log-density to sample from."""
    model = problem.model
    with double_precision():
        keys = make_keys(seed, CENTRES)
        centres = np.stack([model.call("prior_draw", key) for key in keys])
    if model.points is None:
        rows, log_weights = draw_mixed_rows(model, centres, ROWS, seed)
    else:
        rows, log_weights = model.points, np.zeros(len(model.points["x"]))
    rows_given = None if problem.rows is None else int(problem.rows)
    likelihood = factored_likelihood(
        chosen, rows["x"], lambda v: model.log_rows(v, rows) + log_weights, rows=rows_given, seed=seed
    )

    def density(data: Any, u: Any) -> Any:
        v = data["w0"] + data["root"] @ u
        total = model.log_prior(v) + likelihood(v)
        if problem.public is not None:
            total = total + jnp.sum(model.log_rows(v, problem.public))
        return jnp.where(jnp.isnan(total), -jnp.inf, total)

    data = {"w0": np.median(centres, axis=0), "root": np.eye(model.size)}
    return LogTarget("joint", data, density, model.size, 0.0, is_weighted=False, is_shared=False)
