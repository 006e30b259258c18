"""Erasure on request, everywhere."""
