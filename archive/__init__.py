"""Round files: build, publish, read and recall. Synchronous; knows no Redis."""
