"""PRNG implementations: the generators of random bits to which keys belong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from jitney.core.types import dtypes
from jitney.core.util.declarations import Table
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.typing import Array


@record(frozen=True)
class PRNGImpl:
    """A generator of random bits.

    The functions take and return the data of a single key, uint32 [*key_shape]; for arrays of keys,
    they are batched.

    Attributes:
      key_shape: shape of a key's data, an array of uint32 words.
      seed: a function that makes a key from an integer scalar.
      split: a function that makes keys [*shape, *key_shape] from a key and a shape.
      random_bits: a function that draws unsigned integers [*shape] from a key, a bit width and a
        shape.
      fold_in: a function that makes a key from a key and a uint32 scalar.
      name: the name that users pass, such as "rbg".
      tag: the abbreviation in printed types, such as `key<rbg>`.
      packed: whether arrays store keys of this generator as 64-bit integers, and the primitives
        implement the generator directly. This is the case for Threefry-2x32 only.
    """

    key_shape: tuple[int, ...]
    seed: Callable[[Array], Array]
    split: Callable[[Array, tuple[int, ...]], Array]
    random_bits: Callable[[Array, int, tuple[int, ...]], Array]
    fold_in: Callable[[Array, Array], Array]
    name: str = "<unnamed>"
    tag: str = "?"
    packed: bool = False

    @property
    def key_dtype(self) -> dtypes.KeyDType:
        """The dtype of this generator's key arrays."""
        return dtypes.KeyDType(self)

    def __hash__(self) -> int:
        return hash(self.tag)

    def __str__(self) -> str:
        return self.tag


implementations: Table[PRNGImpl] = Table("PRNG implementation")


def register(impl: PRNGImpl) -> PRNGImpl:
    """Registers a generator under its name.

    Raises:
      ValueError: if another generator has this name.
    """
    return implementations.declare(impl.name, impl)


def resolve(spec: PRNGLike) -> PRNGImpl:
    """Returns the generator of `spec`: a name, a `PRNGImpl`, a key dtype or a `PRNGSpec`.

    Raises:
      ValueError: if there is no generator with this name.
      TypeError: if `spec` is none of these.
    """
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, str):
        impl = implementations.get(spec)
        if impl is None:
            names = ", ".join(f'"{name}"' for name in implementations)
            raise ValueError(f'no PRNG implementation is named "{spec}"; the names are {names}')
        return impl
    if isinstance(spec, PRNGSpec):
        return spec.impl
    given: Any = spec
    if isinstance(given, dtypes.KeyDType):
        return given.impl
    raise TypeError(
        "a PRNG implementation must be a name, such as 'threefry2x32', or the result of "
        f"jax.random.key_impl, but {spec!r} has type {type(spec)}"
    )


@record(frozen=True)
class PRNGSpec:
    """The public identifier of a generator without a name, as `jax.random.key_impl` returns it."""

    _impl: PRNGImpl

    @property
    def impl(self) -> PRNGImpl:
        """The generator."""
        return self._impl

    def __str__(self) -> str:
        return str(self._impl)

    def __repr__(self) -> str:
        return f"PRNGSpec({self._impl.name!r})"


PRNGLike: TypeAlias = str | PRNGImpl | PRNGSpec | dtypes.KeyDType
"""Objects that identify a generator."""
