"""Two sizes of an attack: a short one in ``make test``, a long one in ``make audit``, which writes down what it saw."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from pairwise import pairwise

__all__ = ["LONG", "crossed", "measured", "size"]

Size = TypeVar("Size")

FOLDER = os.environ.get("DISCREET_AUDIT")  # where figures go; where there is none attacks are short
LONG = bool(FOLDER)


def size(short: Size, long: Size) -> Size:
    """Return the size that an attack has in this run."""
    return long if LONG else short


def crossed(*parameters: Collection[Any]) -> list[tuple[Any, ...]]:
    """Return cases of several parameters: in a long run all, in a short one some in which every two values meet."""
    return list(product(*parameters)) if LONG else pairwise(*parameters)


def measured(what: str, **figures: object) -> None:
    """Write down what a long attack measured, for the page of the documentation; a short one writes nothing.

    Each is a line of a file, which begins as the name does up to a dash: of several processes each adds its own.
    """
    if FOLDER:
        folder = Path(FOLDER)
        folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"what": what, **figures}, ensure_ascii=False)
        with (folder / f"{re.split('[-_]', what)[0]}.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")
