"""What a builder of kernels refuses is computed another way, with the same results."""

import numpy as np
import pytest
from tests.compiler.programs import Chooser, program
from tests.compiler.running import check

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler.hlo import ir
from jitney.compiler.kernels.build import KernelBuilder, NotExpressibleError, UnresolvedError
from jitney.compiler.kernels.build_while import WhileBuilder
from jitney.compiler.plan import loops

W = np.linspace(-1, 1, 64).reshape(8, 8).astype(np.float32)

# Iterations whose reshapes join and divide the axes of a carry of shape (2, 4).
STEPS = {
    "reshape": lambda c: c + c.reshape(-1)[0],
    "flat_rows": lambda c: c.reshape(4, 2)[::-1].T.reshape(2, 4) * c,
    "roll": lambda c: jnp.roll(c, 1),
    "argmax": lambda c: c + jnp.argmax(c),
    "median": lambda c: c - jnp.median(c),
    "vdot": lambda c: c / jnp.vdot(c, c),
    "tile": lambda c: c + jnp.tile(c, (2, 2))[1:3, 2:6],
    "repeat": lambda c: c + jnp.repeat(c, 2)[:8].reshape(2, 4),
    "outer": lambda c: c + jnp.outer(c, c)[2, 3],
    "kron": lambda c: c + jnp.kron(c, c)[:2, :4],
    "solve": lambda c: c + jnp.linalg.solve(W[:2, :2], c),
    "matvec": lambda c: jnp.tanh((W @ c.reshape(-1)).reshape(2, 4)),
    "negative_zero": lambda c: -jnp.abs(c).sum(0) * jnp.sum(c * -0.0, 1, keepdims=True),
}


@pytest.fixture
def refused(monkeypatch):
    """Within it, no loop is a kernel."""

    def refuse(builder, node, index):
        raise NotExpressibleError("no")

    def start():
        monkeypatch.setattr(WhileBuilder, "value", refuse)

    return start


@pytest.mark.parametrize("name", STEPS)
def test_loops_with_and_without_a_kernel(name, refused, monkeypatch):
    monkeypatch.setattr(loops, "registers_pay", lambda *_: True)
    step = STEPS[name]
    x = np.random.default_rng(0).normal(size=(2, 4)).astype(np.float32)
    want = jnp.asarray(x)
    for _ in range(3):
        want = step(want)
    for is_kernel in (True, False):
        if not is_kernel:
            refused()

        def run(c):
            return lax.fori_loop(0, 3, lambda i, c: step(c), c)

        lowered = jax.jit(run).lower(x)
        expected = is_kernel and name != "solve"  # which has a loop of its own
        assert ("while %" in lowered.as_text("kernels")) == expected
        batched = jax.jit(jax.vmap(run))(np.stack([x, -x]))
        for got in (lowered.compile()(x), batched[0]):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("seed", range(30))
def test_programs_without_any_fusion(seed, monkeypatch):
    """No builder goes through more than one node: all others are put in memory."""
    own = KernelBuilder.value

    def value(builder, node, index):
        rule = builder._rule

        def refuse(inner):
            leaf = isinstance(inner, ir.Constant) or inner.type.size == 1
            if inner is not node and not leaf:
                raise UnresolvedError(inner)
            return rule(inner)

        builder._rule = refuse
        try:
            return own(builder, node, index)
        finally:
            del builder._rule

    monkeypatch.setattr(KernelBuilder, "value", value)
    monkeypatch.setattr(WhileBuilder, "value", value)
    module, inputs, inexact = program(Chooser(seed))
    check(module, inputs, inexact)
