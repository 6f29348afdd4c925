"""Raters of items: one protocol, one file per kind of rater, and a recorded one for tests and demos."""
