"""The command line: ``discreet fit people.csv …``, and the rest of ``discreet --help``.

What this room promises:

- It is a thin shell. Rows are read by ``records`` and released by ``door``; a command parses, asks and prints.
- Standard output has the answer and nothing else: tables on a terminal, plain text in a pipe, one JSON document with
  ``--json``. Messages and progress go to standard error.
- What is printed is public: what was released, declared or recorded. An error's words are shown only where the
  library's own code wrote them (``error_messages``), for those of a parser may quote a row. No flag seeds the noise.
- Exit codes: 0 fine, 1 refused or failed, 2 a mistake in the command, 3 the budget does not admit it; 130 and 143 where
  somebody stopped it, by Ctrl-C or by a signal to terminate. A file that was being written is then taken away again.

A command is one file, ``*_command.py``, with a function that returns a ``CommandOutput``, and one line in ``app``.
This room may import every other one.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

__all__ = ["main"]


def _terminate(number: int, _: Any) -> None:
    """End as Ctrl-C does, so that files in the making are removed; the signal's default would leave them behind."""
    sys.exit(128 + number)


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters still gets its numbers
    try:
        from discreet.cli.app import application
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"discreet: the command line needs {missing.name}: pip install 'discreet[cli]'\n")
        sys.exit(1)
    application(fancy=sys.stdout.isatty() and sys.stderr.isatty())(prog_name="discreet")
