"""Withholds credentials from round records."""
