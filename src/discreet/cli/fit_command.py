"""``discreet fit``: fit a private model to a file or a database."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.budget_limits import check_limit, trial_ledger
from discreet.cli.command import command
from discreet.cli.declaration_flags import (
    check_columns,
    check_target,
    declared_schema,
    open_source,
    parse_limit,
    parse_numbers,
    split_names,
)
from discreet.cli.model_kinds import MODELS, KindName, ModelKind, model_kind
from discreet.cli.model_table import parameter_table
from discreet.cli.options import (
    AtMost,
    Data,
    DeclarationFlags,
    Name,
    NewLimit,
    Overwrite,
    Relation,
    SomeLedger,
    Where,
)
from discreet.cli.output_files import new_file
from discreet.cli.printing import CommandOutput, OutputTable, facts_table, is_interactive, note
from discreet.door import Curator
from discreet.door.curator import AT_MOST
from discreet.door.release import describe_rows_of_releases
from discreet.guarantees import Neighbors
from discreet.ledger import Ledger
from discreet.ledger.book import SPENDS
from discreet.records import Schema, dataset_name, open_records
from discreet.scales import column_scales

UNRECORDED = "note: no ledger records what this cost; write --ledger people.ledger to keep a budget over all releases"


@command(
    "discreet fit table people.csv --schema people.toml --epsilon 1 --delta 1e-6 --whole age,hours --out table.json",
    "discreet fit mixture people.csv --schema people.toml --components 4 --epsilon 1 --delta 1e-6 --out model.json",
    "discreet fit kmeans people.csv --bounds age=17:90 --bounds hours=1:99 --clusters 5 --epsilon 0.5 --out k.json",
    "discreet fit logistic people.csv --schema people.toml --target income --epsilon 0.3 --out logistic.json"
    " --ledger people.ledger --limit 1:1e-6",
    table=MODELS,
)
def fit(
    kind: Annotated[KindName, typer.Argument(metavar="MODEL", help=", ".join(KindName), show_default=False)],
    data: Data,
    epsilon: Annotated[float, typer.Option("--epsilon", help="The guarantee for the whole fit.")],
    delta: Annotated[
        float, typer.Option("--delta", help="Of the guarantee: far below one over the number of rows.")
    ] = 1e-6,
    out: Annotated[Path, typer.Option("--out", help="Where the model goes, as JSON.")] = Path("model.json"),
    overwrite: Overwrite = False,
    *,
    declared: DeclarationFlags,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help="Some of the declared columns: age,hours. Regressions take categories that are named here.",
        ),
    ] = None,
    where: Where = None,
    target: Annotated[
        str | None, typer.Option("--target", help="The column to predict; of a table the one that matters most.")
    ] = None,
    components: Annotated[
        str | None,
        typer.Option(
            "--components", "--clusters", help="How many; auto, or of several (2,4,8), a mixture chooses privately."
        ),
    ] = None,
    covariance: Annotated[str | None, typer.Option("--covariance", help="full, tied, diag or spherical.")] = None,
    method: Annotated[str | None, typer.Option("--method", help="Another method than the default.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="How many steps; chosen by default.")] = None,
    whole: Annotated[str | None, typer.Option("--whole", help="Columns of whole numbers, for synthetic rows.")] = None,
    zero: Annotated[
        list[str] | None,
        typer.Option("--zero", help="A condition that no synthetic row meets: \"ward == 'maternity' and sex == 'M'\"."),
    ] = None,
    scale: Annotated[bool, typer.Option("--scale", help="PCA: columns relative to their bounds.")] = False,
    neighbors: Relation = Neighbors.REPLACE_ONE,
    at_most: AtMost = None,
    ledger: SomeLedger = None,
    name: Name = None,
    limit: NewLimit = None,
) -> CommandOutput:
    """Fit a model under differential privacy, and write it to a file of public numbers.

    A table is for synthetic rows. A mixture takes categories beside numbers where some are declared. What is printed
    depends on the rows only through the noisy releases.
    """
    schema = declared_schema(declared)
    if ledger is None and (limit is not None or name is not None):
        raise typer.BadParameter("expected --ledger FILE beside them", param_hint="--limit, --name")
    budget = None if limit is None else parse_limit(limit, neighbors)
    source = open_source(data, declared.table, schema.names, per_unit=declared.per_unit)
    called = name or ("" if ledger is None else dataset_name(source))
    first = ledger is not None and not check_limit(ledger, called, limit, budget) and budget is not None
    wanted = split_names(columns)
    check_columns(schema, wanted, numbers=False)
    chosen = [column for column in schema.names if not wanted or column in wanted]
    model = model_kind(kind, categories=any(column in schema.categories for column in chosen))
    chosen = _columns_used(model, chosen, wanted, target, schema, from_file=declared.schema is not None)
    flags: dict[str, Any] = {
        "components": components if components in (None, "auto") else _numbers(components),
        "covariance": covariance,
        "method": method,
        "steps": steps,
    }
    flags |= {"whole": split_names(whole) or None, "scale": scale or None, "zero": zero or None}
    flags |= {} if model.targeted else {"target": target}
    given = {flag: value for flag, value in flags.items() if value is not None}
    ordered = {"schema": Schema({one: schema[one] for one in chosen})} if model.categories else {}
    labels = target if model.targeted else None
    estimator = model.make(epsilon, delta, given, verbose=is_interactive(), **ordered)
    with new_file(out, overwrite=overwrite, protected=[data, ledger, declared.schema]) as place:
        rows = open_records(source, schema=schema)

        def curated(book: str | Ledger | None) -> Curator:
            name, most = None if book is None else called, AT_MOST if at_most is None else at_most
            return Curator(rows, name=name, neighbors=neighbors, budget=budget, ledger=book, at_most=most)

        def view(whole: Curator) -> Curator:
            return (whole if where is None else whole.where(where)).only(chosen)

        if first:
            with trial_ledger(str(ledger), called) as book:  # so that a refused fit sets no limit
                trial = curated(book)
                losses = estimator.plan(view(trial), labels).losses
                book.reserve(called, losses, query=model.estimator, unit=trial.unit)
        curator = curated(ledger)
        if not is_interactive():
            note(f"fitting {model.estimator}")
        estimator.fit(view(curator), labels)
        _write_model(estimator.to_json(), place)
        _note_ledger(curator)
        seen = column_scales(curator.declared) | column_scales(estimator.releases_[0].declared)
        table = parameter_table(estimator, seen, target)
        return _output(estimator, curator, out, chosen, table)


def _numbers(components: str) -> int | list[int]:
    """Return one number, or several."""
    counts = parse_numbers(components, int, "--components", "whole numbers, as 4 or 2,4,8, or auto")
    return counts[0] if len(counts) == 1 else counts


def _columns_used(
    model: ModelKind, chosen: list[str], wanted: list[str], target: str | None, schema: Schema, *, from_file: bool
) -> list[str]:
    """Return the columns that a model uses: numbers, and categories or a target where the model takes them.

    A model with a target takes the categories that were named, or refuses them.
    """
    if not model.targeted:
        if target is not None and "target" not in model.flags:
            raise ValueError(f"--target: {model.estimator} predicts no column; leave it out")
        return chosen if model.categories else [name for name in chosen if name in schema.numbers]
    if target is None:
        raise typer.BadParameter("expected the column to predict; write --target income", param_hint="--target")
    check_target(target, schema, categories=model.estimator != "LinearRegression", from_file=from_file)
    used = [name for name in chosen if name in schema.numbers or name in wanted]
    return [name for name in schema.names if name == target or name in used]


def _note_ledger(curator: Curator) -> None:
    """Write a note where no ledger enforces a budget, or where a new name gets a budget of its own."""
    if curator.ledger is None or curator.name is None:
        note(UNRECORDED)
        return
    if curator.ledger.limit(curator.name) is None:
        note(f"note: {curator.name!r} has no limit, so nothing is ever refused; write --limit 1:1e-6 with --ledger")
    others = [repr(name) for name in curator.ledger.datasets() if name != curator.name]
    first = sum(entry.kind in SPENDS for entry in curator.ledger.history(curator.name)) == 1
    if others and first:
        note(
            f"note: {curator.name!r} is new in this ledger, beside {', '.join(others)}; the same people must share one "
            "name, for each name has a budget of its own; write --name"
        )


def _write_model(text: str, place: Path) -> None:
    """Write the model; if this fails, write it to a temporary file, since it is already paid for."""
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        handle, other = tempfile.mkstemp(prefix="discreet-model-", suffix=".json")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        raise ValueError(
            f"the model could not be written ({error.strerror}); it is fitted and paid for, and is kept in {other}"
        ) from None


def _output(estimator: Any, curator: Curator, out: Path, columns: list[str], grid: OutputTable | None) -> CommandOutput:
    guarantee, kind = estimator.guarantee_, type(estimator).__name__
    book, place = curator.ledger, curator.name
    left = None if book is None or place is None else str(book.remaining(place))
    return CommandOutput(
        {
            "kind": kind,
            "out": out,
            "guarantee": guarantee,
            "unit": estimator.unit_,
            "which_rows": describe_rows_of_releases(estimator.releases_),
            "releases": len(estimator.releases_),
            "columns": columns,
            "recorded": book is not None,
            "name": place,
            "left": left,
            "found": None if grid is None else [dict(zip(grid.head, row, strict=True)) for row in grid.rows],
        },
        [
            facts_table(
                {
                    "model": kind,
                    "fitted to": describe_rows_of_releases(estimator.releases_),
                    "guarantee": f"{guarantee}, for {'each row' if estimator.unit_ == 'row' else estimator.unit_}",
                    "recorded as": place,
                    "left": left,
                    "written to": out,
                }
            ),
            *([] if grid is None else [grid]),
        ],
    )
