"""`ares-worker demo`."""
