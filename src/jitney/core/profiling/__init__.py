"""Recorded profiles, and the formats of their files."""
