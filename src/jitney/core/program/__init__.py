"""Jaxprs as data: their grammar, type checker, printer, interpreter and analyses."""
