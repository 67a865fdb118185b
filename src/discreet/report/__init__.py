"""Reports: one HTML file about a fitted model, with its guarantee, its parameters, and how to verify both.

Where to look: ``document`` puts the file together, with all text escaped; ``guarantee_text`` and ``verification`` are
its sections, ``figures`` its pictures; ``not_private`` and ``synthetic_rows`` compare with the owner's rows.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``ledger``, ``records``,
``scales``, ``door``, ``planning``, ``plots``, ``estimators``, ``inference``.

What this room guarantees: a report is made from public attributes, releases and ledger entries, so it reveals nothing
that was not released. The one exception is a comparison with rows that their owner passes in; such a file says in large
letters that it is not private. All text is escaped, whatever the names of columns. The file makes no network request. A
model whose noise came from a seed is refused.
"""

from discreet.report.document import Report, write_report

__all__ = ["Report", "write_report"]
