"""The application ``discreet``: all of its commands."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Annotated

import typer

from discreet.cli import budget_command, schema_command
from discreet.cli.audit_command import audit
from discreet.cli.compose_command import compose
from discreet.cli.explain_command import explain
from discreet.cli.fit_command import fit
from discreet.cli.infer_command import infer
from discreet.cli.plan_command import plan
from discreet.cli.query_command import query
from discreet.cli.report_command import report
from discreet.cli.sample_command import sample

HELP = """Learning from sensitive continuous data under differential privacy.

\b
A first session:
  discreet schema init people.csv --out people.toml
  (fill in what is public about each column)
  discreet fit mixture people.csv --schema people.toml --components 4 --epsilon 1 --ledger people.ledger --limit 2:1e-6
  discreet sample model.json --rows 1000 --out synthetic.csv
  discreet budget show people.ledger

\b
Exit codes:
  0  success
  1  refused or failed; the message says what to write instead
  2  a mistake in the command
  3  the budget does not admit it; nothing was released
"""


def application(*, fancy: bool) -> typer.Typer:
    """Return the command line.

    Parameters
    ----------
    fancy : bool
        Whether help and errors are shown with colours and boxes, for a terminal.
    """
    app = typer.Typer(
        name="discreet",
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode="rich" if fancy else None,
        pretty_exceptions_enable=False,  # it would show the variables of every frame, including rows
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_discreet)
    app.add_typer(schema_command.commands(), name="schema")
    app.command("fit")(fit)
    app.command("sample")(sample)
    app.command("query")(query)
    app.command("infer")(infer)
    app.command("report")(report)
    app.command("plan")(plan)
    app.command("explain")(explain)
    app.command("compose")(compose)
    app.command("audit")(audit)
    app.add_typer(budget_command.commands(), name="budget")
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"discreet {installed('discreet')}")
        raise typer.Exit


def _discreet(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Parse the options before a command."""
