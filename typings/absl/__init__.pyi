"""The part of absl-py that its flags for options use, annotated."""
