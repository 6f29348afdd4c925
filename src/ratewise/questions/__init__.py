"""Plan, draw and estimate for each question: the mean, comparisons, slices, regressions, quantiles, leaderboards."""
