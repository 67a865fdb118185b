"""The demo runs as a user would run it, and says what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_it_runs_and_says_what_it_promises():
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert "(ε=1, δ=1e-06) replace-one" in output
    assert "hours-per-week" in output
    assert "measured release of moments" in output
    assert "Once more: " in output
    assert "not admitted" in output
