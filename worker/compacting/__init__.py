"""Archived events → summaries."""
