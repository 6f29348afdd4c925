"""Models fitted to labels: ratings, errors, calibration, features. They know nothing of rounds or tables."""
