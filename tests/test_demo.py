"""The demo runs as a user would run it, says what it promises, and leaves a table and a picture."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]


def test_it_runs_and_says_what_it_promises(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), str(tmp_path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert "(ε=1, δ=1e-06) replace-one" in output
    assert "hours-per-week" in output
    assert "refused, the budget is spent" in output
    private, exact = map(float, re.search(r"private (\S+), without privacy (\S+)", output).groups())
    assert exact - 4.0 < private < exact + 1.0
    header, *rows = (tmp_path / "adult-synthetic.csv").read_text().splitlines()
    assert header.startswith("age,")
    assert len(rows) == 32_561
    assert np.isfinite(np.array([row.split(",")[:6] for row in rows[:100]], dtype=float)).all()
    assert {row.partition('"')[2].strip('"') for row in rows} == {"below 50,000", "above 50,000"}
    synthetic, real = map(float, re.search(r"a classifier predicts +(\S+)% +(\S+)%", output).groups())
    assert synthetic > real - 5.0
    assert (tmp_path / "adult-mixture.png").stat().st_size > 10_000
