"""Questions, claims, answers and money of a campaign: the only place with SQL. It knows nobody who plans or rates."""
