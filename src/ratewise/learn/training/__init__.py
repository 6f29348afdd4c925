"""Raters that are trained on labels: an encoder with a head, or a causal model that answers the judge's prompt."""
