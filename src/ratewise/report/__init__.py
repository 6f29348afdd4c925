"""Results → text, JSON, HTML, pictures."""
