"""Comparisons: differences of two groups, tests of independence, rank tests and trends, each from one release."""
