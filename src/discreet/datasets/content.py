"""``content_hash``: a hash of a table's content that does not depend on its file format.

The same rows come as CSV with or without a header, as gzip, as npz or as a MATLAB file. So the hash is of the parsed
arrays: for each array its name, type and shape, then its bytes, little-endian and row by row.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from discreet.datasets.dataset import FloatArray, IntArray

__all__ = ["ParsedTable", "content_hash"]


class ParsedTable(NamedTuple):
    """Parsed rows: values, and labels and persons where there are any."""

    X: FloatArray
    y: IntArray | None = None
    unit: IntArray | None = None


def content_hash(table: ParsedTable) -> str:
    """Return the SHA-256 of a table's canonical encoding, in hexadecimal.

    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> content_hash(ParsedTable(rows))[:16]
    '73ad633ce1ba3600'
    >>> content_hash(ParsedTable(np.asfortranarray(rows))) == content_hash(ParsedTable(rows))
    True
    """
    digest = hashlib.sha256()
    for name, array, kind in (("X", table.X, "<f8"), ("y", table.y, "<i8"), ("unit", table.unit, "<i8")):
        if array is not None:
            encoded = np.ascontiguousarray(array, dtype=kind)
            digest.update(f"{name} {kind} {encoded.shape}\n".encode())
            digest.update(encoded.tobytes())
    return digest.hexdigest()
