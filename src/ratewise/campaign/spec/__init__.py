"""CAMPAIGN.toml: what may stand in it, how it is read, and what may change on the way."""
