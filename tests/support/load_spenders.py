"""Several processes that spend and release at one ledger, as fast as they can, and write down what they let out.

Run as a script: URL, folder, number of processes, asked by each, μ of one release, ``fork`` or ``spawn``. Each process
writes a line for everything that it asked: what it was called, and how many seconds it took until it was released; none
where it was refused. Where the ledger stays locked it is asked again, as the error says.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

import discreet as dp
from discreet.ledger import LedgerError

NAME = "load"


def spender(url: str, file: Path, me: int, number: int, mu: float, together) -> None:
    """Ask ``number`` times for a release of its own name."""
    ledger = dp.Ledger(url, create=False)
    curator = dp.Curator(np.full((4, 1), 0.5), space=dp.Box(0.0, 1.0), name=NAME, ledger=ledger)
    query, loss = dp.Sum(curator.space), dp.GaussianLoss(mu)
    curator.plan(query, loss)
    together.wait()
    with file.open("w", encoding="utf-8") as lines:
        for place in range(number):
            name, begun, locked = f"{me}-{place}", time.perf_counter(), 0
            while True:
                try:
                    curator.with_note(name).measure(query, loss)
                    took = time.perf_counter() - begun
                except dp.BudgetExceeded:
                    took = None
                except LedgerError as error:
                    if "try again" not in str(error):
                        raise
                    locked += 1
                    continue
                lines.write(json.dumps([name, took, locked]) + "\n")
                break


def main(url: str, folder: str, processes: str, number: str, mu: str, method: str) -> None:
    """Run the processes, and print for how long they did."""
    context = multiprocessing.get_context(method)
    together = context.Barrier(int(processes) + 1)
    with suppress(dp.BudgetExceeded):  # what a first spend imports, a fork need not
        ledger = dp.Ledger(url, create=False)
        ledger.preview(NAME, dp.GaussianLoss(float(mu)))
    curator = dp.Curator(np.full((4, 1), 0.5), space=dp.Box(0.0, 1.0))  # nor what a first release does, unrecorded
    curator.measure(dp.Sum(curator.space), dp.GaussianLoss(float(mu)))
    running = [
        context.Process(
            target=spender, args=(url, Path(folder) / f"{me}.jsonl", me, int(number), float(mu), together), daemon=True
        )
        for me in range(int(processes))
    ]
    for one in running:
        one.start()
    together.wait()
    begun = time.perf_counter()
    for one in running:
        one.join()
    json.dump({"seconds": time.perf_counter() - begun, "codes": [one.exitcode for one in running]}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
