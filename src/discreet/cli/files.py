"""Files that commands write: whole, or not at all, and never in place of another one by mistake."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["new_file"]


@contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a place to write to, which takes the name ``path`` once everything went well.

    It is made first, so a folder that cannot be written to is refused before anything is spent. Its mode is that of
    any new file.
    """
    if path.exists() and not overwrite:
        raise ValueError(f"--out {path}: expected a file that is not there yet; write another name, or --overwrite")
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"--out {path}: expected a file in a folder that exists; make the folder first")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    place = Path(name)
    try:
        yield place
        mask = os.umask(0)
        os.umask(mask)
        place.chmod(0o666 & ~mask)
        place.replace(path)
    finally:
        place.unlink(missing_ok=True)
