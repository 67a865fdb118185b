"""Mixtures of Gaussians, fitted by private expectation maximisation.

May import what ``models`` may. A fit starts in ``cell_search`` (``Adaptive``) or
``joint_release.spread_components`` (``Joint``).
"""
