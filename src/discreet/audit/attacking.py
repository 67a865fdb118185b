"""``attack``: two neighbouring data sets, many runs of the real mechanism, and what they prove about its promise.

In this order, each with runs of its own:

1. scout: some runs on every pair of neighbours, more on the better ones, to find that on which outputs differ most;
2. rehearse: more runs on that pair, from which the score and the threshold are chosen;
3. count: ``runs`` runs on each side, of which only the numbers of false alarms and of misses are kept.

Only the third enters the bound, so it holds whatever was tried before.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from discreet.arguments import integer, probability
from discreet.audit.claim import Claim
from discreet.audit.found import Attack
from discreet.audit.limits import epsilon_above, mu_above, upper
from discreet.audit.output import claimed_by, seen
from discreet.audit.pairs import Pair
from discreet.audit.scores import Array, Observed, Sums, best_score, difference
from discreet.audit.whom import asked_of
from discreet.guarantees import Guarantee, Loss

__all__ = ["attack"]

LEAST, FEW = 20, 10


def attack(
    subject: Any,
    pairs: Pair | Sequence[Pair] | None = None,
    *,
    target: str | None = None,
    claimed: Guarantee | Loss | Sequence[Loss] | None = None,
    runs: int = 1000,
    confidence: float = 0.99,
    progress: bool | None = None,
) -> Attack:
    """Attack a mechanism, and return a lower bound on its ε from what an attacker could tell.

    The subject is run again and again on made-up rows, with the noise of the system. Nothing is spent.

    Parameters
    ----------
    subject : estimator or callable
        A private estimator, fitted or not: it is cloned. Or a function of a curator (or of whatever the pairs hold)
        that returns a fitted estimator, an answer, a release, or numbers.
    pairs : Pair or sequence of Pair, optional
        Neighbouring data sets. By default, for an estimator, extreme ones within its declared bounds
        (``discreet.audit.neighbours``).
    target : str, optional
        For an estimator with a target and pairs of one's own: the name of its column.
    claimed : Guarantee, Loss or several, optional
        What is promised; by default what the result says of itself. Losses say more than one (ε, δ), and the bound is
        then sharper.
    runs : int
        On each side. The more, the smaller the errors that are noticed; see ``Attack.noticed``.
    confidence : float
        With which the bound holds.
    progress : bool, optional
        Whether to show a bar; by default on a terminal.

    Returns
    -------
    Attack
        ``holds``, ``epsilon`` (the bound), ``noticed``, and ``plot()``.

    Examples
    --------
    >>> import discreet as dp
    >>> found = dp.audit.attack(dp.PCA(1, bounds=(0, 1), epsilon=1.0), runs=200, confidence=1 - 1e-9, progress=False)
    >>> found.holds
    True
    """
    runs = integer("runs", runs, least=LEAST, most=10**7)
    chance = (1.0 - probability("confidence", confidence)) / 2.0
    asked, candidates, name = asked_of(subject, pairs, target)
    ask = _quietly(asked)
    candidates = _admitted(ask, candidates)
    claim = claimed_by(ask(candidates[0].one)) if claimed is None else Claim.stated(claimed)
    if claim is None:
        raise ValueError(
            "claimed=None: expected what is promised, since the result does not say it; write for example "
            "claimed=Guarantee(1.0, 1e-6) or claimed=GaussianLoss(0.5)"
        )
    rounds = _rounds(len(candidates), runs)
    total = 2 * (sum(pairs * each for pairs, each in rounds) + runs)
    started = time.perf_counter()
    bar = tqdm(total=total, desc=name, unit="run", disable=None if progress is None else not progress)
    with bar:
        for pairs_left, each in rounds[:-1]:
            tells = [difference(*_sides(ask, pair, each, bar)) for pair in candidates[:pairs_left]]
            candidates = tuple(candidates[place] for place in np.argsort(tells)[::-1])
        pair = candidates[0]
        one, other = _sides(ask, pair, rounds[-1][1], bar)
        score = best_score(one, other)
        threshold = _threshold(score.of(one), score.of(other), claim, runs, chance)
        fresh = _sides(ask, pair, runs, bar)
    first, second = (score.of(side) for side in fresh)
    return Attack(
        name=name,
        claim=claim,
        pair=pair.name,
        score=score.name,
        confidence=1.0 - 2.0 * chance,
        runs=runs,
        alarms=int(np.sum(first > threshold)),
        missed=int(np.sum(second <= threshold)),
        scores=(first, second),
        seconds=time.perf_counter() - started,
    )


def _quietly(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the same without its warnings: of noise that hides a line, say, thousands of times over."""

    def asked(data: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask(data)

    return asked


def _admitted(ask: Callable[[Any], Any], pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Return the pairs that the subject takes. It may refuse by public facts, and so both data sets or none."""
    taken, refusals = [], []
    for pair in pairs:
        refused = [_refusal(ask, data) for data in (pair.one, pair.other)]
        if refused == [None, None]:
            taken.append(pair)
        elif refused[0] == refused[1]:
            refusals.append(refused[0])
        else:
            raise RuntimeError(f"{pair.name}: an error tells the two data sets apart ({refused[0]} / {refused[1]})")
    if not taken:
        raise ValueError(f"pairs: expected data sets that the subject takes; it says {refusals[0]}")
    return tuple(taken)


def _refusal(ask: Callable[[Any], Any], data: Any) -> str | None:
    try:
        ask(data)
    except ValueError as error:
        return str(error)
    return None


def _rounds(pairs: int, runs: int) -> list[tuple[int, int]]:
    """Return how many pairs are tried with how many runs: ever fewer with ever more, and in the end the best one."""
    rounds, each = [], max(runs // 50, LEAST)
    while pairs > 1:
        rounds.append((pairs, each))
        pairs, each = -(-pairs // 4), 3 * each
    return [*rounds, (1, max(runs // 2, 2 * LEAST))]


def _sides(ask: Callable[[Any], Any], pair: Pair, runs: int, bar: Any) -> tuple[Observed, Observed]:
    """Return what is seen in so many runs on each data set, which take turns."""
    sides: tuple[list[tuple[float, Array]], ...] = ([], [])
    sums = Sums(pair)
    strengths: list[float] = []
    for run in range(runs):
        for side, data in zip(sides, (pair.one, pair.other), strict=True):
            output = seen(ask(data))
            side.append((sums.ratio(output), output.numbers))
            if run < FEW:
                strengths.append(sums.strength(output))
            bar.update()
    width = max(len(numbers) for side in sides for _, numbers in side)
    one, other = (_observed(side, width, float(np.mean(strengths))) for side in sides)
    return one, other


def _observed(side: list[tuple[float, Array]], width: int, strength: float) -> Observed:
    """Return the runs of a side; results of different lengths, which tell by that, are filled up."""
    numbers = np.zeros((len(side), width + 1))
    for place, (_, found) in enumerate(side):
        numbers[place, : len(found)] = found
        numbers[place, width] = len(found)
    return Observed(np.array([known for known, _ in side]), numbers, strength)


def _threshold(one: Array, other: Array, claim: Claim, runs: int, chance: float) -> float:
    """Return the threshold whose bound would be largest, if later runs err as often as these."""
    both = np.unique(np.concatenate([one, other]))
    tried = np.quantile(both, np.linspace(0.0, 1.0, 400)) if len(both) > 400 else both
    alarms = (np.sum(one[:, None] > tried, axis=0) + 0.5) / (len(one) + 1.0)
    missed = (np.sum(other[:, None] <= tried, axis=0) + 0.5) / (len(other) + 1.0)
    limits = upper(alarms * runs, runs, chance), upper(missed * runs, runs, chance)
    if claim.mu is not None:
        return float(tried[np.argmax(mu_above(*limits))])
    return float(tried[np.argmax(epsilon_above(*limits, claim.guarantee.delta))])
