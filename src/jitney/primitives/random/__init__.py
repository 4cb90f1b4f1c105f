"""Keys and random bits."""
