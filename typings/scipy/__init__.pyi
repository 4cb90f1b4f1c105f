"""The part of SciPy that the compiler uses, annotated; of all else nothing is said."""

from typing import Any

def __getattr__(name: str) -> Any: ...
