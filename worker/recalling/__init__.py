"""Searches of the archive, as commands ask for them."""
