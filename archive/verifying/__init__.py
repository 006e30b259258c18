"""Checks archived rounds against each other and against Redis."""
