"""The posterior of a population's quantiles, from what ``statistics.quantiles`` has drawn.

The distribution of the column has a Pólya tree as its prior (``share_tree``), and so do the rows, which are a sample of
it. Chains draw how the rows are spread over cells, given all values that were drawn (``rank_likelihood``) and the
released number of rows, where it is not public. Each then draws the population given its rows.

Rows of one person are taken to be alike: n rows of persons with up to m are as good as n/m persons of one row each.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, positive
from discreet.door.release import describe_rows_of_releases
from discreet.inference.evolution import CHAINS, group_chains
from discreet.inference.posterior import PosteriorDraws, diagnose, to_data_tree
from discreet.inference.quantiles.normal_walk import approximate, walk
from discreet.inference.quantiles.rank_likelihood import RankDraw, RankLikelihood
from discreet.inference.quantiles.share_tree import ShareTree
from discreet.queries.ranks.column_steps import FINEST, Scale
from discreet.queries.ranks.quantile_queries import TIE_BITS
from discreet.statistics import Quantile
from discreet.statistics.quantile_answers import QuantileRange

Array = NDArray[np.float64]

WARMUP, APART = 300, 5  # steps of the chains before the first draw, and between two
MARGIN = 1e-9


@dataclass(frozen=True)
class ColumnValues:
    """Which values a column has, as cells of width 1 where they are multiples, or as one of width 1 in all.

    Attributes
    ----------
    scale : Scale
        The candidates that were drawn from.
    start, step : float
        The first multiple and the distance of two; the bounds where values are not multiples.
    width : float
        How many multiples, or 1.
    heap : float
        The share of a multiple's cell where its rows are; 1 where they fill it.
    """

    scale: Scale
    start: float
    step: float
    width: float
    heap: float

    @classmethod
    def of(cls, scale: Scale, rounding: float | None) -> ColumnValues:
        """Return the values of a column that was drawn from these candidates, perhaps with a step that was found."""
        if scale.step is not None:
            return cls(scale, scale.low, scale.step, scale.count + 1.0, 1.0)
        if rounding is None:
            return cls(scale, scale.low, scale.high - scale.low, 1.0, 1.0)
        first = rounding * math.ceil(scale.low / rounding - MARGIN)
        count = math.floor((scale.high - first) / rounding + MARGIN) + 1.0
        return cls(scale, first, rounding, count, (scale.high - scale.low) / FINEST / rounding)

    @property
    def whole(self) -> bool:
        """Whether values are multiples."""
        return self.width > 1.0

    def place(self, number: float) -> float:
        """Return where a candidate, with the bits below it, lies among the cells."""
        if self.scale.step is not None:
            return number
        if not self.whole:
            return number / (FINEST + 1.0)
        value = self.scale.low + (self.scale.high - self.scale.low) * number / FINEST
        return float(np.clip((value - self.start) / self.step, 0.0, self.width))

    def to_values(self, places: Array) -> Array:
        """Return the values at places among the cells, on the measured scale."""
        return self.start + self.step * places


def infer_quantiles(answer: Quantile, rows: float | None, chains: int, draws: int, seed: int | None) -> PosteriorDraws:
    """Return the posterior of the quantiles of the population, in every group.

    Parameters
    ----------
    answer : Quantile
    rows : float or None
        The number of rows, where it is known and not public.
    chains, draws : int
    seed : int or None
    """
    _check_source(answer)
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    levels = np.array(sorted(answer.levels))
    (scale,) = answer._scales
    order = [list(levels).index(level) for level in answer.levels]
    found = []
    for group in range(1 if answer.groups is None else len(answer.groups)):
        drawn = _infer_group(answer, group, _count_rows(answer, group, rows), levels, chains, draws, rng)
        found.append(drawn[:, :, order])
    measured = np.stack(found, axis=2)  # chains, draws, groups, levels
    own = np.asarray(scale.to_own(measured), dtype=np.float64)
    values, axes = {"quantiles": own}, {"quantiles": ["group", "level"]}
    if isinstance(answer, QuantileRange):
        values["range"], axes["range"] = measured[..., 1] - measured[..., 0], ["group"]
    if answer.groups is None:
        values = {name: value[:, :, 0] for name, value in values.items()}
        axes = {name: several[1:] for name, several in axes.items()}
    labels = [str(label) for label in answer.groups or ()]
    which = describe_rows_of_releases(answer.releases)
    facts: dict[str, Any] = {"likelihood": "exact", "sampler": "walk"}
    facts |= {"neighbors": answer.releases[0].neighbors.value} | ({} if which is None else {"which_rows": which})
    coords: dict[str, Sequence[Any]] = {"group": labels, "level": list(answer.levels)}
    tree = to_data_tree(values, np.zeros((chains, draws), dtype=bool), axes, coords, facts)
    diagnostics = diagnose(tree, 1.0, "walk", math.nan, own_model=False, remarks=())
    return PosteriorDraws(tree, "exact", diagnostics, answer.guarantee, which_rows=which).warn()


def _check_source(answer: Quantile) -> None:
    if not all(0.0 < level < 1.0 for level in answer.levels):
        raise ArgumentError("levels", answer.levels, "levels between 0 and 1: the ends of a population are not known")
    if any(question.weights is not None for question, _, _ in answer._draws):
        raise ArgumentError(
            "releases", UNSHOWN, "quantiles without weights, for which there is no model of rows; leave weights out"
        )


def _count_rows(answer: Quantile, group: int, rows: float | None) -> tuple[float, float]:
    """Return the number of rows of a group, and the scale of the Laplace noise on it; 0 where it is known."""
    public = answer.releases[0].size.rows if answer.groups is None else None
    if rows is not None:
        if answer.groups is not None:
            raise ArgumentError("rows", rows, "None for quantiles in groups, each of which has its own number")
        if public not in (None, rows):
            raise ArgumentError("rows", rows, f"None, or {public}, the number that the releases declare")
        return positive("rows", rows), 0.0
    if public is not None:
        return float(public), 0.0
    for release in answer.releases:
        if "count" in release.parts:
            assert release.noise is not None  # a count has additive noise
            return float(release.value[group]), release.noise.scale
    wanted = "interval=0.95 when you ask, which counts the rows"
    raise ArgumentError(
        "rows",
        None,
        "the number of rows, which the releases do not tell",
        wanted if answer.groups else f"rows=…, or {wanted}",
    )


def _infer_group(
    answer: Quantile,
    group: int,
    counted: tuple[float, float],
    levels: Array,
    chains: int,
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """Return draws of the quantiles of a group on the measured scale, shape (chains, draws, levels)."""
    scales = [question.scale for question, _, _ in answer._draws if isinstance(question.scale, Scale)]
    rounding = None if answer._spans is None or answer._spans.log else answer._spans.rounding
    values = ColumnValues.of(scales[0], rounding)
    seen = _read_draws(answer, group, values)
    persons = float(answer.releases[0].declared.get("max_rows") or 1)
    count, noise = counted
    guess = max(count, 2.0 * noise, 1.0)
    places, ranks = _guess_ranks(seen, guess, values.width)
    tree = ShareTree.around(
        values.width,
        values.whole,
        np.array([one.value for one in seen]),
        np.array([1.0 / one.eta for one in seen]),
        lambda at: np.interp(at, places, ranks),
    )
    likelihood = RankLikelihood(tree.edges, seen, values.heap)

    def number(points: Array) -> Array:
        if not noise:
            return np.full(len(points), count)
        return np.maximum(count + noise * points[:, -1], 1.0)

    def log_density(points: Array) -> Array:
        n = number(points)
        shares, result = tree.unfold(points[:, : tree.size], n / persons)
        result = result - (np.abs(points[:, -1]) if noise else 0.0)
        return result + likelihood.log_likelihood(n[:, None] * np.exp(shares))

    def misses(points: Array) -> Array:
        n = number(points)
        return likelihood.misses(n[:, None] * np.exp(tree.unfold(points[:, : tree.size], n / persons)[0]))

    members = -(-CHAINS // chains) * chains
    near = approximate(misses, tree.size + bool(noise))
    points = walk(log_density, *near, members, WARMUP, -(-chains * draws // members), APART, rng)
    flat = points.reshape(-1, points.shape[2])
    n = number(flat) / persons
    shares = tree.draw_population(tree.unfold(flat[:, : tree.size], n)[0], n, rng)
    result = values.to_values(tree.quantiles(shares, levels, values.whole, rng))
    return group_chains(result.reshape(*points.shape[:2], len(levels)), chains)[:, :draws]


def _read_draws(answer: Quantile, group: int, values: ColumnValues) -> list[RankDraw]:
    """Return what was drawn of a group, in order; ends of worst-case intervals, from other candidates, are left out."""
    result = []
    for question, release, eta in answer._draws:
        scale = question.scale
        if not isinstance(scale, Scale):
            continue
        bits = TIE_BITS if question.break_ties else 0
        atoms = scale.step is not None and not question.break_ties
        for target, (whole, below) in zip(question.targets, release["numbers"], strict=True):
            if target.group != group:
                continue
            first, last = (values.place(end / 2**bits) for end in (target.first, target.last + 1))
            result.append(
                RankDraw(
                    values.place(float(whole) + below / 2**TIE_BITS + 0.5 * atoms),
                    target.q,
                    first,
                    last,
                    target.below,
                    target.above,
                    eta,
                    atoms,
                    question.flips,
                    values.place(1.0) if not values.whole else values.heap,
                )
            )
    return result


def _guess_ranks(seen: list[RankDraw], rows: float, width: float) -> tuple[Array, Array]:
    """Return places in order, and about how many rows lie below each."""
    known = {0.0: 0.0, width: rows}
    for one in seen:
        low, high = (known[min(known, key=lambda at: abs(at - end))] for end in (one.first, one.last))
        known[one.value] = float(np.clip(low + one.q * (high - low) + one.above - one.below, 0.0, rows))
    places = np.array(sorted(known))
    return places, np.maximum.accumulate(np.array([known[place] for place in places.tolist()]))
