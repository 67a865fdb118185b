"""Passes over partitions see the same rows: fingerprints of rows, and what happens where two passes differ."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.records import Box, as_records
from discreet.records.row_choice import DeclaredRows
from discreet.records.sources.partitions import CHANGED
from discreet.records.sources.row_digest import DigestKey, RowDigest
from effort import size

dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")

KEY = DigestKey(bytes(range(16)))
CELLS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0**-1074, 1e300, np.nan, np.inf])


def rows_of(numbers, codes):
    return DeclaredRows(np.array(numbers, dtype=float).reshape(-1, 2), np.array(codes, dtype=np.int64).reshape(-1, 1))


def canonical(numbers, code, who):
    """Return what a row is to everything that is computed from it."""
    return (*(x + 0.0 if np.isfinite(x) else None for x in numbers), max(code, -1), who)


ROWS = st.lists(st.tuples(CELLS, CELLS, st.integers(-2, 2), st.integers(0, 2)), max_size=8)


@settings(max_examples=size(50, 300), deadline=None)
@given(ROWS, ROWS, st.randoms(use_true_random=False))
def test_digests_are_equal_where_multisets_of_rows_are(one, other, chance):
    def digest(rows):
        names = KEY.hash_names(["ann", "bob", "eve"])
        who = names[[row[3] for row in rows]] if rows else names[:0]
        return KEY.digest(rows_of([row[:2] for row in rows], [row[2] for row in rows]), who)

    def multiset(rows):
        return sorted(map(str, (canonical(row[:2], row[2], row[3]) for row in rows)))

    shuffled = chance.sample(one, len(one))
    cut = chance.randrange(len(one) + 1)
    assert digest(one) == digest(shuffled) == digest(shuffled[:cut]) + digest(shuffled[cut:])
    assert (digest(one) == digest(other)) == (multiset(one) == multiset(other))


def test_digests_tell_sums_and_swaps_apart():
    """A sum of cells, or of hashes of cells, would not."""
    pairs = [
        (rows_of([[1, 2], [3, 4]], [0, 0]), rows_of([[1, 4], [3, 2]], [0, 0])),
        (rows_of([[1, 2], [3, 4]], [0, 1]), rows_of([[1, 2], [3, 4]], [1, 0])),
        (rows_of([[1, 2]], [0]), rows_of([[2, 1]], [0])),
        (rows_of([[1, 2], [1, 2]], [0, 0]), rows_of([[1, 2]], [0])),
    ]
    for one, other in pairs:
        assert KEY.digest(one).cells != KEY.digest(other).cells
    assert KEY.digest(pairs[0][0]) != DigestKey.draw().digest(pairs[0][0])
    assert "range" not in repr(KEY)
    assert RowDigest() + KEY.digest(pairs[0][0]) == KEY.digest(pairs[0][0])


@pytest.fixture
def changing(tmp_path):
    """Return a Dask data frame of which one partition is another one each time, from a given pass on."""
    delayed = pytest.importorskip("dask", reason="dask is not installed").delayed
    from_delayed = pytest.importorskip("dask.dataframe", reason="dask is not installed").from_delayed
    passes = tmp_path / "passes"

    def make(change, first, units=40):
        def part(place):
            frame = pd.DataFrame({"who": np.arange(units) % 8 + 8 * place, "x": np.linspace(0.0, 1.0, units)})
            if place == 1:
                with passes.open("a") as file:
                    file.write(".")
                if len(passes.read_text()) > first:
                    frame = change(frame)
            return frame

        meta = pd.DataFrame({"who": np.zeros(0, dtype=np.int64), "x": np.zeros(0)})
        return from_delayed([delayed(part, pure=False)(place) for place in range(2)], meta=meta)

    return make


CHANGES = {
    "a cell": lambda frame: frame.assign(x=np.where(frame.x == 1.0, 0.5, frame.x)),
    "a row less": lambda frame: frame.iloc[1:],
    "a row twice": lambda frame: pd.concat([frame, frame.iloc[:1]]),
    "whose row it is": lambda frame: frame.assign(who=np.where(frame.who == 9, 10, frame.who)),
    "two persons swap a row": lambda frame: frame.assign(x=frame.x.to_numpy()[[1, 0, *range(2, len(frame))]]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("first", [1, 2, 3], ids=["after the count", "after the choice", "after a step"])
def test_a_person_limited_in_one_pass_is_limited_in_the_next(changing, change, first):
    """Units are counted in the first pass, chosen among in the second, and summed in those that follow."""
    data = changing(CHANGES[change], first)
    records = as_records(data[["x", "who"]], space=Box(0, 1), unit="who", max_rows=3, unit_type="integer")

    def run():
        return [records.reduce(lambda block: block.x.sum(axis=0), 1)[0] for _ in range(3)]

    if first == 1 and change in ("a cell", "two persons swap a row"):  # the count reads no cell
        assert len({*run()}) == 1
        return
    with pytest.raises(RuntimeError) as caught:
        run()
    assert str(caught.value) == CHANGED


def test_a_fit_over_rows_that_change_ends_with_one_text_and_stays_spent(changing, tmp_path):
    data = changing(lambda frame: frame.assign(x=0.25), first=4)[["x"]]
    ledger = dp.Ledger(tmp_path / "ledger.db")
    curator = dp.Curator(data, space=Box(0, 1), name="visits", ledger=ledger, neighbors="add-remove", at_most=1000)
    with pytest.raises(RuntimeError) as caught:
        dp.GaussianMixture(2, epsilon=1.0, delta=1e-6).fit(curator)
    assert str(caught.value) == CHANGED
    paid, mark = ledger.history("visits")
    assert (paid.kind, mark.kind, mark.losses) == ("reserve", "unanswered", ())


def test_a_choice_that_a_lost_worker_makes_again_is_compared_too(changing, monkeypatch):
    """Dask computes what a lost worker kept again, and by then the rows may have been others."""
    data = changing(lambda frame: frame, first=99)
    records = as_records(data[["x", "who"]], space=Box(0, 1), unit="who", max_rows=3, unit_type="integer")
    expected = records.reduce(lambda block: block.x.sum(axis=0), 1)
    source = records._source
    units, chosen = source._choice
    other = source._partitions.add_up_units([("8", 1)])
    for pair in ((other, chosen), (units, chosen.compute()._replace(choices=frozenset({1})))):
        monkeypatch.setitem(source._cached, "choice", (None, pair))
        with pytest.raises(RuntimeError) as caught:
            records.reduce(lambda block: block.x.sum(axis=0), 1)
        assert str(caught.value) == CHANGED
    monkeypatch.setitem(source._cached, "choice", (None, (units, chosen)))
    assert records.reduce(lambda block: block.x.sum(axis=0), 1) == expected


def test_no_name_of_a_unit_is_in_a_task(changing):
    frame = pd.DataFrame({"who": ["rosalind"] * 5 + ["ada"], "x": 0.5})
    records = as_records(dd.from_pandas(frame, npartitions=2), space=Box(0, 1), unit="who", max_rows=2)
    own = records._source._partitions
    units = own.add_up_units([("rosalind", 5), ("ada", 1)])
    tasks = pickle.dumps((own, units, own.prepare(frame, units)))
    assert len(units.large) == 1
    assert b"rosalind" not in tasks
    assert records.reduce(lambda block: block.x.sum(axis=0), 1).tolist() == [1.5]


class Loud(BaseException):
    """What no handler of ordinary errors sees."""


def test_whatever_a_task_raises_stays_where_it_is():
    def loud(block):
        raise Loud(f"a row: {block.x[0, 0]}")

    frame = pd.DataFrame({"x": [0.123456789] * 3, "y": 0.5})
    records = as_records(dd.from_pandas(frame, npartitions=2), space=Box(0, 1))
    with pytest.raises(RuntimeError, match="Dask failed with the error Loud") as caught:
        records.reduce(loud, 1)
    assert "12345" not in str(caught.value)


def test_rows_in_another_order_and_other_partitions_are_the_same_rows(changing):
    data = changing(lambda frame: frame.sample(frac=1.0, random_state=1), first=2)
    records = as_records(data[["x", "who"]], space=Box(0, 1), unit="who", max_rows=3, unit_type="integer")
    first, second, third = (records.reduce(lambda block: block.x.sum(axis=0), 1)[0] for _ in range(3))
    assert first == pytest.approx(second, abs=1e-12)
    assert second == third
