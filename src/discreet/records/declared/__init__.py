"""What is declared of rows: columns, spaces, bounds, conditions, and a schema of all of them."""
