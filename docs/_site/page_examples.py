"""The examples of a page, run as they stand: what a reader copies is what was tested.

All ``>>>`` blocks of a page share one namespace and run in an empty folder, with warnings as errors; lines that begin
with ``$`` in a ``console`` block are commands, run in the same folder. The first example that fails ends its page,
since those after it most often fail for the same reason. What the examples leave in the folder as PNG, SVG or HTML goes
beside the page.

Nothing here needs more than the standard library, so that the tests can use it where MkDocs is not installed.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

__all__ = ["Block", "Outcome", "code_blocks", "run_page"]

SERVED = (".png", ".svg", ".html")
SESSIONS = {"python": ">>>", "pycon": ">>>", "console": "$"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.FAIL_FAST
FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})\s*(?P<info>.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block of code: its fence, the words after it, the number of its first line (from 1), its lines."""

    fence: str
    info: str
    line: int
    lines: tuple[str, ...]

    @property
    def is_session(self) -> bool:
        """Whether there is a prompt in it, so that it can be run."""
        return any(line.startswith(SESSIONS[self.language]) for line in self.lines)

    @property
    def language(self) -> str:
        """The first word after the fence."""
        return self.info.split()[0]

    @property
    def session(self) -> tuple[str, ...]:
        """The lines as a session of Python."""
        if self.language != "console":
            return self.lines
        return tuple(f">>> shell({line[2:]!r})" if line.startswith("$ ") else line for line in self.lines)

    @property
    def is_exempt(self) -> bool:
        """Whether the page says that it is not to be run."""
        return "notest" in self.info.split()


@dataclass
class Outcome:
    """What became of a page: its faults, each with the page and the line; what it made; how long it took."""

    faults: list[str] = field(default_factory=list)
    made: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0


def code_blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page that are Python or commands."""
    fence, info, first, inside = "", "", 0, []
    for number, line in enumerate(text.splitlines(), start=1):
        result = FENCE.match(line)
        if not fence and result:
            fence, info, first, inside = result["fence"], result["info"].strip(), number + 1, []
        elif fence and line.rstrip() == fence:
            if info and info.split()[0] in SESSIONS:
                yield Block(fence, info, first, tuple(inside))
            fence = ""
        elif fence:
            inside.append(line)


@cache  # while pages are written and served, only those that changed run again
def run_page(text: str, name: str, exempt: str | None = None) -> Outcome:
    """Run the examples of a page.

    Parameters
    ----------
    text : str
        The page.
    name : str
        What faults call it.
    exempt : str, optional
        Why the page has blocks marked ``notest``; None where it must have none.
    """
    outcome = Outcome()
    blocks = list(code_blocks(text))
    for block in blocks:
        if block.is_exempt and exempt is None:
            outcome.faults.append(f"{name}:{block.line}: marked notest, but no reason is listed for this page")
        elif not block.is_session and not block.is_exempt:
            outcome.faults.append(f"{name}:{block.line}: code without a prompt is not run; write one, or notest")
    sessions = [block for block in blocks if block.is_session and not block.is_exempt]
    if sessions:
        _run(_only(text, sessions), name, outcome)
    return outcome


def _only(text: str, blocks: list[Block]) -> str:
    """Return the page with every other line empty, so that line numbers stay and prose is no output."""
    lines = [""] * len(text.splitlines())
    for block in blocks:
        lines[block.line - 1 : block.line - 1 + len(block.lines)] = block.session
    return "\n".join(lines) + "\n"


def _run(session: str, name: str, outcome: Outcome) -> None:
    start, before = time.monotonic(), Path.cwd()
    test = doctest.DocTestParser().get_doctest(session, {"__name__": "__main__", "shell": _shell}, name, name, 0)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        os.chdir(folder)
        try:
            _Runner(outcome.faults).run(test, out=lambda _: None)
            served = (path for path in sorted(Path(folder).iterdir()) if path.suffix in SERVED)
            outcome.made = {path.name: path.read_bytes() for path in served}
        finally:
            os.chdir(before)
            if "matplotlib.pyplot" in sys.modules:  # which warns when the figures of many pages stay open
                sys.modules["matplotlib.pyplot"].close("all")
    outcome.seconds = time.monotonic() - start


def _shell(command: str) -> None:
    """Run a command with this Python's own programs, and write what it prints where doctest looks."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}
    result = subprocess.run(command, shell=True, text=True, capture_output=True, env=environment)
    sys.stdout.write(result.stdout)
    if result.returncode:
        raise RuntimeError(f"exit code {result.returncode}: {result.stderr.strip()}")


class _Runner(doctest.DocTestRunner):
    """A runner that keeps a line for each fault instead of printing a screen of it."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(verbose=False, optionflags=FLAGS)
        self._faults = faults

    def _fault(self, test: doctest.DocTest, example: doctest.Example, what: str) -> None:
        place = f"{test.filename}:{(test.lineno or 0) + example.lineno + 1}"
        self._faults.append(f"{place}: {example.source.strip()}\n{what.rstrip()}")

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Keep what was expected and what came."""
        self._fault(test, example, f"expected:\n{example.want}got:\n{got}")

    def report_unexpected_exception(self, out: Any, test: doctest.DocTest, example: doctest.Example, exc: Any) -> None:
        """Keep the error; of the traceback its last line says enough."""
        self._fault(test, example, f"raised {exc[0].__name__}: {exc[1]}")
