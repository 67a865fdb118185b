"""``StatisticalDatabase``: a table that answers aggregate questions with noise, within a budget."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.database.budget_shares import BudgetShares
from discreet.database.pricing import Priced, Pricing, Reply
from discreet.database.questions import QUESTIONS, Draft, Drafting, Questions, check_share
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.door.release import describe_rows
from discreet.guarantees import Guarantee, Neighbors
from discreet.ledger import Ledger
from discreet.ledger.dataset_limits import BudgetExceeded, Preview
from discreet.ledger.unanswered import answering
from discreet.records import Bounds, Schema, Table, dataset_name, open_records
from discreet.statistics.request import Request, log_error

DEFAULT_SHARE = 0.1
WHOLE = 1.0 - 1e-6  # a share that leaves nothing to ask for


class StatisticalDatabase(Questions[Reply]):
    """A table behind the door, with a budget: it answers aggregate questions with noise until the budget is spent.

    Answers are those of ``discreet.statistics``. Sums and moments are computed inside the database, where the SQL clips
    values and limits the rows of a person. No text that an analyst writes reaches it. The time that an answer takes may
    depend on the rows: the guarantee does not cover timing.

    Parameters
    ----------
    data : path, URL, Table, data frame, or Records
        A Parquet file (or a folder of them), a CSV, Arrow or DuckDB file, the URL of a PostgreSQL database; see
        ``discreet.Table``. Data frames and ``Records`` are read where they are.
    bounds : mapping of str to (low, high), Number or Date
        The columns of numbers and dates, with their bounds: public, never taken from the rows. If all columns are
        numbers, also (low, high), a list of such pairs, a Box or a Ball.
    classes : mapping of str to list, or Category
        The columns of categories, with their values.
    schema : Schema
        The declaration of all columns, in place of ``bounds`` and ``classes``.
    budget : Guarantee
        What all answers together may cost, for ever. The ledger keeps it; None where the ledger already has it.
    ledger : Ledger, path or URL
        Where every answer is recorded before it is given.
    name : str, optional
        The data set's name in the ledger. By default the name of the file or folder, with links followed, up to its
        first dot; for a table of a database ``schema.table``. All databases on the same data must use the same name.
    table : str, optional
        The name of the table, where ``data`` holds several.
    per_unit : bool
        For a view: the owner's assertion that each of its rows is made from one person's rows, as in ``Table``.
    neighbors : str, optional
        ``"replace-one"`` (the number of rows is public) or ``"add-remove"``; by default that of the budget.
    unit, max_rows, unit_type, order : str, int, str, str
        The column that identifies a row's person, where a person may have several rows, and how many of them count.
    unit_name, at_most, who
        As in ``Curator``.
    share : float
        The share of the budget that a question takes if it gives neither ``epsilon`` nor ``share``.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, pandas as pd, discreet as dp
    >>> rng = np.random.default_rng(0)
    >>> clinic = pd.DataFrame({"age": rng.uniform(20, 80, 5000), "diabetic": rng.integers(0, 2, 5000)})
    >>> folder = tempfile.TemporaryDirectory()
    >>> clinic.to_parquet(os.path.join(folder.name, "clinic.parquet"))
    >>> db = dp.StatisticalDatabase(
    ...     os.path.join(folder.name, "clinic.parquet"), bounds={"age": (0, 120)}, classes={"diabetic": [0, 1]},
    ...     budget=dp.Guarantee(1.0, 1e-6), ledger=os.path.join(folder.name, "clinic.ledger"))
    >>> result = db.mean("age", by="diabetic", share=0.25)
    >>> result.value.round(-1).tolist(), result.cost
    ([50.0, 50.0], 'mean of age by diabetic: (ε=0.475232, δ=1e-06) replace-one with Gaussian noise, 25.0% of the ...')
    >>> print(db.preview([db.draft.count(where="age > 65"), db.draft.median("age", share=0.2)]))
    count where age > 65: (ε=0.2..., δ=1e-06) replace-one with Gaussian noise, 10.0% of the budget
    median of age: (ε=..., δ=0) replace-one with the exponential mechanism..., ...% of the budget
    together ...% of the budget, of which 75.0% is left; ...% would be left
    >>> folder.cleanup()
    """

    def __init__(
        self,
        data: Any,
        *,
        bounds: Bounds | None = None,
        classes: Mapping[str, Any] | None = None,
        schema: Schema | None = None,
        budget: Guarantee | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        name: str | None = None,
        table: str | None = None,
        per_unit: bool = False,
        neighbors: Neighbors | str | None = None,
        unit: str | None = None,
        max_rows: int | None = None,
        unit_type: str | None = None,
        order: str | None = None,
        unit_name: str | None = None,
        at_most: int | None = None,
        who: str | None = None,
        share: float = DEFAULT_SHARE,
    ) -> None:
        self._share = check_share(share)
        if ledger is None:
            raise ArgumentError(
                "ledger",
                None,
                "a path or a Ledger that records the answers; without it the budget could not be enforced",
                write="for example ledger='clinic.ledger'",
            )
        if budget is not None and not isinstance(budget, Guarantee):
            raise ArgumentError("budget", budget, "a Guarantee", write="budget=dp.Guarantee(1.0, 1e-6)")
        if budget is not None and neighbors is not None and Neighbors.parse(neighbors) is not budget.neighbors:
            raise ArgumentError(
                "neighbors",
                neighbors,
                f"{str(budget.neighbors)!r}, as the budget",
                write=f"for example budget=dp.Guarantee({budget.epsilon:g}, {budget.delta:g}, {neighbors!r})",
            )
        relation = (Neighbors.REPLACE_ONE if budget is None else budget.neighbors) if neighbors is None else neighbors
        if isinstance(data, str | os.PathLike):
            data = Table(data, table, per_unit)
        elif table is not None or per_unit:
            raise ArgumentError("table", table, "None where data is not a path or a URL")
        units = {"unit": unit, "max_rows": max_rows, "unit_type": unit_type, "order": order}
        # Rows in memory are read as declared too, so that errors and types depend on no row.
        records = open_records(data, bounds=bounds, classes=classes, schema=schema, complete=False, **units)
        name = dataset_name(data) if name is None else name
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        most: dict[str, Any] = {} if at_most is None else {"at_most": at_most}
        self._curator = Curator(
            records, name=name, neighbors=relation, budget=budget, ledger=book, unit_name=unit_name, who=who, **most
        )
        self._ledger, self._name = book, name
        limit = self.budget
        if limit.neighbors is not self._curator.neighbors:
            raise ArgumentError(
                "neighbors",
                str(self._curator.neighbors),
                f"{str(limit.neighbors)!r}, the relation of the limit that the ledger has for {name!r}",
            )

    @property
    def curator(self) -> Curator:
        """The curator of the rows, for estimators: their fits spend the same budget."""
        return self._curator

    @property
    def name(self) -> str:
        """The data set's name in the ledger."""
        return self._name

    @property
    def ledger(self) -> Ledger:
        """The ledger in which every answer is recorded; ``db.ledger.history(db.name)`` lists them."""
        return self._ledger

    @property
    def budget(self) -> Guarantee:
        """What all answers together may cost."""
        return self._shares.limit.guarantee

    @property
    def remaining(self) -> float:
        """The share of the budget that is left, from 1 to 0.

        ``ledger.remaining(name)`` has the largest losses that are still admitted.
        """
        return self._shares.left(self._ledger.spent(self._name))

    @property
    def _shares(self) -> BudgetShares:
        """The shares of the limit that is in force now."""
        return BudgetShares.from_ledger(self._ledger, self._name)

    @property
    def draft(self) -> Drafting:
        """The same questions as drafts, which are not asked: for ``preview`` and ``answer``."""
        return Drafting()

    def preview(self, questions: Draft | Iterable[Draft]) -> Pricing:
        """Return the price of questions, one by one and together. Nothing is spent, and no row is read.

        Parameters
        ----------
        questions : Draft or list of Draft
            From ``draft``: ``db.preview([db.draft.mean("age"), db.draft.count(where="age > 65")])``.
        """
        drafts = _as_drafts(questions)
        return self._price(drafts)[0] if drafts else Pricing((), self.remaining, True, self._which_rows)

    def answer(self, questions: Pricing | Draft | Iterable[Draft]) -> list[Reply]:
        """Ask drafted questions, or those of a ``preview``: all of them, or none.

        They are paid for at once, as one entry of the ledger. If the database fails in the middle, the error's
        ``replies`` has the answers so far.

        Raises
        ------
        BudgetExceeded
            If the budget does not admit all of them. Nothing is recorded.
        """
        drafts = [one.draft for one in questions.questions] if isinstance(questions, Pricing) else _as_drafts(questions)
        if not drafts:
            return []
        pricing, inquiries, preview = self._price(drafts)
        if not pricing.admitted:
            raise BudgetExceeded(preview, str(pricing))
        losses = [loss for one in pricing.questions for loss in one.losses]
        view = self._curator.with_note("; ".join(one.draft.description for one in pricing.questions))
        replies: list[Reply] = []
        try:
            with answering():
                paid = view.reserve(losses, query="batch")
                for one, inquiry in zip(pricing.questions, inquiries, strict=True):
                    result = inquiry.run(paid)
                    replies.append(Reply(result, one, self.remaining))
        except Exception as error:
            error.replies = replies  # type: ignore[attr-defined]
            raise
        return replies

    def _price(self, drafts: Sequence[Draft]) -> tuple[Pricing, list[Inquiry[Any]], Preview]:
        """Return the price of questions together, the inquiry of each, and the ledger's preview.

        The ledger would also admit what only the pure filter admits. Shares do not count that, so it is refused here:
        otherwise the remaining share would be wrong.
        """
        shares, known = self._shares, zip(self._curator.columns, self._curator.scales, strict=True)
        scales = {name: scale for name, scale in known if scale != "linear"}
        drafts = [replace(draft, scales=scales) for draft in drafts]
        spent = self._ledger.spent(self._name)
        left, alone = shares.left(spent), len(drafts) == 1 and not spent
        chosen = []
        for number, draft in enumerate(drafts, 1):
            try:
                chosen.append(self._choose(draft, shares, left, alone=alone))
            except ArgumentError as error:
                raise error if len(drafts) == 1 else error.in_question(number, draft.description) from error
            except (TypeError, ValueError) as error:
                if len(drafts) > 1:
                    error.add_note(f"in question {number} ({draft.description})")
                raise
        inquiries = [inquiry for inquiry, _ in chosen]
        priced = [
            Priced(draft, one.guarantee, one.losses, share) for draft, (one, share) in zip(drafts, chosen, strict=True)
        ]
        preview = self._ledger.preview(self._name, [loss for one in priced for loss in one.losses])
        fits = sum(one.share for one in priced) <= left * (1.0 + 1e-9)
        return Pricing(tuple(priced), left, fits and preview.admitted, self._which_rows), inquiries, preview

    def _choose(self, draft: Draft, shares: BudgetShares, left: float, *, alone: bool) -> tuple[Inquiry[Any], float]:
        """Return the inquiry of a question, with Gaussian or Laplace noise, and the share of the budget that it takes.

        The noise is the one of smaller error for its price. Its price is the share, as the ledger adds up losses: with
        k times the noise variance a question takes about 1/k of the share, so what is compared is the variance times
        the share. In a budget with a δ that is Gaussian noise, but for a very large ε. A question that takes the whole
        budget by itself (``alone``: nothing was spent) may use all of ε for Laplace noise, which is smaller for few
        numbers. Where the better one is not admitted, it is the cheaper one. Everything follows from public numbers.
        """
        gaussian = self._request(draft, shares, pure=False)
        first = gaussian.plan()
        share = shares.share(first.losses)
        if gaussian.pure or not gaussian.guarantee.delta:
            return first, share
        try:
            laplace = self._request(draft, shares, pure=True)
            if alone and share >= WHOLE:
                every = replace(laplace.guarantee, epsilon=draft.epsilon or self.budget.epsilon)
                laplace = replace(laplace, guarantee=every)
            second = laplace.plan()
        except ValueError:  # a method that takes Gaussian noise only
            return first, share
        other = shares.share(second.losses)
        if alone and share >= WHOLE and shares.whole(second.losses):
            share, other = min(share, 1.0), min(other, 1.0)
        better = log_error(second) + math.log(other) < log_error(first) + math.log(share)
        if share < other and other > left:
            better = False
        return (second, other) if better else (first, share)

    def _request(self, draft: Draft, shares: BudgetShares, *, pure: bool) -> Request[Any]:
        """Return the request of a question, at its ε or at the largest ε that its share buys; at δ = 0 if ``pure``."""
        view = self._curator.with_note(draft.description)
        view = view if draft.where is None else view.where(draft.where)
        make, delta = QUESTIONS[draft.statistic].request, 0.0 if pure else shares.delta
        request = make(view, **draft.arguments, epsilon=1.0 if draft.epsilon is None else draft.epsilon, delta=delta)
        if draft.epsilon is None:
            return shares.fill(request, self._share if draft.share is None else draft.share, pure=pure)
        return replace(request, guarantee=replace(request.guarantee, delta=0.0)) if request.pure else request

    def _ask(self, draft: Draft) -> Reply:
        pricing, (inquiry,), preview = self._price([draft])
        (priced,) = pricing.questions
        if not pricing.admitted:
            raise self._refusal(priced, preview)
        try:
            with answering():
                return Reply(inquiry.run(), priced, self.remaining)
        except BudgetExceeded as error:  # somebody else has spent the rest in the meantime
            refusal = self._refusal(priced, error.preview)
        raise refusal

    def _refusal(self, priced: Priced, preview: Preview) -> BudgetExceeded:
        words = f"{priced}; {self.remaining:.1%} of it is left"
        if priced.draft.epsilon is not None and self._shares.delta and not priced.guarantee.delta:
            words += " (pure-ε queries are expensive in a Gaussian budget; write share= in its place, or declare δ = 0)"
        return BudgetExceeded(preview, words)

    @property
    def _which_rows(self) -> str | None:
        """The rows from which every question takes its own, in words; None for all. Gaps depend on the question."""
        return describe_rows(self._curator.declared | {"required": []})

    def __repr__(self) -> str:
        left = f"{self.remaining:.1%} of {self.budget} is left for {self._curator.unit}"
        rows = "" if self._which_rows is None else f"; answers are from {self._which_rows}"
        return f"<StatisticalDatabase {self.name!r}: {left}{rows}>"


def _as_drafts(questions: Draft | Iterable[Draft]) -> list[Draft]:
    several = questions if isinstance(questions, Iterable) and not isinstance(questions, Draft) else [questions]
    result = list(several)
    wrong = next((place for place, draft in enumerate(result) if not isinstance(draft, Draft)), None)
    if wrong is not None:
        raise ArgumentError(
            f"questions[{wrong}]", UNSHOWN, "drafts", write="for example [db.draft.mean('age'), db.draft.count()]"
        )
    return result
