"""Publishes rounds: durable, in order, never overwritten."""
