"""Names and numbers as they are written in a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["listed", "number", "percent", "plain", "plural"]

LONGEST = 36  # letters of a name


def plain(name: object) -> str:
    r"""Return a name for matplotlib: printable, not too long, and never taken for mathematics.

    >>> plain("cost in $"), plain("a\x00b"), plain("x" * 40)
    ('cost in \\$', 'a�b', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(name))
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return text.replace("$", r"\$")


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many digits, and a true minus.

    >>> number(-1234567.0), number(0.00001234), number(38.5812), number(50_000.0)
    ('−1,230,000', '1.23e−05', '38.6', '50,000')
    """
    value = float(value)
    if not math.isfinite(value) or value == 0.0:
        return "0" if value == 0.0 else "∞" if value > 0.0 else "−∞" if value < 0.0 else "unknown"
    size = math.floor(math.log10(abs(value)))
    text = f"{round(value, digits - 1 - size):,.0f}" if 3 <= size < 9 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def percent(share: float, digits: int = 3) -> str:
    """Return a share in percent.

    >>> percent(0.1234), percent(2.0)
    ('12.3 %', '200 %')
    """
    return f"{number(100.0 * share, digits)} %"


def listed(names: Iterable[object]) -> str:
    """Return names as one writes them in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    words = [str(name) for name in names]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}" if words else ""


def plural(name: str) -> str:
    """Return the plural of a noun.

    >>> plural("component"), plural("class")
    ('components', 'classes')
    """
    return name + ("es" if name.endswith("s") else "s")
