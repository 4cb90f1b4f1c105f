from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

def __getattr__(name: str) -> Any: ...
@overload
def get_lapack_funcs(names: str, arrays: Sequence[np.ndarray] = ()) -> Callable[..., Any]: ...
@overload
def get_lapack_funcs(
    names: Sequence[str], arrays: Sequence[np.ndarray] = ()
) -> list[Callable[..., Any]]: ...
