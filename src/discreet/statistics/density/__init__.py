"""Private densities of one column."""
