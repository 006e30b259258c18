"""Sealed context segments."""
