"""A transformation is added without a change elsewhere: bounds of values."""

import math

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.core.tracing import primitive
from jitney.core.tracing.primitive import Primitive, declare_slot
from jitney.core.tracing.trace import Trace, Tracer, set_current_trace, state
from jitney.primitives.elementwise.binary import add_p, mul_p, sub_p
from jitney.primitives.elementwise.unary import exp_p, neg_p


@pytest.fixture(scope="module")
def interval():
    """(bounds, **params) -> (low, high), bounds being one such pair for each operand."""
    slot = declare_slot("interval")

    @add_p.interval
    def _(bounds):
        (a, b), (c, d) = bounds
        return lax.add(a, c), lax.add(b, d)

    @sub_p.interval
    def _(bounds):
        (a, b), (c, d) = bounds
        return lax.sub(a, d), lax.sub(b, c)

    @mul_p.interval
    def _(bounds, out_dtype):
        (a, b), (c, d) = bounds
        products = [lax.mul(a, c), lax.mul(a, d), lax.mul(b, c), lax.mul(b, d)]
        low, high = products[0], products[0]
        for product in products[1:]:
            low, high = lax.min(low, product), lax.max(high, product)
        return low, high

    @neg_p.interval
    def _(bounds):
        ((a, b),) = bounds
        return lax.neg(b), lax.neg(a)

    @exp_p.interval
    def _(bounds, accuracy):
        ((a, b),) = bounds
        return lax.exp(a), lax.exp(b)

    yield slot
    del primitive.slots["interval"]
    for prim in (add_p, sub_p, mul_p, neg_p, exp_p):
        del prim.rules["interval"]


class IntervalTracer(Tracer):
    """A value of which bounds are known."""

    __slots__ = ("high", "low")

    def __init__(self, trace, low, high):
        super().__init__(trace)
        self.low, self.high = low, high

    @property
    def aval(self):
        return jitney.typeof(self.low)


class IntervalTrace(Trace):
    """Computes bounds of what operations give."""

    def __init__(self, parent, slot):
        super().__init__()
        self.parent_trace = parent
        self.slot = slot

    def bounds(self, x):
        return (x.low, x.high) if type(x) is IntervalTracer and x._trace is self else (x, x)

    def process_primitive(self, primitive, args, params):
        rule = self.slot.rule_of(primitive)
        if rule is None:
            raise NotImplementedError(f"no bounds are known of {primitive}")
        with set_current_trace(self.parent_trace):
            low, high = rule([self.bounds(x) for x in args], **params)
        return IntervalTracer(self, low, high)

    def process_custom_jvp_call(self, call, leaves):
        return call.inline(leaves)

    process_custom_vjp_call = process_custom_jvp_call


def interval_of(fun, slot):
    """Bounds of fun(x) for x between two numbers."""

    def bounded(low, high):
        trace = IntervalTrace(state.trace, slot)
        with set_current_trace(trace):
            out = fun(IntervalTracer(trace, jnp.asarray(low), jnp.asarray(high)))
        return trace.bounds(out)

    return bounded


def test_bounds(interval):
    low, high = interval_of(lambda x: x * x - 2.0 * x, interval)(1.0, 3.0)
    assert (float(low), float(high)) == (1 - 6, 9 - 2)
    low, high = interval_of(lambda x: -jnp.exp(x), interval)(0.0, 1.0)
    np.testing.assert_allclose((low, high), (-math.e, -1), rtol=1e-6)


def test_bounds_under_other_transformations(interval):
    """The rules compute by operations, so bounds are compiled, differentiated and batched."""
    bounded = interval_of(lambda x: jnp.exp(x) + x, interval)
    plain = bounded(0.5, 0.75)
    np.testing.assert_allclose(jitney.jit(bounded)(0.5, 0.75), plain, rtol=1e-6)
    slope = jitney.grad(lambda a, b: bounded(a, b)[1], argnums=1)(0.5, 0.75)
    np.testing.assert_allclose(slope, math.exp(0.75) + 1, rtol=1e-6)
    lows, _ = jitney.vmap(bounded)(jnp.array([0.5, 0.0]), jnp.array([0.75, 1.0]))
    np.testing.assert_allclose(lows, [plain[0], 1.0], rtol=1e-6)


def test_custom_functions_are_handed_over(interval):
    @jitney.custom_jvp
    def f(x):
        return x + 1.0

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    assert [float(x) for x in interval_of(f, interval)(1.0, 2.0)] == [2.0, 3.0]


def test_what_has_no_rule_says_so(interval):
    with pytest.raises(NotImplementedError, match="no bounds are known of sin"):
        interval_of(jnp.sin, interval)(0.0, 1.0)


def test_rules_are_named_after_primitive_and_slot(interval):
    assert add_p.rules["interval"].__code__.co_name == "add.interval"


@pytest.mark.parametrize("name", ["jvp", "bind", "rules"])
def test_names_that_are_taken(name):
    with pytest.raises(ValueError, match=f"primitives already have '{name}'"):
        declare_slot(name)


def test_a_rule_is_set_once():
    prim = Primitive("once")
    prim.jvp(lambda primals, tangents: None)
    with pytest.raises(ValueError, match="once already has a rule for jvp"):
        prim.jvp(lambda primals, tangents: None)
    prim.replace_rule("jvp", lambda primals, tangents: (0, 0))
    assert prim.rules["jvp"](None, None) == (0, 0)


def test_unknown_slots():
    with pytest.raises(AttributeError, match="no attribute 'intervall'"):
        Primitive("plain").intervall  # noqa: B018
