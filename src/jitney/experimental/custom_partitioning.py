"""`jax.experimental.custom_partitioning`: functions with user-defined partitioning rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.api.jit.signature import positional
from jitney.core.diagnostics import errors
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording import jaxpr_trace
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.sharding.sharding_rule import (
    BATCHING as BATCHING,
    ArrayMapping as ArrayMapping,
    CompoundFactor as CompoundFactor,
    SdyShardingRule as SdyShardingRule,
    parse,
)
from jitney.core.source import source_info
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import get_aval
from jitney.core.util.lazy import listing
from jitney.core.util.wraps import wraps
from jitney.primitives.parallel.custom_partitioning import (
    custom_partitioning_p as custom_partitioning_p,
)

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

_F = TypeVar("_F", bound=Callable[..., Any])

__dir__ = listing(__name__)


def _position(number: int, count: int, name: str) -> int:
    """Returns the position of static argument `number`; negative numbers count from the end."""
    if not -count <= number < count:
        raise IndexError(
            f"custom_partitioning: static_argnums contains {number}, but {name} was called with "
            f"{count} arguments"
        )
    return number % count


class custom_partitioning:  # name required by the API
    """A function with a user-defined rule for partitioning it when it is compiled for a mesh.

    In eager mode, on a single device and within `shard_map`, the function is evaluated as it is. It
    has neither differentiation nor batching rules; wrap it in `jax.custom_vjp`, `jax.custom_jvp` or
    `jax.custom_batching.custom_vmap` to add them.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      static_argnums: positions of arguments that are compile-time constants instead of arrays.

    Example:
      >>> from jax.experimental import custom_partitioning as parts
      >>> @parts.custom_partitioning
      ... def row_sums(x):
      ...   return x.sum(axis=1)
      >>> def partition(mesh, operands, result):
      ...   rows = result.sharding.spec[0]
      ...   args = (jax.NamedSharding(mesh, jax.P(rows, None)),)
      ...   return mesh, lambda x: x.sum(axis=1), result.sharding, args
      >>> row_sums.def_partition(partition, sharding_rule="i j -> i", reduction_factors=("j",))
      >>> jax.jit(row_sums)(jnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., PyTree], static_argnums: Sequence[int] = ()) -> None:
        wraps(fun)(self)
        self.fun = fun
        self.static_argnums = static_argnums
        self.partition: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., PyTree] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.decode_shardings = True
        self.sharding_rule: SdyShardingRule | Callable[..., Any] | None = None

    def def_partition(
        self,
        partition: _F,
        infer_sharding_from_operands: Callable[..., PyTree] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: str | SdyShardingRule | Callable[..., Any] | None = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> _F:
        """Sets the partitioning rule. Its functions receive static arguments before all others.

        Args:
          partition: function (mesh, arg_shapes, result_shape) -> (mesh, function, result_shardings,
            arg_shardings). The shapes are pytrees of `ShapeDtypeStruct`s of the global arrays, each
            with its NamedSharding. The returned function maps shards of the arguments to shards of
            the results, which are sharded as the returned shardings specify. Within it, the mesh
            axes are named axes, as in `shard_map`.
          infer_sharding_from_operands: function of the same arguments that returns the shardings of
            the results; used if there is no `sharding_rule`.
          propagate_user_sharding: accepted for compatibility; no effect.
          decode_shardings: accepted for compatibility; shardings are always NamedShardings.
          sharding_rule: correspondence between the axes of operands and results, such as
            "i k, k j -> i j"; or an `SdyShardingRule`; or a function of the mesh, the types of the
            operands and the types of the results, which returns one of these.
          reduction_factors, need_replication_factors, permutation_factors, **factor_sizes: further
            properties of the factors of a rule that is a string; see `SdyShardingRule`.

        Returns: `partition`.

        Raises:
          ValueError, TypeError: if the rule is invalid.
        """
        options: dict[str, Any] = dict(factor_sizes)
        for name, factors in (
            ("reduction_factors", reduction_factors),
            ("need_replication_factors", need_replication_factors),
            ("permutation_factors", permutation_factors),
        ):
            if factors:
                options[name] = factors
        if isinstance(sharding_rule, str):
            sharding_rule = parse(sharding_rule, **options)
        elif options:
            raise ValueError(
                f"def_partition: {options} can be given only if `sharding_rule` is a string; pass "
                "them to the constructor of SdyShardingRule instead"
            )
        elif not (
            sharding_rule is None
            or isinstance(sharding_rule, SdyShardingRule)
            or callable(sharding_rule)
        ):
            raise TypeError(
                "def_partition: sharding_rule must be a string such as 'i j -> i', an "
                f"SdyShardingRule, or a function that returns one, but got {sharding_rule!r}"
            )
        self.partition = partition
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.propagate_user_sharding = propagate_user_sharding
        self.decode_shardings = decode_shardings
        self.sharding_rule = sharding_rule
        return partition

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> Any:
        name = getattr(self.fun, "__name__", repr(self.fun))
        if self.partition is None:
            raise AttributeError(
                f"custom_partitioning: {name} has no partitioning rule; define one with "
                f"{name}.def_partition"
            )
        args = positional(self.fun, args, kwargs, "custom_partitioning")
        static = {_position(i, len(args), name) for i in self.static_argnums}
        static_args = tuple([args[i] for i in sorted(static)])
        if any([isinstance(x, Tracer) for x in pytrees.tree_leaves(static_args)]):
            raise errors.UnexpectedTracerError(
                f"custom_partitioning: a static argument of {name} is traced; remove it from "
                "static_argnums, or make it static in the functions that call it"
            )
        dynamic_args = tuple([x for i, x in enumerate(args) if i not in static])

        def of_arrays(*arrays: PyTree) -> object:
            dynamic, fixed = iter(arrays), iter(static_args)
            return self.fun(*[next(fixed if i in static else dynamic) for i in range(len(args))])

        leaves, in_tree = pytrees.tree_flatten(dynamic_args)
        flat = FlatFunction(of_arrays, in_tree)
        info = DebugInfo("custom_partitioning", source_info.fun_sourceinfo(self.fun))
        jaxpr, _, consts = jaxpr_trace.trace_to_jaxpr(flat, [get_aval(x) for x in leaves], info)
        if any([isinstance(c, Tracer) for c in consts]):
            raise errors.UnexpectedTracerError(
                f"custom_partitioning: {name} captures a traced value from its closure; pass the "
                "value as an argument"
            )
        outs = custom_partitioning_p.bind(
            *leaves,
            call=ClosedJaxpr(jaxpr, consts),
            partition=self.partition,
            propagate_user_sharding=self.propagate_user_sharding,
            infer_sharding_from_operands=self.infer_sharding_from_operands,
            decode_shardings=self.decode_shardings,
            sharding_rule=self.sharding_rule,
            in_tree=in_tree,
            out_tree=flat.out_tree,
            static_args=static_args,
        )
        return pytrees.tree_unflatten(flat.out_tree, outs)
