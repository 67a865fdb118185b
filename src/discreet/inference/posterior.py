"""``Posterior``: draws of a model's parameters given the releases, with intervals, predictions and diagnostics."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import arviz_base
import arviz_stats
import numpy as np
from numpy.typing import NDArray

from discreet.arguments import choice, integer, probability
from discreet.guarantees import Guarantee
from discreet.inference.rows.layout import numeric_rows
from discreet.inference.rows.model_spec import ModelSpec
from discreet.inference.rows.row_model import RowModel
from discreet.plots import Plot, plot_draws

Array = NDArray[np.float64]

R_HAT, SHARE_OF_DRAWS, DIVERGENT = 1.05, 0.1, 0.005
LIKELY = 100  # parameters that predictive rows are drawn at
AVERAGED = 400  # draws that a prediction is averaged over


class InferenceWarning(UserWarning):
    """The chains, or the likelihood, are not to be trusted as they are."""


@dataclass(frozen=True)
class Diagnostics:
    """Whether the chains can be trusted.

    Attributes
    ----------
    r_hat : float
        The largest of all quantities; near 1 where the chains agree.
    ess : float
        The smallest effective number of draws, of the bulk or the tails.
    divergences : int
    draws : int
        Of all chains together.
    covered : float
        The share of the Monte Carlo rows that weights leave in use, at the least covered of the draws looked at; 1
        where none are needed.
    """

    r_hat: float
    ess: float
    divergences: int
    draws: int
    covered: float = 1.0

    @property
    def complaints(self) -> list[str]:
        """What is wrong, in words; empty where nothing is."""
        result = []
        if not self.r_hat <= R_HAT:
            result.append(
                f"the chains do not agree (R-hat {self.r_hat:.3f}, expected at most {R_HAT}): draw more, with "
                "draws=… and warmup=…, or give a prior that says more"
            )
        if not self.ess >= SHARE_OF_DRAWS * self.draws:
            result.append(f"{self.draws} draws are worth only {self.ess:.0f} independent ones: draw more, with draws=…")
        if self.divergences > DIVERGENT * self.draws:
            result.append(
                f"{self.divergences} of {self.draws} transitions diverged: the posterior has a corner that the chains "
                "cannot enter; write the model in other parameters, or narrow its priors"
            )
        if self.covered < 0.01:
            result.append(
                f"the posterior is so wide that the Monte Carlo rows hardly cover it ({self.covered:.2%} of them are "
                "used at some draws): narrow the priors, or measure with more budget"
            )
        return result


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws from the posterior over a model's parameters, given what was released.

    Attributes
    ----------
    data : xarray.DataTree
        As ArviZ has it: the groups ``posterior`` and ``sample_stats``.
    likelihood : str
        How the releases entered: ``"joint"`` (all numbers, central limit), ``"pooled"`` (as many combinations of them
        as there are parameters, central limit) or ``"exact"`` (over the hidden rows).
    diagnostics : Diagnostics
    guarantee : Guarantee or None
        That of the releases: a posterior costs nothing more. None where it is not known here.
    which_rows : str or None
        Which rows the releases are about, in words ("at most 4 rows of each patient"); None where about all of them.
    """

    data: Any
    likelihood: str
    diagnostics: Diagnostics
    guarantee: Guarantee | None
    vectors: Array = field(repr=False)
    row_model: RowModel = field(repr=False)
    spec: ModelSpec = field(repr=False)
    which_rows: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What has a posterior here."""
        return tuple(map(str, self.data["posterior"].data_vars))

    def draws(self, name: str) -> Array:
        """Return all draws of a quantity, of all chains one after the other, shape (draws, …)."""
        choice("name", name, self.names)
        values = np.asarray(self.data["posterior"][name].values)
        return values.reshape(-1, *values.shape[2:])

    def mean(self, name: str) -> Array:
        """Return the posterior mean of a quantity."""
        return np.asarray(self.draws(name).mean(axis=0))

    def interval(self, name: str, level: float = 0.9) -> tuple[Array, Array]:
        """Return the ends of intervals that hold each number with probability ``level``.

        As much is left out below as above. They speak of the people that the rows were drawn from: of the noise and of
        the sampling.
        """
        inside = _check_level(level)
        low, high = np.quantile(self.draws(name), [(1.0 - inside) / 2.0, (1.0 + inside) / 2.0], axis=0)
        return low, high

    def summary(self, level: float = 0.9) -> Any:
        """Return a table of means, ``interval``s and diagnostics, one line a number."""
        inside = _check_level(level)
        return arviz_stats.summary(self.data, ci_prob=inside, ci_kind="eti", round_to="none")

    def as_plot(self, name: str, level: float = 0.9) -> Plot:
        """Return the intervals of a quantity as a plot, not yet drawn: points are means, lines ``interval``s."""
        inside = _check_level(level)
        draws, result = self.draws(name), self.data["posterior"][name]
        axes = [
            [str(one) if isinstance(one, str) else f"{axis} {one}" for one in np.asarray(result[axis].values).tolist()]
            for axis in map(str, result.dims[2:])
        ]
        return plot_draws(name, draws, axes, inside)

    def plot(self, name: str, *, level: float = 0.9, ax: Any = None) -> Any:
        """Draw the intervals of a quantity and return the axes, one for each column. Needs matplotlib.

        Parameters
        ----------
        name : str
            One of ``names``; ``"means"``, say.
        level : float
            What the thin lines hold. Thick ones hold half.
        ax : matplotlib axes, optional
            By default those of a new figure.
        """
        return self.as_plot(name, level).draw(ax)

    def sample_predictive(self, count: int, *, seed: int | None = None) -> Any:
        """Return new rows, from parameters drawn from the posterior: synthetic data that know their uncertainty.

        Parameters
        ----------
        count : int
        seed : int, optional
            Rows are public, so a seed is fine here.

        Returns
        -------
        array of shape (count, columns), and where there are categories the declared value of each row, one array a
        column of categories.
        """
        count = integer("count", count, least=1)
        rng = np.random.default_rng(seed)
        chosen = self.vectors[rng.integers(len(self.vectors), size=min(count, LIKELY))]
        each = -(-count // len(chosen))
        some = [self.row_model.draw(v, each, int(rng.integers(2**31))) for v in chosen]
        order = rng.permutation(each * len(chosen))[:count]
        x, codes = (np.concatenate([rows[part] for rows in some])[order] for part in ("x", "codes"))
        declared = (self.spec.labels,) if self.spec.labels else self.row_model.layout.categories
        values = [np.asarray(given)[codes[:, j]] for j, given in enumerate(declared)]
        if not values:
            return x
        return (x, *values) if x.shape[1] else values[0]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row, averaged over the posterior; classes sorted."""
        if self.spec.predict_proba is None:
            raise AttributeError("predict_proba: expected the posterior of a classifier; this is not one")
        return self._averaged(self.spec.predict_proba, X)

    def predict(self, X: Any) -> Any:
        """Return the likeliest class of each row, or what is expected of the target of a regression."""
        if self.spec.predict is not None:
            return self._averaged(self.spec.predict, X)
        if self.spec.predict_proba is None:
            raise AttributeError("predict: expected the posterior of a classifier or a regression; this is neither")
        return np.array(sorted(self.spec.labels))[self.predict_proba(X).argmax(axis=1)]

    def _averaged(self, one: Callable[[Mapping[str, Array], Array], Array], X: Any) -> Array:
        rows = numeric_rows("X", X, [str(name) for name in self.spec.coords["column"]])
        draws = {name: self.draws(name) for name in self.names}
        every = range(0, len(self.vectors), max(1, len(self.vectors) // AVERAGED))
        return np.asarray(np.mean([one({name: draws[name][i] for name in draws}, rows) for i in every], axis=0))

    def __reduce__(self) -> Any:
        raise TypeError(
            "a posterior holds its model, which cannot be pickled; keep post.data, or the releases and the seed"
        )

    def complain(self) -> Posterior:
        """Warn of what is wrong with the chains, and return self."""
        for complaint in self.diagnostics.complaints:
            warnings.warn(f"posterior: {complaint}", InferenceWarning, stacklevel=3)
        return self

    def __repr__(self) -> str:
        says = self.diagnostics
        good = "; ".join(says.complaints) or "chains agree"
        shapes = ", ".join(f"{name}{list(self.draws(name).shape[1:])}" for name in self.names)
        rows = "" if self.which_rows is None else f", from {self.which_rows}"
        return (
            f"<Posterior of {shapes}{rows}: {says.draws} draws worth {says.ess:.0f} or more, R-hat {says.r_hat:.3f}, "
            f"{says.divergences} divergences, {self.likelihood} likelihood; {good}>"
        )


def _check_level(level: float) -> float:
    return probability("level", level, accepted="a probability in (0, 1), for example 0.9")


def data_tree(
    values: Mapping[str, Array],
    diverging: NDArray[np.bool_],
    dims: Mapping[str, Sequence[str]],
    coords: Mapping[str, Sequence[Any]],
    facts: Mapping[str, Any],
) -> Any:
    """Return draws as ArviZ has them, with what is public about their making as attributes."""
    used = {axis for axes in dims.values() for axis in axes}
    tree = arviz_base.from_dict(
        {"posterior": dict(values), "sample_stats": {"diverging": diverging}},
        dims={name: list(axes) for name, axes in dims.items() if name in values},
        coords={axis: list(names) for axis, names in coords.items() if axis in used},
    )
    tree.attrs.update(facts)
    return tree


def diagnose(tree: Any, covered: float) -> Diagnostics:
    """Return the diagnostics of the chains of a data tree."""
    posterior = tree["posterior"].dataset
    count = int(posterior.sizes["chain"] * posterior.sizes["draw"])

    def extreme(values: Any, pick: Callable[[Any], Any]) -> float:
        numbers = np.concatenate([np.ravel(values[name]) for name in values.data_vars])
        numbers = numbers[np.isfinite(numbers)]  # one that never changes has none: the diagonal of a correlation
        return float(pick(numbers)) if numbers.size else float("nan")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        r_hat = extreme(arviz_stats.rhat(posterior), np.max)
        ess = min(extreme(arviz_stats.ess(posterior, method=way), np.min) for way in ("bulk", "tail"))
    return Diagnostics(r_hat, ess, int(tree["sample_stats"]["diverging"].sum()), count, covered)
