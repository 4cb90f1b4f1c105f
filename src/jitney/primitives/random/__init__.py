"""PRNG keys and random bits."""
