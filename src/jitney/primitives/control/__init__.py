"""Structured control flow: `cond`, `while_loop`, `scan` and what is built on them."""
