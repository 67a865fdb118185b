"""``Experiment``: parts to measure, and the table, the figure and the verdict that are computed from the results."""

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
    """A small table of numbers and text; None is an empty cell."""

    head: Sequence[str]
    rows: Sequence[Sequence[float | int | str | None]]


@dataclass(frozen=True)
class Verdict:
    """The result, compared with the paper's claim.

    Attributes
    ----------
    holds : bool or None
        Whether the paper's claim holds with correct noise; None if the runs do not decide it.
    honest : str
        The result of the paper's method with correct noise, in words with its numbers.
    ours : str
        The result of this library's own method, likewise.
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
        The paper's claim, in our words.
    parts : callable
        From ``quick`` to the parts to measure: arguments of ``measure``. A part takes seconds to minutes.
    measure : callable
        A function at the top level of its module (it may run in another process) that returns plain values: numbers,
        text, lists and dicts. Its noise and rows are seeded by its arguments.
    numbers : callable
        From all parts and their results to a dict of plain values.
    table : callable
        From the numbers to a ``Table``.
    draw : callable
        From the numbers to a matplotlib figure.
    verdict : callable
        From the numbers to a ``Verdict``.
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
        """A hash of all code in the folder of ``measure``: results of other code are not reused."""
        sources = sorted(Path(inspect.getfile(self.measure)).parent.glob("*.py"))
        return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment. It is saved in a file, and everything that is shown follows from the file.

    Attributes
    ----------
    name, title, claim : str
    quick : bool
    discreet : str
        The version of the library.
    seconds : float
        The CPU time of all parts.
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
        """Return the outcome as JSON."""
        values = {**vars(self), "table": vars(self.table), "verdict": vars(self.verdict)}
        return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Return the outcome that ``to_json`` wrote."""
        values = json.loads(text)
        return cls(**{**values, "table": Table(**values["table"]), "verdict": Verdict(**values["verdict"])})

    @classmethod
    def from_file(cls, path: Path) -> Outcome:
        """Return the outcome in a file."""
        return cls.from_json(path.read_text(encoding="utf-8"))


def panels(count: int, *, width: float = 4.2, height: float = 3.8) -> tuple[Any, list[Any]]:
    """Return a figure that needs no display, and its panels in a row, each of a width and a height in inches."""
    figure = matplotlib_part("figure").Figure(figsize=(width * count + 0.6, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])
