"""Workers of a Dask cluster are other processes, die, are late and run tasks twice: the same bits, and one spend."""

from __future__ import annotations

import hashlib
import os
import random
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.queries.moments.moments import Moments
from discreet.records import Box, as_records
from effort import size

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("dask.distributed", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")

BOX = Box([-3.0, -3.0], [3.0, 3.0])
QUERY = Moments(BOX, (0.2, 0.3, 0.5))
BLOCK = 100


class Unlucky:
    """A kernel that ends its process the first time that it sees some of the blocks, and is late with others."""

    def __init__(self, kernel, folder, share=0.1):
        self.kernel, self.folder, self.share = kernel, folder, share

    def __call__(self, block):
        name = hashlib.sha256(block.x.tobytes()).hexdigest()
        mark, chance = Path(self.folder) / name, random.Random(name)
        if chance.random() < self.share and not mark.exists():
            mark.touch()
            os._exit(1)
        if chance.random() < self.share:
            time.sleep(0.05)
        return self.kernel(block)


@pytest.fixture(scope="module")
def client():
    # Workers that are forked from a process that has imported what they need start in a tenth of the time.
    with dask.config.set({"distributed.worker.multiprocessing-method": size("forkserver", "spawn")}):
        imported = ["distributed", "dask.array", "dask.dataframe", "discreet.queries.moments.moments"]
        distributed.utils.get_mp_context().set_forkserver_preload(imported)
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster, set_as_default=True) as client,
        ):
            yield client


@pytest.mark.filterwarnings("ignore")
def test_killed_workers_change_no_bit_and_cost_nothing_more(client, tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(4000, 2))
    data = da.from_array(rows, chunks=(4 * BLOCK, 2)).persist()
    far, near = (as_records(one, space=BOX, block_rows=BLOCK) for one in (data, rows))
    expected = near.reduce(QUERY.sum, QUERY.size, QUERY.bound.l2)
    result = far.reduce(Unlucky(QUERY.sum, tmp_path, size(0.02, 0.1)), QUERY.size, QUERY.bound.l2)
    assert len(list(tmp_path.iterdir())) >= size(1, 2)  # so many workers died
    assert result.tobytes() == expected.tobytes()
    ledger = dp.Ledger(tmp_path / "ledger.db")
    curator = dp.Curator(data, space=BOX, name="visits", ledger=ledger)
    release = curator.measure(QUERY, dp.GaussianLoss(1.0))
    assert np.isfinite(release["first"]).all()
    assert len(ledger.history("visits")) == 1


@pytest.mark.filterwarnings("ignore")
def test_other_processes_can_be_the_workers_and_show_no_row(client):
    frame = pd.DataFrame({"a": np.arange(100.0), "id": np.arange(100) % 7})
    data = dd.from_pandas(frame, npartitions=6)
    records = as_records(data, space=Box(0, 50), unit="id", max_rows=3, order="a", block_rows=5)
    assert records.reduce(lambda block: block.x.sum(axis=0), 1).tolist() == [210.0]
    assert (records.units, records.rows) == (7, 100)

    def bad(block):
        raise ValueError(f"row {block}")

    with pytest.raises(RuntimeError):
        records.reduce(bad, 1)
    assert "Compute Failed" not in str(client.get_worker_logs())
    with pytest.raises(ValueError, match="row 3"):
        client.submit(bad, 3).result()
    assert "row 3" in str(client.get_worker_logs())  # where Dask writes down what a task raises
