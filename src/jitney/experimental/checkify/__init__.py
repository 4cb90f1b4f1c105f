"""`jax.experimental.checkify`: runtime checks in jitted functions, with errors as values.

Compiled programs cannot raise exceptions. `checkify` transforms a function such that it returns,
besides its results, an `Error` that states which check failed first. Checks are calls of `check`
in the function and, if requested, automatic checks for NaN, division by zero and out-of-bounds
indices.
"""

from __future__ import annotations

from jitney.core.util.lazy import listing
import functools
from collections.abc import Callable, Collection
from typing import Any, TYPE_CHECKING, TypeVar

from jitney.core.program.jaxpr import DebugInfo
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.pytree import pytrees
from jitney.core.source.source_info import fun_sourceinfo
from jitney.experimental.checkify import rules as _rules
from jitney.experimental.checkify.checker import Checker
from jitney.experimental.checkify.checks import (
    check as check,
    check_error as check_error,
    debug_check as debug_check,
)
from jitney.experimental.checkify.error import (
    DivisionByZeroError as _DivisionByZeroError,
    Error as Error,
    ErrorCategory as ErrorCategory,
    FailedCheckError as _FailedCheckError,
    JaxRuntimeError as JaxRuntimeError,
    NaNError as _NaNError,
    OOBError as _OOBError,
    init_error as init_error,
)
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.core.typing import PyTree

_R = TypeVar("_R")

__dir__ = listing(__name__)

del _rules

user_checks: frozenset[ErrorCategory] = frozenset({_FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({_NaNError})
div_checks: frozenset[ErrorCategory] = frozenset({_DivisionByZeroError})
index_checks: frozenset[ErrorCategory] = frozenset({_OOBError})
float_checks: frozenset[ErrorCategory] = nan_checks | div_checks
automatic_checks: frozenset[ErrorCategory] = float_checks | index_checks
all_checks: frozenset[ErrorCategory] = automatic_checks | user_checks


def checkify(
    f: Callable[..., _R], errors: Collection[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, _R]]:
    r"""Returns a function that computes `f`, and returns the first error of its checks as well.

    Errors are ordered as in the program. Operations after a failed check are still executed. If the
    checked function is differentiated by `grad` or `jvp`, user-defined derivatives (`custom_jvp`,
    `custom_vjp`) are not checked; if `checkify` is applied to a derivative, they are.

    Args:
      f: a function of arrays, which can be jitted. Other arguments are passed through unchanged.
      errors: categories of checks: `user_checks` (calls of `check`), `nan_checks`, `div_checks`,
        `index_checks`, or unions of these: `float_checks`, `automatic_checks`, `all_checks`.

    Returns: a function with the same parameters that returns (error, results).

    Raises:
      ValueError: when the function is called, if a `while_loop` that contains checks has a
        condition that is batched by `vmap`.

    Example:
      >>> from jax.experimental import checkify
      >>> f = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)
      >>> error, _ = f(jnp.arange(3), jnp.array(5))
      >>> print(error.get().replace(": ", ":\n"))
      out-of-bounds indexing of an array with shape (3,):
      index 5 is out of bounds for axis 0, which has size 3.
    """
    categories = frozenset(errors)

    @functools.wraps(f)
    def checked(*args: PyTree, **kwargs: PyTree) -> tuple[Error, _R]:
        trees: list[pytrees.PyTreeDef] = []

        def flat() -> list[Array]:
            leaves, tree = pytrees.tree_flatten(f(*args, **kwargs))
            trees.append(tree)
            return list(map(as_value, leaves))

        jaxpr, _, consts = trace_to_jaxpr(flat, [], DebugInfo("checkify", fun_sourceinfo(f)))
        checker = Checker(categories)
        outs = checker.evaluate(jaxpr, consts, [])
        return checker.error(), trees[-1].unflatten(outs)

    return checked
