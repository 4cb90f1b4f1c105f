"""Logs of backward passes: values that users' backward rules report besides cotangents.

A log is a dict from names to pytrees of arrays. Rules in the slot `logged_transpose` return a log,
and `logged_backward_pass` collects the logs. The transpose of a program returns the leaves of its
log after the cotangents, so that entries are results of calls, loops and branches like any others.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from jitney.core.pytree import pytrees
from jitney.transforms.zero import instantiate

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Value

Log: TypeAlias = "dict[Hashable, Any]"
"""The log of a backward pass: a dict from names to pytrees."""


def checked_log(log: object, rule: str) -> Log:
    """Returns a user's log as a dict, which is empty for None.

    Args:
      log: the value that the user's rule returned.
      rule: a description of the rule, for the message.

    Raises:
      TypeError: if `log` is neither a dict nor None. Subclasses of dict are rejected, too, as in
        JAX.
    """
    if log is None:
        return {}
    if type(log) is not dict:
        raise TypeError(
            f"{rule} must return entries of the log of the backward pass as a dict, or None, but "
            f"returned {log!r} of type {type(log)}"
        )
    return cast("Log", log)


def flat_log(log: Log) -> tuple[list[Value], PyTreeDef]:
    """Returns the leaves and the structure of a log; symbolic zeros become arrays."""
    leaves, tree = pytrees.tree_flatten(log)
    return [*map(instantiate, leaves)], tree


def add_entries(log: Log, entries: Log, primitive: Primitive) -> None:
    """Adds entries to a log.

    Args:
      log: the log, which is modified.
      entries: the entries that the transpose of an equation returned.
      primitive: the primitive of that equation.

    Raises:
      ValueError: if the log already has an entry with the same name.
    """
    for name in entries:
        if name in log:
            raise ValueError(
                f"log of a backward pass: each name must occur once, but {name!r} exists already when "
                f"the transpose of {primitive} adds it. If the function is called several times, use "
                "a different name for each call, or call it in lax.scan, which stacks the entries"
            )
    log.update(entries)
