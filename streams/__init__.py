"""Event logs on Redis Streams: append, read, commit and their protocol."""
