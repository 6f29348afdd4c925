"""The mean of a table: plan, draw, estimate, and policies kept in files for new pools."""
