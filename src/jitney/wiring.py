"""The upward links: arrays, which are made low down, get operators and methods from `jax.numpy`;
transformations get the few operations that they use themselves from `ops`.

`install` is called once, when the package is imported, before any array is made.
"""

from __future__ import annotations

from jitney.core.array import Array
from jitney.runtime import setup


def install() -> None:
    """Puts operators, methods and properties on `Array`, for arrays and tracers alike.

    What a subclass defines itself stays.
    """
    from jitney.numpy.array_methods import ArrayMethods, attributes
    from jitney.numpy.operators import operators
    from jitney.numpy.reduction_methods import ReductionMethods
    from jitney.ops import algebra

    members = {**attributes(ArrayMethods), **attributes(ReductionMethods), **operators()}
    for name, member in members.items():
        setattr(Array, name, member)
        if hasattr(member, "__qualname__"):
            member.__qualname__ = f"Array.{name}"
    setup.install(Array)
    algebra.install()
