"""Mixtures over tables with numbers and categories, for groups of people (``TableMixture``)."""
