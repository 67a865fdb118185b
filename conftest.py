"""Examples in documentation write files; each runs in an empty folder of its own."""

from __future__ import annotations

import pytest
from _pytest.doctest import DoctestItem


@pytest.fixture(autouse=True)
def _in_an_empty_folder(request: pytest.FixtureRequest, tmp_path, monkeypatch) -> None:
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(tmp_path)
