"""What questions about labelled rows have in common: a column of as many categories as there are classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from discreet.queries.objectives.features import Features
from discreet.queries.question import Question
from discreet.records import Ball, Box, Space

__all__ = ["FeatureQuestion", "LabelledQuestion"]


class LabelledQuestion(Question):
    """A question about rows and their labels.

    Attributes
    ----------
    column : int
        Which of the columns of categories holds the labels, counted from 0.
    """

    column: int

    @property
    @abstractmethod
    def labels(self) -> int:
        """How many labels are declared."""

    @property
    def categories(self) -> tuple[int, ...]:
        """How many categories each column of them has, as far as the question looks at them."""
        return (1,) * self.column + (self.labels,)

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the column is not there, or has another number of labels."""
        super().check(space, categories)
        have = [len(values) for values in categories]
        if self.column >= len(have) or have[self.column] != self.labels:
            raise ValueError(
                f"column={self.column}: expected a column of {self.labels} categories, the classes; they have {have}"
            )


class FeatureQuestion(LabelledQuestion):
    """A question about features and labels."""

    features: Features
    classes: int

    @property
    def labels(self) -> int:
        """The classes."""
        return self.classes

    @property
    def space(self) -> Box | Ball:
        """The curator's, or the ball in it."""
        return self.features.space

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension
