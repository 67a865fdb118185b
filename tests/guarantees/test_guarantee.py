"""The promise itself: what it holds, how it reads, how it changes with the relation."""

from __future__ import annotations

import math
import pickle

import pytest

from discreet import Guarantee, Neighbors


def test_strings_do_wherever_a_relation_is_asked_for():
    assert Guarantee(1.0, 1e-6, "add-remove") == Guarantee(1.0, 1e-6, Neighbors.ADD_REMOVE)
    assert Guarantee(1.0).neighbors is Neighbors.REPLACE_ONE


def test_it_is_a_value():
    guarantee = Guarantee(2, 1e-6)
    assert guarantee.epsilon == 2.0
    assert isinstance(guarantee.epsilon, float)
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee
    assert hash(guarantee) == hash(Guarantee(2.0, 1e-6))


def test_add_remove_implies_replace_one_at_twice_the_price():
    weaker = Guarantee(0.5, 1e-6, "add-remove").under("replace-one")
    assert weaker.epsilon == 1.0
    assert weaker.delta == pytest.approx((1.0 + math.exp(0.5)) * 1e-6)
    assert weaker.neighbors is Neighbors.REPLACE_ONE
    with pytest.raises(ValueError, match="accounted under 'add-remove'"):
        weaker.under("add-remove")


def test_it_can_be_read_aloud():
    words = Guarantee(1.0, 1e-6).in_words()
    assert "2.72 times" in words
    assert "1e-06" in words
    assert "had other values" in words
    assert "added" in Guarantee(1.0, 0.0, "add-remove").in_words()
    assert "plus" not in Guarantee(1.0).in_words()
    assert "e^1000" in Guarantee(1000.0).in_words()
    assert str(Guarantee(0.1, 1e-4, "add-remove")) == "(ε=0.1, δ=0.0001) add-remove"
