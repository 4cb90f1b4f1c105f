"""NumPy arrays of the caller stay his: writable, and no result changes when he writes to them."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.primitives.records import all_records

import jitney as jax
import jitney.extend
import jitney.numpy as jnp
from jitney import lax
from jitney.flatten_util import ravel_pytree

CASES = sorted((Path(__file__).parents[1] / "numpy" / "cases").glob("*.txt"))
X = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
STRUCT = jax.ShapeDtypeStruct(X.shape, X.dtype)


def lent(operands):
    """Writable copies of the NumPy arrays among `operands`, strides kept."""
    return [x.copy("K") if type(x) is np.ndarray else x for x in operands]


def arrays_in(result):
    leaves = jax.tree.leaves(result)
    return [x for x in leaves if isinstance(x, (jax.Array, np.ndarray)) and not _is_key(x)]


def _is_key(x):
    return jnp.issubdtype(x.dtype, jax.dtypes.extended)


def assert_independent(function, operands):
    """Asserts that what `function` returns does not change with `operands`, nor it them."""
    results = arrays_in(function(*operands))
    before = [np.asarray(x).tobytes() for x in results]
    for x in operands:
        if type(x) is np.ndarray:
            assert x.flags.writeable, "an operand has become read-only"
            x[...] = np.roll(x.ravel(), 1).reshape(x.shape) if x.size > 1 else ~x.astype(bool)
    assert [np.asarray(x).tobytes() for x in results] == before, "a result has changed"
    assert not any(np.asarray(x).flags.writeable for x in results)


RECORDS = [pytest.param(record, id=f"{where}-{record.name}") for where, record in all_records()]


@pytest.mark.parametrize("record", RECORDS)
def test_records(record):
    dtype = record.dtypes[-1]
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for operands in record.cases(dtype)[:6]:
            assert_independent(lambda *xs: record.fn(lax, *xs), lent(operands))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_public_functions(path):
    values = {
        "x": X.repeat(2, 1)[:, :4] * np.float32([[1], [-1]]),
        "v": np.float32([3, 1, 2, 5, 4]), "i": np.arange(5, dtype=np.int32) - 2,
        "b": np.array([1, 0, 1, 1, 0], bool), "c": np.arange(5).astype(np.complex64) * (1 + 2j),
        "m": np.float32([[4, 1, 0, 2], [1, 5, 1, 0], [0, 1, 6, 1], [2, 0, 1, 7]]),
        "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
        "im": np.arange(12, dtype=np.int32).reshape(3, 4), "u8": np.arange(5, dtype=np.uint8),
        "h": np.float16([4, 1, 2, 3]), "w": np.array([3, 1, 2, 1, 3, 0], np.int32),
        "n": np.float32([[1, np.nan, 3], [4, 5, np.nan]]), "nn": np.full((2, 3), np.nan, "f4"),
        "z": np.zeros((0, 3), np.float32), "s": np.arange(7, dtype=np.float32),
    }  # fmt: skip
    lines = [x for x in path.read_text().splitlines() if x and x[0] != "#" and "@" not in x]
    failures = []
    for line in lines:
        names = list(values)

        def evaluated(*operands, line=line, names=names):
            scope = {**dict(zip(names, operands, strict=True)), "J": jnp, "np": np}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return eval(line, scope)
            except Exception:  # what is refused is another test's
                return None

        try:
            assert_independent(evaluated, lent(values.values()))
        except AssertionError as error:
            failures.append((line, str(error).partition("\n")[0]))
    assert not failures


def identity(x):
    return x


def with_rules(x):
    f = jax.custom_jvp(identity)
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    g = jax.custom_vjp(identity)
    g.defvjp(lambda x: (x, x), lambda residual, ct: (ct,))
    return f(x), g(x), jax.jvp(f, (x,), (x,)), jax.vjp(g, x)[0], jax.vmap(f)(x)


PROGRAMS = {
    "stop_gradient": lax.stop_gradient,
    "barrier": lambda x: lax.optimization_barrier((x, x)),
    "reduce_nothing": lambda x: lax.reduce(x, np.float32(0), lax.add, ()),
    "checkpoint": jax.checkpoint(identity),
    "jit": jax.jit(identity),
    "jit_checkpoint": jax.jit(jax.checkpoint(identity)),
    "donated": jax.jit(lambda x: x + 1, donate_argnums=0),
    "vmap": jax.vmap(identity),
    "rules": with_rules,
    "jvp": lambda x: jax.jvp(identity, (x,), (x,)),
    "vjp": lambda x: jax.vjp(identity, np.ones_like(x))[1](x),
    "cond": lambda x: lax.cond(True, identity, identity, x),
    "loops": lambda x: (
        lax.fori_loop(0, 0, lambda i, c: c, x),
        lax.scan(lambda c, r: (c, r), x, x),
    ),
    "while": lambda x: lax.while_loop(lambda c: False, identity, x),
    "solve": lambda x: lax.custom_linear_solve(identity, x, lambda mv, b: b, symmetric=True),
    "associative": lambda x: lax.associative_scan(jnp.add, x[:1]),
    "callback": lambda x: jax.pure_callback(lambda: x, STRUCT),
    "callback_jit": lambda x: jax.jit(lambda: jax.pure_callback(lambda: x, STRUCT))(),
    "callback_operand": lambda x: jax.pure_callback(identity, STRUCT, x),
    "asarray": lambda x: [jnp.asarray(x), jnp.array(x, copy=False), jnp.asarray(x, copy=None)],
    "device_put": lambda x: [jax.device_put(x), jax.device_put([x], may_alias=True)],
    "dlpack": lambda x: [jax.dlpack.from_dlpack(x), jnp.from_dlpack(x)],
    "frombuffer": lambda x: jnp.frombuffer(np.ascontiguousarray(x), np.float32),
    "ravel": lambda x: ravel_pytree([x]),
    "pieces": lambda x: [*jnp.unstack(x), *jnp.split(x, 3, 1), *jnp.broadcast_arrays(x, x)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    assert_independent(PROGRAMS[name], [X.copy()])
    assert_independent(PROGRAMS[name], [X.copy()[::-1]])


@pytest.mark.parametrize("shape", [(), (2, 3), (200, 300)])
def test_scalars_and_constants(shape):
    n = np.full(shape, 2.0, np.float32)
    assert_independent(lax.stop_gradient, [n])
    n[...] = 2
    _, of_constant = jax.vjp(lambda x: x * n, np.float32(1))
    _, of_operand = jax.vjp(lambda x: x * x, n)
    _, forward = jax.linearize(lambda x: x * x, n)
    ones = np.ones(shape, np.float32)
    functions = [
        jax.jit(lambda: n * 1),
        jax.extend.core.jaxpr_as_fun(jax.make_jaxpr(lambda: n * 1)()),
        lambda: of_constant(ones),
        lambda: of_operand(ones),
        lambda: forward(ones),
    ]
    before = [np.asarray(jax.tree.leaves(f())[0]) for f in functions]
    n[...] = 7
    for f, want in zip(functions, before, strict=True):
        np.testing.assert_array_equal(jax.tree.leaves(f())[0], want)
