"""More than one mean: regressions, quantiles, leaderboards, comparisons, slices."""
