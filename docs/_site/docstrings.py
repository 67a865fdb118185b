"""What numpydoc lets an author write shortly, written out for the reference.

- Prompts that stand without a heading are examples all the same.
- ``epsilon, delta : float`` are two parameters, each with a default of its own.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

HEADING = re.compile(r"^Examples\n-+$", re.MULTILINE)
PROMPT = re.compile(r"^>>> ", re.MULTILINE)
PARAMETERS = re.compile(r"(?<=^Parameters\n----------\n).*?(?=^\w+\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
SEVERAL = re.compile(r"^(?P<names>\w+(?:, \w+)+)(?P<kind> : [^\n]*|)\n(?P<text>(?: +[^\n]*\n)*)", re.MULTILINE)


class WrittenOut(Extension):
    """Mend docstrings before they are read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Mend the docstring of one object."""
        if obj.docstring is None:
            return
        text = PARAMETERS.sub(lambda section: SEVERAL.sub(_each, section[0]), obj.docstring.value)
        if not HEADING.search(text):
            text = PROMPT.sub("Examples\n--------\n>>> ", text, count=1)
        obj.docstring.value = text


def _each(result: re.Match[str]) -> str:
    return "".join(f"{name}{result['kind']}\n{result['text']}" for name in result["names"].split(", "))
