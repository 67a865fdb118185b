"""The curator: holds the rows, their declarations, and the ledger that every measurement is charged to.

Measurements leave through ``discreet.door.exit``, for which the curator plans and pays. A curator is a handle: copying
it returns the same object, and a pickle opens the same ledger, so every fit is charged.

``open_rows`` makes a curator from the ``data`` argument of a public function. A ``Curator`` is returned as it is, and
it is an error to declare anything again. Other data goes through ``discreet.records.open_records``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.door.exit import release
from discreet.door.release import PublicSize, Release, as_printable
from discreet.door.schedule import Schedule
from discreet.guarantees import Guarantee, Loss, Neighbors
from discreet.guarantees.caution import warn_if_weak
from discreet.ledger import Ledger
from discreet.ledger.book import check_text
from discreet.ledger.unanswered import answering
from discreet.noise import Bits, SecureBits
from discreet.queries.bound import Setting
from discreet.queries.mechanism import Mechanism, Plan, mechanism_for
from discreet.queries.question import Question
from discreet.records import Ball, Bounds, Box, Condition, Records, Schema, Unit, as_records, open_records

AT_MOST = 2**27
MOST_WORDS = 900  # letters of a note in the ledger
IDENTIFYING = ("columns", "space", "category_columns", "categories", "unit")  # declarations that a copy shares
NAMELESS = re.compile(r"(unit|x\d+)_*")  # the names that records give to a column of ids without a name


@dataclass
class ImmediatePayment:
    """Payment for one measurement at the time of the measurement."""

    curator: Curator
    query: Question
    loss: Loss | Guarantee

    def pay(self, plan: Callable[[Any], Plan]) -> tuple[Plan, bool]:
        """Return the plan, after the ledger has recorded its loss."""
        result = plan(self.loss)
        stated = self.loss if isinstance(self.loss, Guarantee) else None
        return result, self.curator._charge("spend", [result.loss], self.query.name, stated)


class Curator:
    """Private rows with their declarations and their ledger.

    Parameters
    ----------
    records : array, dataframe, Parquet path, Dask collection or Records
        The rows. Missing values and values that are not numbers are handled as declared, never reported.
    space : Box or Ball
        Declared bounds, if all columns are numeric; otherwise give a
    schema : Schema
        with the declared columns.
    name : str
        The data set's name in the ledger. All curators of the same data must use the same name.
    neighbors : Neighbors or str
        ``"replace-one"`` (default) or ``"add-remove"``.
    budget : Guarantee
        A limit on everything that is ever released under this name; needs a ledger. It is set once. Later it must be
        equal to the one in the ledger.
    ledger : Ledger, path or URL
        Where spends are recorded. None: nothing is recorded, and every release says so.
    unit : str, int or array
        The column with the id of the person that a row belongs to, where a person may have several rows (for an array:
        the column's number, or the ids themselves); together with
    max_rows : int
        how many rows of one unit count. A public rule chooses them from that unit's own declared rows.
    unit_type : str
        The type of the ids: ``"text"`` (default) or ``"integer"``. Rows whose id cannot be read as this type are left
        out.
    order : str
        A declared column of numbers or dates: the first rows of each unit in this order count.
    unit_name : str
        What a unit is ("patient"), for the ledger; by default the name of its column.
    at_most : int
        A public bound on the number of rows, where that number is not public (add-remove, or several rows per person).
        It only enters the bound on float error and the size of the grid. If there are more rows, an error is raised at
        once, since the declaration was wrong. So the owner of the data chooses it, never an analyst (docs/limits.md).
    who : str
        Who spends, for the ledger; by default the name of the account.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Box, Curator, GaussianLoss, Sum
    >>> rows = np.random.default_rng(0).normal(50.0, 10.0, (1000, 1))
    >>> curator = Curator(rows, space=Box(0.0, 100.0))
    >>> release = curator.measure(Sum(curator.space), GaussianLoss(0.5))
    >>> mean = curator.space.from_unit(release["sum"] / 1000)
    >>> print(round(float(mean[0]), -1))
    50.0
    """

    name: str | None
    neighbors: Neighbors
    unit: str
    ledger: Ledger | None
    space: Any
    columns: tuple[str, ...]
    scales: tuple[str, ...]
    category_columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    backend: str | None
    chosen: frozenset[str] | None = None  # the columns that ``only`` named
    _records: Records
    _at_most: int
    _who: str | None
    _note_text: str | None = None
    _paid: Schedule | None = None
    _stated: Guarantee | None = None

    def __init__(
        self,
        records: Any,
        *,
        space: Box | Ball | None = None,
        schema: Schema | None = None,
        name: str | None = None,
        neighbors: Neighbors | str = Neighbors.REPLACE_ONE,
        budget: Guarantee | None = None,
        ledger: Ledger | str | None = None,
        unit: Any = None,
        max_rows: int | None = None,
        unit_type: str | None = None,
        order: str | None = None,
        unit_name: str | None = None,
        at_most: int = AT_MOST,
        who: str | None = None,
    ) -> None:
        relation = Neighbors.parse(neighbors)
        if ledger is not None and not name:
            raise ArgumentError("name", name, "the data set's name, under which the ledger records what is spent")
        if budget is not None and ledger is None:
            raise ArgumentError("ledger", None, "a ledger (a path is enough) that keeps the budget across sessions")
        if not isinstance(budget, Guarantee | None):
            raise ArgumentError("budget", budget, "a Guarantee, for example Guarantee(1.0, 1e-6)")
        if budget is not None and budget.neighbors is not relation:
            raise ValueError(f"budget={budget}: expected one under {relation}, the curator's relation")
        most = integer("at_most", at_most, least=1, most=2**45)
        rows = as_records(
            records, space=space, schema=schema, unit=unit, max_rows=max_rows, unit_type=unit_type, order=order
        )
        self._set(
            rows,
            name=None if name is None else check_text("name", name),
            neighbors=relation,
            unit=_name_unit(rows.unit, unit_name, ledger is not None),
            ledger=ledger if isinstance(ledger, Ledger | None) else Ledger(ledger),
            _who=None if who is None else check_text("who", who),
            _at_most=most,
        )
        if not self._size_is_public and rows.rows > most:
            raise ArgumentError("at_most", at_most, "a public bound that the number of rows does not exceed")
        if self.ledger is not None:
            limit = self.ledger.open_dataset(
                check_text("name", name), unit=self.unit, budget=budget, who=self._who, declared=_digest(self.declared)
            )
            if limit is not None:
                self._warn_if_weak(limit.guarantee)

    def _set(self, records: Records, **values: Any) -> None:
        """Set the attributes: the given ones, the rows, and the declarations of the rows."""
        declared = ("space", "columns", "scales", "category_columns", "categories", "backend", "named")
        vars(self).update(values | {name: getattr(records, name) for name in declared} | {"_records": records})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: a curator does not change; make another, or take a view with only or where")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    @property
    def declared(self) -> dict[str, Any]:
        """The declarations of the rows as plain values, and which rows count; public."""
        unit = self._records.unit
        return self._records.declared | {"unit_name": None if unit is None else self.unit.removeprefix("each ")}

    @property
    def _size_is_public(self) -> bool:
        return self.neighbors is Neighbors.REPLACE_ONE and self._records.unit is None

    @property
    def size(self) -> PublicSize:
        """What is public about the size of the data."""
        if self.neighbors is Neighbors.ADD_REMOVE:
            return PublicSize(None, False)
        units = self._records.rows if self._records.unit is None else self._records.units
        return PublicSize(units, self._records.complete)

    @property
    def setting(self) -> Setting:
        """The public facts that a mechanism plans with.

        Under replace-one the number of units is public, and at most ``max_rows`` rows of each count. ``at_most`` bounds
        the rows wherever their number is not public.
        """
        records, units = self._records, self.size.units
        rows = self._at_most if units is None else max(units * records.max_rows, 1)
        rows = rows if self._size_is_public else min(rows, self._at_most)
        return Setting(self.neighbors, records.max_rows, rows, records.block_rows, records.complete)

    def only(self, columns: Collection[str]) -> Curator:
        """Return a curator of the same rows, name and ledger that reads only some of the columns.

        A row with a missing value in another column then counts. Statistics use this themselves.
        """
        return self._view(self._records.only(columns), chosen=frozenset(columns))

    def where(self, condition: str | Condition) -> Curator:
        """Return a curator of the same name and ledger in which only rows that satisfy a condition count.

        The condition is public, and every release contains it. It depends on one row alone, as that row is declared
        (``Records.where``), so all bounds stay the same, and the budget is that of all rows. The number of remaining
        rows is private, also under replace-one. A condition that no declared row can meet is refused.

        Parameters
        ----------
        condition : str or Condition
            Comparisons of declared columns, in Python's syntax (``Condition.parse``).

        Examples
        --------
        >>> import numpy as np
        >>> from discreet import Category, Curator, Number, Schema
        >>> schema = Schema({"age": Number(0, 120), "smokes": Category([False, True])})
        >>> curator = Curator(np.array([[30, 0], [17, 1], [70, 0]]), schema=schema)
        >>> curator.where("18 <= age < 65 and smokes != True").declared["where"]
        'age >= 18 and age < 65 and smokes != True'
        """
        return self._view(self._records.where(condition).check_condition())

    def on_log_scale(self, columns: Collection[str]) -> Curator:
        """Return a curator of the same rows that reads some columns, all with bounds above 0, on a log scale."""
        return self._view(self._records.on_log_scale(columns))

    def states(self) -> Curator:
        """Return a curator of the state of each cell under the declaration (``Records.states``)."""
        return self._view(self._records.states())

    def persons(self) -> Curator:
        """Return a curator with one row per person: that person's number of rows (``Records.persons``)."""
        return self._view(self._records.persons())

    def counting(self) -> Curator:
        """Return a curator for counting the rows: missing values drop none, except in columns of a condition."""
        return self._view(self._records.counting())

    def with_gaps(self) -> Curator:
        """Return a curator of the same rows in which a gap is a category, and drops no row (``Records.with_gaps``)."""
        return self._view(self._records.with_gaps())

    def with_indicators(self, names: Collection[str]) -> Curator:
        """Return a curator in which categories are columns of 0 and 1 (``Records.with_indicators``)."""
        return self._view(self._records.with_indicators(names))

    def with_note(self, note: str) -> Curator:
        """Return a curator of the same rows whose measurements are recorded in the ledger with this note."""
        return self._view(self._records, _note_text=note)

    def stating(self, guarantee: Guarantee) -> Curator:
        """Return a curator of the same rows whose next payment is known to cost this guarantee.

        It is what a warning is about. Without it, the guarantee is computed from the losses.
        """
        return self._view(self._records, _stated=guarantee)

    def paid_by(self, schedule: Schedule) -> Curator:
        """Return a curator of the same rows whose measurements are paid by a schedule, in its order.

        So several questions share one payment: all of them are admitted, or none. The schedule must be for the same
        data set, ledger and unit.
        """
        if not isinstance(schedule, Schedule):
            raise ArgumentError("schedule", schedule, "what a curator's reserve returned")
        payer = schedule.curator
        mine, theirs = ((one.name, one.ledger, one.unit, one.neighbors) for one in (self, payer))
        if mine != theirs or self._records.kind != payer._records.kind:
            raise ArgumentError(
                "schedule", UNSHOWN, "one that a curator of these rows has reserved; reserve another one"
            )
        return self._view(self._records, _paid=schedule)

    def _view(self, records: Records, **changed: Any) -> Curator:
        """Return a curator of these records, with some attributes changed."""
        view = object.__new__(Curator)
        view._set(records, **vars(self) | changed)
        return view

    def plan(
        self,
        query: Question,
        loss: Loss | Guarantee,
        mechanism: Mechanism | None = None,
        bits: Bits | None = None,
    ) -> Plan:
        """Return the cost of a measurement and its draw, from public numbers; nothing is spent.

        Every refusal happens here, before anything is spent. The arguments are those of ``measure``.
        """
        if not isinstance(bits, Bits | None):
            raise ArgumentError("bits", bits, "SeededBits, for a test, or None")
        if bits is not None and type(bits) is not SecureBits and self.ledger is not None:
            expected = "None where there is a ledger; noise from a seed reveals the exact sum"
            raise ArgumentError("bits", UNSHOWN, expected)
        if not isinstance(query, Question):
            raise ArgumentError("query", query, "a Query, for example Sum(curator.space)")
        if not isinstance(mechanism, Mechanism | None):
            raise ArgumentError("mechanism", mechanism, "a Mechanism, for example Euclidean(), or None")
        if isinstance(loss, Guarantee):
            loss = query.default_loss(loss)
        if not isinstance(loss, Loss):
            raise ArgumentError("loss", loss, "what to spend, for example Guarantee(0.5, 1e-6) or GaussianLoss(0.1)")
        if loss.neighbors is not self.neighbors:
            raise ArgumentError("loss", loss, f"one under {self.neighbors}, the curator's relation")
        if query.dimension not in (0, len(self.columns)):
            expected = f"one over {len(self.columns)} numeric columns, got {query.dimension}"
            raise ArgumentError("query", query.name, expected)
        query.check(self.space, self.categories)
        setting = self.setting
        facts = query.facts(setting)
        plan = (mechanism or mechanism_for(query, loss)).plan(query, loss, setting)
        if query.facts(setting) != facts:
            expected = "one whose bound does not change while it is planned: an immutable query"
            raise ArgumentError("query", query.name, expected)
        if plan.kind == "approximate" and self.ledger is not None:
            expected = "an exact draw where there is a ledger; nothing is proved about this one"
            raise ArgumentError("query", query.name, expected)
        return replace(plan, facts=facts)

    def measure(
        self,
        query: Question,
        loss: Loss | Guarantee,
        *,
        mechanism: Mechanism | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """Measure a query with noise, and pay for it.

        Parameters
        ----------
        query : Query
        loss : Guarantee or Loss
            What to spend. A ``Guarantee`` means Gaussian noise, or Laplace noise at δ = 0 (for a selection, the
            exponential mechanism). A loss chooses the noise: ``GaussianLoss`` or ``LaplaceLoss`` for a sum,
            ``BoundedRangeLoss`` (exponential mechanism) or ``PureLoss`` (noisy maximum) for a selection.
        mechanism : Mechanism
            Another mechanism, with its own proof; by default the one for this query and loss (``mechanism_for``).
        bits : Bits
            Seeded bits, for tests. They cause a warning, the release is marked as simulated, and a curator with a
            ledger refuses them: anyone who knows the seed knows the exact sum.

        Returns
        -------
        Release
        """
        with answering():
            return release(self, query, ImmediatePayment(self, query, loss), mechanism=mechanism, bits=bits)

    def reserve(self, losses: Loss | Iterable[Loss], *, query: str) -> Schedule:
        """Pay for a fixed list of losses at once, at their exact composed cost, and return the schedule.

        So an estimator that was calibrated to (ε, δ) fits into an unused budget of the same (ε, δ).
        """
        if not isinstance(query, str):
            raise ArgumentError("query", query, "a text, for the ledger")
        return Schedule(self, losses, query)

    def _charge(self, kind: str, losses: Sequence[Loss], query: str, guarantee: Guarantee | None = None) -> bool:
        """Record losses in the ledger as a ``"spend"`` or a ``"reserve"``, and return whether there is a ledger.

        Every payment passes here, so this is where a weak guarantee is warned of, before it is recorded. ``guarantee``
        is that of the losses, where the caller knows it.

        If no id can be read, an error is raised and nothing is spent. The number of units is public under replace-one.
        """
        unit = self._records.unit
        if self.neighbors is Neighbors.REPLACE_ONE and unit is not None and self._records.units == 0:
            other = "text" if unit.unit_type == "integer" else "integer"
            raise ValueError(
                f"unit={unit.column!r}: no row has a name that can be read as {unit.unit_type}, so none would "
                f"count; write unit_type={other!r}, or the column that says whose row it is"
            )
        if self._paid is not None:
            return self._paid.take(losses)
        self._warn_if_weak(guarantee or self._stated or losses)
        if self.ledger is None:
            return False
        record = self.ledger.spend if kind == "spend" else self.ledger.reserve
        record(check_text("name", self.name), losses, query=self._note(query), unit=self.unit, who=self._who)
        return True

    def _warn_if_weak(self, spent: Guarantee | Sequence[Loss]) -> None:
        """Warn where a guarantee, or the one of losses, is weak for the public number of units."""
        unit = "record" if self.unit == "row" else self.unit.removeprefix("each ")
        warn_if_weak(spent, self.size.units, unit)

    def _note(self, query: str) -> str:
        """Return the note for the ledger: the question, and the condition on the rows."""
        condition = self._records.condition
        note = self._note_text or (query if condition is None else f"{query} where {condition}")
        shown = as_printable(note).strip()
        return check_text("query", shown if len(shown) <= MOST_WORDS else shown[:MOST_WORDS] + "…")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        where = "no ledger: nothing is recorded" if self.ledger is None else repr(self.ledger)
        return f"<Curator of {self.name or 'unnamed data'}, {self.neighbors}, {self._records!r}, {where}>"


def _digest(declared: Mapping[str, Any]) -> str | None:
    """Return a digest of how columns are declared, by which a copy may be recognized; None for columns without names.

    Two arrays of numbers within the same bounds say nothing about each other.
    """
    names = [*declared["columns"], *declared["category_columns"]]
    if all(NAMELESS.fullmatch(name) for name in names):
        return None
    text = json.dumps([declared[one] for one in IDENTIFYING], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _name_unit(unit: Unit | None, name: str | None, needed: bool) -> str:
    """Return the name of the unit for the ledger, which distinguishes units by their names."""
    if unit is None:
        if name is not None:
            raise ArgumentError("unit_name", name, "None where each row stands for itself")
        return "row"
    if not isinstance(name, str | None):
        raise ArgumentError("unit_name", name, "what the unit is, for example 'patient'")
    if name is None and needed and NAMELESS.fullmatch(unit.column):
        expected = (
            "what the unit is, for example 'patient', since its column has no name of its own; the ledger compares "
            "it to see whether two curators protect the same units"
        )
        raise ArgumentError("unit_name", None, expected)
    return check_text("unit_name", f"each {name or unit.column}")


class Declarations(TypedDict, total=False):
    """Declarations about rows, as keyword arguments.

    bounds : (low, high), list of such pairs, Box, Ball, or mapping of a column's name to a pair or a Number
        The range of the numbers; public, never computed from the rows. One pair is for all columns, a list has one pair
        for each column. With a mapping, only the named columns are read.
    classes : mapping of a column's name to a list, or a Category
        Categorical columns and their categories, beside bounds by name.
    schema : Schema
        In place of both, for missing values to be filled, or several rows per person.
    neighbors : str
        ``"replace-one"`` (the default; the number of rows is public) or ``"add-remove"``.
    unit, max_rows, unit_type, order
        The person that a row belongs to, and which rows of a person count, as in ``Curator``.
    """

    bounds: Bounds | None
    classes: Any
    schema: Schema | None
    neighbors: Neighbors | str | None
    unit: Any
    max_rows: int | None
    unit_type: str | None
    order: str | None


def open_rows(data: Any, **declared: Any) -> Curator:
    """Return a curator of the given data with these declarations, or the given curator.

    Parameters
    ----------
    data : Curator, Records, array of one or two dimensions, data frame, series, path of Parquet files, Dask collection
    declared
        See ``Declarations``.

    Examples
    --------
    >>> open_rows([20.0, 35.0, 50.0], bounds=(0, 120))
    <Curator of unnamed data, replace-one, Records(numpy array, columns=('x0',), space=Box(low=(0.0,), ...
    """
    unknown = sorted(declared.keys() - Declarations.__annotations__.keys())
    if unknown:
        hint = "; for a condition write Curator(data, schema=…).where('age >= 18')" if "where" in unknown else ""
        raise TypeError(
            f"{unknown[0]}: not an argument; what can be declared is {', '.join(Declarations.__annotations__)}{hint}"
        )
    given = {name: value for name, value in declared.items() if value is not None}
    relation = given.pop("neighbors", None)
    if isinstance(data, Curator):
        if given:
            raise ValueError(f"{next(iter(given))}: expected None, since the curator has declarations of its own")
        if relation is not None and Neighbors.parse(relation) is not data.neighbors:
            raise ArgumentError("neighbors", relation, f"None, or the curator's {data.neighbors}")
        return data
    neighbors = Neighbors.REPLACE_ONE if relation is None else Neighbors.parse(relation)
    return Curator(open_records(data, **given), neighbors=neighbors)
