"""Models, by family: how parameters follow from releases.

Where to look: ``method`` is what an estimator runs, ``noisy_estimates`` pools and shrinks by known noise,
``noisy_sums`` limits noisy counts, balls and eigenvalues. Families: ``mixture``, ``table``, ``synthesis``,
``clusters``, ``classes``, ``linear``, ``regression``, ``spectral``.

Imports these rooms, and may import any other above it: ``arguments``, ``notebook``, ``threads``, ``guarantees``,
``noise``, ``records``, ``queries``, ``door``, ``planning``, ``em``.

This room guarantees that a model is a pure function of public numbers: parameters come from releases, and any finite
release gives valid parameters. What a row contributes, with its bound and proof, is in ``queries``. A family may use
another family.
"""
