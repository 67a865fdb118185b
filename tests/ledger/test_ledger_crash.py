"""kill −9 at any moment: nothing is released whose spend is not on record, and the file opens again."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from effort import size

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

KILLS = size(20, 100)
WITHIN = size(0.01, 0.04)  # seconds of spending before a kill: a spend in memory takes one millisecond

# Imports once; forks a child that spends and releases in a loop; kills it; looks at what it left. Every tenth child
# begins with a new file, so that some die while they make it.
SCRIPT = """
import glob, json, os, random, signal, sys, time
import discreet as dp
from discreet.ledger import Ledger
folder, kills, seed, within = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
moments = random.Random(seed)
dp.compose(dp.GaussianLoss(1.0)).epsilon(1e-6)
Ledger(f"{folder}/warm.db").verify()

def child(path, out, ready):
    ledger = Ledger(path)
    handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        number = ledger.spend("census", dp.GaussianLoss(1e-4), query="q", who="child").number
        os.write(handle, f"released {number}\\n".encode())
        os.fsync(handle)
        os.write(ready, b".")

summary = {"killed": 0, "no file": 0, "hot journal": 0, "drafts": 0, "entries": 0, "released": 0, "behind": 0}
for kill in range(kills):
    path, out = f"{folder}/{kill // 10}.db", f"{folder}/{kill // 10}.out"
    ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child(path, out, ready[1])
        finally:
            os._exit(1)
    if kill % 2:  # in the middle of spending, however slow the disk is today
        os.read(ready[0], 1)
        time.sleep(moments.uniform(0.0, within))
    else:  # or from the first moment on
        time.sleep(moments.uniform(0.0, 0.06))
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    os.close(ready[0])
    os.close(ready[1])
    summary["killed"] += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    summary["hot journal"] += os.path.exists(path + "-journal")
    released = open(out).read().splitlines() if os.path.exists(out) else []
    if not os.path.exists(path):
        assert not released, (kill, released)
        summary["no file"] += 1
        continue
    ledger = Ledger(path, create=False)
    ledger.verify()
    entries = ledger.history()
    numbers = {entry.number for entry in entries}
    assert len(entries) >= len(released), (kill, len(entries), len(released))
    assert all(int(line.split()[1]) in numbers for line in released), kill
    assert len(set(released)) == len(released), kill
    summary["behind"] += len(entries) > len(released)
    if kill % 10 == 9 or kill == kills - 1:
        summary["entries"] += len(entries)
        summary["released"] += len(released)
summary["drafts"] = len(glob.glob(f"{folder}/.*"))
print(json.dumps(summary))
"""


def test_killing_a_spender_at_random_moments_never_leaves_a_release_without_its_spend(tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(KILLS), "20240607", str(WITHIN)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["killed"] == KILLS
    assert summary["entries"] >= summary["released"] >= KILLS / 2  # there was something to lose
