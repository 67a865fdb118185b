"""M-estimators, and the influence of single points on estimators."""
