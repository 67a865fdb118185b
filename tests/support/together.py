"""Many small cases of one test as one item: to report an item takes longer than such a case."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from _pytest._io.saferepr import saferepr
from _pytest.mark import ParameterSet

__all__ = ["together"]


def together(names: str | tuple[str, ...], cases: Iterable[Any], **more: Any) -> Callable[[Any], Any]:
    """Run a test on every case, as ``pytest.mark.parametrize`` does with the same arguments, but as one item.

    All cases are run, whatever fails. Each failure has a note that names its case. For tests without fixtures that a
    case would change, and without skips.
    """
    named = tuple(one.strip() for one in names.split(",")) if isinstance(names, str) else names
    several, ids = not isinstance(names, str) or len(named) > 1, more.pop("ids", None)
    assert not more, more
    listed: list[tuple[str, tuple[Any, ...]]] = []
    for place, case in enumerate(cases):
        if isinstance(case, ParameterSet):
            assert not case.marks, case
            values, label = tuple(case.values), case.id
        else:
            values, label = tuple(case) if several else (case,), None
        assert len(values) == len(named), case
        if label is None and ids is not None:
            label = str(tuple(map(ids, values)) if callable(ids) else list(ids)[place])
        listed.append((f"case {place}" + ("" if label is None else f" ({label})"), values))
    assert listed, "no cases"

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            faults = []
            for label, values in listed:
                try:
                    test(*args, **fixtures, **dict(zip(named, values, strict=True)))
                except Exception as fault:
                    shown = (f"{name}={saferepr(value)}" for name, value in zip(named, values, strict=True))
                    fault.add_note(f"{label}: {', '.join(shown)}")
                    faults.append(fault)
            if len(faults) == 1:
                raise faults[0]
            if faults:
                raise ExceptionGroup(f"{len(faults)} of {len(listed)} cases", faults)

        own = inspect.signature(test)
        left = [one for one in own.parameters.values() if one.name not in named]
        assert len(left) + len(named) == len(own.parameters), (own, named)
        run.__signature__ = own.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate
