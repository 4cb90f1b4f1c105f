"""`jax.experimental.checkify`: runtime checks in programs, whose failures are values.

Compiled programs cannot raise. `checkify` makes a function return, beside its results, an `Error` that
says which check failed first: checks that the function itself makes by `check`, and, if asked for, NaN,
divisions by zero and indices out of bounds anywhere in it.
"""

from __future__ import annotations

from jitney.core.lazy import listing
import functools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from jitney.core.jaxpr import DebugInfo
from jitney.core.jaxpr_trace import trace_to_jaxpr
from jitney.core.pytree import pytrees
from jitney.core.source_info import fun_sourceinfo
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
    from jitney.core.typing import PyTree

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
    f: Callable[..., Any], errors: Collection[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """Returns a function like `f` that also returns whether checks failed.

    The error is that of the first check that fails, in program order; later operations are
    computed all the same. Under `grad` and `jvp` of the checked function, derivatives that a
    function brings itself (`custom_jvp`, `custom_vjp`) are not checked; `checkify` of a derivative
    checks all.

    Args:
      f: any function of arrays, jitted ones included. Other arguments are left as they are.
      errors: what is looked for: `user_checks` (those that `check` makes), `nan_checks`, `div_checks`,
        `index_checks`, and unions of them: `float_checks`, `automatic_checks`, `all_checks`.

    Returns: a function of the same arguments, which returns (error, results).

    Raises:
      ValueError: when it is called, for a `while_loop` with checks whose condition `vmap` has batched.

    Example:
      >>> from jax.experimental import checkify
      >>> f = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)
      >>> error, _ = f(jnp.arange(3), jnp.array(5))
      >>> print(error.get().replace(": ", ":\\n"))
      out-of-bounds indexing of an array with shape (3,):
      index 5 lies outside of axis 0, which has size 3.
    """
    categories = frozenset(errors)

    @functools.wraps(f)
    def checked(*args: PyTree, **kwargs: PyTree) -> tuple[Error, Any]:
        trees: list[pytrees.PyTreeDef] = []

        def flat() -> list[Any]:
            leaves, tree = pytrees.tree_flatten(f(*args, **kwargs))
            trees.append(tree)
            return list(map(as_value, leaves))

        jaxpr, _, consts = trace_to_jaxpr(flat, [], DebugInfo("checkify", fun_sourceinfo(f)))
        checker = Checker(categories)
        outs = checker.evaluate(jaxpr, consts, [])
        return checker.error(), trees[-1].unflatten(outs)

    return checked
