"""Metrics, health and logs. Knows no domain package."""

__all__: tuple[str, ...] = ()
