"""What is promised for something that was made from releases, in words."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.door.release import Release
from discreet.guarantees import Guarantee

__all__ = ["promise_in_words"]


def promise_in_words(guarantee: Guarantee | None, unit: str, releases: Sequence[Release]) -> str:
    """Return what holds, for a ``repr``."""
    if guarantee is None:
        seeded = any(release.provenance == "simulated" for release in releases)
        why = "privacy: its noise came from a seed" if seeded else "a proof of privacy: its draw is approximate"
        return f"WITHOUT {why}"
    whose = f"at {guarantee} for {unit if unit != 'row' else 'each row'}"
    whose += "" if all(release.exact for release in releases) else " in ideal arithmetic"
    return whose + ("" if all(release.recorded for release in releases) else ", NOT RECORDED in any ledger")
