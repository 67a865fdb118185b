"""Models: what rows contribute to them, and what follows from releases."""
