"""Shape manipulation, creation and joining of arrays, and identity operations."""
