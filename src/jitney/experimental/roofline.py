"""`jax.experimental.roofline`: operation and byte counts of a function, from its jaxpr.

The rules of the primitives model an accelerator that reads the operands of matrix products from
memory, writes their results to memory (`flops`, `hbm_bytes`), and fuses all other operations with
them. `unfused_flops` and `unfused_hbm_bytes` are the counts without fusion. `ici_bytes` and
`ici_latency` are the costs of collectives over rings of devices, by mesh axis. The counts are the
same as in JAX. Loop bodies are counted once; `while_loop`s and the branches of conditionals are not
counted.

For the costs on this machine, use `jax.jit(f).lower(...).compile().cost_analysis()`.
"""

from __future__ import annotations

import collections
import functools
import itertools
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from jitney.api.autodiff.autodiff import vjp as pull_back_of
from jitney.api.jit.make_jaxpr import make_jaxpr
from jitney.api.parallel.shard_map import shard_map
from jitney.core.program.jaxpr import Literal
from jitney.core.source.name_stack import NameStack, new_name_stack
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.core.util.lazy import listing
from jitney.transforms.partial import dce_closed

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
    from jitney.core.sharding.mesh import AbstractMesh, Mesh
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import PyTree

R = TypeVar("R")

__all__ = [
    "RooflineResult", "RooflineRuleContext", "RooflineShape", "register_roofline",
    "register_standard_roofline", "roofline", "roofline_and_grad",
]  # fmt: skip

__dir__ = listing(__name__)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineShape:
    """The type of an operand in rules: shape and dtype."""

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: AbstractValue) -> RooflineShape:
        """Returns the shape and dtype of an array type."""
        assert isinstance(aval, ShapedArray), aval
        return cls(shape=aval.shape, dtype=aval.dtype)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        kind = self.dtype if dtypes.is_extended(self.dtype) else np.dtype(self.dtype)
        return self.size * kind.itemsize

    @classmethod
    def total_bytes(cls, avals: Iterable[AbstractValue]) -> int:
        """Returns the total size in bytes of arrays of these types."""
        return sum([cls.from_aval(aval).bytes for aval in avals if isinstance(aval, ShapedArray)])


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRuleContext:
    """The context of a rule: the equation, the mesh, and the options of `roofline`."""

    name_stack: NameStack
    primitive: Primitive
    avals_in: Sequence[AbstractValue]
    avals_out: Sequence[AbstractValue]
    jaxpr_eqn_ctx: Any
    mesh: Mesh | AbstractMesh | None
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """The operation and byte counts of a program.

    Results can be added, which yields the maximum of `peak_hbm_bytes` and the sum of all other
    counts, and multiplied by a number.

    Attributes:
      flops: floating-point operations of matrix products.
      unfused_flops: operations of all primitives.
      ici_bytes: bytes that the busiest link between devices transfers, by mesh axis.
      ici_latency: number of sequential hops, by mesh axis.
      hbm_bytes: bytes that matrix products read and write.
      peak_hbm_bytes: maximum total size in bytes of the arrays that are live at the same time.
      unfused_hbm_bytes: bytes that all primitives read and write.
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = field(default_factory=dict)
    ici_latency: dict[str, int] = field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """Returns a result whose counts are all zero."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        counts: dict[str, Any] = {}
        for name in _COUNTS:
            a, b = getattr(self, name), getattr(other, name)
            if name == "peak_hbm_bytes":
                counts[name] = max(a, b)
            elif isinstance(a, dict):
                counts[name] = {k: a.get(k, 0) + b.get(k, 0) for k in {**a, **b}}
            else:
                counts[name] = a + b
        return RooflineResult(**counts)

    def __mul__(self, factor: float) -> RooflineResult:
        counts: dict[str, Any] = {}
        for name in _COUNTS:
            x = getattr(self, name)
            is_table = isinstance(x, dict)
            counts[name] = (
                {k: int(v * factor) for k, v in x.items()} if is_table else int(x * factor)
            )
        return RooflineResult(**counts)


_COUNTS = tuple([x.name for x in fields(RooflineResult)])

Rule: TypeAlias = Callable[..., RooflineResult]
_rules: dict[str, Rule] = {}
_rules_of_users: dict[Any, Rule] = {}


def register_roofline(prim: Primitive) -> Callable[[Rule], Rule]:
    """Returns a decorator that registers the rule of a primitive.

    The rule is called as (`RooflineRuleContext`, *`RooflineShape`s of the operands, **parameters).
    """

    def register(rule: Rule) -> Rule:
        _rules_of_users[prim] = rule
        return rule

    return register


def register_standard_roofline(prim: Primitive) -> None:
    """Registers a rule for a primitive that costs nothing."""
    register_roofline(prim)(_nothing)


# --- the function ---------------------------------------------------------------------------------


def roofline(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh | None = None,
    in_specs: PyTree = None,
    out_specs: PyTree = None,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    vjp: bool = False,  # name required by the API
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult]]:
    """Returns a function that counts the operations and bytes of `f` without running it.

    Args:
      f: function to be counted.
      mesh, in_specs, out_specs: arguments of `shard_map`. If all of them are given, the operations
        of one device are counted.
      pin_lhs_in_vmem, pin_rhs_in_vmem: whether the left or right operand of matrix products is
        assumed to be in fast memory, so that reading it is not counted.
      vjp: whether to count `f` together with its VJP; the types returned are then the types of the
        cotangents.
      print_jaxpr: whether to print the jaxpr.

    Returns: a function with the arguments of `f`, which returns (types of the results, counts).

    Example:
      >>> from jax.experimental.roofline import roofline
      >>> out, result = roofline(lambda x, y: x @ y)(jnp.ones((8, 4)), jnp.ones((4, 6)))
      >>> out.shape, result.flops, result.hbm_bytes
      ((8, 6), 384, 416)
    """

    has_specs = mesh is not None and in_specs is not None and out_specs is not None

    def trace(
        function: Callable[..., Any], ins: PyTree, outs: PyTree, args: PyTree
    ) -> tuple[ClosedJaxpr, PyTree]:
        if has_specs:
            function = shard_map(function, mesh=mesh, in_specs=ins, out_specs=outs)
        return make_jaxpr(function, return_shape=True)(*args)

    @functools.wraps(f)
    def counted(*args: PyTree) -> tuple[object, RooflineResult]:
        closed, shapes = trace(f, in_specs, out_specs, args)
        if vjp:
            specs = (in_specs, out_specs), (out_specs, in_specs)
            closed, (_, shapes) = trace(_and_pullback(f), *specs, (args, shapes))
        if print_jaxpr:
            print(closed)
        program: Any = dce_closed(closed, (True,) * len(closed.out_avals), False)[0].jaxpr
        if has_specs:
            (eqn,) = program.eqns
            program = eqn.params["jaxpr"]
        call = _Call(_name_of(f), mesh, pin_lhs_in_vmem, pin_rhs_in_vmem)
        return shapes, _count(program, call)

    return counted


class _Call(NamedTuple):
    """The name stack of a function that is counted, and the options."""

    stack: NameStack
    mesh: Mesh | AbstractMesh | None
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool


def _name_of(f: Callable[..., Any]) -> NameStack:
    return new_name_stack(f"roofline({getattr(f, '__name__', type(f).__name__)})")


def _and_pullback(f: Callable[..., R]) -> Callable[..., tuple[R, object]]:
    """Returns a function that maps (arguments, cotangents of results) to (results, cotangents)."""

    def forward_and_back(args: Sequence[PyTree], cts: PyTree) -> tuple[R, object]:
        out, pullback = pull_back_of(f, *args)
        return out, pullback(cts)

    return forward_and_back


def roofline_and_grad(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh,
    in_specs: PyTree,
    out_specs: PyTree,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult, RooflineResult]]:
    """Returns a function that counts the operations and bytes of `f` and of its VJP separately.

    Args:
      f, mesh, in_specs, out_specs, pin_lhs_in_vmem, pin_rhs_in_vmem, print_jaxpr: as in `roofline`.

    Returns: a function with the arguments of `f`, which returns (types of the results, counts of
      `f`, counts of the VJP alone).
    """
    of = functools.partial(
        roofline, f, mesh, in_specs, out_specs, pin_lhs_in_vmem=pin_lhs_in_vmem,
        pin_rhs_in_vmem=pin_rhs_in_vmem, print_jaxpr=print_jaxpr,
    )  # fmt: skip

    @functools.wraps(f)
    def counted(*args: PyTree) -> tuple[object, RooflineResult, RooflineResult]:
        shapes, forward = of()(*args)
        _, both = of(vjp=True)(*args)
        rest = both + forward * -1
        counts: dict[str, Any] = {name: getattr(rest, name) for name in _COUNTS}
        for name in ("ici_bytes", "ici_latency"):
            counts[name] = {k: v for k, v in counts[name].items() if v}
        return shapes, forward, RooflineResult(**counts)

    return counted


def _count(jaxpr: Jaxpr, call: _Call) -> RooflineResult:
    """Returns the counts of a jaxpr, including the jaxprs in its equations."""
    last: dict[Any, int] = {}
    for number, eqn in enumerate(jaxpr.eqns):
        last.update({v: number for v in eqn.invars if not isinstance(v, Literal)})
    last.update({v: len(jaxpr.eqns) for v in jaxpr.outvars if not isinstance(v, Literal)})
    live = RooflineShape.total_bytes([v.aval for v in jaxpr.all_invars if v in last])
    total = RooflineResult(peak_hbm_bytes=live)
    for number, eqn in enumerate(jaxpr.eqns):
        total += _of_equation(eqn, call)
        # As in JAX, an operand that occurs twice is subtracted twice.
        gone = [v for v in eqn.invars if not isinstance(v, Literal) and last[v] == number]
        live += RooflineShape.total_bytes([v.aval for v in eqn.outvars if v in last])
        live -= RooflineShape.total_bytes([v.aval for v in gone])
        total += RooflineResult(peak_hbm_bytes=live)
    return total


def _of_equation(eqn: JaxprEqn, call: _Call) -> RooflineResult:
    avals_in = [v.aval for v in eqn.invars]
    context = RooflineRuleContext(
        name_stack=call.stack + getattr(eqn.source_info, "name_stack", NameStack()),
        primitive=eqn.primitive, avals_in=avals_in, avals_out=[v.aval for v in eqn.outvars],
        jaxpr_eqn_ctx=getattr(eqn, "ctx", None), mesh=call.mesh,
        pin_lhs_in_vmem=call.pin_lhs_in_vmem, pin_rhs_in_vmem=call.pin_rhs_in_vmem,
    )  # fmt: skip
    rule = _rules_of_users.get(eqn.primitive) or _rules.get(eqn.primitive.name)
    if rule is None:
        program: ClosedJaxpr | None = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
        if program is not None:
            return _count(getattr(program, "jaxpr", program), call)
        if not eqn.primitive.rules.get("eager"):
            _log.warning("roofline: no rule for %s; it is not counted", eqn.primitive.name)
        return RooflineResult()
    operands = [RooflineShape.from_aval(a) for a in avals_in if isinstance(a, ShapedArray)]
    return rule(context, *operands, **eqn.params)


# --- rules ----------------------------------------------------------------------------------------


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _rules.update(dict.fromkeys(names, rule))
        return rule

    return register


def _nothing(_: RooflineRuleContext, *__: RooflineShape, **___: Any) -> RooflineResult:
    return RooflineResult()


def _results(context: RooflineRuleContext) -> list[RooflineShape]:
    return [RooflineShape.from_aval(aval) for aval in context.avals_out]


def _elementwise_bytes(context: RooflineRuleContext) -> int:
    return RooflineShape.total_bytes([*context.avals_in, *context.avals_out])


_ELEMENTWISE = """
    abs acos asin atan bessel_i0e bessel_i1e cbrt ceil conj cos cosh digamma erf erf_inv erfc exp exp2
    expm1 floor imag integer_pow is_finite lgamma log log1p log2 logistic neg not real round rsqrt sign
    sin sinh sqrt square tan
    add sub mul div max min rem eq ne lt le gt ge and or xor
"""


@_rule(*_ELEMENTWISE.split())
def _elementwise(context: RooflineRuleContext, *_: RooflineShape, **__: Any) -> RooflineResult:
    (out,) = _results(context)
    return RooflineResult(unfused_flops=out.size, unfused_hbm_bytes=_elementwise_bytes(context))


@_rule("select_n")
def _select(
    context: RooflineRuleContext, which: RooflineShape, *_: RooflineShape, **__: Any
) -> RooflineResult:
    (out,) = _results(context)
    return RooflineResult(unfused_flops=out.size, unfused_hbm_bytes=which.bytes + out.bytes)


@_rule("reduce_sum")
def _reduce_sum(context: RooflineRuleContext, x: RooflineShape, **_: Any) -> RooflineResult:
    (out,) = _results(context)
    return RooflineResult(
        unfused_flops=x.size - out.size, unfused_hbm_bytes=_elementwise_bytes(context)
    )


@_rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def _cumulative(
    context: RooflineRuleContext, x: RooflineShape, *, axis: int, **_: Any
) -> RooflineResult:
    steps = 2 if context.primitive.name == "cumlogsumexp" else 1
    return RooflineResult(
        unfused_flops=steps * x.shape[axis], unfused_hbm_bytes=_elementwise_bytes(context)
    )


@_rule("dot_general")
def _dot(
    context: RooflineRuleContext, x: RooflineShape, y: RooflineShape, *, dimension_numbers: Any,
    **_: Any,
) -> RooflineResult:  # fmt: skip
    (out,) = _results(context)
    (contracted, _), _ = dimension_numbers
    flops = 2 * out.size * math.prod([x.shape[k] for k in contracted])
    read = 0 if context.pin_lhs_in_vmem else x.bytes + out.bytes
    read += 0 if context.pin_rhs_in_vmem else y.bytes
    return RooflineResult(flops=flops, unfused_flops=flops, hbm_bytes=read, unfused_hbm_bytes=read)


@_rule("conv_general_dilated")
def _convolution(
    context: RooflineRuleContext, x: RooflineShape, y: RooflineShape, *, window_strides: Any,
    padding: Any, lhs_dilation: Any, rhs_dilation: Any, dimension_numbers: Any, **_: Any,
) -> RooflineResult:  # fmt: skip
    (out,) = _results(context)
    numbers = dimension_numbers
    spatial = [numbers.lhs_spec[2:], numbers.rhs_spec[2:], numbers.out_spec[2:]]
    taps = 1  # pairs of a window element and an operand element, over all window positions
    for axis, (a, b, c) in enumerate(zip(*spatial, strict=True)):
        dilation = lhs_dilation[axis]
        end = (x.shape[a] - 1) * dilation
        starts = np.arange(out.shape[c])[:, None] * window_strides[axis] - padding[axis][0]
        places = starts + np.arange(y.shape[b])[None] * rhs_dilation[axis]
        taps *= int(np.sum((places >= 0) & (places <= end) & (places % dilation == 0)))
    outer = out.shape[numbers.out_spec[0]] * out.shape[numbers.out_spec[1]]
    return RooflineResult(
        unfused_flops=2 * outer * y.shape[numbers.rhs_spec[1]] * taps,
        unfused_hbm_bytes=_elementwise_bytes(context),
    )


@_rule("gather")
def _gather(
    context: RooflineRuleContext, _: RooflineShape, indices: RooflineShape, **__: Any
) -> RooflineResult:
    (out,) = _results(context)
    return RooflineResult(unfused_hbm_bytes=2 * out.bytes + indices.bytes)


@_rule("scatter", "scatter-add", "scatter_mul", "scatter_min", "scatter_max", "scatter-mul")
def _scatter(
    context: RooflineRuleContext, _: RooflineShape, indices: RooflineShape, updates: RooflineShape,
    **__: Any,
) -> RooflineResult:  # fmt: skip
    return RooflineResult(
        unfused_flops=0 if context.primitive.name == "scatter" else updates.size,
        unfused_hbm_bytes=3 * updates.bytes + indices.bytes,
    )


# --- collectives, over rings ----------------------------------------------------------------------


def _over(
    context: RooflineRuleContext, names: Any, count: Callable[[int], tuple[float, int]]
) -> RooflineResult:
    """Returns the counts of a collective; `count(devices)` returns (total bytes, hops)."""
    axes = [names] if isinstance(names, str) else [n for n in names if not isinstance(n, int)]
    assert context.mesh is not None, "collectives are counted only if a mesh is passed"
    size = math.prod([context.mesh.shape[name] for name in axes])
    moved, hops = count(size)
    return RooflineResult(
        ici_bytes={name: int(moved / len(axes)) for name in axes},
        ici_latency=dict.fromkeys(axes, hops),
    )


@_rule("psum", "psum_invariant")
def _psum(context: RooflineRuleContext, *xs: RooflineShape, axes: Any, **_: Any) -> RooflineResult:
    size = sum([x.bytes for x in xs])
    return _over(context, axes, lambda n: (2 * size * (n - 1) / n, 2 * n))


@_rule("pmax", "pmin")
def _pmax(context: RooflineRuleContext, *xs: RooflineShape, axes: Any, **_: Any) -> RooflineResult:
    # One element of each operand is sent: JAX assumes that devices reduce their operands first.
    size = sum([np.dtype(x.dtype).itemsize for x in xs])
    return _over(context, axes, lambda n: (size * (n - 1), n))


@_rule("reduce_scatter")
def _reduce_scatter(
    context: RooflineRuleContext, x: RooflineShape, *, axis_name: Any, **_: Any
) -> RooflineResult:
    return _over(context, axis_name, lambda n: (x.bytes * (n - 1) / n, n))


@_rule("all_gather", "all_gather_invariant")
def _all_gather(
    context: RooflineRuleContext, x: RooflineShape, *, axis_name: Any, **_: Any
) -> RooflineResult:
    return _over(context, axis_name, lambda n: (x.bytes * (n - 1), n))


@_rule("all_to_all")
def _all_to_all(
    context: RooflineRuleContext, x: RooflineShape, *, axis_name: Any, **_: Any
) -> RooflineResult:
    # Two devices are connected by a single link, which both halves cross.
    return _over(context, axis_name, lambda n: (x.bytes * n / (2 if n == 2 else 4), n // 2))


@_rule("ppermute")
def _ppermute(
    context: RooflineRuleContext, x: RooflineShape, *, axis_name: Any, perm: Any, **_: Any
) -> RooflineResult:
    def count(n: int) -> tuple[float, int]:
        crossed: collections.Counter[frozenset[int]] = collections.Counter()
        longest = 0
        for source, target in perm:
            ahead = (target - source) % n
            step, hops = (1, ahead) if ahead <= n - ahead else (-1, n - ahead)
            path = [(source + step * k) % n for k in range(hops + 1)]
            crossed.update([frozenset(link) for link in itertools.pairwise(path)])
            longest = max(longest, hops)
        return x.bytes * max(crossed.values(), default=0), longest

    return _over(context, axis_name, count)
