"""Xi, Kantarcioglu and Inan (2011): the error of Gaussian classes whose means and covariances are private."""
