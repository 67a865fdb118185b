"""Estimators in the manner of scikit-learn, one class a file: thin shells over ``models``.

Where to look: ``base`` opens rows and runs a method (``labelled`` with a target, ``table_estimator`` for tables);
``persistence`` saves and loads, ``loading`` reads a file of any kind; ``scoring`` has private scores;
``table_declaration`` and ``table_rules`` what is known of a synthetic table.

Imports these rooms, and may import any other above it: ``arguments``, ``plain``, ``notebook``, ``guarantees``,
``noise``, ``records``, ``scales``, ``queries``, ``door``, ``em``, ``model_check``, ``models``, ``plots``,
``statistics``.

This room guarantees that what is refused is refused before anything is spent, and that a fitted estimator keeps nothing
but what follows from its releases.
"""
