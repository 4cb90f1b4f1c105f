"""Concrete arrays: their values, shards, text, donation, and exchange with other packages."""
