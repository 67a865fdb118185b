"""Signal processing and machine learning with differential privacy: Sarwate and Chaudhuri (2013)."""
