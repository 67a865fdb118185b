"""Park, Foulds, Chaudhuri and Welling (2017), DP-EM: private expectation maximisation by noisy moments."""
