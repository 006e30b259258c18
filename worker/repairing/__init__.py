"""Mends quarantined streams."""
