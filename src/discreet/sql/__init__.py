"""Array operations as SQL, so that a database computes the floats that NumPy would.

Where to look: ``traced`` writes down what a kernel does to a row of symbols, ``text`` writes that as SQL.

Imports no other room.

This room guarantees: what a kernel does to a row of symbols (``traced``) is written down as SQL (``text``) that gives
the same floats, summed exactly, or ``NotTraceable`` is raised, and rows are read instead. It knows no table and no
declaration, and never sees a row.
"""
