"""The texts of an entry: names of data sets, queries and people.

Two spellings that look alike would be two data sets, each with a budget of its own. So blanks at the ends, invisible
characters and line breaks are refused, and accented letters are brought to one form (Unicode NFC).
"""

from __future__ import annotations

import getpass
import re
import unicodedata
from contextlib import suppress
from typing import Any

from discreet.arguments import ArgumentError

__all__ = ["somebody", "text"]

_MOST = 1000
# Letters and marks of Unicode that show nothing, although Python calls them printable: fillers, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def text(name: str, value: Any) -> str:
    """Return ``value`` in its one form if it is a text that can be told from every other by looking at it.

    >>> text("dataset", "census 2020")
    'census 2020'
    >>> text("dataset", "census ")
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: dataset='census ': expected a text of 1 to 1000 printable characters, ...
    """
    if isinstance(value, str):
        normal = unicodedata.normalize("NFC", value)
        seen = normal.isprintable() and not _INVISIBLE.search(normal)
        if seen and normal == normal.strip() and 0 < len(normal) <= _MOST:
            return normal
    raise ArgumentError(name, value, f"a text of 1 to {_MOST} printable characters, without a blank at either end")


def somebody(who: Any) -> str | None:
    """Return the name of who is asking: as given, else the login name, else None where the system knows none."""
    if who is not None:
        return text("who", who)
    with suppress(OSError, KeyError, ImportError, ValueError):  # a container's user often has no name
        return text("who", getpass.getuser())
    return None
