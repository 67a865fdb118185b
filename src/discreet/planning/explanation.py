"""``explain``: what a guarantee means for somebody whose record is in the data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.arguments import ArgumentError, integer, iterable, probability
from discreet.guarantees import Guarantee, Neighbors, compose
from discreet.guarantees.caution import MILD, PlanningWarning, delta_caution, is_too_large
from discreet.guarantees.guarantee import format_rounded_up
from discreet.guarantees.loss import MOST, Losses, as_counts
from discreet.planning.tradeoff import belief, excluded_probability, tradeoff_of

PRIORS = (0.01, 0.1, 0.5)
ALARMS = (0.001, 0.01)
SHOWN = 1e-6  # the δ at which an ε is shown, where losses leave the choice

# Up to which share of right guesses, from even odds. Our own words for it; the number is what counts.
GRADES = ((0.55, "strong"), (0.75, "meaningful"), (0.95, "weak"), (math.inf, "very weak"))


@dataclass(frozen=True)
class Explanation:
    """What a guarantee means, in numbers and in words. ``print`` shows the words.

    Each number is a limit on what the record's own presence or values give away, to somebody who knows all other
    records, the mechanism, and how it was set. One may learn about a person from the others as well (that smokers fall
    ill): that would come out without this record too, and nothing here limits it.

    Attributes
    ----------
    guarantee : Guarantee
        The guarantee. Of losses, the (ε, δ) at one δ: a point of their curve.
    whole_curve : bool
        Whether accuracies and rates come from the losses' whole curve, or from the one point (ε, δ).
    unit : str
        What is protected.
    n : int or None
        How many of them there are.
    accuracy : float
        The best probability of a right guess from even odds, where a toss of a coin has ½.
    accuracies : mapping of float to float
        The same from other priors. A prior of 1 % starts at 99 %: always to say no is right as often.
    posteriors : mapping of float to float
        What a suspicion can grow to, but for an event of probability ``beyond``.
    beyond : float
        0 at δ = 0. Else ten times δ: (ε, δ) does not say that the likelihood ratio is at most e^ε but with probability
        δ, and ``tradeoff`` has what it does say.
    true_positive_rates : mapping of float to float
        The best share of right alarms, by the share of false ones.
    failure : float
        A bound on the probability that one unit's protection fails outright. δ of a guarantee, since it says no more;
        of losses, what the mechanisms state: 0 for noise that is Gaussian or Laplace.
    expected_failures : float or None
        n times that: an upper bound on how many units a mechanism under this guarantee exposes on average.
    grade : str
        ``"strong"``, ``"meaningful"``, ``"weak"`` or ``"very weak"``: an accuracy of at most 55, 75, 95 or 100 %.
    caution : str
        What is wrong with δ for so many records; empty where nothing is.
    """

    guarantee: Guarantee
    whole_curve: bool
    unit: str
    n: int | None
    accuracy: float
    accuracies: Mapping[float, float] = field(hash=False)
    posteriors: Mapping[float, float] = field(hash=False)
    beyond: float
    true_positive_rates: Mapping[float, float] = field(hash=False)
    failure: float
    expected_failures: float | None
    grade: str
    caution: str

    @property
    def advantage(self) -> float:
        """By how much a guess from even odds beats a coin, on a scale where 1 is certainty."""
        return 2.0 * self.accuracy - 1.0

    @property
    def question(self) -> str:
        """What the attacker asks, which is what the neighbour relation protects."""
        given = f"a given {self.unit} is in the data"
        if self.guarantee.neighbors is Neighbors.ADD_REMOVE:
            return f"Suppose an attacker guesses whether {given} at all."
        return f"Suppose an attacker knows that {given}, and guesses which of two values it has."

    def _lines(self) -> list[str]:
        source = ", by the whole curve of its losses" if self.whole_curve else ""
        guess = _percent(self.accuracy)
        grown = ", ".join(f"{_percent(prior)} to {_percent(later)}" for prior, later in self.posteriors.items())
        unless = f", but for an event of probability {format_rounded_up(self.beyond, 3)}" if self.beyond else ""
        rates = "; ".join(f"with {_percent(a)}, {_percent(r)}" for a, r in self.true_positive_rates.items())
        lines = [
            f"{self.guarantee}: {self.grade} protection of any one {self.unit}{source}.",
            self.guarantee.in_words(self.unit),
            f"{self.question} From even odds the best guess is right in at most {guess} of cases (a coin: 50 %).",
            f"A suspicion can grow from {grown} at most{unless}.",
            f"Of the true cases a test finds at most, by its share of false alarms: {rates}.",
        ]
        if self.expected_failures is not None:
            lines.append(self._failures())
        lines.append(self._scope())
        return [*lines, f"Caution: {self.caution}"] if self.caution else lines

    def _scope(self) -> str:
        added = self.guarantee.neighbors is Neighbors.ADD_REMOVE
        own = "presence or values give" if added else "values give"
        return (
            f"These limit what a {self.unit}'s own {own} away, to somebody who knows all the rest of the data. One may "
            f"learn about a {self.unit} from the others (that smokers fall ill), and that would come out without this "
            f"{self.unit} too."
        )

    def _failures(self) -> str:
        if not self.failure:
            return f"The guarantee exposes no {self.unit} outright."
        number, chance = format_rounded_up(self.expected_failures or 0.0, 3), format_rounded_up(self.failure, 3)
        return (
            f"On average at most n times {chance} = {number} of {self.n} {self.unit}s are exposed outright. To publish "
            f"each whole with probability {chance}, and nothing else, would do so and keep the guarantee; noise on a "
            "sum does no such thing."
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_markdown_(self) -> str:
        """Return the words and a table, for notebooks."""
        first, *rest = self._lines()
        rows = [
            f"| {_percent(prior)} | {_percent(self.posteriors[prior])} | {_percent(right)} |"
            for prior, right in self.accuracies.items()
        ]
        table = ["| suspicion before | at most after | right guesses, at most |", "| --- | --- | --- |", *rows]
        return "\n".join([f"**{first}**", "", *(f"- {line}" for line in rest), "", *table])


def explain(
    guarantee: Guarantee | Losses,
    n: int | None = None,
    *,
    unit: str = "record",
    prior: float | Iterable[float] = PRIORS,
    delta: float | None = None,
) -> Explanation:
    """Return what a guarantee means, in words and as the odds of guessing about one record.

    Parameters
    ----------
    guarantee : Guarantee, Loss, or list of Loss
        Losses say more than one (ε, δ): of them the whole trade-off curve is used.
    n : int, optional
        How many records there are. With it comes what δ means for all of them, and a ``PlanningWarning`` where δ is not
        below 1/n; a word of caution from 0.01/n on.
    unit : str
        What a record is, for the words: "patient", say.
    prior : float or several
        How likely the attacker finds it beforehand.
    delta : float, optional
        Of losses: the δ at which their ε is shown. By default 0 for a single loss with a pure ε, else 1e-6 or 0.01/n,
        whichever is less, beside what the mechanisms state as their own.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from discreet.guarantees import GaussianLoss, Guarantee
    >>> guarantee = explain(Guarantee(1.0, 1e-6), n=1000)
    >>> guarantee.grade, round(guarantee.accuracy, 3), round(guarantee.posteriors[0.01], 3)
    ('meaningful', 0.731, 0.03)

    The same guarantee, kept by Gaussian noise, is a good deal better than its one point says:

    >>> from discreet.guarantees import calibrate
    >>> kept = explain(calibrate(Guarantee(1.0, 1e-6), GaussianLoss(1.0)).losses, n=1000)
    >>> kept.grade, round(kept.accuracy, 3), kept.expected_failures
    ('strong', 0.547, 0.0)
    """
    n = None if n is None else integer("n", n, least=1, most=MOST)
    if not isinstance(unit, str) or not unit:
        raise ArgumentError("unit", unit, "what a record is", write="for example unit='patient'")
    priors = _priors(prior)
    tradeoff = tradeoff_of(guarantee)
    if isinstance(guarantee, Guarantee):
        if delta is not None:
            raise ArgumentError("delta", delta, "None where a Guarantee has its own", write="it for losses only")
        stated, failure, whole = guarantee, guarantee.delta, False
    else:
        stated, failure = _stated(guarantee, n, delta)
        whole = True
    accuracy = tradeoff.accuracy()
    chance = excluded_probability(stated.delta)
    largest = tradeoff.log_ratio(stated.epsilon, chance) if chance else stated.epsilon
    result = Explanation(
        guarantee=stated,
        whole_curve=whole,
        unit=unit,
        n=n,
        accuracy=accuracy,
        accuracies={p: tradeoff.accuracy(p) for p in priors},
        posteriors={p: belief(largest, p) for p in priors},
        beyond=chance,
        true_positive_rates={alarms: tradeoff.power(alarms) for alarms in ALARMS},
        failure=failure,
        expected_failures=None if n is None else n * failure,
        grade=next(word for most, word in GRADES if accuracy <= most),
        caution=delta_caution(failure, n, unit),
    )
    if is_too_large(failure, n):
        warnings.warn(result.caution, PlanningWarning, stacklevel=2)
    return result


def _stated(losses: Losses, n: int | None, delta: float | None) -> tuple[Guarantee, float]:
    """Return one (ε, δ) of some losses, and the probability with which their mechanisms fail outright."""
    counts = as_counts(losses)
    log_success = math.fsum(count * math.log1p(-loss.failure) for loss, count in counts.items())
    failure = abs(math.expm1(log_success))
    if delta is None:
        default = 0.0 if counts.total() == 1 and math.isfinite(next(iter(counts)).pure) else SHOWN
        delta = failure + (default if n is None else min(default, MILD / n))
    return compose(counts).guarantee(delta), failure


def _priors(prior: float | Iterable[float]) -> tuple[float, ...]:
    several: tuple[Any, ...] = tuple(prior) if iterable(prior) else (prior,)
    accepted = "a probability in (0, 1), or several"
    checked = tuple(probability("prior", one, accepted=accepted) for one in several)
    if not checked or 0.0 in checked:
        raise ArgumentError("prior", prior, accepted, write="for example prior=0.1")
    return checked


def _percent(share: float) -> str:
    """Return a share in percent, rounded up: a limit must not read better than it is."""
    return f"{format_rounded_up(100.0 * share, 3)} %"
