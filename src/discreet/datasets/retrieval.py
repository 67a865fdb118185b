"""``fetch``: gets a table from the folder ``DISCREET_DATA``, else from the cache, else by a download.

The folder may hold the files as they are at their origin, or the compact form in which the project keeps them.

Guarantees: a returned table has the published content, whatever its source. A file that fails the check is refused by
name and, if it is in the cache, removed. The network is used only when neither the folder nor the cache has the file. A
file of the user's own is never changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from discreet.arguments import ArgumentError
from discreet.datasets.content import ParsedTable, content_hash
from discreet.datasets.dataset import Dataset
from discreet.datasets.sources import DatasetSource

__all__ = ["DataHome", "fetch"]

DataHome = str | os.PathLike[str] | None


def fetch(source: DatasetSource, data_home: DataHome) -> Dataset:
    """Return a table with its published content.

    Raises
    ------
    ValueError
        If a file does not hold the published rows, or an argument or variable names no folder.
    OSError
        If the download fails.
    ImportError
        If a download or the cache is needed and pooch is not installed.
    """
    table = _from_folder(source)
    if table is None:
        table = _from_cache(source, data_home)
    return Dataset(
        name=source.name,
        X=table.X,
        y=table.y,
        columns=source.columns,
        bounds=source.bounds,
        licence=source.licence,
        citation=source.citation,
        unit=table.unit,
    )


def _from_folder(source: DatasetSource) -> ParsedTable | None:
    folder = os.environ.get("DISCREET_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise ArgumentError("DISCREET_DATA", folder, "an existing folder (or unset the variable)")
    routes = [
        (source.read_local, [Path(folder, source.local)]),
        (source.read_remote, [Path(folder, remote.file) for remote in source.remote]),
    ]
    for read, paths in routes:
        if all(path.is_file() for path in paths):
            fault = f"{', '.join(map(str, paths))}: not the published rows of {source.name}"
            return _read(source, read, paths, f"{fault}. Replace it, or unset DISCREET_DATA to download them.")
    return None


def _from_cache(source: DatasetSource, data_home: DataHome) -> ParsedTable:
    paths = _download(source, data_home)
    try:
        return _read(
            source,
            source.read_remote,
            paths,
            f"{', '.join(map(str, paths))}: not the published rows of {source.name}; removed from the cache. "
            f"Call fetch_{source.name} again. {_manual_help(source)}",
        )
    except ValueError:
        for path in paths:
            path.unlink(missing_ok=True)
        raise


def _read(source: DatasetSource, read: Callable[..., ParsedTable], paths: list[Path], fault: str) -> ParsedTable:
    try:
        table = read(*paths)
    except (MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # whatever a parser raises for a truncated or wrong file
        raise ValueError(fault) from error
    if content_hash(table) != source.content:
        raise ValueError(fault)
    return table


def _download(source: DatasetSource, data_home: DataHome) -> list[Path]:
    """Return the paths of a table's files in the cache, after downloading those that are not there."""
    pooch = _pooch()
    cache = pooch.create(
        path=_cache_folder(data_home, pooch) / source.name,
        base_url="",
        registry={remote.file: remote.known_hash for remote in source.remote},
        urls={remote.file: remote.url for remote in source.remote},
    )
    paths = []
    for remote in source.remote:
        try:
            paths.append(Path(cache.fetch(remote.file)))
        except ValueError as error:  # the bytes do not have the known hash; pooch has deleted them
            raise ValueError(
                f"{remote.file}: the download from {remote.url} is not the published file; it was deleted. "
                f"{_manual_help(source)}"
            ) from error
        except OSError as error:
            raise OSError(f"{remote.file}: no download from {remote.url} ({error}). {_manual_help(source)}") from error
    return paths


def _manual_help(source: DatasetSource) -> str:
    files = ", ".join(f"{remote.file} from {remote.url}" for remote in source.remote)
    looked = "" if not os.environ.get("DISCREET_DATA") else f" (not in {os.environ['DISCREET_DATA']!r} now)"
    return f"Or put {files} into a folder by hand, and name that folder in DISCREET_DATA{looked}."


def _cache_folder(data_home: DataHome, pooch: ModuleType) -> Path:
    if data_home is None:
        return Path(os.environ.get("DISCREET_CACHE") or pooch.os_cache("discreet"))
    if not isinstance(data_home, str | os.PathLike) or not os.fspath(data_home):
        raise ArgumentError("data_home", data_home, "the path of a folder, or None")
    return Path(data_home)


def _pooch() -> ModuleType:
    try:
        import pooch  # an extra, and slow to import
    except ImportError as error:
        raise ImportError("downloading needs pooch: pip install 'discreet[data]'") from error
    module: ModuleType = pooch
    return module
