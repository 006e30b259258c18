"""The live view of `ares-worker top`: facts read from Redis, rates between two looks, a screen."""
