"""The part of llvmlite that the package uses: it has no annotations of its own."""

__version__: str
