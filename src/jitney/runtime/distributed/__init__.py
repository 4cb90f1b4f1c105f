"""Processes on several machines: how they join, and how they exchange data."""
