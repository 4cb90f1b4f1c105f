"""Type narrowing for the results of users' rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeIs


def is_sequence(x: object) -> TypeIs[list[object] | tuple[object, ...]]:
    """Returns whether `x` is a list or a tuple."""
    return isinstance(x, list | tuple)
