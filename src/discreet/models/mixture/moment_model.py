"""``MomentModel``: base class of models whose statistic is ``ClippedMoments``."""

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
    """A mixture that is measured by clipped moments; subclasses add ``initialize`` and ``maximize``."""

    @abstractmethod
    def moments(self, params: Params) -> ClippedMoments:
        """Return the statistic at these parameters; the bound and its proof are in ``clipped_moments``."""

    def query(self, params: Params, space: Box | Ball) -> MomentSums:
        """Return the sums of the statistic, which are a query already."""
        return MomentSums(self.moments(params), space, self.name)

    def parts(self, params: Params) -> Mapping[str, Part]:
        """Return the parts that have a weight: counts, first and second moments."""
        return self.moments(params).parts

    def bound(self, params: Params) -> Bound:
        """Return the bound of ``clipped_moments``."""
        return self.moments(params).bound

    def roundoff(self, params: Params, dimension: int) -> float:
        """Return the bound on float error of ``clipped_moments``."""
        return self.moments(params).roundoff

    def contributions(self, params: Params, block: Block) -> Any:
        """Return responsibilities times clipped moments."""
        return self.moments(params).contributions(block.x)

    def sum(self, params: Params, block: Block) -> Any:
        """Return the sum of the contributions."""
        return self.moments(params).sum(block.x)
