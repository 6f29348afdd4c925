"""Texts as columns to learn from: words, embeddings or the user's own vectors, each text worked out once."""
