"""Mixtures of Gaussians, fitted by private expectation maximisation.

May import what ``models`` may: any room above it on the map of CONTRIBUTING.md, and the other families of ``models``.
A fit starts in ``cluster_start`` or ``histogram_start`` (``Adaptive``), or in ``joint_release.spread_components``
(``Joint``, and the ``published_dpem``).
"""
