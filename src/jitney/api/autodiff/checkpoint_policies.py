"""`jax.checkpoint_policies`: which values `checkpoint` saves for the derivative.

A policy is called with a primitive, the types of its operands and its parameters; it returns true
if the results may be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from jitney.primitives.call.remat_policies import Offloadable, Recompute, Saveable

if TYPE_CHECKING:
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.types.avals import AbstractValue

Policy = Callable[..., Any]


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Saves every value, as a function without `checkpoint` does."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Saves only the arguments of the checkpointed function."""
    return False


_CONTRACTIONS = ("dot_general", "conv_general_dilated", "ragged_dot_general", "scaled_dot")


def _has_batch(params: dict[str, Any]) -> bool:
    numbers = params.get("dimension_numbers")
    if not isinstance(numbers, tuple):
        return False
    pair = cast("tuple[Any, ...]", numbers)
    return len(pair) == 2 and bool(pair[1][0] or pair[1][1])


def dots_saveable(prim: Primitive, *_: Any, **__: Any) -> bool:
    """Saves the results of contractions, which are expensive to recompute."""
    return prim.name in _CONTRACTIONS


def dots_with_no_batch_dims_saveable(prim: Primitive, *_: Any, **params: Any) -> bool:
    """Saves the results of contractions without batch dimensions."""
    return prim.name in _CONTRACTIONS and not _has_batch(params)


def _name(prim: Primitive, params: dict[str, Any]) -> str | None:
    return params["name"] if prim.name == "name" else None


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Returns a policy that saves only values with one of these names."""
    names = frozenset(names_which_can_be_saved)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        return _name(prim, params) in names

    return policy


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Returns a policy that saves all named values except those with these names."""
    names = frozenset(names_not_to_save)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        name = _name(prim, params)
        return name is not None and name not in names

    return policy


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Returns a policy that saves every value, named or not, except those with these names."""
    names = frozenset(names_not_to_save)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        return _name(prim, params) not in names

    return policy


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Returns a policy that saves a value if at least one of two policies does."""

    def policy(prim: Primitive, *args: AbstractValue, **params: Any) -> object:
        return policy_1(prim, *args, **params) or policy_2(prim, *args, **params)

    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Returns a policy that offloads the results of contractions without batch dimensions."""

    def policy(prim: Primitive, *args: AbstractValue, **params: Any) -> object:
        if dots_with_no_batch_dims_saveable(prim, *args, **params):
            return Offloadable(offload_src, offload_dst)
        return Recompute

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Returns a policy that saves values with some names, and offloads values with others.

    Raises:
      ValueError: if a name is in both lists.
    """
    saved, offloaded = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    if saved & offloaded:
        raise ValueError(
            f"a name can be saved or offloaded, not both, but {sorted(saved & offloaded)} are in "
            "both `names_which_can_be_saved` and `names_which_can_be_offloaded`"
        )

    def policy(prim: Primitive, *_: Any, **params: Any) -> object:
        name = _name(prim, params)
        if name in saved:
            return Saveable
        return Offloadable(offload_src, offload_dst) if name in offloaded else Recompute

    return policy


checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)
