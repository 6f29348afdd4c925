"""The labelling page and the live view: a client of the queue that people reach with a browser."""
