"""Structured control flow: `cond`, `while_loop`, `scan` and functions built on them."""
