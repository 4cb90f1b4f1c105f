"""Which operations are computed together."""
