"""The worker process and its command line."""

__all__: tuple[str, ...] = ()
