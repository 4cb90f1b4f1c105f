"""Generators of random bits that keys can belong to."""

from __future__ import annotations

from typing import TypeAlias

from jitney.core import dtypes
from jitney.core.record import record


@record(frozen=True)
class PRNGImpl:
    """A generator.

    Attributes:
      name: as users give it, such as "threefry2x32".
      tag: as types print it: `key<fry>`.
      key_shape: shape of a key's data, uint32 words.
    """

    name: str
    tag: str
    key_shape: tuple[int, ...]

    @property
    def key_dtype(self) -> dtypes.KeyDType:
        """The dtype of arrays of this generator's keys."""
        return dtypes.KeyDType(self)

    def __hash__(self) -> int:
        return hash(self.tag)

    def __str__(self) -> str:
        return self.tag


threefry = PRNGImpl("threefry2x32", "fry", (2,))

implementations: dict[str, PRNGImpl] = {threefry.name: threefry}


def resolve(spec: PRNGLike) -> PRNGImpl:
    """The generator named by `spec`: a name, a `PRNGImpl`, a key dtype or a key's `PRNGSpec`.

    Raises:
      ValueError: if there is no generator of that name.
      TypeError: if `spec` is none of these.
    """
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, str):
        found = implementations.get(spec)
        if found is None:
            names = ", ".join(f'"{name}"' for name in implementations)
            raise ValueError(
                f'unrecognized PRNG implementation "{spec}". Did you mean one of: {names}?'
            )
        return found
    if isinstance(spec, PRNGSpec):
        return spec._impl
    if isinstance(spec, dtypes.KeyDType):
        return spec.impl
    raise TypeError(f"unrecognized type {type(spec)} for specifying a PRNG implementation")


@record(frozen=True)
class PRNGSpec:
    """Names a generator in the public API (`jax.random.key_impl` of an unnamed one)."""

    _impl: PRNGImpl

    def __str__(self) -> str:
        return str(self._impl)


PRNGLike: TypeAlias = str | PRNGImpl | PRNGSpec | dtypes.KeyDType
"""What names a generator."""
