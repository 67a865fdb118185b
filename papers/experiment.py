"""What an experiment is: parts that are measured, and a table, a picture and a verdict that follow from them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from discreet.plots.plot import matplotlib_part

__all__ = ["Experiment", "Measured", "Outcome", "Part", "Table", "Verdict", "panels"]

Part = Mapping[str, Any]  # the arguments of ``measure``, plain values
Measured = list[tuple[Part, Any]]


@dataclass(frozen=True)
class Table:
    """A small table of numbers and words; None is a number that there is not."""

    head: Sequence[str]
    rows: Sequence[Sequence[float | int | str | None]]


@dataclass(frozen=True)
class Verdict:
    """What came out, beside what the paper says.

    Attributes
    ----------
    holds : bool or None
        Whether the paper's claim holds when the noise is honest; None where it cannot be told.
    honest : str
        What the paper's method gives here, in a sentence with its numbers.
    ours : str
        What this library's own method gives, likewise.
    """

    holds: bool | None
    honest: str
    ours: str


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper.

    Attributes
    ----------
    name : str
        As in ``python -m papers dp-em/figure-3``.
    title : str
    claim : str
        What the paper says of it, in our words.
    parts : callable
        From ``quick`` to what is to be measured: arguments of ``measure``, one part some seconds to some minutes.
    measure : callable
        A function at the top of its module (it may run in another process) that returns plain values: numbers, text,
        lists and dicts. Its noise and rows are seeded by its arguments.
    numbers : callable
        From all parts and what they gave to a dict of plain values.
    table : callable
        From the numbers to a ``Table``.
    draw : callable
        From the numbers to a matplotlib figure.
    verdict : callable
        From the numbers to a ``Verdict``: computed, so that it can come out otherwise.
    """

    name: str
    title: str
    claim: str
    parts: Callable[[bool], Sequence[Part]]
    measure: Callable[..., Any]
    numbers: Callable[[Measured], dict[str, Any]]
    table: Callable[[dict[str, Any]], Table]
    draw: Callable[[dict[str, Any]], Any]
    verdict: Callable[[dict[str, Any]], Verdict]

    @property
    def version(self) -> str:
        """A mark of the code that measures, all of its folder: parts of another one are not taken up again."""
        sources = sorted(Path(inspect.getfile(self.measure)).parent.glob("*.py"))
        return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


@dataclass(frozen=True)
class Outcome:
    """What an experiment gave; it is a file, and what is shown of it follows from the file.

    Attributes
    ----------
    name, title, claim : str
    quick : bool
    discreet : str
        The version of the library.
    seconds : float
        Of a processor that all parts took.
    numbers : dict
    table : Table
    verdict : Verdict
    """

    name: str
    title: str
    claim: str
    quick: bool
    discreet: str
    seconds: float
    numbers: dict[str, Any]
    table: Table
    verdict: Verdict

    def to_json(self) -> str:
        """Return it as text."""
        values = {**vars(self), "table": vars(self.table), "verdict": vars(self.verdict)}
        return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Return what ``to_json`` wrote."""
        values = json.loads(text)
        return cls(**{**values, "table": Table(**values["table"]), "verdict": Verdict(**values["verdict"])})

    @classmethod
    def from_file(cls, path: Path) -> Outcome:
        """Return what a file holds."""
        return cls.from_json(path.read_text(encoding="utf-8"))


def panels(count: int, *, width: float = 4.2, height: float = 3.8) -> tuple[Any, list[Any]]:
    """Return a figure that needs no screen, and its panels side by side, each so many inches wide and high."""
    figure = matplotlib_part("figure").Figure(figsize=(width * count + 0.6, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])
