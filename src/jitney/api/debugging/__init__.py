"""Callbacks of Python, the debugger, and profiles of memory."""
