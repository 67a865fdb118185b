"""M-estimators and how far one point can pull an estimator."""
