"""The form of error messages, and the replacements that they suggest."""
