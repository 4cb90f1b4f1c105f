from typing import Any, Literal, overload

import numpy as np

def __getattr__(name: str) -> Any: ...
@overload
def eig(
    a: np.ndarray,
    *,
    left: Literal[False],
    right: Literal[False],
    check_finite: bool = True,
) -> np.ndarray: ...
@overload
def eig(
    a: np.ndarray, *, left: bool = False, right: bool = True, check_finite: bool = True
) -> np.ndarray | tuple[np.ndarray, ...]: ...
def qr(
    a: np.ndarray,
    *,
    mode: Literal["full", "economic"] = "full",
    pivoting: Literal[True],
    check_finite: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def schur(
    a: np.ndarray, *, output: Literal["real", "complex"] = "real", check_finite: bool = True
) -> tuple[np.ndarray, np.ndarray]: ...
