"""``Measurement``: one noisy sum over rows, and ``View``: the part of a row that its question reads.

**Minima as sums** (``StationaryPoint``). Objective perturbation releases the θ that minimises

    Σ ℓ(y_i⟨θ, u_i⟩) + (λ/2)‖θ‖² + ⟨b, θ⟩,    b ~ N(0, σ²I).

There the gradient is 0. So at the released θ, which is a known point, the rows' gradients are a noisy sum like others:

    Σ ∇ℓ_i(θ) + b = −λθ.

By the change of variables from b to θ, the density of θ given the rows is that of this sum, times the determinant of Σ
∇²ℓ_i(θ) + λI. Over the rows of a model the determinant hardly varies given the parameters; how it varies with these is
in ``clt/determinants.py``. The noise that covers the solver's error is smaller by orders of magnitude, and left out.
For K > 2 classes there is one such sum for each of them against the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.guarantees import ObjectiveLoss
from discreet.noise import GaussianNoise, NoiseDistribution
from discreet.queries.objectives.gradients import MarginGradient
from discreet.queries.objectives.minimum import FINENESS, Minimum
from discreet.queries.question import Query
from discreet.records import Block, Space

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measurement:
    """A release, and the question that it answers.

    Attributes
    ----------
    question : Query
    release : Release
    used : int or None
        How many of its numbers are used, from the first on; None for all.
    """

    question: Query
    release: Release
    used: int | None = field(default=None, kw_only=True)

    @property
    def value(self) -> Array:
        """The noisy sum, as far as it is used."""
        return self.release.value[: self.used]

    @property
    def columns(self) -> tuple[str, ...]:
        """The numeric columns that the question reads."""
        return tuple(self.release.declared.get("columns") or (f"x{j}" for j in range(self.question.dimension)))

    @property
    def category_columns(self) -> tuple[str, ...]:
        """The columns of categories that the question reads."""
        return tuple(self.release.declared.get("category_columns") or ())

    @property
    def noise(self) -> NoiseDistribution:
        """The noise distribution: Gaussian or Laplace."""
        assert self.release.noise is not None  # checked in ``measurements``
        return self.release.noise


@dataclass(frozen=True, eq=False)
class StationaryPoint(Measurement):
    """A minimum with noise in its objective, as a noisy sum of gradients; see the module.

    Attributes
    ----------
    place : int
        Which of the minima it is.
    positive : int
        The code of the class whose label is 1; all others have −1.
    """

    question: MarginGradient
    place: int
    positive: int

    @property
    def ridge(self) -> float:
        """λ."""
        asked = self.release.question
        assert isinstance(asked, Minimum)
        return asked.ridge

    @property
    def value(self) -> Array:
        """−λθ."""
        return np.asarray(-self.ridge * self.question.theta[0])

    @property
    def noise(self) -> NoiseDistribution:
        """That of b."""
        assert isinstance(self.release.loss, ObjectiveLoss)
        return GaussianNoise(1.0 / self.release.loss.shift, FINENESS)


def read_minima(asked: Minimum, release: Release) -> Iterator[StationaryPoint]:
    """Yield the minima of a release, each as a noisy sum of gradients."""
    for place, theta in enumerate(release["theta"]):
        question = MarginGradient(asked.features, asked.loss, theta[None], 2, asked.column)
        yield StationaryPoint(question, release, place, 1 if asked.classes == 2 else place)


@dataclass(frozen=True, eq=False)
class View:
    """A question, and the part of a row that it reads: some columns, clipped to the declared space as by a curator."""

    question: Query
    columns: tuple[int, ...]
    codes: tuple[int, ...]
    space: Space | None
    positive: int | None = None
    used: int | None = None

    def read(self, block: Block) -> Block:
        """Return what the question reads of complete rows; labels are 1 for the class ``positive``, if there is one."""
        x = block.x[:, np.array(self.columns, dtype=int)]
        codes = block.codes[:, np.array(self.codes, dtype=int)]
        codes = codes if self.positive is None else (codes == self.positive) * 1
        return Block(x if self.space is None else self.space.clip(x), codes)

    def contributions(self, block: Block) -> Any:
        """Return the contributions of complete rows to the question."""
        return self.question.contributions(self.read(block))[:, : self.used]
