"""Commits events to their logs: versions checked, exactly once."""
