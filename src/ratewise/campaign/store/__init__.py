"""Where a campaign is kept: the only place with SQL."""
