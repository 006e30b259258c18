"""Recall: searches, shows and exports archived rounds."""
