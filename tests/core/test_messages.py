"""Messages show what the user wrote, with the operands that came, and what to write instead."""

import functools
import linecache
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.special

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.core.messages import cures, messages
from jitney.core.source import user_code

HERE = "test_messages.py"
limit = 2.0
x, m = jnp.arange(3.0), jnp.ones((2, 3))


def message(function, *args):
    """The message of what `function` raises."""
    with pytest.raises(Exception) as caught:
        function(*args)
    return str(caught.value)


# --- truth values of tracers ----------------------------------------------------------------------


def relu(x):
    if x > limit:
        return x
    return 0.0


def countdown(n):
    while n > 0 and n < 5:
        n = n - 1
    return n


def checked(x):
    assert (x > 0).all(), "positive"
    return x


def absolute(x):
    return x if x > 0 else -x


def clipped(x):
    if x > 0 and not x > 1:
        return x
    return 1.0


def larger(x):
    return max(x, 1.0)


def kept(x):
    return [v for v in [x, x] if v > 0]


def of_text(x):
    return f"{x:.3f}" if bool(x) else ""


TRUTHS = [
    (relu, "`if x > limit` (relu, ", "jnp.where(x > limit, ..., ...)"),
    (countdown, "`while n > 0 and n < 5` (countdown, ", "jax.lax.while_loop"),
    (checked, "`assert (x > 0).all()` (checked, ", "checkify.check((x > 0).all(), message)"),
    (absolute, "`if x > 0` (absolute, ", "jnp.where(x > 0, ..., ...)"),
    (clipped, "`if x > 0 and not x > 1` (clipped, ", "jnp.where((x > 0) & (~(x > 1)), ..., ...)"),
    (larger, "`max(x, 1.0)` (larger, ", "Instead: jnp.maximum"),
    (kept, "`v > 0` (", "jnp.where(v > 0, ..., 0)"),
]


@pytest.mark.parametrize(
    ("function", "asked", "instead"), TRUTHS, ids=lambda x: getattr(x, "__name__", "")
)
def test_truth_of_tracers(function, asked, instead):
    text = message(jax.jit(function), 1.0)
    assert text.startswith("Attempted boolean conversion of traced array with shape bool[].")
    assert asked in text and f"{HERE}:" in text
    assert instead in text
    assert "`jitney explain bool-of-tracer`" in text


def test_ambiguous_truth():
    text = message(lambda: 0 < x < 1)
    assert text.startswith("`0 < x < 1` (")
    assert "Instead: elementwise, (0 < x) & (x < 1)" in text
    assert "(x > 0) | (x < 1)" in message(lambda: x > 0 or x < 1)
    assert "(x > 1).any() or (x > 1).all()" in message(lambda: bool(x > 1) if x > 1 else 0)


# --- values of tracers ----------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "asked", "ours"), [
    (lambda x: np.sin(x), "`np.sin(x)`", "jnp.sin"),
    (lambda x: np.linalg.norm(x), "`np.linalg.norm(x)`", "jax.numpy.linalg.norm"),
    (lambda x: math.exp(x[0]), "`math.exp(x[0])`", "jnp.exp"),
    (lambda x: scipy.special.erf(x), "`scipy.special.erf(x)`", "jax.scipy.special.erf"),
    (lambda x: np.busday_count(x, x), "`np.busday_count(x, x)`", "jax.numpy"),
])  # fmt: skip
def test_functions_of_other_packages(function, asked, ours):
    text = message(jax.jit(function), x)
    assert asked in text
    assert f"Instead: {ours}" in text or f"in {ours}" in text


def test_leaves_that_cannot_be_differentiated():
    def loss(rate, params):
        return rate * params["w"].sum()

    params = {"w": x, "steps": [x, 3]}
    for transform in (jax.grad, jax.jacrev):
        text = message(transform(loss, argnums=-1), 1.0, params)
        assert "but params['steps'][1] is of int32" in text
        assert "pass 3.0, or pass it as an argument that is not in argnums" in text
    assert "but argument rate is of int32" in message(jax.grad(loss), 1, params)
    assert "but argument rate is of int32" in message(jax.jacfwd(loss), 1, params)


def test_sizes_that_are_not_known():
    for function in (jnp.where, jnp.nonzero, jnp.argwhere, jnp.flatnonzero):
        text = message(jax.jit(function), x)
        assert f"determines the shape of the result of jnp.{function.__name__}" in text
        assert "so it must be known, or passed statically as `size`" in text


def test_formats():
    loss = 3.0
    text = message(jax.jit(lambda x: f"loss {loss} {x:.3f} {x * 2:8.2f}"), 1.0)
    assert "float32[]" in text
    assert (
        'jax.debug.print("loss {loss} {x:.3f} {value2:8.2f}", loss=loss, x=x, value2=x * 2)' in text
    )
    assert 'jax.debug.print("x = {x:.3f}", x=x)' in message(
        jax.jit(lambda x: format(x, ".3f")), 1.0
    )


def test_slices():
    i_to = message(jax.jit(lambda x, i: x[i:i + 2]), x, 1)  # fmt: skip
    assert i_to.startswith("x[i:i + 2]: the bounds of a slice must be static")
    assert "Instead: jax.lax.dynamic_slice_in_dim(x, i, 2)" in i_to
    assert "jax.lax.dynamic_slice_in_dim(x, 0, length)" in message(
        jax.jit(lambda x, i: x[:i]), x, 1
    )


# --- assignment -----------------------------------------------------------------------------------


def assigned(x):
    x[0] = x[1] * 2


def added(x):
    x[1:] += 1


def divided(x):
    x[..., 0] //= 2


@pytest.mark.parametrize(("function", "written", "update"), [
    (assigned, "x[0] = x[1] * 2", "x = x.at[0].set(x[1] * 2)"),
    (added, "x[1:] += 1", "x = x.at[1:].add(1)"),
    (divided, "x[..., 0] //= 2", "x = x.at[..., 0].apply(lambda v: v // 2)"),
])  # fmt: skip
def test_assignments(function, written, update):
    text = message(function, x)
    assert text.startswith(f"`{written}` ({function.__name__}, {HERE}:")
    assert f"Instead: {update}\n" in text


# --- operands -------------------------------------------------------------------------------------


def layer(x, w):
    return x @ w


def test_products():
    lines = message(layer, jnp.ones((32, 785)), jnp.ones((784, 128))).splitlines()
    assert lines[0].startswith(
        "x @ w: axis 1 of the left operand has 785 elements, but axis 0 of the"
    )
    line = layer.__code__.co_firstlineno
    assert lines[1] == f"  left   float32[32,785]   argument x of layer ({HERE}:{line})"
    assert lines[2] == f"  right  float32[784,128]  argument w of layer ({HERE}:{line})"
    assert "transpose the right operand" in message(layer, m, m)


def test_operations_that_come_to_others_are_named_with_them():
    text = message(lambda: jnp.linalg.multi_dot([m, m]))
    assert text.startswith("jnp.linalg.multi_dot([m, m]), in dot_general: axis 1 of the left")


def test_long_expressions_are_shortened():
    text = message(
        lambda: jnp.dot(jnp.ones((2, 3)) + jnp.zeros((2, 3)), jnp.ones((2, 3)) + jnp.ones(3))
    )
    assert text.startswith("jnp.dot(...), in dot_general: ")


def test_broadcasting():
    b = jnp.ones(2)
    text = message(lambda: m + b)
    assert text.startswith("m + b: the shapes (2, 3), (2,) do not broadcast")
    assert "3 meets 2" in text
    assert "Instead: b[:, None]" in text
    with pytest.raises(ValueError, match=r"3 meets 2"):
        jnp.add(m, b)
    with pytest.raises(TypeError, match=r"3 meets 2"):
        jnp.add(m, jnp.ones((2, 2)))


def test_scans():
    def step(c, x):
        return c

    def narrowed(c, x):
        return {"h": c["h"].astype(jnp.float16)}, x

    line = step.__code__.co_firstlineno
    assert f"step at {__file__}:{line} must return a pair" in message(lax.scan, step, 1.0, x)
    unlike = message(lambda: lax.scan(lambda c, r: (c, r), 1.0, (x, jnp.ones(4))))
    assert "  xs[0]  float32[3]\n  xs[1]  float32[4]" in unlike
    carry = message(lax.scan, narrowed, {"h": x}, x)
    assert "narrowed at " in carry and "c['h'] is passed as float32[3]" in carry
    assert ".astype('float32')" in carry


def test_transformations():
    def scaled(x, rate):
        return x * rate

    assert "in_axes=(0, None)" in message(jax.vmap(scaled), x, 0.1)
    assert "argument rate" in message(jax.vmap(scaled), x, 0.1)
    assert "has_aux=True" in message(jax.grad(lambda x: (x, x)), 1.0)
    assert "pass 3.0" in message(jax.grad(lambda x: x), 3)
    assert "jnp.where(pred, x, y)" in message(lax.cond, True, x, x)
    assert "jax.random.key(0)" in message(jax.random.normal, 0, (3,))
    assert "without ['b']" in message(jax.tree.map, max, {"a": 1, "b": 2}, {"a": 1})


def test_methods_of_jit():
    class Model:
        @jax.jit
        def predict(self, x):
            return x

    text = message(Model().predict, x)
    assert "register_dataclass(Model)" in text and "static_argnums=0" in text


def test_donated_arrays():
    given = jnp.arange(3.0)
    given.delete()
    text = message(lambda: given + 1)
    assert text.startswith("given + 1")
    assert "given, float32[3], has been deleted" in text


def test_systems_of_equations():
    b = jnp.ones(4)
    text = message(lambda: jnp.linalg.solve(m[:, :2], b))
    assert text.startswith("jnp.linalg.solve(m[:, :2], b): `b` must have as many rows as `a`, 2")
    assert "  b  float32[4]" in text


# --- without source -------------------------------------------------------------------------------


def test_without_source_operations_have_their_public_names():
    program = "import jitney.numpy as jnp; jnp.ones((2, 3)) @ jnp.ones((2, 3))"
    done = subprocess.run(
        [sys.executable, "-c", f"exec({program!r})"], capture_output=True, text=True
    )
    assert "TypeError: dot_general: axis 1 of the left operand" in done.stderr


def test_source_that_is_not_python_is_passed_over():
    """Such as a cell of a notebook with a magic command, or a file that was changed meanwhile."""
    code = compile("f(m, m)", "<magic>", "exec")
    linecache.cache["<magic>"] = 8, None, ["%time f(m, m)\n"], "<magic>"
    text = message(exec, code, {"f": jnp.matmul, "m": m})
    assert text.startswith("dot_general: ")


def test_messages_are_not_made_unless_they_are_raised(monkeypatch):
    monkeypatch.setattr(user_code, "current", lambda: pytest.fail("looked at the user's code"))
    jax.jit(lambda x: jnp.where(x > 0, x * m, m[0]).sum())(m)
    jax.vmap(functools.partial(jnp.add, 1.0))(x)
    assert cures.of_slice(None) and messages.located("", "bool(x)", None) == "`bool(x)`"
