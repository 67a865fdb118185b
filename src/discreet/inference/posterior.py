"""``Posterior``: draws of a model's parameters given the releases, with intervals, predictions and diagnostics."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import arviz_base
import arviz_stats
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from discreet.arguments import ArgumentError, choice, integer, probability
from discreet.guarantees import Guarantee
from discreet.inference.rows.layout import read_numeric_rows, read_public_rows
from discreet.inference.rows.model_spec import ModelSpec
from discreet.inference.rows.row_model import RowModel
from discreet.inference.synthetic_tables import draw_tables
from discreet.plots import Plot, plot_draws
from discreet.scales import ColumnScale

Array = NDArray[np.float64]

MAX_R_HAT, MAX_DIVERGENT_SHARE, MIN_COVERED = 1.05, 0.005, 0.01
MIN_EFFECTIVE, MIN_EFFECTIVE_SHARE = 400, 0.1  # effective draws, or this share of the draws where they are fewer
SAMPLERS = {
    "importance": "chains around the mode",
    "nuts": "NUTS",
    "augmentation": "data augmentation",
    "disturbed": "disturbed releases",
    "grid": "parameters on a grid",
    "independent": "direct simulation",
    "gibbs": "turns of states and variances",
    "walk": "chains around a normal approximation",
}
INDEPENDENT = ("disturbed", "grid", "independent")  # of which there are no chains
PREDICTIVE_DRAWS = 100  # of the parameters, for predictive rows
AVERAGED_DRAWS = 400  # of the parameters, for a prediction


class InferenceWarning(UserWarning):
    """The chains have not converged, or the likelihood is not accurate enough."""


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of the chains.

    Attributes
    ----------
    r_hat : float
        The largest R-hat of all quantities; near 1 where the chains agree.
    ess : float
        The smallest effective sample size, of the bulk or the tails.
    divergences : int
        The number of divergent transitions.
    draws : int
        The number of draws of all chains together.
    covered : float
        The effective share of the importance-weighted Monte Carlo rows, the 5 % quantile over some draws; 1 where none
        are needed.
    sampler : str
        How draws were made: ``"importance"`` (chains that propose points around the mode, where the posterior is nearly
        normal), ``"nuts"``, ``"augmentation"`` (with the hidden rows), ``"disturbed"`` (releases of a synthesizer,
        with sampling and noise once more), ``"grid"``, ``"independent"``, ``"gibbs"`` (states and variances in turn),
        or ``"walk"`` (steps around a normal approximation).
    pareto_k : float
        k̂ of the weights of points around the mode: below 0.5 where these cover the posterior. Not a number where none
        were drawn.
    own_model : bool
        Whether the model is the user's own, and not the default one of an estimator or an answer.
    slowest : str
        The quantity with the smallest effective sample size.
    remarks : tuple of str
        What the releases leave open: how many components a mixture has, for example.
    """

    r_hat: float
    ess: float
    divergences: int
    draws: int
    covered: float = 1.0
    sampler: str = "nuts"
    pareto_k: float = math.nan
    own_model: bool = True
    slowest: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """How the draws were made, in words."""
        if self.sampler == "nuts" and math.isfinite(self.pareto_k):
            return f"{SAMPLERS['nuts']}, since draws around the mode do not cover the posterior (k̂ {self.pareto_k:.2f})"
        k = f" (k̂ {self.pareto_k:.2f})" if math.isfinite(self.pareto_k) else ""
        return f"{SAMPLERS[self.sampler]}{k}"

    @property
    def complaints(self) -> list[str]:
        """A sentence for each problem; empty if there is none."""
        result = []
        narrow = "narrow its priors" if self.own_model else "release more about these rows, or with more budget"
        if not self.r_hat <= MAX_R_HAT:
            result.append(
                f"the chains do not agree (R-hat {self.r_hat:.3f}, expected at most {MAX_R_HAT}): draw more, with "
                f"draws=… and warmup=…, or {narrow}"
            )
        if not self.ess >= min(MIN_EFFECTIVE, MIN_EFFECTIVE_SHARE * self.draws):
            where = f", for {self.slowest}" if self.slowest else ""
            result.append(
                f"the effective sample size of {self.draws} draws is only {self.ess:.0f}{where}: draw more, with "
                "draws=…"
            )
        if self.divergences > MAX_DIVERGENT_SHARE * self.draws:
            other = "write the model in other parameters, or narrow its priors" if self.own_model else narrow
            result.append(
                f"{self.divergences} of {self.draws} transitions diverged: the posterior has a region that the chains "
                f"cannot explore; {other}"
            )
        if self.covered < MIN_COVERED:
            result.append(
                f"the posterior is so wide that the Monte Carlo rows hardly cover it (their effective share is "
                f"{self.covered:.2%} at some draws): {narrow}"
            )
        return [*result, *self.remarks]


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorDraws:
    """Draws of quantities from their posterior, with intervals, plots and diagnostics.

    Attributes
    ----------
    data : xarray.DataTree
        In ArviZ's format, with the groups ``posterior`` and ``sample_stats``.
    likelihood : str
        The likelihood of the releases.
    diagnostics : Diagnostics
    guarantee : Guarantee or None
        The guarantee of the releases; a posterior costs nothing more. None where it is not known here.
    which_rows : str or None
        A description of the rows that the releases cover ("at most 4 rows of each patient"); None for all rows.
    """

    data: Any
    likelihood: str
    diagnostics: Diagnostics
    guarantee: Guarantee | None
    which_rows: str | None = field(default=None, kw_only=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all quantities."""
        return tuple(map(str, self.data["posterior"].data_vars))

    def draws(self, name: str) -> Array:
        """Return all draws of a quantity, with the chains concatenated, shape (draws, …)."""
        choice("name", name, self.names)
        values = np.asarray(self.data["posterior"][name].values)
        return values.reshape(-1, *values.shape[2:])

    def mean(self, name: str) -> Array:
        """Return the posterior mean of a quantity."""
        return np.asarray(self.draws(name).mean(axis=0))

    def interval(self, name: str, level: float = 0.9) -> tuple[Array, Array]:
        """Return equal-tailed credible intervals of each number, with probability ``level``, as (lower, upper) ends.

        They are about the population that the rows were drawn from, so they account for noise and for sampling.
        """
        level = _check_level(level)
        low, high = np.quantile(self.draws(name), [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
        return low, high

    def summary(self, level: float = 0.9) -> Any:
        """Return a table of means, ``interval``s and diagnostics, one row for each number."""
        level = _check_level(level)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a constant has no R-hat
            return arviz_stats.summary(self.data, ci_prob=level, ci_kind="eti", round_to="none")

    def as_plot(self, name: str, level: float = 0.9) -> Plot:
        """Return the intervals of a quantity as a plot, not yet drawn: points are means, lines ``interval``s."""
        level = _check_level(level)
        draws, result = self.draws(name), self.data["posterior"][name]
        axes = [
            [str(one) if isinstance(one, str) else f"{axis} {one}" for one in np.asarray(result[axis].values).tolist()]
            for axis in map(str, result.dims[2:])
        ]
        return plot_draws(name, draws, axes, level)

    def plot(self, name: str, *, level: float = 0.9, ax: Any = None) -> Any:
        """Draw the intervals of a quantity and return the axes, one for each column. Needs matplotlib.

        Parameters
        ----------
        name : str
            One of ``names``; ``"means"``, say.
        level : float
            The probability of the thin lines. That of the thick lines is 0.5.
        ax : matplotlib axes, optional
            By default axes of a new figure.
        """
        return self.as_plot(name, level).draw(ax)

    def warn(self) -> Self:
        """Issue a warning for each of the diagnostics' complaints, and return self."""
        for complaint in self.diagnostics.complaints:
            warnings.warn(f"posterior: {complaint}", InferenceWarning, stacklevel=3)
        return self

    def __repr__(self) -> str:
        found = self.diagnostics
        alone = found.sampler in INDEPENDENT
        effective = f"effective sample size {found.ess:.0f} or more, R-hat {found.r_hat:.3f}"
        chains = "independent of one another" if alone else f"{effective}, {found.divergences} divergences"
        verdict = "; ".join(found.complaints) or ("" if alone else "chains agree")
        shapes = ", ".join(f"{name}{list(self.draws(name).shape[1:])}" for name in self.names)
        rows = "" if self.which_rows is None else f", from {self.which_rows}"
        return (
            f"<Posterior of {shapes}{rows}: {found.draws} draws by {found.path}, {chains}, {self.likelihood} likelihood"
            f"{'; ' if verdict else ''}{verdict}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(PosteriorDraws):
    """Draws from the posterior over a model's parameters, given the releases.

    Attributes
    ----------
    data : xarray.DataTree
        In ArviZ's format, with the groups ``posterior`` and ``sample_stats``.
    likelihood : str
        The likelihood of the releases: ``"joint"`` (all numbers, central limit), ``"pooled"`` (as many linear
        combinations of them as there are parameters, central limit) or ``"exact"`` (over the hidden rows).
    diagnostics : Diagnostics
    guarantee : Guarantee or None
        The guarantee of the releases; a posterior costs nothing more. None where it is not known here.
    which_rows : str or None
        A description of the rows that the releases cover ("at most 4 rows of each patient"); None for all rows.
    rows : float or None
        The number of rows, where it is public or was given.
    scales : mapping
        The scale of each numeric column.
    """

    vectors: Array = field(repr=False)
    row_model: RowModel = field(repr=False)
    spec: ModelSpec = field(repr=False)
    rows: float | None = None
    scales: Mapping[str, ColumnScale] = field(repr=False, default_factory=dict)

    def sample_predictive(self, count: int, *, seed: int | None = None) -> Any:
        """Return rows of the posterior predictive distribution: synthetic data that include the uncertainty.

        Parameters
        ----------
        count : int
        seed : int, optional
            The rows are public, so a seed does no harm.

        Returns
        -------
        array of shape (count, columns), and where there are categories the declared values of the rows, one array for
        each column of categories.
        """
        count = integer("count", count, least=1)
        rng = np.random.default_rng(seed)
        parameters = self.vectors[rng.integers(len(self.vectors), size=min(count, PREDICTIVE_DRAWS))]
        each = -(-count // len(parameters))
        drawn = [self.row_model.draw(v, each, int(rng.integers(2**31))) for v in parameters]
        order = rng.permutation(each * len(parameters))[:count]
        x, codes = (np.concatenate([rows[part] for rows in drawn])[order] for part in ("x", "codes"))
        declared = (self.spec.labels,) if self.spec.labels else self.row_model.layout.categories
        values = [np.asarray(labels)[codes[:, j]] for j, labels in enumerate(declared)]
        if not values:
            return x
        return (x, *values) if x.shape[1] else values[0]

    def synthesize(self, m: int = 20, n: int | None = None, *, seed: int | None = None) -> list[Any]:
        """Return several synthetic tables, each from one draw of the parameters, for an analyst with ordinary software.

        Analyse each as if it were the data, and give the results to ``dp.combine``: its standard errors account for the
        noise and for the sampling of the private rows.

        Parameters
        ----------
        m : int
            The number of tables.
        n : int, optional
            The number of rows of each; by default as many as the data have. Larger tables narrow intervals a little.
        seed : int, optional
            The rows are public, so a seed does no harm.

        Returns
        -------
        list of m data frames
            With the columns that were measured, in their own units. Rows follow the model, so numbers may lie outside
            of the declared bounds. Of pandas, Polars or Arrow, the first that is installed.
        """
        m = integer("m", m, least=1, most=len(self.vectors))
        if n is None:
            known = self.rows if self.rows is not None else self.mean("rows") if "rows" in self.names else None
            if known is None:
                raise ArgumentError("n", None, "the number of rows of each table, which the releases do not tell")
            n = max(1, round(float(known)))
        count, rng = integer("n", n, least=1), np.random.default_rng(seed)
        return draw_tables(self.vectors, self.row_model, self.spec, self.scales, m, count, rng)

    def score_samples(self, X: Any) -> Array:
        """Return the log-density of each row under the posterior predictive distribution.

        It is averaged over the posterior, and does not depend on the labels of a mixture's components.

        Parameters
        ----------
        X : array, data frame, or (X, y)
            Numeric columns, and the values of the columns of categories where the model has some.
        """
        rows = read_public_rows(X, self.row_model.layout, self.spec.labels)
        logs = [self.row_model.call("log_rows", v, rows) for v in self.vectors[:: self._stride]]
        return np.asarray(logsumexp(logs, axis=0) - math.log(len(logs)))

    @property
    def _stride(self) -> int:
        """Every so many draws are averaged for a prediction."""
        return max(1, len(self.vectors) // AVERAGED_DRAWS)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row, averaged over the posterior; classes sorted."""
        if self.spec.predict_proba is None:
            raise AttributeError("predict_proba: expected the posterior of a classifier; this is not one")
        return self._average_prediction(self.spec.predict_proba, X)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, or the expected target of a regression."""
        if self.spec.predict is not None:
            return self._average_prediction(self.spec.predict, X)
        if self.spec.predict_proba is None:
            raise AttributeError("predict: expected the posterior of a classifier or a regression; this is neither")
        return np.array(sorted(self.spec.labels))[self.predict_proba(X).argmax(axis=1)]

    def _average_prediction(self, predict: Callable[[Mapping[str, Array], Array], Array], X: Any) -> Array:
        rows = read_numeric_rows("X", X, [str(name) for name in self.spec.coords["column"]])
        draws = {name: self.draws(name) for name in self.names}
        every = range(0, len(self.vectors), self._stride)
        return np.asarray(np.mean([predict({name: draws[name][i] for name in draws}, rows) for i in every], axis=0))

    def __reduce__(self) -> Any:
        raise TypeError(
            "a posterior holds its model, which cannot be pickled; save post.data, or the releases and the seed"
        )


def _check_level(level: float) -> float:
    return probability("level", level, accepted="a probability in (0, 1), for example 0.9")


def to_data_tree(
    values: Mapping[str, Array],
    diverging: NDArray[np.bool_],
    dims: Mapping[str, Sequence[str]],
    coords: Mapping[str, Sequence[Any]],
    facts: Mapping[str, Any],
) -> Any:
    """Return draws in ArviZ's format, with public facts about the run as attributes."""
    used = {axis for axes in dims.values() for axis in axes}
    tree = arviz_base.from_dict(
        {"posterior": dict(values), "sample_stats": {"diverging": diverging}},
        dims={name: list(axes) for name, axes in dims.items() if name in values},
        coords={axis: list(names) for axis, names in coords.items() if axis in used},
    )
    tree.attrs.update(facts)
    return tree


def diagnose(
    tree: Any, covered: float, sampler: str, pareto_k: float, *, own_model: bool, remarks: Sequence[str]
) -> Diagnostics:
    """Return the diagnostics of the chains of a data tree."""
    posterior = tree["posterior"].dataset
    count = int(posterior.sizes["chain"] * posterior.sizes["draw"])

    def smallest(values: Any) -> tuple[float, str]:
        numbers = (
            (float(np.nanmin(each)), str(name)) for name, each in values.data_vars.items() if each.notnull().any()
        )
        return min(numbers, default=(math.nan, ""))  # a constant has none: the diagonal of a correlation matrix

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        r_hat = -smallest(-arviz_stats.rhat(posterior))[0]
        ess, slowest = min(smallest(arviz_stats.ess(posterior, method=way)) for way in ("bulk", "tail"))
    diverging = int(tree["sample_stats"]["diverging"].sum())
    return Diagnostics(r_hat, ess, diverging, count, covered, sampler, pareto_k, own_model, slowest, tuple(remarks))
