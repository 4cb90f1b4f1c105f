"""Compiled programs on disk, and files that only the user can have written."""
