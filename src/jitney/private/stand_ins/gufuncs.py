"""`jax._src.numpy.vectorize`: signatures of generalized ufuncs, and checks of operands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import numpy as np

from jitney.core.messages import messages
from jitney.numpy import vectorization
from jitney.numpy.vectorization import CoreDims

R = TypeVar("R")


def parse_input_dimensions(
    args: Sequence[Any], input_core_dims: Sequence[CoreDims], error_context: str = ""
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Returns the broadcast shape of the leading axes of `args`, and the sizes of core dimensions.

    Args:
      args: arrays.
      input_core_dims: names of the core dimensions, the trailing axes, of each argument.
      error_context: suffix of error messages.

    Raises:
      TypeError: if the number of arguments differs from the length of `input_core_dims`.
      ValueError: if the sizes of a core dimension differ, an argument has fewer axes than core
        dimensions, or leading axes cannot be broadcast.
    """
    if len(args) != len(input_core_dims):
        raise TypeError(
            f"the signature has {messages.counted(len(input_core_dims), 'operand')}, but got "
            f"{len(args)} "
            f"{error_context}"
        )
    sizes: dict[str, int] = {}
    leading: list[tuple[int, ...]] = []
    for x, dims in zip(args, input_core_dims, strict=True):
        shape = np.shape(x)
        vectorization.match_sizes(shape, dims, sizes, error_context)
        leading.append(shape[: len(shape) - len(dims)])
    return np.broadcast_shapes(*leading), sizes


def check_output_dims(
    func: Callable[..., R],
    dim_sizes: dict[str, int],
    expected_output_core_dims: Sequence[CoreDims],
    error_context: str = "",
) -> Callable[..., R]:
    """Returns `func` with a check that its results have exactly the expected core dimensions."""
    outputs = list(expected_output_core_dims)
    checking: Any = vectorization.checking_results(func, outputs, dim_sizes, error_context)
    return checking


def apply_excluded(
    func: Callable[..., R],
    excluded: Collection[int | str],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., R], Sequence[object], dict[str, object]]:
    """Binds the excluded arguments of a function.

    Args:
      func: function of `args` and `kwargs`.
      excluded: positions and names of the arguments to bind.

    Returns: (function, positional arguments, keyword arguments), where the arguments do not include
      the excluded ones; the function passes those to `func`.
    """
    if not excluded:
        return func, args, kwargs
    kept_names = {name for name in kwargs if name not in excluded}
    fixed = {name: x for name, x in kwargs.items() if name not in kept_names}
    positional, kept = vectorization.only_arrays(func, args, fixed, excluded)

    def call(*free: Any, **by_name: Any) -> R:
        if not by_name:
            return positional(*free)
        rest = iter(free)
        full = [x if k in excluded else next(rest) for k, x in enumerate(args)]
        return func(*full, **fixed, **by_name)

    return call, kept, {name: kwargs[name] for name in kept_names}
