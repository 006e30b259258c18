"""Archived rounds → sealed segments."""
