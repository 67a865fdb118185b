"""Mixtures over tables with numbers and categories."""
