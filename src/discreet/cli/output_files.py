"""``new_file``: write an output file completely or not at all, and never over another file by mistake."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_file(
    path: Path, *, overwrite: bool, protected: Iterable[str | Path | None] = (), secret: bool = False
) -> Iterator[Path]:
    """Yield a temporary file to write to, which is renamed to ``path`` if there was no error.

    It is created first, so a folder that is not writable is refused before anything is spent.

    Parameters
    ----------
    path : Path
    overwrite : bool
        Whether an existing file may be replaced. A ledger never is.
    protected : iterable of path
        Files that the command reads, or its ledger: these are never overwritten.
    secret : bool
        Whether only the owner may read the file; else it has the mode of any new file.
    """
    if path.exists() and (_is_ledger(path) or any(_is_same(path, other) for other in protected)):
        raise ValueError(f"--out {path}: expected no file that holds rows, a model or a ledger; write another name")
    if path.exists() and not overwrite:
        raise ValueError(f"--out {path}: expected a file that does not exist yet; write another name, or --overwrite")
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"--out {path}: expected a file in a folder that exists; make the folder first")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    place = Path(name)
    try:
        yield place
        if not secret:
            mask = os.umask(0)
            os.umask(mask)
            place.chmod(0o666 & ~mask)
        place.replace(path)
    finally:
        place.unlink(missing_ok=True)


def _is_same(path: Path, other: str | Path | None) -> bool:
    return other is not None and os.path.exists(other) and path.samefile(other)


def _is_ledger(path: Path) -> bool:
    """Return whether a file is an SQLite database, as ledgers are."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"
