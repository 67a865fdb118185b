"""What the tests of experiments share."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

KEPT = Path(__file__).parents[2] / "docs" / "reproduced"

needs_published_rows = pytest.mark.skipif(
    not os.environ.get("DISCREET_DATA"), reason="DISCREET_DATA does not name a folder with the published tables"
)


def drawn(entry, numbers) -> bytes:
    """Return the picture, with the table looked at on the way."""
    table = entry.table(numbers)
    assert all(len(row) == len(table.head) for row in table.rows)
    file = io.BytesIO()
    entry.draw(numbers).savefig(file, format="png")
    return file.getvalue()


def numbers_of(entry, parts) -> dict:
    """Return the numbers of some parts, as a file would have them."""
    result = entry.numbers([(part, json.loads(json.dumps(entry.measure(**part)))) for part in parts])
    return json.loads(json.dumps(result, allow_nan=False))


def kept_numbers(name: str) -> dict:
    """Return the numbers of the full run that the page shows."""
    return json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))["numbers"]
