"""Pytrees: nested containers, their structure, paths through them, and classes that may be nodes."""
