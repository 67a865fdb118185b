"""Libraries that are imported where they are first needed, and not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["need"]

EXTRAS = {"pyarrow": "sql", "duckdb": "sql", "adbc_driver_postgresql": "postgresql", "dask": "dask"}


def need(module: str) -> Any:
    """Return an optional module; an error that says what to install where it is absent."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise ImportError(
            f"this needs {library}, which is not installed: pip install 'discreet[{EXTRAS[library]}]'"
        ) from None
