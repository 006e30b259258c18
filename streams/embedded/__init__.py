"""A Redis of one's own, for a desk."""
