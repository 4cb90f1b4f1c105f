"""Sizes of axes that are not numbers: polynomials of variables, and what is known of them."""
