"""The command line: ``discreet fit people.csv …``, and the rest of ``discreet --help``.

Where to look: ``app`` has the list of commands, and a command is one file, ``*_command.py``, with a function that
returns a ``CommandOutput`` (``command``). ``options`` are flags that several have, ``error_messages`` turns errors into
words about flags, ``printing`` prints.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``ledger``, ``records``,
``scales``, ``door``, ``planning``, ``statistics``, ``database``, ``estimators``, ``inference``, ``report``, ``audit``.

What this room guarantees:

- It is a thin shell. Rows are read by ``records`` and released by ``door``; a command parses its arguments, calls the
  library and prints.
- Standard output has the answer and nothing else: tables on a terminal, plain text in a pipe, one JSON document with
  ``--json``. Messages and progress go to standard error.
- What is printed is public: released, declared or recorded. The message of an error is shown only if the library's own
  code wrote it (``error_messages``), since that of a parser may quote a row. No flag seeds the noise.
- Exit codes: 0 success, 1 refused or failed, 2 a mistake in the command, 3 the budget does not admit it; 130 and 143
  after Ctrl-C or a signal to terminate. An unfinished file is then removed.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

__all__ = ["main"]


def _terminate(number: int, _: Any) -> None:
    """Exit as Ctrl-C does, so that unfinished files are removed; the signal's default action would leave them."""
    sys.exit(128 + number)


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # so that a terminal without Greek letters still shows numbers
    try:
        from discreet.cli.app import application
    except KeyboardInterrupt:
        sys.stderr.write("discreet: stopped; nothing was charged\n")
        sys.exit(130)
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"discreet: the command line needs {missing.name}: pip install 'discreet[cli]'\n")
        sys.exit(1)
    called = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    completing = "_DISCREET_COMPLETE" in os.environ  # a shell asks for the flags of a command
    fancy = sys.stdout.isatty() and sys.stderr.isatty()
    application(fancy=fancy, only=None if completing else called)(prog_name="discreet")
