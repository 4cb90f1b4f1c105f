"""`jax.experimental.random`: a stateful random number generator in the style of NumPy.

Its state is a key, and a counter in a mutable reference; each draw folds the counter into the key
and increments it. A generator can therefore be an argument of transformed functions, where it draws
the same values as in eager mode.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney import numpy as jnp, random, tree_util
from jitney.core.types.dtypes import requested_dtype
from jitney.core.util.lazy import listing
from jitney.ref import addupdate, get, new_ref

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.typing import ArrayLike, DTypeLike
    from jitney.primitives.refs.ref import Ref

Size = int | Sequence[int] | None


@tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class StatefulPRNG:
    """A stateful random number generator, created by `stateful_rng`, `split` or `spawn`."""

    _base_key: Array
    _counter: Ref

    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """Returns a new key, or an array of new keys of the given shape.

        Raises:
          ValueError: if the generator is a batch returned by `split`, used outside of `vmap`.
        """
        if self._base_key.shape:
            raise ValueError(
                f"StatefulPRNG: this is a batch of generators of shape {self._base_key.shape}; draw "
                "within jax.vmap over it, or use `spawn` instead of `split`"
            )
        key = random.fold_in(self._base_key, get(self._counter, ...))
        addupdate(self._counter, ..., 1)
        if shape == ():
            return key
        return random.split(key, shape if isinstance(shape, int) else tuple(shape))

    def random(self, size: Size = None, dtype: DTypeLike = float) -> Array:
        """Draws an array of shape `size` of uniformly distributed floats in [0, 1)."""
        return self.uniform(size=size, dtype=dtype)

    def uniform(
        self,
        low: ArrayLike = 0,
        high: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Draws uniformly distributed floats in [low, high).

        Args:
          low, high: bounds, which broadcast against each other.
          size: shape of the result; by default the broadcast shape of the bounds.
          dtype: floating dtype of the result.
        """
        key, shape = self.key(), _shape(size, low, high)
        return random.uniform(key, shape, requested_dtype(dtype), minval=low, maxval=high)

    def normal(
        self,
        loc: ArrayLike = 0,
        scale: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Draws normally distributed samples.

        Args:
          loc, scale: mean and standard deviation, which broadcast against each other.
          size: shape of the result; by default the broadcast shape of `loc` and `scale`.
          dtype: floating or complex dtype of the result.
        """
        draw_dtype = requested_dtype(dtype)
        drawn = random.normal(self.key(), _shape(size, loc, scale), draw_dtype)
        return jnp.asarray(loc, draw_dtype) + jnp.asarray(scale, draw_dtype) * drawn

    def integers(
        self, low: ArrayLike, high: ArrayLike | None = None, size: Size = None, *,
        dtype: DTypeLike = int,
    ) -> Array:  # fmt: skip
        """Draws uniformly distributed integers in [low, high), or in [0, low) if `high` is omitted.

        Args:
          low, high: bounds, which broadcast against each other.
          size: shape of the result; by default the broadcast shape of the bounds.
          dtype: integer dtype of the result.
        """
        first, last = (0, low) if high is None else (low, high)
        shape = _shape(size, first, last)
        return random.randint(self.key(), shape, first, last, requested_dtype(dtype))

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Returns a batch of independent generators, over which `jax.vmap` can map.

        Args:
          num: number of generators, or shape of the batch.

        Example:
          >>> from jax.experimental.random import stateful_rng
          >>> jax.vmap(lambda rng: rng.integers(10))(stateful_rng(0).split(3))
          Array([8, 2, 5], dtype=int32)
        """
        keys = self.key(num)
        return StatefulPRNG(keys, new_ref(jnp.zeros(keys.shape, int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Returns a list of `n_children` independent generators.

        Raises:
          ValueError: if `n_children` is negative.
        """
        if n_children < 0:
            raise ValueError(
                "StatefulPRNG.spawn: the number of generators must not be negative, but got "
                f"{n_children}"
            )
        return [StatefulPRNG(key, new_ref(0)) for key in self.key((n_children,))]


def _shape(size: Size, *bounds: Any) -> tuple[int, ...]:
    shapes = [jnp.shape(x) for x in bounds]
    if size is None:
        return jnp.broadcast_shapes(*shapes)
    shape = (size,) if isinstance(size, int) else tuple(size)
    jnp.broadcast_shapes(*shapes, shape)  # raises if they do not broadcast
    return shape


def stateful_rng(seed: ArrayLike | None = None, *, impl: Any = None) -> StatefulPRNG:
    """Returns a random number generator that holds its own state.

    Args:
      seed: integer; by default a random number from the operating system.
      impl: PRNG implementation, as in `jax.random.key`.

    Raises:
      TypeError: if the seed is not an integer.

    Example:
      >>> from jax.experimental.random import stateful_rng
      >>> rng = stateful_rng(0)
      >>> rng.uniform(), rng.uniform()
      (Array(0.8423141, dtype=float32), Array(0.48723495, dtype=float32))
    """
    if seed is None:
        seed = secrets.randbits(31)
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(0))


__all__ = ["StatefulPRNG", "stateful_rng"]

__dir__ = listing(__name__)
