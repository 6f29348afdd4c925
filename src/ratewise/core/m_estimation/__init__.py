"""M-estimation: losses, Newton's method, regressions, quantiles, Bradley–Terry. Stands on the mean."""
