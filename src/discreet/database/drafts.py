"""Drafts: questions that are written down and not asked yet, to be priced first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from discreet.arguments import iterable, positive, shown
from discreet.database.questions import Questions, Spending

__all__ = ["Draft", "Drafting"]

STATISTICS = tuple(name for name in vars(Questions) if not name.startswith("_") and name != "median")
SEVERAL = ("columns", "levels", "bins")
MEANS = ("mean", "trimmed_mean")
SPREADS = ("variance", "covariance", "interquartile_range")
DRAWN = ("quantile", "quantiles", "interquartile_range")  # by exponential mechanisms, at a pure ε


@dataclass(frozen=True, repr=False)
class Draft:
    """A question that has not been asked.

    Attributes
    ----------
    statistic : str
        Which function of ``discreet.statistics``.
    arguments : mapping
        Its own arguments.
    where : str or None
    epsilon, share : float or None
        What it may cost; the database's usual share where both are None.
    scales : mapping of str to str
        Which columns are on a log scale, so that the words say it: of these a mean is a geometric one, and a spread is
        that of the logarithms. A database fills it in.
    """

    statistic: str
    arguments: Mapping[str, Any]
    where: str | None = None
    epsilon: float | None = None
    share: float | None = None
    scales: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise ValueError(f"statistic={shown(self.statistic)}: expected one of {', '.join(STATISTICS)}")
        if not isinstance(self.scales, Mapping):
            raise ValueError(f"scales={shown(self.scales)}: expected a mapping of columns to their scales")
        if not isinstance(self.arguments, Mapping):
            raise ValueError(f"arguments={shown(self.arguments)}: expected a mapping of names to values")
        if self.epsilon is not None and self.share is not None:
            raise ValueError(f"epsilon={shown(self.epsilon)}, share={shown(self.share)}: expected one of them")
        if self.epsilon is not None:
            positive("epsilon", self.epsilon)
        if self.share is not None:
            checked_share(self.share)
        if self.where is not None and not isinstance(self.where, str):
            raise ValueError(f'where of type {type(self.where).__name__}: expected text; write where="age >= 18"')
        # Arrays, indexes and iterators as lists, which can be read more than once.
        plain = {name: _listed(value) if name in SEVERAL else value for name, value in self.arguments.items()}
        object.__setattr__(self, "arguments", plain)

    @property
    def drawn(self) -> bool:
        """Whether it is drawn by exponential mechanisms, which have a pure ε and no use for a δ."""
        return self.statistic in DRAWN

    @property
    def words(self) -> str:
        """The question in words."""
        return self.question if self.where is None else f"{self.question} where {self.where}"

    @property
    def question(self) -> str:
        """The question in words, without its condition."""
        asked = self.arguments.get("columns", self.arguments.get("column"))
        given = [] if asked is None else list(asked) if isinstance(asked, list | tuple) else [asked]
        names = [one if isinstance(one, str) else shown(one) for one in given]
        logs = [name for name in names if self.scales.get(name) == "log"]
        statistic = self.statistic.replace("_", " ")
        if self.statistic == "quantile" and self.arguments.get("q") == 0.5:
            statistic = "median"
        parts = [statistic]
        if logs and self.statistic in MEANS:
            others = [name for name in names if name not in logs]
            parts = [f"{statistic} of {', '.join(others)} and"] if others else []
            parts += [f"{statistic.replace('mean', 'geometric mean')} of {', '.join(logs)}"]
        elif names:
            spread = self.statistic in SPREADS
            parts.append("of " + ", ".join(f"log({name})" if spread and name in logs else name for name in names))
        if self.arguments.get("by") is not None:
            group = self.arguments["by"]
            parts.append(f"by {group if isinstance(group, str) else shown(group)}")
        return " ".join(parts)

    def __repr__(self) -> str:
        return f"<Draft: {self.words}>"


class Drafting(Questions[Draft]):
    """The questions of a database, none of which is asked: each method returns a ``Draft``."""

    def _ask(self, statistic: str, arguments: dict[str, Any], spending: Spending) -> Draft:
        return Draft(statistic, arguments, *spending)


def _listed(value: Any) -> Any:
    """Return several values as a list; one as it is."""
    if isinstance(value, str | bytes) or not iterable(value):
        return value
    return value.tolist() if hasattr(value, "tolist") else list(value)


def checked_share(share: Any) -> float:
    """Return a share of the budget if it is one."""
    accepted = f"share={shown(share)}: expected a share of the budget, above 0 and at most 1; write 0.1 for a tenth"
    if isinstance(share, bool) or not isinstance(share, Real) or not 0.0 < float(share) <= 1.0:
        raise ValueError(accepted)
    return float(share)
