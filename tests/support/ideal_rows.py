"""Which rows of a person count, written down a second time: slowly, row by row, as the documentation says it."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence

__all__ = ["SALT", "ideal_rows"]

SALT = b"discreet: which rows of a person count, 1"


def ideal_rows(
    names: Sequence[str | None], rows: Sequence[Sequence[float]], max_rows: int, order: int | None = None
) -> list[bool]:
    """Return which rows count; ``rows`` have all declared columns, NaN for what is missing, codes for categories."""
    kept = [False] * len(names)
    for person in {name for name in names if name is not None}:
        own = [place for place, name in enumerate(names) if name == person]
        copies: dict[bytes, int] = {}
        keys = []
        for place in own:
            row = [float(cell) + 0.0 if math.isfinite(cell) else math.nan for cell in rows[place]]
            encoding = b"".join(b"\x7f\xf8" + b"\0" * 6 if cell != cell else struct.pack(">d", cell) for cell in row)
            k = copies.setdefault(encoding, 0)
            copies[encoding] += 1
            who = hashlib.sha256(SALT + person.encode()).digest()
            h = hashlib.sha256(who + encoding + k.to_bytes(8, "big")).digest()[:8]
            first = 0.0 if order is None else math.inf if row[order] != row[order] else row[order]
            keys.append((first, h, encoding, k, place))
        for *_, place in sorted(keys)[: max(max_rows, 0)]:
            kept[place] = True
    return kept
