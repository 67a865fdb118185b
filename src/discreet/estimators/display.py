"""``DisplayMixin``: plots and reports of estimators, and their guarantee below scikit-learn's diagram in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.door.release import describe_fit_guarantee, describe_rows_of_releases
from discreet.estimators.plots import plot_model

if TYPE_CHECKING:
    from os import PathLike

LINE = (
    '<p style="margin: 0.4em 0; padding: 0.4em 0.7em; border-left: 4px solid {colour}; font-family: sans-serif; '
    'font-size: 0.9em">{text}</p>'
)


class DisplayMixin:
    """Mixin with ``plot``, ``report`` and the representation in notebooks."""

    _plots: ClassVar[tuple[str, ...]] = ("noise",)

    def plot(self, columns: Sequence[str | int] | None = None, *, what: str | None = None, ax: Any = None) -> Any:
        """Plot the fitted model, from public numbers alone, and return the axes. Needs matplotlib.

        Parameters
        ----------
        columns : sequence of str or int, optional
            The columns of the plot, where that is a choice: two of them, and up to five for ``"pairs"``. By default
            those in which the components, classes or centres differ most.
        what : str, optional
            Which plot; an error lists those of this kind of estimator. By default the most informative one.
        ax : matplotlib axes, optional
            By default those of a new figure.
        """
        return plot_model(self, what, columns).draw(ax)

    def report(
        self,
        path: str | PathLike[str] | None = None,
        *,
        ledger: Any = None,
        name: str | None = None,
        columns: Sequence[str | int] | None = None,
        posterior: Any = None,
        private_rows: Any = None,
        file: str | None = None,
        overwrite: bool = False,
    ) -> Any:
        """Return a report as one HTML file that needs no network: guarantee, model, noise, and how to verify them.

        Parameters
        ----------
        path : str or path, optional
            Where to write it.
        ledger : Ledger or path, optional
            The ledger whose record of the data set's budget is shown.
        name : str, optional
            The data set in the ledger; by default the one that the releases name.
        columns : pair of str or int, optional
            The two columns of the plot.
        posterior : Posterior or True, optional
            The result of ``discreet.infer``; True to infer it now, which takes some time.
        private_rows : array, data frame, or (X, y), optional
            The rows themselves, to compare with a fit without privacy. **A report with them is not private**: it says
            so in large letters, and must not be published.
        file : str, optional
            The model's own file, for the code that verifies the guarantee; by default ``model.json``.
        overwrite : bool
            Whether a file that is at ``path`` already may be replaced.

        Returns
        -------
        Report
            ``html`` is its text, ``save(path)`` writes it.
        """
        # The room ``report`` is below this one, so it is imported by name when it is first needed.
        write = import_module("discreet.report").write_report
        about = {"ledger": ledger, "name": name, "columns": columns, "posterior": posterior, "file": file}
        return write(self, path, private_rows=private_rows, overwrite=overwrite, **about)

    @property
    def which_rows_(self) -> str | None:
        """To which rows it was fitted, in words ("at most 4 rows of each patient"); None where to all of them."""
        return describe_rows_of_releases(self.releases_)  # type: ignore[attr-defined]

    def _guarantee_html(self) -> str:
        """Return a line of HTML with the guarantee, for a notebook; empty before ``fit``."""
        if not hasattr(self, "releases_"):
            return ""
        guarantee, unit = self.guarantee_, str(self.unit_)  # type: ignore[attr-defined]
        text = f"Fitted {describe_fit_guarantee(guarantee, unit, self.releases_)}."
        if guarantee is not None:
            text += f" {guarantee.in_words(unit.removeprefix('each '))}"
        return LINE.format(colour="#d55e00" if guarantee is None else "#0072b2", text=escape(text))

    def _repr_html_inner(self) -> str:
        drawn = _call_private(super(), "_repr_html_inner")
        return (drawn if isinstance(drawn, str) else f"<pre>{escape(repr(self))}</pre>") + self._guarantee_html()

    def _repr_mimebundle_(self, **arguments: Any) -> dict[str, str]:
        """Return scikit-learn's diagram with the guarantee below it; the text alone where there is no diagram."""
        result = _call_private(super(), "_repr_mimebundle_", **arguments)
        bundle = dict(result) if isinstance(result, dict) else {"text/plain": repr(self)}
        if isinstance(bundle.get("text/html"), str):
            bundle["text/html"] += self._guarantee_html()
        return bundle


def _call_private(parent: Any, name: str, **arguments: Any) -> Any:
    """Return the result of a private method of scikit-learn; None where it is gone or has changed.

    A notebook calls it to display a model, which must work even where there is no diagram.
    """
    try:
        return getattr(parent, name)(**arguments)
    except (AttributeError, TypeError, ValueError, ImportError):
        return None
