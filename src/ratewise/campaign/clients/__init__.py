"""Who asks: clients claim questions of the queue and settle what comes of them. None of them decides what to buy."""
