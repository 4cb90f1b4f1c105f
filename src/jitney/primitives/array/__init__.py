"""Creation, joining and reshaping of arrays, and identity operations."""
