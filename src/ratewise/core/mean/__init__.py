"""The mean: policies and their prices, draws, estimates and intervals."""
