"""Keeps the parts of a worker running, and tells how they do."""
