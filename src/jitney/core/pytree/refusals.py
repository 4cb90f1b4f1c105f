"""Errors of pytree traversals: each function raises one."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol


class Kind(Protocol):
    """The attributes of `registry.Kind` that messages use."""

    type: Any
    family: str


_NAMES = {"tuple": "Tuple", "list": "List", "namedtuple": "Named tuple"}


def keys(tree: dict[Any, Any], error: Exception) -> NoReturn:
    """Raises ValueError, as the keys of a dictionary cannot be sorted."""
    raise ValueError(
        "Comparator raised exception while sorting pytree dictionary keys: "
        f"{list(tree)} cannot be put in order ({error})."
    ) from error


def type_(kind: Kind, tree: object) -> NoReturn:
    """Raises ValueError, as another type is found where the prefix has a container of `kind`."""
    match kind.family:
        case "none":
            raise ValueError(
                f"Expected None, got {tree!r}.\n\nNone is a container without children, not a "
                "leaf, so it only matches None. To treat it as a leaf, pass is_leaf=lambda x: x "
                "is None."
            )
        case "tuple" | "list" | "dict":
            raise ValueError(f"Expected {kind.family}, got {tree!r}.")
        case "namedtuple":
            if not (hasattr(tree, "_fields") and isinstance(tree, tuple)):
                raise ValueError(f"Expected named tuple, got {tree!r}.")
            raise ValueError(
                f"Named tuple type mismatch: expected type: {kind.type}, tuple: {tree!r}."
            )
        case _:
            raise ValueError(
                f"Custom node type mismatch: expected type: {kind.type}, value: {tree!r}."
            )


def arity(kind: Kind, got: int, expected: int, tree: object) -> NoReturn:
    """Raises ValueError, as a container has another number of children than in the prefix."""
    raise ValueError(
        f"{_NAMES.get(kind.family, 'Custom type')} arity mismatch: {got} != {expected}; "
        f"{_NAMES.get(kind.family, 'value').lower()}: {tree!r}."
    )


def data(kind: Kind, expected: Any, got: Any, tree: object) -> NoReturn:
    """Raises ValueError, as a container has other static data than in the prefix."""
    if kind.type is dict:
        raise ValueError(
            f"Dict key mismatch; expected keys: {list(expected)}; present keys: {list(got)}."
        )
    what = "dataclass " if kind.family == "dataclass" else ""
    raise ValueError(f"Mismatch custom {what}node data: {expected!r} != {got!r}; value: {tree!r}.")


def comparison(kind: Kind | None, error: Exception) -> NoReturn:
    """Raises ValueError, as static data cannot be compared."""
    name = "" if kind is None else f" {kind.type.__name__}"
    raise ValueError(
        f"Exception raised while checking equality of metadata fields of pytree{name}: {error} "
        "Static data must be comparable; store arrays in fields that are children."
    ) from error
