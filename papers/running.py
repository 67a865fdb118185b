"""Run an experiment: measure its parts in several processes, save each result at once, and reuse saved results."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from discreet.arguments import integer
from discreet.noise import NotPrivateWarning
from papers.experiment import Experiment, Outcome, Part

__all__ = ["processes", "read_saved_parts", "run"]


def run(
    experiment: Experiment, folder: str | Path, *, quick: bool = False, jobs: int = 2, progress: bool | None = None
) -> Outcome:
    """Measure the parts that have no saved result, and write ``NAME.json`` and ``NAME.png``.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        For all files, including the results of parts (``NAME.parts.jsonl``), so that an interrupted run can be resumed.
        Results of other code are not reused.
    quick : bool, default=False
        Fewer repeats and smaller sizes, so that all experiments together take less than a quarter of an hour.
    jobs : int, default=2
        Processes; 1 measures in this one.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    Outcome
    """
    parts = experiment.parts(quick)
    place = Path(folder) / experiment.name
    place.parent.mkdir(parents=True, exist_ok=True)
    notes = place.with_name(f"{place.name}.parts.jsonl")
    code = experiment.version
    found = read_saved_parts(notes, code)
    missing = [part for part in parts if _key(part) not in found]
    bar = tqdm(
        total=len(parts), initial=len(parts) - len(missing), desc=experiment.name, unit="part",
        disable=None if progress is None else not progress,
    )  # fmt: skip
    with bar, notes.open("a", encoding="utf-8") as file:
        for part, result, seconds in _measure_parts(experiment, missing, integer("jobs", jobs, least=1)):
            line = {"version": code, "part": part, "result": result, "seconds": seconds}
            text = json.dumps(line, ensure_ascii=False, allow_nan=False)
            file.write(f"\n{text}")  # a newline first: the last line may be cut off
            file.flush()
            found[_key(part)] = result, seconds
            bar.update()
    numbers = experiment.numbers([(part, found[_key(part)][0]) for part in parts])
    numbers = json.loads(json.dumps(numbers, allow_nan=False))  # use the numbers as the file has them
    outcome = Outcome(
        name=experiment.name,
        title=experiment.title,
        claim=experiment.claim,
        quick=quick,
        discreet=_version(),
        seconds=round(sum(found[_key(part)][1] for part in parts), 1),
        numbers=numbers,
        table=experiment.table(numbers),
        verdict=experiment.verdict(numbers),
    )
    figure = experiment.draw(numbers)
    figure.savefig(place.with_name(f"{place.name}.png"), dpi=120, bbox_inches="tight", metadata={"Software": None})
    _close(figure)
    place.with_name(f"{place.name}.json").write_text(outcome.to_json(), encoding="utf-8")
    return outcome


def read_saved_parts(notes: Path, code: str) -> dict[str, tuple[Any, float]]:
    """Return the results that an earlier run of the same code saved; an incomplete line is ignored."""
    found: dict[str, tuple[Any, float]] = {}
    if not notes.exists():
        return found
    for text in notes.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if line["version"] == code:
            found[_key(line["part"])] = line["result"], line["seconds"]
    return found


def _key(part: Part) -> str:
    return json.dumps(part, sort_keys=True)


def _measure_parts(experiment: Experiment, parts: list[Part], jobs: int) -> Iterator[tuple[Part, Any, float]]:
    if jobs == 1 or len(parts) < 2:
        for part in parts:
            yield (part, *_measure_timed(experiment.measure, part))
        return
    with processes(min(jobs, len(parts))) as pool:
        waiting = {pool.submit(_measure_timed, experiment.measure, part): part for part in parts}
        for future in as_completed(waiting):
            yield (waiting[future], *future.result())


@contextmanager
def processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Return a pool of processes, one core each; pending work is cancelled on an error."""
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    os.environ.update(dict.fromkeys(before, "1"))
    try:
        # Forking is not safe with JAX's threads.
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _measure_timed(measure: Callable[..., Any], part: Part) -> tuple[Any, float]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # seeded noise on public or synthetic rows
        result = measure(**part)
    return result, round(time.process_time() - start, 3)


def _version() -> str:
    try:
        return version("discreet")
    except PackageNotFoundError:
        return "unknown"


def _close(figure: Any) -> None:
    import matplotlib.pyplot as plt

    plt.close(figure)
