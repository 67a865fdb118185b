"""Counts: of rows, categories, cells of a grid, and the margins of a table."""
