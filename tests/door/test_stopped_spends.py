"""Ctrl-C at any line between the question and its answer: what is charged is marked, and the error says so."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import discreet as dp
from discreet.door import exit as door
from discreet.ledger import Ledger, book, storage, unanswered
from discreet.ledger import ledger as handle
from effort import size

FILES = {module.__file__ for module in (door, handle, book, storage)}
BOX = dp.Box([0.0], [1.0])


class StopsAt:
    """Raises Ctrl-C at a line of these files, counted from the beginning; 0 only counts them."""

    def __init__(self, at: int = 0) -> None:
        self.at, self.lines = at, 0

    def trace(self, frame, event, _):
        if frame.f_code.co_filename not in FILES or frame.f_code.co_name == "mark_unanswered":
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self.trace

    def run(self, call):
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            return call()
        finally:
            sys.settrace(before)


def test_at_whatever_line_ctrl_c_comes_a_charge_is_marked_and_said(tmp_path):
    curator = dp.Curator(np.array([[0.5]]), space=BOX, name="a", ledger=tmp_path / "a.db")

    def ask():
        return curator.measure(dp.Sum(BOX), dp.GaussianLoss(0.01))

    ask()
    whole = StopsAt()
    whole.run(ask)
    marked = 0
    for at in range(1, whole.lines + 1, size(4, 1)):
        known = len(curator.ledger.history())
        with pytest.raises(KeyboardInterrupt) as stopped:
            StopsAt(at).run(ask)
        new = curator.ledger.history()[known:]
        notes = [note for note in getattr(stopped.value, "__notes__", ()) if unanswered.STAYS in note]
        assert [entry.kind for entry in new] in ([], ["spend", "unanswered"]), at
        assert len(notes) == bool(new), at
        marked += bool(new)
    assert marked > 5
    assert curator.ledger.verify()


@pytest.mark.parametrize("committed", [False, True])
def test_a_spend_that_is_stopped_at_its_commit(tmp_path, monkeypatch, committed):
    """Also without the door: a ledger's own ``spend``."""
    ledger = Ledger(tmp_path / "a.db")
    where, name = (Ledger, "_remember") if committed else (book.Book, "append")
    whole = getattr(where, name)

    def stop(self, given):
        monkeypatch.undo()
        whole(self, given)
        raise KeyboardInterrupt

    monkeypatch.setattr(where, name, stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        ledger.spend("census", dp.GaussianLoss(0.1), query="q")
    assert [entry.kind for entry in ledger.history()] == (["spend", "unanswered"] if committed else [])
    assert len(getattr(stopped.value, "__notes__", ())) == committed


def test_a_ledger_that_has_gone_leaves_the_question_open(tmp_path):
    path = tmp_path / "a.db"
    ledger = Ledger(path)

    @unanswered.answering()
    def ask():
        ledger.spend("census", dp.GaussianLoss(0.1), query="q")
        path.rename(tmp_path / "b.db")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        ask()
    (note,) = stopped.value.__notes__
    assert note.endswith("if it was recorded: the ledger cannot be read now")


def test_what_succeeded_belongs_to_the_block_around_it_and_is_marked_once(tmp_path):
    ledger = Ledger(tmp_path / "a.db")

    @unanswered.answering()
    def ask():
        with unanswered.answering():
            ledger.spend("census", dp.GaussianLoss(0.1), query="answered, and not shown")
        with unanswered.answering():
            ledger.spend("census", dp.GaussianLoss(0.1), query="not answered")
            raise OSError("first")

    with pytest.raises(OSError, match="first") as stopped:
        ask()
    assert ledger.history().unanswered == {1, 2}
    assert len(ledger.history()) == 4
    assert len(stopped.value.__notes__) == 2
    ledger.spend("census", dp.GaussianLoss(0.1), query="later")
    assert ledger.history().unanswered == {1, 2}
