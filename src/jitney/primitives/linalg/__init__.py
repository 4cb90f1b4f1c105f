"""Contractions, factorizations and linear systems."""
