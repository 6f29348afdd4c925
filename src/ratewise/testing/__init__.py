"""What users may rehearse with: a judge server on this machine that costs nothing."""
