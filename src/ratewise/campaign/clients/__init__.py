"""Clients claim questions from the queue, ask raters and settle the answers. No client decides what to buy."""
