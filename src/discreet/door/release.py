"""A release: what came through the door, with all that is publicly known about it.

It is frozen, carries its noise law, its loss and its relation, goes to JSON and back, and never held a row. Its
``provenance`` says where it comes from: ``measured`` by a curator in this process, ``loaded`` from a file, or
``simulated`` by hand, for a test. Only the door makes measured ones; what was simulated stays so through files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import choice
from discreet.guarantees import Loss, Neighbors
from discreet.noise import Law

__all__ = ["FORMAT", "PublicSize", "Release", "measured", "simulate"]

FORMAT = 1
PASSAGES = ("additive", "selection", "sampled")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class PublicSize:
    """What is public about the size of the data.

    Attributes
    ----------
    units : int or None
        The number of units (rows, or persons) under replace-one; None under add-remove, where it is private.
    complete : bool
        Whether every unit is one row that surely contributes, so that counts sum to ``units``. False where rows may
        be dropped for missing values or units may have several rows: then only a private count tells.
    """

    units: int | None
    complete: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """A noisy answer and its public facts.

    Attributes
    ----------
    query : str
    value : ndarray
        The released numbers, one after the other, read-only. For a selection, the index that was selected.
    shapes : mapping of str to tuple
        The named parts of ``value``; ``release["name"]`` is one of them in its shape.
    passage : str
        ``"additive"``, ``"selection"`` or ``"sampled"``.
    law : Law or None
        The noise on each number, for an additive passage.
    exact : bool
        Whether the mechanism was drawn exactly, or is an idealisation of what floats did.
    loss : Loss
        What it cost, the relation included.
    size : PublicSize
    dataset : str or None
        The declared name of the data.
    recorded : bool
        Whether a ledger holds the spend.
    provenance : str
    """

    query: str
    value: Array
    shapes: Mapping[str, tuple[int, ...]]
    passage: str
    law: Law | None
    exact: bool
    loss: Loss
    size: PublicSize
    dataset: str | None = None
    recorded: bool = False
    provenance: str = "simulated"

    def __post_init__(self) -> None:
        value = np.array(self.value, dtype=np.float64).reshape(-1)
        value.flags.writeable = False
        shapes = {str(name): tuple(int(side) for side in shape) for name, shape in self.shapes.items()}
        if sum(math.prod(shape) for shape in shapes.values()) != value.size:
            raise ValueError(f"shapes={shapes!r}: expected parts of {value.size} numbers in all")
        choice("passage", self.passage, PASSAGES)
        choice("provenance", self.provenance, ("loaded", "simulated"))
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "shapes", MappingProxyType(shapes))

    @property
    def neighbors(self) -> Neighbors:
        """The relation under which the loss holds."""
        return self.loss.neighbors

    def __getitem__(self, name: str) -> Array:
        """Return a named part of the value."""
        return self._part(self.value, name)

    def _part(self, values: Array, name: str) -> Array:
        choice("name", name, self.shapes)
        start = 0
        for part, shape in self.shapes.items():
            end = start + math.prod(shape)
            if part == name:
                return values[start:end].reshape(shape)
            start = end
        raise AssertionError

    def interval(self, level: float = 0.95, name: str | None = None) -> tuple[Array, Array]:
        """Return lower and upper limits that hold the number before noise with probability ``level``, each by itself.

        They speak of the noise alone: not of clipping, nor of sampling the people in the data.
        """
        if self.law is None:
            raise ValueError(
                f"passage={self.passage!r}: expected an additive release; a selection has no noise to undo"
            )
        values = self.value if name is None else self[name]
        half = self.law.half_width(level)
        return values - half, values + half

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain values, for JSON."""
        return {
            "format": FORMAT,
            "query": self.query,
            "value": self.value.tolist(),
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "passage": self.passage,
            "law": None if self.law is None else self.law.to_dict(),
            "exact": self.exact,
            "loss": self.loss.to_dict(),
            "size": {"units": self.size.units, "complete": self.size.complete},
            "dataset": self.dataset,
            "recorded": self.recorded,
            "provenance": self.provenance,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Release:
        """Return the release that ``to_dict`` described, as ``loaded`` (or ``simulated``, if it was)."""
        given = dict(values)
        if given.pop("format", None) != FORMAT:
            raise ValueError(f"format={values.get('format')!r}: expected {FORMAT}, the one that this version writes")
        law = given.pop("law")
        was = choice("provenance", given.pop("provenance"), ("measured", "loaded", "simulated"))
        return cls(
            **given
            | {
                "law": None if law is None else Law.from_dict(law),
                "loss": Loss.from_dict(given["loss"]),
                "size": PublicSize(**given["size"]),
                "provenance": "simulated" if was == "simulated" else "loaded",
            }
        )

    def to_json(self) -> str:
        """Return the release as JSON text; floats keep every digit."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Return the release that ``to_json`` wrote."""
        return cls.from_dict(json.loads(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}{list(shape)}" for name, shape in self.shapes.items())
        how = "exact" if self.exact else "idealised"
        where = "recorded" if self.recorded else "NOT RECORDED in any ledger"
        return (
            f"<{self.provenance} release of {self.query} ({parts}) from {self.dataset or 'unnamed data'}: "
            f"{self.passage}, {how}, {self.loss!r}, {where}>"
        )


def measured(*, private: bool, **facts: Any) -> Release:
    """Return a measured release; called by the door and nobody else. Seeded noise makes it a simulated one."""
    release = Release(**facts)
    if private:
        object.__setattr__(release, "provenance", "measured")
    return release


def simulate(
    query: str, value: ArrayLike, law: Law, loss: Loss, size: PublicSize, **shapes: tuple[int, ...]
) -> Release:
    """Return a release made by hand, for a test of what follows from it. It says so, and reports refuse it."""
    values = np.asarray(value, dtype=np.float64)
    return Release(
        query=query,
        value=values,
        shapes=shapes or {query: values.shape},
        passage="additive",
        law=law,
        exact=True,
        loss=loss,
        size=size,
    )
