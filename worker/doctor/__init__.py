"""Looks at Redis, the volume and the settings, and says what to do."""
