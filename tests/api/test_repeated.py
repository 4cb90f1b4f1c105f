"""Library functions whose repeated calls become programs: when, and that results do not show it."""

import copy
import inspect
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
from benchmarks import cases_eager
from benchmarks.harness import load_side
from tests.helpers.oracle import answer, jax as real_jax

import jitney
import jitney.numpy as jnp
from jitney.api.jit import repeated
from jitney.api.jit.repeated import COMPILED_AT, LibraryFunction
from jitney.core.settings import config
from jitney.core.source import user_warnings
from jitney.core.types import dtypes

CALLS = COMPILED_AT + 2
OFTEN = repeated.LONGEST_REST * (repeated.SMALL_COMPILED_AT + 4)  # for functions of one operation


@pytest.fixture(autouse=True)
def fresh():
    """Nothing is known of earlier calls."""
    repeated.clear()
    yield
    repeated.clear()


def counted(body):
    """`body` as a library function, and a list that grows when its Python code runs."""
    runs = []

    def fun(*args, **kwargs):
        runs.append(None)
        return body(*args, **kwargs)

    return repeated.repeated(fun), runs


def is_compiled(fun, runs, *args, **kwargs):
    """Whether such a call runs no Python code, once it has been made some times."""
    for _ in range(CALLS):
        fun(*args, **kwargs)
    before = len(runs)
    fun(*args, **kwargs)
    return len(runs) == before


def programs_of(fun):
    return sum(f is fun for f in repeated._programs.values())


def several(x, y=1.0):
    return (jnp.sin(x) * y + x).sum()


# --- results --------------------------------------------------------------------------------------

TABLE = {
    **{n: lambda o, f=f: f(o.side.jnp, o) for n, f in cases_eager._NUMPY.items()},
    **cases_eager._OTHERS,
}
# Of one operation: compiled after many calls, or never, as their bits would change. The others are
# compiled inside, for their own part.
SMALL = set(
    """
    polyadd diag outer tensordot einsum trace argmax sort cumsum cumprod concatenate power diagonal
    searchsorted flip tile take take_along_axis stack inv solve det normal
    logaddexp ifft rfft relu expit gammaln split_key argsort isin nanmax
""".split()
)


@pytest.fixture(scope="module")
def operands():
    return cases_eager._operands(load_side("jitney"))


def leaves_of(result):
    return jitney.tree_util.tree_flatten(result)


@pytest.mark.parametrize("name", TABLE)
def test_results_after_many_calls_are_those_of_the_first(name, operands):
    call = TABLE[name]
    with config.compile_repeated_calls(False):
        plain, tree = leaves_of(call(operands))
    results = [leaves_of(call(operands)) for _ in range(CALLS)]
    if name not in SMALL:
        assert len(repeated._programs) > 0
    for leaves, structure in results:
        assert structure == tree
        for x, y in zip(leaves, plain, strict=True):
            assert x.aval == y.aval and x.placement is None
            if x.dtype.kind in "biu":
                np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
            else:
                np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: jnp.clip(x, 0.2, 0.8),
        lambda x: jnp.cumsum(x),
        lambda x: jnp.roll(x, 3),
        lambda x: jnp.argsort(x),
        lambda x: jnp.tril(x.reshape(4, 5)),
        lambda x: jnp.polyadd(x, x[:5]),
        lambda x: jnp.where(x > 0.5, x, 0),
        lambda x: jnp.median(x),
        lambda x: jnp.diff(x),
        lambda x: jnp.fmax(x, 0.3),
        lambda x: jitney.random.uniform(jitney.random.key(3), (7,)),
        lambda x: jitney.random.randint(jitney.random.key(3), (9,), 0, 100),
        lambda x: jitney.random.normal(jitney.random.key(3), (9,)),
    ],
)
def test_bits_of_exact_functions_never_change(call):
    x = jnp.asarray(np.random.default_rng(0).uniform(0, 1, 20).astype(np.float32))
    assert len({np.asarray(call(x)).tobytes() for _ in range(100)}) == 1


def test_one_operation_is_compiled_if_its_bits_stay():
    x = jnp.asarray(np.random.default_rng(0).normal(size=1000).astype(np.float32))
    for fun in (jnp.max, jnp.sum, jnp.cumsum):
        results = {np.asarray(fun(x)).tobytes() for _ in range(OFTEN)}
        assert len(results) == 1
        assert bool(set(repeated._programs.values()) & {fun}) == (fun is not jnp.sum)


# --- when -----------------------------------------------------------------------------------------


def test_the_third_call_makes_a_program():
    fun, runs = counted(several)
    x = jnp.arange(4.0)
    for _ in range(COMPILED_AT):
        assert not repeated._programs
        fun(x)
    assert len(repeated._programs) == 1
    evaluated = len(runs)
    fun(x)
    assert len(runs) == evaluated


def test_changing_shapes_compile_nothing():
    for n in range(1, 60):
        for _ in range(COMPILED_AT - 1):
            jnp.var(jnp.arange(float(n)))
    assert not programs_of(jnp.var)


def test_changing_floats_share_a_program_and_changing_options_do_not():
    fun, runs = counted(several)
    x = jnp.arange(4.0)
    for i in range(CALLS):
        fun(x, 0.5 * i)
    assert len(repeated._programs) == 1
    before = len(runs)
    np.testing.assert_allclose(fun(x, 7.5), several(x, 7.5), rtol=1e-6)
    assert len(runs) == before
    for i in range(20):
        jnp.roll(x, i)
    assert not programs_of(jnp.roll)


def test_few_values_of_a_number_have_a_program_each():
    x = jnp.arange(4.0)
    fun, _ = counted(lambda x, n, flags=(0, 0): several(x, float(n)) + flags[1])
    for n in [*range(30)] * CALLS:
        np.testing.assert_allclose(fun(x, n), several(x, float(n)), rtol=1e-6)
        fun(x, 1, (0, n))
    assert programs_of(fun) == 2 * repeated.MAX_VALUES
    for _ in range(CALLS * repeated.LONGEST_REST):  # calls in vain are followed by a rest
        fun(jnp.arange(5.0), 7)
    assert programs_of(fun) == 2 * repeated.MAX_VALUES + 1


def test_numbers_whose_values_decide_are_options():
    fun, runs = counted(lambda x, y: several(x, y) if y > 1 else several(x, -y) * 2)
    x = jnp.arange(4.0)
    assert is_compiled(fun, runs, x, 2.0)
    assert is_compiled(fun, runs, x, -2.0)
    for y in (2.0, -2.0, 3.0, 2.0):
        np.testing.assert_allclose(fun(x, y), fun.plain(x, y), rtol=1e-6)


def test_methods_are_compiled_too():
    x = jnp.asarray(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    for _ in range(CALLS):
        x.var(axis=0)
        x.clip(1.0, 5.0)
    assert {jnp.var, jnp.clip} <= set(repeated._programs.values())


# --- signatures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first, second",
    [
        (1, True), (1, 1.0), (1.0, np.float32(1)), (np.float32(1), np.float64(1)),
        (np.int32(1), np.int64(1)), (1, "1"), (None, False), ([1.0], (1.0,)),
        (np.ones(2, np.float32), np.ones(2)), (np.ones(2, np.float32), np.ones(2, np.int32)),
        (np.ones(2, np.float32), np.ones((2, 1), np.float32)), (jnp.ones(()), jnp.asarray(1.0)),
        ({"a": 1}, {"b": 1}), ((1, 0), (1, False)), (np.float32, np.int32), ("f4", np.dtype("f4")),
        (jnp.ones(2), jnp.ones(2) + 1j),
    ],
)  # fmt: skip
def test_arguments_that_differ_have_signatures_that_differ(first, second):
    fun = repeated.repeated(lambda x, y: jnp.sin(x) * (2 + isinstance(y, (bool, list))) + 1)
    x = jnp.arange(2.0)
    for y in (first, second) * CALLS:
        a, b = fun(x, y), fun.plain(x, y)
        assert a.aval == b.aval
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert len(fun._seen) == 2


def test_signs_of_zeros_and_nans_are_kept():
    taken, _ = counted(lambda x, y: jnp.copysign(jnp.sin(x), y) + 0)
    asked, _ = counted(
        lambda x, y: jnp.sin(x) * (1 if str(y) == "0.0" else 2) if y == 0 else x * x + x
    )
    x = jnp.arange(1.0, 3.0)
    for y in (0.0, -0.0, float("nan")) * CALLS:
        for fun in (taken, asked):
            np.testing.assert_allclose(fun(x, y), fun.plain(x, y), rtol=1e-6)


@pytest.mark.parametrize(
    "y", [np.arange(3.0), np.arange(3), np.float64(2.5), np.int64(3), 2.5, True]
)
def test_operands_of_other_dtypes_are_converted_as_evaluation_does(y):
    x = jnp.arange(3, dtype=jnp.float32)
    results = [jnp.logaddexp(x, y) for _ in range(CALLS)]
    operand = np.arange(3, dtype=np.float32)
    theirs = answer(lambda: real_jax.numpy.logaddexp(operand, y))
    for r in results:
        assert (r.dtype, r.weak_type) == (theirs.dtype, theirs.weak_type)
        np.testing.assert_allclose(r, theirs, rtol=1e-6)


SCALARS = [t for t in dtypes.numpy_scalar_types if np.dtype(t) not in dtypes.WIDE]


@pytest.mark.parametrize("kind", SCALARS, ids=lambda kind: np.dtype(kind).name)
@pytest.mark.parametrize("function", ["ravel", "where", "append"])
def test_scalars_of_numpy_keep_their_values(kind, function):
    """NumPy hands out those of its own dtypes otherwise than those of `ml_dtypes`."""
    call = {
        "ravel": jnp.ravel,
        "where": lambda v: jnp.where(True, v, v),
        "append": lambda v: jnp.append(jnp.zeros(1, kind), v)[1],
    }[function]
    for k in range(OFTEN):
        scalar = np.asarray(k % 2).astype(kind)[()]
        assert np.asarray(call(scalar)).tobytes() == np.asarray(scalar).tobytes()


def test_views_and_transposed_arrays_are_operands():
    wide = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    fun, runs = counted(several)
    for x in (jnp.asarray(wide).T, jnp.asarray(wide)[::2, ::-1], wide[:, ::2], wide.T):
        assert is_compiled(fun, runs, x)
        np.testing.assert_allclose(fun(x), several(x), rtol=1e-5)


def test_settings_are_part_of_the_signature():
    x = np.array([1.5, -2.5])
    for _ in range(CALLS):
        assert jnp.clip(x, -1, 1).dtype == np.float32
    with jitney.enable_x64():
        for _ in range(CALLS):
            assert jnp.clip(x, -1, 1).dtype == np.float64
    assert jnp.clip(x, -1, 1).dtype == np.float32
    y = jnp.arange(3)
    for _ in range(CALLS):
        jnp.outer(y, jnp.arange(3.0))
    with jitney.numpy_dtype_promotion("strict"), pytest.raises(Exception, match="romotion"):
        jnp.outer(y, jnp.arange(3.0))
    z = jnp.ones((2, 3))
    for _ in range(CALLS):
        jnp.hypot(z, jnp.ones(3))
    with jitney.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank"):
        jnp.hypot(z, jnp.ones(3))


@pytest.mark.parametrize(
    "setting",
    [
        lambda: jitney.disable_jit(),
        lambda: jitney.debug_nans(True),
        lambda: jitney.checking_leaks(),
        lambda: config.compile_repeated_calls(False),
    ],
)
def test_settings_that_keep_calls_evaluated(setting):
    fun, runs = counted(several)
    x = jnp.arange(4.0)
    with setting():
        assert not is_compiled(fun, runs, x)
    assert is_compiled(fun, runs, x)
    with setting():
        assert not is_compiled(fun, runs, x)


def test_values_are_checked_after_a_program_was_made():
    x = jnp.array([-1.0, 2.0])
    for _ in range(CALLS):
        jnp.std(jnp.log(x))
    with jitney.debug_nans(True), pytest.raises(FloatingPointError):
        jnp.nanvar(jnp.log(x))


# --- what stays as it is --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.clip("x", 0.0, 1.0),
        lambda: jnp.var(jnp.ones((2, 3)), axis=5),
        lambda: jnp.convolve(jnp.ones((2, 2)), jnp.ones(3)),
        lambda: jnp.median(jnp.ones(3), axis="0"),
        lambda: jnp.kron(object(), jnp.ones(3)),
        lambda: jnp.linalg.solve(jnp.ones((2, 3)), jnp.ones(2)),
        lambda: jnp.percentile(jnp.ones(3), 50, method="none"),
        lambda: jitney.nn.one_hot(jnp.arange(3), -1),
        lambda: jitney.random.choice(jitney.random.key(0), 3, (5,), replace=False),
    ],
)
def test_errors_stay(call):
    def error():
        with pytest.raises(Exception) as found:
            call()
        frames = [frame.name for frame in found.traceback if "native" in str(frame.path)]
        assert not frames
        return type(found.value), str(found.value)

    first = error()
    x, a = jnp.ones(3), jnp.eye(3)
    for _ in range(CALLS):
        jnp.clip(x, 0.0, 1.0), jnp.var(a, axis=1), jnp.convolve(x, x), jnp.median(x, axis=0)
        (
            jnp.kron(x, x),
            jnp.linalg.solve(a, x),
            jnp.percentile(x, 50),
            jitney.nn.one_hot(jnp.arange(3), 3),
        )
    assert [error() for _ in range(CALLS)] == [first] * CALLS


def test_warnings_come_with_each_call():
    def body(x):
        user_warnings.warn("look")
        return several(x)

    fun = repeated.repeated(body)
    for _ in range(CALLS):
        with pytest.warns(UserWarning, match="look") as found:
            fun(jnp.ones(3))
        assert found[0].filename == __file__


def test_what_depends_on_values_is_evaluated():
    for n in (3, 2, 5, 3, 4, 3):
        x = jnp.arange(6) % n
        assert jnp.unique(x).shape == (n,)
        assert jnp.nonzero(x)[0].shape == (6 - len(range(0, 6, n)),)
        assert jnp.bincount(x).shape == (n,)
        assert jnp.repeat(x, jnp.arange(6)).shape == (15,)


def test_results_that_are_no_arrays_stay():
    fun = repeated.repeated(lambda x: (several(x), 3))
    for _ in range(CALLS):
        result = fun(jnp.ones(3))
        assert type(result[1]) is int


def test_effects_happen_with_each_call():
    seen = []

    def body(x):
        jitney.debug.callback(lambda y: seen.append(float(y)), x[0])
        return several(x)

    fun = repeated.repeated(body)
    for _ in range(CALLS):
        fun(jnp.ones(3))
    jitney.effects_barrier()
    assert seen == [1.0] * CALLS


def test_large_views_are_not_copied():
    x = jnp.zeros(1 << 20)
    for _ in range(CALLS):
        parts = jnp.split(x, 4)
    assert all(np.may_share_memory(np.asarray(p), np.asarray(x)) for p in parts)
    small = jnp.zeros(64)
    for _ in range(CALLS):
        jnp.split(small, 4)
    assert jnp.split in repeated._programs.values()


def test_arrays_that_were_put_somewhere_stay_there():
    device = jitney.devices()[0]
    x = jitney.device_put(jnp.arange(4.0), device)
    for _ in range(CALLS):
        assert jnp.var(jnp.arange(4.0)).committed is False
        assert jnp.var(x).committed is True


def test_within_transformations_functions_are_as_ever():
    x = jnp.linspace(-3.0, 3.0, 8)
    for _ in range(CALLS):
        jnp.clip(x, -1.0, 1.0)
    np.testing.assert_array_equal(
        jitney.grad(lambda x: jnp.clip(x, -1.0, 1.0).sum())(x), (abs(x) <= 1).astype(np.float32)
    )
    assert jitney.vmap(lambda x: jnp.clip(x, -1.0, 1.0))(x).shape == (8,)
    assert "clip" in str(jitney.make_jaxpr(lambda x: jnp.clip(x, -1.0, 1.0))(x))
    jitney.clear_caches()
    assert not repeated._programs
    np.testing.assert_array_equal(jnp.clip(x, -1.0, 1.0), np.clip(x, -1, 1))


def test_deleted_arrays_are_refused():
    x = jnp.arange(4.0)
    for _ in range(CALLS):
        jnp.var(x)
    y = jnp.arange(4.0)
    y.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jnp.var(y)


# --- the cache ------------------------------------------------------------------------------------


def check(fun, n):
    x = np.arange(float(n), dtype=np.float32)
    np.testing.assert_allclose(fun(jnp.asarray(x)), several(x), rtol=1e-5)


def test_programs_and_signatures_are_bounded(monkeypatch):
    monkeypatch.setattr(repeated, "MAX_PROGRAMS", 4)
    monkeypatch.setattr(repeated, "MAX_SIGNATURES", 10)
    fun, _ = counted(several)
    for n in range(1, 14):
        for _ in range(CALLS):
            np.testing.assert_allclose(
                fun(jnp.arange(float(n))), several(np.arange(float(n))), rtol=1e-5
            )
    assert len(repeated._programs) == 4
    assert len(fun._seen) <= 10
    for n in range(1, 14):
        np.testing.assert_allclose(
            fun(jnp.arange(float(n))), several(np.arange(float(n))), rtol=1e-5
        )


def test_more_signatures_than_native_code_keeps_are_found():
    fun, runs = counted(several)
    for _ in range(2 * CALLS):
        for n in range(1, 20):
            fun(jnp.arange(float(n)))
    before = len(runs)
    for n in range(1, 20):
        np.testing.assert_allclose(
            fun(jnp.arange(float(n))), several(np.arange(float(n))), rtol=1e-5
        )
    assert len(runs) == before


def test_caches_that_are_cleared_while_a_program_is_made(monkeypatch):
    """Another thread may do so at any point."""
    compiled = repeated._compiled
    cleared = []

    def clearing(*args):
        repeated.clear()
        cleared.append(args[0].__name__)
        return compiled(*args)

    monkeypatch.setattr(repeated, "_compiled", clearing)
    for k in range(4 * OFTEN):
        n = 1.0 + k % 3
        assert jnp.arange(n).tolist() == list(range(int(n)))  # asks for the value of a number
    assert "arange" in cleared


def test_threads():
    fun, _ = counted(several)
    failures = []

    def work(k):
        try:
            for i in range(60):
                x = np.full(1 + (i + k) % 5, float(k), np.float32)
                np.testing.assert_allclose(fun(jnp.asarray(x)), several(x), rtol=1e-5)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- functions as objects -------------------------------------------------------------------------


def test_functions_are_still_functions_to_others():
    assert isinstance(jnp.var, LibraryFunction)
    assert type(jnp.sin) is types.FunctionType  # one operation: nothing to look at
    assert inspect.signature(jnp.var) == inspect.signature(jnp.var.plain)
    assert (jnp.var.__name__, jnp.var.__module__) == ("var", jnp.var.plain.__module__)
    assert jnp.var.__doc__ == jnp.var.plain.__doc__
    assert copy.deepcopy(jnp.var) is jnp.var and copy.copy(jnp.linalg.norm) is jnp.linalg.norm
    assert jitney.jit(jnp.var)(jnp.ones(3)) == 0

    class Model:
        scale = jnp.ptp

    model = Model()
    with pytest.raises(TypeError):
        model.scale()  # the object itself is no array


def test_functions_of_numpy_stay_its_own():
    for name in ("get_printoptions", "set_printoptions", "array_repr", "savez", "can_cast"):
        assert getattr(jnp, name) is getattr(np, name)


def test_checks_that_are_over_do_not_keep_calls_evaluated():
    with jitney.debug_key_reuse(True), jitney.transfer_guard("log"):
        pass
    fun, runs = counted(several)
    assert is_compiled(fun, runs, jnp.ones(3))


def test_functions_are_pickled_by_name():
    code = """
import pickle, jax, jax.numpy as jnp
for f in (jnp.var, jnp.linalg.norm, jax.nn.softmax, jax.scipy.stats.norm.logpdf):
    assert pickle.loads(pickle.dumps(f)) is f, f
"""
    subprocess.run([sys.executable, "-m", "jitney", "-c", code], check=True)
