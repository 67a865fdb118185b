"""``TablePosterior``: what the releases of a ``TableSynthesizer`` leave open about the population behind its table.

A draw is a disturbed fit (``models/synthesis/table_worlds.py``): the releases with the sampling of the rows and with
their noise once more, and the model that follows. Shares of bins and correlations of ranks follow from the disturbed
releases alone. A synthetic table needs the model as well, which is fitted when it is asked for.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.arguments import integer
from discreet.door.release import describe_rows_of_releases
from discreet.estimators.drawn_tables import to_table
from discreet.estimators.table_synthesizer import TableSynthesizer
from discreet.inference.posterior import Diagnostics, PosteriorDraws, to_data_tree
from discreet.models.synthesis.column_histograms import ColumnHistogram
from discreet.models.synthesis.table_worlds import DisturbedFits
from discreet.plots.plot import format_number
from discreet.scales import ColumnScale

MOST_TABLES = 10_000
MOST_DRAWS = 1000  # of shares and correlations, in all chains
CORRELATIONS = "correlations"


@dataclass(frozen=True, eq=False, repr=False)
class TablePosterior(PosteriorDraws):
    """Draws of the population behind a synthetic table, given its releases.

    ``names`` are the columns: the shares of the bins of each, in which its pairs were counted. Of two numbers or more
    there are also the ``correlations`` of their ranks.

    Attributes
    ----------
    data : xarray.DataTree
        In ArviZ's format, with the groups ``posterior`` and ``sample_stats``.
    likelihood : str
        ``"normal"``: sampling and noise of all releases are normal together.
    diagnostics : Diagnostics
        Draws are independent of one another.
    guarantee : Guarantee or None
        The guarantee of the releases; a posterior costs nothing more.
    which_rows : str or None
        A description of the rows that the releases cover; None for all rows.
    rows : float
        The number of rows, as far as it is public.
    """

    fitted: TableSynthesizer = field(repr=False)
    fits: DisturbedFits = field(repr=False)
    rows: float

    def synthesize(self, m: int = 20, n: int | None = None, *, seed: int | None = None) -> list[Any]:
        """Return several synthetic tables, each of one draw of the population, for an analyst with ordinary software.

        Analyse each as if it were the data, and give the results to ``dp.combine``: its standard errors account for the
        noise and for the sampling of the private rows. Zeros, relations, gaps and types are those of ``sample``.

        Parameters
        ----------
        m : int
            The number of tables. Each is a fit of its own, in about a third of the time of the first.
        n : int, optional
            The number of rows of each; by default as many as the data have. Larger tables narrow intervals a little.
        seed : int, optional
            The rows are public, so a seed does no harm.

        Returns
        -------
        list of m data frames
            As of ``TableSynthesizer.sample``.
        """
        m = integer("m", m, least=1, most=MOST_TABLES)
        n = max(1, round(self.rows)) if n is None else integer("n", n, least=1)
        rng, tables = np.random.default_rng(seed), []
        for _ in range(m):
            own = self.fitted._draw_own(n, rng, self.fits.draw(rng))
            tables.append(to_table(self.fitted._to_declared(own), getattr(self.fitted, "_backend", None)))
        return tables


def infer_table(fitted: TableSynthesizer, chains: int, draws: int, seed: int | None) -> TablePosterior:
    """Return the posterior of a fitted synthesizer.

    Draws are independent of one another, so ``chains`` are only a shape, and no more than ``MOST_DRAWS`` are needed.
    """
    draws = max(min(draws, MOST_DRAWS // chains), 1)
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    fits = fitted._open_posterior(rng)
    names, numbers = fitted._declaration.modelled, fits.targets.columns.numbers
    values: dict[str, list[Any]] = {name: [] for name in names}
    several = len(numbers) > 1 and CORRELATIONS not in names
    values |= {CORRELATIONS: []} if several else {}
    for _ in range(chains * draws):
        _, targets = fits.draw_targets(rng)
        for place, name in enumerate(names):
            values[name].append(targets.shares[targets.columns.places(place)])
        if several:
            values[CORRELATIONS].append(targets.correlations)
    scales = {scale.name: scale for scale in fitted._scales}
    dims: dict[str, list[str]] = {name: [f"{name} "] for name in names}  # an axis is not called as what is on it
    coords: dict[str, Sequence[str]] = {
        f"{name} ": _label_bins(one, fitted.categories_.get(name, ()), scales.get(name))
        for name, one in zip(names, fits.histograms, strict=True)
    }
    if several:
        among = [names[place] for place in numbers]
        dims[CORRELATIONS], coords["number"], coords["other"] = ["number", "other"], among, among
    shaped = {name: np.array(one).reshape(chains, draws, *np.shape(one[0])) for name, one in values.items()}
    which = describe_rows_of_releases(fitted.releases_)
    facts = {"likelihood": "normal", "sampler": "disturbed", "neighbors": fitted.releases_[0].neighbors.value}
    facts |= {} if which is None else {"which_rows": which}
    tree = to_data_tree(shaped, np.zeros((chains, draws), dtype=bool), dims, coords, facts)
    found = Diagnostics(1.0, float(chains * draws), 0, chains * draws, 1.0, "disturbed", own_model=False)
    rows = float(fits.targets.columns.rows)
    return TablePosterior(tree, "normal", found, fitted.guarantee_, fitted, fits, rows, which_rows=which)


def _label_bins(one: ColumnHistogram, categories: Sequence[Any], scale: ColumnScale | None) -> list[str]:
    """Return what each bin of a column is called."""
    units = one.column.units
    if units is None:
        words = [str(value) for value in categories] + ["missing"] * one.has_gaps
        return [
            ", ".join(word for word, group in zip(words, one.groups, strict=False) if group == place)
            for place in range(one.bins)
        ]
    assert scale is not None  # a column of numbers has one
    inside = len(one.cuts) - 1
    first = np.flatnonzero(np.diff(one.groups[:inside])) + 1
    ends = units.ends[one.cuts[np.concatenate([[0], first, [inside]])]].clip(units.low, units.high)
    own = [format_number(end) if scale.kind != "date" else str(end) for end in np.asarray(scale.as_rows(ends)).tolist()]
    labels = [f"{low} to {high}" for low, high in pairwise(own)]
    return labels + ["missing"] * (one.bins - len(labels))
