"""Models of one row, a file for each estimator: the prior, density and draws that its posterior is built from."""
