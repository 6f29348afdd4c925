"""What is fitted to labels: ratings, errors, calibration, features. Knows nothing of rounds or tables."""
