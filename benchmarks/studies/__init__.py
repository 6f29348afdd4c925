"""Worlds and yardsticks that benchmarks and tests share."""
