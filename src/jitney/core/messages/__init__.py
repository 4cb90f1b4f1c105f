"""The format of error messages, and the replacements that they suggest."""
