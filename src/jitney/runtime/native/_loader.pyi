"""Types of the loader of machine code; `_loader.pyx` documents them."""

from collections.abc import Mapping

def can_load_code() -> bool: ...

class CodeImage:
    functions: dict[str, int]

    def __init__(self, data: bytes, known: Mapping[str, int]) -> None: ...
    @property
    def size(self) -> int: ...
