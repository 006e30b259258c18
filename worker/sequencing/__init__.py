"""Inbox → logs."""
