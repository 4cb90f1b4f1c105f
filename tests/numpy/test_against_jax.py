"""`jax.numpy` against real jax: the same expressions, the same values, types, errors and programs.

Each line of `cases/*.txt` is an expression in the namespace J (ours or theirs) and the arrays of
`OPERANDS`; one with @@ is a function and its arguments, and the equations it records count.
"""

import difflib
import pathlib
import re

import numpy as np
import pytest
from tests.helpers.oracle import Raised, Value, answer, jax, jnp

import jitney
import jitney.numpy as jtnp

CASES = sorted(pathlib.Path(__file__).parent.glob("cases/*.txt"))


def operands():
    rng = np.random.RandomState(0)
    nan = np.nan
    return {
        "x": rng.randn(3, 4).astype(np.float32),
        "v": rng.randn(5).astype(np.float32),
        "i": np.arange(5, dtype=np.int32) - 2,
        "b": np.array([1, 0, 1, 1, 0], bool),
        "c": (rng.randn(5) + 1j * rng.randn(5)).astype(np.complex64),
        "m": rng.randn(4, 4).astype(np.float32),
        "t": rng.randn(2, 3, 4).astype(np.float32),
        "im": rng.randint(-5, 9, (3, 4)).astype(np.int32),
        "u8": np.arange(5, dtype=np.uint8),
        "h": rng.randn(4).astype(np.float16),
        "w": np.array([3, 1, 2, 1, 3, 0], np.int32),
        "n": np.array([[1, nan, 3], [4, 5, nan]], np.float32),
        "nn": np.full((2, 3), nan, np.float32),
        "z": np.zeros((0, 3), np.float32),
        "s": np.sort(rng.randn(7)).astype(np.float32),
    }


OPERANDS = operands()
OURS = {k: jtnp.asarray(a) for k, a in OPERANDS.items()}


def lines(path):
    found = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [pytest.param(line, id=f"{path.stem}-{k}") for k, line in enumerate(found)]


ALL = [p for path in CASES for p in lines(path)]


def of_jax(line):
    """The result of real JAX, or the error as `Raised`."""
    return answer(
        lambda: evaluate(
            line, jnp, {k: jnp.asarray(a) for k, a in OPERANDS.items()}, jax.make_jaxpr
        )
    )


def evaluate(line, namespace, values, make_jaxpr):
    scope = {**values, "J": namespace, "np": np}
    function, traced, arguments = line.partition("@@")
    if not traced:
        result = eval(line, scope)
        # What describes a type, such as a finfo, is compared by the name of its class.
        return type(result).__name__ if "info" in type(result).__name__ else result
    operands = eval(f"({arguments},)", scope) if arguments.strip() else ()
    jaxpr = make_jaxpr(eval(function, scope))(*operands)
    return "\n".join(equations(jaxpr.jaxpr))


def outcome(line, namespace, values, make_jaxpr):
    """(result, None) or (None, error)."""
    try:
        return evaluate(line, namespace, values, make_jaxpr), None
    except Exception as error:
        return None, error


def short(aval):
    name = str(aval.str_short())
    for long, letter in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, letter)
    return name


def equations(jaxpr, depth=0):
    """Each equation as text: primitive, result types, literal operands; programs within indented."""
    out = []
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in ("jit", "pjit"):
            name = f"jit:{eqn.params.get('name')}"
        results = ",".join(short(v.aval) for v in eqn.outvars)
        inputs = ",".join(
            str(np.asarray(v.val)) if type(v).__name__ == "Literal" else "_" for v in eqn.invars
        )
        out.append("  " * depth + f"{name} {results} <- {inputs}")
        for key in ("jaxpr", "call_jaxpr"):
            if key in eqn.params:
                inner = eqn.params[key]
                out += equations(getattr(inner, "jaxpr", inner), depth + 1)
    return out


def is_array(x):
    return isinstance(x, Value | jitney.Array)


def same(theirs, ours, where):
    if isinstance(theirs, list | tuple):
        assert isinstance(ours, list | tuple), where
        assert len(theirs) == len(ours), where
        for t, o in zip(theirs, ours, strict=True):
            same(t, o, where)
    elif is_array(theirs):
        assert is_array(ours), where
        t, o = np.asarray(theirs), np.asarray(ours)
        assert (t.shape, t.dtype) == (o.shape, o.dtype), where
        assert theirs.weak_type == ours.weak_type, where
        if t.dtype.kind in "fcV":
            rtol = 2e-5 if t.dtype.itemsize > 2 else 1e-2
            np.testing.assert_allclose(
                o.astype(complex), t.astype(complex), rtol=rtol, atol=1e-6, err_msg=where
            )
        else:
            np.testing.assert_array_equal(o, t, err_msg=where)
    elif isinstance(theirs, bool | int | float | complex | str | np.dtype | type(None)):
        assert theirs == ours or theirs != theirs, where
    elif isinstance(theirs, np.ndarray | np.generic):
        assert theirs.dtype == ours.dtype, where
        np.testing.assert_array_equal(ours, theirs, err_msg=where)
    else:
        raise TypeError(f"{where}: a {type(theirs).__name__} is not compared")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", ALL)
def test_same(line):
    theirs = of_jax(line)
    ours, our_error = outcome(line, jtnp, OURS, jitney.make_jaxpr)
    their_error = theirs.name if isinstance(theirs, Raised) else "NoneType"
    assert type(our_error).__name__ == their_error, (line, our_error, theirs)
    if isinstance(theirs, str) and "@@" in line:
        difference = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "jax", "jitney")
        assert theirs == ours, line + "\n" + "\n".join(difference)
    elif our_error is None:
        same(theirs, ours, line)


def used(line):
    return [k for k in OPERANDS if re.search(rf"(?<![\w.']){k}(?![\w(='])", line)]


COMPILED = [p for p in ALL if "@@" not in p.values[0] and used(p.values[0])]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", COMPILED)
def test_compiled_is_eager(line):
    eager, error = outcome(line, jtnp, OURS, jitney.make_jaxpr)
    if error is not None:
        pytest.skip("raises")
    names = used(line)
    function = eval(f"lambda {', '.join(names)}: {line}", {"J": jtnp, "np": np})
    try:
        compiled = jitney.jit(function)(*[OURS[k] for k in names])
    except (jitney.errors.ConcretizationTypeError, TypeError) as refused:
        pytest.skip(f"needs known values: {type(refused).__name__}")
    for e, o in zip(
        jitney.tree_util.tree_leaves(eager), jitney.tree_util.tree_leaves(compiled), strict=True
    ):
        if is_array(e):
            e, o = np.asarray(e), np.asarray(o)
            assert (e.shape, e.dtype) == (o.shape, o.dtype), line
            if e.dtype.kind in "fc":
                rtol = 2e-5 if e.dtype.itemsize > 2 else 1e-2
                np.testing.assert_allclose(o, e, rtol=rtol, atol=1e-6, err_msg=line)
            else:
                np.testing.assert_array_equal(o, e, err_msg=line)
