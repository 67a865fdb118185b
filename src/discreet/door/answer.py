"""An answer: what was made of one release or several, with all that it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from discreet.door.curator import Curator
from discreet.door.release import Release
from discreet.door.words import guarantee_in_words, rows_of
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

    _from: ClassVar[str] = "from"

    @classmethod
    def of(cls, value: Any, curator: Curator, promise: Guarantee, releases: Sequence[Release], **more: Any) -> Self:
        """Return the answer that was made from these releases of a curator, which kept the promise together."""
        kept = all(release.provenance != "simulated" and release.passage != "approximate" for release in releases)
        return cls(value, promise if kept else None, curator.unit, tuple(releases), **more)

    @property
    def release(self) -> Release:
        """The release that the value was read from: the last one, where several led to it."""
        return self.releases[-1]

    @property
    def which_rows(self) -> str | None:
        """Which rows it is about, in words ("at most 4 rows of each patient"); None where it is about all of them."""
        return rows_of(self.releases)

    def _shown(self) -> str:
        return f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)

    def _shown_with_rows(self) -> str:
        """Return the value and, where it is not about all rows, which it is about."""
        rows = self.which_rows
        return self._shown() if rows is None else f"{self._shown()}, {self._from} {rows}"

    def __repr__(self) -> str:
        return f"<{self._shown_with_rows()}: {guarantee_in_words(self.guarantee, self.unit, self.releases)}>"
