"""Models, by family: how parameters follow from releases.

Imports these rooms, and may import any other above it: ``arguments``, ``notebook``, ``threads``, ``guarantees``,
``noise``, ``records``, ``queries``, ``door``, ``planning``, ``em``.

This room guarantees that a model is a pure function of public numbers: parameters come from releases, and any finite
release gives valid parameters. What a row contributes, with its bound and proof, is in ``queries``. A family may use
another family.
"""
