"""The running system: a campaign's TOML, the store that keeps every rating and coin, and the engine that spends."""
