"""Pure mathematics: NumPy and SciPy in, frozen records out; no files, clock, logging or global random state."""
