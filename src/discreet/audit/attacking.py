"""``attack``: run a mechanism many times on two neighbouring data sets, and bound its ε from below.

There are three phases, each with separate runs:

1. scout: some runs on every pair of neighbours, more on the better ones, to find the pair whose outputs differ most;
2. rehearse: more runs on that pair, on which the score and the threshold are chosen;
3. count: ``runs`` runs on each side, of which only the numbers of false alarms and of misses are used.

Only the third phase enters the bound, so the bound holds whatever was tried before.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from discreet.arguments import UNSHOWN, ArgumentError, integer, probability
from discreet.audit.claim import Claim
from discreet.audit.confidence import epsilon_lower_bound, mu_lower_bound, upper_bound
from discreet.audit.output import read_claim, read_error, read_output
from discreet.audit.pairs import Pair
from discreet.audit.result import Attack
from discreet.audit.scores import Array, Observed, Sums, estimate_difference, learn_best_score
from discreet.audit.targets import prepare_attack
from discreet.door import Curator
from discreet.estimators.base import as_curator
from discreet.guarantees import Guarantee, Loss, Neighbors

MIN_RUNS = 20  # on each side
STRENGTH_RUNS = 10  # on each side, in which the strength of known noise is computed
TRIES = 3  # of a pair, before it counts as refused
FEWEST, MOST = 150, 20_000  # runs on each side, where a time is given
OVERHEAD = 2.8  # all runs over counted runs


def attack(
    subject: Any,
    pairs: Pair | Sequence[Pair] | None = None,
    *,
    target: str | None = None,
    claimed: Guarantee | Loss | Sequence[Loss] | None = None,
    runs: int = 1000,
    confidence: float = 0.99,
    spends: bool = False,
    progress: bool | None = None,
) -> Attack:
    """Attack a mechanism, and return a lower bound on its ε from how well an attacker distinguishes its outputs.

    The subject is run repeatedly on synthetic rows, with fresh noise, some 2.5 to 5 times ``runs`` on each side: the
    first runs choose the attack. No budget is spent. An error counts as an output.

    Parameters
    ----------
    subject : estimator or callable
        A private estimator, fitted or not; it is cloned. Or a function of a curator (or of whatever object the pairs
        hold) that returns a fitted estimator, an answer, a release, or numbers.
    pairs : Pair or sequence of Pair, optional
        Neighbouring data sets. By default, for an estimator, extreme ones within its declared bounds
        (``discreet.audit.neighbours``).
    target : str, optional
        For an estimator with a target and your own pairs: the name of the target's column.
    claimed : Guarantee, Loss or several, optional
        The guarantee to test; by default the one that the result states. Losses hold more information than one
        (ε, δ), so the bound is sharper.
    runs : int
        Counted runs on each side. With more runs smaller errors are detected; see ``Attack.noticed``.
    confidence : float
        The confidence of the bound.
    spends : bool
        Whether curators and databases with a ledger may be used. Each run then spends their budget.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    Attack
        ``holds``, ``epsilon`` (the bound), ``noticed``, and ``plot()``.

    Examples
    --------
    >>> import discreet as dp
    >>> pairs = dp.audit.neighbours(dp.Schema({"x": dp.Number(0, 1), "y": dp.Number(0, 1)}))[:2]
    >>> result = dp.audit.attack(dp.PCA(1, epsilon=1.0), pairs, runs=20, confidence=1 - 1e-9, progress=False)
    >>> result.holds
    True
    """
    runs = integer("runs", runs, least=MIN_RUNS, most=10**7)
    chance = (1.0 - probability("confidence", confidence)) / 2.0
    asked, candidates, name = prepare_attack(subject, pairs, target, spends=spends)
    ask = _without_warnings(asked)
    candidates, results = _admitted_pairs(ask, candidates)
    claim = _common_claim(results) if claimed is None else Claim.from_user(claimed)
    for pair in candidates:
        _check_neighbours(pair, claim.guarantee.neighbors)
    rounds = _plan_rounds(len(candidates), runs)
    total = 2 * (sum(pairs * each for pairs, each in rounds) + runs)
    started = time.perf_counter()
    bar = tqdm(total=total, desc=name, unit="run", disable=None if progress is None else not progress)
    with bar:
        for pairs_left, each in rounds[:-1]:
            tells = [estimate_difference(*_observe_pair(ask, pair, each, bar)) for pair in candidates[:pairs_left]]
            candidates = tuple(candidates[place] for place in np.argsort(tells)[::-1])
        pair = candidates[0]
        one, other = _observe_pair(ask, pair, rounds[-1][1], bar)
        score = learn_best_score(one, other)
        threshold = _choose_threshold(score.values(one), score.values(other), claim, runs, chance)
        fresh = _observe_pair(ask, pair, runs, bar, one.numbers.shape[1] - 1)
    first, second = (score.values(side) for side in fresh)
    return Attack(
        name=name,
        claim=claim,
        pair=pair.name,
        score=score.name,
        confidence=1.0 - 2.0 * chance,
        runs=runs,
        alarms=int(np.sum(first > threshold)),
        missed=runs - int(np.sum(second > threshold)),
        scores=(first, second),
        seconds=time.perf_counter() - started,
    )


def estimate_runs(ask: Callable[[Any], Any], pairs: tuple[Pair, ...], seconds: float) -> int:
    """Return how many runs on each side take about so many seconds of CPU time, between ``FEWEST`` and ``MOST``."""
    ask = _without_warnings(ask)
    pair = _admitted_pairs(ask, pairs)[0][-1]
    started = time.process_time()
    for data in (pair.one, pair.other) * 3:
        with suppress(Exception):  # an error counts as an output
            ask(data)
    each = max(time.process_time() - started, 1e-4) / 6.0
    return int(min(max(seconds / (2.0 * OVERHEAD * each), FEWEST), MOST))


def _without_warnings(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the same function without its warnings, which would be repeated thousands of times."""

    def asked(data: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask(data)

    return asked


def _common_claim(results: list[Any]) -> Claim:
    """Return the claim that all results share. If claims depend on the noise, none of them is the guarantee."""
    claims = [read_claim(result) for result in results]
    first = claims[0]
    if first is None or any(claim != first for claim in claims):
        said = "the results do not state it" if first is None else "the results state different claims"
        raise ArgumentError(
            "claimed",
            None,
            f"the guarantee to test, since {said}",
            write="for example claimed=Guarantee(1.0, 1e-6) or claimed=GaussianLoss(0.5)",
        )
    return first


def _admitted_pairs(ask: Callable[[Any], Any], pairs: tuple[Pair, ...]) -> tuple[tuple[Pair, ...], list[Any]]:
    """Return the pairs that the subject accepts, and its results.

    A subject may refuse both data sets, because of public facts. If it refuses only one of them, that is an output.
    """
    taken: list[Pair] = []
    refusals: list[Exception] = []
    results: list[Any] = []
    for pair in pairs:
        before = len(results)
        for data in (pair.one, pair.other) * TRIES:
            try:
                results.append(ask(data))
                if len(results) == before + 2:
                    break
            except Exception as error:
                refusals.append(error)
        if len(results) > before:
            taken.append(pair)
    if not taken:
        raise refusals[0]
    return tuple(taken), results


def _check_neighbours(pair: Pair, relation: Neighbors) -> None:
    """Raise an error if two arrays, lists or tables are visibly not neighbours."""
    sides = [as_curator(side) for side in (pair.one, pair.other)]
    if any(isinstance(side, Curator) and side.neighbors is not relation for side in sides):
        raise ArgumentError("pairs", UNSHOWN, f"curators under {relation}, as is claimed")
    if not all(isinstance(side, np.ndarray | list | tuple) or hasattr(side, "columns") for side in sides):
        return
    if any(isinstance(side, Curator) or getattr(side, "ndim", 1) == 0 for side in sides):
        return
    longer = len(pair.other) - len(pair.one)
    changed = _rows_apart(pair.one, pair.other)
    if abs(longer) != (0 if relation is Neighbors.REPLACE_ONE else 1):
        raise ArgumentError(
            "pairs",
            UNSHOWN,
            f"neighbours under {relation}, as is claimed; {pair.name!r} has {len(pair.one)} and {len(pair.other)} rows",
        )
    if changed > 1:
        raise ArgumentError(
            "pairs",
            UNSHOWN,
            f"neighbours; {pair.name!r} differs in {changed} rows; where one person has several, write curators with "
            "a unit",
        )


def _rows_apart(one: Any, other: Any) -> int:
    """Return in how many rows two arrays of numbers differ; 0 if they cannot be compared."""
    alike = isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape
    if not alike or one.dtype.kind not in "biuf" or other.dtype.kind not in "biuf":
        return 0
    apart = (one != other) & ~(np.isnan(one) & np.isnan(other))
    return int(np.count_nonzero(apart.reshape(len(one), -1).any(axis=1)))


def _plan_rounds(pairs: int, runs: int) -> list[tuple[int, int]]:
    """Return the number of pairs and of runs in each round: ever fewer pairs with ever more runs, at last one pair."""
    rounds, each = [], max(runs // 50, MIN_RUNS)
    while pairs > 1:
        rounds.append((pairs, each))
        pairs, each = -(-pairs // 4), 3 * each
    return [*rounds, (1, max(runs // 2, 2 * MIN_RUNS))]


def _observe_pair(
    ask: Callable[[Any], Any], pair: Pair, runs: int, bar: Any, width: int | None = None
) -> tuple[Observed, Observed]:
    """Return the outputs of so many runs on each data set, in turns; ``width`` numbers of each, or all of them."""
    sides: tuple[list[tuple[float, Array]], ...] = ([], [])
    sums = Sums(pair)
    strengths: list[float] = []
    for run in range(runs):
        for side, data in zip(sides, (pair.one, pair.other), strict=True):
            try:
                output = read_output(ask(data))
            except Exception as error:  # pairs that fail on both sides were left out before
                output = read_error(error)
            side.append((sums.ratio(output), output.numbers))
            if run < STRENGTH_RUNS:
                strengths.append(sums.strength(output))
            bar.update()
    width = max(len(numbers) for side in sides for _, numbers in side) if width is None else width
    one, other = (_observe_side(side, width, float(np.mean(strengths))) for side in sides)
    return one, other


def _observe_side(side: list[tuple[float, Array]], width: int, strength: float) -> Observed:
    """Return the outputs of one side: the length of each, which may differ, and its numbers, padded with zeros."""
    numbers = np.zeros((len(side), width + 1))
    for place, (_, result) in enumerate(side):
        numbers[place, 0] = len(result)
        numbers[place, 1 : 1 + len(result[:width])] = result[:width]
    return Observed(np.array([known for known, _ in side]), numbers, strength)


def _choose_threshold(one: Array, other: Array, claim: Claim, runs: int, chance: float) -> float:
    """Return the threshold whose bound would be largest if the counted runs had the error rates of these runs."""
    both = np.unique(np.concatenate([one, other]))
    tried = np.quantile(both, np.linspace(0.0, 1.0, 400)) if len(both) > 400 else both
    alarms = (np.sum(one[:, None] > tried, axis=0) + 0.5) / (len(one) + 1.0)
    missed = (np.sum(other[:, None] <= tried, axis=0) + 0.5) / (len(other) + 1.0)
    limits = upper_bound(alarms * runs, runs, chance), upper_bound(missed * runs, runs, chance)
    gaussian = claim.mu is not None
    bounds = mu_lower_bound(*limits) if gaussian else epsilon_lower_bound(*limits, claim.guarantee.delta)
    best = bounds if np.max(bounds) > 0.0 else -alarms - missed  # if no threshold gives a positive bound, the best test
    return float(tried[np.argmax(best)])
