"""Checks Redis and the archive against each other."""
