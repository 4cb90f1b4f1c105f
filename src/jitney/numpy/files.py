"""Arrays in files and as text: `save`, `load`, `array_repr`, `printoptions`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any, NoReturn

import numpy as np

from jitney.core.types import dtypes
from jitney.core.typing import PyTree
from jitney.numpy.creation import asarray

# Of type Any, since elements may be of any type.
_ARRAYS: tuple[type[Any], ...] = (np.ndarray,)

__all__ = [
    "ComplexWarning", "array_repr", "array_str", "fromfile", "fromiter", "get_printoptions",
    "load", "printoptions", "save", "savez", "set_printoptions",
]  # fmt: skip

# NumPy's functions accept jitney arrays unchanged.
ComplexWarning = np.exceptions.ComplexWarning
array_repr = np.array_repr
array_str = np.array_str
get_printoptions = np.get_printoptions
printoptions = np.printoptions
save = np.save
savez = np.savez
set_printoptions = np.set_printoptions


def load(file: IO[bytes] | str | os.PathLike[Any], *args: PyTree, **kwargs: PyTree) -> Any:
    """Loads an array from a file that `save` wrote.

    Args:
      file: a path, or a file opened in binary mode.
      *args: further positional arguments of `numpy.load`.
      **kwargs: keyword arguments of `numpy.load`.

    Returns: an array; for an archive of `savez`, the object that `numpy.load` returns, which
      contains NumPy arrays. Elements of 64 bits are converted to 32 bits unless 64-bit types are
      enabled.
    """
    out = np.load(file, *args, **kwargs)
    if not isinstance(out, _ARRAYS):
        return out
    if out.dtype == np.dtype("V2"):  # NumPy writes bfloat16 as a void dtype of two bytes
        out = out.view(dtypes.bfloat16)
    try:
        return asarray(out)
    except TypeError:  # objects that NumPy has unpickled
        return out


def _refuse(name: str) -> Callable[..., NoReturn]:
    def function(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"jnp.{name}: reading a file is a side effect, which traced functions cannot have; "
            f"call jnp.asarray(np.{name}(...)) outside of them"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raises NotImplementedError; use `numpy.{name}` instead."
    function.__module__ = "jax.numpy"
    return function


fromfile = _refuse("fromfile")
fromiter = _refuse("fromiter")
load.__module__ = "jax.numpy"
