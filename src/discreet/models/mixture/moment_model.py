"""A model whose statistic is ``ClippedMoments``: all of it but where to start and what follows from a release."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from discreet.em import Model
from discreet.queries.bound import Bound
from discreet.queries.moments.clipped_moments import ClippedMoments, MomentSums
from discreet.queries.question import Part
from discreet.records import Ball, Block, Box

Params = TypeVar("Params")


class MomentModel(Model[Params]):
    """Mixtures, however they are measured."""

    @abstractmethod
    def moments(self, params: Params) -> ClippedMoments:
        """Return the statistic at these parameters; its bound and proof are its own."""

    def query(self, params: Params, space: Box | Ball) -> MomentSums:
        """Return the sums of the statistic: the query that it is, which nothing has to be wrapped around."""
        return MomentSums(self.moments(params), space, self.name)

    def parts(self, params: Params) -> Mapping[str, Part]:
        """Return counts, first and second moments, as far as they have a weight."""
        return self.moments(params).parts

    def bound(self, params: Params) -> Bound:
        """Return the bound of the lemma."""
        return self.moments(params).bound

    def roundoff(self, params: Params, dimension: int) -> float:
        """Return the bound on float error of ``clipped_moments``."""
        return self.moments(params).roundoff

    def contributions(self, params: Params, block: Block) -> Any:
        """Return responsibilities times clipped moments."""
        return self.moments(params).contributions(block.x)

    def sum(self, params: Params, block: Block) -> Any:
        """Return their sum."""
        return self.moments(params).sum(block.x)
