"""Builds and connects every object of a worker."""
