"""Times of this package and of real jax, side by side: `python -m benchmarks`; see README.md."""
