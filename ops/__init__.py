"""Metrics, health and logs. Knows no domain package."""
