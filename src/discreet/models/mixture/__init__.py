"""Mixtures of Gaussians, fitted by private expectation maximisation.

May import what ``models`` may: any room above it on the map of CONTRIBUTING.md. A fit starts in ``cluster_start``
(``Adaptive``) or ``joint_release.spread_components`` (``Joint``, and the ``published_dpem``).
"""
