"""An answer: what was made of one release or several, with all that it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from discreet.door.curator import Curator
from discreet.door.release import Release
from discreet.door.words import promise_in_words
from discreet.guarantees import Guarantee

__all__ = ["Answer"]


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """A public number, or some, and what is promised for it.

    Attributes
    ----------
    value : float or array
    guarantee : Guarantee or None
        What all of it cost together; None where a seed made the promise void.
    unit : str
        For whom it holds: ``"row"``, or ``"each patient"``, say.
    releases : tuple of Release
        All that was measured for it.
    """

    value: Any
    guarantee: Guarantee | None
    unit: str
    releases: tuple[Release, ...]

    @classmethod
    def of(cls, value: Any, curator: Curator, promise: Guarantee, releases: Sequence[Release], **more: Any) -> Self:
        """Return the answer that was made from these releases of a curator, which kept the promise together."""
        kept = all(release.provenance != "simulated" and release.passage != "approximate" for release in releases)
        return cls(value, promise if kept else None, curator.unit, tuple(releases), **more)

    @property
    def release(self) -> Release:
        """The release that the value was read from: the last one, where several led to it."""
        return self.releases[-1]

    def _shown(self) -> str:
        return f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)

    def __repr__(self) -> str:
        return f"<{self._shown()}: {promise_in_words(self.guarantee, self.unit, self.releases)}>"
