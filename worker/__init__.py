"""The worker process and its command line."""
