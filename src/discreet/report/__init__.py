"""Reports: one HTML file that says which guarantee a model has, what was fitted, and how to check both.

What this room promises: a report is made from public attributes, releases and ledger entries, so it tells nothing that
was not released. The one exception is a comparison with rows that their owner passes in, and such a file says in large
letters that it is not private. All text is escaped, whatever columns are called. The file asks the network for nothing.
A model whose noise came from a seed is refused.

This room may import everything above it, and matplotlib and Jinja.
"""

from discreet.report.document import Report, write_report

__all__ = ["Report", "write_report"]
