"""Retrospective experiments and made-up worlds."""
