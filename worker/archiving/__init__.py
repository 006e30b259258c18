"""Logs → round files."""
