"""LLM judges over HTTP: templates, prompts, one client, the source of their probability, strict parsing, prices."""
