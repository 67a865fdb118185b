"""The budget under attack: whatever is done, in whatever order, nothing comes out that is not recorded and admitted."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test as run_machine

import ledger_places
from budget_machine import Budget
from effort import LONG, measured, size
from watched_draws import Place


def attacked(machine, examples, steps):
    """Run a machine, and return what was done and how it ended."""
    machine.seen = Counter()
    begun = time.process_time()
    run_machine(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],  # a failure is the same every time, and to make it shorter takes many commits
            suppress_health_check=list(HealthCheck),
        ),
    )
    actions = {name: count for (what, name), count in machine.seen.items() if what == "action"}
    errors = {name: count for (what, name), count in machine.seen.items() if what == "error"}
    return {
        "steps": sum(actions.values()),
        "examples": examples,
        "actions": dict(sorted(actions.items())),
        "errors": dict(sorted(errors.items())),
        "seconds": round(time.process_time() - begun, 1),
    }


def test_nothing_comes_out_that_is_not_on_record_and_admitted():
    class InAFile(Budget):
        pass

    if LONG:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            InAFile.elsewhere = pool
            result = attacked(InAFile, 250, 40)
    else:
        result = attacked(InAFile, 10, 20)
    measured("budget", **result)
    assert result["steps"] >= size(150, 4000)
    assert {"BudgetExceeded", "LedgerError", "ValueError"} <= set(result["errors"])


@pytest.mark.skipif(not LONG, reason="a server takes too long; make audit does it")
def test_nothing_comes_out_that_is_not_on_record_and_admitted_by_a_server(monkeypatch):
    with ledger_places.server() as server:
        monkeypatch.setenv("PGPASSWORD", server.password)

        class OnAServer(Budget):
            def new_place(self, folder):
                return Place(server.url(server.new_schema(), password=False), server)

        result = attacked(OnAServer, 40, 30)
    measured("budget-postgresql", **result)
    assert result["steps"] >= 700
