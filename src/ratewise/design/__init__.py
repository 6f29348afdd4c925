"""What to buy next, given everything bought. Pure: arrays and records in, records out."""
