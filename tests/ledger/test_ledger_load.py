"""Many processes at one ledger: nothing is lost or doubled, and the limit holds to the last release."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import discreet as dp
import ledger_places
from discreet.guarantees.normal import normal_mu
from discreet.ledger import Ledger
from effort import LONG, measured, size
from load_spenders import NAME

PROCESSES = 8
ASKED = size(12, 1250)  # by each of them
FITTING = size(90, 9900)  # of all that are asked, as many releases of this size as the limit admits
PROMISE = dp.Guarantee(1.0, 1e-6)


def loaded(url, folder):
    """Have processes spend until the limit is used up; return what they wrote down, having held it to the record."""
    ledger = Ledger(url)
    ledger.set_limit(NAME, PROMISE)
    mu = normal_mu(PROMISE.epsilon, PROMISE.delta) / math.sqrt(FITTING)
    method = "spawn" if LONG or not hasattr(os, "fork") else "fork"
    script = Path(__file__).parents[1] / "support" / "load_spenders.py"
    command = [sys.executable, script, url, folder, PROCESSES, ASKED, repr(mu), method]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    ran = json.loads(done.stdout)
    assert ran["codes"] == [0] * PROCESSES, done.stderr
    lines = [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]
    released = [name for name, took, _ in lines if took is not None]

    assert len({name for name, _, _ in lines}) == len(lines) == PROCESSES * ASKED
    entries = ledger.history(NAME)[1:]
    assert sorted(entry.query for entry in entries) == sorted(released)  # nothing is lost, nothing is doubled
    assert {entry.losses for entry in entries} == {((dp.GaussianLoss(mu), 1),)}
    assert len(released) == FITTING  # the limit is used up exactly
    assert ledger.verify() == entries[-1].hash
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(NAME, dp.GaussianLoss(mu), query="one more")

    times = np.array([took for _, took, _ in lines if took is not None])
    return {
        "processes": PROCESSES,
        "released": len(released),
        "refused": len(lines) - len(released),
        "asked again": sum(locked for _, _, locked in lines),
        "a second": round(len(lines) / ran["seconds"], 1),
        "p50 ms": round(1e3 * float(np.quantile(times, 0.5)), 1),
        "p99 ms": round(1e3 * float(np.quantile(times, 0.99)), 1),
        "longest ms": round(1e3 * float(times.max()), 1),
    }


def test_eight_processes_at_one_file(tmp_path):
    result = loaded(str(tmp_path / "budget.db"), tmp_path)
    measured("load", **result)


@pytest.mark.skipif(not LONG, reason="a server takes too long; make audit does it")
def test_eight_processes_at_one_server(tmp_path, monkeypatch):
    with ledger_places.server(durable=True) as server:
        monkeypatch.setenv("PGPASSWORD", server.password)
        result = loaded(server.url(server.new_schema(), password=False), tmp_path)
    measured("load-postgresql", **result)
